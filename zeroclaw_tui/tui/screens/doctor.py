"""The doctor: what is wrong with a store, what may come of it, and its repair."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static
from textual.worker import Worker

from zeroclaw_tui.curation.doctor import examination
from zeroclaw_tui.curation.doctor.database import DoctorFinding, DoctorReport
from zeroclaw_tui.memory.errors import InspectorError
from zeroclaw_tui.tui.commands import bindings
from zeroclaw_tui.tui.external import copy_text
from zeroclaw_tui.tui.handing_over import NotOpenAgain
from zeroclaw_tui.tui.loader import Pace
from zeroclaw_tui.tui.looks import MUTED, STRONG
from zeroclaw_tui.tui.screens.confirm import QuestionScreen
from zeroclaw_tui.tui.screens.doctor_keys import DOCTOR_COMMANDS
from zeroclaw_tui.tui.screens.doctor_repairs import compacted, repaired, vectors_filled, why_not_repaired
from zeroclaw_tui.tui.screens.doctor_words import (
    finding_content,
    notes_words,
    repair_body,
    report_text,
    report_words,
)
from zeroclaw_tui.tui.screens.history import StepPane
from zeroclaw_tui.tui.screens.working import WorkingScreen, shown_words
from zeroclaw_tui.tui.widgets.doctor_list import DoctorList
from zeroclaw_tui.tui.widgets.empty import Empty
from zeroclaw_tui.tui.widgets.key_line import KeyLine
from zeroclaw_tui.tui.widgets.status_bar import Banner, StatusBar

if TYPE_CHECKING:
    from zeroclaw_tui.curation.library import Library

_LOOKING = "Looking at the store and what lies around it …"
_DEEP = "Checking every page and the keyword index on a copy; a big store takes a while …"


class DoctorScreen(WorkingScreen):
    """What is wrong with this store, and its repair. Gives True when the store changed."""

    CSS_PATH = "doctor.tcss"
    AUTO_FOCUS = "#list"
    COMMANDS_HERE = DOCTOR_COMMANDS
    BINDINGS: ClassVar[list[BindingType]] = bindings(DOCTOR_COMMANDS)

    def __init__(self, library: Library, clock: Callable[[], datetime], pace: Pace) -> None:
        super().__init__(library, clock, pace)
        self.report: DoctorReport | None = None
        self._looking: Worker[None] | None = None
        self._is_deep = False

    def compose(self) -> ComposeResult:
        """Title, findings and the finding, keys."""
        yield Static("", id="title", markup=False)
        yield Banner(id="failure")
        with Container(id="panes"):
            yield DoctorList(id="list")
            with StepPane(id="finding"):
                yield Static("", id="about", markup=False)
        yield Empty(id="empty")
        yield StatusBar(id="status")
        yield KeyLine(show_command_palette=False)

    def on_mount(self) -> None:
        """Look."""
        self._look(is_deep=False)

    def panes(self) -> Sequence[tuple[str, Widget]]:
        """Findings and the finding."""
        return (("In the list", self.query_one(DoctorList)), ("In the finding", self.query_one(StepPane)))

    @property
    def read_only_because(self) -> str | None:
        """Why nothing can be repaired; a store that is only read because of what is wrong with it can be."""
        return why_not_repaired(self.library)

    def reload(self) -> None:
        """Look again, as deep as before."""
        self._look(is_deep=self._is_deep)

    def on_resize(self) -> None:
        """As many facts as fit."""
        self._paint_title()

    def on_row_list_cursor_moved(self) -> None:
        """Show the finding under the cursor."""
        self._paint_finding()

    def on_row_list_row_opened(self) -> None:
        """Read on in the finding."""
        self.query_one(StepPane).focus()

    def action_reload(self) -> None:
        """Look again."""
        if self.is_busy:
            self.warn("One thing at a time: a repair is still under way.")
        else:
            self.reload()

    def action_look_deeper(self) -> None:
        """Check every page as well."""
        if self.is_busy:
            self.warn("One thing at a time: a repair is still under way.")
        else:
            self._look(is_deep=True)

    async def action_copy_report(self) -> None:
        """Copy everything as text."""
        if self.report is not None:
            self.tell(await copy_text(self.app, report_text(self.report, self.library.memory.location)))

    def action_step_out(self) -> None:
        """Stop looking; else from the finding to the list, from there back."""
        if self._looking is not None:
            self._looking.cancel()
        elif self.query_one(StepPane).has_focus:
            self.query_one(DoctorList).focus()
        else:
            self.action_leave()

    def action_leave(self) -> None:
        """Back to where one came from, unless something is being repaired."""
        if self._looking is not None:
            self._looking.cancel()
        super().action_leave()

    def action_repair(self) -> None:
        """Show what the repair would do, and ask."""
        finding = self.query_one(DoctorList).selected
        if finding is None or self._looking is not None:
            return
        if finding.repair is None or finding.repair == "join split log":
            self.warn(finding.by_hand or "There is nothing to repair here.")
        elif finding.repair == "fill vectors":
            self.begin(self._fill_vectors(), "reindex-write")
        else:
            question = QuestionScreen(
                f"{finding.repair[0].upper()}{finding.repair[1:]}?", repair_body(finding), "Leave it", "Do it"
            )
            self.app.push_screen(question, lambda yes: self._repair(finding) if yes else None)

    def _repair(self, finding: DoctorFinding) -> None:
        # Nothing is asked in between, so that quitting can wait for the end of it.
        self.begin(self._repaired(finding), "doctor-write")

    async def _repaired(self, finding: DoctorFinding) -> None:
        self._say(f"{finding.repair} …".capitalize())
        try:
            work = compacted if finding.repair == "compact" else repaired
            self.tell(await work(self, finding))
        except NotOpenAgain:
            self._say("")
            raise
        except InspectorError:
            self._after_repair()
            raise
        self._after_repair()

    def _after_repair(self) -> None:
        """Part of it may be done whatever ended it."""
        self.has_changed = True
        self._say("")
        self.reload()

    async def _fill_vectors(self) -> None:
        said = await vectors_filled(self)
        if said is not None:
            self.has_changed = True
            self.tell(said)
            self.reload()

    def _look(self, *, is_deep: bool) -> None:
        if self._looking is not None:
            self._looking.cancel()
        self._looking = self.run_worker(self._examine(is_deep), group="doctor-look", exclusive=True)

    async def _examine(self, is_deep: bool) -> None:
        words = _DEEP if is_deep else _LOOKING
        stops = "esc stops" if is_deep else ""
        if self.report is None:
            self.add_class("-empty")
            self.query_one(Empty).show(words, stops)
        self._say(words, stops)
        me = self._looking
        try:
            self.report = await examination.examine(self.library.config, self.library, deep=is_deep)
            self._is_deep = is_deep
        except InspectorError as error:
            self._fail(error)
            return
        except asyncio.CancelledError:
            if self.is_mounted and self.report is None:
                self.query_one(Empty).show("Looking was stopped.", "", (("r", "look again"), ("esc", "back")))
            raise
        finally:
            if self._looking is me:
                self._looking = None
                self._say("")
        self._paint()

    def _paint(self) -> None:
        report = self.report
        if report is None:
            return
        self.query_one("#failure", Banner).hide()
        self.set_class(not report.findings, "-empty")
        listed = self.query_one(DoctorList)
        listed.show(report.findings)
        if not report.findings:
            self.set_focus(None)
            keys = (("r", "look again"), ("esc", "back"))
            self.query_one(Empty).show("There is nothing to look at here.", notes_words(report.notes), keys)
        elif self.focused is None:
            listed.focus()
        self._paint_title()
        self._paint_finding()
        self._say("")

    def _paint_title(self) -> None:
        if self.report is None:
            self.query_one("#title", Static).update(Content.styled("Doctor", STRONG))
            return
        bad, fine = report_words(self.report)
        depth = " (every page checked)" if self.report.is_deep else ""
        rest = f"; {fine}{depth}" if fine else depth
        has_room = cell_len(bad) + cell_len(rest) <= self.size.width - 2
        self.query_one("#title", Static).update(Content.assemble((bad, STRONG), (rest if has_room else "", MUTED)))

    def _paint_finding(self) -> None:
        finding = self.query_one(DoctorList).selected
        if finding is not None:
            content = finding_content(finding, self.read_only_because)
            self.query_one("#about", Static).update(content)
            self.query_one(StepPane).scroll_home(animate=False)

    def _say(self, *doing: str) -> None:
        if self.is_mounted:
            notes = notes_words(self.report.notes) if self.report is not None and not any(doing) else ""
            self.query_one(StatusBar).say(*doing, notes, self.read_only_because or "")

    def _fail(self, error: InspectorError) -> None:
        if self.report is None:
            keys = (("r", "try again"), ("esc", "back"))
            self.query_one(Empty).show(shown_words(error.message), shown_words(error.hint), keys)
        else:
            self.query_one("#failure", Banner).show("error", shown_words(str(error)), "r", "tries again", "reload")
