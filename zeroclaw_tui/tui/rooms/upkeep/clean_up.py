"""Clean up: the kinds of pollution, their memories, and one plan for all that is marked."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static
from textual.worker import Worker, WorkType

from zeroclaw_tui.backends.base import Memory
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
from zeroclaw_tui.memory.days import date_shown
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.errors import InspectorError, NotFound, SearchInterrupted
from zeroclaw_tui.memory.secret_text import masked
from zeroclaw_tui.memory.text import counted, size_shown
from zeroclaw_tui.tui.commands import Command, changing, inform, mark_commands, warn
from zeroclaw_tui.tui.dialogs import Answer, Dialog, Question, TypedConfirmation
from zeroclaw_tui.tui.external import copy_text
from zeroclaw_tui.tui.format import bar, percent_text, short_age, shown_line, shown_words
from zeroclaw_tui.tui.rooms.upkeep import UpkeepPane, UpkeepRoom
from zeroclaw_tui.tui.themes import ACCENT, MUTED
from zeroclaw_tui.tui.widgets.detail import MOST_SHOWN, MemoryDetail
from zeroclaw_tui.tui.widgets.growing_text import GrowingText
from zeroclaw_tui.tui.widgets.lines import StatusBar
from zeroclaw_tui.tui.widgets.rows import EMPTY_CONTENT, EMPTY_KEY, cut_key
from zeroclaw_tui.tui.widgets.table_list import Column, LazyRows, TableList

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
_FOLLOWED_SECONDS = 0.1
_MASKED_AT_ONCE = 20_000
_MASKED_CHARACTERS = 4 * MOST_SHOWN
_FEWEST_GROUP_ROWS, _MOST_GROUP_ROWS = 2, 12
_LINES_BESIDE_GROUPS = 16
"""What a question about groups needs for everything that is no memory."""
_NOTHING_CHOSEN = "Nothing is marked. Press space to mark all of this kind, or tab to choose memories."
_NOTHING_ALIKE = "Only duplicates can be merged."
_NOTHING_TO_MERGE = "Nothing to merge: pinned memories and conversations of other sessions stay."


@dataclass(frozen=True, slots=True)
class _Row:
    """A memory of a finding as a row: similar ones share a bracket; `group` is the index of their group."""

    sample: Sample
    bracket: str = ""
    group: int | None = None


_GROUP_COLUMNS: Sequence[Column[tuple[Sample, bool]]] = (
    Column("", lambda row: Content.styled("✓ stays", "final") if row[1] else "  – goes", width=8, look="muted"),
    Column("key", lambda row: row[0].version.key or EMPTY_KEY, shortened=cut_key, hidden_below=44),
    Column("memory", lambda row: row[0].excerpt, flex=True),
    Column("category", lambda row: row[0].version.category, width=12, look="muted"),
    Column("session", lambda row: row[0].session or "–", width=16, look="muted"),
    Column(
        "changed", lambda row: date_shown(row[0].version.updated_at or row[0].version.when), width=10,
        hidden_below=72, look="muted",
    ),
)  # fmt: skip
"""The columns of a group: each memory, and whether it is the one that stays."""


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


class CleanUp(UpkeepPane):
    """Checks the memories, shows the findings, and deletes or merges what is marked.

    What is safe to delete is marked after the first check; a mark counts in every kind the memory is in.
    """

    KEYS: ClassVar[Sequence[Command]] = (
        Command("open", "enter", "open", "Merge duplicates, or open the memories"),
        *mark_commands("the kind or the memory", "Mark all memories of this kind"),
        Command("delete", "d", "delete marked", "Move the marked memories, or this one, to the trash", True,
                writes=True, synonyms="purge remove forget", shell="audit --purge --only {kind}"),
        Command("mark_range", "v", "to here", "Mark from the last mark to this memory", synonyms="select range"),
        Command("copy", "y", "copy", "Copy the content", synonyms="clipboard", shell="get {key}"),
        Command("merge", "", "merge", "Merge duplicates: the marked groups, this group, or all", writes=True,
                shell="audit --merge"),
    )  # fmt: skip

    def __init__(self, room: UpkeepRoom, *, id: str) -> None:
        super().__init__(room, id=id)
        self.report: CleanUpReport | None = None
        self._versions: Mapping[Which, RowVersion] = {}
        """Every memory of a finding, in the version that was checked."""
        self._found: Mapping[FindingKind, frozenset[Which]] = {}
        self._safe: frozenset[Which] = frozenset()
        self._first_marks: frozenset[Which] = frozenset()
        """The marks of the first check that nobody changed since."""
        self._counts: Mapping[FindingKind, int] = {}
        """How many of each kind are marked."""
        self._kind: FindingKind | None = None
        self._checking: Worker[None] | None = None
        self._is_stopped = False
        self._checked = 0
        self._total: int | None = None
        self.kinds = TableList[Finding](self._kind_columns(), key=_kind_of, mark=_kind_of, id="kinds")
        """What was found."""
        self.memories = TableList[_Row](self._memory_columns(), mark=lambda row: which(row.sample.version), id="of")
        """The memories of one kind."""

    def compose_lists(self) -> ComposeResult:
        yield self.kinds
        yield GrowingText(id="remark")
        yield self.memories

    def detail(self) -> MemoryDetail:
        """The memory under the cursor."""
        return MemoryDetail()

    @property
    def home(self) -> Widget:
        """Where one starts."""
        return self.kinds

    @property
    def is_checking(self) -> bool:
        """Whether a check runs, except one that a newer check replaces."""
        return self._checking is not None

    def reload(self) -> None:
        """Check again; the findings stay on the screen until it is done."""
        self._is_stopped = False
        self._checking = self.run_worker(self._check(), group="check", exclusive=True)

    def shell_facts(self) -> dict[str, str]:
        """The kind under the cursor."""
        finding = self.kinds.selected
        return {} if finding is None else {"kind": finding.kind.replace(" ", "-")}

    def stop(self) -> None:
        """Cancel the check."""
        self._is_stopped = True

    def step_out(self) -> bool:
        """Cancel the check; else go from the memory to the memories, from there to the kinds."""
        if self.is_checking:
            self.stop()
        elif self.query_one(MemoryDetail).has_focus:
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
        if event.table is self.kinds and (finding.kind if finding else None) != self._kind:
            self._show_memories(finding)
        elif event.table is self.memories:
            self._show_detail()

    def on_table_list_row_opened(self, event: TableList.RowOpened) -> None:
        event.stop()
        self._go_on()

    def action_open(self) -> None:
        """Merge the duplicates of a kind; else one pane further."""
        finding = self.kinds.selected
        if self.kinds.has_focus and finding is not None and finding.groups and self.read_only_because is None:
            self.action_merge()
        else:
            self._go_on()

    async def action_mark(self) -> None:
        """On a kind all of it, of duplicates all but the one of each group that stays; else the memory."""
        finding, memories = self.kinds.selected, self.memories
        if not self.kinds.has_focus:
            memories.toggle_mark()
        elif finding is not None:
            wanted = dict.fromkeys(map(which, await _to_mark(finding)))
            if wanted.keys() <= memories.marks:
                memories.set_marks(one for one in memories.marks if one not in self._found[finding.kind])
            else:
                memories.set_marks((*memories.marks, *wanted))
            self.kinds.cursor += 1

    def action_mark_all(self) -> None:
        self.memories.mark_all()

    def action_mark_range(self) -> None:
        self.memories.mark_to_cursor()

    def action_mark_none(self) -> None:
        self.memories.set_marks(())

    def on_table_list_marks_changed(self, event: TableList.MarksChanged) -> None:
        if event.table is self.memories:
            self._first_marks = self._first_marks.intersection(self.memories.marks)
            self._paint_marks()

    async def action_copy(self) -> None:
        """Copy the whole content, as it is."""
        row = self.memories.selected
        if row is None:
            return
        try:
            whole = await whole_entry(self.library.memory, row.sample.version.handle)
        except InspectorError as error:
            warn(self, str(error))
            return
        inform(self, await copy_text(self.app, whole.content))

    @changing
    async def action_delete(self, library: Library) -> None:
        """Move all that is marked, else the row, to the trash, by one plan."""
        versions = self._chosen()
        if versions:
            await self.room.changes.remove(library, await asyncio.to_thread(plan_of, versions))

    @changing
    async def action_merge(self, library: Library) -> None:
        finding = self.kinds.selected
        if finding is None or not finding.groups:
            warn(self, _NOTHING_ALIKE)
            return
        plan = await asyncio.to_thread(plan_merge, [finding], only=self._groups_of(finding))
        if not plan.to_delete.count:
            warn(self, _NOTHING_TO_MERGE)
            return
        question = merge_question(finding, plan)
        if not await self.app.push_screen_wait(question):
            return
        count, report = plan.to_delete.count, partial(_changed_words, groups=counted(len(plan.groups)))
        await self.carry_out(library, f"Merging {counted(count)}", count, partial(merge, library, plan), report)

    def after_change(self, outcome: Outcome | None) -> None:
        """Check again after every change."""
        self.reload()

    async def _check(self) -> None:
        worker, self._checked, self._total = self._checking, 0, None
        following = self.set_interval(_FOLLOWED_SECONDS, self._show_progress)
        try:
            self._total = await self.library.memory.count()
            await self._show_report(await check_memories(self.library, self._advance))
            self.failure.hide()
        except SearchInterrupted:
            self._say_stopped()
        except InspectorError as error:
            self.failure.fail(error)
        finally:
            following.stop()
            if self._checking is worker:
                self._checking = None
        self._paint_status()

    def _advance(self, checked: int) -> bool:
        self._checked = checked
        return not self._is_stopped

    def _show_progress(self) -> None:
        """Show how far the check is: in place of the kinds the first time, later in the line below."""
        if self.report is not None:
            self._paint_status()
            return
        share = min(1.0, self._checked / self._total) if self._total else 0.0
        self.say_title(_progress_words(self._checked, self._total))
        self.kinds.say_empty(f"{bar(share, 3 * _BAR)}   esc cancels")

    def _say_stopped(self) -> None:
        if self.report is None:
            self.say_title("Check cancelled.")
            self.kinds.say_empty("Nothing was changed. Press r to check again.")
        else:
            inform(self, "Check cancelled. This is the result of the last check.")

    async def _show_report(self, report: CleanUpReport) -> None:
        """Show a report. Kind, place and marks stay where they still are; the first report sets the first marks."""
        is_first = self.report is None
        found, versions, title = await asyncio.to_thread(_index, report)
        self.report, self._found, self._versions = report, found, versions
        if is_first:
            self.memories.set_marks(await asyncio.to_thread(_safe_marks, report))
            self._first_marks = frozenset(self.memories.marks)
        else:
            self.memories.set_marks(one for one in self.memories.marks if one in versions)
        self._safe = frozenset(one for kind in SAFE_TO_REMOVE for one in found.get(kind, ()))
        self.kinds.set_columns(self._kind_columns())
        self.kinds.say_empty(_nothing_words(report, self.library.memory))
        self.kinds.set_rows(report.findings)
        self.set_class(not report.findings, "-empty")
        self._show_memories(self.kinds.selected)
        self._fit_kinds()
        self.say_title(*title)

    def _show_memories(self, finding: Finding | None) -> None:
        keeps_place = finding is not None and finding.kind == self._kind
        self._kind = finding.kind if finding is not None else None
        self.memories.set_columns(self._memory_columns(finding))
        self.memories.set_rows(_Rows(finding), cursor=None if keeps_place else 0)
        self.query_one("#remark", Static).update(_remark(finding) if finding is not None else "")

    def _paint_marks(self) -> None:
        """Marks in the lists, and how many there are: counted here once, for a kind may have 100,000 memories."""
        marks = self.memories.marks
        self._counts = {kind: len(found & marks) for kind, found in self._found.items()}
        self.kinds.set_marks(kind for kind, count in self._counts.items() if count)
        self._paint_status()

    def _paint_status(self) -> None:
        checking = (
            f"{_progress_words(self._checked, self._total)} · esc cancels" if self.is_checking and self.report else ""
        )
        marked = self._marked_words()
        notes = () if self.report is None or marked else self.report.notes
        self.query_one(StatusBar).say(checking, marked, *notes, self.library.read_only_because or "")

    def _marked_words(self) -> str:
        marked = self.memories.marks_words
        if not marked:
            return ""
        kinds = sum(1 for count in self._counts.values() if count)
        safe = "safe to delete, " if self.memories.marks <= self._safe else ""
        among = f" in {counted(kinds, 'kind')}" if kinds > 1 else ""
        return f"{marked}{among}: {safe}d deletes, \\ unmarks"

    def _marked_of(self, finding: Finding) -> str:
        count = self._counts.get(finding.kind, 0)
        return "" if not count else "all" if count == finding.count else f"{count:,}"

    def _chosen(self) -> list[RowVersion]:
        """The marked memories, else the row under the cursor; warns if there is neither."""
        row, marks = self.memories.selected, self.memories.marks
        if marks:
            versions = [self._versions[one] for one in marks]
        elif row is None or self.kinds.has_focus:
            warn(self, _NOTHING_CHOSEN)
            versions = []
        else:
            versions = [row.sample.version]
        return versions

    def _groups_of(self, finding: Finding) -> list[int] | None:
        """The groups that a person marked, else the one under the cursor; None means all of the kind."""
        samples, marks = finding.samples, self.memories.marks - self._first_marks
        marked = [
            number
            for number, group in enumerate(finding.groups)
            if marks and any(which(samples[at].version) in marks for at in group)
        ]
        if marked or self.kinds.has_focus:
            return marked or None
        row = self.memories.selected
        return None if row is None or row.group is None else [row.group]

    def _go_on(self) -> None:
        if self.kinds.has_focus:
            self.memories.focus()
        elif self.memories.has_focus and self.memories.selected is not None:
            self.add_class("-reading")
            self.query_one(MemoryDetail).focus()

    def _show_detail(self) -> None:
        row = self.memories.selected
        if row is not None:
            # A function, because a coroutine that never starts would cause a warning.
            load: WorkType[None] = partial(self._load_detail, row.sample)
            self.run_worker(load, group="check-detail", exclusive=True)
        else:
            self.query_one(MemoryDetail).show_nothing("")

    async def _load_detail(self, sample: Sample) -> None:
        detail = self.query_one(MemoryDetail)
        try:
            entry = await whole_entry(self.library.memory, sample.version.handle)
        except NotFound:
            detail.show_nothing("This memory no longer exists. Press r to check again.")
            return
        except InspectorError as error:
            detail.show_nothing(shown_words(str(error)))
            return
        shown = await _masked(entry)
        detail.now = self.room.clock()
        detail.show(shown, None, None)

    def on_resize(self) -> None:
        super().on_resize()
        self._fit_kinds()

    def _fit_kinds(self) -> None:
        """As many lines as there are kinds and room for."""
        count = len(self.report.findings) if self.report is not None else 0
        self.kinds.styles.height = 1 + min(count, self.most_above) if count else "1fr"

    def _kind_columns(self) -> Sequence[Column[Finding]]:
        whole = self.report.size if self.report is not None else 0

        def share(finding: Finding) -> float:
            return finding.size / whole if whole else 0.0

        return (
            Column("", _glyph, width=1),
            Column("finding", lambda finding: finding.kind, width=18),
            Column("memories", lambda finding: f"{finding.count:,}", width=8, right=True),
            Column("marked", self._marked_of, width=6, right=True, look="final"),
            Column("bytes", lambda finding: size_shown(finding.size), width=7, right=True, look="muted"),
            Column("of all", lambda finding: bar(share(finding), _BAR), width=_BAR, hidden_below=72, look="final"),
            Column("", lambda finding: percent_text(share(finding)), width=5, right=True, look="muted"),
        )

    def _memory_columns(self, finding: Finding | None = None) -> Sequence[Column[_Row]]:
        now = self.room.clock()
        columns: list[Column[_Row]] = [
            Column("key", lambda row: row.sample.version.key or Content.styled(EMPTY_KEY, "faint"), shortened=cut_key),
            Column("memory", lambda row: row.sample.excerpt or Content.styled(EMPTY_CONTENT, "faint"), flex=True),
            Column("category", lambda row: row.sample.version.category, hidden_below=84, look="muted"),
            Column(
                "size",
                lambda row: size_shown(row.sample.version.size),
                width=6,
                right=True,
                hidden_below=96,
                look="muted",
            ),
            Column("age", lambda row: short_age(row.sample.version.when, now), width=6, right=True, look="muted"),
        ]
        if finding is not None and any(sample.remark for sample in finding.samples[:200]):
            columns.insert(2, Column("found", lambda row: row.sample.remark, look="keyword", hidden_below=64))
        if finding is not None and finding.groups:
            columns.insert(0, Column("", lambda row: row.bracket, width=1, look="faint"))
        return columns


def _kind_of(finding: Finding) -> FindingKind:
    return finding.kind


async def _to_mark(finding: Finding) -> Iterable[RowVersion]:
    """Of duplicates those that a merge deletes; of every other kind all."""
    if not finding.groups:
        return finding.versions
    return (await asyncio.to_thread(plan_merge, [finding])).to_delete.stamps


def _glyph(finding: Finding) -> Content:
    return Content.styled(_GLYPHS.get(finding.kind, "•"), "bad" if finding.kind in _DANGEROUS else "muted")


def _index(
    report: CleanUpReport,
) -> tuple[Mapping[FindingKind, frozenset[Which]], Mapping[Which, RowVersion], tuple[str, str]]:
    """Which memories are of which kind, each in the state found now, and the title; for a thread."""
    kinds = {finding.kind: frozenset(map(which, finding.versions)) for finding in report.findings}
    found = {which(version): version for finding in report.findings for version in finding.versions}
    return kinds, found, _title_words(report, found)


def _safe_marks(report: CleanUpReport) -> list[Which]:
    """What is safe to remove, except pinned memories."""
    safe = (finding for finding in report.findings if finding.kind in SAFE_TO_REMOVE)
    return [which(one.version) for finding in safe for one in finding.samples if not one.pinned]


def _title_words(report: CleanUpReport, found: Mapping[Which, RowVersion]) -> tuple[str, str]:
    """What there is, and how much of it is pollution; each memory counts once."""
    whole = report.headline()
    kinds = len(report.findings)
    if not kinds:
        return whole, " · no findings"
    them = f"{len(found):,} of them"
    if len(found) == report.rows:
        them = "it" if report.rows == 1 else "all of them"
    return (
        f"{whole}: {counted(kinds, 'kind')} of findings in {them}",
        f" · {size_shown(sum(version.size for version in found.values()))}",
    )


def _progress_words(checked: int, total: int | None) -> str:
    """How far the check is. After the last memory, they are compared for duplicates."""
    if total and checked >= total:
        return f"Checked {counted(checked)}. Comparing them for duplicates …"
    return f"Checking {checked:,}" + (f" of {counted(total)}" if total is not None else " memories")


def _remark(finding: Finding) -> Content:
    """What a kind is, why it is a problem, and what to do about it."""
    groups = len(finding.groups)
    alike = f"{counted(groups, 'group')} of similar memories. " if groups else ""
    parts: list[str | tuple[str, str]] = [(shown_line(alike + finding.remark), MUTED)]
    if finding.groups:
        parts += ["  ", ("⏎", ACCENT), (" merges them and keeps one of each group", MUTED)]
    elif finding.kind in SAFE_TO_REMOVE:
        parts.append(("  Safe to delete.", MUTED))
    return Content.assemble(*parts)


def _nothing_words(report: CleanUpReport, memory: Memory) -> str:
    """Why there is no finding."""
    if report.rows == 0 and memory.about.keeps_nothing:
        return "This backend stores no memories."
    if report.rows == 0:
        return "This store has no memories yet. Findings appear here later. Press r to check again."
    return (
        f"No findings in {counted(report.rows)}. Checked for assistant replies, recall blobs, tool results, heartbeat "
        "and cron texts, contents that are too short or too long, empty keys, duplicates, secrets and "
        "hidden text."
    )


def merge_question(finding: Finding, plan: MergePlan) -> Dialog[bool]:
    """Whether to merge: with y for a few memories, with their number for many."""
    count, groups = plan.to_delete.count, MergedGroups(plan)
    what = "1 group" if len(plan.groups) == 1 else f"{len(plan.groups):,} groups"
    title = f"Merge {what} of {finding.kind} and delete {counted(count)}?"
    if plan.to_delete.is_typed:
        return TypedConfirmation(title, groups, str(count), f"Type {count:,} to merge:", "merge")
    return Question(title, groups, "Cancel", [Answer("y", "Merge", True, "the most durable copies stay")])


class MergedGroups(Vertical):
    """For each group the memory that stays, and under it those that go: as many as there is room for, or all."""

    DEFAULT_CSS = """
    MergedGroups {
        width: 96;
        max-width: 100%;
        height: auto;
        & > #more { width: 1fr; padding: 0 1; color: $text-muted; }
        &.-all { height: 1fr; }
        &.-all > #groups { height: 1fr; }
        &.-all > #more { display: none; }
    }
    """

    def __init__(self, plan: MergePlan) -> None:
        super().__init__()
        rows = [(sample, sample is stays) for stays, others in plan.groups for sample in (stays, *others)]
        self._groups = TableList[tuple[Sample, bool]](_GROUP_COLUMNS, rows, id="groups")

    def compose(self) -> ComposeResult:
        yield self._groups
        first = self._first
        if first < len(self._groups.rows):
            more = f"… {len(self._groups.rows) - first:,} more "
            yield Static(Content.assemble(more, ("(v to see all)", ACCENT)), id="more")

    def on_mount(self) -> None:
        self._show(all_of_them=False)

    def toggle_all(self) -> bool:
        """Every group in a list to scroll, or the first again; gives whether all are shown."""
        shows_all = not self.has_class("-all")
        self._show(all_of_them=shows_all)
        if shows_all:
            self._groups.focus()
        return shows_all

    @property
    def _first(self) -> int:
        """How many memories there is room for next to the answers."""
        room = max(_FEWEST_GROUP_ROWS, self.app.size.height - _LINES_BESIDE_GROUPS)
        return min(room, _MOST_GROUP_ROWS, len(self._groups.rows))

    def _show(self, *, all_of_them: bool) -> None:
        self.set_class(all_of_them, "-all")
        self._groups.can_focus = all_of_them
        self._groups.styles.height = None if all_of_them else 1 + self._first
        self._groups.cursor = 0


def _changed_words(outcome: Outcome, *, groups: str) -> str:
    return " ".join(outcome.sentences(outcome.headline(" · u", groups)))


async def _masked(entry: MemoryEntry) -> MemoryEntry:
    """The memory as it is shown: of a long one only the part that can be shown is masked."""
    content = entry.content
    if len(content) <= _MASKED_AT_ONCE:
        shown = masked(content)
    else:
        shown = await asyncio.to_thread(masked, content[:_MASKED_CHARACTERS])
        # What is not shown only has to be counted.
        shown += content[_MASKED_CHARACTERS:] if len(shown) >= MOST_SHOWN else ""
    return replace(entry, content=shown, key=masked(entry.key[:_MASKED_AT_ONCE]))
