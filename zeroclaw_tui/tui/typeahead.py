"""Type-ahead: keys are delivered one at a time, so that each reaches the screen and the focus it was typed for."""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass
from math import inf
from typing import Any, Generic, Literal, TypeVar
from weakref import WeakKeyDictionary

from textual.app import App
from textual.events import Event, Key, Paste
from textual.message import Message
from textual.screen import Screen
from textual.widgets import Input

Result = TypeVar("Result")
Reason = Literal["key", "screen", "change"]


@dataclass
class KeyProbe(Message):
    """Follows a key through the message queues; one that comes back to the app has passed them all."""

    rounds: int


class TypeAhead(App[Result], Generic[Result]):
    """An app that delivers a key when the key before it has done all it does, new screens and focus included.

    Textual passes a key from queue to queue, so that a key which follows at once would still find the old focus. Keys
    wait for three reasons: the key before is under way; a screen opens, and keys wait for its first rows; a change is
    prepared or made (`hold_keys`).
    """

    def __init__(self, key_timeout: float) -> None:
        """After `key_timeout` seconds the next key is delivered if nothing reports the end of the last."""
        super().__init__()
        self._key_timeout = key_timeout
        self._waiting_keys: deque[Key | Paste] = deque()
        self._reasons: set[Reason] = set()
        self._changing: Screen[Any] | None = None
        self._pressed_on: Screen[Any] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._drawn_at: WeakKeyDictionary[Screen[Any], float] = WeakKeyDictionary()

    def on_ready(self) -> None:
        self.screen_change_signal.subscribe(self, self._screen_opens, immediate=True)

    async def on_event(self, event: Event) -> None:
        if not isinstance(event, (Key, Paste)) or event.is_forwarded:
            await super().on_event(event)
        elif self._reasons:
            self._waiting_keys.append(event)
        else:
            await self._deliver(event)

    def hold_keys(self) -> None:
        """Let keys wait for the question that this screen is about to ask, or for the end of its change."""
        self._changing = self.screen
        self._reasons.add("change")

    def release_keys(self, *, dropped: bool = False) -> None:
        """Deliver the keys that waited for a change, or drop them."""
        self._changing = None
        if dropped:
            self._waiting_keys.clear()
        self.call_next(self._resume, "change")

    async def _deliver(self, event: Key | Paste) -> None:
        # While the app ends there is no screen left.
        if not self.screen_stack or (isinstance(event, Key) and self._is_too_early(event)):
            return
        if isinstance(event, Paste) and isinstance(self.focused, Input):
            # Textual would use only the first line.
            event.text = " ".join(event.text.strip("\r\n").splitlines())
        self._reasons.add("key")
        self._timer = asyncio.get_running_loop().call_later(self._key_timeout, self.call_next, self._resume, "key")
        target, self._pressed_on = self.focused or self.screen, self.screen
        await super().on_event(event)
        # A key starts an action, that posts a message, and that another one, which moves the focus.
        if not target.post_message(KeyProbe(3)):
            await self._resume("key")

    async def on_key_probe(self, probe: KeyProbe) -> None:
        rounds, target = probe.rounds - 1, self.focused or self.screen if self.screen_stack else None
        if not rounds or target is None or not target.post_message(KeyProbe(rounds)):
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
            # The question is answered, and the change begins.
            self._reasons.add("change")
        if not screen.call_after_refresh(self._screen_drawn, screen):
            self.call_next(self._resume, "screen")

    async def _screen_drawn(self, screen: Screen[Any]) -> None:
        self._drawn_at.setdefault(screen, Message().time)
        if self._pressed_on not in self.screen_stack:
            # A widget that the key closed gets no events, so nothing reports the end of the key.
            await self._resume("key")
        if getattr(screen.focused, "is_filled", True):
            await self._screen_ready(screen)
        else:
            asyncio.get_running_loop().call_later(self._key_timeout, self.call_next, self._screen_ready, screen)

    async def on_table_list_filled(self, event: Any) -> None:
        # A list without rows may be hidden by now, and has lost the focus then.
        if self.screen.focused in (event.table, None):
            await self._screen_ready(self.screen)

    async def _screen_ready(self, screen: Screen[Any]) -> None:
        if not self.screen_stack or screen is not self.screen:
            # Keys wait for the screen that has come over it since.
            return
        if screen is self._changing:
            await self._resume("screen")
        else:
            # The change has asked its question.
            await self._resume("screen", "change")

    def _is_too_early(self, key: Key) -> bool:
        """Whether a key was typed before its screen was drawn, whose question cannot be undone (`must_be_seen`)."""
        if key.key == "escape" or not getattr(self.screen, "must_be_seen", False):
            return False
        return key.time < self._drawn_at.get(self.screen, inf)
