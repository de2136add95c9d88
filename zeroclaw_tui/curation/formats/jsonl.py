"""Our own JSON Lines: a header line, then a memory a line, every column exactly as its store has it.

A line has the names that the commands print. What JSON cannot say exactly is also in `columns`: an object of one name,
{"base64"} for a blob, {"text_bytes"} for text whose bytes are not UTF-8, {"surrogates"} for text with other lone
surrogates, {"real"} for "inf", "-inf" or "nan".
"""

from __future__ import annotations

import base64
import json
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple, TypeVar

from zeroclaw_tui.curation.formats.rows import UNREADABLE_TIMES, moment_of
from zeroclaw_tui.curation.formats.source import Source, numbered_lines
from zeroclaw_tui.memory.change import Row, Value
from zeroclaw_tui.memory.entry import column_text, kind_from
from zeroclaw_tui.memory.errors import UsageError
from zeroclaw_tui.memory.text import is_unicode, one_line, unicode_text

MARK, VERSION = "zeroclaw_memories", 1
_COLUMNS = {
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
_NAMES = {column: name for name, column in _COLUMNS.items()}
_OTHER_NAMES = frozenset({"embedding", "embedding_dimensions", "columns", "rowid", "agent"})
T = TypeVar("T")
_TIMES = ("created_at", "updated_at")
_MAX_NAME = 40
_MIN_INTEGER, _MAX_INTEGER = -(2**63), 2**63 - 1
_HINT = "Lines need at least key and content, as `zeroclaw memory export` writes them."


@dataclass(frozen=True, slots=True)
class Identity:
    """What made the vectors of a store."""

    provider: str
    model: str
    dimensions: int


class Header(NamedTuple):
    """The first line of an export: when it was written (RFC 3339), and what made the vectors, if known."""

    exported: str
    embedding: Identity | None


def sniff(source: Source) -> str | None:
    """Whether the first line is a header of ours, or an object with key and content."""
    if source.is_folder:
        return None
    first = source.head().partition(b"\n")[0]
    if first.startswith(f'{{"{MARK}"'.encode()):
        return "its first line is the header of an export"
    try:
        parts = json.loads(first)
    except (ValueError, RecursionError):
        return None
    if isinstance(parts, dict) and (MARK in parts or {"key", "content"} <= parts.keys()):
        return "its first line is an object with key and content"
    return None


def read(source: Source, lost: Counter[str]) -> Iterator[Row]:
    """Every memory in constant memory. Raises UsageError naming the line that is not one."""
    with source.opened() as reader:
        is_export = False
        for number, line in numbered_lines(reader):
            if number == 1 and header_of_line(line) is not None:
                is_export = True
            elif line.strip():
                row = row_of_line(line, number, lost)
                yield row if is_export else _with_readable_times(row, lost)


def identity(source: Source) -> Identity | None:
    """What made the vectors of a file; None where its first line does not say."""
    with source.opened() as reader:
        _, line = next(numbered_lines(reader), (1, b"{}"))
    header = header_of_line(line)
    return None if header is None else header.embedding


def header_line(
    exported: str, backend: str, generation: str | None, profile: str, *, vectors: bool, embedding: Identity | None
) -> bytes:
    """The first line, with its line end: when the file was written, from what, and what made its vectors, if known."""
    about = {"exported": exported, "backend": backend, "generation": generation, "profile": profile}
    made_by = None if embedding is None else asdict(embedding)
    return _line({MARK: VERSION, **about, "vectors": vectors, "embedding": made_by})


def header_of_line(line: bytes) -> Header | None:
    """The header that a first line is; None for a memory. Raises UsageError for anything else."""
    parts = _object(line, 1)
    if MARK not in parts:
        return None
    if parts[MARK] != VERSION:
        raise UsageError(
            f"This export has version {one_line(str(parts[MARK]))[:20]}, which this program does not know.",
            hint="A newer zeroclaw-tui wrote it. Update this one.",
        )
    exported, made_by = parts.get("exported"), parts.get("embedding")
    identity = None
    if isinstance(made_by, dict):
        provider, model, dimensions = (made_by.get(name) for name in ("provider", "model", "dimensions"))
        if isinstance(provider, str) and isinstance(model, str) and isinstance(dimensions, int):
            identity = Identity(provider, model, dimensions)
    return Header(exported if isinstance(exported, str) else "", identity)


def line_of(row: Row, *, vectors: bool) -> bytes:
    """A memory as one line, with its line end; without `vectors` only the vector is lost."""
    parts: dict[str, Any] = {}
    exact: dict[str, Any] = {}
    for column, value in row.values.items():
        name = _NAMES.get(column)
        if name is not None:
            parts[name], is_exact = _shown(name, value)
            if not is_exact:
                exact[column] = pack(value)
        elif column != "embedding":
            exact[column] = pack(value)
        elif isinstance(value, bytes):
            parts["embedding_dimensions"] = len(value) // 4
            if vectors:
                parts["embedding"] = _as_base64(value)
        else:
            parts["embedding_dimensions"] = None
            if vectors and value is not None:
                exact[column] = pack(value)
    parts["agent"] = pack(row.agent)
    if isinstance(row.handle, int):
        parts["rowid"] = row.handle
    if exact:
        parts["columns"] = exact
    return _line(parts)


def row_of_line(line: bytes, number: int, lost: Counter[str]) -> Row:
    """The memory of a line; `lost` counts the names that nobody knows. Raises UsageError naming the line."""
    parts = _object(line, number)
    try:
        return _row(parts, lost, is_checked=b"\\u" not in line and "columns" not in parts)
    except ValueError as error:
        raise UsageError(f"Line {number:,} is not a memory: {error}.", hint=_HINT) from error


def pack(value: Value) -> Any:
    """A value as JSON: itself where JSON has it, else an object of one name."""
    if isinstance(value, str):
        return value if is_unicode(value) else _packed_text(value)
    if isinstance(value, bytes):
        return {"base64": _as_base64(value)}
    if isinstance(value, float) and not math.isfinite(value):
        return {"real": repr(value)}
    return int(value) if isinstance(value, bool) else value


def unpack(packed: Any) -> Value:
    """The value that was packed. Raises ValueError for anything else."""
    if isinstance(packed, bool):
        return int(packed)
    if isinstance(packed, int | float):
        return _number(packed)
    if packed is None or isinstance(packed, str):
        return packed
    if not isinstance(packed, dict) or len(packed) != 1:
        raise ValueError("neither a value nor an object that stands for one")
    ((name, text),) = packed.items()
    if not isinstance(text, str) or name not in _UNPACKED:
        raise ValueError("an object that stands for no value")
    return _UNPACKED[name](text)


def readable(value: Value) -> str:
    """A value as text for people; "" for NULL."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else unicode_text(column_text(value))


def kind_stored(kind: Any) -> str:
    """A kind in words as ZeroClaw stores it. Raises ValueError for one it does not know."""
    base, colon, what = str(kind).partition(":")
    stored = json.dumps({base: what} if colon else base, separators=(",", ":"))
    if kind_from(stored) != kind:
        raise ValueError("not a kind that ZeroClaw knows")
    return stored


def _row(parts: Mapping[str, Any], lost: Counter[str], *, is_checked: bool) -> Row:
    exact = parts.get("columns", {})
    if not isinstance(exact, dict):
        raise ValueError("its columns are not an object")
    values: dict[str, Value] = {}
    for name, value in parts.items():
        column = _COLUMNS.get(name)
        if column is not None:
            is_plain = value is None or (type(value) is str and name not in _STATED)
            values[column] = value if is_plain else _read_value(name, _STATED.get(name, _text), value)
        elif name not in _OTHER_NAMES:
            lost[one_line(name)[:_MAX_NAME] or "(no name)"] += 1
    if "embedding_dimensions" in parts or "embedding" in parts:
        vector = parts.get("embedding")
        values["embedding"] = None if vector is None else _read_value("embedding", _from_base64, vector)
    for column, value in exact.items():
        values[column] = _read_value(one_line(column)[:_MAX_NAME], unpack, value)
    for name in ("key", "content"):
        if values.get(name) is None:
            raise ValueError(f"it has no {name}")
    agent, handle = parts.get("agent"), parts.get("rowid")
    owner = None if agent is None else _read_value("agent", lambda packed: _text(unpack(packed)), agent)
    is_rowid = type(handle) is int and _MIN_INTEGER <= handle <= _MAX_INTEGER
    row = Row(column_text(values.get("id")), values, handle if is_rowid else None, owner)
    if not is_checked:
        _refuse_half_characters(row)
    return row


def _read_value(name: str, read: Callable[[Any], T], value: Any) -> T:
    """Raises ValueError that names the value."""
    try:
        return read(value)
    except ValueError as error:
        raise ValueError(f"{name} is {error}") from error


def _text(value: Any) -> str:
    if type(value) is not str:
        raise ValueError("not text")
    return value


def _refuse_half_characters(row: Row) -> None:
    """Raises ValueError for a lone surrogate that stands for no byte: no database takes it."""
    try:
        for value in (row.id, row.agent, *row.values.values()):
            if isinstance(value, str):
                value.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        raise ValueError("it has half a character, which no database takes") from error


def _with_readable_times(row: Row, lost: Counter[str]) -> Row:
    """A memory that no export wrote, its times as ZeroClaw reads them; what is not a time is left out."""
    values = dict(row.values)
    for name in _TIMES:
        stated = values.pop(name, None)
        moment = moment_of(stated)
        if moment is not None:
            values[name] = moment
        elif stated is not None:
            lost[UNREADABLE_TIMES] += 1
    return Row(row.id, values, row.handle, row.agent)


def _shown(name: str, value: Value) -> tuple[Any, bool]:
    """A column's value under the name of a line, and whether that is exact."""
    if value is None:
        return None, True
    if name == "kind":
        kind = kind_from(value)
        return kind, kind is not None and kind_stored(kind) == value
    if name == "pinned":
        return bool(value), value in (0, 1) and isinstance(value, int)
    if name == "importance":
        is_exact = type(value) in (int, float) and math.isfinite(float(value))
        return (value, True) if is_exact else (None, False)
    return readable(value), isinstance(value, str) and is_unicode(value)


def _number(value: Any) -> int | float:
    """A number that a store takes. Raises ValueError."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("not a number")
    if isinstance(value, int) and not _MIN_INTEGER <= value <= _MAX_INTEGER:
        raise ValueError("a number of more than 64 bits")
    if not math.isfinite(value):
        raise ValueError("not a finite number")
    return value


def _packed_text(text: str) -> dict[str, str]:
    """Bytes that are not UTF-8 are surrogate escapes in text; other lone surrogates have no bytes of their own."""
    try:
        data = text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        data = b""
    if data.decode("utf-8", "surrogateescape") == text:
        return {"text_bytes": _as_base64(data)}
    return {"surrogates": _as_base64(text.encode("utf-8", "surrogatepass"))}


def _as_base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _from_base64(text: Any) -> bytes:
    if not isinstance(text, str):
        raise ValueError("not base64")
    try:
        return base64.b64decode(text, validate=True)
    except ValueError as error:
        raise ValueError("not base64") from error


_STATED: Mapping[str, Callable[[Any], Value]] = {
    "importance": _number,
    "kind": kind_stored,
    "pinned": lambda value: _number(int(value)) if isinstance(value, bool) else _number(value),
}
"""What reads the columns of a line that are not text."""
_UNPACKED: Mapping[str, Callable[[str], Value]] = {
    "real": float,
    "base64": _from_base64,
    "text_bytes": lambda text: _from_base64(text).decode("utf-8", "surrogateescape"),
    "surrogates": lambda text: _from_base64(text).decode("utf-8", "surrogatepass"),
}


def _object(line: bytes, number: int) -> dict[str, Any]:
    try:
        parts = json.loads(line.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise UsageError(f"Line {number:,} is not UTF-8.", hint="Save the file as UTF-8 first.") from error
    except (ValueError, RecursionError) as error:
        end = "" if line.endswith(b"\n") else " The file seems to have been cut off there."
        raise UsageError(f"Line {number:,} is not JSON.{end}", hint=_HINT) from error
    if not isinstance(parts, dict):
        raise UsageError(f"Line {number:,} is not a memory: it is not an object.", hint=_HINT)
    return parts


def _line(parts: Mapping[str, Any]) -> bytes:
    text = json.dumps(parts, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    try:
        return text.encode("utf-8") + b"\n"
    except UnicodeEncodeError:
        # The name of a column is not Unicode.
        return json.dumps(parts, separators=(",", ":"), allow_nan=False).encode("ascii") + b"\n"
