"""Clean up: the memories of all findings in one list, and one plan for all marked memories."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from textual.content import Content

from zeroclaw_tui.backends.lookup import whole_entry
from zeroclaw_tui.curation.clean_up import (
    SAFE_TO_REMOVE,
    CleanUpReport,
    Finding,
    FindingKind,
    MergePlan,
    Sample,
    check_memories,
    merge,
    plan_merge,
)
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.outcome import Outcome, PurgePlan
from zeroclaw_tui.memory.change import RowVersion
from zeroclaw_tui.memory.entry import Handle
from zeroclaw_tui.memory.secret_text import masked
from zeroclaw_tui.memory.text import counted, fit, one_line, size_shown
from zeroclaw_tui.tui.commands import Command, changing, mark_commands, warn
from zeroclaw_tui.tui.dialogs import Dialog, confirmation
from zeroclaw_tui.tui.format import relative_age, safe_line
from zeroclaw_tui.tui.rooms.listing import UpkeepTab
from zeroclaw_tui.tui.themes import MUTED, STRONG
from zeroclaw_tui.tui.widgets.detail import MAX_SHOWN, origin_parts, with_text
from zeroclaw_tui.tui.widgets.lines import DOT, TabName, TitleLine
from zeroclaw_tui.tui.widgets.table_list import EMPTY_CONTENT, EMPTY_KEY, Column, TableList, cut_key

_MAX_MERGE_ROWS = 12


@dataclass(frozen=True, slots=True)
class _Row:
    """A memory of a finding; a bracket joins the memories of a group."""

    finding: Finding
    sample: Sample
    bracket: str = ""

    @property
    def key(self) -> tuple[FindingKind, Handle]:
        """The identity of the row, because a memory may be in several findings."""
        return self.finding.kind, self.sample.version.handle


class CleanUp(UpkeepTab):
    """Checks the memories, lists those with a problem by kind, and deletes or merges them.

    Memories that are safe to delete are marked after the first check; a mark applies in every kind of the memory.
    """

    table: TableList[_Row]
    NAME = TabName("clean_up", "A", "Clean up")
    TITLES = ("Findings", "Memory")
    KEYS: ClassVar[Sequence[Command]] = (
        Command("open", "enter", "open", "Merge duplicates, or read the memory", True, shell="audit --merge"),
        *mark_commands("the memory", "Mark all memories of this kind, of duplicates all but one of each group"),
        Command("next_kind", "right", "next kind", "Go to the next kind of finding", True),
        Command("previous_kind", "left", "previous kind", "Go to the previous kind of finding"),
        Command("delete", "d", "delete marked", "Move the marked memories, or this one, to the trash", True,
                writes=True, synonyms="purge remove forget", shell="audit --purge --only {kind}"),
    )  # fmt: skip

    def __init__(self) -> None:
        columns = (
            Column[_Row]("", lambda row: row.bracket, width=1, look="faint"),
            Column[_Row]("key", lambda row: row.sample.version.key or EMPTY_KEY, shortened=cut_key),
            Column[_Row]("memory", lambda row: row.sample.excerpt or EMPTY_CONTENT, flex=True),
            Column[_Row]("found", lambda row: row.sample.remark, look="keyword", hidden_below=64),
            Column[_Row]("age", lambda row: relative_age(row.sample.version.when, self.room.clock()), 6, right=True),
        )
        table = TableList(
            columns,
            key=lambda row: row.key,
            mark=lambda row: row.sample.version.handle,
            heading=lambda row: self._headings.get(row.key),
        )
        super().__init__(table)
        self.report: CleanUpReport | None = None
        self._versions: Mapping[Handle, RowVersion] = {}
        """The memories of all findings, in the checked version."""
        self._headings: Mapping[tuple[FindingKind, Handle], str] = {}
        """The headings above the first row of each kind."""

    def shell_facts(self) -> dict[str, str]:
        """The kind of the row under the cursor, for shell commands."""
        row = self.table.selected
        return {} if row is None else {"kind": row.finding.kind.replace(" ", "-")}

    def action_open(self) -> None:
        """Merge the duplicates of a kind, or go to the detail."""
        row = self.table.selected
        if row is not None and row.finding.groups and not self.library.read_only_because:
            self.begin(partial(self._merge, row.finding))
        else:
            self.read()

    def action_mark_all(self) -> None:
        """Mark all of this kind, but of duplicates not the memory that stays; again: unmark the kind."""
        row, marks = self.table.selected, self.table.marks
        if row is None:
            return
        finding = row.finding
        versions = plan_merge([finding]).to_delete.versions if finding.groups else finding.versions
        wanted = dict.fromkeys(version.handle for version in versions)
        kind = {version.handle for version in finding.versions}
        is_marked = wanted.keys() <= marks
        self.table.set_marks([mark for mark in marks if mark not in kind] if is_marked else (*marks, *wanted))

    def action_next_kind(self) -> None:
        self._go_to_kind(1)

    def action_previous_kind(self) -> None:
        self._go_to_kind(-1)

    def _go_to_kind(self, step: int) -> None:
        """Put the cursor on the first memory of the next or previous kind."""
        rows, row = self.table.rows, self.table.selected
        kinds = list(dict.fromkeys(other.finding.kind for other in rows))
        index = kinds.index(row.finding.kind) + step if row is not None else -1
        if 0 <= index < len(kinds):
            self.table.cursor = next(place for place, other in enumerate(rows) if other.finding.kind == kinds[index])

    def on_table_list_marks_changed(self, event: TableList.MarksChanged) -> None:
        """Count the marks of each kind."""
        self._show_headings()
        self.show_loaded()

    @changing
    async def action_delete(self, library: Library) -> None:
        """Move the marked memories, else the one under the cursor, to the trash, in one plan."""
        row = self.table.selected
        here = [] if row is None else [row.sample.version.handle]
        versions = [self._versions[handle] for handle in self.table.marks or here]
        await self.room.delete(library, PurgePlan(tuple(versions)))

    async def _merge(self, finding: Finding, library: Library) -> None:
        plan = await asyncio.to_thread(plan_merge, [finding])
        count = plan.to_delete.count
        if not count:
            warn(self, "Nothing to merge: pinned memories and conversations of other sessions stay.")
        elif await self.app.push_screen_wait(merge_question(finding, plan)):

            def report(outcome: Outcome) -> str:
                return outcome.report(" · u", other=counted(len(plan.groups)))

            await self.room.carry_out(f"Merging {counted(count)}", count, partial(merge, library, plan), report)

    async def load(self) -> None:
        """Check all memories; the previous findings stay on the screen until then."""
        title = self.query_one(TitleLine)
        # Opens a replaced file, because `about` would read its handles from the old one.
        await self.library.memory.version()
        title.say("Checking all memories …", "esc cancels")
        report = await check_memories(self.library)
        is_first, self.report = self.report is None, report
        self._versions = {version.handle: version for finding in report.findings for version in finding.versions}
        safe = (sample for finding in report.findings if finding.kind in SAFE_TO_REMOVE for sample in finding.samples)
        first = (sample.version.handle for sample in safe if not sample.version.pinned)
        checked = f"No findings in {counted(report.rows)}."
        self.table.empty = checked if report.rows else "This store has no memories yet."
        # Before the rows, because the headings decide on which line the cursor is.
        self._show_headings()
        self.table.set_rows([row for finding in report.findings for row in _rows(finding)])
        self.table.set_marks(first if is_first else [mark for mark in self.table.marks if mark in self._versions])
        kinds = f"{counted(len(report.findings), 'kind')} of findings in {len(self._versions):,} of them"
        title.say(f"{report.headline()}: {kinds if report.findings else 'no findings'}")

    def _show_headings(self) -> None:
        """Update the headings: the number of memories of each kind, and how many are marked."""
        self._headings, marks = {}, self.table.marks
        for finding in self.report.findings if self.report is not None else ():
            marked = sum(version.handle in marks for version in finding.versions)
            facts = [f"{finding.kind} {finding.count:,}", size_shown(finding.size)]
            facts += [f"{marked:,} marked"] if marked else []
            if finding.groups:
                facts.append(f"{counted(len(finding.groups), 'group')}: ⏎ keeps one of each")
            elif finding.kind in SAFE_TO_REMOVE:
                facts.append("safe to delete")
            self._headings[_rows(finding)[0].key] = DOT.join(facts)
        self.table.redraw()

    async def about(self, row: _Row) -> Content:
        """The problem of the memory under the cursor, and its full content."""
        entry = await whole_entry(self.library.memory, row.sample.version.handle)
        text = await asyncio.to_thread(masked, entry.content[: 4 * MAX_SHOWN])
        key = one_line(masked(entry.key)) or EMPTY_KEY
        facts = DOT.join(map(masked, origin_parts(entry, self.room.clock())))
        problem = safe_line(row.finding.remark)
        about = Content.assemble((key, STRONG), (f"\n{facts}\n{problem}", MUTED))
        return with_text(about, text or EMPTY_CONTENT)


def _rows(finding: Finding) -> Sequence[_Row]:
    """The memories of a finding in storage order, or by group."""
    if not finding.groups:
        return [_Row(finding, sample) for sample in finding.samples]
    return [
        _Row(finding, finding.samples[index], "└" if index == group[-1] else "┌" if index == group[0] else "│")
        for group in finding.groups
        for index in group
    ]


def merge_question(finding: Finding, plan: MergePlan) -> Dialog[bool]:
    """Ask whether to merge; lists the first groups, each with the memory that stays and those to delete."""
    count = plan.to_delete.count
    rows = [(sample, sample is stays) for stays, others in plan.groups for sample in (stays, *others)]
    lines = [
        f"{'✓ stays' if stays else '– trash'} {fit(one_line(masked(sample.version.key)) or EMPTY_KEY, 18)} "
        f"{fit(one_line(masked(sample.version.category)), 12)} {fit(one_line(masked(sample.excerpt)), 26)}"
        for sample, stays in rows[:_MAX_MERGE_ROWS]
    ]
    if len(rows) > _MAX_MERGE_ROWS:
        lines.append(f"… {len(rows) - _MAX_MERGE_ROWS:,} more")
    lines.append("\nThe most durable copy of each group stays. The others go to the trash. Press u to undo.")
    title = f"Merge {counted(len(plan.groups), 'group')} of {finding.kind} and delete {counted(count)}?"
    return confirmation(title, Content("\n".join(lines)), count, "merge")
