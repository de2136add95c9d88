"""A clock that nobody waits for."""

from __future__ import annotations


class Clock:
    """Time passes only by sleeping."""

    def __init__(self) -> None:
        self.time = 0.0

    async def sleep(self, seconds: float) -> None:
        self.time += seconds
