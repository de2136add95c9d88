"""Health: the problems of the store with their risks, the repairs, and every count of the store."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from shlex import quote
from typing import Any, ClassVar, Protocol, TypeVar, runtime_checkable

from textual.app import App, ComposeResult
from textual.content import Content

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
from zeroclaw_tui.tui.format import shown_line, shown_words, with_tilde
from zeroclaw_tui.tui.rooms.panes import BrowserPanes
from zeroclaw_tui.tui.rooms.upkeep import UpkeepRoom, UpkeepTab
from zeroclaw_tui.tui.rooms.upkeep.numbers import GrowthPlot, headline, stats_content
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
_NOT_DEEP = DoctorFinding(
    "not-deep",
    "Pages and keyword index are not checked yet.",
    "fine",
    "Press ⏎ to check them on a copy of the database. This can take a while; esc cancels.",
)
_MAX_STEP_LENGTH = 180
_MAX_STEPS = 5


class Health(UpkeepTab):
    """Findings of the doctor, the serious first, under the size and growth of the store; or every count instead."""

    KEYS: ClassVar[Sequence[Command]] = (
        Command("repair", "enter", "repair", "Repair this finding …", True, shell="doctor --repair {finding}"),
        Command("copy", "y", "copy", "Copy everything as text; the counts as JSON", True, shell="doctor"),
        Command("deep_check", "", "deep check", "Check every page and the keyword index", shell="doctor --deep"),
    )  # fmt: skip

    def __init__(self, room: UpkeepRoom) -> None:
        self.findings = TableList(_COLUMNS, key=lambda finding: finding.id, id="findings")
        super().__init__(room, self.findings, id="health")
        self.report: DoctorReport | None = None
        self._stats: StoreStats | None = None
        self._is_deep = False
        self._is_repairing = False

    def compose_lists(self) -> ComposeResult:
        yield TitleLine(id="counts")
        yield GrowthPlot()
        yield self.findings

    @property
    def shows_numbers(self) -> bool:
        """Whether the counts are shown instead of the findings."""
        return self.has_class("-numbers")

    @property
    def is_writing(self) -> bool:
        """Whether a repair is running."""
        return self._is_repairing

    @property
    def _read_only_because(self) -> str | None:
        """Why nothing can be repaired; a store that is only read because of what is wrong with it can be."""
        because, memory = self.library.read_only_because, self.library.memory
        if because is None or self.library.config.read_only or memory.about.path is None:
            return because
        return why_not_writable(memory.about.path)

    def why_dimmed(self, action: str) -> str | None:
        """Why an action cannot be done now, in a sentence; None when it can."""
        finding = self.findings.selected
        if action == "repair" and not self.shows_numbers and finding is not None and finding.id != _NOT_DEEP.id:
            return self._read_only_because
        return super().why_dimmed(action)

    def action_toggle_numbers(self) -> None:
        self.action_show_numbers(not self.shows_numbers)

    def action_show_numbers(self, shows: bool) -> None:
        """Show every count instead of the findings, or the findings again."""
        self.set_class(shows, "-numbers")
        (self.query_one(AboutPane) if shows else self.findings).focus()
        self.show_row()
        self.refresh_bindings()

    async def load(self) -> None:
        """Count, and check again, as deep as before."""
        self.findings.say_empty("Checking the store and its files …")
        await self._count()
        await self._examine(is_deep=self._is_deep)

    def step_out(self) -> bool:
        """Cancel a deep check; go from the counts or the finding to the list."""
        if self.is_loading and self.report is not None:
            self.cancel_check()
        elif self.shows_numbers:
            self.action_show_numbers(False)
        else:
            return super().step_out()
        return True

    def on_table_list_row_highlighted(self, event: TableList.RowHighlighted) -> None:
        super().on_table_list_row_highlighted(event)
        self.refresh_bindings()

    def shell_facts(self) -> dict[str, str]:
        """The finding under the cursor, where there is a repair of it."""
        finding = self.findings.selected
        return {} if finding is None or finding.repair is None else {"finding": quote(finding.id)}

    def action_repair(self) -> None:
        """Show what the repair would do, and ask."""
        finding = self.findings.selected
        if self.shows_numbers or finding is None or self.is_loading:
            return
        if finding.id == _NOT_DEEP.id:
            self.action_deep_check()
        elif finding.repair is None:
            warn(self, finding.by_hand or "Nothing to repair here.")
        elif finding.repair == "fill vectors":
            self.begin(self._fill_vectors)
        else:
            question = yes_or_no(f"{finding.repair.capitalize()}?", _repair_body(finding), "Cancel", "Repair")
            self.app.push_screen(question, lambda yes: self._repair(finding) if yes else None)

    def action_deep_check(self) -> None:
        if self._is_repairing:
            warn(self, "Wait: a repair is still running.")
        else:
            self._is_deep = True
            self.reload()

    async def action_copy(self) -> None:
        """Copy everything as text, or what `memory stats --json` prints."""
        if self.shows_numbers:
            try:
                stats = await full_stats(self.library.memory, self.room.clock().isoformat())
            except InspectorError as error:
                warn(self, str(error))
            else:
                inform(self, await copy_text(self.app, json.dumps(stats, indent=2, ensure_ascii=False)))
        elif self.report is not None:
            inform(self, await copy_text(self.app, self.report.as_text(self.library.memory.about.location)))

    async def _count(self) -> None:
        self._stats = stats = await store_stats(self.library.memory, self.room.clock().isoformat())
        self.query_one("#counts", TitleLine).say(*headline(stats))
        self.set_class(stats.rows.total == 0, "-nothing")
        self.query_one(GrowthPlot).show(stats.growth)
        self.show_row()

    async def _examine(self, *, is_deep: bool) -> None:
        if is_deep:
            self.query_one(StatusBar).say("Checking every page and the keyword index on a copy …", "esc cancels")
        try:
            self.report = report = await doctor.examine(self.library.config, self.library, deep=is_deep)
        finally:
            # A deep check that was cancelled or failed is not repeated by itself.
            self._is_deep = is_deep and self.report is not None and self.report.is_deep
        deep = ("Every page was checked.",) if report.is_deep else ()
        self.query_one("#title", TitleLine).say(report.headline(), *deep)
        can_check_deeply = not report.is_deep and self.library.memory.about.path is not None
        self.findings.set_rows([*report.findings, *([_NOT_DEEP] if can_check_deeply else [])])
        self.findings.say_empty("Nothing to check here.")
        self.show_row()
        self.refresh_bindings()

    def show_row(self) -> None:
        """The finding under the cursor, or all counts."""
        about, finding, stats = Content(""), self.findings.selected, self._stats
        if self.shows_numbers and stats is not None:
            about = stats_content(stats, self.library.memory.why_not.get("vectors"))
            if not stats.rows.total:
                about = Content("No memories yet. Their counts and growth appear here after the first one.")
        elif not self.shows_numbers and finding is not None:
            about = _finding_content(finding, self._read_only_because)
        self.query_one(AboutPane).show(about)

    def show_status(self) -> None:
        """The notes of the check, and why nothing can be repaired."""
        notes = " ".join(map(shown_words, self.report.notes)) if self.report is not None else ""
        self.query_one(StatusBar).say(notes, self._read_only_because or "")

    def _repair(self, finding: DoctorFinding) -> None:
        if self.room.is_writing:
            warn(self, "Wait: a change is still running.")
            return
        self._is_repairing = True
        # Nothing is asked in between, so that quitting can wait for the end of it.
        start_work(self, "doctor-write", guarded, self, self._run_repair, finding, exclusive=False)

    async def _run_repair(self, finding: DoctorFinding) -> None:
        self.query_one(StatusBar).say(f"{finding.repair} …".capitalize())
        library = self.library
        try:
            if finding.repair == "compact":
                compact = partial(repairs.compact, library.config, self.room.clock())
                done = await with_store_closed(self.app, library, compact)
            else:
                done = await doctor.repair_finding(library.config, library, finding, self.room.clock())
            inform(self, " ".join(filter(None, [*done.sentences(), done.backup_sentence()])))
        except NotOpenAgain:
            raise
        except InspectorError:
            self._after_repair()
            raise
        else:
            self._after_repair()
        finally:
            self._is_repairing = False

    def _after_repair(self) -> None:
        """Part of the repair may be done, whatever ended it."""
        self.room.has_changed = True
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
            done = await with_progress(self.app, "Creating embeddings", plan.count, self.room.pace.patience, fill)
        finally:
            self._after_repair()
        inform(self, _filled_text(done, plan.count))


def _glyph(finding: DoctorFinding) -> Content:
    look = {"serious": "bad", "worth knowing": "keyword"}.get(finding.risk, "faint")
    return Content.styled("·" if finding is _NOT_DEEP else GLYPHS[finding.risk], look)


def _title(finding: DoctorFinding) -> Content:
    look = "muted" if finding.risk == "fine" else "text"
    return Content.styled(one_line(shown_words(finding.title[:2000])), look)


_COLUMNS: Sequence[Column[DoctorFinding]] = (
    Column("", _glyph, width=1),
    Column("finding", _title, flex=True),
    Column("repair", lambda one: one.repair or ("by hand" if one.by_hand else ""), hidden_below=70, look="muted"),
)


def _finding_content(finding: DoctorFinding, read_only_because: str | None) -> Content:
    """Everything about one finding."""
    if finding is _NOT_DEEP:
        return Content.assemble((finding.title, STRONG), f"\n\n{finding.risk_sentence}")
    parts: list[str | tuple[str, str]] = [
        (f"{GLYPHS[finding.risk]} ", _COLOURS[finding.risk]),
        (shown_words(finding.title), STRONG),
        ("\n" + finding.risk, MUTED),
    ]
    if finding.risk_sentence:
        parts.append(f"\n\n{shown_words(finding.risk_sentence)}")
    facts = [*finding.details, *([("file", finding.target)] if finding.target else [])]
    parts.append("\n" if facts else "")
    for name, value in facts:
        parts += [(f"\n{shown_line(name)}  ", MUTED), shown_line(value)]
    if finding.repair is not None:
        can = read_only_because is None
        parts.append((f"\n\n⏎ {finding.repair}:", ACCENT) if can else ("\n\nThe repair would be:", MUTED))
        parts += [f"\n  {step}" for step in map(shown_words, finding.repair_steps)]
        parts.append(("" if can else f"\n{shown_words(read_only_because or '')}", MUTED))
    if finding.by_hand:
        parts += [("\n\nby hand  ", MUTED), shown_words(finding.by_hand)]
    return Content.assemble(*parts)


def _repair_body(finding: DoctorFinding) -> Content:
    """The risk, and what the repair does, cut so that the answers stay in sight."""
    steps = [
        f"{number}. {shown_line(with_tilde(step), _MAX_STEP_LENGTH)}"
        for number, step in enumerate(finding.repair_steps[:_MAX_STEPS], 1)
    ]
    risk = shown_line(with_tilde(finding.risk_sentence), _MAX_STEP_LENGTH)
    return Content.assemble((risk, MUTED), "\n\n" if steps and risk else "", "\n".join(steps))


def _vectors_question(plan: ReindexPlan) -> Question[bool]:
    """Ask whether to create the missing embeddings, with how much text is sent and where."""
    sentences = "\n".join(map(shown_line, plan.sentences()))
    stop = "You can stop and continue at any time. Finished embeddings are saved."
    title = f"Create {counted(plan.count, 'embedding')}?"
    return yes_or_no(title, Content.assemble(sentences, "\n\n", (stop, MUTED)), "Cancel", "Create")


def _filled_text(outcome: ReindexOutcome, planned: int) -> str:
    """The report on created embeddings."""
    sentences = [*outcome.sentences(planned)]
    rest = planned - outcome.filled - outcome.skipped
    if outcome.stopped and rest > 0:
        sentences.append(f"Stopped. Press ⏎ on the finding to create the other {rest:,}.")
    return " ".join([*sentences, *map(one_line, outcome.failed)])
