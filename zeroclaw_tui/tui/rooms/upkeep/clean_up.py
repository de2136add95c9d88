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
    Which,
    check_memories,
    merge,
    plan_merge,
    which,
)
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.outcome import Outcome
from zeroclaw_tui.curation.purge_plan import plan_of
from zeroclaw_tui.memory.change import RowVersion
from zeroclaw_tui.memory.errors import InspectorError, SearchInterrupted
from zeroclaw_tui.memory.secret_text import masked
from zeroclaw_tui.memory.text import counted, one_line, size_shown
from zeroclaw_tui.tui.actions import StoreRoom
from zeroclaw_tui.tui.commands import Command, changing, guarded, inform, mark_commands, start_work, warn
from zeroclaw_tui.tui.dialogs import Dialog, confirmation
from zeroclaw_tui.tui.external import copy_text
from zeroclaw_tui.tui.format import bar, fit, percent_text, short_age, shown_line, shown_words
from zeroclaw_tui.tui.rooms.upkeep.tab import UpkeepTab
from zeroclaw_tui.tui.themes import ACCENT, MUTED, STRONG
from zeroclaw_tui.tui.widgets.detail import MAX_SHOWN, AboutPane, origin_parts
from zeroclaw_tui.tui.widgets.growing_text import GrowingText
from zeroclaw_tui.tui.widgets.lines import StatusBar, TitleLine
from zeroclaw_tui.tui.widgets.score_lines import DOT
from zeroclaw_tui.tui.widgets.table_list import EMPTY_CONTENT, EMPTY_KEY, Column, LazyRows, TableList, cut_key

_GLYPHS: Mapping[FindingKind, str] = {
    "assistant replies": "»",
    "recall blobs": "∞",
    "tool results": "$",
    "heartbeat and cron": "~",
    "too short": "·",
    "too long": "↕",
    "empty keys": "∅",
    "exact duplicates": "=",
    "near duplicates": "≈",
    "secrets": "!",
    "hidden text": "◌",
}
_DANGEROUS: frozenset[FindingKind] = frozenset({"secrets", "hidden text"})
_BAR = 12
_PROGRESS_SECONDS = 0.1
_MASKED_CHARACTERS = 4 * MAX_SHOWN
_MAX_MERGE_ROWS = 12
_LINES_BELOW = 12
"""What the tab needs for all but the kinds, so that the lower list shows some memories."""


@dataclass(frozen=True, slots=True)
class _Row:
    """A memory of a finding as a row: similar ones share a bracket; `group` is the index of their group."""

    sample: Sample
    bracket: str = ""
    group: int | None = None


class _Rows(LazyRows[_Row]):
    """The memories of a finding in the order of storing, or group by group; each row is made when it is read."""

    def __init__(self, finding: Finding | None) -> None:
        self._samples = finding.samples if finding is not None else ()
        groups = finding.groups if finding is not None else ()
        self._order: Sequence[int] = [at for group in groups for at in group] if groups else range(len(self._samples))
        self._groups = [number for number, group in enumerate(groups) for _ in group]

    def __len__(self) -> int:
        return len(self._order)

    def row(self, at: int) -> _Row:
        """The memory at a place, under the bracket of its group."""
        sample = self._samples[self._order[at]]
        if not self._groups:
            return _Row(sample)
        group = self._groups[at]
        is_first = at == 0 or self._groups[at - 1] != group
        is_last = at + 1 == len(self) or self._groups[at + 1] != group
        return _Row(sample, "┌" if is_first else "└" if is_last else "│", group)


