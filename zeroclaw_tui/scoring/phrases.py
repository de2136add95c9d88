"""Numbers and names within the sentences of an explanation."""

from __future__ import annotations

import math
from collections.abc import Iterable

from zeroclaw_tui.memory.text import cut, one_line

_LONGEST_NAME = 40
_MOST_WORDS = 8
_MOST_DECIMALS = 8


def number(value: float | None) -> str:
    """Two decimals, or as many more as it takes to see that it is not 0; what does not exist is a dash."""
    if value is None:
        return "–"
    if not math.isfinite(value):
        return "no number" if math.isnan(value) else "-∞" if value < 0 else "∞"
    for decimals in range(2, _MOST_DECIMALS):
        shown = f"{value:,.{decimals}f}"
        if value == 0 or shown.strip("-0.,"):
            return shown
    return f"{value:.0e}"


def ordinal(place: int) -> str:
    """ "1st", "14th", "1,002nd"."""
    endings = {1: "st", 2: "nd", 3: "rd"}
    ending = "th" if place % 100 in (11, 12, 13) else endings.get(place % 10, "th")
    return f"{place:,}{ending}"


def shown_name(text: str) -> str:
    """A name somebody else chose, cleaned and not too long."""
    return cut(one_line(text), _LONGEST_NAME) or "(blank)"


def quoted(text: str) -> str:
    """A name somebody else chose, within a sentence."""
    return f"“{shown_name(text)}”"


def listed(cleaned: Iterable[str]) -> str:
    """Cleaned names with commas, the first few of them."""
    names = list(cleaned)
    shown = ", ".join(names[:_MOST_WORDS])
    return f"{shown} and {len(names) - _MOST_WORDS:,} more" if len(names) > _MOST_WORDS else shown


def only_first(count: int, of: str = "") -> str:
    """ "only the first passes", "only the first 10 of each pass"."""
    return f"only the first{of} passes" if count == 1 else f"only the first {count:,}{of} pass"
