"""Health: the problems of the store with their risks and repairs, and the store's numbers in one line."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from shlex import quote
from typing import ClassVar

from textual.content import Content

from zeroclaw_tui.curation import doctor, reindex
from zeroclaw_tui.curation.doctor import GLYPHS, DoctorFinding, DoctorReport
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.stats import store_stats
from zeroclaw_tui.files.database import why_not_writable
from zeroclaw_tui.memory.text import counted, one_line, size_shown, with_tilde
from zeroclaw_tui.tui.commands import Command, inform, warn
from zeroclaw_tui.tui.dialogs import with_progress, yes_or_no
from zeroclaw_tui.tui.format import safe_line, safe_text
from zeroclaw_tui.tui.rooms.listing import UpkeepTab
from zeroclaw_tui.tui.themes import MUTED, STRONG, Look
from zeroclaw_tui.tui.widgets.detail import with_text
from zeroclaw_tui.tui.widgets.lines import TabName, TitleLine
from zeroclaw_tui.tui.widgets.table_list import Column, TableList

_NOT_DEEP = DoctorFinding(
    "not-deep",
    "Pages and keyword index are not checked yet.",
    "fine",
    "Press ⏎ to check them on a copy of the database. This can take a while; esc cancels.",
)
_COLUMNS: Sequence[Column[DoctorFinding]] = (
    Column("", lambda finding: _glyph(finding), width=1),
    Column("finding", lambda finding: safe_text(finding.title[:2000]), flex=True),
    Column("repair", lambda row: row.repair or ("by hand" if row.by_hand else ""), hidden_below=70, look="muted"),
)


class Health(UpkeepTab):
    """The findings of the doctor, the serious ones first, and the size and growth of the store."""

    table: TableList[DoctorFinding]
    NAME = TabName("health", "D", "Health")
    KEYS: ClassVar[Sequence[Command]] = (
        Command("repair", "enter", "repair", "Repair this finding …", True, shell="doctor --repair {finding}"),
    )  # fmt: skip

    def __init__(self) -> None:
        empty = "Checking the store and its files …"
        super().__init__(TableList(_COLUMNS, empty=empty, key=lambda finding: finding.id, id="findings"))
        self.report: DoctorReport | None = None
        self._numbers: list[str] = []
        self._is_deep = False

    @property
    def _read_only_because(self) -> str | None:
        """Why nothing can be repaired; a store that is read-only because of its problems can be."""
        because, memory = self.library.read_only_because, self.library.memory
        if because is None or self.library.config.read_only or memory.about.path is None:
            return because
        return why_not_writable(memory.about.path)

    def why_dimmed(self, action: str) -> str | None:
        """Say why an action is not available now; None if it is."""
        is_repair = action == "repair" and self.table.selected not in (None, _NOT_DEEP)
        return self._read_only_because if is_repair else None

    async def load(self) -> None:
        """Count and check, as deeply as before."""
        title = self.query_one(TitleLine)
        await self.library.memory.version()
        title.say("Checking …")
        stats = await store_stats(self.library.memory, self.room.clock().isoformat())
        self._numbers = [counted(stats.counts.total), f"{size_shown(stats.counts.content)} of text"]
        if stats.busiest is not None and len(stats.days) > 1:
            day, count = stats.busiest
            self._numbers += [f"{stats.days[0][0]} to {stats.days[-1][0]}", f"most on one day: {count:,} on {day}"]
        # A deep check that was cancelled or failed is not repeated automatically.
        is_deep, self._is_deep = self._is_deep, False
        if is_deep:
            title.say("Checking every page on a copy …", "esc cancels")
        self.report = report = await doctor.examine(self.library.config, self.library, deep=is_deep)
        self._is_deep = report.is_deep
        can_check_deeply = not report.is_deep and self.library.memory.about.path is not None
        unchecked = "pages not checked yet" if can_check_deeply else ""
        title.say(report.headline(), "Every page was checked." if report.is_deep else unchecked)
        self.table.empty = "Nothing to check here."
        self.table.set_rows([*report.findings, *([_NOT_DEEP] if can_check_deeply else [])])

    def status(self) -> Sequence[str]:
        """Why nothing can be repaired, the numbers of the store, and the notes of the check."""
        notes = self.report.notes if self.report is not None else ()
        return (self._read_only_because or "", *self._numbers, *notes)

    async def about(self, finding: DoctorFinding) -> Content:
        """Everything about the finding under the cursor."""
        parts = [finding.risk_sentence, f"file  {safe_line(finding.target)}" if finding.target else ""]
        if finding.repair is not None:
            lead = "The repair would be:" if self._read_only_because else f"⏎ {finding.repair}:"
            parts.append("\n  ".join((lead, *finding.repair_steps)))
        parts.append(f"by hand: {finding.by_hand}" if finding.by_hand else "")
        text = "\n\n".join(safe_text(part) for part in parts if part)
        risk = "not checked" if finding is _NOT_DEEP else finding.risk
        about = Content.assemble((safe_text(finding.title), STRONG), (f"\n{risk}", MUTED))
        return with_text(about, text)

    def shell_facts(self) -> dict[str, str]:
        """The finding under the cursor, if there is a repair, for shell commands."""
        finding = self.table.selected
        return {} if finding is None or finding.repair is None else {"finding": quote(finding.id)}

    def action_repair(self) -> None:
        """Show the steps of the repair, and ask."""
        finding = self.table.selected
        if finding is None or self.is_loading or self.room.is_changing:
            return
        if finding is _NOT_DEEP:
            self._is_deep = True
            self.reload()
        elif finding.repair is None:
            warn(self, finding.by_hand or "Nothing to repair here.")
        elif finding.repair == "fill vectors":
            self.begin(self._fill_vectors)
        else:
            steps = [f"{number}. {safe_line(with_tilde(step))}" for number, step in enumerate(finding.repair_steps, 1)]
            body = Content("\n".join((safe_line(with_tilde(finding.risk_sentence)), "", *steps)).strip())
            # Asks before the change begins, because quitting waits for the repair, which must not ask.
            question = yes_or_no(f"{finding.repair.capitalize()}?", "Repair", body)
            repair = partial(self._repair, finding=finding)
            self.app.push_screen(question, lambda yes: self.room.begin(repair, group="doctor-write") if yes else None)

    async def _repair(self, library: Library, finding: DoctorFinding) -> None:
        done = await doctor.repair_finding(library.config, library, finding, self.room.clock())
        inform(self, " ".join(map(one_line, done.sentences())))
        await self.room.after_change()

    async def _fill_vectors(self, library: Library) -> None:
        plan = await reindex.plan_reindex(library)
        if not plan.count:
            inform(self, "No embedding is missing.")
            return
        stop = "You can stop and continue at any time. Finished embeddings are saved."
        body = Content("\n".join((*map(safe_line, plan.sentences()), "", stop)))
        question = yes_or_no(f"Create {counted(plan.count, 'embedding')}?", "Create", body)
        if not await self.app.push_screen_wait(question):
            return
        if library.memory.about.path is not None:
            await doctor.back_up(library.config, self.room.clock())
        fill = partial(reindex.reindex, library, plan)
        done = await with_progress(self.app, "Creating embeddings", plan.count, self.room.pace.patience, fill)
        stopped = "Stopped. Press ⏎ on the finding to create the others." if done.stopped else ""
        inform(self, " ".join(filter(None, [*done.sentences(plan.count), stopped, *map(one_line, done.failed)])))
        await self.room.after_change()


def _glyph(finding: DoctorFinding) -> Content:
    looks: dict[str, Look] = {"serious": "bad", "worth knowing": "keyword"}
    return Content.styled("·" if finding is _NOT_DEEP else GLYPHS[finding.risk], looks.get(finding.risk, "faint"))
