"""Not asking more often than is wanted, and how long to wait for an endpoint that is busy."""

from __future__ import annotations

import asyncio
import math
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

_SLICE = 0.25
_MINUTE = 60.0


class StoppedWaiting(Exception):
    """A person stopped while an endpoint was waited for."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How often a busy endpoint is asked for the same (`tries`), and how long it is waited for, in seconds.

    Where it does not say, `first_wait` and then twice as long each time, up to `jitter` of that more by chance, so that
    many who were sent away together do not come back together. An endpoint that asks for more than `longest_wait` is
    not waited for, nor is one longer than `total` with all tries.
    """

    tries: int
    longest_wait: float
    first_wait: float = 1.0
    jitter: float = 0.0
    total: float = math.inf

    def wait_after(self, tries: int, asked: float | None, spent: float = 0.0, chance: float = 0.0) -> float | None:
        """How long to wait after the try of this number (from 1), None to give up; `chance` is 0..1."""
        if tries >= self.tries or (asked is not None and asked > self.longest_wait):
            return None
        wait = asked if asked is not None else self.first_wait * 2 ** (tries - 1)
        wait *= 1 + self.jitter * chance
        return wait if spent + wait < self.total else None


FOR_MANY = Patience(tries=6, longest_wait=120.0)
"""For work that a person left running."""
FOR_ONE = Patience(tries=3, longest_wait=5.0, first_wait=0.5, jitter=0.5, total=20.0)
"""For one text while a person waits."""


@dataclass(slots=True)
class Pace:
    """At most `per_minute` requests; `now` and `sleep` are the clock's, in seconds. `goes_on` is asked while waiting.

    `chance` gives numbers of 0..1. Raises StoppedWaiting once `goes_on` says no.
    """

    per_minute: int | None = None
    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    goes_on: Callable[[], bool] = field(default=lambda: True)
    chance: Callable[[], float] = random.random
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
