"""Hygiene: preview what ZeroClaw archives and deletes, exclude items, and run it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import ClassVar

from textual.app import ComposeResult
from textual.content import Content
from textual.widget import Widget

from zeroclaw_tui.config.real_binary import runnable
from zeroclaw_tui.curation.hygiene import (
    HygieneItem,
    HygienePlan,
    plan_hygiene,
    run_hygiene,
    run_sentences,
)
from zeroclaw_tui.curation.hygiene_rules import HygieneRule, is_file_rule
from zeroclaw_tui.curation.hygiene_state import INTERVAL_HOURS
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.outcome import Outcome
from zeroclaw_tui.memory.days import absolute_time
from zeroclaw_tui.memory.errors import InspectorError
from zeroclaw_tui.memory.text import counted, one_line, size_shown
from zeroclaw_tui.tui.actions import until_words
from zeroclaw_tui.tui.commands import Command, changing, saying, warn
from zeroclaw_tui.tui.dialogs import yes_or_no
from zeroclaw_tui.tui.format import NO_VALUE, shown_line
from zeroclaw_tui.tui.rooms.upkeep import UpkeepPane, UpkeepRoom
from zeroclaw_tui.tui.themes import ACCENT, MUTED, STRONG, WARNING
from zeroclaw_tui.tui.widgets.detail import AboutPane
from zeroclaw_tui.tui.widgets.lines import StatusBar, TitleLine
from zeroclaw_tui.tui.widgets.rows import EMPTY_KEY
from zeroclaw_tui.tui.widgets.table_list import Column, TableList

_EVERYTHING = "Everything"
_DATE_CELLS = 10
_MAX_NAMES = 8
_NAMES_MIN_WIDTH = 96
"""From this width there is space for names next to the rules, and for the effect of an item."""
_MAX_NOTES = 3


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of the list of rules: a rule and its items, all items (None), or in `folded` the rules without items."""

    rule: HygieneRule | None
    items: Sequence[HygieneItem]
    folded: str | None = None


