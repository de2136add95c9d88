"""The texts looked for beside a store, every form in which a file may hold them, and a file without them.

Files of lines are notes in Markdown, lines of JSON, and ZeroClaw's snapshot.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

from zeroclaw_tui.curation.snapshot.snapshot import content_of, filled, follows_an_end, is_dropped, key_in, parts_in
from zeroclaw_tui.files.database import raw_pieces
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
_JSON_TOKEN = re.compile(r'("(?:[^"\\]|\\.)*+")(\s*+:)?|-?[0-9][-+.0-9eE]*+', re.DOTALL)
"""A string, with its colon where it is the name of a field, or a number."""
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


def cache_hash(content: str) -> str:
    """The name of a content in ZeroClaw's embedding cache: 8 bytes of its SHA-256 in hexadecimal."""
    return hashlib.sha256(raw(content)).hexdigest()[:16]


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
    if nested >= 0 and json_in(value) is not None:
        found: dict[Phrase, None] = {}

        def cut(field: str, said: str) -> str:
            if field in NEVER_TEXT:
                return said
            without, held = _cut_out(said, phrases, nested - 1)
            found.update(dict.fromkeys(held))
            return without

        return with_strings(value, cut), list(found)
    held = []
    for phrase in phrases:
        without = phrase.out_of(value)
        if without != value:
            held.append(phrase)
            value = without
    return value, held


def json_in(value: str) -> Any:
    """The list or object that a value is in JSON, None for anything else."""
    value = value.removeprefix("\ufeff")
    if value.lstrip()[:1] not in ("{", "["):
        return None
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return None


def with_strings(
    document: str,
    change: Callable[[str, str], str],
    rename: Callable[[str], str] = str,
    number: Callable[[str, str], str] = lambda field, said: said,
) -> str:
    """A document in JSON with other strings, names of fields and numbers; all else stays as it is written.

    `change` makes of the field a string is the value of, "" for none, and the string what stands in its place, `rename`
    of a name; a number of which `number` makes anything else becomes a string.
    """
    parts, end, field, named_until = list[str](), 0, "", None
    for token in _JSON_TOKEN.finditer(document):
        written = token[1]
        said = token[0] if written is None else json.loads(written) if "\\" in written else written[1:-1]
        if token[2] is not None:
            new, field, named_until = rename(said), said, token.end()
        else:
            is_its = named_until is not None and not document[named_until : token.start()].strip()
            new = (number if written is None else change)(field if is_its else "", said)
            named_until = None
        if new != said:
            parts += [document[end : token.start()], _json_string(new), token[2] or ""]
            end = token.end()
    return "".join([*parts, document[end:]])


def _json_string(text: str) -> str:
    written = json.dumps(text, ensure_ascii=False)
    try:
        written.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        # Half a character, which JSON can name and UTF-8 cannot hold.
        return json.dumps(text)
    return written


_LONGEST_LINE = 64_000_000
_AFTER_KEY = "**: "
_MOST_KEYS = 8
_LINE_END = "\n"
_TOTAL = re.compile(r"(\s*\*\*Total core memories:\*\*\s*)(\d+)")

Span = tuple[int, int, list[Text]]
"""First line, the line after the last, and the texts that these lines hold."""


def lines_of(data: bytes) -> list[str]:
    """The lines of a file with their ends; joined and encoded by `bytes_of` they are the same bytes again."""
    text = data.decode("utf-8", "surrogateescape")
    lines = [f"{line}\n" for line in text.split("\n")]
    lines[-1] = lines[-1][:-1]
    return lines


def bytes_of(lines: Sequence[str]) -> bytes:
    """The bytes these lines were decoded from."""
    return "".join(lines).encode("utf-8", "surrogateescape")


