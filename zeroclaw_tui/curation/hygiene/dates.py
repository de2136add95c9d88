"""Days in file names and moments in rows, read and compared as ZeroClaw does."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

Day = tuple[int, int, int]
"""Year, month, day; years as ZeroClaw takes them, so beyond those Python knows."""

_PREFIX = 10
_DATED = re.compile(r"\s*(?:([+-])([0-9]+)|([0-9]{1,4}))-\s*([0-9]{1,2})-\s*([0-9]{1,2})\Z")
_LAST_YEAR = 262_142
_MONTHS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
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


def day_of_note(name: str, *, reads_long: bool) -> Day | None:
    """The day a Markdown file in memory/ is of; None for one that is no daily file.

    What stands before the first "_" has to be a date. With `reads_long` (ZeroClaw >= 0.8.1) ten bytes of it are enough.
    """
    if not name.endswith(".md"):
        return None
    part = name.removesuffix(".md").split("_", 1)[0].encode()
    if reads_long and len(part) > _PREFIX:
        part = part[:_PREFIX]
    try:
        return _day(part.decode())
    except UnicodeDecodeError:
        return None


def day_of_session(name: str) -> Day | None:
    """The day that the first ten bytes of a session file's name say, None where they say none."""
    start = name.encode()
    return None if len(start) < _PREFIX else _day(start[:_PREFIX].decode(errors="ignore"))


def shown_day(day: Day) -> str:
    """A day for people."""
    year, month, number = day
    return f"{year:04d}-{month:02d}-{number:02d}"


def _day(text: str) -> Day | None:
    """A date as ZeroClaw's library reads %Y-%m-%d: single digits will do, and blanks before a number."""
    found = _DATED.match(text)
    if found is None:
        return None
    sign, signed, plain, *rest = found.groups()
    year = int(signed or plain) * (-1 if sign == "-" else 1)
    month, day = map(int, rest)
    if abs(year) > _LAST_YEAR or not 1 <= month <= 12 or not 1 <= day <= _days_in(year, month):
        return None
    return year, month, day


def _days_in(year: int, month: int) -> int:
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return 29 if month == 2 and leap else _MONTHS[month - 1]


def _nanoseconds(moment: datetime) -> int:
    since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    return (since.days * 86_400 + since.seconds) * _NANOSECONDS + since.microseconds * 1000


def _rfc3339(moment: datetime) -> str:
    """As few groups of three fraction digits as tell the moment, as ZeroClaw's library writes them."""
    microseconds = moment.microsecond
    digits = "microseconds" if microseconds % 1000 else "milliseconds" if microseconds else "seconds"
    return moment.isoformat(timespec=digits)