class Hygiene(UpkeepPane):
    """The plan as of `days` from now. Excluded items stay excluded when the day changes."""

    KEYS: ClassVar[Sequence[Command]] = (
        Command("run", "enter", "run now", "Run hygiene now; on a rule: open its list", True, writes=True,
                shell="hygiene"),
        Command("leave_out", "space", "exclude", "Exclude or include this item", True),
        Command("next_day", "right", "next day", "Preview the next day", True),
        Command("previous_day", "left", "previous day", "Preview the previous day"),
        Command("next_week", "greater_than_sign", "next week", "Preview a week later"),
        Command("previous_week", "less_than_sign", "previous week", "A week earlier"),
        Command("today", "0", "today", "Preview today"),
        Command("leave_none", "backslash", "include all", "Include all items"),
        Command("other_list", "tab,shift+tab", "rules", "Switch between items and rules"),
        Command("undo_run", "", "undo run", "Undo the last run of hygiene", writes=True),
    )  # fmt: skip

    def __init__(self, room: UpkeepRoom, *, id: str) -> None:
        super().__init__(room, id=id)
        self.plan: HygienePlan | None = None
        self.days = 0
        self.rules = TableList(
            _rule_columns(), key=lambda line: line.rule and line.rule.name, divider=lambda line: line.folded, id="rules"
        )
        self.items = TableList(_ITEM_COLUMNS, mark=lambda item: item.id, leaves_marked_out=True, id="items")
        """The items of the rule under the cursor."""

    def compose_lists(self) -> ComposeResult:
        yield self.rules
        yield TitleLine(id="day")
        yield self.items

    @property
    def home(self) -> Widget:
        """The list that has the focus first."""
        return self.items

    @property
    def as_of(self) -> datetime:
        """The time of the plan: this time of day on the chosen day, in this machine's zone."""
        now = self.room.clock().astimezone()
        if not self.days:
            return now
        return (now.replace(tzinfo=None) + timedelta(days=self.days)).astimezone()

    def reload(self) -> None:
        """Plan again."""
        self.run_worker(self._load(), group="hygiene-load", exclusive=True)

    def step_out(self) -> bool:
        """Move the focus from the rules to the items."""
        if not self.rules.has_focus:
            return False
        self.rules.cursor = 0
        self.items.focus()
        return True

    def on_resize(self) -> None:
        super().on_resize()
        self._fit_rules()

    def on_table_list_row_highlighted(self, event: TableList.RowHighlighted) -> None:
        event.stop()
        if event.table is self.rules:
            self._paint_items()
        self._paint_about()

    def on_descendant_focus(self) -> None:
        self._paint_about()

    def action_run(self) -> None:
        if self.rules.has_focus and self.rules.cursor:
            self.items.focus()
        else:
            self.begin(self._run)

    def action_other_list(self) -> None:
        (self.items if self.rules.has_focus else self.rules).focus()

    def action_leave_out(self) -> None:
        """Exclude the item, or all items of a rule; or include them again."""
        if not self.rules.has_focus:
            self.items.toggle_mark()
            return
        ids = {item.id for item in self.items.rows}
        if ids <= self.items.marks:
            self.items.set_marks(self.items.marks - ids)
        else:
            self.items.mark_all()

    def action_leave_none(self) -> None:
        self.items.set_marks(())

    def on_table_list_marks_changed(self) -> None:
        self._paint()

    def action_next_day(self) -> None:
        self._shift(1)

    def action_previous_day(self) -> None:
        self._shift(-1)

    def action_next_week(self) -> None:
        self._shift(7)

    def action_previous_week(self) -> None:
        self._shift(-7)

    def _shift(self, days: int) -> None:
        """Preview another day."""
        wanted = self.days + days
        try:
            self.room.clock() + timedelta(days=wanted)
        except OverflowError:
            return
        self.days = wanted
        self.reload()

    def action_today(self) -> None:
        self.days = 0
        self.reload()

    async def _load(self) -> None:
        try:
            with saying(self, self.room.pace.patience, partial(self.say_title, "Planning …")):
                plan = await plan_hygiene(self.library, self.as_of)
        except InspectorError as error:
            self.failure.fail(error)
            return
        self.failure.hide()
        self.plan = plan
        self._paint()

    def _paint(self) -> None:
        plan = self.plan
        if plan is None:
            return
        now = self.room.clock().astimezone()
        self.say_title(f"Hygiene is {' · '.join(plan.status(now))}", f" · rules of {plan.rules.version}")
        self.query_one(StatusBar).say(plan.state.problem, *plan.problems)
        included = plan.without(self.items.marks)
        self.rules.set_rows(_lines(plan, included))
        self._fit_rules()
        self._paint_items()
        self.query_one("#day", TitleLine).update(_day_content(included, self.days, len(plan.items)))
        self._paint_about()

    def _paint_items(self) -> None:
        plan, line = self.plan, self.rules.selected
        if plan is None:
            return
        rule = line.rule if line is not None else None
        self.items.say_empty(_empty_words(plan, rule, self.days))
        self.items.set_rows(plan.items if rule is None else plan.items_of(rule.name))

    def _paint_about(self) -> None:
        plan, item, line = self.plan, self.items.selected, self.rules.selected
        if plan is None:
            return
        if self.rules.has_focus or item is None:
            self.query_one(AboutPane).show(
                _plan_about(plan) if line is None or line.rule is None else _rule_about(line.rule)
            )
        else:
            self.query_one(AboutPane).show(_item_about(item, stays=item.id in self.items.marks))

    def _fit_rules(self) -> None:
        self.rules.styles.height = 1 + max(1, min(len(self.rules.rows), self.most_above))

    async def _run(self, library: Library) -> None:
        plan = self.plan
        if plan is None:
            return
        if self.days > 0:
            warn(self, f"This is a preview of {plan.as_of:%Y-%m-%d}. Press 0 to run what is due now.")
            return
        excluded = frozenset(self.items.marks)
        chosen = plan.without(excluded)
        if not chosen.items:
            warn(
                self,
                "Everything is excluded. Press \\ to include all." if plan.items else "Nothing to archive or delete.",
            )
            return
        body = _question_body(chosen, self.days, len(plan.items) - len(chosen.items))
        question = yes_or_no("Run hygiene now?", body, "Cancel", "Run")
        if not await self.app.push_screen_wait(question):
            return
        run = partial(run_hygiene, library, plan, exclude=excluded)
        words = partial(_done_text, plan=chosen, now=self.room.clock().astimezone())
        await self.carry_out(library, "Running hygiene", len(chosen.items), run, words)

    @changing
    async def action_undo_run(self, library: Library) -> None:
        await library.trash.recover(library.memory)
        runs = [action for action in await library.trash.actions() if action.verb == "hygiene" and action.open]
        if not runs:
            warn(self, "No hygiene run to undo.")
            return
        await self.room.changes.undo(library, runs[0].number)


