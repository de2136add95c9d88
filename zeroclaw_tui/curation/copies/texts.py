"""The texts looked for beside a store, every form in which a file may hold them, and a file without them.

Files of lines are notes in Markdown, lines of JSON, and ZeroClaw's snapshot.
"""

from __future__ import annotations

import hashlib
import json
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice
from pathlib import Path
from typing import Any

from zeroclaw_tui.curation.formats.snapshot import content_of, filled, follows_an_end, is_dropped, key_in, parts_in
from zeroclaw_tui.files.database import iter_raw_chunks
from zeroclaw_tui.memory.text import WHITE_SPACE

SHORT = 8
"""Contents of fewer characters count only as a whole row of memories, entry or line: as a part of others, and in what
other tables and JSON hold, they are everywhere."""
COMPARED = 5_000_000_000
"""How many bytes are compared with texts in one kind of place, about a second of work; what is left is told."""
MAX_TEXTS = 50
"""So many texts are searched for in chats, traces, databases and other files; each is looked for by itself."""
REMOVED = "[removed]"
"""What stands in place of a text that was cut out of a longer value."""

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

    `forms` are the content as it is, in a string of JSON, and in JSON within such a string, as a traced request has it.
    """

    content: str
    texts: tuple[Text, ...]
    forms: tuple[str, ...]

    def out_of(self, value: str) -> str:
        """A value that is no JSON, with REMOVED for the content."""
        for form in self.forms:
            value = value.replace(form, REMOVED)
        return value


class Phrases:
    """The contents made ready to be searched for in bytes and in values: the first MAX_TEXTS that are not short."""

    def __init__(self, wanted: Wanted) -> None:
        self.wanted = wanted
        by_content: dict[str, list[Text]] = {}
        for content, texts in wanted.by_content.items():
            if len(content.strip(WHITE_SPACE)) >= SHORT:
                by_content.setdefault(content.strip(WHITE_SPACE), []).extend(texts)
        self.all = [
            Phrase(content, tuple(texts), tuple(dict.fromkeys(reversed([*_forms_of(content)]))))
            for content, texts in islice(by_content.items(), MAX_TEXTS)
        ]
        self.is_cut = len(by_content) > MAX_TEXTS

    def in_values(self, values: Iterable[str]) -> set[Text]:
        """The texts that some values hold."""
        together = "\0".join(values)
        return {text for phrase in self.all if any(form in together for form in phrase.forms) for text in phrase.texts}


def cut_out(value: str, phrases: Sequence[Phrase]) -> tuple[str, list[Phrase]]:
    """A value with REMOVED for what it holds of these, and which those are; JSON stays JSON.

    A value in which none is found comes back as it is, to the byte.
    """
    found = [phrase for phrase in phrases if any(form in value for form in phrase.forms)]
    if not found or json_in(value) is None:
        return _replaced(value, found), found
    cut = with_strings(value, lambda field, text: text if field in NEVER_TEXT else _replaced(text, found))
    return cut, found if cut != value else []


def _replaced(value: str, phrases: Iterable[Phrase]) -> str:
    for phrase in phrases:
        value = phrase.out_of(value)
    return value


def cache_hash(content: str) -> str:
    """The name of a content in ZeroClaw's embedding cache: 8 bytes of its SHA-256 in hexadecimal."""
    return hashlib.sha256(raw(content)).hexdigest()[:16]


def raw(text: str) -> bytes:
    """A text as the bytes its store holds."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


def _forms_of(content: str) -> Iterator[str]:
    yield content
    for once in _escaped(content):
        yield once
        yield from _escaped(once)


def _escaped(form: str) -> tuple[str, str]:
    """As it is in a string of JSON: with letters as they are, and with all but ASCII as \\uXXXX."""
    return json.dumps(form, ensure_ascii=False)[1:-1], json.dumps(form)[1:-1]


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


def searched(path: Path, phrases: Phrases, check: Callable[[], None]) -> set[Text]:
    """The texts in a file of any form, as they are or as JSON writes them; reads it in pieces. Raises OSError."""
    held: set[Text] = set()
    forms_of = {phrase: [raw(form) for form in phrase.forms] for phrase in phrases.all}
    longest = max((len(form) for forms in forms_of.values() for form in forms), default=0)
    before = b""
    for more in iter_raw_chunks(path) if forms_of else ():
        check()
        piece = before + more
        for phrase, forms in forms_of.items():
            if not held.issuperset(phrase.texts) and any(form in piece for form in forms):
                held.update(phrase.texts)
        before = piece[-longest:]
    return held


def cut_from_lines(lines: Sequence[str], phrases: Phrases) -> tuple[list[str], set[Text]]:
    """The lines with `REMOVED` for the texts in them, JSON staying JSON, and which texts went."""
    held: set[Text] = set()
    whole = "".join(lines)
    for phrase in phrases.all:
        if _LINE_END in phrase.content and phrase.content in whole:
            whole = whole.replace(phrase.content, REMOVED)
            held.update(phrase.texts)
    kept = lines_of(raw(whole))
    for number, line in enumerate(kept):
        end = line[len(line.rstrip("\r\n")) :]
        cut, gone = cut_out(line.removesuffix(end), phrases.all)
        kept[number] = cut + end
        held.update(text for phrase in gone for text in phrase.texts)
    return kept, held


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
