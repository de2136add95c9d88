"""The snapshot: write it, compare it with the store, pick what to hydrate."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from textual.binding import BindingType
from textual.content import Content

from zeroclaw_tui.curation import changes
from zeroclaw_tui.curation.changes import Outcome
from zeroclaw_tui.curation.snapshot import hydrate as hydrating
from zeroclaw_tui.curation.snapshot import snapshot as snapshots
from zeroclaw_tui.curation.snapshot.hydrate import HydratePlan, OnConflict, Resolution
from zeroclaw_tui.curation.trash.words import undone_words
from zeroclaw_tui.memory.change import Advance, Clash, Clashes
from zeroclaw_tui.memory.errors import Refused
from zeroclaw_tui.memory.text import one_line
from zeroclaw_tui.tui.commands import bindings
from zeroclaw_tui.tui.external import copy_text
from zeroclaw_tui.tui.screens.asking import AnswersScreen, PathScreen
from zeroclaw_tui.tui.screens.choice import Choice, ChoiceScreen
from zeroclaw_tui.tui.screens.confirm import Answer, QuestionScreen
from zeroclaw_tui.tui.screens.history import StepPane
from zeroclaw_tui.tui.screens.progress import with_progress
from zeroclaw_tui.tui.screens.snapshot_keys import SNAPSHOT_COMMANDS
from zeroclaw_tui.tui.screens.snapshot_listing import SnapshotListing, can_bring
from zeroclaw_tui.tui.screens.snapshot_words import (
    ONE_CONFLICT_ANSWERS,
    came_in_words,
    foreign_words,
    hydrate_answers,
    hydrate_body,
    hydrate_title,
    nothing_to_bring,
    one_conflict_body,
    one_conflict_title,
    write_body,
    written_words,
)
from zeroclaw_tui.tui.screens.trash_dialogs import ClashScreen
from zeroclaw_tui.tui.widgets.difference_list import DifferenceList
from zeroclaw_tui.tui.words import memories_words

_WRITE = "snapshot-write"
_LONGEST_AGENT = 60
_ON_ROWS = frozenset({"hydrate", "pick", "pick_all", "pick_none", "copy_content"})


class SnapshotScreen(SnapshotListing):
    """The snapshot: write it, compare it with the store, pick what to hydrate. Gives True when the store changed."""

    COMMANDS_HERE = SNAPSHOT_COMMANDS
    BINDINGS: ClassVar[list[BindingType]] = bindings(SNAPSHOT_COMMANDS)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """What is done to rows needs some."""
        if self.has_class("-empty") and (action in _ON_ROWS or (self.has_class("-none") and action == "show_part")):
            return False
        return super().check_action(action, parameters)

    def action_show_part(self, step: int) -> None:
        """The next kind of difference, or the one before."""
        self.step_part(step)

    def action_pick(self) -> None:
        """Pick the row, or no longer, and go on to the next."""
        listed = self.query_one(DifferenceList)
        difference = listed.selected
        if difference is None:
            return
        if not can_bring(difference):
            self.warn(nothing_to_bring(difference))
            return
        self.picked ^= {difference.key}
        self._paint_picked()
        listed.cursor += 1

    def action_pick_all(self) -> None:
        """Pick all that are shown and can be brought in."""
        self.picked |= {one.key for one in self.query_one(DifferenceList).rows if can_bring(one)}
        self._paint_picked()

    def action_pick_none(self) -> None:
        """Pick none."""
        self.picked.clear()
        self._paint_picked()

    def action_reload(self) -> None:
        """Read both again."""
        self.reload()

    def action_open_file(self) -> None:
        """Compare with another file."""
        screen = PathScreen("Compare with which file?", "A MEMORY_SNAPSHOT.md, or a JSONL export of this program.")
        self.app.push_screen(screen, self._open)

    def action_write(self) -> None:
        """Write the snapshot."""
        self.begin(self._write(), _WRITE)

    def action_hydrate(self) -> None:
        """Bring the picked ones, else the row, into the store."""
        difference = self.query_one(DifferenceList).selected
        if self.compared is None or (difference is None and not self.picked):
            self.warn("There is nothing to bring in here.")
        elif self.picked:
            self.begin(self._hydrate(self.compared.path, sorted(self.picked)), _WRITE)
        elif difference is not None and can_bring(difference):
            self.begin(self._hydrate(self.compared.path, [difference.key]), _WRITE)
        elif difference is not None:
            self.warn(nothing_to_bring(difference))

    def action_undo(self) -> None:
        """Take back the last change."""
        self.begin(self._undo(), _WRITE)

    async def action_copy_content(self) -> None:
        """Copy the whole content."""
        difference = self.query_one(DifferenceList).selected
        entry = (difference.there or difference.here) if difference is not None else None
        if entry is not None:
            self.tell(await copy_text(self.app, entry.content))

    def action_step_out(self) -> None:
        """From the difference to the list, from there back."""
        if self.query_one(StepPane).has_focus:
            self.query_one(DifferenceList).focus()
        else:
            self.action_leave()

    def _open(self, path: Path | None) -> None:
        if path is not None:
            self.open_path(path)

    def _paint_picked(self) -> None:
        self.query_one(DifferenceList).pick(self.picked)
        self.paint_status()

    async def _write(self) -> None:
        plan = await snapshots.plan_snapshot(self.library)
        if plan.entries:
            title = f"Write {memories_words(plan.entries)} to {one_line(plan.file.name)}?"
            question = QuestionScreen(title, write_body(plan), "Write nothing", "Write it")
            if not await self.app.push_screen_wait(question):
                return
        is_foreign = bool(plan.foreign)
        if is_foreign and not await self._replaces_foreign(foreign_words(plan)):
            return
        outcome = await snapshots.write_snapshot(self.library, replaces_foreign=is_foreign)
        self.tell(written_words(outcome))
        self.reload()

    async def _replaces_foreign(self, sentence: str) -> bool:
        screen = AnswersScreen(
            "Replace what another program wrote?",
            Content(sentence),
            "Leave it as it is",
            [(Answer("R", "Replace it"), True)],
        )
        return await self.app.push_screen_wait(screen) is True

    async def _hydrate(self, path: Path, keys: Sequence[str]) -> None:
        plan = await self._planned(path, keys)
        if plan is None:
            return
        count = len(plan.new) + len(plan.conflicts)
        if not count:
            self.tell("The store has the same by now: there is nothing to bring in.")
            self.reload()
            return
        screen = AnswersScreen(hydrate_title(plan), hydrate_body(plan), "Bring in nothing", hydrate_answers(plan))
        policy = await self.app.push_screen_wait(screen)
        resolution = await self._decided(plan) if policy == "each" else policy
        if resolution is None:
            return

        async def bring(advance: Advance) -> Outcome:
            return await hydrating.hydrate(self.library, plan, resolution, advance)

        sentence = f"Bringing in {memories_words(count)}"
        try:
            outcome = await with_progress(self.app, sentence, count, self.pace.patience, bring)
        finally:
            # Part of it may be done whatever ended it.
            self.has_changed = True
            self.reload()
        self.picked.clear()
        self.tell(came_in_words(outcome))

    async def _decided(self, plan: HydratePlan) -> Resolution | None:
        """What happens to each conflict, as a person says; None when they left it."""
        decided: dict[str, OnConflict] = {}
        for number, (there, here) in enumerate(zip(plan.conflicts, plan.here, strict=True), 1):
            title = one_conflict_title(number, len(plan.conflicts), there)
            body = one_conflict_body(there, here)
            answer = await self.app.push_screen_wait(
                AnswersScreen(title, body, "Bring in nothing", ONE_CONFLICT_ANSWERS)
            )
            if answer is None:
                return None
            decided[there.id] = answer
        return decided

    async def _planned(self, path: Path, keys: Sequence[str]) -> HydratePlan | None:
        """What hydrating would do; where nobody can tell whose they shall be, a person says. None when they left it."""
        try:
            return await hydrating.plan_hydrate(self.library, path, keys)
        except Refused:
            agents = await self._agents()
            if len(agents) < 2:
                raise
        choices = [Choice(agent, one_line(agent[:_LONGEST_AGENT])) for agent in agents]
        agent = await self.app.push_screen_wait(ChoiceScreen("Whose memories shall they be?", choices))
        return None if agent is None else await hydrating.plan_hydrate(self.library, path, keys, agent=agent)

    async def _agents(self) -> list[str]:
        if not self.library.memory.capabilities.agents:
            return []
        return sorted((await self.library.memory.health()).facts.get("agents") or ())

    async def _undo(self) -> None:
        await self.library.trash.settle(self.library.memory)
        last = await changes.last_change(self.library)
        if last is None:
            self.tell("There is nothing to take back: no change was made here.")
            return

        async def take_back(clash: Clash) -> Outcome:
            async def undo(advance: Advance) -> Outcome:
                return await changes.undo(self.library, expected=last.number, clash=clash, advance=advance)

            sentence = f"Taking back {memories_words(last.open)}"
            return await with_progress(self.app, sentence, last.open, self.pace.patience, undo)

        try:
            outcome = await take_back("refuse")
        except Clashes as clashes:
            answer = await self.app.push_screen_wait(ClashScreen(clashes))
            if answer is None:
                return
            outcome = await take_back(answer)
        self.has_changed = True
        self.tell(undone_words(outcome))
        self.reload()
