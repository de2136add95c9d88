"""Numbers, times and text as they stand in a list or a header."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from rich.cells import cell_len, split_graphemes

from zeroclaw_tui.memory.days import moment
from zeroclaw_tui.memory.text import display_text, mask_secrets, one_line

NO_VALUE = "–"
ELLIPSIS = "…"
_JOINER = "\u200d"
_MINUTE = 60
_HOUR = 60 * _MINUTE
_DAY = 24 * _HOUR
_MONTH = 30.44 * _DAY
_YEAR = 365.25 * _DAY
_LONGEST_TIMESTAMP = 40
_EIGHTHS = ("", "▏", "▎", "▍", "▌", "▋", "▊", "▉")


def relative_age(timestamp: str, now: datetime) -> str:
    """How long ago, in one unit: "just now", "5 min", "3 h", "3 d", "8 mo", "2 y"; "?" when it is no moment.

    A moment to come reads "in 3 d", up to a minute of clock difference left out.
    """
    then = moment(timestamp)
    if then is None:
        return "?"
    now = now if now.tzinfo is not None else now.replace(tzinfo=UTC)
    seconds = (now - then).total_seconds()
    if abs(seconds) < _MINUTE:
        return "just now"
    return f"in {_span(-seconds)}" if seconds < 0 else _span(seconds)


def absolute_time(timestamp: str) -> str:
    """Date and minute on the clock it was written by ("2026-03-02 09:14"); what is no moment is shown as it is."""
    if moment(timestamp) is None:
        return fit(one_line(timestamp[:200]), _LONGEST_TIMESTAMP).rstrip() or "no date"
    date, _, time = timestamp.strip().replace("T", " ").partition(" ")
    if "-" not in date or (time and ":" not in time):
        written = moment(timestamp)
        return written.strftime("%Y-%m-%d %H:%M") if written else date
    return f"{date} {time[:5]}".strip()


def size_text(size: int) -> str:
    """Bytes as "37 B", "1.2 KB" or "18 MB", 1,024 to the unit and never more than six characters."""
    if size < 1000:
        return f"{size} B"
    value = float(size)
    for unit in ("KB", "MB", "GB", "TB"):
        value /= 1024
        if value < 9.95:
            return f"{value:.1f} {unit}"
        if value < 999.5:
            return f"{value:.0f} {unit}"
    return f"{value / 1024:.0f} PB"


def count_text(count: int) -> str:
    """A count with a comma every three digits."""
    return f"{count:,}"


def score_text(score: float | None) -> str:
    """A score of any scale with two decimals; a dash where there is none."""
    if score is None or math.isnan(score):
        return NO_VALUE
    return f"{score:.2f}"


def fit(text: str, cells: int, align: Literal["left", "right"] = "left") -> str:
    """Text of exactly that many terminal cells: padded with spaces, or cut at a whole character with "…".

    Cells are counted as the renderer counts them: wide characters as two, combining ones as none.
    """
    if cells <= 0:
        return ""
    # A joiner at either end would swallow the padding beside it, and with it the alignment.
    shown = text.strip(_JOINER)
    longest = max(512, cells * 8)
    is_cut = len(shown) > longest
    shown = shown[:longest].rstrip(_JOINER)
    length = cell_len(shown)
    if is_cut or length > cells:
        shown = _head(shown, cells - 1) + ELLIPSIS
        length = cell_len(shown)
    padding = " " * (cells - length)
    return padding + shown if align == "right" else shown + padding


def next_line(text: str, start: int, width: int) -> tuple[str, int]:
    """The line of at most `width` cells that begins at `start`, and where the next one begins.

    It ends at a line feed, else at the last blank that fits, which is swallowed, else within a word.
    """
    line_end = text.find("\n", start)
    if line_end < 0:
        line_end = len(text)
    end = _fitting(text, start, line_end, width)
    if end >= line_end:
        return text[start:line_end], line_end + 1
    if text[end] != " ":
        blank = text.rfind(" ", start, end)
        if blank < 0 or not text[start:blank].strip(" "):
            return text[start:end], end
        end = blank
    following = end
    while following < line_end and text[following] == " ":
        following += 1
    return text[start:end], following + (following == line_end)


def _head(text: str, cells: int) -> str:
    """The longest beginning of at most so many cells, without a blank or a joiner at its end."""
    if text.isascii() and text.isprintable():
        return text[: max(0, cells)].rstrip()
    used = end = 0
    for _, stop, width in split_graphemes(text)[0]:
        if used + width > cells:
            break
        used, end = used + width, stop
    head = text[:end].rstrip(_JOINER + " ")
    while cell_len(head) > cells:
        head = head[:-1].rstrip(_JOINER)
    return head


def _fitting(text: str, start: int, line_end: int, width: int) -> int:
    window = text[start : min(line_end, start + 2 * width + 16)]
    if window.isascii():
        return min(start + width, line_end)
    used = 0
    for begin, end, cells in split_graphemes(window)[0]:
        if used + cells > width:
            return start + (begin or end)
        used += cells
    return start + len(window)


def _span(seconds: float) -> str:
    if seconds < _HOUR:
        return f"{int(seconds // _MINUTE)} min"
    if seconds < _DAY:
        return f"{int(seconds // _HOUR)} h"
    if seconds < _MONTH:
        return f"{int(seconds // _DAY)} d"
    if seconds < _YEAR:
        return f"{int(seconds // _MONTH)} mo"
    return f"{int(seconds // _YEAR)} y"


def with_tilde(location: str) -> str:
    """A path, or a sentence with paths, with a tilde for the home folder."""
    return location.replace(f"{Path.home()}/", "~/")


def shorten_path(path: str, cells: int) -> str:
    """The end of a path, cut after a slash where one is near: `…/workspace/memory/brain.db`."""
    scheme, mark, address = path.partition("://")
    if mark and scheme.isalnum() and cell_len(path) > cells:
        # The name of the backend stands beside it, and nobody but the address tells one server from another.
        path = address.rpartition("@")[2]
    if cell_len(path) <= cells:
        return path
    if cells < 2:
        return "…"[:cells]
    tail = path
    while cell_len(tail) > cells - 1:
        tail = tail[1:]
    slash = next((at for at, letter in enumerate(tail) if letter in ("/:" if mark else "/")), -1)
    return "…" + (tail[slash:] if 0 <= slash < len(tail) // 2 else tail)


def shown_words(text: str) -> str:
    """A sentence that may hold a path, a key or a value, as it is shown: cleaned, masked, short for the home folder."""
    return display_text(mask_secrets(with_tilde(text)))


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
