"""The lines of a file that hold a text, and the file without them: notes in Markdown, lines of JSON, the snapshot."""

from __future__ import annotations

import re
import threading
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

from zeroclaw_tui.curation.copies.texts import COMPARED, REMOVED, SHORT, Phrase, Phrases, Text, Wanted, cut_out, raw
from zeroclaw_tui.curation.snapshot.text import content_of, filled, follows_an_end, is_dropped, key_in, parts_in
from zeroclaw_tui.memory.text import WHITE_SPACE

AT_ONCE = 16_000_000
"""Bytes of a file that are in memory at once, as long as no line is longer than four times that."""
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
    with path.open("rb") as file:
        while (more := file.read(AT_ONCE)) and not stop.is_set():
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
    """Whole lines, about AT_ONCE bytes of them at a time."""
    before = b""
    with path.open("rb") as file:
        while more := file.read(AT_ONCE):
            piece = before + more
            end = piece.rfind(b"\n") + 1
            if not end and len(piece) > 4 * AT_ONCE:
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
    """The keys whose stored contents `spans_of` needs to know; none where nothing can be found."""
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
