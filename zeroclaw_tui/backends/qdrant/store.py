"""Memory in a Qdrant collection, with ZeroClaw's recall: the nearest points, without threshold and keywords.

A point is an id, a payload and one vector. Payload fields that ZeroClaw does not write are preserved.

Up to MAX_LOADED points are loaded once for lists, filters and counts. They are loaded again at once if the number of
points changes or this program writes, and else after LOADED_SECONDS_PER_POINT times the number of points. For a bigger
collection the server provides counts, recall, and the points with given ids and keys.
"""

from __future__ import annotations

import asyncio
import json
import struct
import time
import uuid
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from zeroclaw_tui.backends.about import About, Notice, key_and_content, why_not_field
from zeroclaw_tui.backends.base import ReloadedMemory, SearchedMemory, T, check_writable
from zeroclaw_tui.backends.fallback import ignored_parts
from zeroclaw_tui.backends.loaded import Loaded, sort_key_by_time
from zeroclaw_tui.backends.matching import matches, sort_key
from zeroclaw_tui.backends.qdrant.client import (
    NOT_ZEROCLAWS,
    TOTAL_SECONDS,
    CollectionAddress,
    Filter,
    Point,
    QdrantClient,
    configured_address,
    vectors_of,
    wrong_length,
)
from zeroclaw_tui.backends.tables import DEFAULT_AGENT, sanitised, session_to_store, utc_now, uuid_for
from zeroclaw_tui.backends.upkeep import Upkeep
from zeroclaw_tui.backends.writing import OwnedKey, RowWriter, Work
from zeroclaw_tui.config.memory_config import MemoryConfig, shown
from zeroclaw_tui.embeddings.base import Embedder, InputRejectedError, why_no_embedder
from zeroclaw_tui.embeddings.endpoint import create_embedder, embed_each
from zeroclaw_tui.memory.change import Draft, Edit, Row, RowChange, RowVersion, Value, Vector
from zeroclaw_tui.memory.entry import Handle, MemoryEntry, as_text
from zeroclaw_tui.memory.errors import ASKED_READ_ONLY, NothingYet, NotReachable, Refused, Unreadable
from zeroclaw_tui.memory.query import NO_SESSION, MemoryFilter, Query, SortField, Superseded
from zeroclaw_tui.memory.recall import RecallRequest, ScoredEntry
from zeroclaw_tui.memory.statistics import CountField, Counts
from zeroclaw_tui.memory.text import WHITE_SPACE, is_unicode, one_line, unicode_text
from zeroclaw_tui.scoring.evidence import OwnEvidence, depth_of
from zeroclaw_tui.scoring.neighbours import Near, Neighbour
from zeroclaw_tui.scoring.profiles import OwnRule, ScoringProfile, Trial, parse_version

if TYPE_CHECKING:
    import numpy as np

STAGE = "qdrant"
MAX_LOADED = 50_000
LOADED_SECONDS_PER_POINT = 0.001
_PURPOSE = "to store and find memories here"
_OTHER_NAME = "Name another collection in config.toml, or with --location URL/collections/NAME."
_COSINE = "Cosine"
_MAX_LISTED = 1000
"""The page size of ZeroClaw's list for a blank query; it reads one page."""
_LIMITS_BLANK_QUERIES_SINCE = (0, 5, 5)

