"""Bars of eighth blocks."""

from __future__ import annotations

import math

from zeroclaw_tui.tui.format import NO_VALUE

_EIGHTHS = ("", "▏", "▎", "▍", "▌", "▋", "▊", "▉")


def bar(value: float | None, cells: int) -> str:
    """A bar of exactly `cells` cells for a value in 0..1, values beyond it cut; a dash where the part is missing.

    Anything above 0 shows at least one eighth, so that a weak hit never looks like none.
    """
    if cells <= 0:
        return ""
    if value is None or math.isnan(value):
        return NO_VALUE.ljust(cells)
    share = min(1.0, max(0.0, value))
    eighths = round(share * cells * 8)
    if share > 0:
        eighths = max(1, eighths)
    full, rest = divmod(eighths, 8)
    return ("█" * full + _EIGHTHS[rest]).ljust(cells)
