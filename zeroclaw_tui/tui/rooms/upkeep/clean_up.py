"""Clean up: the kinds of findings, their memories, and one plan for all that is marked."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Static

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
from zeroclaw_tui.curation.outcome import Outcome
from zeroclaw_tui.curation.purge_plan import plan_of
from zeroclaw_tui.memory.change import RowVersion
from zeroclaw_tui.memory.entry import Handle
from zeroclaw_tui.memory.secret_text import masked
from zeroclaw_tui.memory.text import counted, one_line, size_shown
from zeroclaw_tui.tui.commands import Command, changing, mark_commands, warn
from zeroclaw_tui.tui.dialogs import Dialog, confirmation
from zeroclaw_tui.tui.format import fit, relative_age, shown_line
from zeroclaw_tui.tui.rooms.listing import About
from zeroclaw_tui.tui.rooms.upkeep.tab import UpkeepTab
from zeroclaw_tui.tui.themes import MUTED, STRONG
from zeroclaw_tui.tui.widgets.detail import MAX_SHOWN, origin_parts
from zeroclaw_tui.tui.widgets.lines import DOT, GrowingText, TabName, TitleLine
from zeroclaw_tui.tui.widgets.table_list import EMPTY_CONTENT, EMPTY_KEY, Column, TableList, cut_key

_MASKED_CHARACTERS = 4 * MAX_SHOWN
_MAX_MERGE_ROWS = 12
_LINES_BELOW = 12
"""What the tab needs for all but the kinds, so that the lower list shows some memories."""


@dataclass(frozen=True, slots=True)
class _Row:
    """A memory of a finding; similar ones share a bracket."""

    sample: Sample
    bracket: str = ""


class CleanUp(UpkeepTab):
    """Checks the memories, shows the findings, and deletes or merges.

    What is safe to delete is marked after the first check; a mark counts in every kind the memory is in.
    """

    NAME = TabName("clean_up", "A", "Clean up")
    KEYS: ClassVar[Sequence[Command]] = (
        Command("open", "enter", "open", "Merge duplicates, or open the memories", True, shell="audit --merge"),
        *mark_commands("the kind or the memory", "Mark all memories of this kind"),
        Command("delete", "d", "delete marked", "Move the marked memories, or this one, to the trash", True,
                writes=True, synonyms="purge remove forget", shell="audit --purge --only {kind}"),
    )  # fmt: skip

    def __init__(self) -> None:
        columns = (
            Column[Finding]("finding", lambda one: one.kind, width=18),
            Column[Finding]("memories", lambda one: f"{one.count:,}", width=8, right=True),
            Column[Finding]("marked", lambda one: f"{self._marked.get(one.kind) or ''}", 6, right=True, look="final"),
            Column[Finding]("size", lambda one: size_shown(one.size), width=7, right=True, look="muted"),
        )
        self.kinds = TableList(columns, key=lambda one: one.kind, mark=lambda one: one.kind, id="kinds")
        self.memories = TableList[_Row]((), mark=lambda row: row.sample.version.handle, id="memories")
        """The memories of the kind under the cursor."""
        super().__init__(self.kinds)
        self.report: CleanUpReport | None = None
        self._versions: Mapping[Handle, RowVersion] = {}
        """Every memory of a finding, in the version that was checked."""
        self._marked: Mapping[FindingKind, int] = {}
        """How many of each kind are marked."""
        self._shown: Finding | None = None
        """The kind whose memories are shown."""

    def compose_lists(self) -> ComposeResult:
        yield self.kinds
        yield GrowingText(id="remark")
        yield self.memories

    def on_resize(self) -> None:
        """Give the kinds as many lines as they need, at most two fifths of the tab."""
        count = len(self.kinds.rows)
        most = max(1, min(self.size.height * 2 // 5, self.size.height - _LINES_BELOW))
        self.kinds.styles.height = 1 + min(count, most) if count else "1fr"

    def shell_facts(self) -> dict[str, str]:
        """The kind under the cursor."""
        finding = self.kinds.selected
        return {} if finding is None else {"kind": finding.kind.replace(" ", "-")}

    def on_table_list_row_highlighted(self, event: TableList.RowHighlighted) -> None:
        """A kind shows its memories; Textual calls the handler of every tab as well, which shows the detail."""
        finding = self.kinds.selected
        if event.table is self.kinds and finding is not self._shown:
            self._show_memories(finding)

    def action_open(self) -> None:
        """Merge the duplicates of a kind; else go one pane further."""
        finding = self.kinds.selected
        if self.kinds.has_focus and finding is not None and finding.groups and not self.library.read_only_because:
            self.begin(partial(self._merge, finding))
        else:
            self.go(1)

    def action_mark(self) -> None:
        """On a kind mark all of it, of duplicates all but the one of each group that stays; else the memory."""
        finding, memories = self.kinds.selected, self.memories
        if not self.kinds.has_focus:
            memories.toggle_mark()
        elif finding is not None:
            versions = plan_merge([finding]).to_delete.stamps if finding.groups else finding.versions
            wanted = dict.fromkeys(version.handle for version in versions)
            if wanted.keys() <= memories.marks:
                kind = {version.handle for version in finding.versions}
                memories.set_marks(one for one in memories.marks if one not in kind)
            else:
                memories.set_marks((*memories.marks, *wanted))
            self.kinds.cursor += 1

    def action_mark_all(self) -> None:
        self.memories.mark_all()

    def on_table_list_marks_changed(self, event: TableList.MarksChanged) -> None:
        """Count the marks of each kind."""
        if event.table is self.memories and self.report is not None:
            marks = self.memories.marks
            self._marked = {
                one.kind: sum(version.handle in marks for version in one.versions) for one in self.report.findings
            }
            self.kinds.set_marks(kind for kind, count in self._marked.items() if count)

    @changing
    async def action_delete(self, library: Library) -> None:
        """Move all that is marked, else the memory under the cursor, to the trash, by one plan."""
        row = self.memories.selected
        versions = [self._versions[one] for one in self.memories.marks]
        if not versions and row is not None and not self.kinds.has_focus:
            versions = [row.sample.version]
        if versions:
            await self.room.delete(library, await asyncio.to_thread(plan_of, versions))
        else:
            warn(self, "Nothing is marked. Press space to mark all of this kind, or tab to choose memories.")

    async def _merge(self, finding: Finding, library: Library) -> None:
        plan = await asyncio.to_thread(plan_merge, [finding])
        count = plan.to_delete.count
        if not count:
            warn(self, "Nothing to merge: pinned memories and conversations of other sessions stay.")
        elif await self.app.push_screen_wait(merge_question(finding, plan)):

            def report(outcome: Outcome) -> str:
                return " ".join(outcome.sentences(outcome.headline(" · u", counted(len(plan.groups)))))

            await self.carry_out(f"Merging {counted(count)}", count, partial(merge, library, plan), report)

    async def load(self) -> None:
        """Check all memories; the findings stay on the screen until it is done."""
        title = self.query_one(TitleLine)
        title.say("Checking all memories …", "esc cancels")
        report = await check_memories(self.library)
        is_first, self.report = self.report is None, report
        self._versions = {version.handle: version for finding in report.findings for version in finding.versions}
        safe = (sample for one in report.findings if one.kind in SAFE_TO_REMOVE for sample in one.samples)
        first = (sample.version.handle for sample in safe if not sample.version.pinned)
        self.memories.set_marks(first if is_first else [one for one in self.memories.marks if one in self._versions])
        self.kinds.say_empty(
            f"No findings in {counted(report.rows)}." if report.rows else "This store has no memories yet."
        )
        self.kinds.set_rows(report.findings)
        self.set_class(not report.findings, "-empty")
        self._show_memories(self.kinds.selected)
        self.on_resize()
        kinds = f"{counted(len(report.findings), 'kind')} of findings in {len(self._versions):,} of them"
        title.say(f"{report.headline()}: {kinds if report.findings else 'no findings'}")

    def _show_memories(self, finding: Finding | None) -> None:
        is_same_kind = finding is not None and self._shown is not None and finding.kind == self._shown.kind
        self._shown = finding
        self.memories.set_columns(self._memory_columns(finding))
        self.memories.set_rows(_rows(finding), cursor=None if is_same_kind else 0)
        more = ""
        if finding is not None and finding.groups:
            more = f"{counted(len(finding.groups), 'group')}: ⏎ keeps one of each"
        elif finding is not None and finding.kind in SAFE_TO_REMOVE:
            more = "Safe to delete."
        remark = "" if finding is None else f"{shown_line(finding.remark)}  {more}"
        self.query_one("#remark", Static).update(Content.styled(remark, MUTED))

    def status(self) -> Sequence[str]:
        """How many memories are marked."""
        marked, kinds = self.memories.marks_words, sum(1 for count in self._marked.values() if count)
        return (f"{marked} in {counted(kinds, 'kind')}: d deletes" if marked else "", *super().status()[1:])

    async def about(self) -> About:
        """The whole memory under the cursor."""
        row = self.memories.selected
        if row is None:
            return Content(""), (), ""
        entry = await whole_entry(self.library.memory, row.sample.version.handle)
        text = await asyncio.to_thread(masked, entry.content[:_MASKED_CHARACTERS])
        key = one_line(masked(entry.key)) or EMPTY_KEY
        facts = DOT.join(map(masked, origin_parts(entry, self.room.clock())))
        return Content.assemble((key, STRONG), "\n", (facts, MUTED)), (), text or EMPTY_CONTENT

    def _memory_columns(self, finding: Finding | None) -> Sequence[Column[_Row]]:
        now = self.room.clock()
        columns = [
            Column[_Row]("key", lambda row: row.sample.version.key or EMPTY_KEY, shortened=cut_key),
            Column[_Row]("memory", lambda row: row.sample.excerpt or EMPTY_CONTENT, flex=True),
            Column[_Row]("age", lambda row: relative_age(row.sample.version.when, now), 6, right=True, look="muted"),
        ]
        if finding is not None and any(sample.remark for sample in finding.samples[:200]):
            columns.insert(2, Column("found", lambda row: row.sample.remark, look="keyword", hidden_below=64))
        if finding is not None and finding.groups:
            columns.insert(0, Column("", lambda row: row.bracket, width=1, look="faint"))
        return columns


def _rows(finding: Finding | None) -> Sequence[_Row]:
    """The memories of a finding in the order of storing, or group by group."""
    if finding is None:
        return ()
    if not finding.groups:
        return [_Row(sample) for sample in finding.samples]
    return [
        _Row(finding.samples[at], "└" if at == group[-1] else "┌" if at == group[0] else "│")
        for group in finding.groups
        for at in group
    ]


def merge_question(finding: Finding, plan: MergePlan) -> Dialog[bool]:
    """Whether to merge: for each group the memory that stays, and under it those that go, the first of them."""
    count = plan.to_delete.count
    rows = [(sample, sample is stays) for stays, others in plan.groups for sample in (stays, *others)]
    lines = [
        f"{'✓ stays' if stays else '– goes '} {fit(one_line(masked(sample.version.key)) or EMPTY_KEY, 18)} "
        f"{fit(one_line(masked(sample.version.category)), 12)} {fit(one_line(masked(sample.excerpt)), 26)}"
        for sample, stays in rows[:_MAX_MERGE_ROWS]
    ]
    if len(rows) > _MAX_MERGE_ROWS:
        lines.append(f"… {len(rows) - _MAX_MERGE_ROWS:,} more")
    lines.append("\nThe most durable copy of each group stays. The others go to the trash. Press u to undo.")
    title = f"Merge {counted(len(plan.groups), 'group')} of {finding.kind} and delete {counted(count)}?"
    return confirmation(title, Content("\n".join(lines)), count, "merge")
