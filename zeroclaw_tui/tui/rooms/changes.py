"""The Changes room: all changes with their rows and diffs, undo and redo, and the trash."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from typing import Any, Literal

from textual.content import Content

from zeroclaw_tui.backends.lookup import entry_with_id
from zeroclaw_tui.curation.changes import restore
from zeroclaw_tui.curation.journal_records import Action, Version
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.outcome import excerpt_of
from zeroclaw_tui.memory.change import MEMORIES
from zeroclaw_tui.memory.days import date_shown, time_here
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.secret_text import masked
from zeroclaw_tui.memory.text import are, counted, mask_secrets, one_line
from zeroclaw_tui.memory.text_difference import DiffLine, Sign, diff_lines
from zeroclaw_tui.tui.commands import Command, changing, common_commands, inform, start_work
from zeroclaw_tui.tui.dialogs import confirmation, field_changes, yes_or_no
from zeroclaw_tui.tui.format import relative_age
from zeroclaw_tui.tui.rooms.listing import Listing
from zeroclaw_tui.tui.store_room import Direction, StoreRoom, key_text
from zeroclaw_tui.tui.themes import MUTED, STRONG
from zeroclaw_tui.tui.view import Pace
from zeroclaw_tui.tui.widgets.detail import with_difference
from zeroclaw_tui.tui.widgets.lines import TitleLine
from zeroclaw_tui.tui.widgets.table_list import Column, TableList, cut_key

COMMANDS = (
    Command("open", "enter", "open", "The rows of this change", True),
    Command("restore", "enter", "restore", "Restore this deleted memory", True, writes=True, synonyms="restore revert"),
    Command("undo", "u", "undo", "Undo exactly this change", True, writes=True, synonyms="revert",
            shell="undo --id {number}"),
    Command("redo", "U", "redo", "Redo this undone change", True, writes=True, shell="redo --id {number}"),
    Command("trash", "t", "trash", "The deleted memories, or the changes again", True, synonyms="trash restore",
            shell="trash list"),
    Command("empty", "", "empty the trash", "Delete all of this store's trash permanently", writes=True,
            synonyms="delete purge", shell="trash empty"),
    Command("reload", "r", "reload", "Reload; after a failure: retry", synonyms="refresh retry"),
    *common_commands(),
)  # fmt: skip
_WRITING = frozenset(command.id for command in COMMANDS if command.writes)
_MOST = 1000
"""The maximum number of changes or rows shown; the shell commands list all."""
_LOOKS: dict[Sign, str] = {"+": "good", "-": "bad", "~": "muted"}

Place = Literal["changes", "rows", "memory", "deleted"]
"""The content of the list: changes, the rows of one change, those of one memory, or the trash."""
Line = Action | Version
_EMPTY: dict[Place, str] = {
    "changes": "No changes yet. Edits (e), new memories (n) and deletions (d) appear here.",
    "rows": "This change has no rows any more.",
    "memory": "This program has not changed this memory yet. Edits (e) and deletions (d) appear here.",
    "deleted": "The trash is empty. Deleted memories appear here.",
}


class ChangesRoom(Listing, StoreRoom):
    """The changes of the store, or of one memory, the newest first. Its result is True if something was changed."""

    CSS = "ChangesRoom { background: $background; }"
    PLACE = "changes"
    KEYS = COMMANDS
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (120, "-wide")]  # noqa: RUF012
    AUTO_FOCUS = "#list"
    TITLES = ("Changes", "Change")

    def __init__(
        self, library: Library, clock: Callable[[], datetime], pace: Pace, memory: MemoryEntry | None = None
    ) -> None:
        super().__init__(library, clock, pace)
        self._memory = memory
        self._first: Place = "changes" if memory is None else "memory"
        self._place: Place = self._first
        self._change: Action | None = None
        """The change whose rows are shown, or were last shown."""
        self.table = TableList[Line](
            lambda _: _columns(self.table.rows, clock()),
            key=lambda line: line.number,
            is_left_out=_is_undone,
            id="list",
        )

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action in ("open", "restore") and action != self._primary:
            return False
        return super().check_action(action, parameters)

    @property
    def _primary(self) -> str:
        """The command of enter: open the rows of a change, or restore a memory."""
        return "open" if self._place == "changes" else "restore"

    def why_dimmed(self, action: str) -> str | None:
        """Say why an action is not available for the line under the cursor."""
        if action in _WRITING and self.library.read_only_because is not None:
            return self.library.read_only_because
        line = self.table.selected
        if action in ("undo", "redo", "restore") and line is None:
            return "There is no change under the cursor."
        if action == "undo" and isinstance(line, Action) and not line.open:
            return "Already undone. Press U to redo."
        if action == "redo" and isinstance(line, Action) and line.open == line.count:
            return "Not undone, so there is nothing to redo."
        is_deleted = isinstance(line, Version) and line.after is None and line.row.table == MEMORIES
        if action == "restore" and (not is_deleted or _is_undone(line)):
            return "Only a deleted memory is restored by itself. Press u to undo the whole change."
        return None

    def shell_facts(self) -> dict[str, str]:
        """The store, and the number of the change under the cursor, for shell commands."""
        line = self.table.selected
        return super().shell_facts() | ({} if line is None else {"number": str(_number_of(line))})

    async def on_table_list_row_opened(self) -> None:
        await self.run_command(self._primary)

    def action_open(self) -> None:
        """Show the rows of a change."""
        line = self.table.selected
        if isinstance(line, Action):
            self._change = line
            self._go_to("rows")

    @changing
    async def action_restore(self, library: Library) -> None:
        """Restore the deleted memory under the cursor."""
        line = self.table.selected
        if not isinstance(line, Version):
            return
        what = key_text(line.row.entry().key)
        outcome = await self.run_with_conflicts(f"Restoring {what}", 1, partial(restore, library, [line.number]))
        if outcome is not None:
            inform(self, outcome.report(what=what))
            await self.after_change()

    @changing
    async def action_empty(self, library: Library) -> None:
        count = len(await library.trash.numbers())
        if not count:
            inform(self, "The trash is empty.")
            return
        title = f"Delete the whole trash of this store permanently: {counted(count)} and all earlier versions?"
        dialog = confirmation(title, Content("This cannot be undone."), count, "delete")
        dialog.must_be_seen = True
        if await self.app.push_screen_wait(dialog):
            inform(self, f"{are(await library.trash.empty())} deleted permanently.")
            await self.load_now()

    def action_trash(self) -> None:
        self._go_to(self._first if self._place == "deleted" else "deleted")

    def step_out(self) -> bool:
        """Go from the detail to the list, or from the rows to the changes."""
        if super().step_out():
            return True
        is_further = self._place != self._first
        if is_further:
            self._go_to(self._first)
        return is_further

    def _go_to(self, place: Place) -> None:
        self._place = place
        self.table.focus()
        start_work(self, "load", self._load_first)

    async def _load_first(self) -> None:
        """Load, and put the cursor on the change whose rows were last shown, else on the first line."""
        await self.load_now()
        number = self._change.number if self._place == "changes" and self._change is not None else None
        self.table.cursor = next((index for index, row in enumerate(self.table.rows) if row.number == number), 0)

    async def load(self) -> None:
        """Read the lines of the current place."""
        rows, head = await self._read()
        self.table.empty = _EMPTY[self._place]
        self.table.set_rows(rows)
        shown = f"the first {_MOST:,}" if len(rows) == _MOST else ""
        self.query_one(TitleLine).say(*head, shown, self.library.read_only_because or "")

    async def _read(self) -> tuple[Sequence[Line], tuple[str, ...]]:
        """Read the lines of the place, and the parts of its title."""
        trash, place = self.library.trash, self._place
        if place == "memory" and self._memory is not None:
            # A change may have given the memory another key.
            self._memory = await entry_with_id(self.library.memory, self._memory.id) or self._memory
            versions = await trash.history(self._memory.id)
            title = f"{counted(len(versions), 'change')} of {key_text(self._memory.key)}"
            return versions, (title, "only changes made with this program")
        if place == "rows" and self._change is not None:
            self._change = change = await trash.action(self._change.number)
            versions = await trash.versions_of(change.number, _MOST)
            return versions, (change.title, time_here(change.at), _state_text(change))
        if place == "deleted":
            versions, count = await trash.listing(limit=_MOST)
            return versions, (f"{counted(count)} in the trash" if count else "No memories in the trash",)
        changes = await trash.actions(_MOST)
        return changes, (counted(len(changes), "change"), "newest first") if changes else ("No changes yet",)

    async def after_change(self) -> None:
        await super().after_change()
        await self.load_now()

    async def _reverse(self, library: Library, verb: Direction) -> None:
        """Undo or redo the change under the cursor; asks first if the cursor is on one of several rows."""
        line = self.table.selected
        if line is None:
            return
        change = await library.trash.action(_number_of(line))
        if isinstance(line, Version) and change.count > 1:
            body = Content.styled(f"{counted(change.count)}, changed {time_here(change.at)}.", MUTED)
            title = f"{verb.capitalize()} the whole change: {change.title}?"
            question = yes_or_no(title, verb.capitalize(), body)
            if not await self.app.push_screen_wait(question):
                return
        await self.reverse(library, verb, change.number)

    action_undo = changing(partial(_reverse, verb="undo"))
    action_redo = changing(partial(_reverse, verb="redo"))

    async def about(self, line: Line) -> Content:
        """The diff and changed fields of a row, or the first rows of a change."""
        if isinstance(line, Version):
            about = _version_content(line) + Content.styled("\nundone" if line.is_undone else "", MUTED)
            return with_difference(about, await asyncio.to_thread(_version_lines, line))
        about = _change_content(line, self.clock())
        versions = await self.library.trash.versions_of(line.number, 40)
        if line.count == len(versions) == 1:
            about = Content("\n\n").join([about, _version_content(versions[0])])
            return with_difference(about, await asyncio.to_thread(_version_lines, versions[0]))
        lines = [DiffLine(_glyph(one), f"{_key_of(one)}  {_excerpt_of(one)}".rstrip()) for one in versions]
        more = line.count - len(lines)
        return with_difference(about, [*lines, *([DiffLine("…", f"{more:,} more")] if more else [])])


def _number_of(line: Line) -> int:
    """The number of the change of a line."""
    return line.number if isinstance(line, Action) else line.action


def _is_undone(line: Line | None) -> bool:
    """Whether a line is completely undone; such a line is faint."""
    return not line.open if isinstance(line, Action) else isinstance(line, Version) and line.is_undone


def _glyph(version: Version) -> Sign:
    return "+" if version.before is None else "-" if version.after is None else "~"


def _state_text(change: Action) -> str:
    """Say how much of a change is undone."""
    if change.open == change.count:
        return ""
    return f"{change.count - change.open:,} of {change.count:,} undone" if change.open else "undone"


def _key_of(version: Version) -> str:
    """The key of a row of a change; for a row that is not a memory, its location."""
    row = version.row
    return one_line(masked(row.entry().key) if row.table == MEMORIES else mask_secrets(row.id))


def _excerpt_of(version: Version) -> str:
    row = version.row
    return one_line(excerpt_of(row.entry().content)) if row.table == MEMORIES else ""


def _version_lines(version: Version) -> list[DiffLine]:
    """The diff of the content; all lines of a stored or deleted memory."""
    if version.row.table != MEMORIES:
        return []
    before, after = (row.entry().content if row is not None else "" for row in (version.before, version.after))
    return [] if before == after else diff_lines(before, after)


def _change_content(change: Action, now: datetime) -> Content:
    """Describe a change: its title, time, number of rows, and until when it can be undone."""
    facts = [
        f"{time_here(change.at)} ({relative_age(change.at, now)})",
        counted(change.count, "row"),
        f"undo until {date_shown(change.until)}",
        f"change {change.number}",
    ]
    return Content.assemble((change.title, STRONG), (f"\n{' · '.join(facts)}\n{_state_text(change)}".rstrip(), MUTED))


def _version_content(version: Version) -> Content:
    """Describe a row of a change: verb, time, key, and the fields changed by an edit, without the content."""
    parts: list[str | tuple[str, str]] = [(version.verb, STRONG), (f"  {time_here(version.at)}", MUTED)]
    parts.append((f"\n{_key_of(version)}", MUTED))
    before, after = version.before, version.after
    if before is not None and after is not None and before.table == MEMORIES:
        fields = field_changes(before.entry(), after.entry())
        parts += [(f"\n{name}  {old} → {new}", MUTED) for name, old, new in fields]
    return Content.assemble(*parts)


def _columns(rows: Sequence[Line], now: datetime) -> Sequence[Column[Any]]:
    """The columns of changes, or of the rows of changes."""
    when = Column[Any]("when", lambda action: relative_age(action.at, now), width=8, look="muted")
    if rows and isinstance(rows[0], Action):
        return (
            when,
            Column("change", lambda action: action.title, flex=True),
            Column("rows", lambda action: f"{action.count:,}", width=7, right=True, look="muted"),
            Column("", _state_text, look="muted"),
            Column("expires", lambda action: date_shown(action.until), 10, hidden_below=90, look="faint"),
        )
    return (
        when,
        Column("", lambda version: Content.styled(_glyph(version), _LOOKS[_glyph(version)]), width=1),
        Column("by", lambda version: version.verb, width=8, look="muted"),
        Column("key", _key_of, width=14, shortened=cut_key),
        Column("memory", _excerpt_of, flex=True),
    )
