"""Our own JSON Lines: a header line, then one memory per line, with every column exactly as stored.

The field names are those of the commands' JSON. Values that JSON cannot represent are also in `columns`, as an object
with one field: "base64" for a blob, "surrogates" for text that is not Unicode, "real" for "inf", "-inf" or "nan".
"""

from __future__ import annotations

import base64
import json
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from zeroclaw_tui.curation.formats.source import Identity, Source, numbered_lines
from zeroclaw_tui.memory.change import Row, Value
from zeroclaw_tui.memory.entry import as_text, kind_from
from zeroclaw_tui.memory.errors import UsageError
from zeroclaw_tui.memory.text import is_unicode, one_line, unicode_text

MARK, VERSION = "zeroclaw_memories", 1
NAMES = (
    "key", "content", "category", "timestamp", "updated_at", "session_id", "namespace", "importance", "superseded_by",
    "kind", "pinned", "id",
)  # fmt: skip
"""The field names of a line; all but `timestamp` are also column names."""
COLUMNS = {name: "created_at" if name == "timestamp" else name for name in NAMES}
_NAMES = {column: name for name, column in COLUMNS.items()}
_ALL_NAMES = frozenset({*NAMES, "embedding", "embedding_dimensions", "columns", "rowid", "agent"})
_MAX_NAME = 40
_DECODER = json.JSONDecoder()
_INTEGERS = range(-(2**63), 2**63)
_HINT = "Lines need at least key and content, as `zeroclaw memory export` writes them."


def sniff(source: Source) -> bool:
    """Whether the first line is our header, or an object with key and content."""
    if source.is_folder:
        return False
    first = source.head().partition(b"\n")[0]
    if first.startswith(f'{{"{MARK}"'.encode()):
        return True
    try:
        parts = json.loads(first)
    except (ValueError, RecursionError):
        return False
    return isinstance(parts, dict) and (MARK in parts or {"key", "content"} <= parts.keys())


def read(source: Source, lost: Counter[str]) -> Iterator[Row]:
    """Yield the memories in constant memory. Raises UsageError naming an invalid line."""
    with source.open() as reader:
        for number, line in numbered_lines(reader):
            header = header_of_line(line) if number == 1 and line.strip() else None
            if header is not None:
                source.vectors_by = identity_of(header)
            elif line.strip():
                yield row_of_line(line, number, lost)


def header_line(about: Mapping[str, Any]) -> bytes:
    """The header line with its newline; `about` has the time and the origin of the file."""
    return _line({MARK: VERSION, **about})


def header_of_line(line: str) -> Mapping[str, Any] | None:
    """Parse a first line as the header; None for a memory. Raises UsageError for anything else."""
    parts = _object(line, 1)
    if MARK not in parts:
        return None
    if parts[MARK] != VERSION:
        version = one_line(str(parts[MARK]))[:20]
        raise UsageError(f"This export has the unknown version {version}.", hint="Update this program to read it.")
    return parts


def identity_of(header: Mapping[str, Any]) -> Identity | None:
    """The embedding model of an export's vectors, if its header has it."""
    made_by: Any = header.get("embedding")
    try:
        return Identity(str(made_by["provider"]), str(made_by["model"]), int(made_by["dimensions"]))
    except (TypeError, KeyError, ValueError):
        return None


def line_of(row: Row, *, vectors: bool) -> bytes:
    """A memory as a line with its newline; without `vectors` only the vector is lost."""
    parts: dict[str, Any] = {}
    exact: dict[str, Any] = {}
    for column, value in row.values.items():
        if name := _NAMES.get(column):
            parts[name] = field_value(name, value)
            if not _is_exact(name, value):
                exact[column] = _pack(value)
        elif column != "embedding":
            exact[column] = _pack(value)
        else:
            parts["embedding_dimensions"] = len(value) // 4 if isinstance(value, bytes) else None
            if vectors and isinstance(value, bytes):
                parts["embedding"] = _as_base64(value)
            elif vectors and value is not None:
                exact[column] = _pack(value)
    parts["agent"] = _pack(row.agent)
    if isinstance(row.handle, int):
        parts["rowid"] = row.handle
    if exact:
        parts["columns"] = exact
    return _line(parts)


def row_of_line(line: str, number: int, lost: Counter[str]) -> Row:
    """Parse the memory of a line; `lost` counts unknown fields. Raises UsageError naming the line."""
    parts = _object(line, number)
    try:
        row = _row(parts, lost)
        # Only these can contain lone surrogates, which no database accepts.
        if "\\u" in line or '"surrogates"' in line:
            for value in (row.id, row.agent, *row.values.values()):
                if isinstance(value, str):
                    value.encode("utf-8", "surrogateescape")
    except ValueError as error:
        reason = "it has half a character" if isinstance(error, UnicodeEncodeError) else error
        raise UsageError(f"Line {number:,} is not a memory: {reason}.", hint=_HINT) from error
    return row


