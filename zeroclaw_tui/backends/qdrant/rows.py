"""Points of a collection as rows, and the writing of rows.

A point is an id, a payload and one vector. Payload fields that ZeroClaw does not write are preserved. Qdrant has no
transactions: another program can write between the comparison and the write. The rows that are read afterwards show it.
"""

from __future__ import annotations

import json
import struct
import uuid
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from zeroclaw_tui.backends.about import key_and_content
from zeroclaw_tui.backends.qdrant.client import Filter, Point, QdrantClient
from zeroclaw_tui.backends.tables import sanitised, utc_now
from zeroclaw_tui.backends.writing import Operation, OwnedKey, RowWriter
from zeroclaw_tui.config.memory_config import shown
from zeroclaw_tui.memory.change import Draft, Edit, NewVector, Row, RowChange, RowVersion, Value, Vector
from zeroclaw_tui.memory.entry import MemoryEntry, column_text, uuid_for
from zeroclaw_tui.memory.errors import NotReachable, Refused, Unreadable
from zeroclaw_tui.memory.query import NO_SESSION, MemoryFilter, Superseded
from zeroclaw_tui.memory.text import cut, is_unicode, one_line, unicode_text

DEFAULT_AGENT = "default"
"""The agent of points that name none (ZeroClaw >= 0.8.0)."""
OTHER_FIELDS = "payload"
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
_NOTHING: Filter = {"has_id": []}
_MAX_ID = 2**64
_OTHER_NAME = "Name another collection in config.toml, or with --location URL/collections/NAME."
NO_EMBEDDER = "Qdrant stores and finds nothing without an embedding"
NO_AGENTS = "No point here names an agent: agents came with ZeroClaw 0.8.0."
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
_DEFAULTS: Mapping[str, tuple[Value, ...]] = {"namespace": ("default",), "importance": (0.5,), "pinned": (0, False)}
"""Values of columns that a point cannot have, whose loss nobody notices."""
_OVERWRITTEN = (
    "Another program wrote {!r} at the same moment: Qdrant has no transactions. The other program's version stays."
)
_MAX_SHOWN_KEY = 60


