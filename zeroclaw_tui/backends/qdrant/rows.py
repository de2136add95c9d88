"""Points of a collection as rows, and the writing of rows.

A point is an id, a payload and one vector. Payload fields that ZeroClaw does not write are preserved.
"""

from __future__ import annotations

import json
import struct
import uuid
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from zeroclaw_tui.backends.about import key_and_content
from zeroclaw_tui.backends.qdrant.client import Filter, Point, QdrantClient
from zeroclaw_tui.backends.tables import sanitised, utc_now
from zeroclaw_tui.backends.writing import Operation, OwnedKey, RowWriter
from zeroclaw_tui.memory.change import Draft, Edit, NewVector, Row, RowChange, RowVersion, Value, Vector
from zeroclaw_tui.memory.entry import MemoryEntry, column_text, uuid_for
from zeroclaw_tui.memory.errors import NotReachable, Refused, Unreadable
from zeroclaw_tui.memory.text import is_unicode, one_line, unicode_text

DEFAULT_AGENT = "default"
"""The agent of points that name none."""
NO_EMBEDDER = "Qdrant stores and finds nothing without an embedding"
EDITABLE = ("content", "key", "category", "session_id")
_NONE = "ZeroClaw stores no {} in Qdrant."
WHY_NOT = {
    "atomic": "Qdrant has no transactions: what another program writes at the same moment can be overwritten.",
    "keyword": "ZeroClaw searches Qdrant by vectors only; it has no keyword index there.",
    "namespaces": _NONE.format("namespace"),
    "namespace": _NONE.format("namespace"),
    "superseded": _NONE.format("information about replaced memories"),
    "superseded_by": _NONE.format("information about replaced memories"),
    "pinned": _NONE.format("pin"),
    "importance": _NONE.format("importance"),
    "kind": _NONE.format("kind"),
    "watch": "Qdrant does not report changes. Press r to reload.",
}
_OTHER_FIELDS = "payload"
"""The column of a row that has all other payload fields, as a JSON object."""
_FIELDS = {
    "key": "key",
    "content": "content",
    "category": "category",
    "created_at": "timestamp",
    "session_id": "session_id",
    "agent_id": "agent_id",
}
"""The columns of a row, and the payload fields that ZeroClaw writes for them."""
_ALWAYS_TEXT = ("key", "content", "category", "created_at")
_UNNOTICED: Mapping[str, tuple[Value, ...]] = {"namespace": ("default",), "importance": (0.5,), "pinned": (0, False)}
"""Values of columns that a point cannot have, whose loss nobody notices."""
_NOTHING: Filter = {"has_id": []}
_MAX_ID = 2**64


def row_of_point(point: Point) -> Row:
    """The row of a point; it has an `embedding` if the point has its vector."""
    others = dict(point.get("payload") or {})
    values: dict[str, Value] = {"id": str(point["id"])}
    for column, name in _FIELDS.items():
        if isinstance(others.get(name), str):
            values[column] = others.pop(name)
        else:
            values[column] = "" if column in _ALWAYS_TEXT else None
    values[_OTHER_FIELDS] = json.dumps(others, sort_keys=True)
    vector = point.get("vector")
    if isinstance(vector, list):
        try:
            values["embedding"] = pack_vector(vector)
        except (struct.error, OverflowError) as error:
            raise Unreadable("A point of this collection has a vector that is not a list of numbers.") from error
    return Row(str(values["id"]), values, str(values["id"]), str(values["agent_id"] or DEFAULT_AGENT))


def point_of_row(row: Row) -> Point:
    """The point of a row of this collection."""
    payload: dict[str, Any] = json.loads(str(row.values[_OTHER_FIELDS]))
    for column, name in _FIELDS.items():
        # An empty text is that of a field which is missing, or has another value.
        if text := row.values.get(column):
            payload[name] = text
    payload.setdefault("content", "")
    point: Point = {"id": parse_id(row.id), "payload": payload}
    vector = row.values.get("embedding")
    return point | ({"vector": unpack_vector(vector)} if isinstance(vector, bytes) else {})


def new_point_row(id: str, values: Mapping[str, Value], agent: str | None) -> Row:
    """A row of these values; what they do not name is empty, and it is stored now."""
    owner = agent or DEFAULT_AGENT
    usual: dict[str, Value] = {"session_id": None, "agent_id": owner, _OTHER_FIELDS: "{}", "created_at": utc_now()}
    return Row(id, {**usual, **values, "id": id}, id, owner)


def entry_of_row(row: Row, dimensions: int) -> MemoryEntry:
    """The memory of a row of a collection whose vectors have this length."""
    return replace(row.entry(), embedding_dimensions=dimensions)


