"""What the screens about one message share: its line at the top, an answer that follows it, and whose rules hold."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Generic, TypeVar

from textual.widget import Widget
from textual.worker import Worker

from zeroclaw_tui.curation.profile_choice import known_rules
from zeroclaw_tui.curation.prompt import trial_of
from zeroclaw_tui.memory.errors import InspectorError, SearchInterrupted
from zeroclaw_tui.memory.recall import RecallRequest
from zeroclaw_tui.scoring.settings import Trial
from zeroclaw_tui.tui.loader import Pace
from zeroclaw_tui.tui.screens.choice import Choice, ChoiceScreen
from zeroclaw_tui.tui.screens.working import WorkingScreen, shown_words
from zeroclaw_tui.tui.widgets.message_line import MessageLine
from zeroclaw_tui.tui.widgets.status_bar import Banner, StatusBar

if TYPE_CHECKING:
    from zeroclaw_tui.curation.library import Library

Answer = TypeVar("Answer")
PLACEHOLDER = "what would you say to the agent?"
_GROUP = "message"
_ALIKE = "In this version the CLI agent and the channels inject alike."


class MessageScreen(WorkingScreen, Generic[Answer]):
    """Asks about a message again whenever it, the rule or the scoring version changes; late answers are dropped.

    Gives True when what the browser shows has to follow. Compose it with a MessageLine, a Banner "failure" and a
    StatusBar.
    """

    def __init__(self, library: Library, request: RecallRequest, clock: Callable[[], datetime], pace: Pace) -> None:
        super().__init__(library, clock, pace)
        self.request = request
        self._number = 0
        self._is_asking = False

    async def answer_to(self, trial: Trial) -> Answer:
        """What the store answers about the message. Raises InspectorError kinds."""
        raise NotImplementedError

    def show_answer(self, answer: Answer) -> None:
        """Show what was answered."""
        raise NotImplementedError

    def show_wanting(self) -> None:
        """There is no message: say what is wanted."""
        raise NotImplementedError

    @property
    def answer_pane(self) -> Widget | None:
        """Where the answer is read; None while there is nothing to read."""
        raise NotImplementedError

    def on_mount(self) -> None:
        """Ask, or wait for a message to be typed."""
        self.reload()
        if not self.has_message:
            self.action_open_message()

    @property
    def has_message(self) -> bool:
        """Whether there is anything to ask about."""
        return bool(self.request.query.strip())

    @property
    def asks_endpoint(self) -> bool:
        """Whether an embedding endpoint, on this machine or another, may be what is waited for."""
        embedder, library = self.library.embedder, self.library
        if embedder is None or library.why_no_vectors is not None:
            return False
        return embedder.is_remote or library.waits_for(self.request.query)

    def message_line(self) -> MessageLine:
        """The line at the top, with the message as it is now."""
        return MessageLine(self.request.query, self.pace.debounce, PLACEHOLDER, id="message")

    def reload(self) -> None:
        """Ask again; an answer to what was asked before is dropped."""
        self._number += 1
        if self._is_asking:
            self.library.memory.interrupt()
        self.paint_facts()
        if not self.has_message:
            self.workers.cancel_group(self, _GROUP)
            self.query_one("#failure", Banner).hide()
            self.say()
            self.show_wanting()
            return
        # Not a coroutine: a worker that is cancelled before its first step would leave that behind, never awaited.
        worker: Worker[None] = Worker(self, partial(self._ask, self._number), group=_GROUP)
        self.workers.add_worker(worker, start=True, exclusive=True)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """The line is not opened from within, and what writes is dimmed in a store that is only read."""
        if action == "open_message" and self.is_mounted and self.query_one(MessageLine).input.has_focus:
            return False
        return super().check_action(action, parameters)

    def on_message_line_asked(self, event: MessageLine.Asked) -> None:
        """Ask about what is typed."""
        self.request = replace(self.request, query=event.text)
        self.reload()

    def on_message_line_left(self) -> None:
        """Read the answer, as soon as it is there."""
        if not self._read() and self.has_message:
            self.set_focus(None)

    def action_open_message(self) -> None:
        """Type the message."""
        # At once and not after the next refresh: what is typed on goes into the line, however fast.
        self.set_focus(self.query_one(MessageLine).input)

    def action_step_out(self) -> None:
        """From the line to the answer, from there back."""
        if not (self.query_one(MessageLine).input.has_focus and self._read()):
            self.action_leave()

    def action_leave(self) -> None:
        """Back to where one came from, unless something is being written."""
        if not self.is_busy:
            self._number += 1
            if self._is_asking:
                self.library.memory.interrupt()
        super().action_leave()

    def action_reload(self) -> None:
        """Ask again, an embedding endpoint that failed too."""
        self.library.ask_again_at_once()
        self.reload()

    def action_toggle_rule(self) -> None:
        """The rule of the CLI agent, or that of the channels."""
        if self.library.profile.profile.one_injection_rule:
            self.tell(_ALIKE)
            return
        self.request = replace(self.request, rule="channel" if self.request.rule == "cli" else "cli")
        self.reload()

    def action_choose_profile(self) -> None:
        """Choose whose scoring rules recall follows."""
        current = self.library.profile.profile.version
        choices = [Choice(version, version, news) for version, news in known_rules(current)]
        self.app.push_screen(ChoiceScreen("Score like which ZeroClaw?", choices, current), self._use_profile)

    def action_what_if(self) -> None:
        """What this message would recall with other numbers."""
        from zeroclaw_tui.tui.screens.what_if import WhatIfScreen

        self.app.push_screen(WhatIfScreen(self.library, self.request, self.clock, self.pace), self.follow)

    def follow(self, has_changed: bool | None) -> None:
        """A screen that was shown over this one is left: what it changed holds here too."""
        if has_changed:
            self.has_changed = True
            self.reload()

    def say(self, *facts: str) -> None:
        """The line over the keys."""
        if self.is_mounted:
            self.query_one(StatusBar).say(*map(shown_words, facts))

    def paint_facts(self) -> None:
        """Whose rules hold for the message."""
        choice = self.library.profile
        rule = "channel rule" if self.request.rule == "channel" else "CLI agent's rule"
        told = () if choice.profile.one_injection_rule else (rule,)
        self.query_one(MessageLine).show_facts(f"scoring {choice.profile.version} ({choice.source})", *told)

    async def _ask(self, number: int) -> None:
        self._is_asking = True
        try:
            while number == self._number:
                try:
                    with self.saying(self._say_asking):
                        answer = await self.answer_to(self._trial())
                except SearchInterrupted:
                    # An interruption meant for an older question can hit a newer one on the same connection.
                    await asyncio.sleep(0)
                    continue
                except InspectorError as error:
                    self._answered(number, partial(self._fail, error))
                    return
                self._answered(number, partial(self.show_answer, answer))
                return
        finally:
            if number == self._number:
                self._is_asking = False

    def _trial(self) -> Trial:
        return trial_of(self.library, replace(self.request, as_of=self.clock().isoformat()))

    def _answered(self, number: int, show: Callable[[], None]) -> None:
        if number == self._number and self.is_mounted:
            self.query_one("#failure", Banner).hide()
            self.say()
            show()

    def _fail(self, error: InspectorError) -> None:
        self.query_one("#failure", Banner).show("error", shown_words(str(error)), "ctrl+r", "tries again", "reload")

    def _say_asking(self) -> None:
        if self.asks_endpoint:
            # It may have the message's vector already; where it has not, a person knows who is asked.
            place = self.library.embedding_host
            self.say(f"Asking the store, and {place} for the vector of the message …")
        else:
            self.say("Asking the store; a big one takes a while …")

    def _read(self) -> bool:
        pane = self.answer_pane
        if pane is None:
            return False
        pane.focus()
        return True

    def _use_profile(self, version: str | None) -> None:
        if version is None:
            return
        from zeroclaw_tui.tui.rooms.browser import BrowserRoom

        self.library.with_profile(version)
        self.has_changed = True
        self.post_message(BrowserRoom.ProfileChosen(version))
        self.reload()
