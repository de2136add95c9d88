"""A clock that nobody waits for."""

from __future__ import annotations

from zeroclaw_tui.embeddings.endpoint import Pace


class Clock:
    """Time that goes by only when it is slept; chance is always the middle."""

    def __init__(self) -> None:
        self.time = 0.0

    def now(self) -> float:
        return self.time

    async def sleep(self, seconds: float) -> None:
        self.time += seconds

    @property
    def pace(self) -> Pace:
        return Pace(now=self.now, sleep=self.sleep, chance=lambda: 0.5)
