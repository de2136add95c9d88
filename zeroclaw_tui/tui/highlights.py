"""What a find lights up: where its matches stand in a text as it is shown, cleaned and cut."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import islice

from rich.cells import cell_len, split_graphemes
from rich.segment import Segment
from rich.style import Style

from zeroclaw_tui.backends.text_search import Span, TextSearch
from zeroclaw_tui.memory.entry import EXCERPT, Handle, MemoryEntry
from zeroclaw_tui.memory.hidden_text import plain_sequences
from zeroclaw_tui.memory.query import MemoryFilter
from zeroclaw_tui.memory.text import one_line
from zeroclaw_tui.tui.format import ELLIPSIS, fit, next_line

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
_JOINER = "\u200d"
_LEAD = 12
_LONGEST_MESSAGE = 2_000
_WORD = re.compile(r"\w+")

Clean = Callable[[str], str]


class MessageWords:
    """The whole words of a message, in any case: what the keyword stage of a recall finds in a memory."""

    def __init__(self, message: str) -> None:
        words = dict.fromkeys(map(str.casefold, _WORD.findall(message[:_LONGEST_MESSAGE])))
        alternatives = "|".join(map(re.escape, words))
        self._pattern = re.compile(rf"(?<!\w)(?:{alternatives})(?!\w)", re.IGNORECASE) if words else None

    def spans(self, text: str, seconds: float, most: int) -> tuple[Sequence[Span], bool]:
        """Where they stand, from left to right; a few words are never too slow."""
        found = self._pattern.finditer(text) if self._pattern is not None else ()
        return [match.span() for match in islice(found, most)], False


class Highlights:
    """The matches of what is looked for. A pattern that is too slow for the screen lights nothing any more.

    `colour` is the name that they are lit in has among the colours of scores.
    """

    def __init__(self, search: TextSearch | MessageWords | None = None, colour: str = "final") -> None:
        self._search = search
        self._times_over = 0
        self.colour = colour

    @classmethod
    def of(cls, filter: MemoryFilter) -> Highlights:
        """For what a filter looks for. Raises WrongUse for a pattern that cannot be read."""
        return cls(TextSearch(filter)) if filter.looks_for_text else cls()

    def __bool__(self) -> bool:
        return self._search is not None and self._times_over < _MOST_TIMES_OVER

    def spans(self, text: str, seconds: float = _SECONDS) -> Sequence[Span]:
        """Where anything that is looked for stands, from left to right, blanks at the edges of a match left out."""
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


@lru_cache(maxsize=4)
def highlights_for(text: str) -> Highlights:
    """For a text in any case; an empty one lights nothing."""
    return Highlights.of(MemoryFilter(contains=text or None))


def cleaned(text: str, spans: Sequence[Span], clean: Clean) -> tuple[str, Sequence[Span]]:
    """A text as `clean` makes it fit to be shown, and where the spans stand in that."""
    if not spans:
        return clean(text), ()
    raw, pieces, at = text.replace(_EDGE, _NO_EDGE), [], 0
    for start, end in _around_sequences(text, spans):
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
    """A text on one line of exactly so many cells, from shortly before the first match when that lies further on."""
    shown, spans = cleaned(text, lights.spans(text), one_line)
    start = len(shown) - len(shown.lstrip(_JOINER))
    lead = ""
    if spans and cell_len(shown[: spans[0][1]]) > cells - 1 and cell_len(shown[: spans[0][0]]) > cells // 2:
        start, lead = _start_before(shown, spans[0][0]), ELLIPSIS
    window = lead + shown[start:]
    fitted = fit(window, cells)
    kept = same_beginning(window, fitted)
    moved = ((first - start + len(lead), last - start + len(lead)) for first, last in spans)
    return fitted, [(max(0, first), min(last, kept)) for first, last in moved if first < kept and last > 0]


def lit_lines(text: str, widths: Sequence[int], lights: Highlights) -> list[tuple[str, Sequence[Span]]]:
    """A text on at most as many lines as there are widths in cells, broken at words, with its matches on each.

    When the first match would lie behind the last line it begins shortly before that match.
    """
    room = sum(widths)
    looked_at = text[: 4 * room + _LONGEST_MESSAGE]
    shown, spans = cleaned(looked_at, lights.spans(looked_at), one_line)
    if spans and cell_len(shown[: spans[0][1]]) > room * 3 // 4:
        # Where little is left behind the match, what stands before it fills the lines.
        start = min(_start_before(shown, spans[0][0]), max(1, len(shown) - room * 9 // 10))
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
        kept = at + same_beginning(line, shown[at : at + len(line)])
        here = [(max(at, first), min(last, kept)) for first, last in spans if first < kept and last > at]
        lines.append((line, [(first - at, last - at) for first, last in here]))
        at = after
    return lines


def unlit_beginnings(entries: Iterable[MemoryEntry], lights: Highlights) -> Sequence[Handle]:
    """Those of which a list has only the beginning, and nothing in it is lit; for a thread."""
    seconds = _SECONDS_OF_A_WHOLE
    return [one.handle for one in entries if one.is_excerpt and not lights.spans(one.content, seconds)]


def parts_with_matches(entries: Iterable[MemoryEntry], lights: Highlights) -> Mapping[Handle, str]:
    """Of each of these whole memories the part where its first match is, if it has one; for a thread."""
    parts: dict[Handle, str] = {}
    for entry in entries:
        for start, _ in lights.spans(entry.content, _SECONDS_OF_A_WHOLE)[:1]:
            parts[entry.handle] = ELLIPSIS + entry.content[max(0, start - _BEFORE) : start + EXCERPT]
    return parts


def segments(text: str, spans: Sequence[Span], plain: Style, lit: Style) -> list[Segment]:
    """A shown text in pieces; no match begins or ends within what a terminal draws as one character."""
    pieces: list[Segment] = []
    at = 0
    for start, end in _whole_characters(text, spans):
        start = max(start, at)
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
    while start < at and (unicodedata.combining(text[start]) or text[start] == _JOINER):
        start += 1
    return start


def same_beginning(one: str, other: str) -> int:
    """How many characters two texts begin with alike."""
    length = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), None)
    return min(len(one), len(other)) if length is None else length


def _whole_characters(text: str, spans: Sequence[Span]) -> Sequence[Span]:
    if text.isascii() or not spans:
        return spans
    edges = [start for start, _, _ in split_graphemes(text)[0]] + [len(text)]
    whole: list[Span] = []
    at = 0
    for start, end in spans:
        while at + 1 < len(edges) and edges[at + 1] <= start:
            at += 1
        stop = at
        while edges[stop] < end and stop + 1 < len(edges):
            stop += 1
        whole.append((edges[at], max(edges[stop], end)))
    return whole


def _around_sequences(text: str, spans: Sequence[Span]) -> Sequence[Span]:
    """The spans with the whole of each sequence they touch, which is shown as it is only while nothing parts it."""
    sequences = list(plain_sequences(text))
    if not sequences:
        return spans
    grown: list[Span] = []
    at = 0
    for start, end in spans:
        while at < len(sequences) and sequences[at][1] <= start:
            at += 1
        last = at
        while last < len(sequences) and sequences[last][0] < end:
            start, end = min(start, sequences[last][0]), max(end, sequences[last][1])
            last += 1
        if grown and start < grown[-1][1]:
            grown[-1] = (grown[-1][0], max(end, grown[-1][1]))
        else:
            grown.append((start, end))
    return grown


def _without_blanks(text: str, start: int, end: int) -> Span:
    match = text[start:end]
    return start + len(match) - len(match.lstrip()), end - (len(match) - len(match.rstrip()))
