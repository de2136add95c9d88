"""Numbers, names and lists as an explanation writes them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from zeroclaw_tui.memory.text import cut, one_line

NOTHING = "–"
LONGEST_NAME = 40
MOST_WORDS = 8
_MOST_DECIMALS = 8


def number(value: float | None) -> str:
    """Two decimals, or as many more as it takes to see that it is not 0; what does not exist is a dash."""
    if value is None:
        return NOTHING
    if math.isnan(value):
        return "no number"
    if math.isinf(value):
        return "-∞" if value < 0 else "∞"
    for decimals in range(2, _MOST_DECIMALS):
        shown = f"{value:,.{decimals}f}"
        if value == 0 or shown.strip("-0.,"):
            return shown
    return f"{value:.0e}"


def told_apart(first: float, second: float) -> tuple[str, str]:
    """Both numbers with two decimals, or as many more as it takes to see which is smaller."""
    plain = number(first), number(second)
    if first == second or plain[0] != plain[1]:
        return plain
    for decimals in range(2, _MOST_DECIMALS):
        shown = f"{first:,.{decimals}f}", f"{second:,.{decimals}f}"
        if shown[0] != shown[1]:
            return shown
    return repr(first), repr(second)


def ordinal(place: int) -> str:
    """ "1st", "14th", "1,002nd"."""
    endings = {1: "st", 2: "nd", 3: "rd"}
    ending = "th" if place % 100 in (11, 12, 13) else endings.get(place % 10, "th")
    return f"{place:,}{ending}"


def counted(count: int, one: str, several: str) -> str:
    """ "1 memory", "1,204 memories"."""
    return f"{count:,} {one if count == 1 else several}"


def name(text: str) -> str:
    """A name somebody else chose, cleaned and not too long."""
    return cut(one_line(text), LONGEST_NAME) or "(blank)"


def listed(names: Sequence[str]) -> str:
    """Names with commas, the first few of them."""
    shown = ", ".join(map(name, names[:MOST_WORDS]))
    return f"{shown} and {len(names) - MOST_WORDS:,} more" if len(names) > MOST_WORDS else shown


def first(count: int, of: str = "") -> str:
    """ "only the first goes on", "only the first 10 of each go on"."""
    which = "first" if count == 1 else f"first {count:,}"
    return f"only the {which}{of} {'goes' if count == 1 else 'go'} on"
