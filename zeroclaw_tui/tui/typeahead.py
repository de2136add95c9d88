"""Type-ahead: deliver keys one at a time, so that each reaches the screen and focus it was typed for."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import Any, Generic, Literal, TypeVar
from weakref import WeakKeyDictionary

from textual.app import App
from textual.events import Event, Key, MouseDown, Paste
from textual.message import Message
from textual.screen import Screen
from textual.widgets import Input

Result = TypeVar("Result")
Reason = Literal["key", "screen", "change"]


@dataclass
class KeyProbe(Message):
    """Follows a key, known by its time-out, through the message queues; back at the app, it has passed all of them."""

    rounds: int
    timeout: asyncio.TimerHandle


class TypeAhead(App[Result], Generic[Result]):
    """An app that delivers a key only after all effects of the previous key, including new screens and focus.

    Textual passes a key from queue to queue, so that an immediately following key would still find the old focus. Keys
    wait for three reasons: the previous key is being handled; a screen opens and has no rows yet; a change is being
    prepared or made (`hold_keys`).
    """

    def __init__(self, key_timeout: float) -> None:
        """After `key_timeout` seconds the next key is delivered even if the previous one does not seem finished."""
        super().__init__()
        self._key_timeout = key_timeout
        self._waiting_keys: deque[Key | Paste] = deque()
        self._reasons: set[Reason] = set()
        self._changing: Screen[Any] | None = None
        self._pressed_on: Screen[Any] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._drawn_at: WeakKeyDictionary[Screen[Any], float] = WeakKeyDictionary()
        self.before_next_input: Callable[[], None] | None = None
        """Called once when the next key or click arrives."""

    def on_ready(self) -> None:
        self.screen_change_signal.subscribe(self, self._screen_opens, immediate=True)

    async def on_event(self, event: Event) -> None:
        if self.before_next_input is not None and isinstance(event, (Key, MouseDown)):
            self.before_next_input()
            self.before_next_input = None
        if not isinstance(event, (Key, Paste)) or event.is_forwarded:
            await super().on_event(event)
        elif self._reasons or self._waiting_keys:
            self._waiting_keys.append(event)
        else:
            await self._deliver(event)

    def hold_keys(self) -> None:
        """Make keys wait for the question that this screen is about to ask, or for the end of its change."""
        self._changing = self.screen
        self._reasons.add("change")

    def release_keys(self, *, dropped: bool = False) -> None:
        """Deliver the keys that waited for a change, or drop them."""
        # Immediately, so that it cannot end the hold of a next change.
        self._changing = None
        self._reasons.discard("change")
        if dropped:
            self._waiting_keys.clear()
        self.call_next(self._resume)

    async def _deliver(self, event: Key | Paste) -> None:
        # While the app exits, there is no screen.
        if not self.screen_stack or (isinstance(event, Key) and self._is_too_early(event)):
            return
        if isinstance(event, Paste) and isinstance(self.focused, Input):
            # Textual would use only the first line.
            event.text = " ".join(event.text.strip("\r\n").splitlines())
        self._reasons.add("key")
        self._timer = asyncio.get_running_loop().call_later(self._key_timeout, self.call_next, self._resume, "key")
        target, self._pressed_on = self.focused or self.screen, self.screen
        await super().on_event(event)
        # A key may start an action that posts a message that posts another one, which moves the focus.
        if not target.post_message(KeyProbe(3, self._timer)):
            await self._resume("key")

    async def on_key_probe(self, probe: KeyProbe) -> None:
        rounds, target = probe.rounds - 1, self.focused or self.screen if self.screen_stack else None
        if probe.timeout is not self._timer:
            # A closed screen ended this key earlier, and a newer key is being handled.
            return
        if not rounds or target is None or not target.post_message(KeyProbe(rounds, probe.timeout)):
            await self._resume("key")

    async def _resume(self, *reasons: Reason) -> None:
        """Deliver waiting keys unless there is another reason to wait."""
        if "key" in reasons and self._timer is not None:
            self._timer.cancel()
        self._reasons.difference_update(reasons)
        while self._waiting_keys and not self._reasons:
            await self._deliver(self._waiting_keys.popleft())

    def _screen_opens(self, screen: Screen[Any]) -> None:
        self._reasons.add("screen")
        if screen is self._changing:
            # The question was answered, and the change begins.
            self._reasons.add("change")
        if not screen.call_after_refresh(self._screen_drawn, screen):
            self.call_next(self._resume, "screen")

    async def _screen_drawn(self, screen: Screen[Any]) -> None:
        self._drawn_at.setdefault(screen, Message().time)
        if self._pressed_on not in self.screen_stack:
            # A widget closed by the key gets no more events, so no probe reports the end of the key.
            await self._resume("key")
        if getattr(screen.focused, "is_filled", True):
            await self._screen_ready(screen)
        else:
            asyncio.get_running_loop().call_later(self._key_timeout, self.call_next, self._screen_ready, screen)

    async def on_table_list_filled(self, event: Any) -> None:
        # An empty list may already be hidden, and then it has lost the focus.
        if self.screen.focused in (event.table, None):
            await self._screen_ready(self.screen)

    async def _screen_ready(self, screen: Screen[Any]) -> None:
        if not self.screen_stack or screen is not self.screen:
            # Keys wait for the screen that has opened on top since.
            return
        if screen is self._changing:
            await self._resume("screen")
        else:
            # The change has asked its question.
            await self._resume("screen", "change")

    def _is_too_early(self, key: Key) -> bool:
        """Whether a key was typed before its screen was drawn, although the screen `must_be_seen` first."""
        if key.key == "escape" or not getattr(self.screen, "must_be_seen", False):
            return False
        return key.time < self._drawn_at.get(self.screen, inf)
