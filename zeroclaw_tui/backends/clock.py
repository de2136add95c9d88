"""Moments as ZeroClaw writes them."""

from __future__ import annotations

import re
import time

from zeroclaw_tui.memory.days import moment

_FRACTION = re.compile(r"\.(\d{1,9})")
_SECOND = 1_000_000_000


def local_now(after: str = "") -> str:
    """Now as RFC 3339 with the local offset and nine fraction digits; always later than the moment `after` says.

    ZeroClaw compares such texts as text, and writes `+00:00`, never `Z`.
    """
    nanoseconds = max(time.time_ns(), _nanoseconds(after) + 1)
    local = time.localtime(nanoseconds // _SECOND)
    sign, minutes = ("-" if local.tm_gmtoff < 0 else "+"), abs(local.tm_gmtoff) // 60
    return _written(local, nanoseconds, f"{sign}{minutes // 60:02d}:{minutes % 60:02d}")


def utc_now() -> str:
    """Now in UTC, as ZeroClaw >= 0.8.0 dates its agents."""
    nanoseconds = time.time_ns()
    return _written(time.gmtime(nanoseconds // _SECOND), nanoseconds, "+00:00")


def _written(parts: time.struct_time, nanoseconds: int, offset: str) -> str:
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', parts)}.{nanoseconds % _SECOND:09d}{offset}"


def _nanoseconds(timestamp: str) -> int:
    when = moment(timestamp)
    if when is None:
        return 0
    fraction = _FRACTION.search(timestamp)
    digits = fraction.group(1) if fraction else ""
    return int(when.replace(microsecond=0).timestamp()) * _SECOND + int(digits.ljust(9, "0") or 0)
