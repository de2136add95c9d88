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
from zeroclaw_tui.tui.actions import until_words
from zeroclaw_tui.tui.commands import Command, saying, warn
from zeroclaw_tui.tui.dialogs import yes_or_no
from zeroclaw_tui.tui.format import shown_line
from zeroclaw_tui.tui.rooms.upkeep import UpkeepRoom, UpkeepTab
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

    KEYS: ClassVar[Sequence[Command]] = (
        Command("run", "enter", "run now", "Run hygiene now", True, writes=True, shell="hygiene"),
        Command("mark", "space", "exclude", "Exclude or include this item", True),
        Command("mark_all", "asterisk", "exclude rule", "Exclude or include all items of this rule"),
        Command("mark_none", "backslash", "include all", "Include all items"),
        Command("next_day", "right", "next day", "Preview the next day", True),
        Command("previous_day", "left", "previous day", "Preview the previous day"),
        Command("today", "0", "today", "Preview today"),
    )  # fmt: skip

    def __init__(self, room: UpkeepRoom) -> None:
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

    def action_run(self) -> None:
        self.begin(self._run)

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
        status = plan.status(self.room.clock().astimezone())
        self.query_one("#title", TitleLine).say(
            f"Hygiene is {status[0]}", *status[1:], f"rules of {plan.rules.version}"
        )
        included = plan.without(self.items.marks)
        self.query_one("#day", TitleLine).update(_day_content(included, self.days, len(plan.items)))
        self.items.say_empty(_nothing_due(plan, self.days))
        self.items.set_rows([*_lines(plan, included)] if plan.items else ())
        self.show_row()
        self.show_status()

    def show_status(self) -> None:
        """What could not be read."""
        if self.plan is not None:
            self.query_one(StatusBar).say(self.plan.state.problem, *self.plan.problems)

    def show_row(self) -> None:
        """The item under the cursor, and all rules."""
        item = self.items.selected
        if self.plan is not None:
            chosen = item if isinstance(item, HygieneItem) else None
            is_excluded = chosen is not None and chosen.id in self.items.marks
            self.query_one(AboutPane).show(_about(self.plan, chosen, is_excluded=is_excluded))

    async def _run(self, library: Library) -> None:
        plan = self.plan
        if plan is None:
            return
        excluded = frozenset(self.items.marks)
        included = plan.without(excluded)
        if self.days > 0:
            warn(self, f"This is a preview of {plan.as_of:%Y-%m-%d}. Press 0 to run what is due now.")
        elif not plan.items:
            warn(self, "Nothing to archive or delete.")
        elif not included.items:
            warn(self, "Everything is excluded. Press \\ to include all.")
        elif await self.app.push_screen_wait(
            yes_or_no("Run hygiene now?", _plan_content(plan, included, self.days), "Cancel", "Run")
        ):
            run = partial(run_hygiene, library, plan, exclude=excluded)
            report = partial(_done_text, plan=included, now=self.room.clock().astimezone())
            await self.carry_out(library, "Running hygiene", len(included.items), run, report)


def _id_of(line: Line) -> str | None:
    return line.id if isinstance(line, HygieneItem) else None


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


def _day_content(included: HygienePlan, days: int, count: int) -> Content:
    """The time of the plan, how much is due then, and how many of the `count` items are excluded."""
    name = "now" if days == 0 else f"{included.as_of:%Y-%m-%d %H:%M}"
    items = included.items
    facts = [f"{counted(len(items), 'item')} due" if items else "nothing due"]
    if items:
        facts.append(size_shown(sum(item.size for item in items)))
    if len(items) < count:
        facts.append(f"{count - len(items):,} excluded")
    return Content.assemble(
        ("as of ", MUTED), ("◂ ", ACCENT), (name, STRONG), (" ▸", ACCENT), ("   preview" if days > 0 else "", WARNING),
        (f"   {' · '.join(facts)}", MUTED),
    )  # fmt: skip


def _about(plan: HygienePlan, item: HygieneItem | None, *, is_excluded: bool) -> Content:
    """An item with its date, its effect and its beginning; then the last run, and every rule in full."""
    parts: list[str | tuple[str, str]] = []
    if item is not None:
        effect = "excluded" if is_excluded else item.effect_text()
        facts = " · ".join([absolute_time(item.date), size_shown(item.size), shown_line(effect)])
        parts += [(shown_line(item.name) or EMPTY_KEY, STRONG), (f"\n{facts}\n", MUTED)]
        parts.append(f"\n{shown_line(item.excerpt)}\n" if item.excerpt else "")
        parts.append("\n")
    if plan.state.last_run is not None:
        parts += [("last report  ", MUTED), f"{plan.state.report_text()}\n\n"]
    parts += [(f"{one_line(rule.sentence)}\n", "" if rule.is_on else MUTED) for rule in plan.rules.rules]
    parts.append((runnable("\nChange the rules with `zeroclaw onboard --interactive`."), MUTED))
    return Content.assemble(*parts)


def _nothing_due(plan: HygienePlan, days: int) -> str:
    """Why the list is empty, and what would fill it."""
    if not plan.rules.is_enabled:
        off = "Hygiene is off: ZeroClaw archives and deletes nothing by itself. "
        return off + runnable("Switch it on with `zeroclaw onboard --interactive`.")
    when = "now" if days == 0 else "then"
    return f"Nothing to archive or delete {when}. Items that exceed the rules appear here. Press → for the next day."


def _plan_content(plan: HygienePlan, included: HygienePlan, days: int) -> Content:
    """Exactly what a run does, and what restores it."""
    lines = [*included.sentences()]
    excluded = len(plan.items) - len(included.items)
    if excluded:
        lines.append(f"{excluded:,} excluded")
    size = size_shown(sum(item.size for item in included.items))
    after = (
        "Deleted memories and files go to the trash. Press u to undo. ZeroClaw then waits "
        f"{INTERVAL_HOURS} hours before its next run."
    )
    day = f"\nAs of {plan.as_of:%Y-%m-%d %H:%M}." if days else ""
    return Content.assemble("\n".join(lines), (f"\n{size} in all", MUTED), day, (f"\n\n{after}", MUTED))


def _done_text(outcome: Outcome, *, plan: HygienePlan, now: datetime) -> str:
    """What a run did; its notes say what it did not change and why."""
    until = until_words(outcome.action.until, now) if outcome.action else ""
    sentences = [*run_sentences(outcome, plan, "u", until)]
    if outcome.cancelled:
        sentences.append("Cancelled before the end.")
    sentences += map(one_line, outcome.notes[:_MAX_NOTES])
    if len(outcome.notes) > _MAX_NOTES:
        sentences.append(f"{len(outcome.notes) - _MAX_NOTES:,} more were not changed.")
    return " ".join(sentences)
