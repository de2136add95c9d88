"""The Memories room: the commands on the memories of one store, including all changes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from textual.content import Content
from textual.screen import Screen

from zeroclaw_tui.backends.factory import known_backend
from zeroclaw_tui.backends.lookup import entry_with_id, versions, versions_at, whole_entry, why_fixed
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.errors import InspectorError, NotReachable
from zeroclaw_tui.memory.query import VERSIONS, Query
from zeroclaw_tui.memory.recall import ScoredEntry
from zeroclaw_tui.memory.text import are, shell_word
from zeroclaw_tui.tui.commands import Command, changing, common_commands, inform, say_after, warn
from zeroclaw_tui.tui.format import safe_text
from zeroclaw_tui.tui.rooms.panes import MemoriesRoom
from zeroclaw_tui.tui.store_room import stored_row
from zeroclaw_tui.tui.widgets.lines import notices_of
from zeroclaw_tui.tui.widgets.memory_list import is_from_lucid

# Modules for changes are imported on use.
if TYPE_CHECKING:
    from zeroclaw_tui.curation.journal_records import Action
    from zeroclaw_tui.curation.outcome import Outcome, PurgePlan
    from zeroclaw_tui.curation.traces.search import TextPlace

BROWSER_COMMANDS = (
    # With priority it runs before the next key is handled, so that fast typing reaches the right widget.
    Command("search", "slash", "search", "Search the memories", True, priority=True,
            synonyms="find query look for recall", shell="recall {query}"),
    # These replace scrolling while a memory is read on the whole screen.
    Command("next", "j", "next", "While reading: the next memory", True, priority=True, listed=False),
    Command("previous", "k", "previous", "While reading: the previous memory", True, priority=True, listed=False),
    Command("explain", "x", "explain", "Explain why this memory is recalled or not", True,
            synonyms="why reason stages miss score", shell="explain {key} --query {query}", target="tab"),
    Command("what_if", "w", "what-if", "Try other settings", True, synonyms="weights threshold tune",
            shell="recall {query} --set memory.vector_weight={number}", target="tab"),
    Command("edit", "e", "edit", "Edit this memory", True, True, synonyms="change fix correct", shell="edit {key}"),
    Command("delete", "d", "delete", "Delete the marked memories, or this one", True, True,
            synonyms="remove forget purge", shell="forget {key}"),
    Command("undo", "u", "undo", "Undo the last change", True, True, synonyms="restore revert", shell="undo"),
    Command("redo", "U", "redo", "Redo the last undone change", writes=True, synonyms="again", shell="redo"),
    Command("read", "enter", "read", "Read the whole memory", synonyms="open", shell="get {key}"),
    Command("filter", "F", "filter", "Filter by category, session, agent, namespace, age", shell="list {filter}",
            synonyms="narrow chips facet"),
    Command("mark", "space", "mark", "Mark or unmark this memory", synonyms="select"),
    Command("create", "n", "new", "Write a new memory", writes=True, synonyms="add", shell="store {key} {content}"),
    Command("edit_in_editor", "E", "$EDITOR", "Edit this memory in $EDITOR", writes=True, synonyms="editor vim emacs"),
    Command("mark_range", "v", "mark to here", "Mark from the last marked memory to this one", synonyms="select"),
    Command("mark_all", "asterisk", "mark all", "Mark all memories shown; again: none", synonyms="select unmark"),
    Command("history", "h", "history", "The changes of this memory", synonyms="versions", shell="get {key} --history"),
    Command("erase", "", "erase", "Erase the marked memories, this one or a text everywhere …", writes=True,
            synonyms="gdpr wipe destroy for good", shell="erase {text}"),
    Command("show_again", "", "show again", "Show this superseded memory to the agent again", writes=True,
            shell="edit {key} --unsupersede"),
    Command("copies", "", "copies", "Other copies of this text", synonyms="backups leftovers also found"),
    Command("prompt", "", "prompt", "The text ZeroClaw puts before a message", synonyms="injected context",
            shell="prompt {query}", target="tab"),
    Command("similar", "s", "similar", "Find memories similar to this one", synonyms="near neighbours vector",
            shell="similar {key}"),
    Command("conversation", "", "conversation", "The conversation this memory came from", synonyms="talk chat source"),
    Command("clean_up", "", "clean up", "Find duplicates, junk and secrets", synonyms="audit purge", shell="audit",
            target="tab"),
    Command("hygiene", "", "hygiene", "Preview hygiene", synonyms="retention archive", shell="hygiene --dry-run",
            target="tab"),
    Command("health", "", "health", "Check the store for problems and repair them", synonyms="doctor fix statistics",
            shell="doctor", target="tab"),
    Command("snapshot", "", "snapshot", "Write, compare and hydrate a snapshot", shell="hydrate --dry-run",
            target="tab"),
    Command("re_embed", "", "re-embed", "Re-embed this memory", writes=True, synonyms="vector", shell="reindex"),
    Command("export", "", "export", "Export the memories shown to a file …", synonyms="save dump backup",
            shell="export {file} {filter}"),
    Command("import_file", "", "import", "Import memories from a file …", writes=True, synonyms="load mem0 openclaw",
            shell="import {file}"),
    Command("search_mode", "tab", "mode", "Next search mode: recall, contains, regex, similar", True, priority=True),
    Command("focus_next", "tab", "next pane", "Go to the next pane", listed=False, target="app"),
    Command("same_session", "full_stop", "same session", "Only this session or category, or all",
            shell="list {filter}"),
    Command("no_filter", "", "no filter", "Remove every filter", shell="list"),
    Command("sort", "o", "sort", "Sort the list; again: reverse", synonyms="order date newest oldest"),
    Command("scoring", "", "scoring", "Choose the ZeroClaw version for scoring", synonyms="profile rules",
            shell="recall {query} --profile {version}"),
    Command("reload", "r", "reload", "Reload; after a failure: retry", synonyms="refresh"),
    Command("copy", "y", "copy", "Copy the content", synonyms="clipboard yank", shell="get {key}"),
    Command("notices", "", "notices", "Notices about this store", synonyms="warnings", shell="health"),
    Command("change_theme", "", "theme", "Choose the colours", synonyms="color dark light", target="app"),
    *(command for command in common_commands(out="One step out; never quits") if command.id != "leave"),
    Command("quit", "q", "quit", "Quit", synonyms="exit leave close", target="app"),
)  # fmt: skip

WRITING = frozenset(command.id for command in BROWSER_COMMANDS if command.writes)
NEEDS_NO_MEMORIES = frozenset({
    "step_out", "reload", "no_filter", "notices", "keys", "hygiene", "health", "change_theme",
    "command_palette", "quit", "memories", "upkeep", "changes", "stores",
})  # fmt: skip
"""Commands that are available for the backend none."""
NO_SNAPSHOT = (
    "ZeroClaw writes and reads MEMORY_SNAPSHOT.md only for SQLite and Lucid; export writes the memories of every store."
)
_UNKNOWN_OF_LUCID = frozenset({
    "edit", "edit_in_editor", "re_embed", "mark", "delete", "erase", "show_again", "history", "explain", "similar",
})  # fmt: skip
"""Commands that do not work for results of the lucid program."""


class BrowserRoom(MemoriesRoom):
    """Browse, search, filter, read and change one store; each store has a room of its own."""

    KEYS = BROWSER_COMMANDS

    _copies: Sequence[TextPlace] = ()
    """Other copies of the last deleted or edited text."""

    async def after_change(self) -> None:
        self.reload_view()

    async def after_reversal(self, change: Action) -> None:
        """Reload, with the cursor on the memory if the change was of a single one."""
        versions = await self.library.trash.versions_of(change.number, 2)
        entry = await entry_with_id(self.library.memory, versions[0].row.id) if len(versions) == 1 else None
        self.reload_view(go_to=None if entry is None else entry.handle)

    def why_dimmed(self, action: str) -> str | None:
        """Say why a command is not available now; None if it is."""
        takes_marks = action in ("delete", "erase") and self._takes_marks
        return why_dimmed(action, self.library, None if takes_marks else self.rows.selected_result)

    def shell_facts(self) -> dict[str, str]:
        """The store, the query, the filter and the memory under the cursor, for shell commands."""
        facts = super().shell_facts() | {"filter": self.view.shell_options(self.clock())}
        if self.view.query:
            facts["query"] = shell_word(self.view.query)
        entry = self.rows.selected_entry
        if entry is not None:
            facts["key"] = shell_word(entry.key)
        return facts

    def say_failure(self, error: InspectorError) -> None:
        """Show an error and what to do next; the rest of the screen does not change.

        The banner shows that a store does not answer, so that notifications do not pile up.
        """
        if isinstance(error, NotReachable):
            self.show_error(error)
        else:
            super().say_failure(error)

    @changing
    async def action_scoring(self, library: Library) -> None:
        from zeroclaw_tui.tui.dialogs import choose_profile

        if await choose_profile(self.app, library):
            self.reload_view()

    def action_copy(self) -> None:
        self.run_background("copy", self._copy)

    def action_notices(self) -> None:
        """Show the notices of this store."""
        from zeroclaw_tui.curation.config_choice import describe_choice
        from zeroclaw_tui.tui.dialogs import Page

        notices = (describe_choice(self.library.config), *notices_of(self.library))
        self.app.push_screen(Page("Notices about this store", Content("\n\n".join(map(safe_text, notices)))))

    def action_open_tab(self, place: str) -> None:
        """Enter another room or a tab of it, with the memory under the cursor if the room is about one memory."""
        reason = self.why_dimmed(place)
        if reason is not None:
            warn(self, reason)
        elif place == "memories":
            self.show_list()
        elif place == "changes":
            self._enter("changes:ChangesRoom", self.library, self.clock, self.pace, None)
        elif place == "live":
            self._enter("live:LiveRoom", self.library, self.clock, self.pace)
        elif place == "why":
            self._open_why("what_if" if self.rows.selected_entry is None else "explain")
        elif place in ("explain", "what_if", "prompt"):
            self._open_why(place)
        else:
            tab = "clean_up" if place == "upkeep" else place
            self._enter("upkeep:UpkeepRoom", self.library, tab, self.clock, self.pace)

    def _open_why(self, tab: str) -> None:
        # A result of the lucid program is not a memory of the store, so it cannot be explained.
        entry = None if is_from_lucid(self.rows.selected_result) else self.rows.selected_entry
        if entry is None and tab == "explain":
            warn(self, "There is no memory under the cursor.")
        else:
            self._enter("why:WhyRoom", self.library, tab, entry, self.recall_request(), self.clock, self.pace)

    def action_conversation(self) -> None:
        """Show the conversation that the memory under the cursor comes from."""
        entry = self.entry_here()
        if entry is not None:
            self.run_background("talk", self._show_conversation, entry)

    async def _show_conversation(self, entry: MemoryEntry) -> None:
        from zeroclaw_tui.curation.conversations import find_conversation
        from zeroclaw_tui.tui.rooms.conversation import conversation_page

        found = await find_conversation(self.library, entry)
        self.app.push_screen(conversation_page(found, entry.key, self.clock()))

    def action_history(self) -> None:
        entry = self.entry_here()
        if entry is not None:
            self._enter("changes:ChangesRoom", self.library, self.clock, self.pace, entry)

    def _enter(self, room: str, *args: Any) -> None:
        """Enter another room, which is imported on use; reload the list afterwards if it made changes."""
        module, _, name = room.partition(":")
        made: Screen[bool] = getattr(import_module(f"zeroclaw_tui.tui.rooms.{module}"), name)(*args)
        self.app.push_screen(made, lambda has_changed: self.reload_view() if has_changed else None)

    @changing
    async def action_create(self, library: Library) -> None:
        outcome = await self.edit(library, None)
        if outcome is not None:
            self._show_written(library, outcome)

    async def _edit(self, library: Library, *, is_outside: bool = False) -> None:
        entry = self.entry_here()
        outcome = None if entry is None else await self.edit(library, entry.id, is_outside=is_outside)
        if outcome is not None:
            self._show_written(library, outcome)

    action_edit = changing(_edit)
    action_edit_in_editor = changing(partial(_edit, is_outside=True))

    @changing
    async def action_show_again(self, library: Library) -> None:
        from zeroclaw_tui.curation.changes import edit_memory
        from zeroclaw_tui.memory.change import SUPERSEDED_BY, Edit

        entry = self.entry_here()
        if entry is not None and entry.superseded_by is None:
            inform(self, "This memory is not superseded, so there is nothing to do.")
        elif entry is not None:
            row = await stored_row(library, entry.id)
            outcome = await edit_memory(library, row.id, Edit({SUPERSEDED_BY: None}), row.fingerprint)
            inform(self, outcome.report(" · u"))
            self._show_written(library, outcome)

    def _show_written(self, library: Library, outcome: Outcome) -> None:
        """Show a written memory under the cursor; its mark stays."""
        is_new = outcome.verb == "store"
        if outcome.row is None:
            self.reload_view()
        else:
            entry = outcome.row.entry().excerpt()
            self.rows.put_rows([entry])
            self.reload_view(go_to=entry.handle, edited=None if is_new else entry)
        if outcome.action is not None and not is_new:
            self.run_background("copies", self._show_copies_left, library, outcome.action.number, True)

    @changing
    async def action_delete(self, library: Library) -> None:
        plan, takes_all = await self._plan_deletion(library), self._takes_marks and self.rows.marked.filter is not None
        outcome = await self.delete(library, plan)
        if outcome is None:
            return
        if not outcome.cancelled:
            changed = {*outcome.changed}
            deleted = {version.id: version.handle for version in plan.versions if version.id not in changed}
            if takes_all:
                self.rows.set_marks(())
            elif self.rows.marked.filter is None:
                self.rows.set_marks(mark for mark in self.rows.marks if mark not in deleted)
            if not library.memory.about.is_line_based:
                self.rows.drop_rows({*deleted.values()})
        if outcome.action is not None:
            self.run_background("copies", self._show_copies_left, library, outcome.action.number)

    @changing
    async def action_erase(self, library: Library) -> None:
        """Erase the marked memories, else a text or the memory under the cursor, everywhere."""
        from zeroclaw_tui.curation.traces.copies import entries_of
        from zeroclaw_tui.tui.rooms.copies import erase

        entries = await entries_of(library, await self._plan_deletion(library))
        marked, here = (entries, None) if self._takes_marks else ([], next(iter(entries), None))
        report = await erase(self.app, library, marked, self.pace.patience, here=here)
        if report is not None:
            self.rows.set_marks(())
            self.reload_view()

    @changing
    async def action_re_embed(self, library: Library) -> None:
        entry = self.entry_here()
        if entry is not None:
            await self.re_embed(library, entry)

    @changing
    async def action_export(self, library: Library) -> None:
        from zeroclaw_tui.tui.transfer import export_view

        report = await export_view(self.app, library, self.view, self.clock(), self.pace.patience)
        if report is not None:
            inform(self, report)

    @changing
    async def action_import_file(self, library: Library) -> None:
        from zeroclaw_tui.tui.transfer import import_file

        outcome = await import_file(self.app, library, self.pace.patience)
        if outcome is not None:
            inform(self, outcome.report(" · u"))
            self.reload_view()

    async def _show_copies_left(self, library: Library, action: int, is_edit: bool = False) -> None:
        from zeroclaw_tui.curation.traces.copies import contents_of, find_copies, found_sentence

        self._copies = await find_copies(library, await contents_of(library, action))
        # After an edit, places that could not be searched are not reported: they always might have the old text.
        left = found_sentence([copy for copy in self._copies if copy.count is not None or not is_edit])
        if left:
            inform(self, f"{left.rstrip('.')}. Type : copies to see them.")

    @changing
    async def action_copies(self, library: Library) -> None:
        """Show other copies of the last deleted text, else of the memory under the cursor."""
        from zeroclaw_tui.curation.traces.copies import find_copies
        from zeroclaw_tui.tui.rooms.copies import clean

        found, self._copies = self._copies, ()
        if not found:
            entry = self.entry_here()
            if entry is None:
                return
            whole = await whole_entry(library.memory, entry.handle)
            found = await find_copies(library, [whole.content])
        result_line = await clean(self.app, library, found, self.pace.patience)
        if result_line is not None:
            inform(self, result_line)
            self.reload_view()

    async def _copy(self) -> None:
        from zeroclaw_tui.tui.external import copy_text

        entry = self.rows.selected_entry
        if entry is None:
            warn(self, "There is no memory to copy.")
            return
        whole = await whole_entry(self.library.memory, entry.handle) if entry.is_excerpt else entry
        inform(self, await copy_text(self.app, whole.content))

    async def _plan_deletion(self, library: Library) -> PurgePlan:
        """Plan to delete the marked memories, else the one under the cursor, each in its current version."""
        from zeroclaw_tui.curation.outcome import PurgePlan

        marks, entry = self.rows.marked, self.rows.selected_entry
        marked_filter, is_whole = (marks.filter, marks.is_whole) if self._takes_marks else (None, False)
        what = are(len(marks)) if self._takes_marks else "The selection is"
        with say_after(self, self.pace.patience, lambda: inform(self, f"{what} being read …")):
            if self._takes_marks:
                # Deleted memories are left out.
                if marked_filter is None:
                    chosen = await library.memory.rows(Query(VERSIONS, ids=list(marks.ids)))
                else:
                    matching = await versions(library.memory, marked_filter)
                    chosen = [version for version in matching if version.id not in marks.ids]
            else:
                chosen = [] if entry is None else await versions_at(library.memory, [entry.handle])
            hidden = 0 if marked_filter is None else await library.superseded_hidden(marked_filter)
            # The plan names the filter only if it selects all memories that match.
            return PurgePlan(tuple(chosen), marked_filter if is_whole else None, hidden)

    @property
    def _takes_marks(self) -> bool:
        """Whether a command applies to the marked memories: there are some, and no memory is open for reading."""
        return len(self.rows.marked) > 0 and not self.has_class("-reading")


def why_dimmed(action: str, library: Library, under_cursor: ScoredEntry | None = None) -> str | None:
    """Say why a command is not available; None if it is.

    `under_cursor` is the recall result that the action applies to; None for marked or listed memories.
    """
    memory = library.memory
    if memory.about.keeps_nothing and action not in NEEDS_NO_MEMORIES | WRITING:
        return library.read_only_because
    if action in _UNKNOWN_OF_LUCID and is_from_lucid(under_cursor):
        return "This memory comes from the lucid program and cannot be changed here."
    if action in WRITING and library.read_only_because is not None:
        return library.read_only_because
    match action:
        case "edit" | "edit_in_editor":
            return why_fixed(memory, "content")
        case "show_again":
            return memory.why_not.get("superseded")
        case "re_embed":
            return library.why_no_vectors
        case "snapshot":
            return None if known_backend(memory.name).has_database else NO_SNAPSHOT
    return None