@dataclass(frozen=True, slots=True)
class CollectionInfo:
    """What every row of a collection depends on."""

    dimensions: int
    """The length of its vectors."""
    distance: str
    has_agents: bool
    """Whether points name their agent, as ZeroClaw >= 0.8.0 writes them."""

    def row(self, point: Point) -> Row:
        """The row of a point; it has an `embedding` if the point has its vector."""
        payload = point.get("payload") or {}
        others = dict(payload)
        values: dict[str, Value] = {"id": str(point["id"])}
        for column, name in _FIELDS.items():
            if isinstance(payload.get(name), str):
                values[column] = others.pop(name)
            else:
                values[column] = "" if column in _ALWAYS_TEXT else None
        values[OTHER_FIELDS] = json.dumps(others, sort_keys=True)
        vector = point.get("vector")
        if isinstance(vector, list):
            try:
                values["embedding"] = pack_vector(vector)
            except (struct.error, OverflowError) as error:
                raise Unreadable("A point of this collection has a vector that is not a list of numbers.") from error
        agent = str(values["agent_id"] or DEFAULT_AGENT) if self.has_agents else None
        return Row(str(values["id"]), values, str(values["id"]), agent)

    def entry(self, row: Row) -> MemoryEntry:
        """The memory of a row."""
        return replace(row.entry(), embedding_dimensions=self.dimensions)

    def converted(self, row: Row) -> Row:
        """A row of any store as a row of this collection, with another collection's further fields."""
        vector = row.values.get("embedding")
        fits = isinstance(vector, bytes) and len(vector) == 4 * self.dimensions
        if OTHER_FIELDS in row.values and "agent_id" in row.values and (fits or "embedding" not in row.values):
            return row
        texts = {name: unicode_text(column_text(row.values.get(name))) for name in (*_ALWAYS_TEXT, "session_id")}
        new_id = row.id if parse_id(row.id) is not None else uuid_for(row.id)
        converted = self._row(new_id, texts, row.agent, vector if fits else None)
        further = row.values.get(OTHER_FIELDS, "{}")
        return replace(converted, values={**converted.values, OTHER_FIELDS: further})

    def drafted(self, draft: Draft, id: str | None) -> Row:
        """The row of a new memory, stored now, without a vector."""
        texts = {"key": draft.key, "content": draft.content, "category": draft.category}
        return self._row(id or str(uuid.uuid4()), texts | {"session_id": draft.session_id or ""}, draft.agent, None)

    def edited(self, row: Row, values: Mapping[str, Value]) -> Row:
        """The row with other values, and without a vector if key or content changes."""
        changed = {**row.values, **values}
        changed["session_id"] = self.session(column_text(changed.get("session_id")))
        if any(changed[name] != row.values[name] for name in ("key", "content")):
            changed.pop("embedding", None)
        return replace(row, values=changed)

    def session(self, session: str) -> str | None:
        """A session id as ZeroClaw writes it; from 0.8.0 on only with letters, digits, _ and -."""
        return (sanitised(session) if self.has_agents else session) or None

    def of_keys(self, keys: Iterable[str], agent: str | None = None) -> dict[str, Any]:
        """The filter for points of these keys, of one agent or of all."""
        conditions = [any_of("key", keys)]
        if agent is not None and self.has_agents:
            conditions.append(of_agents([agent]))
        return {"must": conditions}

    def conditions(self, filter: MemoryFilter) -> dict[str, Any] | None:
        """The filter in Qdrant's JSON; None if it has parts that Qdrant cannot answer."""
        here = MemoryFilter(category=filter.category, session=filter.session, agent=filter.agent)
        if filter.but(superseded=here.superseded) != here or filter.superseded is Superseded.ONLY:
            return None
        must: list[Filter] = []
        if filter.category is not None:
            must.append(any_of("category", filter.category, or_missing="" in filter.category))
        if filter.session is not None:
            must.append(any_of("session_id", filter.session, or_missing=NO_SESSION in filter.session))
        if filter.agent is not None:
            must.append(of_agents(filter.agent) if self.has_agents else _NOTHING)
        return {"must": must}

    def _row(self, id: str, texts: Mapping[str, str], agent: str | None, vector: Value) -> Row:
        owner = (agent or DEFAULT_AGENT) if self.has_agents else None
        values: dict[str, Value] = {
            "id": id,
            "key": texts["key"],
            "content": texts["content"],
            "category": texts["category"],
            "created_at": texts.get("created_at") or utc_now(),
            "session_id": self.session(texts["session_id"]),
            "agent_id": owner,
            OTHER_FIELDS: "{}",
        }
        if vector is not None:
            values["embedding"] = vector
        return Row(id, values, id, owner)


