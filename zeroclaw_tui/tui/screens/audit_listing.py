"""What the audit shows: title, findings, their memories, the memory; and how answers get onto them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import Container, Vertical
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static
from textual.worker import Worker, WorkType

from zeroclaw_tui.curation.audit.audit import audit_memories
from zeroclaw_tui.curation.audit.findings import AuditReport, Sample
from zeroclaw_tui.curation.audit.secrets import masked
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.errors import InspectorError, NotThere, SearchInterrupted
from zeroclaw_tui.tui.loader import Pace
from zeroclaw_tui.tui.looks import MUTED, STRONG
from zeroclaw_tui.tui.screens import audit_words as words
from zeroclaw_tui.tui.screens.audit_marks import AuditMarks
from zeroclaw_tui.tui.screens.working import WorkingScreen, shown_words
from zeroclaw_tui.tui.widgets.cursor_list import HEADING_LINES
from zeroclaw_tui.tui.widgets.detail import MemoryDetail
from zeroclaw_tui.tui.widgets.detail_text import DOT
from zeroclaw_tui.tui.widgets.empty import Empty
from zeroclaw_tui.tui.widgets.finding_list import FindingList
from zeroclaw_tui.tui.widgets.key_line import KeyLine
from zeroclaw_tui.tui.widgets.plain_content import MOST_SHOWN
from zeroclaw_tui.tui.widgets.sample_list import SampleList
from zeroclaw_tui.tui.widgets.score_bars import bar
from zeroclaw_tui.tui.widgets.status_bar import Banner, StatusBar

if TYPE_CHECKING:
    from zeroclaw_tui.curation.library import Library

_FOLLOWED_SECONDS = 0.1
_BAR = 36
_LOW = 30
_MASKED_AT_ONCE = 20_000
_LOOKED_AT = 4 * MOST_SHOWN


class AuditListing(WorkingScreen):
    """Runs the audit and shows what it found; changes nothing."""

    AUTO_FOCUS = "#findings"

    def __init__(self, library: Library, clock: Callable[[], datetime], pace: Pace) -> None:
        super().__init__(library, clock, pace)
        self.report: AuditReport | None = None
        self.marks = AuditMarks()
        self._looking: Worker[None] | None = None
        self._is_stopped = False
        self._looked = 0
        self._marked_here = 0
        self._total: int | None = None

    def compose(self) -> ComposeResult:
        """Title, what went wrong, findings with their memories, the memory, keys."""
        yield Static("", id="title", markup=False)
        yield Banner(id="failure")
        yield Static("", id="looking", markup=False)
        yield Empty(id="empty")
        with Container(id="panes"):
            with Vertical(id="found"):
                yield FindingList(words.GLYPHS, id="findings")
                yield Static("", id="remark", markup=False)
                yield SampleList(self.marks, self.clock(), id="samples")
                yield StatusBar(id="status")
            with Vertical(id="about"):
                yield MemoryDetail(id="detail")
        yield KeyLine(show_command_palette=False)

    def on_mount(self) -> None:
        """Look at every memory."""
        self.paint_status()
        self.reload()

    def panes(self) -> Sequence[tuple[str, Widget]]:
        """Findings and memories move alike."""
        return (("In the lists", self.query_one(SampleList)), ("In the memory", self.query_one(MemoryDetail)))

    def on_resize(self) -> None:
        """As many facts as fit."""
        self._paint_title()
        self._fit_findings()

    @property
    def is_looking(self) -> bool:
        """Whether an audit runs; one that was overtaken by the next takes a moment to end, and does not count."""
        return self._looking is not None

    def reload(self) -> None:
        """Run the audit again; what is shown stays until it is done."""
        self._is_stopped = False
        self._looking = self.run_worker(self._look(), group="audit", exclusive=True)

    def stop_looking(self) -> None:
        """End the audit that runs."""
        self._is_stopped = True

    def on_descendant_focus(self) -> None:
        """Room goes to where a person is."""
        self._fit_findings()

    def on_row_list_cursor_moved(self) -> None:
        """Findings bring their memories, memories their detail."""
        finding = self.query_one(FindingList).selected
        samples = self.query_one(SampleList)
        if finding is not samples.finding:
            samples.show(finding, self.clock(), keeps_place=False)
            self._count_marks()
            self.query_one("#remark", Static).update(
                Content.styled(words.finding_remark(finding) if finding is not None else "", MUTED)
            )
        self.paint_status()
        self.show_detail()

    def on_row_list_row_opened(self) -> None:
        """From a finding to its memories, from a memory to the whole of it."""
        self.open_next()

    def open_next(self) -> None:
        """Put the focus one pane further."""
        if self.query_one(FindingList).has_focus:
            self.query_one(SampleList).focus()
        elif self.query_one(SampleList).has_focus:
            self.query_one(MemoryDetail).focus()

    def take(self, report: AuditReport) -> None:
        """Show another report; finding and place stay where they still are."""
        self.report = report
        self.marks.follow(report)
        is_empty = not report.findings
        self.set_class(is_empty, "-empty")
        self.remove_class("-looking")
        if is_empty:
            self.query_one(Empty).show(*words.nothing_words(report, self.library.memory))
        findings, samples = self.query_one(FindingList), self.query_one(SampleList)
        was = samples.finding.kind if samples.finding is not None else None
        findings.show(report)
        self._fit_findings()
        finding = findings.selected
        if finding is not samples.finding:
            samples.show(finding, self.clock(), keeps_place=finding is not None and finding.kind == was)
            remark = words.finding_remark(finding) if finding is not None else ""
            self.query_one("#remark", Static).update(Content.styled(remark, MUTED))
        if self.focused is None and not is_empty:
            # The panes were hidden while the first audit ran, and are until the next refresh.
            self.call_after_refresh(findings.focus)
        self._paint_title()
        self._count_marks()
        self.paint_status()
        self.show_detail()
        self.refresh_bindings()

    def paint_marks(self) -> None:
        """Marks in the list, and how many under it."""
        self.query_one(SampleList).refresh()
        self._count_marks()
        self.paint_status()

    def paint_status(self) -> None:
        """The line under the memories: what runs, what is marked, why nothing can be written."""
        looking = f"{words.looked_words(self._looked, self._total)} · esc stops" if self.is_looking else ""
        marked = words.marked_words(len(self.marks), self._marked_here)
        notes = () if self.report is None or marked else self.report.notes
        self.query_one(StatusBar).say(looking, marked, *notes, self.library.read_only_because or "")

    def _count_marks(self) -> None:
        """Only when marks or finding change: a finding may have 100,000 memories."""
        finding = self.query_one(SampleList).finding
        stamps = finding.stamps if finding is not None and self.marks else ()
        self._marked_here = sum(stamp in self.marks for stamp in stamps)

    def show_detail(self) -> None:
        """The whole memory under the cursor, secrets in it masked."""
        sample = self.query_one(SampleList).selected
        if sample is not None:
            # As a function: one that is overtaken before it began is no coroutine that nobody awaited.
            load: WorkType[None] = partial(self._load_detail, sample)
            self.run_worker(load, group="audit-detail", exclusive=True)

    async def _look(self) -> None:
        me, self._looked, self._total = self._looking, 0, None
        following = self.set_interval(_FOLLOWED_SECONDS, self._follow)
        try:
            self._total = await self.library.memory.count()
            self.take(await audit_memories(self.library, self._advance))
            self.query_one("#failure", Banner).hide()
        except SearchInterrupted:
            self._say_stopped()
        except InspectorError as error:
            self.remove_class("-looking")
            self.query_one("#failure", Banner).show("error", shown_words(str(error)), "r", "tries again", "reload")
        finally:
            following.stop()
            if self._looking is me:
                self._looking = None
        self.paint_status()

    def _advance(self, looked: int) -> bool:
        self._looked = looked
        return not self._is_stopped

    def _follow(self) -> None:
        """How far the audit is: over the whole screen the first time, in the line below later on."""
        if self.report is not None:
            self.paint_status()
            return
        if not self.has_class("-looking"):
            # A pane that is hidden with the focus hands it on, to whichever pane is shown by then.
            self.set_focus(None)
            self.add_class("-looking")
        share = min(1.0, self._looked / self._total) if self._total else 0.0
        said = words.looked_words(self._looked, self._total)
        line = Content.assemble((bar(share, _BAR), "$primary"), "\n\n", said, ("\nesc stops", MUTED))
        self.query_one("#looking", Static).update(line)

    def _say_stopped(self) -> None:
        self.remove_class("-looking")
        if self.report is None:
            self.add_class("-empty")
            self.query_one(Empty).show(*words.stopped_words())
        else:
            self.tell("The audit was stopped: shown is what was found before.")

    async def _load_detail(self, sample: Sample) -> None:
        detail = self.query_one(MemoryDetail)
        try:
            entry = await self.library.memory.whole(sample.stamp.handle)
        except NotThere:
            detail.show_nothing("This memory is no longer there: r audits again.")
            return
        except InspectorError as error:
            detail.show_nothing(shown_words(str(error)))
            return
        shown = await _masked(entry)
        detail.now = self.clock()
        detail.show(shown, None, None)

    def _paint_title(self) -> None:
        if self.report is None:
            return
        fact, rest = words.title_words(self.report)
        fits = len(fact) + len(DOT) + len(rest) <= self.size.width - 2
        parts = [(fact, STRONG), (DOT + rest if fits else "", MUTED)]
        self.query_one("#title", Static).update(Content.assemble(*parts))

    def _fit_findings(self) -> None:
        """As many lines as there are findings, a third of the screen at most; one while a low screen shows memories."""
        findings = self.query_one(FindingList)
        count = len(self.report.findings) if self.report is not None else 0
        is_left = self.size.height < _LOW and not findings.has_focus
        most = 1 if is_left else max(3, self.size.height // 3)
        findings.styles.height = HEADING_LINES + max(1, min(count, most))


async def _masked(entry: MemoryEntry) -> MemoryEntry:
    """The memory as it is shown: of a long one only what can be shown at all is looked through."""
    content = entry.content
    if len(content) <= _MASKED_AT_ONCE:
        shown = masked(content)
    else:
        shown = await asyncio.to_thread(masked, content[:_LOOKED_AT])
        # What is not shown only has to be counted.
        shown += content[_LOOKED_AT:] if len(shown) >= MOST_SHOWN else ""
    return replace(entry, content=shown, key=masked(entry.key[:_MASKED_AT_ONCE]))