class CleanUp(UpkeepTab):
    """Checks the memories, shows the findings, and deletes or merges.

    What is safe to delete is marked after the first check; a mark counts in every kind the memory is in.
    """

    waits_for_check = True
    KEYS: ClassVar[Sequence[Command]] = (
        Command("open", "enter", "open", "Merge duplicates, or open the memories"),
        *mark_commands("the kind or the memory", "Mark all memories of this kind"),
        Command("delete", "d", "delete marked", "Move the marked memories, or this one, to the trash", True,
                writes=True, synonyms="purge remove forget", shell="audit --purge --only {kind}"),
        Command("copy", "y", "copy", "Copy the content", synonyms="clipboard", shell="get {key}"),
        Command("merge", "", "merge", "Merge all duplicates of this kind, or the group of this memory", writes=True,
                shell="audit --merge"),
    )  # fmt: skip

    def __init__(self, room: StoreRoom) -> None:
        self.kinds = TableList[Finding]((), key=lambda one: one.kind, mark=lambda one: one.kind, id="kinds")
        self.memories = TableList[_Row]((), mark=lambda row: which(row.sample.version), id="memories")
        """The memories of the kind under the cursor."""
        super().__init__(room, self.kinds, id="clean-up")
        self.report: CleanUpReport | None = None
        self._versions: Mapping[Which, RowVersion] = {}
        """Every memory of a finding, in the version that was checked."""
        self._found: Mapping[FindingKind, frozenset[Which]] = {}
        self._marked: Mapping[FindingKind, int] = {}
        """How many of each kind are marked."""
        self._shown: Finding | None = None
        """The kind whose memories are shown."""
        self._is_cancelled = False
        self._checked = 0

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

    def stop_loading(self) -> None:
        """Cancel the check."""
        self._is_cancelled = True

    def step_out(self) -> bool:
        """Cancel the check; else go from the memory to the memories, from there to the kinds."""
        if self.is_loading:
            self.stop_loading()
        elif self.query_one(AboutPane).has_focus:
            self.remove_class("-reading")
            self.memories.focus()
        elif self.memories.has_focus:
            self.kinds.focus()
        else:
            return False
        return True

    def on_table_list_row_highlighted(self, event: TableList.RowHighlighted) -> None:
        """A kind shows its memories, a memory its detail."""
        event.stop()
        finding = self.kinds.selected
        if event.table is self.memories:
            self.show_row()
        elif finding is not self._shown:
            self._show_memories(finding)

    def on_table_list_row_opened(self, event: TableList.RowOpened) -> None:
        event.stop()
        self._open_next_pane()

    def action_open(self) -> None:
        """Merge the duplicates of a kind; else go one pane further."""
        finding = self.kinds.selected
        can_merge = finding is not None and bool(finding.groups) and self.library.read_only_because is None
        if self.kinds.has_focus and can_merge:
            self.action_merge()
        else:
            self._open_next_pane()

    def _open_next_pane(self) -> None:
        if self.kinds.has_focus:
            self.memories.focus()
        elif self.memories.has_focus and self.memories.selected is not None:
            self.add_class("-reading")
            self.query_one(AboutPane).focus()

    def action_mark(self) -> None:
        """On a kind mark all of it, of duplicates all but the one of each group that stays; else the memory."""
        finding, memories = self.kinds.selected, self.memories
        if not self.kinds.has_focus:
            memories.toggle_mark()
        elif finding is not None:
            versions = plan_merge([finding]).to_delete.stamps if finding.groups else finding.versions
            wanted = dict.fromkeys(map(which, versions))
            if wanted.keys() <= memories.marks:
                memories.set_marks(one for one in memories.marks if one not in self._found[finding.kind])
            else:
                memories.set_marks((*memories.marks, *wanted))
            self.kinds.cursor += 1

    def action_mark_all(self) -> None:
        self.memories.mark_all()

    def action_mark_none(self) -> None:
        self.memories.set_marks(())

    def on_table_list_marks_changed(self, event: TableList.MarksChanged) -> None:
        """Count the marks once for all kinds, because a kind may have 100,000 memories."""
        if event.table is self.memories:
            marks = self.memories.marks
            self._marked = {kind: len(found & marks) for kind, found in self._found.items()}
            self.kinds.set_marks(kind for kind, count in self._marked.items() if count)
            self.show_status()

    def action_copy(self) -> None:
        """Copy the whole content, as it is."""
        if self.memories.selected is not None:
            start_work(self, "clean-up-copy", guarded, self, self._copy, self.memories.selected.sample)

    async def _copy(self, sample: Sample) -> None:
        entry = await whole_entry(self.library.memory, sample.version.handle)
        inform(self, await copy_text(self.app, entry.content))

    @changing
    async def action_delete(self, library: Library) -> None:
        """Move all that is marked, else the memory under the cursor, to the trash, by one plan."""
        row = self.memories.selected
        versions = [self._versions[one] for one in self.memories.marks]
        if not versions and row is not None and not self.kinds.has_focus:
            versions = [row.sample.version]
        if versions:
            await self.room.changes.remove(library, await asyncio.to_thread(plan_of, versions))
        else:
            warn(self, "Nothing is marked. Press space to mark all of this kind, or tab to choose memories.")

    @changing
    async def action_merge(self, library: Library) -> None:
        finding, row = self.kinds.selected, self.memories.selected
        if finding is None or not finding.groups:
            warn(self, "Only duplicates can be merged.")
            return
        only = None if self.kinds.has_focus or row is None or row.group is None else [row.group]
        plan = await asyncio.to_thread(plan_merge, [finding], only=only)
        count = plan.to_delete.count
        if not count:
            warn(self, "Nothing to merge: pinned memories and conversations of other sessions stay.")
        elif await self.app.push_screen_wait(merge_question(finding, plan)):

            def report(outcome: Outcome) -> str:
                return " ".join(outcome.sentences(outcome.headline(" · u", counted(len(plan.groups)))))

            await self.carry_out(library, f"Merging {counted(count)}", count, partial(merge, library, plan), report)

    async def load(self) -> None:
        """Check all memories; the findings stay on the screen until it is done."""
        self._is_cancelled, self._checked = False, 0
        total = await self.library.memory.count()
        progress = self.set_interval(_PROGRESS_SECONDS, partial(self._show_progress, total))
        try:
            self._show_report(await check_memories(self.library, self._advance))
        except SearchInterrupted:
            inform(self, "Check cancelled. Nothing was changed. Press r to check again.")
            if self.report is None:
                self.query_one(TitleLine).say("Check cancelled.")
        finally:
            progress.stop()

    def _advance(self, checked: int) -> bool:
        # Called on another thread: only plain values pass between the two.
        self._checked = checked
        return not self._is_cancelled

    def _show_progress(self, total: int) -> None:
        self.query_one(TitleLine).say(f"Checked {self._checked:,} of {counted(total)} … · esc cancels")

    def _show_report(self, report: CleanUpReport) -> None:
        """Show a report. Kind, place and marks stay where they still are; the first report sets the first marks."""
        is_first = self.report is None
        versions = {which(version): version for finding in report.findings for version in finding.versions}
        self._found = {finding.kind: frozenset(map(which, finding.versions)) for finding in report.findings}
        self.report, self._versions = report, versions
        safe = (sample for one in report.findings if one.kind in SAFE_TO_REMOVE for sample in one.samples)
        first = (which(sample.version) for sample in safe if not sample.pinned)
        self.memories.set_marks(first if is_first else [one for one in self.memories.marks if one in versions])
        self.kinds.set_columns(self._kind_columns(report))
        self.kinds.say_empty(self._empty_text(report))
        self.kinds.set_rows(report.findings)
        self.set_class(not report.findings, "-empty")
        self._show_memories(self.kinds.selected)
        self.on_resize()
        head, facts = report.headline(), "no findings"
        if report.findings:
            head = f"{head}: {counted(len(report.findings), 'kind')} of findings in {len(versions):,} of them"
            facts = size_shown(sum(version.size for version in versions.values()))
        self.query_one(TitleLine).say(head, facts)

    def _empty_text(self, report: CleanUpReport) -> str:
        if report.rows:
            return f"No findings in {counted(report.rows)}. Checked for: {', '.join(_GLYPHS)}."
        if self.library.memory.about.keeps_nothing:
            return "This backend stores no memories."
        return "This store has no memories yet. Findings appear here later. Press r to check again."

    def _show_memories(self, finding: Finding | None) -> None:
        stays_in_place = finding is not None and self._shown is not None and finding.kind == self._shown.kind
        self._shown = finding
        self.memories.set_columns(self._memory_columns(finding))
        self.memories.set_rows(_Rows(finding), cursor=None if stays_in_place else 0)
        remark = Content("")
        if finding is not None and finding.groups:
            alike = f"{counted(len(finding.groups), 'group')} of similar memories. {finding.remark}"
            merges = (" merges them and keeps one of each group", MUTED)
            remark = Content.assemble((shown_line(alike), MUTED), "  ", ("⏎", ACCENT), merges)
        elif finding is not None:
            safe = "  Safe to delete." if finding.kind in SAFE_TO_REMOVE else ""
            remark = Content.styled(f"{shown_line(finding.remark)}{safe}", MUTED)
        self.query_one("#remark", Static).update(remark)

    def show_status(self) -> None:
        """How many memories are marked."""
        marked = self.memories.marks_words
        if marked:
            kinds = sum(1 for count in self._marked.values() if count)
            among = f" in {counted(kinds, 'kind')}" if kinds > 1 else ""
            marked = f"{marked}{among}: d deletes"
        self.query_one(StatusBar).say(marked, self.library.read_only_because or "")

    def show_row(self) -> None:
        """Load the memory under the cursor."""
        row = self.memories.selected
        if row is None:
            self.query_one(AboutPane).show(Content(""))
        else:
            start_work(self, "clean-up-detail", self._show_memory, row.sample)

    async def _show_memory(self, sample: Sample) -> None:
        about = self.query_one(AboutPane)
        try:
            entry = await whole_entry(self.library.memory, sample.version.handle)
        except InspectorError as error:
            about.show(Content.styled(shown_words(str(error)), MUTED))
            return
        text = await asyncio.to_thread(masked, entry.content[:_MASKED_CHARACTERS])
        key = one_line(masked(entry.key)) or EMPTY_KEY
        facts = DOT.join(map(masked, origin_parts(entry, self.room.clock())))
        about.show(Content.assemble((key, STRONG), "\n", (facts, MUTED)), (), text or EMPTY_CONTENT)

    def _kind_columns(self, report: CleanUpReport) -> Sequence[Column[Finding]]:
        def glyph(finding: Finding) -> Content:
            return Content.styled(_GLYPHS[finding.kind], "bad" if finding.kind in _DANGEROUS else "muted")

        def marked(finding: Finding) -> str:
            count = self._marked.get(finding.kind, 0)
            return "" if not count else "all" if count == finding.count else f"{count:,}"

        def share(finding: Finding) -> float:
            return finding.size / report.size if report.size else 0.0

        return (
            Column("", glyph, width=1),
            Column("finding", lambda finding: finding.kind, width=18),
            Column("memories", lambda finding: f"{finding.count:,}", width=8, right=True),
            Column("marked", marked, width=6, right=True, look="final"),
            Column("bytes", lambda finding: size_shown(finding.size), width=7, right=True, look="muted"),
            Column("of all", lambda finding: bar(share(finding), _BAR), width=_BAR, hidden_below=72, look="final"),
            Column("", lambda finding: percent_text(share(finding)), width=5, right=True, look="muted"),
        )

    def _memory_columns(self, finding: Finding | None) -> Sequence[Column[_Row]]:
        now = self.room.clock()
        columns = [
            Column[_Row]("key", lambda row: row.sample.version.key or EMPTY_KEY, shortened=cut_key),
            Column[_Row]("memory", lambda row: row.sample.excerpt or EMPTY_CONTENT, flex=True),
            Column[_Row]("category", lambda row: row.sample.version.category, hidden_below=84, look="muted"),
            Column[_Row]("age", lambda row: short_age(row.sample.version.when, now), width=6, right=True, look="muted"),
        ]
        if finding is not None and any(sample.remark for sample in finding.samples[:200]):
            columns.insert(2, Column("found", lambda row: row.sample.remark, look="keyword", hidden_below=64))
        if finding is not None and finding.groups:
            columns.insert(0, Column("", lambda row: row.bracket, width=1, look="faint"))
        return columns


def merge_question(finding: Finding, plan: MergePlan) -> Dialog[bool]:
    """Whether to merge: for each group the memory that stays, and under it those that go, the first of them."""
    count = plan.to_delete.count
    rows = [(sample, sample is stays) for stays, others in plan.groups for sample in (stays, *others)]
    parts: list[str | tuple[str, str]] = []
    for sample, stays in rows[:_MAX_MERGE_ROWS]:
        key, category, session = sample.version.key or EMPTY_KEY, sample.version.category, sample.session or "–"
        cells = [(key, 18), (category, 12), (session, 11), (sample.excerpt, 15)]
        line = " ".join(fit(one_line(masked(text)), width) for text, width in cells)
        parts += [("✓ stays ", "$success") if stays else ("– goes  ", MUTED), f"{line}\n"]
    if len(rows) > _MAX_MERGE_ROWS:
        parts.append((f"… {len(rows) - _MAX_MERGE_ROWS:,} more\n", MUTED))
    parts.append(("\nThe most durable copy of each group stays. The others go to the trash. Press u to undo.", MUTED))
    title = f"Merge {counted(len(plan.groups), 'group')} of {finding.kind} and delete {counted(count)}?"
    return confirmation(title, Content.assemble(*parts), count, "merge")
