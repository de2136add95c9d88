"""What is looked for when copies of texts are, and what is told of each place where some lie."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from zeroclaw_tui.memory.errors import InspectorError
from zeroclaw_tui.memory.text import WHITE_SPACE

Kind = Literal[
    "memories", "embedding cache", "snapshot", "archive", "markdown", "write-ahead log", "free pages", "backup",
    "trash", "audit", "response cache", "other database", "lucid",
]  # fmt: skip

SHORT = 8
"""Contents of fewer characters count only as a whole row, entry or line: as a part of others they are everywhere."""
LARGEST = 200_000_000
"""Files of more bytes are not read."""
COMPARED = 5_000_000_000
"""How many bytes are compared with texts in one kind of place, about a second of work; what is left is told."""
FRAGMENT = 200
"""Bytes of a long content that are looked for in a database file, where pages cut longer ones apart."""


@dataclass(frozen=True, slots=True)
class Text:
    """A memory's key and content, as they were."""

    id: str
    key: str
    content: str


@dataclass(frozen=True, slots=True)
class Copy:
    """A place where texts still lie. `place` is a path or a name for people, `count` how many of the texts.

    `count` None means it cannot be counted, only that they may lie there. `remark` is one sentence: what that means,
    or why it cannot be cleaned here. `texts` are those found there.
    """

    kind: Kind
    place: str
    count: int | None
    can_clean: bool
    remark: str
    texts: tuple[Text, ...] = ()


Span = tuple[int, int, list[Text]]
"""First line, the line after the last, and the texts that these lines hold."""


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


def found(kind: Kind, place: object, texts: tuple[Text, ...], remark: str, *, can_clean: bool = False) -> list[Copy]:
    """The copy these texts make, none when there are none."""
    return [Copy(kind, str(place), len(texts), can_clean, remark, texts)] if texts else []


def not_looked_at(kind: Kind, place: object, error: OSError | InspectorError) -> Copy:
    """A place that could not be read, with the reason."""
    reason = str(error) if isinstance(error, InspectorError) else f"It cannot be read: {error.strerror or error}."
    return Copy(kind, str(place), None, False, f"{reason} Texts may lie there.")


def too_large(kind: Kind, place: Path) -> Copy:
    """A file that is too large to be read."""
    return Copy(
        kind,
        str(place),
        None,
        False,
        f"It is larger than {LARGEST // 1_000_000} MB and was not read; texts may be in it.",
    )


def raw(text: str) -> bytes:
    """A text as the bytes its store holds."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")
