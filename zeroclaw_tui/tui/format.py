"""Format numbers, times and texts for lists and headers, and highlight matches in them."""

from __future__ import annotations

import math
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Literal

from rich.cells import cell_len, split_graphemes
from textual.content import Content

from zeroclaw_tui.memory.days import absolute_time, moment
from zeroclaw_tui.memory.query import MemoryFilter
from zeroclaw_tui.memory.text import cut, display_text, mask_secrets, one_line, with_tilde
from zeroclaw_tui.tui.themes import HIGHLIGHT

if TYPE_CHECKING:
    from zeroclaw_tui.backends.matching import Span

NO_VALUE = "–"
ELLIPSIS = "…"
_MINUTE, _HOUR, _DAY = 60, 3_600, 86_400
_UNITS = ((365.25 * _DAY, "y"), (30.44 * _DAY, "mo"), (_DAY, "d"), (_HOUR, "h"), (_MINUTE, "min"))
_EIGHTHS = ("", "▏", "▎", "▍", "▌", "▋", "▊", "▉")
_MAX_MATCHES = 20_000
"""The maximum number of highlighted matches in a text."""
_SECONDS = 0.01
"""The time limit for matching a pattern in one line; a frame has 16 ms."""
Find = Callable[[str, float], "tuple[Sequence[Span], bool]"]
"""Finds matches in a text within a time limit in seconds; also returns whether the limit was exceeded."""


def relative_age(timestamp: str, now: datetime) -> str:
    """The age in one unit: "now", "5 min", "3 h", "3 d", "8 mo", "2 y", "in 3 d"; "?" for an invalid time."""
    then = moment(timestamp)
    if then is None:
        return "?"
    seconds = ((now if now.tzinfo is not None else now.replace(tzinfo=UTC)) - then).total_seconds()
    if abs(seconds) < _MINUTE:
        return "now"
    size, unit = next(pair for pair in _UNITS if abs(seconds) >= pair[0])
    age = f"{int(abs(seconds) // size)} {unit}"
    return f"in {age}" if seconds < 0 else age


def local_time(at: str, now: datetime) -> str:
    """A time in the time zone of `now`, with seconds; an invalid time is shown as it is."""
    then = moment(at)
    return absolute_time(at) if then is None else then.astimezone(now.tzinfo).strftime("%Y-%m-%d %H:%M:%S")


def score_text(score: float | None) -> str:
    """A score of any scale with two decimals; a dash if there is none."""
    if score is None or math.isnan(score):
        return NO_VALUE
    return f"{score:.2f}"


def fit(text: str, cells: int, align: Literal["left", "right"] = "left") -> str:
    """Fit a text to exactly `cells` terminal cells: pad it with spaces, or cut it at a whole character with "…".

    Cells are counted as the renderer counts them: wide characters as two, combining ones as none.
    """
    if cells <= 0:
        return ""
    # A joiner at either end would swallow the padding next to it, and with it the alignment.
    shown = cut(text[: max(512, cells * 8)].strip("\u200d"), cells)
    padding = " " * (cells - cell_len(shown))
    return padding + shown if align == "right" else shown + padding


def wrap(text: str, width: int) -> list[str]:
    """Wrap a text into lines of at most `width` cells, at blanks if possible."""
    return [line.plain for line in Content(text).wrap(max(2, width))]


def last_cells(text: str, cells: int) -> str:
    """The end of a text in at most `cells` cells."""
    part = text[-cells:] if cells else ""
    while cell_len(part) > cells:
        part = part[1:]
    return part


def shorten_path(path: str, cells: int) -> str:
    """The end of a path, cut at a slash if one is near: `…/workspace/memory/brain.db`."""
    scheme, mark, address = path.partition("://")
    if mark and scheme.isalnum() and cell_len(path) > cells:
        # The backend's name is shown next to it, and only the address distinguishes servers.
        path = address.rpartition("@")[2]
    if cell_len(path) <= cells:
        return path
    if cells < 2:
        return "…"[:cells]
    tail = last_cells(path, cells - 1)
    slash = next((index for index, letter in enumerate(tail) if letter in ("/:" if mark else "/")), -1)
    return "…" + (tail[slash:] if 0 <= slash < len(tail) // 2 else tail)


def safe_text(text: str) -> str:
    """Prepare a sentence with paths, keys or values for display: cleaned, masked, home folder as a tilde."""
    return display_text(mask_secrets(with_tilde(text)))


def safe_line(text: str, most: int = 2_000) -> str:
    """Prepare any text for display on one line of at most `most` cells: cleaned, masked, cut with "…"."""
    return cut(one_line(mask_secrets(text[: 4 * most])), most)


def bar(value: float | None, cells: int) -> str:
    """A bar of exactly `cells` cells for a value clamped to 0..1; a dash if the value is missing.

    A value above 0 shows at least one eighth of a cell, so that a weak hit never looks like none.
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


class Highlights:
    """The matches of a search. A pattern that is too slow for the screen highlights nothing."""

    def __init__(self, find: Find | None = None) -> None:
        self._find = find
        self._times_over = 0

    def spans(self, text: str, seconds: float = _SECONDS) -> Sequence[Span]:
        """Find all matches in a displayed text, from left to right, each of whole characters."""
        if self._find is None or self._times_over == 3:
            return ()
        found, is_over = self._find(text, seconds)
        self._times_over += is_over
        return found if text.isascii() else _whole_characters(text, found)

    def apply(self, text: str, seconds: float = _SECONDS) -> Content:
        """Highlight the matches in a displayed text."""
        content = Content(text)
        for start, end in self.spans(text, seconds):
            content = content.stylize(HIGHLIGHT, start, end)
        return content


NO_HIGHLIGHTS = Highlights()


@lru_cache(maxsize=4)
def highlights_of_filter(filter: MemoryFilter) -> Highlights:
    """Highlights for the text of a filter. Raises UsageError for an invalid pattern."""
    if not filter.searches_text:
        return NO_HIGHLIGHTS
    from zeroclaw_tui.backends.matching import TextSearch

    search = TextSearch(filter)
    return Highlights(lambda text, seconds: search.spans(text, seconds, _MAX_MATCHES))


@lru_cache(maxsize=4)
def highlights_of_message(message: str) -> Highlights:
    """Highlights for the whole words of a message, case-insensitive, as in the keyword stage of a recall."""
    words = dict.fromkeys(map(str.casefold, re.findall(r"\w+", message[:2_000])))
    if not words:
        return NO_HIGHLIGHTS
    pattern = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, words))})(?!\w)", re.IGNORECASE)
    return Highlights(lambda text, _: ([match.span() for match in islice(pattern.finditer(text), _MAX_MATCHES)], False))


def _whole_characters(text: str, spans: Sequence[Span]) -> Sequence[Span]:
    """Extend spans to whole grapheme clusters."""
    edges = [start for start, _, _ in split_graphemes(text)[0]] + [len(text)]
    return [(edges[max(0, bisect_right(edges, start) - 1)], edges[bisect_left(edges, end)]) for start, end in spans]