NO_EMBEDDER = "Qdrant stores and finds nothing without an embedding"
_NONE = "ZeroClaw stores no {} in Qdrant."
WHY_NOT = {
    "atomic": "Qdrant has no transactions: what another program writes at the same moment can be overwritten.",
    "keyword": "ZeroClaw searches Qdrant by vectors only; it has no keyword index there.",
    "namespaces": _NONE.format("namespace"),
    "superseded": _NONE.format("information about replaced memories"),
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
"""Default values of columns that a point cannot have, whose loss needs no note."""
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
            values["embedding"] = struct.pack(f"<{len(vector)}f", *vector)
        except (struct.error, OverflowError) as error:
            raise Unreadable("A point of this collection has a vector that is not a list of numbers.") from error
    return Row(str(values["id"]), values, str(values["id"]), str(values["agent_id"] or DEFAULT_AGENT))


def point_of_row(row: Row) -> Point:
    """The point of a row of this collection."""
    payload: dict[str, Any] = json.loads(str(row.values[_OTHER_FIELDS]))
    for column, name in _FIELDS.items():
        # An empty text replaces a field that is missing or is not a text.
        if text := row.values.get(column):
            payload[name] = text
    payload.setdefault("content", "")
    point: Point = {"id": parse_id(row.id), "payload": payload}
    vector = row.values.get("embedding")
    if isinstance(vector, bytes):
        point["vector"] = list(struct.unpack(f"<{len(vector) // 4}f", vector))
    return point


def new_point_row(id: str, values: Mapping[str, Value], agent: str | None) -> Row:
    """Make a row of some values; the others are empty, and the time of creation is now."""
    owner = agent or DEFAULT_AGENT
    usual: dict[str, Value] = {"session_id": None, "agent_id": owner, _OTHER_FIELDS: "{}", "created_at": utc_now()}
    return Row(id, {**usual, **values, "id": id}, id, owner)


def converted(row: Row, dimensions: int) -> Row:
    """Convert a row of any store for a collection; a vector of another length is left out."""
    vector = row.values.get("embedding")
    fits = isinstance(vector, bytes) and len(vector) == 4 * dimensions
    if _OTHER_FIELDS in row.values and "agent_id" in row.values:
        without = {name: value for name, value in row.values.items() if name != "embedding"}
        return row if fits or "embedding" not in row.values else replace(row, values=without)
    texts = {name: unicode_text(as_text(row.values.get(name))) for name in (*_ALWAYS_TEXT, "session_id")}
    values: dict[str, Value] = {name: text for name, text in texts.items() if name != "created_at" or text}
    values["session_id"] = sanitised(texts["session_id"]) or None
    values[_OTHER_FIELDS] = row.values.get(_OTHER_FIELDS, "{}")
    if fits:
        values["embedding"] = vector
    return new_point_row(row.id if parse_id(row.id) is not None else uuid_for(row.id), values, row.agent)


class QdrantWriter(RowWriter):
    """Writes the points of a collection; the owner of a row is its agent.

    Qdrant has no transactions: another program can write between the comparison and the write. Reading the rows
    afterwards reveals that.
    """

    keys_are_unique = False
    why_not = WHY_NOT

    def __init__(
        self, client: QdrantClient, dimensions: int, embed: Callable[[Sequence[str]], Awaitable[Sequence[bytes]]]
    ) -> None:
        super().__init__()
        self._client = client
        self._dimensions = dimensions
        self._embed = embed

    def check(self, after: Draft | Edit) -> None:
        super().check(after)
        if isinstance(after, Draft):
            _require_unicode(after.key, (after.key, after.content, after.category, after.session_id, after.agent))
        else:
            _require_unicode(str(after.values.get("key", "")), after.values.values())

    async def read(self, rows: Sequence[RowVersion | Row], keys: Collection[OwnedKey]) -> Iterable[Row]:
        """Read the oldest points first, because of several with the same key the oldest counts."""
        ids = [parsed for row in rows if (parsed := parse_id(self.identity(row))) is not None]
        points = await self._client.retrieve(ids)
        if keys:
            of_keys = any_of("key", sorted({key for _, key in keys}))
            points += [point async for point in self._client.scroll({"must": [of_keys]}, vectors=True)]
        found = {row.id: row for row in map(row_of_point, points)}
        return sorted(found.values(), key=lambda row: (str(row.values["created_at"]), row.id))

    def identity(self, row: RowVersion | Row) -> str:
        return row.id if isinstance(row, RowVersion) else converted(row, self._dimensions).id

    def owner(self, row: Row) -> str | None:
        return row.agent or DEFAULT_AGENT

    async def resolve_owner(self, row: Row | Draft, *, create: bool) -> tuple[str | None, RowChange | None]:
        return row.agent or DEFAULT_AGENT, None

    def same(self, one: Row, other: Row) -> bool:
        left, right = (converted(row, self._dimensions).values for row in (one, other))
        return all(left.get(name) == right.get(name) for name in ("id", *_FIELDS, _OTHER_FIELDS))

    def state_of(self, row: Row) -> str:
        return Row.from_entry(replace(row.entry(), embedding_dimensions=self._dimensions)).fingerprint

    def new_row(self, draft: Draft, existing: Row | None, owner: str | None) -> Row:
        self._note_lost(draft.explicit)
        values: dict[str, Value] = {
            "key": draft.key,
            "content": draft.content,
            "category": draft.category,
            "session_id": session_to_store(draft.session_id, self.notes),
        }
        if draft.vector is not None:
            values["embedding"] = self._vector_data(draft.vector)
        return new_point_row(existing.id if existing else str(uuid.uuid4()), values, draft.agent)

    def edited_row(self, row: Row, edit: Edit) -> Row:
        """Drop the vector if key or content change, unless the edit has a new one."""
        values = {**row.values, **edit.values}
        if "session_id" in edit.values:
            values["session_id"] = session_to_store(edit.values["session_id"], self.notes)
        if edit.values and values == row.values:
            return row
        if not edit.values or any(values[name] != row.values[name] for name in ("key", "content")):
            values.pop("embedding", None)
            if edit.vector is not None:
                values["embedding"] = self._vector_data(edit.vector)
        return replace(row, values=values)

    def restored_row(self, row: Row, existing: Row | None, owner: str | None, *, new_id: bool) -> Row:
        if _OTHER_FIELDS not in row.values:
            self._note_lost(
                name for name, value in row.values.items() if value not in (None, *_UNNOTICED.get(name, ()))
            )
        row = converted(row, self._dimensions)
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

    async def write(self, changes: Sequence[RowChange]) -> Mapping[str, Row]:
        """Write all new points, then delete the others, then read the points back."""
        rows = [one.after for one in changes if one.after is not None]
        deleted = [parse_id(one.before.id) for one in changes if one.after is None and one.before is not None]
        await self._client.write([point_of_row(row) for row in rows], deleted)
        found = {row.id: row for row in await self.read(rows, ())} if rows else {}
        for row in rows:
            if row.id not in found:
                raise NotReachable(
                    f"Qdrant accepted the memory {one_line(row.key)!r}, but does not have it.",
                    hint="Another program may have deleted it at the same moment. Check again.",
                )
        return found

    def _note_lost(self, names: Iterable[str]) -> None:
        """Note the values that a point cannot have."""
        self.notes |= {sentence: None for name in names if (sentence := why_not_field(WHY_NOT, name))}

    def _vector_data(self, vector: Vector) -> bytes:
        """The bytes of a vector. Raises Refused if its length does not fit the collection."""
        if vector.dimensions != self._dimensions:
            raise wrong_length(self._dimensions, vector.dimensions)
        return vector.data


def conditions_of(filter: MemoryFilter) -> Filter | None:
    """A filter in Qdrant's JSON; None if it has parts that Qdrant cannot answer."""
    here = MemoryFilter(filter.category, filter.session, filter.agent)
    if filter.replace(superseded=here.superseded) != here or filter.superseded is Superseded.ONLY:
        return None
    must: list[Filter] = []
    if filter.category is not None:
        must.append(any_of("category", filter.category, or_missing="" in filter.category))
    if filter.session is not None:
        must.append(any_of("session_id", filter.session, or_missing=NO_SESSION in filter.session))
    if filter.agent is not None:
        must.append(of_agents(filter.agent))
    return {"must": must}


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


def _require_unicode(key: str, texts: Iterable[Value]) -> None:
    """Raise Refused for text that JSON cannot encode."""
    if not all(is_unicode(text) for text in texts if isinstance(text, str)):
        raise Refused(
            f"The memory {one_line(key)!r} has text that is not valid Unicode, and Qdrant accepts nothing else.",
            hint="Nothing was stored.",
        )


class TooManyPoints(Refused):
    """A request that needs every point of a collection that is too big to load."""

    def __init__(self, collection: str, points: int) -> None:
        super().__init__(
            f"The collection {shown(collection)} has {points:,} points, and only up to {MAX_LOADED:,} are listed.",
            hint="Recall works, and so do commands that name keys or ids.",
        )


def _threshold_meaning(profile: ScoringProfile, threshold: float) -> str:
    return f"Qdrant's score is the cosine between message and memory, at most 1.00; it has to reach {threshold:.2f}."


class QdrantMemory(SearchedMemory, ReloadedMemory[Loaded]):
    """One collection. It embeds key and content together, and refuses to store without an embedder."""

    name = STAGE
    about = About(
        rule=OwnRule(
            takes_vector=False, finds_words=False, crosses_sessions=False, threshold_meaning=_threshold_meaning
        ),
        computes_vectors=True,
        keeps_deleted="Qdrant keeps deleted points in its segments until it optimizes them, and in its log, snapshots "
        "and replicas, which this program cannot read.",
    )

    def __init__(
        self,
        address: CollectionAddress,
        api_key: str = "",
        *,
        embedder: Embedder | None = None,
        no_embedder_reason: str = "set memory.embedding_provider.",
        read_only: bool = False,
        seconds: float = TOTAL_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client = QdrantClient(address, api_key, seconds=seconds)
        self._embedder = embedder
        self._no_embedder = f"{NO_EMBEDDER}: {no_embedder_reason}"
        self.about = self.about._replace(location=address.location)
        self._clock = clock
        self._dimensions, self._distance = 0, _COSINE
        self._write_count = 0
        vectors = {} if embedder is not None else {"vectors": self._no_embedder}
        self.why_not = {**WHY_NOT, **vectors, **({"write": ASKED_READ_ONLY} if read_only else {})}

    @classmethod
    def from_config(cls, config: MemoryConfig) -> QdrantMemory:
        address, key = configured_address(config.storage, config.location)
        return cls(
            address,
            key,
            embedder=create_embedder(config.embedding),
            no_embedder_reason=why_no_embedder(config.embedding, purpose=_PURPOSE) or "",
            read_only=config.read_only,
        )

    async def open(self) -> None:
        """Inspect the collection. Raises NothingYet, NotReachable, and Unreadable for another program's."""
        description, name = await self._client.describe(), shown(self._client.address.collection)
        vectors = vectors_of(description)
        if vectors is None:
            raise Unreadable(NOT_ZEROCLAWS.format(name), hint=_OTHER_NAME)
        memories = {"must_not": [{"is_empty": {"key": field}} for field in ("key", "content")]}
        if not (await self._client.scroll_page(memories, 1))[0] and (await self._client.scroll_page(None, 1))[0]:
            raise Unreadable(
                f"The collection {name} is not ZeroClaw's: its points have no key and no content.", hint=_OTHER_NAME
            )
        self._dimensions, self._distance = vectors["size"], str(vectors.get("distance"))
        self._contents = None
        problem = self._embedding_problem()
        notices = [] if problem is None else [Notice(f"{problem.message} {problem.hint}")]
        if (points := await self.count()) > MAX_LOADED:
            notices.append(Notice(TooManyPoints(self._client.address.collection, points).message))
        assert self.about.rule is not None
        rule = self.about.rule._replace(name=f"{self._scale} only")
        self.about = self.about._replace(rule=rule, notices=tuple(notices))

    async def close(self) -> None:
        self._contents = None
        await self._client.close()
        if self._embedder is not None:
            await self._embedder.close()

    @property
    def upkeep(self) -> Upkeep:
        return Upkeep(maker=self, embedder=self._embedder)

    async def make(self, profile: ScoringProfile, *, dry_run: bool = False) -> None:
        """Create the collection with the embedder's dimensions, cosine distance and no payload index.

        Raises Refused without an embedder, and if the collection exists.
        """
        if self._embedder is not None:
            self._dimensions = self._embedder.dimensions
        if dry_run:
            return
        check_writable(self)
        self._require_embedder()
        try:
            await self._client.describe()
        except NothingYet:
            vectors = {"size": self._dimensions, "distance": _COSINE}
            await self._client.request("PUT", "", {"vectors": vectors})
        else:
            raise Refused(f"The collection {self._client.address.collection} exists already.")

    async def health_check(self) -> bool:
        await self._client.describe()
        return True

    async def count(self) -> int:
        return await self._client.count_points()

    async def version(self) -> int | None:
        return None

    async def _state(self) -> object:
        number = await self.count()
        if number > MAX_LOADED:
            raise TooManyPoints(self._client.address.collection, number)
        return number, self._write_count, self._clock() // (max(number, 1) * LOADED_SECONDS_PER_POINT)

    async def _load(self) -> Loaded:
        entries = [self._entry(row_of_point(point)) async for point in self._client.scroll()]
        ordered = await asyncio.to_thread(sorted, entries, key=lambda entry: sort_key(entry, SortField.AGE))
        return Loaded(ordered, backend=self.name, sort_key=sort_key_by_time)

    async def _find_entries(self, query: Query[Any]) -> Sequence[MemoryEntry]:
        """Fetch rows from the server if the query names handles, ids or keys."""
        if query.keys is not None:
            of_keys = {"must": [any_of("key", query.keys)]}
            rows = [row_of_point(point) async for point in self._client.scroll(of_keys)]
            places = {key: place for place, key in enumerate(dict.fromkeys(query.keys))}
            rows.sort(key=lambda row: (places[row.key], str(row.values["created_at"]), row.id))
        elif query.handles is not None or query.ids is not None:
            rows = await self._stored(list(dict.fromkeys(query.handles or query.ids or ())), vectors=False)
        else:
            return await super()._find_entries(query)
        return [entry for entry in map(self._entry, rows) if matches(entry, query.filter)]

    async def _rows_of(self, entries: Sequence[MemoryEntry]) -> Sequence[Row]:
        return await self._stored([entry.handle for entry in entries])

    async def count_up(self, filter: MemoryFilter, now: str, by: Sequence[CountField] = ()) -> Counts:
        """Count memories; in a collection that is too big to load, only the total.

        Qdrant's facets need a payload index, which ZeroClaw does not create.
        """
        try:
            return await super().count_up(filter, now, by)
        except TooManyPoints:
            if (conditions := conditions_of(filter)) is None:
                raise
            return Counts(await self._client.count_points(conditions))

    def version_of(self, row: Row) -> RowVersion:
        entry = self._entry(row)
        return entry.version(Row.from_entry(entry).fingerprint)

    async def as_stored(self, rows: Sequence[Row]) -> Sequence[Row]:
        check_writable(self)
        return await asyncio.to_thread(lambda: [converted(row, self._dimensions) for row in rows])

    def _entry(self, row: Row) -> MemoryEntry:
        return replace(row.entry(), embedding_dimensions=self._dimensions)

    async def _stored(self, handles: Sequence[Handle], *, vectors: bool = True) -> list[Row]:
        """Fetch the rows with these handles from the server."""
        ids = [parsed for handle in handles if (parsed := parse_id(str(handle))) is not None]
        points = await self._client.retrieve(ids, vectors=vectors)
        rows = {row.id: row for row in map(row_of_point, points)}
        return [rows[str(handle)] for handle in handles if str(handle) in rows]

    async def search(self, trial: Trial, vector: np.ndarray | None = None, *, deep: bool = False) -> OwnEvidence:
        """Find the nearest memories by the rules of the profile; without an embedder, only a note.

        Time bounds apply after the limit, so `places` are the positions before. Raises EmbeddingFailed if the query
        cannot be embedded, as ZeroClaw's own recall does.
        """
        request, profile = trial.request, trial.profile
        notes, conditions = ignored_parts(request, WHY_NOT), _recall_filter(request)
        depth, is_limited = depth_of(request, deep=deep), True
        points: list[Point] = []
        if not request.query.strip(WHITE_SPACE):
            is_limited = parse_version(profile.version) >= _LIMITS_BLANK_QUERIES_SINCE
            most = min(depth, _MAX_LISTED) if is_limited else _MAX_LISTED
            points = (await self._client.scroll_page(conditions, most))[0] if most > 0 else []
        elif vector is None and self._embedder is None:
            notes = ["ZeroClaw cannot search here.", self._no_embedder]
        else:
            if vector is None:
                vector = await self._require_embedder().query(request.query)
            points = await self._client.search(vector.tolist(), depth, conditions) if depth > 0 else []
        entries: list[ScoredEntry] = []
        places: list[int] = []
        bounds = MemoryFilter()
        if profile.has_time_bounds:
            bounds = MemoryFilter(newer_than=request.since, older_than=request.until)
        for place, point in enumerate(points, 1):
            entry, score = self._entry(row_of_point(point)), _score(point)
            if matches(entry, bounds):
                cosine = score if self._distance == _COSINE else None
                entries.append(ScoredEntry(entry, len(entries) + 1, score, cosine, stage=STAGE))
                places.append(place if is_limited else 0)
        return OwnEvidence(
            trial=trial,
            entries=tuple(entries),
            mode=STAGE,
            scale=self._scale,
            notes=tuple(notes),
            depth=depth if len(points) >= depth else None,
            places=tuple(places),
        )

    async def near(self, to: MemoryEntry | np.ndarray | str, limit: int) -> Near | None:
        import numpy as np

        if isinstance(to, str):
            return await super().near(to, limit)
        if isinstance(to, MemoryEntry):
            data = [row.values.get("embedding") for row in await self._stored([to.id])]
            to = np.frombuffer(data[0], dtype="<f4") if data and isinstance(data[0], bytes) else np.zeros(0)
        if self._distance != _COSINE or len(to) != self._dimensions:
            return None
        scored = [(str(point["id"]), _score(point)) for point in await self._client.search(to.tolist(), limit)]
        found = [Neighbour(handle, score) for handle, score in scored if score is not None and score > 0]
        return Near(found, await self.count())

    async def _with_writer(self, work: Work[T], *, permanently: bool = False) -> T:
        try:
            return await super()._with_writer(work)
        finally:
            self._write_count += 1

    def _writer(self) -> RowWriter:
        return QdrantWriter(self._client, self._dimensions, self._embed)

    def _embedding_problem(self) -> Refused | None:
        """The reason why nothing can be embedded for this collection, if there is one."""
        if self._embedder is None:
            return Refused(self._no_embedder, hint="`zeroclaw onboard` sets it up.")
        found = self._embedder.dimensions
        return None if found == self._dimensions else wrong_length(self._dimensions, found)

    def _require_embedder(self) -> Embedder:
        if (problem := self._embedding_problem()) is not None:
            raise problem
        assert self._embedder is not None, "without one there is a problem"
        return self._embedder

    async def _embed(self, texts: Sequence[str]) -> list[bytes]:
        """Embed texts. Raises Refused, EmbeddingFailed."""
        vectors: list[bytes] = []
        for result in await embed_each(self._require_embedder(), texts):
            if isinstance(result, InputRejectedError):
                raise result
            vectors.append(result.astype("<f4").tobytes())
        return vectors

    @property
    def _scale(self) -> str:
        return "cosine" if self._distance == _COSINE else f"qdrant's {self._distance.lower()} distance"


def _recall_filter(request: RecallRequest) -> Filter | None:
    must: list[Filter] = []
    if request.session_id is not None:
        must.append(any_of("session_id", [request.session_id]))
    if request.agents is not None:
        must.append(of_agents(request.agents))
    return {"must": must} if must else None


def _score(point: Point) -> float | None:
    score = point.get("score")
    return float(score) if isinstance(score, int | float) else None
