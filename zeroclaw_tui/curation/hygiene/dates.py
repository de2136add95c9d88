"""What is older than some days, compared as ZeroClaw does."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from zeroclaw_tui.memory.days import Day

_NANOSECONDS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Cutoff:
    """What is older than some days at a moment. ZeroClaw takes days off the local date, and hours off the clock.

    `day` is None for so many days that nothing can be that old (ZeroClaw itself fails at those).
    """

    day: Day | None
    nanoseconds: int
    text: str
    """RFC 3339 in local time; rows are compared with it as text, whatever offset they were written in."""

    def is_past(self, found: Day) -> bool:
        """Whether a day is older."""
        return self.day is not None and found < self.day


def cutoff_at(as_of: datetime, days: int) -> Cutoff:
    """The cutoff so many days before a moment."""
    now = as_of.astimezone()
    nanoseconds = _nanoseconds(now) - days * 86_400 * _NANOSECONDS
    try:
        day: date = now.date() - timedelta(days=days)
        moment = (now.astimezone(UTC) - timedelta(days=days)).astimezone()
    except OverflowError:
        return Cutoff(None, nanoseconds, "")
    return Cutoff((day.year, day.month, day.day), nanoseconds, _rfc3339(moment))


def _nanoseconds(moment: datetime) -> int:
    since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    return (since.days * 86_400 + since.seconds) * _NANOSECONDS + since.microseconds * 1000


def _rfc3339(moment: datetime) -> str:
    """As few groups of three fraction digits as tell the moment, as ZeroClaw's library writes them."""
    microseconds = moment.microsecond
    digits = "microseconds" if microseconds % 1000 else "milliseconds" if microseconds else "seconds"
    return moment.isoformat(timespec=digits)
