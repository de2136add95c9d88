"""How a memory grew: rows by the day they were created, and by weeks, months or years where days are too many."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Literal

from zeroclaw_tui.memory.statistics import QUARTER_SECONDS, Statistics

Span = Literal["day", "week", "month", "year"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Growth:
    """`days` are those on which something was created, the earliest first, each with its count.

    `undated` counts what was created at no moment that can be read.
    """

    days: tuple[tuple[date, int], ...]
    undated: int

    @property
    def busiest(self) -> tuple[date, int] | None:
        """The day on which the most was created, the earliest of several."""
        return max(self.days, key=lambda day: day[1], default=None)


@dataclass(frozen=True, slots=True)
class Curve:
    """Counts for every `span` from `first` to `last`, those with nothing too."""

    span: Span
    first: date
    last: date
    counts: tuple[int, ...]


def growth_of(rows: Statistics, zone: tzinfo | None = None) -> Growth:
    """The days of `zone`, or of this machine's clock, on which these rows were created."""
    days = Counter[date]()
    undated = rows.undated
    for quarter, count in rows.quarters.items():
        day = _day_of(quarter, zone)
        if day is None:
            undated += count
        else:
            days[day] += count
    return Growth(tuple(sorted(days.items())), undated)


def curve_of(growth: Growth, most: int) -> Curve | None:
    """The finest curve of at most so many points; longer ones keep years. None without a single day."""
    if not growth.days:
        return None
    spans: Sequence[tuple[Span, Callable[[date], int]]] = (
        ("day", date.toordinal),
        # The ordinal 1 is a Monday.
        ("week", lambda day: (day.toordinal() - 1) // 7),
        ("month", lambda day: day.year * 12 + day.month),
        ("year", lambda day: day.year),
    )
    first, last = growth.days[0][0], growth.days[-1][0]
    span, place = next(
        ((name, place) for name, place in spans if place(last) - place(first) < most),
        spans[-1],
    )
    start = place(first)
    counts = [0] * (place(last) - start + 1)
    for day, count in growth.days:
        counts[place(day) - start] += count
    return Curve(span, first, last, tuple(counts))


def _day_of(quarter: int, zone: tzinfo | None) -> date | None:
    try:
        return (_EPOCH + timedelta(seconds=quarter * QUARTER_SECONDS)).astimezone(zone).date()
    except (OverflowError, ValueError, OSError):
        # A year that no calendar here has.
        return None
