"""Hygiene: what ZeroClaw would take and when; run it, leave items out, take it back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from zeroclaw_tui.curation import changing
from zeroclaw_tui.curation.changing import Outcome
from zeroclaw_tui.curation.hygiene import rule_change
from zeroclaw_tui.curation.hygiene.plan import HygieneItem, HygienePlan, plan_hygiene
from zeroclaw_tui.curation.hygiene.run import run_hygiene
from zeroclaw_tui.curation.hygiene.words import without_of
from zeroclaw_tui.memory.change import Advance, Clash, Clashes
from zeroclaw_tui.memory.errors import InspectorError
from zeroclaw_tui.memory.text import one_line
from zeroclaw_tui.tui.commands import bindings
from zeroclaw_tui.tui.loader import Pace
from zeroclaw_tui.tui.screens.confirm import QuestionScreen
from zeroclaw_tui.tui.screens.help import NoticesScreen
from zeroclaw_tui.tui.screens.hygiene_keys import HYGIENE_COMMANDS
from zeroclaw_tui.tui.screens.hygiene_rules import RuleReviewScreen, RuleSettingsScreen
from zeroclaw_tui.tui.screens.hygiene_words import (
    day_content,
    empty_words,
    item_words,
    next_run_words,
    question_content,
    ran_words,
    remarks_content,
    remarks_of,
    title_content,
)
from zeroclaw_tui.tui.screens.progress import with_progress
from zeroclaw_tui.tui.screens.saving import repairing
from zeroclaw_tui.tui.screens.trash_dialogs import ClashScreen
from zeroclaw_tui.tui.screens.trash_words import undone_words
from zeroclaw_tui.tui.screens.working import WorkingScreen
from zeroclaw_tui.tui.widgets.empty import Empty
from zeroclaw_tui.tui.widgets.hygiene_lists import ItemList, RuleList
from zeroclaw_tui.tui.widgets.key_line import KeyLine
from zeroclaw_tui.tui.widgets.status_bar import Banner

if TYPE_CHECKING:
    from zeroclaw_tui.config.memory_config import MemoryConfig
    from zeroclaw_tui.curation.library import Library

_WRITE = "hygiene-write"
_LEAST_RULES = 6
_RULES_SHARE = 42
"""Percent of the screen's height that the rules may take."""


