"""Format times, paths and sentences for the screen."""

from __future__ import annotations

from datetime import UTC, datetime

from rich.cells import cell_len

from zeroclaw_tui.memory.days import absolute_time, moment
from zeroclaw_tui.memory.text import cut, display_text, last_cells, mask_secrets, one_line, with_tilde

ELLIPSIS = "…"
_MINUTE, _HOUR, _DAY = 60, 3_600, 86_400
_UNITS = ((365.25 * _DAY, "y"), (30.44 * _DAY, "mo"), (_DAY, "d"), (_HOUR, "h"), (_MINUTE, "min"))


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
