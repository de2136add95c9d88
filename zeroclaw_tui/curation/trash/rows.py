"""How a row is packed for trash.db, so that every value of SQLite comes back exactly."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any

from zeroclaw_tui.memory.change import MEMORIES, RowChange, StoredRow, Value
from zeroclaw_tui.memory.text import is_unicode

_BYTES, _TEXT, _CONTENT, _SAME = "bytes", "text", "content", "same"
"""What stands in a row's JSON for a value that lies elsewhere: always a list, which no value of a row is."""

VECTOR = "embedding"


@dataclass(frozen=True, slots=True)
class Packed:
    """One row: its JSON, its content where that is plain text, and the bytes of what JSON cannot hold."""

    row: str
    content: str | None
    blob: bytes | None


def pack(row: StoredRow, before: StoredRow | None = None, *, vector: bool = True) -> Packed:
    """A row; given the row before it, a vector equal to that one's is not held twice. Without `vector` it is left out.

    The content is apart from the JSON so that it can be searched, blobs so that a search need not read them.
    """
    blob = bytearray()
    content: str | None = None
    values: list[list[Any]] = []
    for name, value in row.values.items():
        if name == VECTOR and not vector:
            continue
        packed: Any
        if name == "content" and isinstance(value, str) and is_unicode(value):
            packed, content = [_CONTENT], value
        elif name == VECTOR and isinstance(value, bytes) and before is not None and before.values.get(name) == value:
            packed = [_SAME]
        elif isinstance(value, bytes | str):
            packed = _packed(value, blob)
        else:
            packed = value
        values.append([name if name.isascii() else _packed(name, blob), packed])
    parts = [_packed(part, blob) for part in (row.id, row.handle, row.agent, row.table)]
    document = json.dumps([*parts, values], ensure_ascii=False, separators=(",", ":"))
    return Packed(document, content, bytes(blob) if blob else None)


def unpack(packed: Packed, before: StoredRow | None = None) -> StoredRow:
    """The row again; `before` is the one it was packed with."""
    blob = packed.blob or b""
    *parts, values = json.loads(packed.row)
    name_of_row, handle, agent, table = (_unpacked(part, blob) for part in parts)
    named: dict[str, Value] = {}
    for name, value in values:
        plain: Value
        if value == [_CONTENT]:
            plain = packed.content
        elif value == [_SAME]:
            plain = before.values[VECTOR] if before is not None else None
        else:
            plain = _unpacked(value, blob)
        named[_unpacked(name, blob)] = plain
    return StoredRow(name_of_row, named, handle, agent, table)


@dataclass(frozen=True, slots=True)
class PackedChange:
    """A change as trash.db keeps it. `is_deletion` says that a memory was there before and is no more."""

    table: str
    id: str | bytes
    key: str | None
    size: int
    before: Packed | None
    after: Packed | None
    reverses: int | None

    @property
    def is_deletion(self) -> bool:
        """Whether a memory went."""
        return self.table == MEMORIES and self.before is not None and self.after is None


def pack_change(change: RowChange) -> PackedChange:
    """Both rows of a change. Where it reverses another, that one holds the vector which `after` has again."""
    before, after = change.before, change.after
    row = change.row
    key = row.values.get("key")
    return PackedChange(
        row.table,
        bindable(row.id),
        searchable(key) if isinstance(key, str) else None,
        sum(there.size for there in (before, after) if there is not None),
        None if before is None else pack(before),
        None if after is None else pack(after, before, vector=change.reverses is None),
        change.reverses,
    )


def file_path(row: StoredRow) -> str:
    """Where a file that is kept as a row lies."""
    path = row.values.get("path")
    return path if isinstance(path, str) else row.id


def file_state(row: StoredRow) -> str | None:
    """The SHA-256 in hex of a file that is kept as a row: named, or of its bytes."""
    named, data = row.values.get("sha256"), row.values.get("bytes")
    if isinstance(named, str):
        return named
    return hashlib.sha256(data).hexdigest() if isinstance(data, bytes) else None


def bindable(text: str) -> str | bytes:
    """Text as SQLite takes it: as it is, or where it is no Unicode as bytes."""
    return text if is_unicode(text) else text.encode("utf-8", "surrogatepass")


def searchable(text: str) -> str:
    """Text of which nothing is missing that could be typed."""
    return text if is_unicode(text) else text.encode("utf-8", "replace").decode("utf-8")


def _packed(value: Value, blob: bytearray) -> Any:
    if isinstance(value, bytes):
        kind, data = _BYTES, value
    elif isinstance(value, str) and not is_unicode(value):
        kind, data = _TEXT, value.encode("utf-8", "surrogatepass")
    else:
        return value
    start = len(blob)
    blob += data
    return [kind, start, len(data)]


def _unpacked(packed: Any, blob: bytes) -> Any:
    if not isinstance(packed, list):
        return packed
    kind, start, length = packed
    data = blob[start : start + length]
    return data if kind == _BYTES else data.decode("utf-8", "surrogatepass")