class LineSearch:
    """The texts made ready to be looked for in many files; `size` is how many bytes these have in all.

    Only the first `inside` texts are also looked for inside lines, so that many texts in many files end in time.
    """

    def __init__(self, wanted: Wanted, size: int = 0) -> None:
        self.inside = min(len(wanted.texts), max(1, COMPARED // max(1, size)))
        self._by_first: dict[str, list[tuple[list[str], Text]]] = {}
        self._raw: dict[bytes, list[Text]] = {}
        for at, text in enumerate(wanted.texts):
            content = text.content.strip(WHITE_SPACE)
            own = [line.strip(WHITE_SPACE) for line in content.split("\n")]
            if content:
                self._by_first.setdefault(own[0], []).append((own, text))
            if len(content) >= SHORT and at < self.inside:
                self._raw.setdefault(raw(content), []).append(text)

    def spans_of(self, lines: Sequence[str]) -> list[Span]:
        """First line, the line after the last, and the texts they hold, in the order of the lines; they may overlap.

        A text is held by the lines that are it, with or without the `- **key**: ` of a ZeroClaw entry before it, and by
        lines that have it amid more, unless it is short.
        """
        held: dict[tuple[int, int], dict[Text, None]] = {}
        for start, end, texts in (*self._as_entries(lines), *self._amid(lines)):
            held.setdefault((start, end), {}).update(dict.fromkeys(texts))
        return [(start, end, list(held[start, end])) for start, end in sorted(held)]

    def _as_entries(self, lines: Sequence[str]) -> Iterator[Span]:
        trimmed = [line.strip(WHITE_SPACE) for line in lines]
        for at, line in enumerate(trimmed):
            for form in _forms(line):
                for own, text in self._by_first.get(form, ()):
                    if len(own) == 1 or own[1:] == trimmed[at + 1 : at + len(own)]:
                        yield at, at + len(own), [text]

    def _amid(self, lines: Sequence[str]) -> Iterator[Span]:
        whole = bytes_of(lines)
        starts: list[int] = []
        for content, texts in self._raw.items():
            at = whole.find(content)
            while at >= 0:
                starts = starts or list(accumulate((len(raw(line)) for line in lines[:-1]), initial=0))
                last = at + len(content) - 1
                yield bisect_right(starts, at) - 1, bisect_right(starts, last), texts
                at = whole.find(content, last + 1)


def without(lines: Sequence[str], spans: Iterable[Span]) -> list[str]:
    """The other lines."""
    gone = {at for start, end, _ in spans for at in range(start, end)}
    return [line for at, line in enumerate(lines) if at not in gone]


def searched(path: Path, phrases: Phrases, stop: threading.Event) -> set[Text]:
    """The texts in a file of lines, each of which may be JSON; reads it in pieces. Raises OSError."""
    held: set[Text] = set()
    for piece in _pieces(path) if phrases.all else ():
        if stop.is_set():
            break
        maybe: dict[int, dict[Phrase, None]] = {}
        for at, phrase in phrases.heads.hits(piece):
            if held.issuperset(phrase.texts):
                continue
            if _spans_lines(phrase) and piece.startswith(raw(phrase.content), at):
                held.update(phrase.texts)
            maybe.setdefault(piece.rfind(b"\n", 0, at) + 1, {})[phrase] = None
        for start, some in maybe.items():
            chosen = [phrase for phrase in some if not held.issuperset(phrase.texts)]
            end = piece.find(b"\n", start)
            line = piece[start : end if end >= 0 else len(piece)].decode("utf-8", "surrogateescape") if chosen else ""
            held.update(text for phrase in cut_out(line, chosen)[1] for text in phrase.texts)
    return held


def searched_as_bytes(path: Path, phrases: Phrases, stop: threading.Event) -> set[Text]:
    """The texts in a file of any form, as they are or as JSON writes them; reads it in pieces. Raises OSError."""
    held: set[Text] = set()
    if not phrases.all:
        return held
    forms_of = {phrase: [raw(form) for form in phrase.forms] for phrase in phrases.all}
    longest = max(len(form) for forms in forms_of.values() for form in forms)
    before = b""
    for more in raw_pieces(path):
        if stop.is_set():
            break
        piece = before + more
        for at, phrase in phrases.heads.hits(piece):
            if any(piece.startswith(form, at) for form in forms_of[phrase]):
                held.update(phrase.texts)
        before = piece[-longest:]
    return held


def cut_from_lines(lines: Sequence[str], phrases: Phrases) -> tuple[list[str], set[Text]]:
    """The lines with `REMOVED` for the texts in them, JSON staying JSON, and which texts went."""
    held: set[Text] = set()
    together = "".join(lines)
    for phrase in filter(_spans_lines, phrases.all):
        if phrase.content in together:
            together = together.replace(phrase.content, REMOVED)
            held.update(phrase.texts)
    kept = lines_of(raw(together)) if held else list(lines)
    starts = list(accumulate((len(raw(line)) for line in kept[:-1]), initial=0))
    maybe: dict[int, dict[Phrase, None]] = {}
    for at, phrase in phrases.heads.hits(raw(together)):
        maybe.setdefault(bisect_right(starts, at) - 1, {})[phrase] = None
    for number, some in maybe.items():
        end = kept[number][len(kept[number].rstrip("\r\n")) :]
        cut, gone = cut_out(kept[number].removesuffix(end), list(some))
        kept[number] = cut + end
        held.update(text for phrase in gone for text in phrase.texts)
    return kept, held


def _spans_lines(phrase: Phrase) -> bool:
    """Whether a content can stand on several lines of a file that is no JSON."""
    return _LINE_END in phrase.content


def _pieces(path: Path) -> Iterator[bytes]:
    """Whole lines, some megabytes of them at a time."""
    before = b""
    for more in raw_pieces(path):
        piece = before + more
        end = piece.rfind(b"\n") + 1
        if not end and len(piece) > _LONGEST_LINE:
            end = len(piece)
        before = piece[end:]
        if end:
            yield piece[:end]
    yield before


def _forms(line: str) -> Iterator[str]:
    """What the content may be of an entry that this line begins."""
    if not line:
        return
    yield line
    entry = line.removeprefix("- ")
    if entry != line:
        yield entry
    if entry.startswith("**"):
        at = 0
        for _ in range(_MOST_KEYS):
            at = entry.find(_AFTER_KEY, at)
            if at < 0:
                return
            at += len(_AFTER_KEY)
            yield entry[at:].strip(WHITE_SPACE)


def spans_in_snapshot(
    lines: Sequence[str], wanted: Wanted, living: Mapping[str, set[str]] | None = None
) -> Iterator[Span]:
    """First line, the line after the last, and the texts of each memory of the file that is one of the texts.

    It is when its content is the same, or its key is that of a memory no longer stored. `living` has the contents
    stored under each key: a memory still stored is no copy, and where its content has lines that look like entries
    these belong to it. Of a content with such lines, one that looks like an entry of its own to the last line may be
    one, and is taken for one.
    """
    file = _File(lines)
    stored = living or {}
    by_content = _by_content(wanted)
    at = 0
    while at < len(file.parts):
        texts, taken = _texts_at(file, at, by_content, wanted, stored)
        if texts:
            yield file.parts[at].start, file.parts[at + taken - 1].end, texts
        at += taken


def keys_in_question(lines: Sequence[str], wanted: Wanted) -> set[str]:
    """The keys whose stored contents `spans_in_snapshot` needs to know; none where nothing can be found."""
    found_any = any(True for _ in spans_in_snapshot(lines, wanted))
    return {part.key for part in parts_in(lines)} if found_any else set()


def without_entries(lines: Sequence[str], spans: Iterable[Span]) -> list[str]:
    """The other lines of a snapshot, with the total in its head as it is then."""
    gone: set[int] = set()
    memories = 0
    for start, end, _ in spans:
        gone.update(range(start, end))
        memories += 1
    kept = [line for at, line in enumerate(lines) if at not in gone]
    for at, line in enumerate(kept):
        if key_in(line) is not None:
            break
        if head := _TOTAL.match(line):
            left = max(0, int(head[2]) - memories)
            kept[at] = f"{head[1]}{left}{line[head.end() :]}"
            break
    return kept


class _File:
    """A snapshot's lines, and what ZeroClaw reads of them."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.parts = parts_in(lines)
        self._lines = lines

    def taken_by(self, at: int, written: _Written) -> int:
        """How many parts from this one on are a content as ZeroClaw wrote it; 0 when they are not."""
        parts = self.parts[at : at + written.parts]
        if parts[0].content != written.first or len(parts) < written.parts:
            return 0
        if written.parts == 1:
            return 1
        # The end of an entry may stand between two parts that are two entries: only all lines tell.
        held = filled(self._lines[parts[0].start + 1 : parts[-1].end])
        own = len(written.lines)
        is_it = held[:own] == list(written.lines) and all(map(is_dropped, held[own:]))
        return written.parts if is_it else 0

    def may_be_others(self, at: int, taken: int) -> bool:
        """Whether one of the parts behind the first stands behind what ends an entry."""
        return any(follows_an_end(self._lines, part.start) for part in self.parts[at + 1 : at + taken])


def _texts_at(
    file: _File, at: int, by_content: Mapping[str, list[tuple[_Written, Text]]], wanted: Wanted,
    stored: Mapping[str, set[str]],
) -> tuple[list[Text], int]:  # fmt: skip
    """The texts that begin with this part, and how many parts they take up (at least 1)."""
    part = file.parts[at]
    same: dict[Text, None] = {}
    taken = 0
    for written, text in by_content.get(part.content, ()):
        parts = file.taken_by(at, written) if part.content or text.key == part.key else 0
        if parts and not file.may_be_others(at, parts):
            same[text] = None
            taken = max(taken, parts)
    kept = max((file.taken_by(at, _written(content)) for content in stored.get(part.key, ())), default=0)
    if kept and kept >= taken:
        return [], kept
    if part.key and part.key not in stored:
        same |= dict.fromkeys(wanted.by_key.get(part.key, ()))
    return list(same), max(taken, 1)


def _by_content(wanted: Wanted) -> dict[str, list[tuple[_Written, Text]]]:
    found: dict[str, list[tuple[_Written, Text]]] = {}
    for text in wanted.texts:
        written = _written(text.content)
        found.setdefault(written.first, []).append((written, text))
    return found


@dataclass(frozen=True, slots=True)
class _Written:
    """A content in a snapshot: what comes back of it first, and in how many parts, as lines may look like entries.

    `lines` are all but the blank ones, trimmed.
    """

    first: str
    parts: int
    lines: tuple[str, ...]


def _written(content: str) -> _Written:
    lines = content.split(_LINE_END)
    heads = [at for at, line in enumerate(lines) if key_in(line) is not None]
    first = lines[: heads[0]] if heads else lines
    return _Written(content_of(first), 1 + len(heads), tuple(filled(lines)))