def readable(value: Value) -> str:
    """A value as text to show to people; "" for NULL."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else unicode_text(as_text(value))


def kind_stored(kind: Any) -> str:
    """A kind in the form in which ZeroClaw stores it. Raises ValueError for an unknown kind."""
    base, colon, what = str(kind).partition(":")
    stored = json.dumps({base: what} if colon else base, separators=(",", ":"))
    if kind_from(stored) != kind:
        raise ValueError("not a kind that ZeroClaw knows")
    return stored


def _row(parts: Mapping[str, Any], lost: Counter[str]) -> Row:
    exact = parts.get("columns", {})
    if not isinstance(exact, dict):
        raise ValueError("its columns are not an object")
    values: dict[str, Value] = {column: parts[name] for name, column in COLUMNS.items() if name in parts}
    for name, value in parts.items():
        if name not in _ALL_NAMES:
            lost[one_line(name)[:_MAX_NAME] or "(no name)"] += 1
        elif name in COLUMNS and (name in _CONVERTERS or not isinstance(value, str)):
            values[COLUMNS[name]] = _convert(name, value, _CONVERTERS.get(name, _text))
    if "embedding_dimensions" in parts or "embedding" in parts:
        values["embedding"] = _convert("embedding", parts.get("embedding"), _from_base64)
    values |= {name: _convert(name, value, _unpack) for name, value in exact.items()}
    owner = _convert("agent", parts.get("agent"), lambda packed: _text(_unpack(packed)))
    for name in ("key", "content"):
        if values.get(name) is None:
            raise ValueError(f"it has no {name}")
    handle = parts.get("rowid")
    is_rowid = type(handle) is int and handle in _INTEGERS
    return Row(as_text(values.get("id")), values, handle if is_rowid else None, owner)


def _convert(name: str, value: Any, convert: Callable[[Any], Any]) -> Any:
    """Convert the value of a field, unless it is None. Raises ValueError with the name of the field."""
    try:
        return None if value is None else convert(value)
    except ValueError as error:
        raise ValueError(f"{one_line(name)[:_MAX_NAME]} is {error}") from error


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    raise ValueError("not text")


def _number(value: Any) -> int | float:
    """A finite number of at most 64 bits. Raises ValueError."""
    if type(value) is float and math.isfinite(value):
        return value
    if type(value) is int and value in _INTEGERS:
        return value
    raise ValueError("not a number that a store takes")


def field_value(name: str, value: Value) -> Any:
    """Convert a column's value for a field of a line."""
    if value is None:
        return None
    if name == "kind":
        return kind_from(value)
    if name == "pinned":
        return bool(value)
    if name == "importance":
        return value if type(value) in (int, float) and math.isfinite(float(value)) else None
    return readable(value)


def column_value(name: str, value: Any) -> Value:
    """Convert the value of a field into that of its column. Raises ValueError."""
    return _CONVERTERS.get(name, _text)(value)


def _is_exact(name: str, value: Value) -> bool:
    """Whether a value survives the conversion to a field and back."""
    try:
        back = None if value is None else column_value(name, field_value(name, value))
    except ValueError:
        return False
    return back == value and type(back) is type(value)


def _pack(value: Value) -> Any:
    """A value as JSON: itself if JSON can represent it, else an object with one field."""
    if isinstance(value, str):
        return value if is_unicode(value) else {"surrogates": _as_base64(value.encode("utf-8", "surrogatepass"))}
    if isinstance(value, bytes):
        return {"base64": _as_base64(value)}
    if isinstance(value, float) and not math.isfinite(value):
        return {"real": repr(value)}
    return value


def _unpack(packed: Any) -> Value:
    """Reverse `_pack`. Raises ValueError for anything else."""
    if packed is None or isinstance(packed, str):
        return packed
    if isinstance(packed, bool):
        return int(packed)
    if isinstance(packed, int | float):
        return _number(packed)
    for name, read in _UNPACKED.items():
        if isinstance(packed, dict) and packed.keys() == {name} and isinstance(packed[name], str):
            return read(packed[name])
    raise ValueError("an object that is no value")


def _as_base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _from_base64(text: Any) -> bytes:
    try:
        return base64.b64decode(_text(text), validate=True)
    except ValueError as error:
        raise ValueError("not base64") from error


_CONVERTERS: Mapping[str, Callable[[Any], Value]] = {
    "importance": _number,
    "kind": kind_stored,
    "pinned": lambda value: int(value) if isinstance(value, bool) else _number(value),
}
"""The converters of fields that are not text."""
_UNPACKED: Mapping[str, Callable[[str], Value]] = {
    "real": float,
    "base64": _from_base64,
    "surrogates": lambda text: _from_base64(text).decode("utf-8", "surrogatepass"),
}


def _object(line: str, number: int) -> dict[str, Any]:
    try:
        parts = _decode(line)
    except (ValueError, RecursionError) as error:
        end = "" if line.endswith("\n") else " The file seems to have been cut off there."
        raise UsageError(f"Line {number:,} is not JSON.{end}", hint=_HINT) from error
    if not isinstance(parts, dict):
        raise UsageError(f"Line {number:,} is not a memory: it is not an object.", hint=_HINT)
    return parts


def _decode(line: str) -> Any:
    """Decode a line. For a value without surrounding blanks, `raw_decode` is faster than `json.loads`."""
    try:
        value, length = _DECODER.raw_decode(line)
    except ValueError:
        return json.loads(line)
    return value if line[length:] == "\n" else json.loads(line)


def _line(parts: Mapping[str, Any]) -> bytes:
    text = json.dumps(parts, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    try:
        return text.encode("utf-8") + b"\n"
    except UnicodeEncodeError:
        # A column name is not valid Unicode.
        return json.dumps(parts, separators=(",", ":"), allow_nan=False).encode("ascii") + b"\n"
