"""What the hygiene screen shows: facts, rules and things of one moment, and how the plan gets onto it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from zeroclaw_tui.curation.hygiene.plan import HygieneItem, HygienePlan, plan_hygiene
from zeroclaw_tui.curation.hygiene.words import without_of
from zeroclaw_tui.memory.errors import InspectorError
from zeroclaw_tui.tui.loader import Pace
from zeroclaw_tui.tui.screens.hygiene_words import (
    day_content,
    empty_words,
    item_words,
    remarks_content,
    remarks_of,
    title_content,
)
from zeroclaw_tui.tui.screens.working import WorkingScreen
from zeroclaw_tui.tui.widgets.empty import Empty
from zeroclaw_tui.tui.widgets.hygiene_lists import ItemList, RuleList
from zeroclaw_tui.tui.widgets.key_line import KeyLine
from zeroclaw_tui.tui.widgets.status_bar import Banner

if TYPE_CHECKING:
    from zeroclaw_tui.curation.library import Library

_LEAST_RULES = 6
_RULES_SHARE = 42
"""Percent of the screen's height that the rules may take."""


class HygieneListing(WorkingScreen):
    """Rules and things; `days` from now is the moment looked at, `left_out` are ids of what a run leaves."""

    AUTO_FOCUS = "#items"

    def __init__(self, library: Library, clock: Callable[[], datetime], pace: Pace) -> None:
        super().__init__(library, clock, pace)
        self.plan: HygienePlan | None = None
        self.days = 0
        self.left_out: set[str] = set()
        self._question = 0
        self._rule: str | None = None

    def compose(self) -> ComposeResult:
        """Facts, rules, things, the one under the cursor, the day, keys."""
        yield Static("", id="title", markup=False)
        yield Banner(id="failure")
        yield Static("", id="remarks", markup=False)
        yield RuleList(id="rules")
        with Vertical(id="things"):
            yield ItemList(id="items")
            yield Empty(id="empty")
            yield Static("", id="about", markup=False)
        yield Static("", id="day", markup=False)
        yield KeyLine(show_command_palette=False)

    def on_mount(self) -> None:
        """Look."""
        self.reload()

    def panes(self) -> Sequence[tuple[str, Widget]]:
        """Both lists move alike."""
        return (("In the lists", self.query_one(ItemList)),)

    def on_resize(self) -> None:
        """As many facts on a line, and as many rules, as fit."""
        self.paint()

    def reload(self) -> None:
        """Look again; an answer to what was asked before is dropped."""
        self._question += 1
        self.run_worker(self._look(self._question), group="hygiene-look", exclusive=True)

    @property
    def as_of(self) -> datetime:
        """The moment looked at: this time of day so many days from now, on this machine's clock."""
        now = self.clock().astimezone()
        if not self.days:
            return now
        return (now.replace(tzinfo=None) + timedelta(days=self.days)).astimezone()

    @property
    def shown(self) -> tuple[HygieneItem, ...]:
        """What the list shows: everything, or what the rule under the cursor takes."""
        if self.plan is None:
            return ()
        rule = self.query_one(RuleList).selected
        return self.plan.items if rule is None else self.plan.of(rule.name)

    def on_row_list_cursor_moved(self, event: RuleList.CursorMoved) -> None:
        """Other things for another rule; all about another thing."""
        rule = self.query_one(RuleList).selected
        if (rule.name if rule else None) != self._rule:
            self.paint_items()
        else:
            self._paint_about()

    def paint(self) -> None:
        """Everything, as it is now."""
        plan = self.plan
        words = title_content(plan, self.clock().astimezone(), self.size.width - 2)
        title = self.query_one("#title", Static)
        title.styles.height = words.plain.count("\n") + 1
        title.update(words)
        if plan is None:
            return
        remarks = self.query_one("#remarks", Static)
        remarks.display = bool(remarks_of(plan))
        remarks.update(remarks_content(remarks_of(plan), self.size.width - 2))
        rules = self.query_one(RuleList)
        rules.styles.height = min(len(plan.rules.rules) + 2, max(_LEAST_RULES, self.size.height * _RULES_SHARE // 100))
        self.paint_items()

    def paint_items(self) -> None:
        """The things of the rule under the cursor, and what is said about them."""
        plan = self.plan
        if plan is None:
            return
        rules, shown = self.query_one(RuleList), self.shown
        rule = rules.selected
        self._rule = rule.name if rule else None
        rules.show(plan, self.left_out)
        self.query_one(ItemList).show(shown, self.left_out)
        self.set_class(not shown, "-empty")
        self.query_one(Empty).show(*empty_words(plan, rule, self.days))
        going = without_of(plan.items, self.left_out)
        left = len(plan.items) - len(going)
        self.query_one("#day", Static).update(day_content(plan.as_of, self.days, going, left))
        self._paint_about()

    def _paint_about(self) -> None:
        item = self.query_one(ItemList).selected
        stays = item is not None and item.id in self.left_out
        self.query_one("#about", Static).update(Content(item_words(item, stays=stays)))

    async def _look(self, question: int) -> None:
        try:
            with self.saying(self._say_looking):
                plan = await plan_hygiene(self.library, self.as_of)
        except InspectorError as error:
            self.query_one("#failure", Banner).show("error", str(error), "r", "tries again", "reload")
            return
        if question == self._question:
            self.query_one("#failure", Banner).hide()
            self.plan = plan
            self.paint()

    def _say_looking(self) -> None:
        self.query_one("#title", Static).update(title_content(None, self.clock(), self.size.width))
