"""Moments, and the days in the names of files, read as ZeroClaw writes them."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from zeroclaw_tui.memory.text import cut, one_line

Day = tuple[int, int, int]
"""Year, month, day; years as ZeroClaw takes them, so beyond those Python knows."""

_PREFIX = 10
_DATED = r"\s*(?:([+-])([0-9]+)|([0-9]{1,4}))-\s*([0-9]{1,2})-\s*([0-9]{1,2})\Z"
_LAST_YEAR = 262_142
_LAST_SHOWN = 9999
_LONGEST_SHOWN = 40
_MONTHS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def moment(timestamp: str | None) -> datetime | None:
    """An RFC 3339 text or a plain date as a moment in UTC (microseconds), or None when it is neither.

    ZeroClaw writes nine fraction digits; the last three are cut. A time without an offset counts as UTC.
    """
    if not timestamp:
        return None
    try:
        parsed = datetime.fromisoformat(timestamp.strip())
        return parsed.replace(tzinfo=UTC) if parsed.tzinfo is None else parsed.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def absolute_time(timestamp: str) -> str:
    """Date and minute on the clock it was written by ("2026-03-02 09:14"); what is no moment is shown as it is."""
    written = moment(timestamp)
    if written is None:
        return cut(one_line(timestamp[:200]), _LONGEST_SHOWN) or "no date"
    date, _, time = timestamp.strip().replace("T", " ").partition(" ")
    if "-" not in date or (time and ":" not in time):
        return written.strftime("%Y-%m-%d %H:%M")
    return f"{date} {time[:5]}".strip()


def time_here(timestamp: str) -> str:
    """The same on the clock of this computer, whatever zone it was written in."""
    written = moment(timestamp)
    return absolute_time(timestamp if written is None else written.astimezone().isoformat())


def date_shown(timestamp: str) -> str:
    """The date of a moment; what is no moment is shown as it is."""
    shown = absolute_time(timestamp)
    return shown[:10] if moment(timestamp) is not None else shown


def day_of_note(name: str, *, reads_long: bool) -> Day | None:
    """The day a Markdown file in memory/ is of; None for one that is no daily file.

    The part before the first "_" has to be a date. With `reads_long` (the hygiene of ZeroClaw >= 0.8.1) ten bytes
    of it are enough.
    """
    if not name.endswith(".md"):
        return None
    part = name.removesuffix(".md").split("_", 1)[0].encode("utf-8", "surrogateescape")
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


def date_of_note(name: str) -> str:
    """The day of a Markdown file as YYYY-MM-DD, whatever follows it in the name; "" for one without."""
    day = day_of_note(name, reads_long=True)
    return shown_day(day) if day is not None and 1 <= day[0] <= _LAST_SHOWN else ""


def _day(text: str) -> Day | None:
    """A date as ZeroClaw's library reads %Y-%m-%d: single digits will do, and blanks before a number."""
    found = re.match(_DATED, text)
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
