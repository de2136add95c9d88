"""A fake clock that does not wait."""

from __future__ import annotations


class Clock:
    """Its time advances only by `sleep`, or when a test sets the seconds."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        self.seconds += seconds
