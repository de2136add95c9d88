"""Memories as JSON Lines: every column exactly, also where JSON has no such value."""

from __future__ import annotations

import base64
import binascii
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from zeroclaw_tui.memory.change import Row, Value
from zeroclaw_tui.memory.entry import column_text, kind_from
from zeroclaw_tui.memory.errors import UsageError
from zeroclaw_tui.memory.text import is_unicode, one_line

_BLOB, _BYTES, _SURROGATES, _REAL = "base64", "text_bytes", "surrogates", "real"
_LEAST, _MOST = -(2**63), 2**63 - 1


def is_plain(value: Value) -> bool:
    """Whether JSON has this value itself: NULL, a number that is finite, or text that is Unicode."""
    if isinstance(value, str):
        return is_unicode(value)
    if isinstance(value, float):
        return math.isfinite(value)
    return not isinstance(value, bytes)


def packed(value: Value) -> Any:
    """A value as JSON: itself where it can be, else an object of one name.

    {"base64"} is a blob, {"text_bytes"} text by its bytes in base64 that are no UTF-8, {"surrogates"} text with other
    lone surrogates, in base64 too, {"real"} "inf", "-inf" or "nan".
    """
    if is_plain(value):
        return int(value) if isinstance(value, bool) else value
    if isinstance(value, bytes):
        return {_BLOB: as_base64(value)}
    if isinstance(value, float):
        return {_REAL: repr(value)}
    name, data = _encoded(str(value))
    return {name: as_base64(data)}


def unpacked(packed: Any) -> Value:
    """The value that was packed. Raises ValueError for anything else."""
    if isinstance(packed, bool):
        return int(packed)
    if isinstance(packed, int) and not _LEAST <= packed <= _MOST:
        raise ValueError("a number of more than 64 bits")
    if isinstance(packed, float) and not math.isfinite(packed):
        raise ValueError("no finite number")
    if packed is None or isinstance(packed, str | int | float):
        return packed
    if not isinstance(packed, dict) or len(packed) != 1:
        raise ValueError("neither a value nor an exact one")
    ((name, text),) = packed.items()
    if not isinstance(text, str):
        raise ValueError("an exact value that is not text")
    return _exact(name, text)


def integer_of(digits: str) -> int | float:
    """An integer of JSON; infinite, as 1e999 is, where it has more digits than Python reads: no field takes that."""
    try:
        return int(digits)
    except ValueError:
        return float(digits)


def shown(value: Value) -> str | None:
    """A value as the text that stands for it where it is only read by people; NULL stays None."""
    if value is None:
        return None
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    text = str(value)
    return text if is_unicode(text) else text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")


def as_base64(data: bytes) -> str:
    """Bytes in base64."""
    return base64.b64encode(data).decode("ascii")


def from_base64(text: str) -> bytes:
    """The bytes of a base64 text. Raises ValueError."""
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as failure:
        raise ValueError("no base64") from failure


def _encoded(text: str) -> tuple[str, bytes]:
    """Bytes that are no UTF-8 are here as surrogate escapes; other lone surrogates have no bytes of their own."""
    try:
        data = text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return _SURROGATES, text.encode("utf-8", "surrogatepass")
    if data.decode("utf-8", "surrogateescape") == text:
        return _BYTES, data
    return _SURROGATES, text.encode("utf-8", "surrogatepass")


def _exact(name: str, text: str) -> Value:
    if name == _REAL:
        return float(text)
    data = from_base64(text)
    if name == _BLOB:
        return data
    if name == _BYTES:
        return data.decode("utf-8", "surrogateescape")
    if name == _SURROGATES:
        return data.decode("utf-8", "surrogatepass")
    raise ValueError(f"no kind of value is called {name}")


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
_NAMES = frozenset(_TEXTS) | {_VECTOR, _DIMENSIONS, _OTHERS, _ROWID, _AGENT}
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
    """The header a first line is; None when it is a memory. Raises UsageError for what is neither."""
    parts = _parsed(line, 1)
    if MARK not in parts:
        return None
    if parts[MARK] != VERSION:
        raise UsageError(
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


def line_of(row: Row, *, vectors: bool) -> bytes:
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


def row_of_line(line: bytes, number: int, left_out: Callable[[str], None] = lambda name: None) -> Row:
    """The memory of a line; `left_out` is told of names nobody knows.

    Raises UsageError naming the line when it is not one, and where no store can take it: for a key or content of null,
    and for a lone surrogate that stands for no byte.
    """
    parts = _parsed(line, number)
    try:
        row = _row(parts)
    except ValueError as failure:
        raise _no_memory(number, str(failure)) from failure
    for name in parts.keys() - _NAMES:
        left_out(name)
    for name in ("key", "content"):
        if row.values[name] is None:
            raise _no_memory(number, f"it has no {name}")
    try:
        for value in (row.id, row.agent, *row.values.values()):
            if isinstance(value, str):
                value.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as failure:
        raise UsageError(
            f"Line {number:,} holds half a character, which no database can take.", hint="Take it out of the line."
        ) from failure
    return row


def _no_memory(number: int, why: str) -> UsageError:
    return UsageError(
        f"Line {number:,} is not a memory: {why}.", hint=f"It needs at least key and content, as {WRITES} them."
    )


def _row(parts: Mapping[str, Any]) -> Row:
    given = parts.get(_OTHERS, {})
    if not isinstance(given, dict):
        raise ValueError("its columns are not an object")
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
        raise ValueError("its agent is not text")
    handle = unpacked(rowid) if type(rowid) is int else None
    return Row(column_text(values.get("id")), values, handle if isinstance(handle, int) else None, agent)


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
        return unpacked(int(told))
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


def _parsed(line: bytes, number: int) -> dict[str, Any]:
    try:
        parts = json.loads(line.decode("utf-8"), parse_int=integer_of)
    except UnicodeDecodeError as failure:
        raise UsageError(f"Line {number:,} is not UTF-8.", hint=f"JSONL as {WRITES} it is.") from failure
    except (ValueError, RecursionError) as failure:
        cut = "" if line.endswith(b"\n") else " The file seems to have been cut off there."
        raise UsageError(f"Line {number:,} is not JSON.{cut}", hint=f"JSONL is what {WRITES}.") from failure
    if not isinstance(parts, dict):
        raise UsageError(f"Line {number:,} is not a memory.", hint=f"Each line is an object, as {WRITES} them.")
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
