"""What the what-if screen shows: evidence gathered once a message, and the trial decided on it at every key."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import Container, Vertical
from textual.widget import Widget
from textual.widgets import Static

from zeroclaw_tui.curation.prompt import GatheredEvidence, gather_evidence, trial_of
from zeroclaw_tui.curation.recall import turn_limit
from zeroclaw_tui.memory.errors import InspectorError, SearchInterrupted
from zeroclaw_tui.memory.query import MemoryFilter
from zeroclaw_tui.memory.recall import RecallRequest, RecallResult
from zeroclaw_tui.scoring.injection import RECALL_LIMIT
from zeroclaw_tui.scoring.settings import Trial
from zeroclaw_tui.scoring.what_if import Comparison, compare
from zeroclaw_tui.tui.format import count_text
from zeroclaw_tui.tui.loader import GOES_BY, Pace
from zeroclaw_tui.tui.screens.message_screen import MessageScreen
from zeroclaw_tui.tui.screens.what_if_settings import SETTINGS, Setting, Tried
from zeroclaw_tui.tui.screens.what_if_words import (
    NOTHING_WRITTEN,
    Standing,
    about_content,
    complaint_content,
    complaint_sentences,
    headline_content,
    idle_because,
    setting_lines,
    why_nothing,
)
from zeroclaw_tui.tui.widgets.compared_rows import ComparedRows
from zeroclaw_tui.tui.widgets.empty import Empty
from zeroclaw_tui.tui.widgets.key_line import KeyLine
from zeroclaw_tui.tui.widgets.message_line import MessageLine
from zeroclaw_tui.tui.widgets.status_bar import Banner, StatusBar
from zeroclaw_tui.tui.widgets.trial_settings import TrialSettings

if TYPE_CHECKING:
    from zeroclaw_tui.curation.library import Library

MANY = 2_000
"""From so many memories on reading them may take long enough to say how many there are."""
_REPLAY, _POLL = "what-if-replay", "what-if-poll"


@dataclass(frozen=True, slots=True)
class Answer:
    """What the store holds for a message: the recall as it is, evidence for it and for the trial, and its sessions."""

    trial: Trial
    before: RecallResult
    gathered: tuple[GatheredEvidence, ...]
    sessions: tuple[str, ...]
    memories: int


class WhatIfListing(MessageScreen[Answer]):
    """The settings and the list that follows them. `tried` is what is tried now."""

    CSS_PATH = "what_if.tcss"
    AUTO_FOCUS = "#settings"
    VERTICAL_BREAKPOINTS = [(0, "-low"), (20, "-high")]  # noqa: RUF012

    def __init__(
        self,
        library: Library,
        request: RecallRequest,
        clock: Callable[[], datetime],
        pace: Pace,
        *,
        tried: Trial | None = None,
    ) -> None:
        # What the store would fuse for a person's eye reaches no agent: there is nothing to try on it.
        super().__init__(library, replace(request, own_fusion=False), clock, pace)
        before = trial_of(library, replace(self.request, as_of=clock().isoformat()))
        own_limit = turn_limit(library.config, before.profile, "library", request.agents)
        self.tried = Tried.nothing(before, {"library": own_limit} if own_limit != RECALL_LIMIT else {})
        if tried is not None:
            self.tried = Tried(before, tried, limits=self.tried.limits).over(before)
        self.typed: str | None = None
        self.answer: Answer | None = None
        self.comparison: Comparison | None = None
        self._version: int | None = None
        self._asks_more = False
        self._is_replaying = False
        self._is_polling = False
        self._is_away = False

    def compose(self) -> ComposeResult:
        """Message, headline, settings with what is wrong with them, list, keys."""
        yield self.message_line()
        yield Banner(id="failure")
        yield Static("", id="headline", markup=False)
        with Container(id="panes"):
            with Vertical(id="trial"):
                yield TrialSettings(id="settings")
                yield Static("", id="about", markup=False)
                yield Static("", id="complaints", markup=False)
            with Container(id="answer"):
                yield ComparedRows(id="list")
                yield Empty(id="empty")
        yield StatusBar(id="status")
        yield KeyLine(show_command_palette=False)

    def on_mount(self) -> None:
        """Begin at what does something here; look for what other programs write from then on."""
        self.paint()
        standing = self.standing
        shown = self.tried.changed or SETTINGS
        works = (
            at
            for at, one in enumerate(SETTINGS)
            if one in shown and idle_because(one.name, self.tried, standing) is None
        )
        self.query_one(TrialSettings).cursor = next(works, 0)
        if self.pace.poll is not None:
            self.set_interval(self.pace.poll, self._look_for_changes)

    def panes(self) -> Sequence[tuple[str, Widget]]:
        """Settings and list."""
        return (("In the settings", self.query_one(TrialSettings)), ("In the list", self.query_one(ComparedRows)))

    @property
    def answer_pane(self) -> Widget | None:
        """From the message to the settings: they work before there is an answer too."""
        return self.query_one(TrialSettings)

    @property
    def setting(self) -> Setting:
        """The setting that is chosen."""
        return SETTINGS[self.query_one(TrialSettings).cursor]

    @property
    def standing(self) -> Standing:
        """What of this store decides which settings do something."""
        gathered = self._serving(self.tried.now) or (self.answer.gathered[0] if self.answer is not None else None)
        return Standing.of(self.library, None if gathered is None else gathered.evidence[0])

    @property
    def sessions(self) -> Sequence[str]:
        """The sessions that can be tried, the busiest first."""
        return self.answer.sessions if self.answer is not None else ()

    async def answer_to(self, trial: Trial) -> Answer:
        """Everything the trial can be decided from; what was gathered before is kept where only more is wanted."""
        kept = self.answer if self._asks_more else None
        self._version = await self.library.memory.data_version()
        facets = await self.library.memory.facets(MemoryFilter(), trial.request.as_of)
        self._memories = facets.total
        gathered = list(kept.gathered) if kept is not None else [await self._gather(trial)]
        before = await gathered[0].replayed(trial)
        tried = self.tried.over(trial).now
        if not any(one.serves(tried) for one in gathered):
            gathered.append(await self._gather(tried))
        sessions = tuple(name for name in facets.session or () if name)
        return Answer(trial, before, tuple(gathered), sessions, facets.total)

    def show_answer(self, answer: Answer) -> None:
        """Keep it, and decide the trial on it."""
        self._asks_more = self._is_away = False
        self.answer = answer
        self.tried = self.tried.over(answer.trial)
        self.try_now()

    def show_wanting(self) -> None:
        """Ask for a message."""
        self.answer = self.comparison = None
        self._asks_more = False
        self._show_list(False)
        self.query_one(Empty).show(
            "No message yet.",
            "What is recalled depends on the message. Type one, and see what other settings would recall for it.",
            (("/", "type a message"), ("esc", "back")),
        )
        self.paint()

    def try_now(self) -> None:
        """Decide what is tried on what was gathered: at once, in a thread, or after more of it was gathered."""
        answer, gathered = self.answer, self._serving(self.tried.now)
        if answer is not None and gathered is not None and self._is_decided(answer, gathered):
            return
        self.paint()
        if answer is not None and gathered is None:
            self._asks_more = True
            self.reload()
        elif answer is not None and not self._is_replaying:
            self._is_replaying = True
            self.run_worker(self._replay(), group=_REPLAY)

    def _is_decided(self, answer: Answer, gathered: GatheredEvidence) -> bool:
        if self._is_replaying or gathered.is_big:
            return False
        after = gathered.replayed_now(self.tried.now)
        if after is not None:
            self._show_after(answer, after)
        return after is not None

    def paint(self) -> None:
        """Settings, what the chosen one does, what is wrong with them, and what they come to."""
        standing = self.standing
        self.query_one(TrialSettings).show(setting_lines(self.tried, standing, self.setting, self.typed))
        self.query_one("#about", Static).update(about_content(self.setting, self.tried, standing))
        said = complaint_sentences(self.library.memory, self.tried, standing) if self.has_message else ()
        complaints = self.query_one("#complaints", Static)
        complaints.update(complaint_content(said))
        complaints.display = bool(said)
        memories = self.answer.memories if self.answer is not None else None
        self.query_one("#headline", Static).update(headline_content(self.comparison, self.tried, memories))
        self.paint_facts()

    def paint_facts(self) -> None:
        """Whose rules hold stands among the settings."""
        self.query_one(MessageLine).show_facts(NOTHING_WRITTEN)

    def on_trial_settings_chosen(self) -> None:
        """Say what it does; what was typed for another one is taken already."""
        self.typed = None
        self.paint()

    async def _gather(self, trial: Trial) -> GatheredEvidence:
        return await gather_evidence(self.library, trial, whole_store=True)

    async def _replay(self) -> None:
        """Decide the newest trial; answers to older ones are dropped."""
        try:
            while (answer := self.answer) is not None:
                tried = self.tried
                gathered = self._serving(tried.now)
                if gathered is None:
                    return
                after = await gathered.replayed(tried.now)
                if tried is self.tried and answer is self.answer:
                    self._show_after(answer, after)
                    return
        except SearchInterrupted:
            # The message changed: its own answer comes.
            return
        except InspectorError as error:
            self.say_failure(error)
        finally:
            self._is_replaying = False

    def _show_after(self, answer: Answer, after: RecallResult) -> None:
        self.comparison = compare(answer.before, after)
        has_rows = bool(self.comparison.rows or after.withheld)
        self._show_list(has_rows)
        self.query_one(ComparedRows).show(self.comparison)
        if not has_rows:
            self.query_one(Empty).show(*why_nothing(self.tried, after))
        # That there are no vectors here at all stands beside the weights.
        self.say(*(note for note in after.notes if note != self.library.why_no_vectors))
        self.paint()

    def _serving(self, trial: Trial) -> GatheredEvidence | None:
        if self.answer is None:
            return None
        return next((one for one in self.answer.gathered if one.serves(trial)), None)

    def _show_list(self, has_rows: bool) -> None:
        rows = self.query_one(ComparedRows)
        if not has_rows and rows.has_focus:
            self.query_one(TrialSettings).focus()
        self.set_class(not has_rows, "-empty")

    def _say_asking(self) -> None:
        count = self._memories
        if count is not None and count >= MANY and not self.asks_endpoint:
            self.say(f"Reading {count_text(count)} memories …")
        else:
            super()._say_asking()

    _memories: int | None = None
    """How many memories there are, as soon as they are counted."""

    def _look_for_changes(self) -> None:
        if not self._is_polling and self.answer is not None:
            self._is_polling = True
            self.run_worker(self._poll(), group=_POLL)

    async def _poll(self) -> None:
        try:
            if self._is_away and not await self.library.memory.health_check():
                return
            version = await self.library.memory.data_version()
            if self._is_away or (self._version is not None and version != self._version):
                self._version, self._is_away = version, False
                self.reload()
        except SearchInterrupted:
            return
        except InspectorError as error:
            self._is_away = isinstance(error, GOES_BY)
            self._fail(error)
        finally:
            self._is_polling = False