def _lines(plan: HygienePlan, included: HygienePlan) -> list[_Line]:
    """All items, the rules that have items, and the other rules in one line."""
    lines = [_Line(None, included.items)]
    idle: list[HygieneRule] = []
    for rule in plan.rules.rules:
        if plan.items_of(rule.name):
            lines.append(_Line(rule, included.items_of(rule.name)))
        else:
            idle.append(rule)
    if idle:
        others = f"{counted(len(idle), 'other rule' if len(lines) > 1 else 'rule')} with nothing to do"
        lines.append(_Line(None, (), f"– {others}: {'; '.join(one_line(rule.sentence) for rule in idle)}"))
    return lines


def _rule_columns() -> Sequence[Column[_Line]]:
    def sentence(line: _Line) -> str:
        return _EVERYTHING if line.rule is None else line.rule.sentence

    def count(line: _Line) -> Content:
        if not line.items:
            return Content.styled(NO_VALUE, "faint")
        thing = "item" if line.rule is None else line.rule.item_noun
        return Content.styled(counted(len(line.items), thing), "text" if line.rule is None else "final")

    def size(line: _Line) -> str:
        return size_shown(sum(item.size for item in line.items)) if line.items else ""

    def names(line: _Line) -> str:
        return "" if line.rule is None else "  ".join(map(_last_part, line.items[:_MAX_NAMES]))

    return (
        Column("rule", sentence, flex=True),
        Column("due", count, right=True),
        Column("size", size, width=6, right=True, look="muted"),
        Column("", names, width=40, hidden_below=_NAMES_MIN_WIDTH, look="muted"),
    )


_SIGNS: Mapping[str, Content] = {
    "archive": Content.styled("→", "vector"),
    "delete": Content.styled("✗", "bad"),
    "trash": Content.styled("↓", "keyword"),
}


def _rule_label(item: HygieneItem) -> str:
    """The rule of an item in a word or two."""
    if not is_file_rule(item.rule):
        return item.rule.removesuffix(" rows")
    return "delete" if item.target is None else "archive"


_ITEM_COLUMNS: Sequence[Column[HygieneItem]] = (
    Column("", lambda item: _SIGNS[item.effect], width=1),
    Column("date", lambda item: absolute_time(item.date)[:_DATE_CELLS], width=_DATE_CELLS, look="muted"),
    Column("rule", _rule_label, look="muted", hidden_below=60),
    Column("name", lambda item: item.name or EMPTY_KEY, flex=True),
    Column("size", lambda item: size_shown(item.size), width=6, right=True, look="muted"),
    Column(
        "effect",
        lambda item: item.excerpt or item.effect_text(),
        flex=True,
        hidden_below=_NAMES_MIN_WIDTH,
        look="muted",
    ),
)


