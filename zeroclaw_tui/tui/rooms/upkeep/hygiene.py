"""Hygiene: preview what ZeroClaw archives and deletes, exclude items, and run it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.content import Content

from zeroclaw_tui.config.real_binary import runnable
from zeroclaw_tui.curation.hygiene import HygieneItem, HygienePlan, plan_hygiene, run_hygiene, run_sentences
from zeroclaw_tui.curation.hygiene_state import INTERVAL_HOURS
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.outcome import Outcome
from zeroclaw_tui.memory.days import absolute_time
from zeroclaw_tui.memory.text import counted, one_line, size_shown
from zeroclaw_tui.tui.actions import StoreRoom, until_words
from zeroclaw_tui.tui.commands import Command, changing, saying, warn
from zeroclaw_tui.tui.dialogs import yes_or_no
from zeroclaw_tui.tui.format import shown_line
from zeroclaw_tui.tui.rooms.upkeep.tab import UpkeepTab
from zeroclaw_tui.tui.themes import ACCENT, MUTED, STRONG, WARNING
from zeroclaw_tui.tui.widgets.detail import AboutPane
from zeroclaw_tui.tui.widgets.lines import StatusBar, TitleLine
from zeroclaw_tui.tui.widgets.table_list import EMPTY_KEY, Column, TableList

_DATE_CELLS = 10
_MAX_NOTES = 3
_SIGNS: Mapping[str, Content] = {
    "archive": Content.styled("→", "vector"),
    "delete": Content.styled("✗", "bad"),
    "trash": Content.styled("↓", "keyword"),
}
Line = HygieneItem | str
"""A row of the list: an item, or the sentence of a rule above its items."""
_COLUMNS: Sequence[Column[Any]] = (
    Column("", lambda item: _SIGNS[item.effect], width=1),
    Column("date", lambda item: absolute_time(item.date)[:_DATE_CELLS], width=_DATE_CELLS, look="muted"),
    Column("name", lambda item: item.name or EMPTY_KEY, flex=True),
    Column("size", lambda item: size_shown(item.size), width=6, right=True, look="muted"),
    Column("effect", lambda item: item.excerpt or item.effect_text(), flex=True, hidden_below=96, look="muted"),
)


class Hygiene(UpkeepTab):
    """The plan as of `days` from now, by rules. Excluded items stay excluded when the day changes."""

    TITLES = ("Items due", "Item")
    KEYS: ClassVar[Sequence[Command]] = (
        Command("run", "enter", "run now", "Run hygiene now", True, writes=True, shell="hygiene"),
        Command("mark", "space", "exclude", "Exclude or include this item", True),
        Command("mark_all", "asterisk", "exclude rule", "Exclude or include all items of this rule"),
        Command("mark_none", "backslash", "include all", "Include all items"),
        Command("next_day", "right", "next day", "Preview the next day", True),
        Command("previous_day", "left", "previous day", "Preview the previous day"),
        Command("today", "0", "today", "Preview today"),
    )  # fmt: skip

    def __init__(self, room: StoreRoom) -> None:
        self.items = TableList[Line](
            _COLUMNS,
            key=_id_of,
            mark=_id_of,
            leaves_marked_out=True,
            divider=lambda line: line if isinstance(line, str) else None,
        )
        super().__init__(room, self.items, id="hygiene")
        self.plan: HygienePlan | None = None
        self.days = 0

    def compose_lists(self) -> ComposeResult:
        yield TitleLine(id="day")
        yield self.items

    @property
    def as_of(self) -> datetime:
        """The time of the plan: this time of day on the chosen day, in this machine's zone."""
        now = self.room.clock().astimezone()
        return (now.replace(tzinfo=None) + timedelta(days=self.days)).astimezone() if self.days else now

    def action_mark_all(self) -> None:
        """Exclude all items of the rule under the cursor; again: include them."""
        item = self.items.selected
        if self.plan is not None and isinstance(item, HygieneItem):
            ids = {one.id for one in self.plan.items_of(item.rule)}
            marks = set(self.items.marks)
            self.items.set_marks(marks - ids if ids <= marks else marks | ids)

    def on_table_list_marks_changed(self, event: TableList.MarksChanged) -> None:
        self._show_plan()

    def action_next_day(self) -> None:
        self._show_day(self.days + 1)

    def action_previous_day(self) -> None:
        self._show_day(self.days - 1)

    def action_today(self) -> None:
        self._show_day(0)

    def _show_day(self, days: int) -> None:
        self.days = days
        self.reload()

    async def load(self) -> None:
        """Plan again."""
        with saying(self, self.room.pace.patience, partial(self.query_one("#title", TitleLine).say, "Planning …")):
            self.plan = await plan_hygiene(self.library, self.as_of)
        self._show_plan()

    def _show_plan(self) -> None:
        plan = self.plan
        if plan is None:
            return
        state, *more = plan.status(self.room.clock().astimezone())
        self.query_one("#title", TitleLine).say(f"Hygiene is {state}", *more, f"rules of {plan.rules.version}")
        included = plan.without(self.items.marks)
        day = "now" if self.days == 0 else f"{plan.as_of:%Y-%m-%d %H:%M}"
        preview = "   preview" if self.days > 0 else ""
        self.query_one("#day", TitleLine).update(
            Content.assemble(
                ("as of ", MUTED), ("◂ ", ACCENT), (day, STRONG), (" ▸", ACCENT), (preview, WARNING),
                (f"   {_due_text(plan, included)}", MUTED),
            )
        )  # fmt: skip
        self.items.say_empty(self._empty_text(plan))
        self.items.set_rows([*_lines(plan, included)] if plan.items else ())
        self.show_row()
        self.show_status()

    def _empty_text(self, plan: HygienePlan) -> str:
        if not plan.rules.is_enabled:
            return runnable(
                "Hygiene is off: ZeroClaw archives and deletes nothing by itself. "
                "Switch it on with `zeroclaw onboard --interactive`."
            )
        return "Nothing to archive or delete now. Items that exceed the rules appear here. Press → for the next day."

    def show_status(self) -> None:
        """What could not be read."""
        if self.plan is not None:
            self.query_one(StatusBar).say(self.plan.state.problem, *self.plan.problems)

    def show_row(self) -> None:
        """The item under the cursor, the last run, and every rule in full."""
        item, plan = self.items.selected, self.plan
        if plan is None:
            return
        parts: list[str | tuple[str, str]] = []
        if isinstance(item, HygieneItem):
            effect = "excluded" if item.id in self.items.marks else item.effect_text()
            facts = " · ".join([absolute_time(item.date), size_shown(item.size), shown_line(effect)])
            parts += [(shown_line(item.name) or EMPTY_KEY, STRONG), (f"\n{facts}\n", MUTED)]
            parts.append(f"\n{shown_line(item.excerpt)}\n\n" if item.excerpt else "\n")
        if plan.state.last_run is not None:
            parts += [("last report  ", MUTED), f"{plan.state.report_text()}\n\n"]
        parts += [(f"{one_line(rule.sentence)}\n", "" if rule.is_on else MUTED) for rule in plan.rules.rules]
        parts.append((runnable("\nChange the rules with `zeroclaw onboard --interactive`."), MUTED))
        self.query_one(AboutPane).show(Content.assemble(*parts))

    @changing
    async def action_run(self, library: Library) -> None:
        """Show exactly what a run does, and run it once confirmed."""
        plan = self.plan
        if plan is None:
            return
        excluded = frozenset(self.items.marks)
        included = plan.without(excluded)
        if self.days > 0:
            warn(self, f"This is a preview of {plan.as_of:%Y-%m-%d}. Press 0 to run what is due now.")
            return
        if not included.items:
            everything = "Everything is excluded. Press \\ to include all."
            warn(self, everything if plan.items else "Nothing to archive or delete.")
            return
        day = f"\nAs of {plan.as_of:%Y-%m-%d %H:%M}." if self.days else ""
        after = (
            "Deleted memories and files go to the trash. Press u to undo. ZeroClaw then waits "
            f"{INTERVAL_HOURS} hours before its next run."
        )
        body = Content.assemble(
            "\n".join(included.sentences()),
            (f"\n{_due_text(plan, included)}{day}", MUTED),
            (f"\n\n{after}", MUTED),
        )
        if await self.app.push_screen_wait(yes_or_no("Run hygiene now?", body, "Run")):
            run = partial(run_hygiene, library, plan, exclude=excluded)
            report = partial(_done_text, plan=included, now=self.room.clock().astimezone())
            await self.carry_out(library, "Running hygiene", len(included.items), run, report)


