"""Hygiene: what ZeroClaw would take and when; run it, leave items out, take it back."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual.binding import BindingType

from zeroclaw_tui.curation import changes
from zeroclaw_tui.curation.changes import Outcome
from zeroclaw_tui.curation.hygiene import rules as hygiene_rules
from zeroclaw_tui.curation.hygiene.plan import plan_hygiene
from zeroclaw_tui.curation.hygiene.run import run_hygiene
from zeroclaw_tui.curation.hygiene.words import without_of
from zeroclaw_tui.curation.trash.words import undone_words
from zeroclaw_tui.memory.change import Advance, Clash, Clashes
from zeroclaw_tui.memory.errors import InspectorError
from zeroclaw_tui.memory.text import one_line
from zeroclaw_tui.tui.commands import bindings
from zeroclaw_tui.tui.screens.confirm import QuestionScreen
from zeroclaw_tui.tui.screens.help import NoticesScreen
from zeroclaw_tui.tui.screens.hygiene_keys import HYGIENE_COMMANDS
from zeroclaw_tui.tui.screens.hygiene_listing import HygieneListing
from zeroclaw_tui.tui.screens.hygiene_rules import RuleReviewScreen, RuleSettingsScreen
from zeroclaw_tui.tui.screens.hygiene_words import (
    next_run_words,
    question_content,
    ran_words,
    remarks_of,
)
from zeroclaw_tui.tui.screens.progress import with_progress
from zeroclaw_tui.tui.screens.saving import repairing
from zeroclaw_tui.tui.screens.trash_dialogs import ClashScreen
from zeroclaw_tui.tui.widgets.hygiene_lists import ItemList, RuleList

if TYPE_CHECKING:
    from zeroclaw_tui.config.memory_config import MemoryConfig

_WRITE = "hygiene-write"


class HygieneScreen(HygieneListing):
    """What ZeroClaw would take and when; run it, leave items out, take it back. Gives True when the store changed."""

    CSS_PATH = "hygiene.tcss"
    BINDINGS: ClassVar[list[BindingType]] = bindings(HYGIENE_COMMANDS)
    COMMANDS_HERE = HYGIENE_COMMANDS

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
        last = await changes.last_change(self.library)
        if last is None or last.verb != "hygiene":
            what = f"The last change here is another: {one_line(last.summary[:200])}. " if last else ""
            self.warn(f"{what}There is no run of hygiene to take back.")
            return

        async def take_back(clash: Clash, advance: Advance) -> Outcome:
            return await changes.undo(self.library, expected=last.number, clash=clash, advance=advance)

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
        config = await asyncio.to_thread(hygiene_rules.with_rules_of_file, library.config)
        settings = hygiene_rules.settings_of(config, library.profile.profile.version)
        wanted: dict[str, hygiene_rules.Value] = {}
        while True:
            typed = await self.app.push_screen_wait(RuleSettingsScreen(settings, wanted))
            if not typed:
                return
            wanted = dict(typed)
            change = await asyncio.to_thread(hygiene_rules.plan_rule_change, config, wanted)
            answer = await self.app.push_screen_wait(RuleReviewScreen(change, await self._effect(config, wanted)))
            if answer == "leave":
                return
            if answer == "save":
                break
        await asyncio.to_thread(hygiene_rules.save_rule_change, config, change, self.clock())
        library.config = await asyncio.to_thread(hygiene_rules.with_rules_of_file, library.config)
        self.tell("The rules are changed; the config.toml of before is kept as a backup.")
        self.reload()

    async def _effect(self, config: MemoryConfig, wanted: dict[str, hygiene_rules.Value]) -> str:
        """What the next run takes by the rules wanted."""
        now = self.clock().astimezone()
        try:
            before = await plan_hygiene(replace(self.library, config=config), now)
            changed = replace(self.library, config=hygiene_rules.with_rules(config, wanted))
            return next_run_words(before, await plan_hygiene(changed, now))
        except InspectorError as error:
            return f"What the next run takes could not be looked at: {error.message}"
