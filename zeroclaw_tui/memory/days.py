"""Parsing and formatting of times, and of the dates in file names, as in ZeroClaw."""

from __future__ import annotations

import os
import re
from datetime import UTC, date, datetime

from zeroclaw_tui.memory.text import cut, one_line

_PREFIX = 10
_DATED = r"\s*(\d{1,4})-\s*(\d{1,2})-\s*(\d{1,2})\Z"
_MAX_WIDTH = 40


def moment(timestamp: str | None) -> datetime | None:
    """Parse an RFC 3339 text or a plain date as a time in UTC (microseconds), or None if it is neither.

    ZeroClaw writes nine fractional digits; the last three are truncated. A time without an offset counts as UTC.
    """
    if not timestamp:
        return None
    try:
        parsed = datetime.fromisoformat(timestamp.strip())
        return parsed.replace(tzinfo=UTC) if parsed.tzinfo is None else parsed.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def absolute_time(timestamp: str) -> str:
    """Format date and minute in the offset as written ("2026-03-02 09:14"); an invalid time is shown unchanged."""
    text = timestamp.strip()
    try:
        written = datetime.fromisoformat(text).isoformat(" ")
    except ValueError:
        return cut(one_line(timestamp[:200]), _MAX_WIDTH) or "no date"
    return written[: _PREFIX if len(text) <= _PREFIX else 16]


def time_here(timestamp: str) -> str:
    """Format date and minute in this computer's time zone."""
    written = moment(timestamp)
    return absolute_time(timestamp if written is None else written.astimezone().isoformat())


def date_shown(timestamp: str) -> str:
    """Format the date of a time; an invalid time is shown unchanged."""
    shown = absolute_time(timestamp)
    return shown[:10] if moment(timestamp) is not None else shown


def day_of_note(name: str, *, reads_long: bool) -> date | None:
    """Parse the day in the name of a Markdown file in memory/; None if it is not a daily file.

    The part before the first "_" has to be a date. With `reads_long` (the hygiene of ZeroClaw >= 0.8.1) its first ten
    bytes are enough.
    """
    part = name.removesuffix(".md").split("_", 1)[0] if name.endswith(".md") else ""
    return parse_day(os.fsencode(part)[:_PREFIX].decode(errors="replace") if reads_long else part)


def day_of_session(name: str) -> date | None:
    """Parse the day in the first ten bytes of a session file's name, None if there is none."""
    data = os.fsencode(name)
    return None if len(data) < _PREFIX else parse_day(data[:_PREFIX].decode(errors="ignore"))


def date_of_note(name: str) -> str:
    """The day in the name of a Markdown file as YYYY-MM-DD, ignoring the rest of the name; "" if there is none."""
    day = day_of_note(name, reads_long=True)
    return "" if day is None else day.isoformat()


def parse_day(text: str) -> date | None:
    """Parse a date as ZeroClaw's library parses %Y-%m-%d, with single digits and blanks before a number allowed."""
    found = re.match(_DATED, text, re.ASCII)
    try:
        return None if found is None else date(*map(int, found.groups()))
    except ValueError:
        return None
