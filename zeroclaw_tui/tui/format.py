"""Numbers, times and text for lists and headers, and the places of the matches in them."""

from __future__ import annotations

import math
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from rich.cells import cell_len, split_graphemes
from rich.segment import Segment
from rich.style import Style

from zeroclaw_tui.memory.days import moment
from zeroclaw_tui.memory.entry import EXCERPT, Handle, MemoryEntry
from zeroclaw_tui.memory.query import MemoryFilter
from zeroclaw_tui.memory.text import cut, display_text, mask_secrets, one_line

if TYPE_CHECKING:
    from zeroclaw_tui.backends.matching import Span, TextSearch

NO_VALUE = "–"
ELLIPSIS = "…"
_JOINER = "\u200d"
_JOINERS = "\u200c\u200d"
_MINUTE, _HOUR, _DAY = 60, 3_600, 86_400
_UNITS = ((365.25 * _DAY, "y"), (30.44 * _DAY, "mo"), (_DAY, "d"), (_HOUR, "h"), (_MINUTE, "min"))
_EIGHTHS = ("", "▏", "▎", "▍", "▌", "▋", "▊", "▉")
MOST_LIT = 20_000
"""More places than this are not lit in one text."""
_SECONDS = 0.01
"""How long a pattern may be matched against what one line shows; a frame has 16 ms."""
_SECONDS_OF_A_WHOLE = 1.0
"""The same in a thread, for a whole memory."""
_MOST_TIMES_OVER = 3
_BEFORE = 40
# No character of any script, so that no cleaning touches it.
_EDGE, _NO_EDGE = "\ufdd0", "\ufffd"
_LEAD = 12
_LONGEST_MESSAGE = 2_000
_WORD = re.compile(r"\w+")
Clean = Callable[[str], str]


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
    size, unit = next(pair for pair in _UNITS if abs(seconds) >= pair[0])
    age = f"{int(abs(seconds) // size)} {unit}"
    return f"in {age}" if seconds < 0 else age


def short_age(timestamp: str, now: datetime) -> str:
    """The same for a narrow column."""
    age = relative_age(timestamp, now)
    return "now" if age == "just now" else age


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
    # A joiner at either end would swallow the padding next to it, and with it the alignment.
    shown = text.strip(_JOINER)
    longest = max(512, cells * 8)
    is_cut = len(shown) > longest
    shown = shown[:longest].rstrip(_JOINER)
    length = cell_len(shown)
    if is_cut or length > cells:
        shown = first_cells(shown, cells - 1) + ELLIPSIS
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


def wrapped(text: str, width: int) -> list[str]:
    """All lines of at most `width` cells, one where there is no text."""
    lines, start = [], 0
    while start < len(text):
        line, start = next_line(text, start, max(1, width))
        lines.append(line)
    return lines or [""]


def first_cells(text: str, cells: int) -> str:
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


def last_cells(text: str, cells: int) -> str:
    """The end of a text in at most so many cells."""
    part = text[-cells:] if cells else ""
    while cell_len(part) > cells:
        part = part[1:]
    return part


def with_tilde(location: str) -> str:
    """A path, or a sentence with paths, with a tilde for the home folder."""
    return location.replace(f"{Path.home()}/", "~/")