class HygieneScreen(WorkingScreen):
    """What ZeroClaw would take and when; run it, leave items out, take it back. Gives True when the store changed."""

    CSS_PATH = "hygiene.tcss"
    AUTO_FOCUS = "#items"
    BINDINGS: ClassVar[list[BindingType]] = bindings(HYGIENE_COMMANDS)
    COMMANDS_HERE = HYGIENE_COMMANDS

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

    async def action_reload(self) -> None:
        """Look again."""
        self.reload()

    def action_shift(self, days: int) -> None:
        """Look at another day."""
        wanted = self.days + days
        try:
            self.clock() + timedelta(days=wanted)
        except OverflowError:
            return
        self.days = wanted
        self.reload()

    def action_today(self) -> None:
        """Look at this moment."""
        self.days = 0
        self.reload()

    def action_other_pane(self) -> None:
        """From one list to the other."""
        rules, items = self.query_one(RuleList), self.query_one(ItemList)
        (items if rules.has_focus else rules).focus()

    def action_step_out(self) -> None:
        """From the rules to the things, from there back."""
        if self.query_one(RuleList).has_focus:
            self.query_one(RuleList).cursor = 0
            self.query_one(ItemList).focus()
        else:
            self.action_leave()

    def action_leave_out(self) -> None:
        """Leave the thing out, or all that a rule takes; or no longer."""
        if self.query_one(RuleList).has_focus:
            ids = {item.id for item in self.shown}
            self.left_out = self.left_out - ids if ids <= self.left_out else self.left_out | ids
            self.paint_items()
            return
        item = self.query_one(ItemList).selected
        if item is not None:
            self.left_out ^= {item.id}
            self.query_one(ItemList).cursor += 1
            self.paint_items()

    def action_leave_none(self) -> None:
        """Leave nothing out."""
        self.left_out.clear()
        self.paint_items()

    def action_show_notes(self) -> None:
        """What could not be looked at."""
        if self.plan is not None and remarks_of(self.plan):
            self.app.push_screen(NoticesScreen(remarks_of(self.plan)))
        else:
            self.tell("There is nothing to remark: everything could be looked at.")

    def action_run(self) -> None:
        """Do it, after a question."""
        self.begin(self._run(), _WRITE)

    def action_undo(self) -> None:
        """Take the last run back."""
        self.begin(self._undo(), _WRITE)

    def action_change_rules(self) -> None:
        """Change the rules in config.toml."""
        self.begin(self._change_rules(), _WRITE)

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
        slow = self.set_timer(self.pace.patience, self._say_looking)
        try:
            plan = await plan_hygiene(self.library, self.as_of)
        except InspectorError as error:
            self.query_one("#failure", Banner).show("error", str(error), "r", "tries again", "reload")
            return
        finally:
            slow.stop()
        if question == self._question:
            self.query_one("#failure", Banner).hide()
            self.plan = plan
            self.paint()

    def _say_looking(self) -> None:
        self.query_one("#title", Static).update(title_content(None, self.clock(), self.size.width))

    async def _run(self) -> None:
        plan = self.plan
        if plan is None:
            return
        if self.days > 0:
            self.warn(f"This is a preview of {plan.as_of:%Y-%m-%d}; only what is due now can be run (0 shows it).")
            return
        items = without_of(plan.items, self.left_out)
        if not items:
            self.warn("Everything is left out: \\ takes it in again." if plan.items else "Nothing has to go.")
            return
        left = len(plan.items) - len(items)
        body = question_content(plan, items, self.days, left)
        if not await self.app.push_screen_wait(QuestionScreen("Run hygiene now?", body, "Keep everything", "Run it")):
            return

        async def run(advance: Advance) -> Outcome:
            return await run_hygiene(self.library, plan, without=frozenset(self.left_out), advance=advance)

        show = partial(with_progress, self.app, "Running hygiene", len(items), self.pace.patience, run)
        try:
            outcome = await repairing(self.app, self.library, show)
        finally:
            # Also after a failure part of it may be done.
            self.has_changed = True
            self.reload()
        words = ran_words(outcome, items, self.clock().astimezone())
        (self.tell if outcome.count == len(items) else self.warn)(words)

    async def _undo(self) -> None:
        await self.library.trash.settle(self.library.memory)
        last = await self.library.trash.last()
        if last is None or last.verb != "hygiene":
            what = f"The last change here is another: {one_line(last.summary[:200])}. " if last else ""
            self.warn(f"{what}There is no run of hygiene to take back.")
            return

        async def take_back(clash: Clash, advance: Advance) -> Outcome:
            return await changing.undo(self.library, expected=last.number, clash=clash, advance=advance)

        show = partial(with_progress, self.app, "Taking it back", last.open, self.pace.patience)
        try:
            outcome = await repairing(self.app, self.library, partial(show, partial(take_back, "refuse")))
        except Clashes as clashes:
            clash = await self.app.push_screen_wait(ClashScreen(clashes))
            if clash is None:
                return
            outcome = await repairing(self.app, self.library, partial(show, partial(take_back, clash)))
        finally:
            self.has_changed = True
            self.reload()
        self.tell(undone_words(outcome))

    async def _change_rules(self) -> None:
        library = self.library
        config = await asyncio.to_thread(rule_change.with_rules_of_file, library.config)
        settings = rule_change.settings_of(config, library.profile.profile.version)
        wanted: dict[str, rule_change.Value] = {}
        while True:
            typed = await self.app.push_screen_wait(RuleSettingsScreen(settings, wanted))
            if not typed:
                return
            wanted = dict(typed)
            change = await asyncio.to_thread(rule_change.plan_rule_change, config, wanted)
            answer = await self.app.push_screen_wait(RuleReviewScreen(change, await self._effect(config, wanted)))
            if answer == "leave":
                return
            if answer == "save":
                break
        await asyncio.to_thread(rule_change.save_rule_change, config, change, self.clock())
        library.config = await asyncio.to_thread(rule_change.with_rules_of_file, library.config)
        self.tell("The rules are changed; the config.toml of before is kept as a backup.")
        self.reload()

    async def _effect(self, config: MemoryConfig, wanted: dict[str, rule_change.Value]) -> str:
        """What the next run takes by the rules wanted."""
        now = self.clock().astimezone()
        try:
            before = await plan_hygiene(replace(self.library, config=config), now)
            changed = replace(self.library, config=rule_change.with_rules(config, wanted))
            return next_run_words(before, await plan_hygiene(changed, now))
        except InspectorError as error:
            return f"What the next run takes could not be looked at: {error.message}"
