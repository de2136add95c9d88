"""Health: counts of the store, its problems with their risks, and the repairs."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from shlex import quote
from typing import Any, ClassVar, Protocol, TypeVar, runtime_checkable

from rich.cells import cell_len
from textual.app import App, ComposeResult
from textual.content import Content
from textual.widget import Widget
from textual.worker import Worker

from zeroclaw_tui.curation import doctor, reindex, repairs
from zeroclaw_tui.curation.doctor import DoctorReport
from zeroclaw_tui.curation.doctor_checks import GLYPHS, DoctorFinding, Risk
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.reindex import ReindexOutcome, ReindexPlan
from zeroclaw_tui.curation.stats import StoreStats, full_stats, store_stats
from zeroclaw_tui.files.database import why_not_writable
from zeroclaw_tui.memory.errors import InspectorError, Unreadable
from zeroclaw_tui.memory.text import counted, one_line
from zeroclaw_tui.tui.commands import Command, guarded, inform, start_work, warn
from zeroclaw_tui.tui.dialogs import Question, with_progress, yes_or_no
from zeroclaw_tui.tui.external import copy_text
from zeroclaw_tui.tui.format import fit, shown_line, shown_words, with_tilde
from zeroclaw_tui.tui.rooms.panes import BrowserPanes
from zeroclaw_tui.tui.rooms.upkeep import UpkeepPane, UpkeepRoom
from zeroclaw_tui.tui.rooms.upkeep.numbers import NUMBER_COLUMNS, GrowthPlot, counts_content, number_rows, row_about
from zeroclaw_tui.tui.themes import ACCENT, MUTED, STRONG
from zeroclaw_tui.tui.widgets.detail import AboutPane
from zeroclaw_tui.tui.widgets.lines import StatusBar, TitleLine
from zeroclaw_tui.tui.widgets.table_list import Column, TableList

Done = TypeVar("Done")


class NotOpenAgain(Unreadable):
    """The store was closed and cannot be opened again."""


@runtime_checkable
class OpensStores(Protocol):
    """An app that can open its store again, and shows what is wrong where it does not open."""

    async def open_again(self) -> None:
        """Leave every other screen, and open it."""
        ...


async def with_store_closed(app: App[Any], library: Library, work: Callable[[], Awaitable[Done]]) -> Done:
    """Do something while the database is closed here; it is opened again in any case.

    Raises what the work raises, or NotOpenAgain: then the app was asked to show why.
    """
    database = library.memory.upkeep.database
    if database is None:
        return await work()
    # What asks the store by itself, now and then.
    loading = [panes for screen in app.screen_stack for panes in screen.query(BrowserPanes)]
    for panes in loading:
        panes.stop_loading()
    failure: InspectorError | None = None
    try:
        async with database.disconnected():
            try:
                done = await work()
            except InspectorError as error:
                # Raised once the store is open again.
                failure = error
    except InspectorError as error:
        if isinstance(app, OpensStores):
            app.call_later(app.open_again)
        raise NotOpenAgain(error.message, hint=error.hint) from error
    for panes in loading:
        panes.start_loading()
    if failure is not None:
        raise failure
    return done


_COLOURS: Mapping[Risk, str] = {"serious": "$text-error", "worth knowing": "$warning", "fine": "$text-success"}
_SHORT: Mapping[str, str] = {
    "rebuild keyword index": "rebuild the index",
    "repair hydrated database": "repair the database",
    "fold in write-ahead log": "fold in the log",
}
_NOT_DEEP = DoctorFinding(
    "not-deep",
    "Pages and keyword index are not checked yet.",
    "fine",
    "Press ⏎ to check them on a copy of the database. This can take a while; esc cancels.",
)
_CHECKING = "Checking the store and its files …"
_DEEP = "Checking every page and the keyword index on a copy …"
_LONGEST_NAME = 28
_LONGEST_STEP = 180
_MOST_STEPS = 5


class Health(UpkeepPane):
    """Findings of the doctor, the serious first, under the counts of the store; or every count, where that is asked."""

    KEYS: ClassVar[Sequence[Command]] = (
        Command("repair", "enter", "repair", "Repair this finding …; on a count: show its memories", True,
                shell="doctor --repair {finding}"),
        Command("copy", "y", "copy", "Copy everything as text; the counts as JSON", True, shell="doctor"),
        Command("deep_check", "", "deep check", "Check every page and the keyword index", shell="doctor --deep"),
    )  # fmt: skip

    def __init__(self, room: UpkeepRoom, *, id: str) -> None:
        super().__init__(room, id=id)
        self.findings = TableList(_FINDING_COLUMNS, key=lambda finding: finding.id, empty=_CHECKING, id="findings")
        self.numbers = TableList(
            NUMBER_COLUMNS, empty="Counting memories …", divider=lambda row: row.section, id="numbers"
        )
        self.report: DoctorReport | None = None
        self._counts: StoreStats | None = None
        self._checking: Worker[None] | None = None
        self._is_deep = False
        self._is_repairing = False

    def compose_lists(self) -> ComposeResult:
        yield TitleLine(id="counts")
        yield GrowthPlot(id="growth")
        yield self.findings
        yield self.numbers

    @property
    def shows_numbers(self) -> bool:
        """Whether the counts are shown instead of the findings."""
        return self.has_class("-numbers")

    @property
    def home(self) -> Widget:
        """Where one starts."""
        return self.numbers if self.shows_numbers else self.findings

    @property
    def is_busy(self) -> bool:
        """Whether a repair is under way."""
        return self._is_repairing

    @property
    def read_only_because(self) -> str | None:
        """Why nothing can be repaired; a store that is only read because of what is wrong with it can be."""
        because, memory = self.library.read_only_because, self.library.memory
        if because is None or self.library.config.read_only or memory.about.path is None:
            return because
        return why_not_writable(memory.about.path)

    def why_dimmed(self, action: str) -> str | None:
        """Why an action cannot be done now, in a sentence; None when it can."""
        finding = self.findings.selected
        if action == "repair" and not self.shows_numbers and finding is not None and finding.id != _NOT_DEEP.id:
            return self.read_only_because
        return super().why_dimmed(action)

    def show_numbers(self, shows: bool) -> None:
        """Show every count instead of the findings, or the findings again."""
        self.set_class(shows, "-numbers")
        self.home.focus()
        self._paint_about()
        self.refresh_bindings()

    def reload(self) -> None:
        """Check again, as deep as before, and count again."""
        self._check(is_deep=self._is_deep)
        self.run_worker(self._count(), group="health-count", exclusive=True)

    def shell_facts(self) -> dict[str, str]:
        """The finding under the cursor, where there is a repair of it."""
        finding = self.findings.selected
        return {} if finding is None or finding.repair is None else {"finding": quote(finding.id)}

    def stop(self) -> None:
        """Stop the check."""
        if self._checking is not None:
            self._checking.cancel()

    def step_out(self) -> bool:
        """Cancel the check; else go from the finding to the list."""
        if self._checking is not None and self.report is not None:
            self._checking.cancel()
            return True
        return super().step_out()

    def on_table_list_row_highlighted(self, event: TableList.RowHighlighted) -> None:
        event.stop()
        self._paint_about()
        self.refresh_bindings()

    def on_table_list_row_opened(self, event: TableList.RowOpened) -> None:
        """Read on in the finding; on a count show its memories."""
        event.stop()
        if self.shows_numbers:
            self._narrow()
        else:
            self.query_one(AboutPane).focus()

    def action_repair(self) -> None:
        """Show what the repair would do, and ask; on a count show its memories."""
        finding = self.findings.selected
        if self.shows_numbers:
            self._narrow()
        elif finding is None or self._checking is not None:
            return
        elif finding.id == _NOT_DEEP.id:
            self.action_deep_check()
        elif finding.repair is None:
            warn(self, finding.by_hand or "Nothing to repair here.")
        elif finding.repair == "fill vectors":
            self.begin(self._fill_vectors)
        else:
            title = f"{finding.repair[0].upper()}{finding.repair[1:]}?"
            question = yes_or_no(title, _repair_body(finding), "Cancel", "Repair")
            self.app.push_screen(question, lambda yes: self._repair(finding) if yes else None)

    def action_deep_check(self) -> None:
        if self._is_repairing:
            warn(self, "Wait: a repair is still running.")
        else:
            self._check(is_deep=True)

    async def action_copy(self) -> None:
        """Copy everything as text, or what `memory stats --json` prints."""
        if self.shows_numbers:
            try:
                document = await full_stats(self.library.memory, self.room.clock().isoformat())
            except InspectorError as error:
                warn(self, str(error))
                return
            inform(self, await copy_text(self.app, json.dumps(document, indent=2, ensure_ascii=False)))
        elif self.report is not None:
            inform(self, await copy_text(self.app, self.report.as_text(self.library.memory.about.location)))

    def _narrow(self) -> None:
        row = self.numbers.selected
        if row is None or row.narrowed is None:
            warn(self, "This count has no list. Press ⏎ on a category, an age or a session to see its memories.")
        else:
            self.room.narrow(row.narrowed)

    async def _count(self) -> None:
        memory = self.library.memory
        try:
            counts = await store_stats(memory, self.room.clock().isoformat())
        except InspectorError as error:
            self.failure.fail(error)
            return
        self._counts = counts
        self.query_one("#counts", TitleLine).update(counts_content(counts))
        self.set_class(counts.rows.total == 0, "-nothing")
        self.query_one(GrowthPlot).show(counts.growth)
        self.numbers.say_empty(
            "This backend stores no memories, so there is nothing to count."
            if memory.about.keeps_nothing
            else "No memories yet. Their growth appears here after the first one."
        )
        self.numbers.set_rows(number_rows(counts, memory) if counts.rows.total else ())

    def _check(self, *, is_deep: bool) -> None:
        if self._checking is not None:
            self._checking.cancel()
        self._checking = self.run_worker(self._examine(is_deep), group="doctor-look", exclusive=True)

    async def _examine(self, is_deep: bool) -> None:
        worker = self._checking
        self._say(_DEEP if is_deep else _CHECKING, "esc stops" if is_deep else "")
        try:
            self.report = await doctor.examine(self.library.config, self.library, deep=is_deep)
            self._is_deep = is_deep
        except InspectorError as error:
            self.failure.fail(error)
            return
        finally:
            if self._checking is worker:
                self._checking = None
                self._say("")
        self.failure.hide()
        self._paint(self.report)

    def _paint(self, report: DoctorReport) -> None:
        self.say_title(report.headline(), " Every page was checked." if report.is_deep else "")
        can_check_deeply = not report.is_deep and self.library.memory.about.path is not None
        self.findings.set_rows([*report.findings, *([_NOT_DEEP] if can_check_deeply else [])])
        self.findings.say_empty(f"Nothing to check here. {_notes(report.notes)}")
        self._paint_about()
        self._say("")
        self.refresh_bindings()

    def _paint_about(self) -> None:
        row, finding = self.numbers.selected, self.findings.selected
        if self.shows_numbers:
            self.query_one(AboutPane).show(row_about(row) if row is not None else Content(""))
        else:
            self.query_one(AboutPane).show(
                _finding_content(finding, self.read_only_because) if finding is not None else Content("")
            )

    def _say(self, *doing: str) -> None:
        if self.is_mounted:
            notes = _notes(self.report.notes) if self.report is not None and not any(doing) else ""
            self.query_one(StatusBar).say(*doing, notes, self.read_only_because or "")

    def _repair(self, finding: DoctorFinding) -> None:
        if self.room.changes.is_under_way or self._is_repairing:
            warn(self, "Wait: a change is still running.")
            return
        self._is_repairing = True
        # Nothing is asked in between, so that quitting can wait for the end of it.
        start_work(self, "doctor-write", self._repair_guarded, finding, exclusive=False)

    async def _repair_guarded(self, finding: DoctorFinding) -> None:
        try:
            await guarded(self, self._run_repair, finding)
        finally:
            self._is_repairing = False

    async def _run_repair(self, finding: DoctorFinding) -> None:
        self._say(f"{finding.repair} …".capitalize())
        library, now = self.library, self.room.clock()
        try:
            if finding.repair == "compact":
                # Nothing here may have the database open meanwhile.
                compact = partial(repairs.compact, library.config, now)
                done = await with_store_closed(self.app, library, compact)
            else:
                done = await doctor.repair_finding(library.config, library, finding, now)
            inform(self, " ".join(filter(None, [*done.sentences(), done.backup_sentence()])))
        except NotOpenAgain:
            self._say("")
            raise
        except InspectorError:
            self._after_repair()
            raise
        self._after_repair()

    def _after_repair(self) -> None:
        """Part of the repair may be done, whatever ended it."""
        self.room.has_changed = True
        self._say("")
        self.reload()

    async def _fill_vectors(self, library: Library) -> None:
        plan = await reindex.plan_reindex(library)
        if not plan.count:
            inform(self, "No embedding is missing.")
            return
        if not await self.app.push_screen_wait(_vectors_question(plan)):
            return
        if library.memory.about.path is not None:
            await repairs.back_up(library.config, self.room.clock())
        fill = partial(reindex.reindex, library, plan)
        try:
            done = await with_progress(self.app, "Making vectors", plan.count, self.room.pace.patience, fill)
        finally:
            self._after_repair()
        inform(self, _filled_words(done, plan.count))


def _glyph(finding: DoctorFinding) -> Content:
    look = {"serious": "bad", "worth knowing": "keyword"}.get(finding.risk, "faint")
    return Content.styled("·" if finding is _NOT_DEEP else GLYPHS[finding.risk], look)


def _finding_title(finding: DoctorFinding) -> Content:
    look = "muted" if finding.risk == "fine" else "text"
    return Content.styled(one_line(shown_words(finding.title[:2000])), look)


def _short(finding: DoctorFinding) -> str:
    """What can be done, in few words."""
    if finding.repair is not None:
        return _SHORT.get(finding.repair, finding.repair)
    return "by hand" if finding.by_hand else "check them" if finding is _NOT_DEEP else ""


_FINDING_COLUMNS: Sequence[Column[DoctorFinding]] = (
    Column("", _glyph, width=1),
    Column("finding", _finding_title, flex=True),
    Column("repair", _short, hidden_below=70, look="muted"),
)


def _finding_content(finding: DoctorFinding, read_only_because: str | None) -> Content:
    """Everything about one finding."""
    parts: list[str | tuple[str, str]] = [
        (f"{GLYPHS[finding.risk]} ", _COLOURS[finding.risk]),
        (shown_words(finding.title), STRONG),
    ]
    if finding is _NOT_DEEP:
        return Content.assemble((finding.title, STRONG), f"\n\n{finding.risk_sentence}")
    parts += ["\n", (finding.risk, MUTED)]
    if finding.risk_sentence:
        parts += ["\n\n", shown_words(finding.risk_sentence)]
    facts = [*finding.details, *([("file", finding.target)] if finding.target else [])]
    widest = min(_LONGEST_NAME, max((cell_len(one_line(name)) for name, _ in facts), default=0))
    for number, (name, value) in enumerate(facts):
        parts += ["\n" if number else "\n\n", (f"{fit(one_line(name), widest)}  ", MUTED), one_line(shown_words(value))]
    if finding.repair is not None:
        can = read_only_because is None
        parts += ["\n\n", ("⏎ " if can else "The repair ", ACCENT if can else MUTED)]
        parts += [(f"{finding.repair}:" if can else "would be:", MUTED)]
        parts += [f"\n  {step}" for step in map(shown_words, finding.repair_steps)]
        parts += [] if can else [("\n" + shown_words(read_only_because or ""), MUTED)]
    if finding.by_hand:
        parts += ["\n\n", ("by hand  ", MUTED), shown_words(finding.by_hand)]
    return Content.assemble(*parts)


def _repair_body(finding: DoctorFinding) -> Content:
    """What a repair would do, cut so that the answers stay in sight."""
    steps = "\n".join(
        f"{number}. {shown_line(with_tilde(step), _LONGEST_STEP)}"
        for number, step in enumerate(finding.repair_steps[:_MOST_STEPS], 1)
    )
    risk = shown_line(with_tilde(finding.risk_sentence), _LONGEST_STEP)
    return Content.assemble((risk, MUTED), "\n\n" if steps and risk else "", steps)


def _vectors_question(plan: ReindexPlan) -> Question[bool]:
    """Ask whether to create the missing vectors, with how much text is sent and where."""
    sentences = "\n".join(shown_line(sentence) for sentence in plan.sentences())
    stop = "You can stop and continue at any time. Finished embeddings are saved."
    title = f"Create {counted(plan.count, 'embedding')}?"
    return yes_or_no(title, Content.assemble(sentences, "\n\n", (stop, MUTED)), "Cancel", "Create")


def _filled_words(outcome: ReindexOutcome, planned: int) -> str:
    """The report on created embeddings."""
    sentences = [*outcome.sentences(planned)]
    rest = planned - outcome.filled - outcome.skipped
    if outcome.stopped and rest > 0:
        sentences.append(f"Stopped. Press ⏎ on the finding to create the other {rest:,}.")
    return " ".join([*sentences, *map(one_line, outcome.failed)])


def _notes(notes: Sequence[str]) -> str:
    """What should be known about the examination itself."""
    return " ".join(shown_words(note) for note in notes)
