"""What every format of another tool is: how it is known by its content, and how its memories are read.

A reader yields memories as `StoredRow` without an id: key, content, category, created_at, updated_at by the names of
ZeroClaw's columns, and where the tool has them namespace, session_id, importance (0 to 1), pinned (0 or 1),
superseded_by (the key of the newer memory), kind (as ZeroClaw stores it) and embedding (float32, little-endian). The
agent is the row's own. A key is made of the tool's own id, or of title and content: the same memory has the same key
each time it is read, which is how an import brings only what is new.
"""

from __future__ import annotations

import hashlib
import math
import re
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, ClassVar

from zeroclaw_tui.curation.formats.source import Report, Source
from zeroclaw_tui.memory.change import StoredRow, Value

LONGEST_SLUG = 40
_MILLISECONDS_FROM = 1e11
_NAIVE_UTC = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)?")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_NO_SLUG = re.compile(r"[^\w]+|_+")


@dataclass(frozen=True, slots=True)
class Likeness:
    """How far a source looks like a format: 1.0 is certain; under 0.5 it is only named as what comes nearest.

    `why` completes the sentence "It looks like X: …".
    """

    degree: float
    why: str


class ForeignFormat(ABC):
    """One tool's memories in a file or folder."""

    name: ClassVar[str]
    """What `--from` calls it."""
    title: ClassVar[str]
    """What people call it."""

    @abstractmethod
    def likeness(self, source: Source) -> Likeness | None:
        """How far it is that, by its content; None where nothing speaks for it. Reads as little as will do."""

    @abstractmethod
    def memories(self, source: Source, report: Report) -> Iterator[tuple[str, StoredRow]]:
        """Every memory with the place it stands at, for people ("notes/bees.md, line 3"), in the order of the source.

        Fills the report while it is read. Raises WrongUse or Unreadable naming the place where nothing further can be
        read; a single broken memory is counted in the report, not fatal.
        """


def memory_row(
    key: str,
    content: str,
    category: str | None,
    *,
    created: str | None,
    updated: str | None = None,
    agent: str | None = None,
    **values: Value,
) -> StoredRow:
    """A memory to import; what is None is left out."""
    every: dict[str, Value] = {"key": key, "content": content, "category": category_of(category)}
    every |= {"created_at": created, "updated_at": updated or created, **values}
    return StoredRow("", {name: value for name, value in every.items() if value is not None}, None, agent)


def category_of(name: str | None) -> str:
    """A tool's category or type: one of ZeroClaw's three or a custom one, in lower case; core for none or "misc"."""
    slugged = slug(name or "")
    return "core" if slugged in ("", "general", "misc") else slugged


def slug(text: str) -> str:
    """A text as part of a key: letters and digits of any script in lower case, `_` between, at most 40 characters."""
    plain = unicodedata.normalize("NFKC", text).lower()
    return _NO_SLUG.sub("_", plain).strip("_")[:LONGEST_SLUG].strip("_")


def digest(content: str, length: int = 8) -> str:
    """The first hex digits of a content's SHA-256, for keys of what has no id."""
    return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:length]


def titled_key(tool: str, title: str, content: str) -> str:
    """The key of a memory without an id: `<tool>_<slug of title>_<8 hex of its content>`."""
    return "_".join(part for part in (tool, slug(title), digest(content)) if part)


def identified_key(tool: str, id: str, length: int = 12) -> str:
    """The key of a memory with an id: `<tool>_<the first hex digits of a UUID, else a slug of the id>`."""
    plain = id.replace("-", "").lower()
    is_uuid = len(plain) == 32 and all(character in "0123456789abcdef" for character in plain)
    return f"{tool}_{plain[:length] if is_uuid else slug(id) or digest(id)}"


def moment_of(value: Any) -> str | None:
    """A tool's time as RFC 3339 with a zone; None for what is none.

    Text with a zone stays as it is, `YYYY-MM-DD HH:MM:SS` is SQLite's UTC, numbers are seconds since 1970, or
    milliseconds from 1e11 on, a day begins at midnight of the local zone, and other times without a zone are local.
    """
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        if not math.isfinite(value) or value < 0:
            return None
        try:
            moment = datetime.fromtimestamp(value / 1000 if value >= _MILLISECONDS_FROM else value, UTC)
        except (OverflowError, OSError, ValueError):
            return None
        return moment.isoformat()
    if not isinstance(value, str):
        return None
    text = value.strip()
    try:
        parsed = datetime.fromisoformat(text)
    except ValueError:
        return None
    if _NAIVE_UTC.fullmatch(text):
        return parsed.replace(tzinfo=UTC).isoformat()
    if parsed.tzinfo is None:
        return parsed.astimezone().isoformat()
    return text


def is_day(value: Any) -> bool:
    """Whether a time says only the day."""
    return isinstance(value, str) and _DAY.fullmatch(value.strip()) is not None


def text_at(record: Mapping[str, Any], *names: str) -> str | None:
    """The first of these fields that holds text which is not blank."""
    for name in names:
        value = record.get(name)
        if isinstance(value, str) and value.strip():
            return value
    return None
