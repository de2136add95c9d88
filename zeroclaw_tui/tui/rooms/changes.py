"""Every change of every session: its rows and its diff, taking it back, doing it again, and what was deleted."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Static

from zeroclaw_tui.backends.lookup import entry_with_id, row_with_id, why_fixed
from zeroclaw_tui.curation.changes import edit_memory, restore
from zeroclaw_tui.curation.journal import TrashUsage
from zeroclaw_tui.curation.journal_records import Action, TrashRow, Version
from zeroclaw_tui.curation.outcome import Outcome
from zeroclaw_tui.memory.change import MEMORIES, Edit, Row
from zeroclaw_tui.memory.days import time_here
from zeroclaw_tui.memory.entry import EDITABLE, MemoryEntry
from zeroclaw_tui.memory.errors import InspectorError, NotFound
from zeroclaw_tui.memory.secret_text import excerpt_of, masked
from zeroclaw_tui.memory.text import are, counted, display_text, mask_secrets, one_line, size_shown
from zeroclaw_tui.memory.text_difference import MOST_SHOWN, DiffLine, Sign, diff_lines
from zeroclaw_tui.tui.actions import (
    StoreRoom,
    clash_words,
    difference_content,
    field_changes,
    gone_words,
    key_words,
    time_words,
)
from zeroclaw_tui.tui.commands import (
    Command,
    changing,
    common_commands,
    inform,
    mark_commands,
    show_failure,
    start_work,
    warn,
)
from zeroclaw_tui.tui.dialogs import confirmation, yes_or_no
from zeroclaw_tui.tui.external import copy_text
from zeroclaw_tui.tui.format import relative_age
from zeroclaw_tui.tui.themes import MUTED, STRONG
from zeroclaw_tui.tui.view import Mode
from zeroclaw_tui.tui.widgets.detail import AboutPane, ListAndDetail
from zeroclaw_tui.tui.widgets.lines import Banner, KeyLine, SearchBar, TitleLine
from zeroclaw_tui.tui.widgets.table_list import Column, LazyRows, TableList, cut_key

if TYPE_CHECKING:
    from zeroclaw_tui.backends.base import Memory
    from zeroclaw_tui.curation.library import Library
    from zeroclaw_tui.memory.entry import MemoryEntry
    from zeroclaw_tui.tui.view import Pace

COMMANDS = (
    Command("open", "enter", "open", "The rows of this change", True),
    Command("restore", "enter", "restore", "Restore the marked rows or this one, or an earlier version", True,
            writes=True, synonyms="restore revert version"),
    Command("undo", "u", "undo", "Undo exactly this change", True, writes=True, synonyms="take back revert",
            shell="undo --id {number}"),
    Command("redo", "U", "redo", "Redo this undone change", True, writes=True, shell="redo --id {number}"),
    Command("delete", "d", "delete", "Delete permanently", True, writes=True, synonyms="empty delete purge",
            shell="trash empty"),
    *mark_commands("this row", "Mark every deleted memory shown", footer=False),
    Command("empty", "", "empty the trash", "Delete all of this store's trash permanently", writes=True,
            shell="trash empty"),
    Command("search", "slash", "search", "Search the trash", True, priority=True, synonyms="trash filter restore"),
    Command("history", "h", "history", "The changes of this memory", synonyms="versions",
            shell="get {key} --history"),
    Command("trash", "t", "trash", "The deleted memories, or the changes again", True, synonyms="trash restore",
            shell="trash list"),
    Command("copy", "y", "copy", "Copy the content", synonyms="clipboard yank", shell="get {key}"),
    Command("reload", "r", "reload", "Reload; after a failure: retry", synonyms="refresh retry"),
    *common_commands(),
)  # fmt: skip


MOST_CHANGES = 1000
PAGE_ROWS = 100
_SAMPLES = 40


_MEGABYTE = 1024 * 1024
_LIST, _PAGES = "changes-list", "changes-pages"
_SCOPE = "Changes made with this program. `zeroclaw memory get` shows what the store itself recorded."
_WRITING = frozenset(command.id for command in COMMANDS if command.writes)

PagedRow = TypeVar("PagedRow")
Place = Literal["changes", "rows", "memory", "deleted"]
"""What a list shows: changes, the rows of one, those of one memory, or what was deleted."""
Line = Action | Version | TrashRow | None
"""None: a row that is on its way."""
_LOOKED_AT = 2000
_LOOKS: dict[Sign, str] = {"+": "good", "-": "bad", "~": "muted"}
_DELETED = {
    "clear": "cleared",
    "undo": "removed by undo",
    "redo": "deleted again",
    "restore": "removed",
}
_GONE = {"hygiene": "removed by hygiene", "merge": "merged away", "store": "overwritten", "edit": "replaced"}
_CAME = {"undo": "restored by undo", "redo": "stored again", "restore": "restored"}
_EDITED = dict.fromkeys(("undo", "redo", "restore", "store"), "overwritten")


class Pages(LazyRows[PagedRow | None], Generic[PagedRow]):
    """Rows that are loaded a page at a time when they come into sight."""

    def __init__(self, total: int, want: Callable[[Pages[PagedRow], int], None]) -> None:
        self._total = total
        self._want = want
        self._pages: dict[int, Sequence[PagedRow]] = {}
        self._asked: set[int] = set()

    def __len__(self) -> int:
        return self._total

    def row(self, at: int) -> PagedRow | None:
        """The row at a place; None while its page is on its way."""
        page, place = divmod(at, PAGE_ROWS)
        if page not in self._pages:
            if page not in self._asked:
                self._asked.add(page)
                self._want(self, page * PAGE_ROWS)
            return None
        return self._pages[page][place] if place < len(self._pages[page]) else None

    def put(self, offset: int, rows: Sequence[PagedRow]) -> None:
        """Rows that were asked for."""
        self._pages[offset // PAGE_ROWS] = rows


@dataclass(slots=True)
class Shown:
    """Where in the room a person is: the changes, the rows of one, those of a memory, or what was deleted."""

    place: Place
    change: Action | None = None
    contains: str = ""


class ChangesRoom(StoreRoom):
    """Every change of the store, or of one memory, the newest first. Gives True where memories changed from here."""

    CSS = """
    ChangesRoom {
        background: $background;
    }
    ChangesRoom #scope {
        height: auto;
        padding: 0 1;
        color: $text-muted;
        display: none;
    }
    ChangesRoom #search {
        display: none;
    }
    ChangesRoom.-searching #search {
        display: block;
    }
    """
    PLACE = "changes"
    KEYS = COMMANDS
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (120, "-wide")]  # noqa: RUF012
    AUTO_FOCUS = "#list"

    def __init__(
        self, library: Library, clock: Callable[[], datetime], pace: Pace, memory: MemoryEntry | None = None
    ) -> None:
        super().__init__(library, clock, pace)
        self._memory = memory
        self._shown = Shown("changes" if memory is None else "memory")
        self._can_come_back: frozenset[int] = frozenset()
        self._usage: TrashUsage | None = None
        self._cursors: dict[Place, int] = {}
        self._left: int | None = None
        self._search = SearchBar(pace.debounce, (Mode.CONTAINS,), id="search")
        self._list = TableList[Line](
            columns_of("changes", clock()), mark=self._mark_of, is_left_out=self._is_taken_back, id="list"
        )

    def compose(self) -> ComposeResult:
        yield TitleLine()
        yield Static(_SCOPE, id="scope", markup=False)
        yield self._search
        yield Banner(id="failure")
        with ListAndDetail("Changes", "Change"):
            yield self._list
            yield AboutPane(id="detail")
        yield KeyLine()

    def on_mount(self) -> None:
        self._search.show_mode(Mode.CONTAINS, ())
        self.action_reload()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "search" and self._search.input.has_focus:
            return False
        if action in ("open", "restore") and action != self._primary:
            return False
        return super().check_action(action, parameters)

    @property
    def _primary(self) -> str:
        """What enter does here: open the rows of a change, restore anything else."""
        return "open" if self._shown.place == "changes" else "restore"

    def shell_facts(self) -> dict[str, str]:
        """The number of the change under the cursor as well, for the lines of a shell."""
        number = self._change_number
        return super().shell_facts() | ({} if number is None else {"number": str(number)})

    def on_table_list_row_highlighted(self) -> None:
        self._show_detail()
        self.refresh_bindings()

    async def on_table_list_row_opened(self) -> None:
        await self.run_action(self._primary)

    def on_table_list_marks_changed(self) -> None:
        self._paint_title()

    def on_prompt_line_asked(self, event: SearchBar.Asked) -> None:
        # What was typed last may come when the search is left already.
        if self.has_class("-searching"):
            self._shown.contains = event.text
            self._cursors["deleted"] = 0
            start_work(self, _LIST, self._look)

    def on_search_bar_left(self) -> None:
        self._list.focus()

    def action_open(self) -> None:
        """The rows of a change."""
        line = self._list.selected
        if isinstance(line, Action):
            self._go_to("rows", line)

    @changing
    async def action_restore(self, library: Library) -> None:
        """Restore the marked rows, else the one under the cursor, or an earlier version."""
        line = self._list.selected
        marks, one = self._list.marks, self._mark_of(line)
        numbers = sorted(marks) or ([] if one is None or self._shown.place == "memory" else [one])
        if numbers:
            key = None if marks or self._entry is None else self._entry.key
            await self._restore(library, numbers, key)
        elif isinstance(line, Version) and line.before is not None and line.before.table != MEMORIES:
            warn(self, "A file is restored only with its whole change. Press u to undo it.")
        elif isinstance(line, Version):
            await self._make(library, line)

    @changing
    async def action_undo(self, library: Library) -> None:
        await self._reverse(library, self.changes.undo, "Undo")

    @changing
    async def action_redo(self, library: Library) -> None:
        await self._reverse(library, self.changes.redo, "Redo")

    def action_mark(self) -> None:
        """Mark a row that can be restored, and move to the next."""
        self._list.toggle_mark()

    def action_mark_all(self) -> None:
        start_work(self, "changes-marks", self._mark_all)

    def action_mark_none(self) -> None:
        self._list.set_marks(())

    def action_search(self) -> None:
        if self._shown.place != "deleted":
            self._go_to("deleted")
        self.add_class("-searching")
        self.set_focus(self._search.input)

    def action_history(self) -> None:
        entry = self._entry
        if entry is not None:
            room = ChangesRoom(self.library, self.clock, self.pace, entry)
            self.app.push_screen(room, self._after_room)

    def _show_changes(self) -> None:
        self._go_to("changes" if self._memory is None else "memory")

    def action_trash(self) -> None:
        if self._shown.place == "deleted":
            self._show_changes()
        else:
            self._go_to("deleted")

    async def action_copy(self) -> None:
        entry = self._entry
        if entry is not None:
            inform(self, await copy_text(self.app, entry.content))

    def action_reload(self) -> None:
        self.query_one("#failure", Banner).hide()
        start_work(self, _LIST, self._look)

    def action_step_out(self) -> None:
        """From the detail to the list, out of the search, from the rows to the changes, and then back."""
        if self.query_one(AboutPane).has_focus:
            self._list.focus()
        elif self.has_class("-searching"):
            self.remove_class("-searching")
            self._search.put("")
            self._shown.contains = ""
            self._list.focus()
            self.action_reload()
        elif self._shown.place in ("changes", "memory"):
            self.action_leave()
        else:
            self._show_changes()

    @property
    def _entry(self) -> MemoryEntry | None:
        """The memory under the cursor, as it was before it was changed."""
        line = self._list.selected
        row = line.row if isinstance(line, TrashRow) else wanted_version(line) if isinstance(line, Version) else None
        if row is None or row.table != MEMORIES:
            return self._memory
        return row.entry()

    @property
    def _change_number(self) -> int | None:
        line = self._list.selected
        if isinstance(line, Action):
            return line.number
        return line.action if line is not None else self._shown.change.number if self._shown.change else None

    def why_dimmed(self, action: str) -> str | None:
        """Why an action cannot be done with what is under the cursor."""
        if action in _WRITING and self.library.read_only_because is not None:
            return self.library.read_only_because
        line = self._list.selected
        if action in ("undo", "redo") and self._change_number is None:
            return "There is no change under the cursor."
        if action == "undo" and isinstance(line, Action) and not line.open:
            return "Already undone. Press U to redo."
        if action == "redo" and isinstance(line, Action) and line.open == line.count:
            return "Not undone, so there is nothing to redo."
        if action in ("mark", "mark_all") and self._shown.place in ("changes", "memory"):
            return "Only rows can be marked. Press enter for the rows of this change, or 2 for the trash."
        return None

    def _mark_of(self, line: Line) -> int | None:
        """The number of a row that can come back, None for every other."""
        if isinstance(line, TrashRow) or (isinstance(line, Version) and line.number in self._can_come_back):
            return line.number
        return None

    def _is_taken_back(self, line: Line) -> bool:
        """Whether nothing of it can be undone any more; such a line is crossed out."""
        if isinstance(line, Action):
            return not line.open
        is_deletion = isinstance(line, Version) and line.after is None and line.before is not None
        return is_deletion and self._shown.place == "rows" and self._mark_of(line) is None

    def _go_to(self, place: Place, change: Action | None = None) -> None:
        self._cursors[self._shown.place] = self._list.cursor
        self._left = self._shown.change.number if self._shown.change is not None else self._left
        if place == "rows":
            self._cursors["rows"] = 0
        self._shown.place, self._shown.change = place, change
        self._list.set_marks(())
        if place != "deleted":
            self.remove_class("-searching")
        self.set_focus(self._list)
        start_work(self, _LIST, partial(self._look, is_elsewhere=True))

    async def _look(self, *, is_elsewhere: bool = False) -> None:
        """Read what is shown here, the cursor on its place."""
        place = self._shown.place
        cursor = self._cursors.pop(place, 0) if is_elsewhere or place in self._cursors else self._list.cursor
        wanted = self._left if is_elsewhere else self._change_number
        try:
            rows = await self._rows_of(place)
            self._usage = await self.library.trash.usage()
            in_trash = frozenset(await self.library.trash.numbers())
        except InspectorError as error:
            self.query_one("#failure", Banner).fail(error)
            return
        self._can_come_back = in_trash
        self._list.set_marks(mark for mark in self._list.marks if mark in in_trash)
        state_cells = 0
        if place == "changes":
            # Newer ones may have come on top.
            actions = [row for row in rows if isinstance(row, Action)]
            cursor = next((at for at, action in enumerate(actions) if action.number == wanted), cursor)
            state_cells = max((len(state_words(action)) for action in actions), default=0)
        shown = self._list
        shown.say_empty(self._empty_words())
        shown.set_columns(columns_of(place, self.clock(), state_cells))
        shown.set_rows(rows, cursor=cursor)
        self.query_one("#scope").display = place == "memory"
        found = (f"{len(rows):,} found",) if place == "deleted" and self._shown.contains else ()
        self._search.show_mode(Mode.CONTAINS, found)
        self._paint_title()
        self.refresh_bindings()

    async def _rows_of(self, place: Place) -> Sequence[Line]:
        trash = self.library.trash
        if place == "changes":
            return list(await trash.actions(MOST_CHANGES))
        if place == "memory" and self._memory is not None:
            # A version may have given it another key.
            self._memory = await entry_with_id(self.library.memory, self._memory.id) or self._memory
            return await trash.history(self._memory.id)
        if place == "rows" and self._shown.change is not None:
            numbers = await trash.numbers_of(self._shown.change.number)
            self._shown.change = await trash.action(self._shown.change.number)
            return Pages(len(numbers), partial(self._want, lambda at: trash.versions(numbers[at : at + PAGE_ROWS])))
        contains = self._shown.contains

        async def page(offset: int) -> Sequence[Line]:
            return (await trash.listing(contains, limit=PAGE_ROWS, offset=offset))[0]

        _, total = await trash.listing(contains, limit=1)
        return Pages(total, partial(self._want, page))

    def _want(self, load: Callable[[int], Awaitable[Sequence[Line]]], pages: Pages[Line], offset: int) -> None:
        async def bring() -> None:
            try:
                pages.put(offset, await load(offset))
            except InspectorError as error:
                self.query_one("#failure", Banner).fail(error)
                return
            self._list.refresh()
            if offset <= self._list.cursor < offset + PAGE_ROWS:
                self._show_detail()
                self.refresh_bindings()

        start_work(self, _PAGES, bring, exclusive=False)

    async def _mark_all(self) -> None:
        try:
            if self._shown.place == "rows" and self._shown.change is not None:
                numbers = await self.library.trash.numbers(action=self._shown.change.number)
            else:
                numbers = await self.library.trash.numbers(self._shown.contains)
        except InspectorError as error:
            show_failure(self, error)
            return
        marked = self._list.marks
        self._list.set_marks(() if marked >= set(numbers) else (*marked, *numbers))

    async def after_change(self, outcome: Outcome | None) -> None:
        self.has_changed = self.has_changed or outcome is None or outcome.count > 0
        await self._look()

    def _after_room(self, has_changed: bool | None) -> None:
        self.has_changed = self.has_changed or bool(has_changed)
        self.action_reload()

    async def _reverse(
        self, library: Library, reverse: Callable[[Library, int], Awaitable[Outcome | None]], verb: str
    ) -> None:
        number = self._change_number
        if number is None:
            return
        if not isinstance(self._list.selected, Action):
            change = await library.trash.action(number)
            title = f"{verb} the whole change: {change.title}?"
            body = Content.styled(f"{counted(change.count)}, changed {time_words(change.at, self.clock())}.", MUTED)
            numbers = await library.trash.numbers_to_turn(number, "redo" if verb == "Redo" else "undo")
            if change.count > 1:
                body += await clash_words(library, numbers)
                if not await self.app.push_screen_wait(yes_or_no(title, body, "Cancel", verb)):
                    return
        await reverse(library, number)

    async def _restore(self, library: Library, numbers: Sequence[int], key: str | None) -> Outcome | None:
        what = f"Restoring {counted(len(numbers))}"
        outcome = await self.changes.settled(library, what, len(numbers), partial(restore, library, numbers))
        if outcome is not None:
            what = "" if key is None else key_words(key)
            inform(self, " ".join(outcome.sentences(outcome.headline(what=what))))
            self._list.set_marks(())
            await self.after_change(outcome)
        return outcome

    async def _make(self, library: Library, step: Version) -> None:
        """Change a memory back to the version before a step, or to the one the step created, once confirmed."""
        wanted, memory = wanted_version(step), library.memory
        key = key_words(wanted.entry().key)
        came = step.before is None
        present, deleted, count = await row_with_id(library.memory, wanted.id), None, 0
        if present is None:
            deleted = await self._deleted(wanted.id)
            present = wanted_version(deleted)
        elif not edit_to(present, wanted, memory).values:
            inform(self, f"{key} is already as it was {'on' if came else 'before'} {time_here(step.at)}.")
            return
        when = f"{'after' if came else 'before'} {time_words(step.at, self.clock())}"
        title = f"Restore {key} as it was {when}?" if deleted else f"Change {key} back to how it was {when}?"
        now, edit = present.entry(), edit_to(present, wanted, memory)
        then = replace(present, values={**present.values, **edit.values}).entry()
        body = await asyncio.to_thread(difference_content, now, then)
        question = yes_or_no(title, body, "Cancel", "Restore", must_be_seen=True)
        if not await self.app.push_screen_wait(question):
            return

        if deleted is not None:
            restored = await self._restore(library, [deleted.number], wanted.entry().key)
            if restored is None:
                return
            count, present = restored.count, await row_with_id(library.memory, wanted.id)
        if present is not None:
            edit = edit_to(present, wanted, memory)
            if edit.values:
                outcome = await edit_memory(library, wanted.id, edit, present.fingerprint)
                count += outcome.count
        if count:
            inform(self, f"Restored {key} as it was {'on' if came else 'before'} {time_here(step.at)}.")
        self.has_changed = self.has_changed or count > 0
        await self._look()

    async def _deleted(self, id: str) -> Version:
        """The deletion by which the trash holds a memory. Raises NotFound."""
        for version in await self.library.trash.history(id):
            if version.number in self._can_come_back:
                return version
        raise NotFound("This memory is neither in the store nor in the trash.", hint="It cannot be restored.")

    @changing
    async def action_delete(self, library: Library) -> None:
        """Delete the saved rows of the change permanently, or the marked memories, else the one under the cursor."""
        line = self._list.selected
        trash = library.trash
        if isinstance(line, Action):
            title = f"Delete this change permanently: {line.title}?"
            if await self._confirms(title, line.count):
                await trash.forget_change(line.number)
                inform(self, "Deleted the change permanently.")
        else:
            marks, one = self._list.marks, self._mark_of(line)
            numbers = sorted(marks) or ([] if one is None else [one])
            if not numbers:
                warn(
                    self,
                    "Only memories in the trash can be deleted one by one. Press d on a change to delete all its rows.",
                )
                return
            what = counted(len(numbers)) if marks or self._entry is None else key_words(self._entry.key)
            if await self._confirms(f"Delete {what} permanently?", len(numbers)):
                inform(self, f"{are(await trash.empty(numbers))} deleted permanently.")
        self._list.set_marks(())
        await self._look()

    @changing
    async def action_empty(self, library: Library) -> None:
        numbers = await library.trash.numbers()
        extent = f"{counted(len(numbers))} and all earlier versions"
        if await self._confirms(f"Delete the whole trash of this store permanently: {extent}?", len(numbers)):
            inform(self, f"{are(await library.trash.empty())} deleted permanently.")
            await self._look()

    async def _confirms(self, title: str, count: int) -> bool:
        """Whether a person confirms a permanent deletion."""
        body = Content.styled("This cannot be undone.", MUTED)
        dialog = confirmation(title, body, count, "delete", must_be_seen=True)
        return await self.app.push_screen_wait(dialog) is True

    def _paint_title(self) -> None:
        place, rows = self._shown.place, len(self._list.rows)
        change, usage = self._shown.change, self._usage
        if place == "rows" and change is not None:
            head, rest = change.title, [time_words(change.at, self.clock()), state_words(change)]
        elif place == "memory" and self._memory is not None:
            changes = counted(rows, "change") if rows else "No changes"
            head, rest = f"{changes} of {key_words(self._memory.key)}", ["newest first"] if rows > 1 else []
        elif place == "deleted":
            head = f"{counted(rows)} in the trash" if rows else "No memories in the trash"
            rest = []
        else:
            head = counted(rows, "change") if rows else "No changes yet"
            rest = ["newest first"] if rows > 1 else []
        if usage is not None and place in ("changes", "deleted"):
            rest.append(f"kept {usage.days_kept} days or {usage.bytes_kept / _MEGABYTE:g} MB")
            rest += [size_shown(usage.bytes)] if usage.bytes else []
        because = [self.library.read_only_because] if self.library.read_only_because else []
        self.query_one(TitleLine).say(head, self._list.marks_words, *rest, *because)

    def _empty_words(self) -> str:
        if self._shown.place == "deleted" and self._shown.contains:
            return (
                f"Nothing in the trash contains “{one_line(self._shown.contains)[:60]}”. Press esc to close the search."
            )
        if self._shown.place == "deleted":
            return "The trash is empty. Press d in the list of memories to delete one."
        if self._shown.place == "memory":
            return "This program has not changed this memory yet. Edits (e) and deletions (d) appear here."
        return "No changes yet. Edits (e), new memories (n) and deletions (d) appear here."

    def _show_detail(self) -> None:
        start_work(self, "changes-detail", self._describe, self._list.selected)

    async def _describe(self, line: Line) -> None:
        about, lines = Content(""), list[DiffLine]()
        try:
            if isinstance(line, Action):
                numbers = await self.library.trash.numbers_of(line.number)
                versions = await self.library.trash.versions(numbers[:_SAMPLES])
                about = change_content(line, self.clock())
                if len(numbers) == 1 and versions and versions[0].before and versions[0].after:
                    about = Content("\n").join([about, Content(""), step_content(versions[0])])
                    lines = await asyncio.to_thread(diff_of, versions[0])
                else:
                    lines = [DiffLine(step_glyph(one), f"{row_key(one)}  {row_text(one)}".rstrip()) for one in versions]
                    lines += [DiffLine("…", f"{len(numbers) - len(lines):,} more")] if len(numbers) > len(lines) else []
            elif isinstance(line, Version):
                about, lines = step_content(line), await asyncio.to_thread(diff_of, line)
            elif line is not None:
                about = deleted_content(line, self.clock())
                lines = await asyncio.to_thread(deleted_lines, line)
        except InspectorError as error:
            about = Content(display_text(mask_secrets(str(error))))
        self.query_one(AboutPane).show(about, lines)


def edit_to(present: Row, wanted: Row, memory: Memory) -> Edit:
    """The edit that makes one version of a memory the other, as far as this store can edit."""
    now, then = present.entry(), wanted.entry()
    names = [name for name in EDITABLE if not why_fixed(memory, name) and getattr(now, name) != getattr(then, name)]
    return Edit({name: getattr(then, name) for name in names})


def wanted_version(step: Version) -> Row:
    """The version that a step restores: the row before it, or the row it created."""
    row = step.before or step.after
    if row is None:
        raise ValueError("a step has a before or an after")
    return row


def state_words(change: Action) -> str:
    """How much of a change is undone."""
    if change.open == change.count:
        return ""
    if not change.open:
        return "undone"
    return f"{change.count - change.open:,} of {change.count:,} undone"


def row_key(step: Version) -> str:
    """The key of a row of a change; of what is no memory, where it is."""
    row = wanted_version(step)
    return one_line(masked(row.entry().key) if row.table == MEMORIES else mask_secrets(row.id))


def row_text(step: Version) -> str:
    """How a row of a change begins."""
    row = wanted_version(step)
    return excerpt_of(row.entry().content) if row.table == MEMORIES else ""


def change_content(change: Action, now: datetime) -> Content:
    """A change: what, when, to how many rows, and until when it can be undone."""
    state = state_words(change)
    facts = [
        f"{time_here(change.at)} ({relative_age(change.at, now)})",
        counted(change.count, "row"),
        size_shown(change.size),
        f"undo until {time_here(change.until)[:10]}",
        f"change {change.number}",
    ]
    return Content.assemble(
        (change.title, STRONG), (f"\n{' · '.join(facts)}", MUTED), (f"\n{state}" if state else "", "bold")
    )


def step_content(step: Version) -> Content:
    """When and what, then every field that changed, aligned."""
    words = step_words(step)
    parts: list[str | tuple[str, str]] = [(words, STRONG), (f"  {time_here(step.at)}", MUTED)]
    parts += [(f"\n{one_line(masked(wanted_version(step).entry().key))}", MUTED)] if _is_memory(step) else []
    rows = _changed_fields(step)
    widest = max((len(name) for name, _, _ in rows), default=6)
    for name, old, new in rows:
        parts += ["\n", (f"{name.ljust(widest)}  {old} → ", MUTED), new]
    return Content.assemble(*parts)


def deleted_content(row: TrashRow, now: datetime) -> Content:
    """What happened to a deleted memory, and until when it stays in the trash."""
    entry = row.row.entry()
    done = _DELETED.get(row.verb, _GONE.get(row.verb, "deleted"))
    facts = [
        one_line(entry.category) or "no category",
        f"{done} {time_here(row.deleted_at)} ({relative_age(row.deleted_at, now)})",
        f"expires {time_here(row.until)} ({gone_words(row.until, now)})",
        *([f"session {one_line(entry.session_id)}"] if entry.session_id else []),
    ]
    return Content.assemble((one_line(masked(entry.key)), STRONG), (f"\n{' · '.join(facts)}", MUTED))


def deleted_lines(row: TrashRow) -> list[DiffLine]:
    """The content of a deleted memory, as it can be read."""
    text = display_text(row.row.entry().content[:MOST_SHOWN])
    return [DiffLine(" ", line.expandtabs(4)) for line in text.split("\n")]


def diff_of(step: Version) -> list[DiffLine]:
    """The content lines that a step changed; all lines of a stored or deleted memory."""
    if not _is_memory(step):
        return []
    before, after = (row.entry().content if row is not None else "" for row in (step.before, step.after))
    return [] if before == after else diff_lines(before, after)


def _is_memory(step: Version) -> bool:
    return wanted_version(step).table == MEMORIES


def step_glyph(step: Version) -> Sign:
    """+ for stored, - for deleted, ~ for edited."""
    if step.before is None:
        return "+"
    return "-" if step.after is None else "~"


def step_words(step: Version) -> str:
    """What was done."""
    if step.before is None:
        return _CAME.get(step.verb, "stored")
    if step.after is None:
        return _DELETED.get(step.verb, "deleted")
    return _EDITED.get(step.verb, "edited")


def _changed_fields(step: Version) -> list[tuple[str, str, str]]:
    """Every field but the content that an edit changed, what it was, and what it became."""
    if step.before is None or step.after is None or not _is_memory(step):
        return []
    return field_changes(step.before.entry(), step.after.entry())


def what_changed(step: Version) -> list[str]:
    """The names of the changed fields; empty for a stored or deleted memory."""
    if step.before is None or step.after is None or not _is_memory(step):
        return []
    content = ["content"] if step.before.entry().content != step.after.entry().content else []
    return [*content, *(name for name, _, _ in _changed_fields(step))]


def columns_of(place: Place, now: datetime, state_cells: int = 0) -> Sequence[Column[Any]]:
    """The columns of a place, which holds rows of one kind: changes, deleted memories, or steps of memories."""
    if place == "changes":
        return (
            Column[Action]("when", lambda one: relative_age(one.at, now), width=8, look="muted"),
            Column[Action]("change", lambda one: one.title, flex=True),
            Column[Action]("rows", lambda one: f"{one.count:,}", width=7, right=True, look="muted"),
            Column[Action]("", state_words, width=state_cells, look="muted"),
            Column[Action](
                "expires", lambda one: gone_words(one.until, now), 7, right=True, hidden_below=90, look="faint"
            ),
        )
    if place == "deleted":
        return (
            Column[TrashRow]("deleted", lambda one: relative_age(one.deleted_at, now), width=8, look="muted"),
            Column[TrashRow]("key", lambda one: masked(one.row.entry().key), width=20, shortened=cut_key),
            Column[TrashRow]("memory", lambda one: masked(one.row.entry().content[:_LOOKED_AT]), flex=True),
            Column[TrashRow]("category", lambda one: one.row.entry().category, 12, hidden_below=90, look="muted"),
            Column[TrashRow]("size", lambda one: size_shown(one.size), 7, right=True, hidden_below=90, look="muted"),
            Column[TrashRow]("expires", lambda one: gone_words(one.until, now), width=7, right=True, look="faint"),
        )
    glyph = Column[Version]("", lambda one: Content.styled(step_glyph(one), _LOOKS[step_glyph(one)]), width=1)

    def changed(step: Version) -> str:
        return ", ".join(what_changed(step))

    if place == "memory":
        return (
            Column[Version]("when", lambda one: relative_age(one.at, now), width=8, look="muted"),
            glyph,
            Column[Version]("what", step_words, width=16),
            Column[Version]("changed", changed, flex=True, look="muted"),
        )
    return (
        glyph,
        Column[Version]("what", step_words, width=15, look="muted"),
        Column[Version]("key", row_key, width=14, shortened=cut_key),
        Column[Version]("memory", row_text, flex=True),
        Column[Version]("changed", changed, 20, hidden_below=100, look="muted"),
    )
