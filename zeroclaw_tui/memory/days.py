"""Moments, and the days in the names of files, read as ZeroClaw writes them."""

from __future__ import annotations

import os
import re
from datetime import UTC, date, datetime

from zeroclaw_tui.memory.text import cut, one_line

_PREFIX = 10
_DATED = re.compile(r"\s*(\d{1,4})-\s*(\d{1,2})-\s*(\d{1,2})\Z", re.ASCII)
_LONGEST_SHOWN = 40


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
    text = timestamp.strip()
    try:
        written = datetime.fromisoformat(text).isoformat(" ")
    except ValueError:
        return cut(one_line(timestamp[:200]), _LONGEST_SHOWN) or "no date"
    return written[: _PREFIX if len(text) <= _PREFIX else 16]


def time_here(timestamp: str) -> str:
    """The same on the clock of this computer, whatever zone it was written in."""
    written = moment(timestamp)
    return absolute_time(timestamp if written is None else written.astimezone().isoformat())


def date_shown(timestamp: str) -> str:
    """The date of a moment; what is no moment is shown as it is."""
    shown = absolute_time(timestamp)
    return shown[:10] if moment(timestamp) is not None else shown


def day_of_note(name: str, *, reads_long: bool) -> date | None:
    """The day a Markdown file in memory/ is of; None for one that is no daily file.

    The part before the first "_" has to be a date. With `reads_long` (the hygiene of ZeroClaw >= 0.8.1) ten bytes
    of it are enough.
    """
    part = name.removesuffix(".md").split("_", 1)[0] if name.endswith(".md") else ""
    return parse_day(os.fsencode(part)[:_PREFIX].decode(errors="replace") if reads_long else part)


def day_of_session(name: str) -> date | None:
    """The day that the first ten bytes of a session file's name say, None where they say none."""
    data = os.fsencode(name)
    return None if len(data) < _PREFIX else parse_day(data[:_PREFIX].decode(errors="ignore"))


def date_of_note(name: str) -> str:
    """The day of a Markdown file as YYYY-MM-DD, whatever follows it in the name; "" for one without."""
    day = day_of_note(name, reads_long=True)
    return "" if day is None else day.isoformat()


def parse_day(text: str) -> date | None:
    """A date as ZeroClaw's library reads %Y-%m-%d: single digits will do, and blanks before a number."""
    found = _DATED.match(text)
    try:
        return None if found is None else date(*map(int, found.groups()))
    except ValueError:
        return None
