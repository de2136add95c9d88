"""Not asking more often than is wanted, and waiting for an endpoint that is busy."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

TRIES = 6
"""How often a busy endpoint is asked for the same."""
LONGEST_WAIT = 120.0
"""Seconds; an endpoint that asks for more is not waited for."""
_FIRST_WAIT = 1.0
_SLICE = 0.25
_MINUTE = 60.0


class StoppedWaiting(Exception):
    """A person stopped while an endpoint was waited for."""


@dataclass(slots=True)
class Pace:
    """At most `per_minute` requests; `now` and `sleep` are the clock's, in seconds. `goes_on` is asked while waiting.

    Raises StoppedWaiting once that says no.
    """

    per_minute: int | None = None
    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    goes_on: Callable[[], bool] = field(default=lambda: True)
    _next: float | None = None

    async def turn(self) -> None:
        """Wait until the next request may go out."""
        if self._next is not None:
            await self.wait(self._next - self.now())
        if self.per_minute:
            self._next = max(self.now(), self._next or 0.0) + _MINUTE / self.per_minute

    async def wait(self, seconds: float) -> None:
        """Let time go by, in slices short enough that a stop is noticed at once."""
        until = self.now() + seconds
        while (left := until - self.now()) > 0:
            if not self.goes_on():
                raise StoppedWaiting
            await self.sleep(min(_SLICE, left))


def wait_after(tries: int, asked: float | None) -> float | None:
    """How long to wait after the try of this number (from 1); None to give up. What the endpoint asks for counts."""
    if tries >= TRIES or (asked is not None and asked > LONGEST_WAIT):
        return None
    return asked if asked is not None else _FIRST_WAIT * 2 ** (tries - 1)
