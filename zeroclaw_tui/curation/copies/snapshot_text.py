"""MEMORY_SNAPSHOT.md: which of its entries hold a text, and the file without them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from zeroclaw_tui.curation.copies.found import Span, Text, Wanted
from zeroclaw_tui.curation.snapshot.text import content_of, filled, follows_an_end, is_dropped, key_in, parts_in

_LINE_END = "\n"
_TOTAL = re.compile(r"(\s*\*\*Total core memories:\*\*\s*)(\d+)")


def spans_of(lines: Sequence[str], wanted: Wanted, living: Mapping[str, set[str]] | None = None) -> Iterator[Span]:
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
    found_any = any(True for _ in spans_of(lines, wanted))
    return {part.key for part in parts_in(lines)} if found_any else set()


def without(lines: Sequence[str], spans: Iterable[Span]) -> list[str]:
    """The other lines, with the total in the head as it is then."""
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