class QdrantWriter(RowWriter):
    """Writes the points of a collection; the owner of a row is its agent, if points name agents.

    Qdrant has no transactions: another program can write between the comparison and the write. The rows that are read
    afterwards show it.
    """

    keys_are_unique = False

    def __init__(
        self,
        client: QdrantClient,
        info: CollectionInfo,
        embed: Callable[[Sequence[str]], Awaitable[Sequence[bytes]]],
    ) -> None:
        super().__init__()
        self._client = client
        self._info = info
        self._embed = embed

    def check(self, after: Draft | Edit) -> None:
        if isinstance(after, Draft):
            require_unicode(after.key, (after.key, after.content, after.category, after.session_id, after.agent))
            return
        for name in after.values:
            if name not in EDITABLE:
                raise Refused(WHY_NOT[name])
        require_unicode(str(after.values.get("key", "")), after.values.values())

    async def read(self, rows: Sequence[RowVersion | Row], keys: Collection[OwnedKey]) -> Iterable[Row]:
        """The oldest points first: of several with one key that one counts."""
        ids = [parsed for row in rows if (parsed := parse_id(self.identity(row))) is not None]
        points = await self._client.retrieve(ids)
        names = sorted({key for _, key in keys})
        if names:
            of_keys = self._info.of_keys(names)
            points += [point async for page in self._client.scroll(of_keys, vectors=True) for point in page]
        found = {row.id: row for row in map(self._info.row, points)}
        return sorted(found.values(), key=lambda row: (str(row.values["created_at"]), row.id))

    def identity(self, row: RowVersion | Row) -> str:
        return row.id if isinstance(row, RowVersion) else self._info.converted(row).id

    def owner(self, row: Row) -> str | None:
        return self._info.converted(row).agent

    async def resolve_owner(self, row: Row | Draft, *, create: bool) -> tuple[str | None, RowChange | None]:
        return (row.agent or DEFAULT_AGENT) if self._info.has_agents else None, None

    def same(self, one: Row, other: Row) -> bool:
        return same_payload(self._info.converted(one), self._info.converted(other))

    def state_of(self, row: Row) -> str:
        return Row.of(self._info.entry(row)).fingerprint

    def new_row(self, draft: Draft, existing: Row | None, owner: str | None) -> Row:
        self.notes |= {WHY_NOT[name]: None for name in draft.named}
        if draft.agent is not None and not self._info.has_agents:
            self.notes[NO_AGENTS] = None
        row = self._info.drafted(draft, existing.id if existing else None)
        self._note_session(draft.session_id, row)
        return self._with_vector(row, draft.vector)

    def edited_row(self, row: Row, edit: Edit) -> Row:
        new = self._info.edited(row, edit.values)
        if same_payload(new, row):
            return row
        self._note_session(edit.values.get("session_id"), new)
        return new if "embedding" in new.values else self._with_vector(new, edit.vector)

    def restored_row(self, row: Row, existing: Row | None, owner: str | None, *, new_id: bool) -> Row:
        if OTHER_FIELDS not in row.values:
            lost = [name for name in WHY_NOT if row.values.get(name) not in (None, *_DEFAULTS.get(name, ()))]
            self.notes |= {WHY_NOT[name]: None for name in lost}
        row = self._info.converted(row)
        require_unicode(row.key, row.values.values())
        if not new_id:
            return row
        new = str(uuid.uuid4())
        return Row(new, {**row.values, "id": new}, new, row.agent)

    async def prepare(self, rows: Sequence[Row]) -> Mapping[str, Row]:
        """Embed rows without a vector. Raises Refused, EmbeddingFailed."""
        return {row.id: row for row in await self._embedded([row for row in rows if "embedding" not in row.values])}

    async def write(self, operations: Sequence[Operation]) -> Mapping[str, Row]:
        """Write all new points, then delete the others, then read what Qdrant has."""
        rows = [one.new for one in operations if one.new is not None]
        await self._client.write("/points", [point_of(row) for row in rows])
        deleted = [parse_id(one.existing.id) for one in operations if one.new is None and one.existing is not None]
        if deleted:
            await self._client.delete({"points": deleted})
        return await self._read_back(rows)

    async def fill(self, rows: Sequence[tuple[Row, NewVector]]) -> None:
        vectors = [(row.id, vector_data(new.vector, self._info)) for row, new in rows]
        points = [{"id": parse_id(name), "vector": unpack_vector(data)} for name, data in vectors]
        await self._client.write("/points/vectors", points)

    async def _embedded(self, rows: Sequence[Row]) -> list[Row]:
        for row in rows:
            if not row.key.strip() and not str(row.values["content"]).strip():
                raise Refused(f"{NO_EMBEDDER}, and a memory without key and content has none.")
        texts = [key_and_content(row.key, str(row.values["content"])) for row in rows]
        vectors = await self._embed(texts) if texts else ()
        return [_with_vector(row, vector) for row, vector in zip(rows, vectors, strict=True)]

    async def _read_back(self, rows: Sequence[Row]) -> dict[str, Row]:
        """The rows as Qdrant has them, with a remark for each that another program has changed already."""
        found = {row.id: row for row in await self.read(rows, ())} if rows else {}
        for row in rows:
            key = cut(one_line(row.key), _MAX_SHOWN_KEY)
            if row.id not in found:
                raise NotReachable(
                    f"Qdrant accepted the memory {key!r}, but does not have it.",
                    hint="Another program may have deleted it at the same moment. Check again.",
                )
            if not same_payload(found[row.id], row):
                self.notes[_OVERWRITTEN.format(key)] = None
        return found

    def _with_vector(self, row: Row, vector: Vector | None) -> Row:
        return row if vector is None else _with_vector(row, vector_data(vector, self._info))

    def _note_session(self, session: Value, row: Row) -> None:
        stored = row.values["session_id"]
        if isinstance(session, str) and session and stored not in (session, None):
            sentence = f"The session is stored as {stored!r}: ZeroClaw allows only letters, digits, _ and - here."
            self.notes[sentence] = None


