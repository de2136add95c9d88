"""The snapshot: write it, compare it with the store, and import the marked memories."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import ClassVar

from textual.content import Content

from zeroclaw_tui.curation import snapshot as snapshots
from zeroclaw_tui.curation.formats.snapshot import load
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.outcome import Outcome
from zeroclaw_tui.curation.snapshot import Difference, Where, compare, plan_hydrate
from zeroclaw_tui.curation.transfer.plan import Target
from zeroclaw_tui.memory.days import absolute_time
from zeroclaw_tui.memory.text import counted, mask_secrets, one_line
from zeroclaw_tui.memory.text_difference import DiffLine, diff_lines
from zeroclaw_tui.tui.commands import Command, changing, inform, mark_commands
from zeroclaw_tui.tui.dialogs import yes_or_no
from zeroclaw_tui.tui.format import safe_line, safe_text
from zeroclaw_tui.tui.rooms.listing import UpkeepTab
from zeroclaw_tui.tui.store_room import key_text
from zeroclaw_tui.tui.themes import MUTED, STRONG
from zeroclaw_tui.tui.transfer import import_planned
from zeroclaw_tui.tui.widgets.detail import with_difference, with_text
from zeroclaw_tui.tui.widgets.lines import TabName, TitleLine
from zeroclaw_tui.tui.widgets.table_list import EMPTY_CONTENT, EMPTY_KEY, Column, TableList, cut_key

_SENTENCES: dict[Where, str] = {
    "changed": "The content differs: - in the store, + in the snapshot.",
    "only here": "Only in the store: the snapshot does not have it.",
    "only there": "Only in the snapshot: the store does not have it.",
}
_COLUMNS: Sequence[Column[Difference]] = (
    Column("where", lambda row: row.where, width=10, look="muted"),
    Column("key", lambda row: row.key or EMPTY_KEY, shortened=cut_key),
    Column("memory", lambda row: _beginning(row), flex=True),
)


class SnapshotTab(UpkeepTab):
    """The differences between MEMORY_SNAPSHOT.md and the store, with marks for the import."""

    table: TableList[Difference]
    NAME = TabName("snapshot", "S", "Snapshot")
    TITLES = ("Differences", "Difference")
    KEYS: ClassVar[Sequence[Command]] = (
        Command("hydrate", "enter", "import", "Import the marked memories, or this one", True, writes=True,
                shell="hydrate"),
        *mark_commands("the row", "Mark all that can be imported"),
        Command("write", "W", "write", "Write the snapshot as ZeroClaw does", True, writes=True, shell="snapshot"),
    )  # fmt: skip

    def __init__(self) -> None:
        empty = "Press W to write it now. ZeroClaw writes it when `snapshot_enabled` is on in config.toml."
        super().__init__(TableList(_COLUMNS, empty=empty, mark=lambda row: row.key if row.there else None))
        self._path: Path | None = None
        """The compared snapshot; None before it is read."""
        self._notes: tuple[str, ...] = ()

    async def load(self) -> None:
        """Read the file and the store, and compare them."""
        path = await asyncio.to_thread(snapshots.place_of, self.library.config)
        if self._path is None and not await asyncio.to_thread(path.exists):
            self.query_one(TitleLine).say(f"There is no {path.name} yet")
            return
        snapshot = await asyncio.to_thread(load, path)
        differences = await compare(self.library, snapshot)
        self._path, self._notes = path, snapshot.notes
        when = f" of {absolute_time(snapshot.exported)}" if snapshot.exported else ""
        counts = Counter(difference.where for difference in differences)
        differs = [f"{counts[where]:,} {where}" for where in _SENTENCES if counts[where]]
        self.query_one(TitleLine).say(f"{path.name}{when}: {counted(len(snapshot.rows), 'core memory')}", *differs)
        self.table.empty = f"Store and snapshot have the same {counted(counts['same'])}."
        keys = {row.key for row in differences if row.there is not None and row.where != "same"}
        self.table.set_marks(key for key in self.table.marks if key in keys)
        self.table.set_rows([row for row in differences if row.where != "same"])

    def status(self) -> Sequence[str]:
        """The number of marks, and notes about the file."""
        return (*super().status(), *self._notes)

    async def about(self, difference: Difference) -> Content:
        """Compare the two versions of the memory under the cursor."""
        here, there = difference.here, difference.there
        about = Content.assemble((key_text(difference.key), STRONG), (f"\n{_SENTENCES[difference.where]}", MUTED))
        if here is None or there is None:
            entry = here or there
            return about if entry is None else with_text(about, mask_secrets(entry.content))
        compared = await asyncio.to_thread(diff_lines, here.content, there.content)
        # Masked only after the comparison, because two secrets may differ in the masked part.
        return with_difference(about, [DiffLine(line.sign, mask_secrets(line.text)) for line in compared])

    def why_dimmed(self, action: str) -> str | None:
        """Say why an action is not available now; None if it is."""
        difference = self.table.selected
        is_import = action == "mark" or (action == "hydrate" and not self.table.marks)
        if is_import and difference is not None and difference.there is None:
            return f"{key_text(difference.key)} is not in the snapshot. Press W to write it."
        if action == "hydrate" and difference is None:
            return "Nothing to import here."
        return super().why_dimmed(action)

    @changing
    async def action_write(self, library: Library) -> None:
        plan = await snapshots.plan_snapshot(library)
        title = f"Write {counted(plan.count)} to {one_line(plan.file.name)}?"
        sentences = [str(plan.file), *plan.sentences(), "", "Press u to undo."]
        question = yes_or_no(title, "Write", Content(safe_text("\n".join(sentences))))
        if plan.count and not await self.app.push_screen_wait(question):
            return
        write = partial(snapshots.write_snapshot, library)

        def report(outcome: Outcome) -> str:
            return " ".join(outcome.sentences(plan.done_sentence(outcome, " · u")))

        await self.room.carry_out("Writing the snapshot", plan.count, lambda on_progress: write(), report)

    @changing
    async def action_hydrate(self, library: Library) -> None:
        """Import the marked memories, else the one under the cursor."""
        path, difference, marks = self._path, self.table.selected, self.table.marks
        if path is None or difference is None:
            return
        target = Target.of(library)
        plan = await plan_hydrate(target, path, keys=sorted(marks or [difference.key]))
        outcome = await import_planned(self.app, target, plan, self.room.pace.patience)
        if isinstance(outcome, Outcome):
            self.table.set_marks(())
            inform(self, outcome.report(" · u"))
            await self.room.after_change()


def _beginning(difference: Difference) -> str:
    entry = difference.there or difference.here
    return safe_line(entry.content if entry is not None else "") or EMPTY_CONTENT
