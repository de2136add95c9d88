"""Hygiene: preview what ZeroClaw archives and deletes, exclude items, and run it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import ClassVar

from textual.content import Content

from zeroclaw_tui.config.real_binary import runnable
from zeroclaw_tui.curation.hygiene import (
    INTERVAL_HOURS,
    HygieneItem,
    HygienePlan,
    plan_hygiene,
    run_hygiene,
    run_sentences,
)
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.outcome import Outcome
from zeroclaw_tui.memory.days import absolute_time
from zeroclaw_tui.memory.text import counted, one_line, size_shown
from zeroclaw_tui.tui.commands import Command, changing, warn
from zeroclaw_tui.tui.dialogs import yes_or_no
from zeroclaw_tui.tui.format import safe_line
from zeroclaw_tui.tui.rooms.listing import UpkeepTab
from zeroclaw_tui.tui.themes import MUTED, STRONG
from zeroclaw_tui.tui.widgets.lines import TabName, TitleLine
from zeroclaw_tui.tui.widgets.table_list import EMPTY_KEY, Column, TableList

_DATE_CELLS = 10
_SIGNS: Mapping[str, Content] = {
    "archive": Content.styled("→", "vector"),
    "delete": Content.styled("✗", "bad"),
    "trash": Content.styled("↓", "keyword"),
}
_COLUMNS: Sequence[Column[HygieneItem]] = (
    Column("", lambda item: _SIGNS[item.effect], width=1),
    Column("date", lambda item: absolute_time(item.date)[:_DATE_CELLS], width=_DATE_CELLS, look="muted"),
    Column("name", lambda item: item.name or EMPTY_KEY, flex=True),
    Column("size", lambda item: size_shown(item.size), width=6, right=True, look="muted"),
    Column("effect", lambda item: item.effect_text(), flex=True, hidden_below=96, look="muted"),
)


class Hygiene(UpkeepTab):
    """The plan as of `days` from now, grouped by rule. Excluded items stay excluded when the day changes."""

    table: TableList[HygieneItem]
    NAME = TabName("hygiene", "H", "Hygiene")
    TITLES = ("Items due", "Item")
    KEYS: ClassVar[Sequence[Command]] = (
        Command("run", "enter", "run now", "Run hygiene now", True, writes=True, shell="hygiene"),
        Command("mark", "space", "exclude", "Exclude or include this item", True),
        Command("mark_all", "asterisk", "exclude all", "Exclude all items; again: include all"),
        Command("next_day", "right", "next day", "Preview the next day", True),
        Command("previous_day", "left", "previous day", "Preview the previous day"),
    )  # fmt: skip

    def __init__(self) -> None:
        table = TableList(
            _COLUMNS,
            key=lambda item: item.id,
            mark=lambda item: item.id,
            is_left_out=lambda item: self.table.has_mark(item),
            heading=lambda item: self._headings.get(item.id),
        )
        super().__init__(table)
        self.plan: HygienePlan | None = None
        self._headings: dict[str, str] = {}
        """The heading of each rule with the number of its due items, by the id of its first item."""
        self.days = 0

    @property
    def as_of(self) -> datetime:
        """The time of the plan: this time of day on the chosen day, in this machine's zone."""
        now: datetime = self.room.clock().astimezone()
        return (now.replace(tzinfo=None) + timedelta(days=self.days)).astimezone() if self.days else now

    def on_table_list_marks_changed(self, event: TableList.MarksChanged) -> None:
        self._show_plan()

    def action_next_day(self) -> None:
        self.days += 1
        self.reload()

    def action_previous_day(self) -> None:
        self.days -= 1
        self.reload()

    async def load(self) -> None:
        """Plan as of the chosen day."""
        self.plan = await plan_hygiene(self.library, self.as_of)
        self._show_plan()

    def _show_plan(self) -> None:
        plan = self.plan
        if plan is None:
            return
        state, last, *_ = plan.status(self.room.clock().astimezone())
        self.query_one(TitleLine).say(f"Hygiene is {state}", last, f"rules of {plan.rules.version}")
        self.table.empty = (
            "Nothing to archive or delete now. Items that exceed the rules appear here. Press → for the next day."
            if plan.rules.is_enabled
            else runnable("Hygiene is off. Switch it on with `zeroclaw onboard --interactive`.")
        )
        included, items = plan.without(self.table.marks), list[HygieneItem]()
        self._headings = {}
        for rule in plan.rules.rules:
            if found := plan.items_of(rule.name):
                due = counted(len(included.items_of(rule.name)), rule.item_noun)
                self._headings[found[0].id] = f"{rule.sentence}: {due}"
                items += found
        self.table.set_rows(items)
        rules = [(f"{one_line(rule.sentence)}\n", "" if rule.is_on else MUTED) for rule in plan.rules.rules]
        way = (runnable("\nChange the rules with `zeroclaw onboard --interactive`."), MUTED)
        self.nothing = Content.assemble(*rules, way)

    def status(self) -> Sequence[str]:
        """The day, the due and the excluded items, the next run, and what could not be read."""
        plan = self.plan
        if plan is None:
            return ()
        included = plan.without(self.table.marks)
        excluded = len(plan.items) - len(included.items)
        day = "now" if self.days == 0 else f"{plan.as_of:%Y-%m-%d %H:%M}"
        return (
            f"as of ◂ {day} ▸{' preview' if self.days > 0 else ''}",
            _due_text(included),
            f"{excluded:,} excluded" if excluded else "",
            *plan.status(self.room.clock().astimezone())[2:],
            plan.state.problem,
            *plan.problems,
        )

    async def about(self, item: HygieneItem) -> Content:
        """The item under the cursor, and every rule in full."""
        effect = "excluded" if item.id in self.table.marks else item.effect_text()
        facts = " · ".join([absolute_time(item.date), size_shown(item.size), safe_line(effect)])
        text = f"\n{facts}\n{safe_line(item.excerpt)}\n\n"
        about = Content.assemble((safe_line(item.name) or EMPTY_KEY, STRONG), (text, MUTED))
        return about + self.nothing

    @changing
    async def action_run(self, library: Library) -> None:
        """Show exactly what a run does, and run it after confirmation."""
        plan = self.plan
        if plan is None:
            return
        included = plan.without(self.table.marks)
        if self.days > 0:
            warn(self, "This is a preview. Press ← to go back to today, and run what is due then.")
            return
        if not included.items:
            everything = "Everything is excluded. Press * to include all."
            warn(self, everything if plan.items else "Nothing to archive or delete.")
            return
        day = f"\nAs of {plan.as_of:%Y-%m-%d %H:%M}." if self.days else ""
        body = Content.assemble(
            "\n".join(included.sentences()),
            (f"\n{_due_text(included)}{day}", MUTED),
            ("\n\nDeleted memories and files go to the trash. Press u to undo. ZeroClaw then waits ", MUTED),
            (f"{INTERVAL_HOURS} hours before its next run.", MUTED),
        )
        if await self.app.push_screen_wait(yes_or_no("Run hygiene now?", "Run", body)):

            def report(outcome: Outcome) -> str:
                return " ".join([*run_sentences(outcome, included, "u"), *map(one_line, outcome.notes[:1])])

            run = partial(run_hygiene, library, included)
            await self.room.carry_out("Running hygiene", len(included.items), run, report)


def _due_text(included: HygienePlan) -> str:
    """Say how many items of a plan are due, and their size."""
    size = size_shown(sum(item.size for item in included.items))
    return f"{counted(len(included.items), 'item')} due · {size}" if included.items else "nothing due"
