"""Our lossless JSONL: a header, then one memory a line, every column exactly as its store holds it.

The header is {"zeroclaw_memories": 1, "exported", "backend", "generation", "profile", "vectors", "embedding"}. A line
has the names the commands print a memory with, a name being left out where the store has no such column; "columns" has
every other column, and those whose value JSON or the name cannot hold, as `exact_values` packs them. "rowid" is where a
row of SQLite lay, "embedding" its vector (float32 little-endian) in base64 where vectors were asked for.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from zeroclaw_tui.curation.transfer.exact_values import as_base64, from_base64, is_plain, packed, shown, unpacked
from zeroclaw_tui.memory.change import StoredRow, Value
from zeroclaw_tui.memory.entry import kind_from
from zeroclaw_tui.memory.errors import WrongUse
from zeroclaw_tui.memory.text import one_line

MARK = "zeroclaw_memories"
VERSION = 1
WRITES = "`zeroclaw memory export` writes"

_TEXTS = {
    "id": "id",
    "key": "key",
    "content": "content",
    "category": "category",
    "timestamp": "created_at",
    "updated_at": "updated_at",
    "session_id": "session_id",
    "namespace": "namespace",
    "importance": "importance",
    "superseded_by": "superseded_by",
    "kind": "kind",
    "pinned": "pinned",
}
"""The names of a line, and the columns they stand for."""
_IS_TEXT = frozenset(_TEXTS) - {"importance", "kind", "pinned"}
_VECTOR, _DIMENSIONS, _OTHERS, _ROWID, _AGENT = "embedding", "embedding_dimensions", "columns", "rowid", "agent"
_NAME_LENGTH = 40


@dataclass(frozen=True, slots=True)
class Identity:
    """What made the vectors of a store."""

    provider: str
    model: str
    dimensions: int


@dataclass(frozen=True, slots=True)
class Header:
    """The first line of an export: when (RFC 3339) and from what. `embedding` is None where that is not known."""

    exported: str
    backend: str
    generation: str | None = None
    profile: str | None = None
    vectors: bool = False
    embedding: Identity | None = None


def header_line(header: Header) -> bytes:
    """The first line, with its line end."""
    identity = header.embedding
    return _line(
        {
            MARK: VERSION,
            "exported": header.exported,
            "backend": header.backend,
            "generation": header.generation,
            "profile": header.profile,
            "vectors": header.vectors,
            "embedding": None
            if identity is None
            else {"provider": identity.provider, "model": identity.model, "dimensions": identity.dimensions},
        }
    )


def header_of_line(line: bytes) -> Header | None:
    """The header a first line is; None when it is a memory. Raises WrongUse for what is neither."""
    parts = _parsed(line, 1)
    if MARK not in parts:
        return None
    if parts[MARK] != VERSION:
        raise WrongUse(
            f"This export is of version {one_line(str(parts[MARK]))[:20]}, which this program does not know.",
            hint="A newer zeroclaw-tui wrote it.",
        )
    identity = parts.get(_VECTOR)
    return Header(
        _text_or(parts.get("exported"), ""),
        _text_or(parts.get("backend"), ""),
        _text_or(parts.get("generation"), None),
        _text_or(parts.get("profile"), None),
        parts.get("vectors") is True,
        _identity(identity) if isinstance(identity, dict) else None,
    )


def line_of(row: StoredRow, *, vectors: bool) -> bytes:
    """A memory as one line, with its line end; without `vectors` only the vector is lost."""
    values = row.values
    parts: dict[str, Any] = {}
    others: dict[str, Any] = {}
    for name, column in _TEXTS.items():
        if column in values:
            parts[name] = _told(name, values[column])
            if not _is_exactly(_value_of(name, parts[name]), values[column]):
                others[column] = packed(values[column])
    parts[_AGENT] = packed(row.agent)
    others |= {name: packed(value) for name, value in values.items() if name not in _COLUMNS and name != _VECTOR}
    if _VECTOR in values:
        _add_vector(parts, others, values[_VECTOR], vectors=vectors)
    elif _DIMENSIONS in others:
        parts[_DIMENSIONS] = others[_DIMENSIONS]
    if isinstance(row.handle, int):
        parts[_ROWID] = row.handle
    if others:
        parts[_OTHERS] = others
    return _line(parts)


def row_of_line(line: bytes, number: int) -> StoredRow:
    """The memory of a line. Raises WrongUse naming the line when it is not one."""
    parts = _parsed(line, number)
    try:
        return _row(parts)
    except ValueError as failure:
        raise WrongUse(
            f"Line {number:,} is not a memory: {failure}.", hint=f"It needs at least key and content, as {WRITES} them."
        ) from failure


def storable_row_of_line(line: bytes, number: int) -> StoredRow:
    """As `row_of_line`; WrongUse also for a lone surrogate that stands for no byte, which no store can take."""
    row = row_of_line(line, number)
    try:
        for value in (row.id, row.agent, *row.values.values()):
            if isinstance(value, str):
                value.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as failure:
        raise WrongUse(
            f"Line {number:,} holds half a character, which no database can take.", hint="Take it out of the line."
        ) from failure
    return row


def _row(parts: Mapping[str, Any]) -> StoredRow:
    given = parts.get(_OTHERS, {})
    if not isinstance(given, dict):
        raise ValueError("its columns are no object")
    others: dict[str, Value] = {name: _named(name, unpacked, value) for name, value in given.items()}
    values: dict[str, Value] = {}
    for name, column in _TEXTS.items():
        if column in others:
            values[column] = others.pop(column)
        elif name in parts:
            values[column] = _named(name, lambda value, name=name: _value_of(name, value), parts[name])
    for name in ("key", "content"):
        if name not in values:
            raise ValueError(f"it has no {name}")
    if _VECTOR in parts:
        values[_VECTOR] = _named(_VECTOR, _vector_of, parts[_VECTOR])
    elif _DIMENSIONS in parts and _DIMENSIONS not in others:
        values[_VECTOR] = None
    values |= others
    rowid, agent = parts.get(_ROWID), _named(_AGENT, unpacked, parts.get(_AGENT))
    if agent is not None and not isinstance(agent, str):
        raise ValueError("its agent is no text")
    handle = unpacked(rowid) if type(rowid) is int else None
    return StoredRow(_id_of(values.get("id")), values, handle if isinstance(handle, int) else None, agent)


def _add_vector(parts: dict[str, Any], others: dict[str, Any], vector: Value, *, vectors: bool) -> None:
    """A column of vectors shows itself by the name of their dimensions."""
    parts[_DIMENSIONS] = len(vector) // 4 if isinstance(vector, bytes) else None
    if vectors and isinstance(vector, bytes):
        parts[_VECTOR] = as_base64(vector)
    elif vectors and vector is not None:
        others[_VECTOR] = packed(vector)
    elif _DIMENSIONS in others:
        others[_VECTOR] = None


def _told(name: str, value: Value) -> Any:
    """A column's value under the name of a line."""
    if name == "kind":
        return kind_from(value)
    if name == "pinned":
        return None if value is None else bool(value)
    if name in _IS_TEXT:
        return shown(value)
    if name == "importance":
        return value if type(value) in (int, float) and is_plain(value) else None
    return value if is_plain(value) else None