def _with_vector(row: Row, vector: bytes) -> Row:
    return replace(row, values={**row.values, "embedding": vector})


async def inspect_collection(
    client: QdrantClient, description: Mapping[str, Any], *, has_agents: bool
) -> CollectionInfo:
    """Look at the vectors of a collection and at one point.

    Raises NotReachable, and Unreadable for another program's collection.
    """
    name, size = shown(client.address.collection), vector_size(description)
    if size is None:
        raise Unreadable(f"The collection {name} is not ZeroClaw's: it has no single unnamed vector.", hint=_OTHER_NAME)
    memories = {"must_not": [{"is_empty": {"key": field}} for field in ("key", "content")]}
    if not (await client.scroll_page(memories, 1))[0] and (await client.scroll_page(None, 1))[0]:
        raise Unreadable(
            f"The collection {name} is not ZeroClaw's: its points have no key and no content.", hint=_OTHER_NAME
        )
    if not has_agents:
        has_agents = bool((await client.scroll_page({"must_not": [{"is_empty": {"key": "agent_id"}}]}, 1))[0])
    distance = description["config"]["params"]["vectors"].get("distance")
    return CollectionInfo(size, str(distance), has_agents)


def vector_size(description: Any) -> int | None:
    """The length of the one unnamed vector of a described collection; None if it has others."""
    try:
        params = description["config"]["params"]
        size, several = params["vectors"]["size"], params["vectors"].get("multivector_config")
        sparse = params.get("sparse_vectors")
    except (KeyError, TypeError, AttributeError):
        return None
    return size if type(size) is int and not several and not sparse else None


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


def point_of(row: Row) -> Point:
    """The point of a row of this collection."""
    payload: dict[str, Any] = json.loads(str(row.values[OTHER_FIELDS]))
    for column, name in _FIELDS.items():
        # An empty text is that of a field which is missing, or has another value.
        if text := row.values.get(column):
            payload[name] = text
    payload.setdefault("content", "")
    point: Point = {"id": parse_id(row.id), "payload": payload}
    vector = row.values.get("embedding")
    return point | ({"vector": unpack_vector(vector)} if isinstance(vector, bytes) else {})


def same_payload(one: Row, other: Row) -> bool:
    """Whether two rows are equal except for their vectors."""
    return all(one.values.get(name) == other.values.get(name) for name in ("id", *_FIELDS, OTHER_FIELDS))


def require_unicode(key: str, texts: Iterable[Value]) -> None:
    """Raises Refused for text that JSON cannot carry."""
    if not all(is_unicode(text) for text in texts if isinstance(text, str)):
        raise Refused(
            f"The memory {one_line(key)!r} has text that is not valid Unicode, and Qdrant accepts nothing else.",
            hint="Nothing was stored.",
        )


def pack_vector(vector: Iterable[float]) -> bytes:
    """The numbers as little-endian float32."""
    numbers = list(vector)
    return struct.pack(f"<{len(numbers)}f", *numbers)


def unpack_vector(data: bytes) -> list[float]:
    """The numbers of `pack_vector`."""
    return list(struct.unpack(f"<{len(data) // 4}f", data))


def vector_data(vector: Vector, info: CollectionInfo) -> bytes:
    """The bytes of a vector. Raises Refused if its length does not fit the collection."""
    if vector.dimensions != info.dimensions:
        raise wrong_length(info.dimensions, vector.dimensions)
    return vector.data


def wrong_length(expected: int, dimensions: int) -> Refused:
    """The error for vectors of another length than those of the collection."""
    return Refused(
        f"The collection has vectors of {expected} numbers, not of {dimensions}.",
        hint=f"Set memory.embedding_dimensions to {expected} if the model makes such vectors, or choose another "
        "collection.",
    )