def _id_of(line: Line) -> str | None:
    return line.id if isinstance(line, HygieneItem) else None


def _due_text(plan: HygienePlan, included: HygienePlan) -> str:
    """How much of a plan is due and how much of it is excluded."""
    count, excluded = len(included.items), len(plan.items) - len(included.items)
    size = size_shown(sum(item.size for item in included.items))
    facts = [f"{counted(count, 'item')} due · {size}" if count else "nothing due"]
    return " · ".join([*facts, *([f"{excluded:,} excluded"] if excluded else [])])


def _lines(plan: HygienePlan, included: HygienePlan) -> Iterator[Line]:
    """Each rule that has items, above these; then the other rules in one line."""
    idle: list[str] = []
    for rule in plan.rules.rules:
        items, due = plan.items_of(rule.name), included.items_of(rule.name)
        if items:
            size = f", {size_shown(sum(item.size for item in due))}" if due else ""
            yield f"{rule.sentence}: {counted(len(due), rule.item_noun)}{size}"
            yield from items
        else:
            idle.append(one_line(rule.sentence))
    if idle:
        yield f"{counted(len(idle), 'other rule')} with nothing to do: {'; '.join(idle)}"


def _done_text(outcome: Outcome, *, plan: HygienePlan, now: datetime) -> str:
    """What a run did; its notes say what it did not change and why."""
    until = until_words(outcome.action.until, now) if outcome.action else ""
    sentences = [*run_sentences(outcome, plan, "u", until), *map(one_line, outcome.notes[:_MAX_NOTES])]
    if outcome.cancelled:
        sentences.append("Cancelled before the end.")
    if len(outcome.notes) > _MAX_NOTES:
        sentences.append(f"{len(outcome.notes) - _MAX_NOTES:,} more were not changed.")
    return " ".join(sentences)
