"""What lies in a collection: points as rows and back again to the letter, and rows of other stores as points.

A point is an id, a payload with what nobody here knows, and a vector.
"""

from __future__ import annotations

import json
import math
import struct
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from zeroclaw_tui.backends.capabilities import Capabilities
from zeroclaw_tui.backends.clock import utc_now
from zeroclaw_tui.backends.qdrant.connect import Connection, Point, vector_size
from zeroclaw_tui.backends.session_ids import sanitised
from zeroclaw_tui.config.memory_config import shown
from zeroclaw_tui.memory.change import Draft, Stamp, StoredRow, Value
from zeroclaw_tui.memory.entry import MemoryEntry, uuid_for
from zeroclaw_tui.memory.errors import Refused, Unreadable
from zeroclaw_tui.memory.text import is_unicode, one_line

EDITABLE_HERE = ("content", "key", "category", "session_id")
NO_EMBEDDER = "Qdrant stores and finds nothing without an embedding"
_NO = "ZeroClaw keeps no {} in Qdrant."
WHY_NOT = {
    "keyword": "Qdrant is searched by meaning alone: ZeroClaw keeps no index of words there.",
    "namespaces": _NO.format("namespace"),
    "namespace": _NO.format("namespace"),
    "superseded": _NO.format("word of what replaced a memory"),
    "pinned": _NO.format("pin"),
    "importance": _NO.format("importance"),
    "kind": _NO.format("kind"),
    "watch": "Qdrant tells nobody when something changed: r reads it anew.",
}
NO_AGENTS = "No point here names an agent: agents came with ZeroClaw 0.8.0."

DISTANCE = "Cosine"
_NEEDED = ("key", "content")
_OTHER_NAME = "Name another collection in config.toml, or with --location URL/collections/NAME."

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
OTHERS, ABSENT = "payload", "absent"
"""The values of a row that hold the other payload fields as JSON, and the names of those of FIELDS that are no text."""
_ALWAYS_TEXT = ("key", "content", "category", "created_at")
_MOST = 2**64
_UNIT, _ZERO = 1e-6, 2**-23
"""Qdrant leaves a vector as it is whose squared length is that near to 1, or less than that."""
_CARRIED = {
    "namespace": "namespace",
    "importance": "importance",
    "pinned": "pinned",
    "superseded_by": "superseded",
    "kind": "kind",
}
"""What other stores hold and this one does not, with the capability that has a sentence for it."""
_USUAL: Mapping[str, tuple[Value, ...]] = {"namespace": ("default",), "importance": (0.5,), "pinned": (0, False)}
_KNOWN = frozenset({"id", *FIELDS, OTHERS, ABSENT, "embedding"})


@dataclass(frozen=True, slots=True)
class Shape:
    """What decides how a row looks here. `dimensions` and `distance` are those of the collection's one unnamed vector;
    `has_agents` says that points name agents, as ZeroClaw >= 0.8.0 writes them."""

    dimensions: int
    distance: str
    has_agents: bool

    def row(self, point: Point) -> StoredRow:
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
        agent = agent_of(payload) if self.has_agents else None
        return StoredRow(str(values["id"]), values, str(values["id"]), agent)

    def rows(self, points: Sequence[Point]) -> list[StoredRow]:
        """The rows of many points, for a thread."""
        return [self.row(point) for point in points]

    def entry(self, row: StoredRow) -> MemoryEntry:
        """The memory a row is; every point of a collection has a vector of the same length."""
        return replace(row.entry(), embedding_dimensions=self.dimensions)

    def native(self, row: StoredRow) -> StoredRow:
        """The same memory as a row of this collection; its own rows stay as they are."""
        if OTHERS in row.values:
            return row
        values = row.values
        fits = point_id(row.id) is not None
        named = row.id if fits else uuid_for(row.id)
        session = values.get("session_id")
        agent = (row.agent or DEFAULT_AGENT) if self.has_agents else None
        wanted: dict[str, Value] = {
            "id": named,
            **{name: _text(values.get(name)) for name in ("key", "content", "category")},
            "created_at": _text(values.get("created_at")) or utc_now(),
            "session_id": self.session(_text(session)) if session else None,
            "agent_id": agent,
            OTHERS: "{}",
            ABSENT: None,
        }
        vector = values.get("embedding")
        if isinstance(vector, bytes) and len(vector) == 4 * self.dimensions:
            wanted["embedding"] = vector
        return StoredRow(named, wanted, named, agent)

    def drafted(self, draft: Draft, id: str | None, vector: bytes) -> StoredRow:
        """The row a draft becomes: stored now, with nothing but what ZeroClaw writes."""
        named = id or str(uuid.uuid4())
        agent = (draft.agent or DEFAULT_AGENT) if self.has_agents else None
        values: dict[str, Value] = {
            "id": named,
            "key": draft.key,
            "content": draft.content,
            "category": draft.category,
            "created_at": utc_now(),
            "session_id": self.session(draft.session_id),
            "agent_id": agent,
            OTHERS: "{}",
            ABSENT: None,
            "embedding": vector,
        }
        return checked(StoredRow(named, values, named, agent))

    def edited(self, row: StoredRow, values: Mapping[str, Value], vector: bytes | None) -> StoredRow:
        """The row with other values, and another vector where one is given; the rest of the payload stays."""
        changed = {**row.values, **values}
        session = changed.get("session_id")
        changed["session_id"] = self.session(session) if isinstance(session, str) else None
        absent = [name for name in str(row.values.get(ABSENT) or "").split() if name not in values]
        changed[ABSENT] = " ".join(absent) or None
        if vector is not None:
            changed["embedding"] = vector
        return checked(StoredRow(row.id, changed, row.handle, row.agent))

    def session(self, session: str | None) -> str | None:
        """A session as ZeroClaw writes it; from 0.8.0 on with letters, digits, _ and - only."""
        if not session:
            return None
        return sanitised(session) if self.has_agents else session