def converted(row: Row, dimensions: int) -> Row:
    """A row of any store as a collection would have it; a vector of another length is left out."""
    vector = row.values.get("embedding")
    fits = isinstance(vector, bytes) and len(vector) == 4 * dimensions
    if _OTHER_FIELDS in row.values and "agent_id" in row.values:
        without = {name: value for name, value in row.values.items() if name != "embedding"}
        return row if fits or "embedding" not in row.values else replace(row, values=without)
    texts = {name: unicode_text(column_text(row.values.get(name))) for name in (*_ALWAYS_TEXT, "session_id")}
    values: dict[str, Value] = {name: text for name, text in texts.items() if name != "created_at" or text}
    values["session_id"] = sanitised(texts["session_id"]) or None
    values[_OTHER_FIELDS] = row.values.get(_OTHER_FIELDS, "{}")
    if fits:
        values["embedding"] = vector
    return new_point_row(row.id if parse_id(row.id) is not None else uuid_for(row.id), values, row.agent)


class QdrantWriter(RowWriter):
    """Writes the points of a collection; the owner of a row is its agent.

    Qdrant has no transactions: another program can write between the comparison and the write. The rows that are read
    afterwards show it.
    """

    keys_are_unique = False

    def __init__(
        self, client: QdrantClient, dimensions: int, embed: Callable[[Sequence[str]], Awaitable[Sequence[bytes]]]
    ) -> None:
        super().__init__()
        self._client = client
        self._dimensions = dimensions
        self._embed = embed

    def check(self, after: Draft | Edit) -> None:
        if isinstance(after, Draft):
            _require_unicode(after.key, (after.key, after.content, after.category, after.session_id, after.agent))
            return
        for name in after.values:
            if name not in EDITABLE:
                raise Refused(WHY_NOT[name])
        _require_unicode(str(after.values.get("key", "")), after.values.values())

    async def read(self, rows: Sequence[RowVersion | Row], keys: Collection[OwnedKey]) -> Iterable[Row]:
        """The oldest points first: of several with one key that one counts."""
        ids = [parsed for row in rows if (parsed := parse_id(self.identity(row))) is not None]
        points = await self._client.retrieve(ids)
        if keys:
            of_keys = any_of("key", sorted({key for _, key in keys}))
            points += [point async for point in self._client.scroll({"must": [of_keys]}, vectors=True)]
        found = {row.id: row for row in map(row_of_point, points)}
        return sorted(found.values(), key=lambda row: (str(row.values["created_at"]), row.id))

    def identity(self, row: RowVersion | Row) -> str:
        return row.id if isinstance(row, RowVersion) else self._converted(row).id

    def owner(self, row: Row) -> str | None:
        return row.agent or DEFAULT_AGENT

    async def resolve_owner(self, row: Row | Draft, *, create: bool) -> tuple[str | None, RowChange | None]:
        return row.agent or DEFAULT_AGENT, None

    def same(self, one: Row, other: Row) -> bool:
        return _same_payload(self._converted(one), self._converted(other))

    def state_of(self, row: Row) -> str:
        return Row.of(entry_of_row(row, self._dimensions)).fingerprint

    def new_row(self, draft: Draft, existing: Row | None, owner: str | None) -> Row:
        self.notes |= {WHY_NOT[name]: None for name in draft.named}
        values: dict[str, Value] = {
            "key": draft.key,
            "content": draft.content,
            "category": draft.category,
            "session_id": self._session(draft.session_id),
        }
        if draft.vector is not None:
            values["embedding"] = self._vector_data(draft.vector)
        return new_point_row(existing.id if existing else str(uuid.uuid4()), values, draft.agent)

    def edited_row(self, row: Row, edit: Edit) -> Row:
        """Without a vector if key or content changes, unless the edit brings one."""
        values = {**row.values, **edit.values}
        if "session_id" in edit.values:
            values["session_id"] = self._session(edit.values["session_id"])
        if values == row.values:
            return row
        if any(values[name] != row.values[name] for name in ("key", "content")):
            values.pop("embedding", None)
            if edit.vector is not None:
                values["embedding"] = self._vector_data(edit.vector)
        return replace(row, values=values)

    def restored_row(self, row: Row, existing: Row | None, owner: str | None, *, new_id: bool) -> Row:
        if _OTHER_FIELDS not in row.values:
            lost = [name for name in WHY_NOT if row.values.get(name) not in (None, *_UNNOTICED.get(name, ()))]
            self.notes |= {WHY_NOT[name]: None for name in lost}
        row = self._converted(row)
        _require_unicode(row.key, row.values.values())
        return new_point_row(str(uuid.uuid4()), row.values, row.agent) if new_id else row

    async def prepare(self, rows: Sequence[Row]) -> Mapping[str, Row]:
        """Embed rows without a vector. Raises Refused, EmbeddingFailed."""
        missing = [row for row in rows if "embedding" not in row.values]
        texts = [key_and_content(row.key, str(row.values["content"])) for row in missing]
        vectors = await self._embed(texts) if texts else ()
        return {
            row.id: replace(row, values={**row.values, "embedding": vector})
            for row, vector in zip(missing, vectors, strict=True)
        }

    async def write(self, operations: Sequence[Operation]) -> Mapping[str, Row]:
        """Write all new points, then delete the others, then read what Qdrant has."""
        rows = [one.new for one in operations if one.new is not None]
        await self._client.write("/points", [point_of_row(row) for row in rows])
        deleted = [parse_id(one.existing.id) for one in operations if one.new is None and one.existing is not None]
        if deleted:
            await self._client.request("POST", "/points/delete?wait=true", {"points": deleted})
        found = {row.id: row for row in await self.read(rows, ())} if rows else {}
        for row in rows:
            if row.id not in found:
                raise NotReachable(
                    f"Qdrant accepted the memory {one_line(row.key)!r}, but does not have it.",
                    hint="Another program may have deleted it at the same moment. Check again.",
                )
        return found

    async def fill(self, rows: Sequence[tuple[Row, NewVector]]) -> None:
        vectors = [(row.id, self._vector_data(new.vector)) for row, new in rows]
        points = [{"id": parse_id(id), "vector": unpack_vector(data)} for id, data in vectors]  # noqa: A001
        await self._client.write("/points/vectors", points)

    def _converted(self, row: Row) -> Row:
        return converted(row, self._dimensions)

    def _session(self, session: Value) -> str | None:
        """A session id as ZeroClaw writes it, with a note if that is another."""
        stored = sanitised(column_text(session)) or None
        if session and stored != session:
            sentence = f"The session is stored as {stored!r}: ZeroClaw allows only letters, digits, _ and - here."
            self.notes[sentence] = None
        return stored

    def _vector_data(self, vector: Vector) -> bytes:
        """The bytes of a vector. Raises Refused if its length does not fit the collection."""
        if vector.dimensions != self._dimensions:
            raise wrong_length(self._dimensions, vector.dimensions)
        return vector.data


