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
from zeroclaw_tui.curation.stats import StoreStats, full_stats, store_stats
from zeroclaw_tui.files.database import why_not_writable
from zeroclaw_tui.memory.errors import InspectorError, Unreadable
from zeroclaw_tui.memory.text import counted, one_line
from zeroclaw_tui.tui.actions import StoreRoom
from zeroclaw_tui.tui.commands import Command, guarded, inform, show_failure, start_work, warn
from zeroclaw_tui.tui.dialogs import with_progress, yes_or_no
from zeroclaw_tui.tui.external import copy_text
from zeroclaw_tui.tui.format import shown_line, shown_words, with_tilde
from zeroclaw_tui.tui.rooms.panes import BrowserPanes
from zeroclaw_tui.tui.rooms.upkeep.numbers import GrowthPlot, headline, stats_content
from zeroclaw_tui.tui.rooms.upkeep.tab import UpkeepTab
from zeroclaw_tui.tui.themes import ACCENT, MUTED, STRONG
from zeroclaw_tui.tui.widgets.detail import AboutPane
from zeroclaw_tui.tui.widgets.lines import StatusBar, TitleLine
from zeroclaw_tui.tui.widgets.table_list import Column, TableList

Done = TypeVar("Done")
_COLOURS: Mapping[Risk, str] = {"serious": "$text-error", "worth knowing": "$warning", "fine": "$text-success"}
_NOT_DEEP = DoctorFinding(
    "not-deep",
    "Pages and keyword index are not checked yet.",
    "fine",
    "Press ⏎ to check them on a copy of the database. This can take a while; esc cancels.",
)
_MAX_STEP_LENGTH = 180
_COLUMNS: Sequence[Column[DoctorFinding]] = (
    Column("", lambda finding: _glyph(finding), width=1),
    Column("finding", lambda finding: _title(finding), flex=True),
    Column("repair", lambda one: one.repair or ("by hand" if one.by_hand else ""), hidden_below=70, look="muted"),
)


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
    # The lists below ask the store by themselves now and then.
    lists = [panes for screen in app.screen_stack for panes in screen.query(BrowserPanes)]
    for panes in lists:
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
    for panes in lists:
        panes.start_loading()
    if failure is not None:
        raise failure
    return done