async def examine(connection: Connection, described: Mapping[str, Any], *, names_agents: bool) -> Shape:
    """Look at a described collection and one point of it; `names_agents` holds also where no point names one yet.

    Raises NotReachable, and Unreadable for another's.
    """
    name, size = shown(connection.address.collection), vector_size(described)
    if size is None:
        raise Unreadable(f"The collection {name} is not ZeroClaw's: it has no single unnamed vector.", hint=_OTHER_NAME)
    missing = await _missing(connection)
    if missing:
        raise Unreadable(
            f"The collection {name} is not ZeroClaw's: its points have no {' and no '.join(missing)}.",
            hint=_OTHER_NAME,
        )
    # Where no point names one, Qdrant looks through all of them.
    has_agent = {"must_not": [{"is_empty": {"key": "agent_id"}}]}
    has_agents = names_agents or await _any_point(connection, has_agent, payload=False) is not None
    distance = described["config"]["params"]["vectors"].get("distance")
    return Shape(size, distance if isinstance(distance, str) else DISTANCE, has_agents)


async def _missing(connection: Connection) -> tuple[str, ...]:
    """What every memory has and no point here does; nothing for a collection without points."""
    fits = await _any_point(connection, {"must_not": [{"is_empty": {"key": name}} for name in _NEEDED]}, payload=False)
    if fits is not None:
        return ()
    point = await _any_point(connection, None, payload=list(_NEEDED))
    if point is None:
        return ()
    payload = payload_of(point)
    return tuple(name for name in _NEEDED if name not in payload) or _NEEDED


async def _any_point(connection: Connection, filter: Mapping[str, Any] | None, *, payload: Any) -> Any:
    body: dict[str, Any] = {"limit": 1, "with_payload": payload, "with_vector": False}
    if filter is not None:
        body["filter"] = filter
    result = connection.table(await connection.ask("POST", "/points/scroll", body))
    return next(iter(connection.points(result.get("points"))), None)


def capabilities_of(
    read_only_because: str | None, no_embedder_because: str | None, *, has_agents: bool
) -> Capabilities:
    """The capabilities of one collection; `no_embedder_because` says why nothing can be embedded, found by meaning."""
    why_not = dict(WHY_NOT)
    if not has_agents:
        why_not["agents"] = NO_AGENTS
    if no_embedder_because is not None:
        why_not["vectors"] = no_embedder_because
    if read_only_because is not None:
        why_not |= dict.fromkeys(("write", *EDITABLE_HERE), read_only_because)
    return Capabilities(
        vectors=no_embedder_because is None,
        agents=has_agents,
        write=read_only_because is None,
        editable=EDITABLE_HERE if read_only_because is None else (),
        why_not=why_not,
    )


def point_id(id: str) -> int | str | None:
    """An id as Qdrant takes it: a number, or a UUID; None for what is neither."""
    if id.isascii() and id.isdecimal():
        number = int(id) if len(id) <= len(str(_MOST)) else _MOST
        return number if number < _MOST and str(number) == id else None
    try:
        return id if str(uuid.UUID(id)) == id else None
    except ValueError:
        return None


def point_of(row: StoredRow) -> Point:
    """The point a row is; one without a vector gives a point without one."""
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


def checked(row: StoredRow) -> StoredRow:
    """The same row. Raises Refused for text that no JSON can carry."""
    for value in row.values.values():
        if isinstance(value, str) and not is_unicode(value):
            raise Refused(
                f"The memory {one_line(str(row.values['key']))!r} is no Unicode text, and Qdrant takes nothing else.",
                hint="Nothing was stored.",
            )
    return row


def lost(row: StoredRow) -> list[str]:
    """The names of the capabilities a row of another store would need here."""
    if OTHERS in row.values:
        return []
    return [
        capability
        for name, capability in _CARRIED.items()
        if row.values.get(name) is not None and row.values[name] not in _USUAL.get(name, ())
    ]


def same(one: StoredRow, other: StoredRow) -> bool:
    """Whether two rows of this collection are one memory in one state, whatever the vector."""
    return all(one.values.get(name) == other.values.get(name) for name in _KNOWN - {"embedding"})


def needs_vector(row: StoredRow) -> bool:
    """Whether a row has to be embedded first. Raises Refused for one that has no text to embed."""
    if isinstance(row.values.get("embedding"), bytes):
        return False
    if not str(row.values["key"]).strip() and not str(row.values["content"]).strip():
        raise Refused(f"{NO_EMBEDDER}, and a memory without key and content has none.")
    return True


def _text(value: Value) -> str:
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    return "" if value is None else str(value)