def any_of(field: str, values: Iterable[str], *, or_missing: bool = False) -> Filter:
    """The condition that a payload field is one of these texts, or missing."""
    # No payload has text that is not valid Unicode, and Qdrant refuses it as JSON.
    texts = [value for value in values if is_unicode(value)]
    condition: Filter = {"key": field, "match": {"any": texts}} if texts else _NOTHING
    return {"should": [condition, {"is_empty": {"key": field}}]} if or_missing else condition


def of_agents(agents: Sequence[str]) -> Filter:
    """The condition that a point belongs to one of these agents."""
    return any_of("agent_id", agents, or_missing=DEFAULT_AGENT in agents)


def parse_id(id: str) -> int | str | None:
    """An id as Qdrant accepts it, a number or a UUID; None for all others."""
    try:
        if id.isascii() and id.isdecimal():
            return int(id) if str(int(id)) == id and int(id) < _MAX_ID else None
        return id if str(uuid.UUID(id)) == id else None
    except ValueError:
        return None


def _same_payload(one: Row, other: Row) -> bool:
    """Whether two rows are equal except for their vectors."""
    return all(one.values.get(name) == other.values.get(name) for name in ("id", *_FIELDS, _OTHER_FIELDS))


def _require_unicode(key: str, texts: Iterable[Value]) -> None:
    """Raises Refused for text that JSON cannot carry."""
    if not all(is_unicode(text) for text in texts if isinstance(text, str)):
        raise Refused(
            f"The memory {one_line(key)!r} has text that is not valid Unicode, and Qdrant accepts nothing else.",
            hint="Nothing was stored.",
        )


def pack_vector(vector: Sequence[float]) -> bytes:
    """The numbers as little-endian float32."""
    return struct.pack(f"<{len(vector)}f", *vector)


def unpack_vector(data: bytes) -> list[float]:
    """The numbers of `pack_vector`."""
    return list(struct.unpack(f"<{len(data) // 4}f", data))


def wrong_length(expected: int, dimensions: int) -> Refused:
    """The error for vectors of another length than those of the collection."""
    return Refused(
        f"The collection has vectors of {expected} numbers, not of {dimensions}.",
        hint=f"Set memory.embedding_dimensions to {expected} if the model makes such vectors, or choose another "
        "collection.",
    )
