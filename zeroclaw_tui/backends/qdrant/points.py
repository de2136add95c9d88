"""A Qdrant point as a row, and back again to the letter: id, payload with what nobody here knows, and vector."""

from __future__ import annotations

import json
import math
import struct
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from zeroclaw_tui.backends.qdrant.connection import Point
from zeroclaw_tui.memory.change import Stamp, StoredRow, Value
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.errors import Unreadable

DEFAULT_AGENT = "default"
"""The agent that ZeroClaw >= 0.8.0 gives the points that name none."""

FIELDS = {
    "key": "key",
    "content": "content",
    "category": "category",
    "created_at": "timestamp",
    "session_id": "session_id",
    "agent_id": "agent_id",
}
"""The values of a row and the payload fields they are, as ZeroClaw writes them."""
ALL_BUT_CONTENT = {"exclude": ["content"]}
OTHERS, ABSENT = "payload", "absent"
"""The values of a row that hold the other payload fields as JSON, and the names of those of FIELDS that are no text."""
_ALWAYS_TEXT = ("key", "content", "category", "created_at")
_MOST = 2**64
_UNIT, _ZERO = 1e-6, 2**-23
"""Qdrant leaves a vector as it is whose squared length is that near to 1, or less than that."""


def point_id(id: str) -> int | str | None:
    """An id as Qdrant takes it: a number, or a UUID; None for what is neither."""
    if id.isascii() and id.isdecimal():
        number = int(id) if len(id) <= len(str(_MOST)) else _MOST
        return number if number < _MOST and str(number) == id else None
    try:
        return id if str(uuid.UUID(id)) == id else None
    except ValueError:
        return None


def row_of(point: Point, *, has_agents: bool) -> StoredRow:
    """The row a point is; without a vector where that was not asked for."""
    payload = payload_of(point)
    others, absent = dict(payload), []
    values: dict[str, Value] = {"id": str(point["id"])}
    for name, field in FIELDS.items():
        text = payload.get(field)
        if isinstance(text, str):
            values[name] = text
            others.pop(field)
        elif name in _ALWAYS_TEXT:
            values[name] = ""
            absent.append(name)
        else:
            values[name] = None
    values[OTHERS] = json.dumps(others, sort_keys=True)
    values[ABSENT] = " ".join(absent) or None
    vector = point.get("vector")
    if isinstance(vector, list):
        try:
            values["embedding"] = packed(vector)
        except (struct.error, OverflowError) as error:
            raise Unreadable("A point of this collection has a vector that is no list of numbers.") from error
    agent = agent_of(payload) if has_agents else None
    return StoredRow(str(values["id"]), values, str(values["id"]), agent)


def point_of(row: StoredRow) -> Point:
    """The point a row of `row_of` is; a row without a vector gives a point without one."""
    values = row.values
    payload: dict[str, Any] = json.loads(str(values.get(OTHERS) or "{}"))
    absent = str(values.get(ABSENT) or "").split()
    for name, field in FIELDS.items():
        text = values.get(name)
        if isinstance(text, str) and not (text == "" and name in absent):
            payload[field] = text
    point: Point = {"id": point_id(row.id), "payload": payload}
    vector = values.get("embedding")
    if isinstance(vector, bytes):
        point["vector"] = unpacked(vector)
    return point


def payload_of(point: Point) -> dict[str, Any]:
    """A point's payload; empty where it has none."""
    payload = point.get("payload")
    return payload if isinstance(payload, dict) else {}


def agent_of(payload: Mapping[str, Any]) -> str:
    """The alias of the agent a payload belongs to."""
    agent = payload.get("agent_id")
    return agent if isinstance(agent, str) else DEFAULT_AGENT


def entry_of(row: StoredRow, dimensions: int) -> MemoryEntry:
    """The memory a row is; every point of a collection has a vector of the same length."""
    return replace(row.entry(), embedding_dimensions=dimensions)


def stamp_of(row: StoredRow) -> Stamp:
    """The stamp of a row; its state is the fingerprint."""
    entry = row.entry()
    return Stamp(
        id=row.id,
        state=row.fingerprint,
        key=entry.key,
        category=entry.category,
        size=entry.size,
        timestamp=entry.timestamp,
        agent=entry.agent,
        handle=entry.handle,
    )


def packed(vector: Sequence[float]) -> bytes:
    """A vector's numbers as float32, little-endian."""
    return struct.pack(f"<{len(vector)}f", *vector)


def unpacked(data: bytes) -> list[float]:
    """The numbers of `packed`."""
    return list(struct.unpack(f"<{len(data) // 4}f", data[: len(data) // 4 * 4]))


def as_stored(data: bytes, distance: str) -> bytes:
    """A vector as Qdrant will hold it: of length 1 where the distance is Cosine, unless it is all zeros."""
    numbers = unpacked(data)
    square = math.fsum(number * number for number in numbers)
    if distance != "Cosine" or square < _ZERO or not math.isfinite(square) or abs(square - 1) <= _UNIT:
        return data
    length = math.sqrt(square)
    return packed([number / length for number in numbers])
