"""The texts that are looked for beside a store, and every form in which a file or a database may hold them."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from zeroclaw_tui.memory.text import WHITE_SPACE

SHORT = 8
"""Contents of fewer characters count only as a whole row of memories, entry or line: as a part of others, and in what
other tables and JSON hold, they are everywhere."""
COMPARED = 5_000_000_000
"""How many bytes are compared with texts in one kind of place, about a second of work; what is left is told."""
FRAGMENT = 200
"""Bytes of a long content that are looked for in a database file, where pages cut longer ones apart."""
REMOVED = "[removed]"
"""What stands in place of a text that was cut out of a longer value."""

_WINDOW = 8
"""Bytes of one 64-bit number."""
_FEW, _WORTH_IT = 12, 4096
"""Up to so many needles, and in up to so many bytes, searching one by one is faster."""
_SLOT_BITS = 22
_SPREAD = 0x9E3779B97F4A7C15
"""2^64 divided by the golden ratio, which spreads numbers evenly over slots."""
_HEAD = 100
"""Characters by whose finding a content is recognised that another program cut short."""
_ELLIPSES = ("...", "…")
_NESTED = 3
"""So many times may JSON stand in a string of JSON: a traced request holds messages, which hold results of tools."""
NEVER_TEXT = frozenset({"role", "type"})
"""Names in JSON and of columns under which only words of ZeroClaw's own stand."""


@dataclass(frozen=True, slots=True)
class Text:
    """A memory's key and content, as they were."""

    id: str
    key: str
    content: str


class Wanted:
    """The texts looked for, each once, by content and by key; what is blank is looked for by neither."""

    def __init__(self, texts: Iterable[Text]) -> None:
        self.texts = tuple(dict.fromkeys(texts))
        self.by_content: dict[str, list[Text]] = {}
        self.by_key: dict[str, list[Text]] = {}
        for text in self.texts:
            if text.content.strip(WHITE_SPACE):
                self.by_content.setdefault(text.content, []).append(text)
            if text.key.strip(WHITE_SPACE):
                self.by_key.setdefault(text.key, []).append(text)
        self._rows = {(text.id, text.content) for text in self.texts}

    def is_row(self, id: str, content: str) -> bool:
        """Whether this row of the store is itself one of the texts."""
        return (id, content) in self._rows

    def in_order(self, found: Iterable[Text]) -> tuple[Text, ...]:
        """These texts, each once, in the order they were asked for."""
        chosen = set(found)
        return tuple(text for text in self.texts if text in chosen)


@dataclass(frozen=True, slots=True)
class Phrase:
    """One content without the blanks around it, and the texts that have it.

    `forms` are the content as it is and as it stands in JSON, in JSON within JSON and so on, the deepest first. `heads`
    are their first bytes.
    """

    content: str
    texts: tuple[Text, ...]
    forms: tuple[str, ...]
    heads: tuple[bytes, ...]

    @property
    def pieces(self) -> list[bytes]:
        """Of each form what is looked for in the pages of a database: whole, or beginning, middle and end."""
        return [piece for form in self.forms for piece in fragments_of(raw(form))]

    def out_of(self, value: str) -> str:
        """A value that is no JSON, with REMOVED for the content, also where that is cut short with or without dots."""
        for form in self.forms:
            head = form[:_HEAD]
            at = value.find(head)
            while at >= 0:
                end = at + _same(form, value, at)
                is_cut_short = end == len(value) or value.startswith(_ELLIPSES, end)
                if end - at == len(form) or is_cut_short:
                    value = value[:at] + REMOVED + value[end:]
                at = value.find(head, at + 1)
        return value