def _value_of(name: str, told: Any) -> Value:
    """The column's value that is meant under a name. Raises ValueError."""
    if told is None:
        return None
    if name == "kind":
        return kind_stored(told)
    if name == "pinned" and isinstance(told, bool | int):
        return int(told)
    if name in _IS_TEXT and isinstance(told, str):
        return told
    if name == "importance" and type(told) in (int, float):
        return unpacked(told)
    raise ValueError("no text" if name in _IS_TEXT else "no number")


def kind_stored(told: Any) -> str:
    """A kind in words as ZeroClaw stores it. Raises ValueError for one it does not know."""
    if not isinstance(told, str):
        raise ValueError("no text")
    base, colon, what = told.partition(":")
    stored = json.dumps({base: what} if colon else base, separators=(",", ":"))
    if kind_from(stored) != told:
        raise ValueError("no kind that ZeroClaw knows")
    return stored


def _named(name: str, meant: Any, told: Any) -> Value:
    try:
        value: Value = meant(told)
    except (ValueError, UnicodeError) as failure:
        raise ValueError(f"what stands in {one_line(name)[:_NAME_LENGTH]} is {failure}") from failure
    return value


def _vector_of(told: Any) -> bytes | None:
    if told is None:
        return None
    if not isinstance(told, str):
        raise ValueError("no base64")
    return from_base64(told)


def _is_exactly(one: Value, other: Value) -> bool:
    """Also told apart: 1 and 1.0, 0.0 and -0.0. A bool is the integer it is stored as."""
    if isinstance(other, bool):
        other = int(other)
    return type(one) is type(other) and repr(one) == repr(other)


def _id_of(value: Value) -> str:
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    return "" if value is None else str(value)


def _parsed(line: bytes, number: int) -> dict[str, Any]:
    try:
        parts = json.loads(line.decode("utf-8"))
    except UnicodeDecodeError as failure:
        raise WrongUse(f"Line {number:,} is not UTF-8.", hint=f"JSONL as {WRITES} it is.") from failure
    except (ValueError, RecursionError) as failure:
        cut = "" if line.endswith(b"\n") else " The file seems to have been cut off there."
        raise WrongUse(f"Line {number:,} is not JSON.{cut}", hint=f"JSONL is what {WRITES}.") from failure
    if not isinstance(parts, dict):
        raise WrongUse(f"Line {number:,} is not a memory.", hint=f"Each line is an object, as {WRITES} them.")
    return parts


def _identity(parts: Mapping[str, Any]) -> Identity | None:
    provider, model, dimensions = (parts.get(name) for name in ("provider", "model", "dimensions"))
    if isinstance(provider, str) and isinstance(model, str) and isinstance(dimensions, int):
        return Identity(provider, model, dimensions)
    return None


def _text_or(value: Any, otherwise: Any) -> Any:
    return value if isinstance(value, str) else otherwise


def _line(parts: Mapping[str, Any]) -> bytes:
    text = json.dumps(parts, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    try:
        return text.encode("utf-8") + b"\n"
    except UnicodeEncodeError:
        # A column's name is no Unicode; escaped it is what it was.
        return json.dumps(parts, separators=(",", ":"), allow_nan=False).encode("ascii") + b"\n"


_COLUMNS = frozenset(_TEXTS.values())
