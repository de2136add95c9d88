"""Every change of every session: its rows and its diff, undo and redo, and the trash."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from textual.app import ComposeResult
from textual.content import Content

from zeroclaw_tui.backends.lookup import entry_with_id, row_with_id, why_fixed
from zeroclaw_tui.curation.changes import edit_memory, restore
from zeroclaw_tui.curation.journal import TrashUsage
from zeroclaw_tui.curation.journal_records import Action, Version
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
    guarded,
    inform,
    mark_commands,
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
    from zeroclaw_tui.curation.library import Library
    from zeroclaw_tui.tui.view import Pace

COMMANDS = (
    Command("open", "enter", "open", "The rows of this change", True),
    Command("restore", "enter", "restore", "Restore the marked rows or this one, or an earlier version", True,
            writes=True, synonyms="restore revert version"),
    Command("undo", "u", "undo", "Undo exactly this change", True, writes=True, synonyms="take back revert",
            shell="undo --id {number}"),
    Command("redo", "U", "redo", "Redo this undone change", True, writes=True, shell="redo --id {number}"),
    *mark_commands("this row", "Mark every deleted memory shown", footer=False),
    Command("empty", "", "empty the trash", "Delete all of this store's trash permanently", writes=True,
            synonyms="delete purge", shell="trash empty"),
    Command("search", "slash", "search", "Search the trash", True, priority=True, synonyms="trash filter restore"),
    Command("history", "h", "history", "The changes of this memory", synonyms="versions",
            shell="get {key} --history"),
    Command("trash", "t", "trash", "The deleted memories, or the changes again", True, synonyms="trash restore",
            shell="trash list"),
    Command("copy", "y", "copy", "Copy the content", synonyms="clipboard yank", shell="get {key}"),
    Command("reload", "r", "reload", "Reload; after a failure: retry", synonyms="refresh retry"),
    *common_commands(),
)  # fmt: skip
_WRITING = frozenset(command.id for command in COMMANDS if command.writes)
_MAX_CHANGES = 1000
_PAGE_ROWS = 100
_SAMPLES = 40
_MEGABYTE = 1024 * 1024
_MAX_CONTENT = 2000
_LOADING = "changes-list"
_LOOKS: dict[Sign, str] = {"+": "good", "-": "bad", "~": "muted"}
_WORDS: dict[Sign, str] = {"+": "stored", "-": "deleted", "~": "edited"}

Place = Literal["changes", "rows", "memory", "deleted"]
"""What the list shows: changes, the rows of one, those of one memory, or what was deleted."""
Line = Action | Version


class _Pages(LazyRows[Line | None]):
    """Rows that are loaded a page at a time when they come into sight; None is a row that is not loaded yet."""

    def __init__(self, total: int, want: Callable[[_Pages, int], None]) -> None:
        self._total = total
        self._want = want
        self.pages: dict[int, Sequence[Line]] = {}
        """The pages by their offset; an empty one is on its way."""

    def __len__(self) -> int:
        return self._total

    def row(self, at: int) -> Line | None:
        """The row at a place; a page that is missing is asked for."""
        offset, place = at - at % _PAGE_ROWS, at % _PAGE_ROWS
        if offset not in self.pages:
            self.pages[offset] = ()
            self._want(self, offset)
        page = self.pages[offset]
        return page[place] if place < len(page) else None


class ChangesRoom(StoreRoom):
    """Every change of the store, or of one memory, the newest first. Gives True where memories changed from here."""

    CSS = """
    ChangesRoom {
        background: $background;
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
        self._place: Place = "changes" if memory is None else "memory"
        self._change: Action | None = None
        """The change whose rows are shown, or were shown last."""
        self._contains = ""
        self._usage: TrashUsage | None = None
        self._search = SearchBar(pace.debounce, (Mode.CONTAINS,), id="search")
        self._list = TableList[Line | None]((), mark=_mark_of, is_left_out=_is_undone, id="list")

    def compose(self) -> ComposeResult:
        yield TitleLine()
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
        return "open" if self._place == "changes" else "restore"

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
        if action in ("mark", "mark_all") and self._place in ("changes", "memory"):
            return "Only rows can be marked. Press enter for the rows of this change, or t for the trash."
        return None

    def shell_facts(self) -> dict[str, str]:
        """The number of the change under the cursor as well, for the lines of a shell."""
        number = self._change_number
        return super().shell_facts() | ({} if number is None else {"number": str(number)})

    def on_table_list_row_highlighted(self) -> None:
        start_work(self, "changes-detail", self._describe, self._list.selected)
        self.refresh_bindings()

    async def on_table_list_row_opened(self) -> None:
        await self.run_action(self._primary)

    def on_table_list_marks_changed(self) -> None:
        self._paint_title()

    def on_prompt_line_asked(self, event: SearchBar.Asked) -> None:
        # What was typed last may come when the search is left already.
        if self.has_class("-searching"):
            self._contains = event.text
            start_work(self, _LOADING, self._load, 0)

    def on_search_bar_left(self) -> None:
        self._list.focus()

    def action_reload(self) -> None:
        self.query_one("#failure", Banner).hide()
        start_work(self, _LOADING, self._load)

    def action_open(self) -> None:
        """The rows of a change."""
        line = self._list.selected
        if isinstance(line, Action):
            self._change = line
            self._go_to("rows")

    @changing
    async def action_restore(self, library: Library) -> None:
        """Restore the marked rows, else the one under the cursor, or an earlier version."""
        line, marks = self._list.selected, self._list.marks
        number = None if self._place == "memory" else _mark_of(line)
        if marks:
            await self._restore(library, sorted(marks))
        elif number is not None:
            await self._restore(library, [number], key_words(self._entry.key) if self._entry else "")
        elif isinstance(line, Version) and line.row.table != MEMORIES:
            warn(self, "A file is restored only with its whole change. Press u to undo it.")
        elif isinstance(line, Version):
            await self._restore_version(library, line)

    @changing
    async def action_undo(self, library: Library) -> None:
        await self._turn(library, self.changes.undo, "Undo")

    @changing
    async def action_redo(self, library: Library) -> None:
        await self._turn(library, self.changes.redo, "Redo")

    @changing
    async def action_empty(self, library: Library) -> None:
        count = len(await library.trash.numbers())
        title = f"Delete the whole trash of this store permanently: {counted(count)} and all earlier versions?"
        body = Content.styled("This cannot be undone.", MUTED)
        dialog = confirmation(title, body, count, "delete", must_be_seen=True)
        if await self.app.push_screen_wait(dialog) is True:
            inform(self, f"{are(await library.trash.empty())} deleted permanently.")
            await self._load()

    def action_mark(self) -> None:
        """Mark a row that can be restored, and move to the next."""
        self._list.toggle_mark()

    def action_mark_all(self) -> None:
        start_work(self, "changes-marks", guarded, self, self._mark_all)

    def action_mark_none(self) -> None:
        self._list.set_marks(())

    def action_search(self) -> None:
        if self._place != "deleted":
            self._go_to("deleted")
        self.add_class("-searching")
        self.set_focus(self._search.input)

    def action_history(self) -> None:
        if self._entry is not None:
            room = ChangesRoom(self.library, self.clock, self.pace, self._entry)
            self.app.push_screen(room, self._after_history)

    def _after_history(self, has_changed: bool | None) -> None:
        self.has_changed = self.has_changed or bool(has_changed)
        self.action_reload()

    def action_trash(self) -> None:
        first: Place = "changes" if self._memory is None else "memory"
        self._go_to(first if self._place == "deleted" else "deleted")

    async def action_copy(self) -> None:
        if self._entry is not None:
            inform(self, await copy_text(self.app, self._entry.content))

    def action_step_out(self) -> None:
        """From the detail to the list, out of the search, from the rows to the changes, and then back."""
        if self.query_one(AboutPane).has_focus:
            self._list.focus()
        elif self.has_class("-searching"):
            self.remove_class("-searching")
            self._search.put("")
            self._contains = ""
            self._list.focus()
            self.action_reload()
        elif self._place in ("changes", "memory"):
            self.action_leave()
        else:
            self._go_to("changes" if self._memory is None else "memory")

    @property
    def _entry(self) -> MemoryEntry | None:
        """The memory under the cursor, as it was before it was changed."""
        line = self._list.selected
        row = None if line is None or isinstance(line, Action) else line.row
        return self._memory if row is None or row.table != MEMORIES else row.entry()

    @property
    def _change_number(self) -> int | None:
        line = self._list.selected
        return None if line is None else line.number if isinstance(line, Action) else line.action

    def _go_to(self, place: Place) -> None:
        self._place = place
        self._list.set_marks(())
        self.remove_class("-searching")
        self.set_focus(self._list)
        start_work(self, _LOADING, self._load, 0)

    async def _load(self, cursor: int | None = None) -> None:
        """Read what is shown here; without a place for it the cursor stays on its row."""
        trash, place = self.library.trash, self._place
        rows: Sequence[Line | None]
        try:
            self._usage = await trash.usage()
            if place == "changes":
                rows = list(await trash.actions(_MAX_CHANGES))
            elif place == "memory" and self._memory is not None:
                # A version may have given it another key.
                self._memory = await entry_with_id(self.library.memory, self._memory.id) or self._memory
                rows = await trash.history(self._memory.id)
            elif place == "rows" and self._change is not None:
                self._change = await trash.action(self._change.number)
                numbers = await trash.numbers_of(self._change.number)
                rows = self._pages(len(numbers), lambda at: trash.versions(numbers[at : at + _PAGE_ROWS]))
            else:
                contains = self._contains
                total = (await trash.listing(contains, limit=1))[1]
                rows = self._pages(total, lambda at: self._deleted_page(contains, at))
            if self._list.marks:
                self._list.set_marks(self._list.marks & set(await trash.numbers()))
        except InspectorError as error:
            self.query_one("#failure", Banner).fail(error)
            return
        if place == "changes":
            # Newer changes may have come on top, also while the rows of one were shown.
            number = self._change_number if cursor is None else self._change.number if self._change else None
            cursor = next((at for at, row in enumerate(rows) if row and row.number == number), cursor)
        self._list.say_empty(self._empty_text())
        self._list.set_columns(_columns(place, self.clock(), rows))
        self._list.set_rows(rows, cursor=cursor)
        found = (f"{len(rows):,} found",) if place == "deleted" and self._contains else ()
        self._search.show_mode(Mode.CONTAINS, found)
        self._paint_title()
        self.refresh_bindings()

    def _pages(self, total: int, load: Callable[[int], Awaitable[Sequence[Line]]]) -> _Pages:
        def want(pages: _Pages, offset: int) -> None:
            start_work(self, "changes-pages", self._load_page, pages, offset, load, exclusive=False)

        return _Pages(total, want)

    async def _load_page(self, pages: _Pages, offset: int, load: Callable[[int], Awaitable[Sequence[Line]]]) -> None:
        try:
            pages.pages[offset] = await load(offset)
        except InspectorError as error:
            self.query_one("#failure", Banner).fail(error)
            return
        self._list.refresh()
        if offset <= self._list.cursor < offset + _PAGE_ROWS:
            self.on_table_list_row_highlighted()

    async def _deleted_page(self, contains: str, offset: int) -> Sequence[Line]:
        return (await self.library.trash.listing(contains, limit=_PAGE_ROWS, offset=offset))[0]

    async def _mark_all(self) -> None:
        if self._place == "rows" and self._change is not None:
            numbers = await self.library.trash.numbers(action=self._change.number)
        else:
            numbers = await self.library.trash.numbers(self._contains)
        marked = self._list.marks
        self._list.set_marks(() if marked >= set(numbers) else (*marked, *numbers))

    async def after_change(self, outcome: Outcome | None) -> None:
        self.has_changed = self.has_changed or outcome is None or outcome.count > 0
        await self._load()

    async def _turn(
        self, library: Library, turn: Callable[[Library, int], Awaitable[Outcome | None]], verb: Literal["Undo", "Redo"]
    ) -> None:
        """Undo or redo the change under the cursor; a person is asked where only one of its rows is."""
        number = self._change_number
        if number is None:
            return
        change = await library.trash.action(number)
        if not isinstance(self._list.selected, Action) and change.count > 1:
            body = Content.styled(f"{counted(change.count)}, changed {time_words(change.at, self.clock())}.", MUTED)
            question = yes_or_no(f"{verb} the whole change: {change.title}?", body, verb)
            if not await self.app.push_screen_wait(question):
                return
        await turn(library, number)

    async def _restore(self, library: Library, numbers: Sequence[int], what: str = "") -> Outcome | None:
        sentence = f"Restoring {counted(len(numbers))}"
        outcome = await self.changes.settled(library, sentence, len(numbers), partial(restore, library, numbers))
        if outcome is not None:
            inform(self, " ".join(outcome.sentences(outcome.headline(what=what))))
            self._list.set_marks(())
            await self.after_change(outcome)
        return outcome

    async def _restore_version(self, library: Library, version: Version) -> None:
        """Change a memory back to the version before a change, or to the one the change created, once confirmed."""
        memory, wanted = library.memory, version.row
        key, which = key_words(wanted.entry().key), "after" if version.before is None else "before"
        present, deleted = await row_with_id(memory, wanted.id), None
        if present is None:
            history = await library.trash.history(wanted.id)
            deleted = next((one for one in history if _mark_of(one) is not None), None)
            if deleted is None:
                raise NotFound("This memory is neither in the store nor in the trash.", hint="It cannot be restored.")
        now = deleted.row if deleted is not None else present
        assert now is not None
        values = _differing(now, wanted, memory)
        if not values and deleted is None:
            inform(self, f"{key} is already as it was {which} {time_here(version.at)}.")
            return
        when = f"{which} {time_words(version.at, self.clock())}"
        title = f"Restore {key} as it was {when}?" if deleted else f"Change {key} back to how it was {when}?"
        then = replace(now, values={**now.values, **values})
        body = await asyncio.to_thread(difference_content, now.entry(), then.entry())
        if not await self.app.push_screen_wait(yes_or_no(title, body, "Restore", must_be_seen=True)):
            return
        if deleted is not None and await self._restore(library, [deleted.number], key) is None:
            return
        present = await row_with_id(memory, wanted.id)
        if present is not None and values:
            await edit_memory(library, wanted.id, Edit(values), present.fingerprint)
        inform(self, f"Restored {key} as it was {which} {time_here(version.at)}.")
        self.has_changed = True
        await self._load()

    def _paint_title(self) -> None:
        count, change, usage = len(self._list.rows), self._change, self._usage
        facts = ["newest first"] if count > 1 and self._place in ("changes", "memory") else []
        if self._place == "rows" and change is not None:
            head, facts = change.title, [time_words(change.at, self.clock()), _state_text(change)]
        elif self._place == "memory" and self._memory is not None:
            head = f"{counted(count, 'change') if count else 'No changes'} of {key_words(self._memory.key)}"
            facts.append("only changes made with this program")
        elif self._place == "deleted":
            head = f"{counted(count)} in the trash" if count else "No memories in the trash"
        else:
            head = counted(count, "change") if count else "No changes yet"
        if usage is not None and self._place in ("changes", "deleted"):
            facts.append(f"kept {usage.days_kept} days or {usage.bytes_kept / _MEGABYTE:g} MB")
            facts.append(size_shown(usage.bytes) if usage.bytes else "")
        facts.append(self.library.read_only_because or "")
        self.query_one(TitleLine).say(head, self._list.marks_words, *facts)

    def _empty_text(self) -> str:
        if self._place == "deleted" and self._contains:
            return f"Nothing in the trash contains “{one_line(self._contains)[:60]}”. Press esc to close the search."
        if self._place == "deleted":
            return "The trash is empty. Press d in the list of memories to delete one."
        if self._place == "memory":
            return (
                "This program has not changed this memory yet. Edits (e) and deletions (d) appear here. "
                "`zeroclaw memory get` shows what the store itself recorded."
            )
        return "No changes yet. Edits (e), new memories (n) and deletions (d) appear here."

    async def _describe(self, line: Line | None) -> None:
        """Show everything about the row under the cursor."""
        about, lines, trash, now = Content(""), list[DiffLine](), self.library.trash, self.clock()
        try:
            if isinstance(line, Action):
                numbers = await trash.numbers_of(line.number)
                versions = await trash.versions(numbers[:_SAMPLES])
                about = _change_content(line, now)
                if len(numbers) == 1 and _glyph(versions[0]) == "~":
                    about = Content("\n\n").join([about, _version_content(versions[0])])
                    lines = await asyncio.to_thread(_version_lines, versions[0])
                else:
                    lines = [DiffLine(_glyph(one), f"{_key_of(one)}  {_excerpt_of(one)}".rstrip()) for one in versions]
                    lines += [DiffLine("…", f"{len(numbers) - len(lines):,} more")] if len(numbers) > len(lines) else []
            elif line is not None and self._place != "deleted":
                about, lines = _version_content(line), await asyncio.to_thread(_version_lines, line)
            elif line is not None:
                text = await asyncio.to_thread(display_text, line.row.entry().content[:MOST_SHOWN])
                about = _deleted_content(line, now)
                lines = [DiffLine(" ", one.expandtabs(4)) for one in text.split("\n")]
        except InspectorError as error:
            about = Content(display_text(mask_secrets(str(error))))
        self.query_one(AboutPane).show(about, lines)


def _mark_of(line: Line | None) -> int | None:
    """The number of a deleted memory that can come back; None for everything else."""
    is_deletion = isinstance(line, Version) and line.after is None and line.row.table == MEMORIES
    return line.number if isinstance(line, Version) and is_deletion and not line.is_undone else None


def _is_undone(line: Line | None) -> bool:
    """Whether nothing of a line can be undone any more; such a line is crossed out."""
    return not line.open if isinstance(line, Action) else isinstance(line, Version) and line.is_undone


def _differing(now: Row, wanted: Row, memory: Any) -> dict[str, Any]:
    """The fields that make one version of a memory the other, as far as this store can edit."""
    old, new = now.entry(), wanted.entry()
    names = [name for name in EDITABLE if not why_fixed(memory, name) and getattr(old, name) != getattr(new, name)]
    return {name: getattr(new, name) for name in names}


def _glyph(version: Version) -> Sign:
    return "+" if version.before is None else "-" if version.after is None else "~"


def _verb_text(version: Version) -> str:
    """What was done, and by which command where that is another one: "deleted by hygiene"."""
    word = _WORDS[_glyph(version)]
    usual = ("forget", "purge") if word == "deleted" else ("store", "edit")
    return word if version.verb in usual else f"{word} by {version.verb}"


def _state_text(change: Action) -> str:
    """How much of a change is undone."""
    if change.open == change.count:
        return ""
    return f"{change.count - change.open:,} of {change.count:,} undone" if change.open else "undone"


def _key_of(version: Version) -> str:
    """The key of a row of a change; of what is no memory, where it is."""
    row = version.row
    return one_line(masked(row.entry().key) if row.table == MEMORIES else mask_secrets(row.id))


def _excerpt_of(version: Version) -> str:
    row = version.row
    return excerpt_of(row.entry().content) if row.table == MEMORIES else ""


def _changed_fields(version: Version) -> list[tuple[str, str, str]]:
    """Every field but the content that an edit changed, what it was, and what it became."""
    if version.before is None or version.after is None or version.row.table != MEMORIES:
        return []
    return field_changes(version.before.entry(), version.after.entry())


def _changed_text(version: Version) -> str:
    """The names of the fields that an edit changed."""
    names = [name for name, _, _ in _changed_fields(version)]
    if version.before is None or version.after is None or version.row.table != MEMORIES:
        return ""
    is_other = version.before.entry().content != version.after.entry().content
    return ", ".join(["content", *names] if is_other else names)


def _version_lines(version: Version) -> list[DiffLine]:
    """The content lines that a change changed; all lines of a stored or deleted memory."""
    if version.row.table != MEMORIES:
        return []
    before, after = (row.entry().content if row is not None else "" for row in (version.before, version.after))
    return [] if before == after else diff_lines(before, after)


def _change_content(change: Action, now: datetime) -> Content:
    """A change: what, when, to how many rows, and until when it can be undone."""
    state = _state_text(change)
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


def _version_content(version: Version) -> Content:
    """When and what, then every field that changed, aligned."""
    parts: list[str | tuple[str, str]] = [(_verb_text(version), STRONG), (f"  {time_here(version.at)}", MUTED)]
    parts.append((f"\n{_key_of(version)}", MUTED))
    fields = _changed_fields(version)
    widest = max((len(name) for name, _, _ in fields), default=0)
    for name, old, new in fields:
        parts += ["\n", (f"{name.ljust(widest)}  {old} → ", MUTED), new]
    return Content.assemble(*parts)


def _deleted_content(row: Version, now: datetime) -> Content:
    """What happened to a deleted memory, and until when it stays in the trash."""
    entry = row.row.entry()
    facts = [
        one_line(entry.category) or "no category",
        f"{_verb_text(row)} {time_here(row.at)} ({relative_age(row.at, now)})",
        f"expires {time_here(row.until)} ({gone_words(row.until, now)})",
        *([f"session {one_line(entry.session_id)}"] if entry.session_id else []),
    ]
    return Content.assemble((one_line(masked(entry.key)), STRONG), (f"\n{' · '.join(facts)}", MUTED))


def _columns(place: Place, now: datetime, rows: Sequence[Any]) -> Sequence[Column[Any]]:
    """The columns of a place, which holds rows of one kind."""
    if place == "changes":
        state_cells = max((len(_state_text(change)) for change in rows), default=0)
        return (
            Column("when", lambda one: relative_age(one.at, now), width=8, look="muted"),
            Column("change", lambda one: one.title, flex=True),
            Column("rows", lambda one: f"{one.count:,}", width=7, right=True, look="muted"),
            Column("", _state_text, width=state_cells, look="muted"),
            Column("expires", lambda one: gone_words(one.until, now), 7, right=True, hidden_below=90, look="faint"),
        )
    if place == "deleted":
        return (
            Column("deleted", lambda one: relative_age(one.at, now), width=8, look="muted"),
            Column("key", lambda one: masked(one.row.entry().key), width=20, shortened=cut_key),
            Column("memory", lambda one: masked(one.row.entry().content[:_MAX_CONTENT]), flex=True),
            Column("category", lambda one: one.row.entry().category, 12, hidden_below=90, look="muted"),
            Column("size", lambda one: size_shown(one.row.size), 7, right=True, hidden_below=90, look="muted"),
            Column("expires", lambda one: gone_words(one.until, now), width=7, right=True, look="faint"),
        )
    glyph = Column[Version]("", lambda one: Content.styled(_glyph(one), _LOOKS[_glyph(one)]), width=1)
    if place == "memory":
        return (
            Column[Version]("when", lambda one: relative_age(one.at, now), width=8, look="muted"),
            glyph,
            Column[Version]("what", _verb_text, width=16),
            Column[Version]("changed", _changed_text, flex=True, look="muted"),
        )
    return (
        glyph,
        Column[Version]("what", _verb_text, width=15, look="muted"),
        Column[Version]("key", _key_of, width=14, shortened=cut_key),
        Column[Version]("memory", _excerpt_of, flex=True),
        Column[Version]("changed", _changed_text, 20, hidden_below=100, look="muted"),
    )
