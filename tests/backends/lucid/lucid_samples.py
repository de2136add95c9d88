"""What the tests of the Lucid bridge share: a clock that only they move, and time-outs that never pass."""

from __future__ import annotations

PATIENT = {"recall_timeout_ms": 60_000, "store_timeout_ms": 60_000}
"""No stand-in takes so long, however busy the machine is."""


class Clock:
    """Seconds that a test sets."""

    def __init__(self) -> None:
        self.seconds = 1000.0

    def __call__(self) -> float:
        return self.seconds