def shorten_path(path: str, cells: int) -> str:
    """The end of a path, cut after a slash where one is near: `…/workspace/memory/brain.db`."""
    scheme, mark, address = path.partition("://")
    if mark and scheme.isalnum() and cell_len(path) > cells:
        # The name of the backend is next to it, and only the address distinguishes servers.
        path = address.rpartition("@")[2]
    if cell_len(path) <= cells:
        return path
    if cells < 2:
        return "…"[:cells]
    tail = last_cells(path, cells - 1)
    slash = next((at for at, letter in enumerate(tail) if letter in ("/:" if mark else "/")), -1)
    return "…" + (tail[slash:] if 0 <= slash < len(tail) // 2 else tail)


def shown_words(text: str) -> str:
    """A sentence that may hold a path, a key or a value, as it is shown: cleaned, masked, short for the home folder."""
    return display_text(mask_secrets(with_tilde(text)))


def shown_line(text: str, most: int = 2_000) -> str:
    """A text of anyone's on one line of at most so many cells: cleaned, masked, cut with "…"."""
    return cut(one_line(mask_secrets(text[: 4 * most])), most)


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


class MessageWords:
    """The whole words of a message, in any case: what the keyword stage of a recall finds in a memory."""

    def __init__(self, message: str) -> None:
        words = dict.fromkeys(map(str.casefold, _WORD.findall(message[:_LONGEST_MESSAGE])))
        alternatives = "|".join(map(re.escape, words))
        self._pattern = re.compile(rf"(?<!\w)(?:{alternatives})(?!\w)", re.IGNORECASE) if words else None

    def spans(self, text: str, seconds: float, most: int) -> tuple[Sequence[Span], bool]:
        """Where they are, from left to right; a few words are never too slow."""
        found = self._pattern.finditer(text) if self._pattern is not None else ()
        return [match.span() for match in islice(found, most)], False


class Highlights:
    """The matches of a search. A pattern that is too slow for the screen highlights nothing.

    `colour` is the name that they are lit in has among the colours of scores.
    """

    def __init__(self, search: TextSearch | MessageWords | None = None, colour: str = "final") -> None:
        self._search = search
        self._times_over = 0
        self.colour = colour

    @classmethod
    def of(cls, filter: MemoryFilter) -> Highlights:
        """For what a filter looks for. Raises UsageError for a pattern that cannot be read."""
        if not filter.looks_for_text:
            return cls()
        from zeroclaw_tui.backends.matching import TextSearch

        return cls(TextSearch(filter))

    def __bool__(self) -> bool:
        return self._search is not None and self._times_over < _MOST_TIMES_OVER

    def spans(self, text: str, seconds: float = _SECONDS) -> Sequence[Span]:
        """The places of all matches, from left to right, without blanks at their edges."""
        if not self or self._search is None:
            return ()
        found, is_over = self._search.spans(text, seconds, MOST_LIT)
        self._times_over += is_over
        return [span for span in (_without_blanks(text, *span) for span in found) if span[0] < span[1]]


NO_HIGHLIGHTS = Highlights()


@lru_cache(maxsize=4)
def highlights_of_message(message: str) -> Highlights:
    """For the words of a message that is recalled by, in the colour of the keyword score."""
    return Highlights(MessageWords(message), "keyword")


def cleaned(text: str, spans: Sequence[Span], clean: Clean) -> tuple[str, Sequence[Span]]:
    """A text as `clean` makes it fit to be shown, and where the spans are in that."""
    if not spans:
        return clean(text), ()
    raw, pieces, at = text.replace(_EDGE, _NO_EDGE), [], 0
    for start, end in _whole_characters(text, spans):
        pieces += [raw[at:start], raw[start:end]]
        at = end
    parts = clean(_EDGE.join([*pieces, raw[at:]])).split(_EDGE)
    shown: list[Span] = []
    place = 0
    for number, part in enumerate(parts):
        if number % 2:
            shown.append((place, place + len(part)))
        place += len(part)
    return "".join(parts), shown


def lit_cell(text: str, cells: int, lights: Highlights) -> tuple[str, Sequence[Span]]:
    """A text on one line of exactly so many cells, from shortly before the first match when that is further on."""
    line, spans = next(iter(lit_lines(text, [cells], lights)), ("", ()))
    return fit(line, cells), spans


def lit_lines(text: str, widths: Sequence[int], lights: Highlights) -> list[tuple[str, Sequence[Span]]]:
    """A text on at most as many lines as there are widths in cells, broken at words, with its matches on each.

    When the first match would be after the last line, it begins shortly before that match.
    """
    room = sum(widths)
    looked_at = text[: 4 * room + _LONGEST_MESSAGE]
    shown, spans = cleaned(looked_at, lights.spans(looked_at), one_line)
    # Lines that are broken at words hold less.
    if spans and cell_len(shown[: spans[0][1]]) > (room - 1 if len(widths) == 1 else room * 3 // 4):
        start = _start_before(shown, spans[0][0])
        shown = ELLIPSIS + shown[start:]
        spans = [(first - start + 1, last - start + 1) for first, last in spans]
    lines: list[tuple[str, Sequence[Span]]] = []
    at = 0
    for number, cells in enumerate(widths, 1):
        if at >= len(shown):
            break
        line, after = next_line(shown, at, cells)
        if number == len(widths) and (after < len(shown) or len(looked_at) < len(text)):
            line = fit(shown[at : at + cells + 1] + ELLIPSIS, cells).rstrip()
        shown_end = at + same_beginning(line, shown[at : at + len(line)])
        here = [(max(at, first), min(last, shown_end)) for first, last in spans if first < shown_end and last > at]
        lines.append((line, [(first - at, last - at) for first, last in here]))
        at = after
    return lines


def parts_with_matches(entries: Iterable[MemoryEntry], lights: Highlights) -> Mapping[Handle, str]:
    """Of each of these memories the part where its first match is, if it has one; for a thread."""
    parts: dict[Handle, str] = {}
    for entry in entries:
        for start, _ in lights.spans(entry.content, _SECONDS_OF_A_WHOLE)[:1]:
            parts[entry.handle] = ELLIPSIS + entry.content[max(0, start - _BEFORE) : start + EXCERPT]
    return parts


def segments(text: str, spans: Sequence[Span], plain: Style, lit: Style) -> list[Segment]:
    """A shown text in pieces, its matches lit."""
    pieces: list[Segment] = []
    at = 0
    for start, end in spans:
        pieces += [Segment(text[at:start], plain), Segment(text[start:end], lit)]
        at = end
    pieces.append(Segment(text[at:], plain))
    return [piece for piece in pieces if piece.text]


def _start_before(text: str, at: int) -> int:
    """Where to begin so that a match at this place has something before it: at a word, where one begins there."""
    start = max(0, at - _LEAD)
    blank = text.find(" ", start, at - 1) if start else -1
    if blank >= 0:
        start = blank + 1
    while cell_len(text[start:at]) > _LEAD:
        start += 1
    return start


def same_beginning(one: str, other: str) -> int:
    """How many characters two texts begin with alike."""
    length = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), None)
    return min(len(one), len(other)) if length is None else length


def _whole_characters(text: str, spans: Sequence[Span]) -> Sequence[Span]:
    """The spans with the whole of each character that a terminal draws as one, in order and apart from each other."""
    if text.isascii() or not spans:
        return spans
    edges = [start for start, _, _ in split_graphemes(text)[0]] + [len(text)]
    whole: list[Span] = []
    for start, end in spans:
        first, last = edges[max(0, bisect_right(edges, start) - 1)], edges[bisect_left(edges, end)]
        while last > end and not (text[last - 1].isprintable() or text[last - 1] in _JOINERS):
            # What hides something after a match is no part of it.
            last -= 1
        if whole and first < whole[-1][1]:
            first = whole.pop()[0]
        whole.append((first, max(last, end)))
    return whole


def _without_blanks(text: str, start: int, end: int) -> Span:
    match = text[start:end]
    return start + len(match) - len(match.lstrip()), end - (len(match) - len(match.rstrip()))