class Health(UpkeepTab):
    """Findings of the doctor, the serious first, under the size and growth of the store; or every count instead."""

    KEYS: ClassVar[Sequence[Command]] = (
        Command("repair", "enter", "repair", "Repair this finding …", True, shell="doctor --repair {finding}"),
        Command("copy", "y", "copy", "Copy everything as text; the counts as JSON", True, shell="doctor"),
        Command("deep_check", "", "deep check", "Check every page and the keyword index", shell="doctor --deep"),
    )  # fmt: skip

    def __init__(self, room: StoreRoom) -> None:
        self.findings = TableList(_COLUMNS, key=lambda finding: finding.id, id="findings")
        super().__init__(room, self.findings, id="health")
        self.report: DoctorReport | None = None
        self._stats: StoreStats | None = None
        self._is_deep = False

    def compose_lists(self) -> ComposeResult:
        yield TitleLine(id="counts")
        yield GrowthPlot(id="growth")
        yield self.findings

    @property
    def shows_numbers(self) -> bool:
        """Whether the counts are shown instead of the findings."""
        return self.has_class("-numbers")

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
        if action == "repair" and not self.shows_numbers and finding is not None and finding is not _NOT_DEEP:
            return self._read_only_because
        return super().why_dimmed(action)

    def show_numbers(self, shows: bool) -> None:
        """Show every count instead of the findings, or the findings again."""
        self.set_class(shows, "-numbers")
        self.query_one(".lists").display = not shows
        (self.query_one(AboutPane) if shows else self.findings).focus()
        self.show_row()
        self.screen.refresh_bindings()

    async def load(self) -> None:
        """Count, and check again, as deep as before."""
        self.findings.say_empty("Checking the store and its files …")
        self._stats = stats = await store_stats(self.library.memory, self.room.clock().isoformat())
        self.query_one("#counts", TitleLine).say(*headline(stats))
        self.set_class(stats.rows.total == 0, "-nothing")
        self.query_one(GrowthPlot).show(stats.growth)
        self.show_row()
        # A deep check that is cancelled or fails is not repeated by itself.
        is_deep, self._is_deep = self._is_deep, False
        if is_deep:
            self.query_one(StatusBar).say("Checking every page and the keyword index on a copy …", "esc cancels")
        self.report = report = await doctor.examine(self.library.config, self.library, deep=is_deep)
        self._is_deep = report.is_deep
        self.query_one("#title", TitleLine).say(
            report.headline(), *(("Every page was checked.",) if report.is_deep else ())
        )
        can_check_deeply = not report.is_deep and self.library.memory.about.path is not None
        self.findings.say_empty("Nothing to check here.")
        self.findings.set_rows([*report.findings, *([_NOT_DEEP] if can_check_deeply else [])])
        self.show_row()
        self.screen.refresh_bindings()

    def step_out(self) -> bool:
        """Cancel a deep check; go from the counts or the finding to the list."""
        if self.is_loading and self.report is not None:
            self.stop_loading()
        elif self.shows_numbers:
            self.show_numbers(False)
        else:
            return super().step_out()
        return True

    def shell_facts(self) -> dict[str, str]:
        """The finding under the cursor, where there is a repair of it."""
        finding = self.findings.selected
        return {} if finding is None or finding.repair is None else {"finding": quote(finding.id)}

    def action_repair(self) -> None:
        """Show what the repair would do, and ask."""
        finding = self.findings.selected
        if self.shows_numbers or finding is None or self.is_loading:
            return
        if finding is _NOT_DEEP:
            self.action_deep_check()
        elif finding.repair is None:
            warn(self, finding.by_hand or "Nothing to repair here.")
        elif finding.repair == "fill vectors":
            self.begin(self._fill_vectors)
        else:
            # Asked before the change begins: quitting waits for the end of a repair, which asks nothing.
            question = yes_or_no(f"{finding.repair.capitalize()}?", _repair_body(finding), "Repair")
            repair = partial(self._repair, finding=finding)
            self.app.push_screen(
                question, lambda yes: self.room.changes.begin(repair, group="doctor-write") if yes else None
            )

    def action_deep_check(self) -> None:
        if not self.room.is_writing:
            self._is_deep = True
            self.reload()

    def action_copy(self) -> None:
        """Copy everything as text, or what `memory stats --json` prints."""
        start_work(self, "health-copy", guarded, self, self._copy)

    async def _copy(self) -> None:
        if self.shows_numbers:
            stats = await full_stats(self.library.memory, self.room.clock().isoformat())
            text = json.dumps(stats, indent=2, ensure_ascii=False)
        elif self.report is not None:
            text = self.report.as_text(self.library.memory.about.location)
        else:
            return
        inform(self, await copy_text(self.app, text))

    def show_row(self) -> None:
        """The finding under the cursor, or all counts."""
        about, finding, stats = Content(""), self.findings.selected, self._stats
        if not self.shows_numbers and finding is not None:
            about = _finding_content(finding, self._read_only_because)
        elif self.shows_numbers and stats is not None and stats.rows.total:
            about = stats_content(stats, self.library.memory.why_not.get("vectors"))
        elif self.shows_numbers:
            about = Content("No memories yet. Their counts and growth appear here after the first one.")
        self.query_one(AboutPane).show(about)

    def show_status(self) -> None:
        """The notes of the check, and why nothing can be repaired."""
        notes = " ".join(map(shown_words, self.report.notes)) if self.report is not None else ""
        self.query_one(StatusBar).say(notes, self._read_only_because or "")

    async def _repair(self, library: Library, finding: DoctorFinding) -> None:
        self.query_one(StatusBar).say(f"{finding.repair} …".capitalize())
        now = self.room.clock()
        if finding.repair == "compact":
            compact = partial(repairs.compact, library.config, now)
            try:
                done = await with_store_closed(self.app, library, compact)
            except NotOpenAgain as error:
                # There is nothing to load from any more.
                show_failure(self, error)
                return
        else:
            done = await doctor.repair_finding(library.config, library, finding, now)
        inform(self, " ".join(filter(None, [*done.sentences(), done.backup_sentence()])))
        await self.room.after_change(None)

    async def _fill_vectors(self, library: Library) -> None:
        plan = await reindex.plan_reindex(library)
        if not plan.count:
            inform(self, "No embedding is missing.")
            return
        stop = "You can stop and continue at any time. Finished embeddings are saved."
        body = Content.assemble("\n".join(map(shown_line, plan.sentences())), "\n\n", (stop, MUTED))
        question = yes_or_no(f"Create {counted(plan.count, 'embedding')}?", body, "Create")
        if not await self.app.push_screen_wait(question):
            return
        if library.memory.about.path is not None:
            await repairs.back_up(library.config, self.room.clock())
        fill = partial(reindex.reindex, library, plan)
        done = await with_progress(self.app, "Creating embeddings", plan.count, self.room.pace.patience, fill)
        rest = plan.count - done.filled - done.skipped
        stopped = f"Stopped. Press ⏎ on the finding to create the other {rest:,}." if done.stopped and rest > 0 else ""
        inform(self, " ".join(filter(None, [*done.sentences(plan.count), stopped, *map(one_line, done.failed)])))
        await self.room.after_change(None)


def _glyph(finding: DoctorFinding) -> Content:
    look = {"serious": "bad", "worth knowing": "keyword"}.get(finding.risk, "faint")
    return Content.styled("·" if finding is _NOT_DEEP else GLYPHS[finding.risk], look)


def _title(finding: DoctorFinding) -> Content:
    look = "muted" if finding.risk == "fine" else "text"
    return Content.styled(one_line(shown_words(finding.title[:2000])), look)


def _finding_content(finding: DoctorFinding, read_only_because: str | None) -> Content:
    """Everything about one finding."""
    parts: list[str | tuple[str, str]] = [(shown_words(finding.title), STRONG)]
    if finding is not _NOT_DEEP:
        parts.insert(0, (f"{GLYPHS[finding.risk]} ", _COLOURS[finding.risk]))
        parts.append((f"\n{finding.risk}", MUTED))
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
    """The risk, and what the repair does."""
    steps = [
        f"{number}. {shown_line(with_tilde(step), _MAX_STEP_LENGTH)}"
        for number, step in enumerate(finding.repair_steps, 1)
    ]
    risk = shown_line(with_tilde(finding.risk_sentence), _MAX_STEP_LENGTH)
    return Content.assemble((risk, MUTED), "\n\n" if steps and risk else "", "\n".join(steps))
