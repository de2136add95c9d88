"""Moments as people type them: an age, a date, or RFC 3339."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from zeroclaw_tui.memory.days import moment
from zeroclaw_tui.memory.errors import WrongUse

_AGE = re.compile(r"(\d{1,7})\s*(h|d|w)", re.IGNORECASE)
_UNITS = {"h": "hours", "d": "days", "w": "weeks"}
_HAS_OFFSET = re.compile(r"(?:Z|[+-]\d\d:?\d\d(?::?\d\d)?)$", re.IGNORECASE)
_LONG_FRACTION = re.compile(r"(\.\d{6})\d+")


def moment_meant(text: str, now: datetime) -> str:
    """RFC 3339 for "30d", "12h", "2w" (before `now`), a date or a date with time; without offset it is local time.

    Raises WrongUse for anything else.
    """
    typed = text.strip()
    age = _AGE.fullmatch(typed)
    if age is not None:
        return _before(now, typed, int(age.group(1)), _UNITS[age.group(2).lower()])
    if moment(typed) is None:
        raise _no_moment(text)
    if "T" in typed.upper().replace(" ", "T") and _HAS_OFFSET.search(typed):
        return typed
    try:
        return datetime.fromisoformat(_LONG_FRACTION.sub(r"\1", typed)).astimezone().isoformat()
    except (ValueError, OverflowError) as error:
        raise _no_moment(text) from error


def bound_meant(text: str, now: datetime) -> str:
    """A bound of recall, which ZeroClaw compares as text: an age becomes RFC 3339, all else stays as typed."""
    meant = moment_meant(text, now)
    return meant if _AGE.fullmatch(text.strip()) else text.strip()


def _before(now: datetime, typed: str, count: int, unit: str) -> str:
    try:
        return (now - timedelta(**{unit: count})).isoformat()
    except OverflowError as error:
        raise WrongUse(f"{typed!r} is longer ago than the calendar goes.") from error


def _no_moment(text: str) -> WrongUse:
    return WrongUse(
        f"{text!r} is no moment.", hint="Give an age (12h, 30d, 2w), a date (2026-03-01) or RFC 3339 with its offset."
    )