class Needles:
    """Byte strings of at least SHORT bytes that are looked for together, each for a phrase.

    A few are searched one by one. Of many, the window of _WINDOW bytes that the fewest others have is looked up at
    every place of the data at once, so that their number hardly matters.
    """

    def __init__(self, needles: Iterable[tuple[bytes, Phrase]]) -> None:
        self._phrases: dict[bytes, list[Phrase]] = {}
        for needle, phrase in needles:
            self._phrases.setdefault(needle, []).append(phrase)
        self.longest = max(map(len, self._phrases), default=0)
        self._windows: dict[bytes, list[tuple[int, bytes]]] = {}
        if len(self._phrases) > _FEW:
            self._choose_windows()

    def hits(self, data: bytes) -> Iterator[tuple[int, Phrase]]:
        """Where in the data one of them begins, and its phrase."""
        places = self._places_of_many(data) if self._windows and len(data) > _WORTH_IT else self._places(data)
        for at, needle in places:
            for phrase in self._phrases[needle]:
                yield at, phrase

    def _places(self, data: bytes) -> Iterator[tuple[int, bytes]]:
        for needle in self._phrases:
            at = data.find(needle)
            while at >= 0:
                yield at, needle
                at = data.find(needle, at + 1)

    def _choose_windows(self) -> None:
        import numpy

        offsets = {needle: range(0, len(needle) - _WINDOW + 1, 1 + len(needle) // 5) for needle in self._phrases}
        common = Counter(needle[at : at + _WINDOW] for needle, some in offsets.items() for at in some)
        for needle, some in offsets.items():
            at = min(some, key=lambda at: common[needle[at : at + _WINDOW]])
            self._windows.setdefault(needle[at : at + _WINDOW], []).append((at, needle))
        self._sorted = numpy.sort(numpy.frombuffer(b"".join(self._windows), "<u8"))
        self._slots = numpy.zeros(1 << _SLOT_BITS, bool)
        self._slots[self._slots_of(self._sorted)] = True

    def _slots_of(self, windows: Any) -> Any:
        import numpy

        return ((windows * numpy.uint64(_SPREAD)) >> numpy.uint64(64 - _SLOT_BITS)).astype(numpy.intp)

    def _places_of_many(self, data: bytes) -> Iterator[tuple[int, bytes]]:
        import numpy

        for shift in range(_WINDOW):
            windows = numpy.frombuffer(data, "<u8", (len(data) - shift) // _WINDOW, shift)
            maybe = numpy.flatnonzero(self._slots[self._slots_of(windows)])
            nearest = numpy.searchsorted(self._sorted, windows[maybe]).clip(max=len(self._sorted) - 1)
            for number in maybe[self._sorted[nearest] == windows[maybe]].tolist():
                start = shift + _WINDOW * number
                for offset, needle in self._windows[data[start : start + _WINDOW]]:
                    if start >= offset and data.startswith(needle, start - offset):
                        yield start - offset, needle


class Phrases:
    """The contents made ready to be looked for in bytes and in values; short ones are not."""

    def __init__(self, wanted: Wanted) -> None:
        self.wanted = wanted
        by_content: dict[str, list[Text]] = {}
        for content, texts in wanted.by_content.items():
            if len(content.strip(WHITE_SPACE)) >= SHORT:
                by_content.setdefault(content.strip(WHITE_SPACE), []).extend(texts)
        self.all = [_phrase(content, tuple(texts)) for content, texts in by_content.items()]
        self.heads = Needles((head, phrase) for phrase in self.all for head in phrase.heads)

    def in_values(self, values: Sequence[str]) -> set[Text]:
        """The texts that some values hold."""
        parts = [raw(value) for value in values]
        starts = list(accumulate((len(part) + 1 for part in parts[:-1]), initial=0))
        held: set[Text] = set()
        maybe: dict[int, dict[Phrase, None]] = {}
        for at, phrase in self.heads.hits(b"\xff".join(parts)):
            maybe.setdefault(bisect_right(starts, at) - 1, {})[phrase] = None
        for number, some in maybe.items():
            chosen = [phrase for phrase in some if not held.issuperset(phrase.texts)]
            held.update(text for phrase in cut_out(values[number], chosen)[1] for text in phrase.texts)
        return held


def cut_out(value: str, phrases: Sequence[Phrase]) -> tuple[str, list[Phrase]]:
    """A value with REMOVED for what it holds of these, and which those are; JSON in it stays JSON.

    A value in which none is found comes back as it is, to the byte.
    """
    return _cut_out(value, phrases, _NESTED) if phrases else (value, [])


def fragments_of(content: bytes) -> list[bytes]:
    """The bytes themselves, or of more than FRAGMENT those at the beginning, in the middle and at the end."""
    if len(content) <= FRAGMENT:
        return [content]
    middle = (len(content) - FRAGMENT) // 2
    starts = dict.fromkeys((0, middle, len(content) - FRAGMENT))
    return [content[start : start + FRAGMENT] for start in starts]


def raw(text: str) -> bytes:
    """A text as the bytes its store holds."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


def _phrase(content: str, texts: tuple[Text, ...]) -> Phrase:
    forms = {content: None}
    level = [content]
    for _ in range(_NESTED + 1):
        level = list(dict.fromkeys(escaped for form in level for escaped in _escaped(form)))
        forms |= dict.fromkeys(level)
    deepest_first = tuple(reversed(forms))
    return Phrase(content, texts, deepest_first, tuple(dict.fromkeys(raw(form[:_HEAD]) for form in deepest_first)))


def _escaped(form: str) -> Iterator[str]:
    """As it stands in a string of JSON: with letters as they are, and with all but ASCII as \\uXXXX."""
    yield json.dumps(form, ensure_ascii=False)[1:-1]
    if not form.isascii():
        yield json.dumps(form)[1:-1]


def _same(form: str, value: str, at: int) -> int:
    """How many characters of a form stand at a place of a value."""
    if value.startswith(form, at):
        return len(form)
    most = min(len(form), len(value) - at)
    return next((same for same in range(most) if form[same] != value[at + same]), most)


def _cut_out(value: str, phrases: Sequence[Phrase], nested: int) -> tuple[str, list[Phrase]]:
    document = _json_in(value) if nested >= 0 else None
    if document is not None:
        found: dict[Phrase, None] = {}
        # What nests too deeply to be walked is searched as it stands.
        with suppress(RecursionError):
            cut = _out_of_json(document, phrases, nested - 1, found)
            return (_as_json(cut) if found else value), list(found)
    held = []
    for phrase in phrases:
        without = phrase.out_of(value)
        if without != value:
            held.append(phrase)
            value = without
    return value, held


def _json_in(value: str) -> Any:
    """The list or object that a value is in JSON, None for anything else."""
    if value.lstrip()[:1] not in ("{", "["):
        return None
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return None


def _as_json(document: Any) -> str:
    written = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    try:
        written.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        # Half a character, which JSON can name and UTF-8 cannot hold.
        return json.dumps(document, separators=(",", ":"))
    return written


def _out_of_json(part: Any, phrases: Sequence[Phrase], nested: int, found: dict[Phrase, None]) -> Any:
    if isinstance(part, str):
        cut, held = _cut_out(part, phrases, nested)
        found |= dict.fromkeys(held)
        return cut
    if isinstance(part, list):
        return [_out_of_json(one, phrases, nested, found) for one in part]
    if isinstance(part, dict):
        return {
            name: one if name in NEVER_TEXT else _out_of_json(one, phrases, nested, found) for name, one in part.items()
        }
    return part
