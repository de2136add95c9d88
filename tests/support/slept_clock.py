"""A clock that nobody waits for."""

from __future__ import annotations


class Clock:
    """Time passes only by sleeping, or where a test sets the seconds."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        self.seconds += seconds