def _last_part(item: HygieneItem) -> str:
    """A name next to the rule, which says what folder it is in."""
    name = shown_line(item.name)
    return (name.rpartition("/")[2] if is_file_rule(item.rule) else name) or EMPTY_KEY


def _day_content(plan: HygienePlan, days: int, count: int) -> Content:
    """The time of the plan, how much is due then, and how many of the `count` items are excluded."""
    name = "now" if days == 0 else f"{plan.as_of:%Y-%m-%d %H:%M}"
    items = plan.items
    facts = [f"{counted(len(items), 'item')} due" if items else "nothing due"]
    if items and days <= 0:
        # On a future day the date needs the space; the list of rules has the size too.
        facts.append(size_shown(sum(item.size for item in items)))
    if len(items) < count:
        facts.append(f"{count - len(items):,} excluded")
    preview = "   preview" if days > 0 else ""
    return Content.assemble(
        ("as of ", MUTED), ("◂ ", ACCENT), (name, STRONG), (" ▸", ACCENT), (preview, WARNING),
        (f"{' · ' if preview else '   '}{' · '.join(facts)}", MUTED),
    )  # fmt: skip


def _plan_about(plan: HygienePlan) -> Content:
    """Every rule in full, and what the last run did."""
    parts: list[str | tuple[str, str]] = []
    if plan.state.last_run is not None:
        parts += [("last report  ", MUTED), f"{plan.state.report_text()}\n\n"]
    for rule in plan.rules.rules:
        parts += [(f"{one_line(rule.sentence)}\n", "" if rule.is_on else MUTED)]
    return Content.assemble(*parts)


def _rule_about(rule: HygieneRule) -> Content:
    keys = ", ".join(rule.keys)
    return Content.assemble(
        (one_line(rule.sentence), STRONG), (f"\n{keys}" if keys else "", MUTED), "\n\n", ("⏎", ACCENT),
        (" shows its list", MUTED), ("   space", ACCENT), (" excludes all of it", MUTED),
        (runnable("\nChange the rule with `zeroclaw onboard --interactive`."), MUTED),
    )  # fmt: skip


def _item_about(item: HygieneItem, *, stays: bool) -> Content:
    """Details of an item: its name, its date, what a run does with it, and the start of its content."""
    fate = "excluded" if stays else item.effect_text()
    facts = [absolute_time(item.date), size_shown(item.size), shown_line(fate)]
    begins = f"\n\n{shown_line(item.excerpt)}" if item.excerpt else ""
    return Content.assemble((shown_line(item.name) or EMPTY_KEY, STRONG), ("\n" + " · ".join(facts), MUTED), begins)


def _empty_words(plan: HygienePlan, rule: HygieneRule | None, days: int) -> str:
    """Why the list is empty, and what would fill it."""
    when = "now" if days == 0 else "then"
    if rule is not None:
        return f"This rule archives or deletes nothing {when}."
    if not plan.rules.is_enabled:
        return "Hygiene is off: ZeroClaw archives and deletes nothing by itself. " + runnable(
            "Switch it on with `zeroclaw onboard --interactive`."
        )
    return (
        f"Nothing to archive or delete {when}. Items that exceed the rules above appear here. Press → for the next day."
    )


def _question_body(plan: HygienePlan, days: int, excluded: int) -> Content:
    """Exactly what a run does, and what restores it."""
    lines = [*plan.sentences()]
    if excluded:
        lines.append(f"{excluded:,} excluded")
    day = f"\nAs of {plan.as_of:%Y-%m-%d %H:%M}." if days else ""
    after = (
        "Deleted memories and files go to the trash. Press u to undo. ZeroClaw then waits "
        f"{INTERVAL_HOURS} hours before its next run."
    )
    size = size_shown(sum(item.size for item in plan.items))
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
