"""MEMORY_SNAPSHOT.md: which of its entries hold a text, and the file without them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from zeroclaw_tui.curation.copies_found import Span, Text, Wanted
from zeroclaw_tui.memory.text import WHITE_SPACE

NAME = "MEMORY_SNAPSHOT.md"
_OPENS, _CLOSES = "### 🔑 `", "`"
_LINE_END = "\n"
_TOTAL = re.compile(r"(\s*\*\*Total core memories:\*\*\s*)(\d+)")


@dataclass(frozen=True, slots=True)
class Part:
    """What ZeroClaw reads as one entry; `start` and `end` are lines of the file."""

    key: str
    content: str
    start: int = 0
    end: int = 0


def parts_in(lines: Sequence[str]) -> list[Part]:
    """The entries as ZeroClaw's hydration reads them, those without content too.

    A trimmed line that begins with ``### 🔑 ` `` and ends with a backtick opens one; lines that are `---` or begin
    with `*Created:` are no content.
    """
    heads = [(at, key) for at, line in enumerate(lines) if (key := _key_in(line)) is not None]
    ends = [*(at for at, _ in heads[1:]), len(lines)]
    return [Part(key, _content(lines[at + 1 : end]), at, end) for (at, key), end in zip(heads, ends, strict=True)]


def spans_of(lines: Sequence[str], wanted: Wanted, living: Mapping[str, set[str]] | None = None) -> Iterator[Span]:
    """First line, the line after the last, and the texts of each memory of the file that is one of the texts.

    It is when its content is the same, or its key is that of a memory no longer stored. `living` has the contents
    stored under each key: a memory still stored is no copy.
    """
    stored = living or {}
    parts = parts_in(lines)
    by_content = _by_content(wanted)
    at = 0
    while at < len(parts):
        texts, taken = _texts_at(parts, at, by_content, wanted, stored)
        if texts:
            yield parts[at].start, parts[at + taken - 1].end, texts
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
        if _key_in(line) is not None:
            break
        if head := _TOTAL.match(line):
            left = max(0, int(head[2]) - memories)
            kept[at] = f"{head[1]}{left}{line[head.end() :]}"
            break
    return kept


def _texts_at(
    parts: Sequence[Part],
    at: int,
    by_content: Mapping[str, list[tuple[tuple[str, ...], Text]]],
    wanted: Wanted,
    stored: Mapping[str, set[str]],
) -> tuple[list[Text], int]:
    """The texts that begin with this part, and how many parts they take up (at least 1)."""
    part = parts[at]
    for content in stored.get(part.key, ()):
        if _begins(parts, at, contents := _written(part.key, content)):
            return [], len(contents)
    same: dict[Text, None] = {}
    taken = 1
    for contents, text in by_content.get(part.content, ()):
        if _begins(parts, at, contents) and (part.content or text.key == part.key):
            same[text] = None
            taken = max(taken, len(contents))
    if part.key and part.key not in stored:
        same |= dict.fromkeys(wanted.by_key.get(part.key, ()))
    return list(same), taken


def _begins(parts: Sequence[Part], at: int, contents: tuple[str, ...]) -> bool:
    return tuple(part.content for part in parts[at : at + len(contents)]) == contents


def _by_content(wanted: Wanted) -> dict[str, list[tuple[tuple[str, ...], Text]]]:
    found: dict[str, list[tuple[tuple[str, ...], Text]]] = {}
    for text in wanted.texts:
        contents = _written(text.key, text.content)
        if contents:
            found.setdefault(contents[0], []).append((contents, text))
    return found


def _written(key: str, content: str) -> tuple[str, ...]:
    """The contents that come back of one that ZeroClaw wrote: several where it has lines that look like entries."""
    return tuple(
        part.content for part in parts_in([f"{_OPENS}{_one_line(key) or 'key'}{_CLOSES}", *content.split("\n")])
    )


def _one_line(key: str) -> str:
    return key.replace("\n", " ")


def _key_in(line: str) -> str | None:
    trimmed = line.strip(WHITE_SPACE)
    if trimmed.startswith(_OPENS) and trimmed.endswith(_CLOSES) and len(trimmed) > len(_OPENS):
        return trimmed[len(_OPENS) : -len(_CLOSES)]
    return None


def _content(lines: Iterable[str]) -> str:
    kept = [line.rstrip("\r\n") for line in lines if not _is_dropped(line.strip(WHITE_SPACE))]
    return "\n".join(kept).strip(WHITE_SPACE)


def _is_dropped(trimmed: str) -> bool:
    return trimmed == "---" or trimmed.startswith("*Created:")
