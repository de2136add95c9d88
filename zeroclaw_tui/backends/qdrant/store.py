"""Memory in a Qdrant collection, with recall as ZeroClaw does it: the nearest points, no threshold and no keywords.

Up to MAX_LOADED points are loaded once for lists, filters and counts. A new or deleted point is noticed at once, a
changed one after LOADED_SECONDS_PER_POINT for each point; our own changes are always read again.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from zeroclaw_tui.backends.about import About, Notice, OwnRule
from zeroclaw_tui.backends.base import Scored
from zeroclaw_tui.backends.fallback import show, stamp_of
from zeroclaw_tui.backends.health import Health
from zeroclaw_tui.backends.loaded import Loaded, order_value
from zeroclaw_tui.backends.loaded_memory import LoadedMemory
from zeroclaw_tui.backends.matching import age_groups, matches, sort_key
from zeroclaw_tui.backends.qdrant.client import (
    TOTAL_SECONDS,
    CollectionAddress,
    Filter,
    Point,
    QdrantClient,
    configured_address,
)
from zeroclaw_tui.backends.qdrant.rows import (
    NO_AGENTS,
    NO_EMBEDDER,
    WHY_NOT,
    CollectionInfo,
    QdrantWriter,
    any_of,
    inspect_collection,
    of_agents,
    parse_id,
    wrong_length,
)
from zeroclaw_tui.backends.upkeep import Upkeep
from zeroclaw_tui.backends.writing import RowWriter
from zeroclaw_tui.config.memory_config import NEWEST_SCHEMA, MemoryConfig, shown
from zeroclaw_tui.embeddings.base import Embedder, InputRejectedError
from zeroclaw_tui.embeddings.endpoint import embed_each
from zeroclaw_tui.embeddings.factory import create_embedder, why_no_embedder
from zeroclaw_tui.memory.change import Change, Draft, Row, RowVersion, See
from zeroclaw_tui.memory.entry import Handle, MemoryEntry
from zeroclaw_tui.memory.errors import ASKED_READ_ONLY, NothingYet, Refused
from zeroclaw_tui.memory.query import ENTRIES, EVERYTHING, HANDLES, VERSIONS, MemoryFilter, Query, Sort, SortField
from zeroclaw_tui.memory.recall import RecallRequest, ScoredEntry
from zeroclaw_tui.memory.statistics import CountField, Counts
from zeroclaw_tui.memory.text import WHITE_SPACE
from zeroclaw_tui.scoring.decide import own_ranking
from zeroclaw_tui.scoring.evidence import OwnEvidence, depth_of
from zeroclaw_tui.scoring.neighbours import Near, Neighbour
from zeroclaw_tui.scoring.profiles import NEWEST, ScoringProfile, ScoringSettings, parse_version, profile_for

if TYPE_CHECKING:
    import numpy as np

T = TypeVar("T")

STAGE = "qdrant"
MAX_LOADED = 50_000
LOADED_SECONDS_PER_POINT = 0.001
_ROWS_AT_ONCE = 500
_OLDEST = Sort(SortField.AGE, descending=False)
_UNENCRYPTED = "The API key is sent unencrypted over plain HTTP."
_PURPOSE = "to store and find memories here"
_COSINE = "Cosine"
_MAX_LISTED = 1000
"""The page size of ZeroClaw's list for a blank query; it reads one page."""
_LIMITS_BLANK_QUERIES_SINCE = (0, 5, 5)
_BLANK = "A blank query lists points by ID without a score, as ZeroClaw does."
_TIMES_APPLIED = "The time filter was applied to Qdrant's answer because ZeroClaw sends none."
_NO_TIMES = "ZeroClaw {} has no time filter in recall, so it had no effect."
_NO_NAMESPACES = "ZeroClaw has no namespaces in Qdrant, so the namespace had no effect."


class TooManyPoints(Refused):
    """A question that needs every point of a collection that is too big to load."""

    def __init__(self, collection: str, points: int) -> None:
        super().__init__(
            f"The collection {shown(collection)} has {points:,} points. Above {MAX_LOADED:,}, it can only be listed by "
            "ID, with filters by category, session and agent.",
            hint="Recall works, and so do commands that name keys or ids.",
        )


def _order_value(entry: MemoryEntry, field: SortField) -> tuple[Any, ...]:
    """Points are in no order of storing: their times stand for it."""
    return order_value(entry, SortField.AGE if field is SortField.STORED else field)


class QdrantMemory(LoadedMemory):
    """One collection. It embeds key and content together, and refuses to store without an embedder.

    A store replaces the memory of its key with a new id, as ZeroClaw does. `has_agents` says that points name their
    agent even if none does so far (ZeroClaw >= 0.8.0).
    """

    name = STAGE
    about = About(
        embeds_itself=True,
        keeps_deleted="Qdrant keeps deleted points in its segments until it optimizes them, and in its log, snapshots "
        "and replicas, which this program cannot read.",
    )
    _info: CollectionInfo

    def __init__(
        self,
        address: CollectionAddress,
        api_key: str = "",
        *,
        embedder: Embedder | None = None,
        no_embedder_reason: str | None = None,
        has_agents: bool = False,
        read_only: bool = False,
        seconds: float = TOTAL_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.about = replace(self.about, location=address.location)
        self._read_only = read_only
        self._client = QdrantClient(address, api_key, seconds=seconds)
        self._embedder = embedder
        reason = (no_embedder_reason or "set memory.embedding_provider.").removeprefix("keyword only: ")
        self._no_embedder = None if embedder is not None else f"{NO_EMBEDDER}: {reason}"
        self._has_agents = has_agents
        self._warnings = (Notice(_UNENCRYPTED),) if api_key and address.is_unencrypted else ()
        self.notices = self._warnings
        self._clock = clock
        self._loaded_at: tuple[Loaded, float] | None = None
        self._loading, self._writing = asyncio.Lock(), asyncio.Lock()
        self._write_count = 0
        self.why_not = self._missing()

    @classmethod
    def from_config(cls, config: MemoryConfig) -> QdrantMemory:
        """The configured collection, or the one at --location. Raises UsageError."""
        address, key = configured_address(config.storage, config.location)
        return cls(
            address,
            key,
            embedder=create_embedder(config.embedding)[0],
            no_embedder_reason=why_no_embedder(config.embedding, purpose=_PURPOSE),
            has_agents=config.schema >= NEWEST_SCHEMA,
            read_only=config.read_only,
        )

    async def open(self) -> None:
        """Look at the collection. Raises NothingYet, NotReachable, and Unreadable for another program's."""
        description = await self._client.describe()
        self._info = await inspect_collection(self._client, description, has_agents=self._has_agents)
        self._loaded_at, self._has_agents = None, self._info.has_agents
        self.why_not = self._missing()
        self.about = replace(self.about, rule=OwnRule(f"{self._scale} only", takes_vector=False))
        notices = [*self._warnings, *map(Notice, self._embedding_problem())]
        if (points := await self.count()) > MAX_LOADED:
            notices.append(Notice(TooManyPoints(self._client.address.collection, points).message))
        self.notices = tuple(notices)

    async def close(self) -> None:
        self._loaded_at = None
        await self._client.close()
        if self._embedder is not None:
            await self._embedder.close()

    @property
    def upkeep(self) -> Upkeep:
        return Upkeep(embedder=self._embedder)

    async def make(self, profile: ScoringProfile, *, dry_run: bool = False) -> None:
        """Create the collection with the length of the embedder's vectors, cosine distance and no payload index.

        Raises Refused without an embedder, and if the collection exists.
        """
        if dry_run:
            dimensions = 0 if self._embedder is None else self._embedder.dimensions
            self._info = CollectionInfo(dimensions, _COSINE, self._has_agents)
            return
        if "write" in self.why_not:
            raise self.refuse_to_write()
        embedder = self._require_embedder()
        try:
            await self._client.describe()
        except NothingYet:
            vectors = {"size": embedder.dimensions, "distance": _COSINE}
            await self._client.request("PUT", "", {"vectors": vectors})
        else:
            raise Refused(f"There is a collection {self._client.address.collection} already.")

    async def health_check(self) -> bool:
        await self._client.describe()
        return True

    async def health(self) -> Health:
        description = await self._client.describe()
        status, address = description.get("status"), self._client.address
        findings = self._embedding_problem()
        if status not in ("green", None):
            findings.append(f"Qdrant reports the status {status}: it is optimising the collection, or has a problem.")
        facts = {
            "memories": await self.count(),
            "collection": address.collection,
            "server": address.server,
            "vector length": self._info.dimensions,
            "distance": self._info.distance,
            "status": status,
        }
        return Health(status != "red", "answers", tuple(findings), facts)

    async def count(self) -> int:
        return await self._client.count_points()

    async def loaded(self) -> Loaded:
        async with self._loading:
            number = await self._client.count_points()
            if number > MAX_LOADED:
                raise TooManyPoints(self._client.address.collection, number)
            if self._loaded_at is not None:
                loaded, loaded_at = self._loaded_at
                is_recent = self._clock() - loaded_at <= number * LOADED_SECONDS_PER_POINT
                if is_recent and len(loaded.entries) == number:
                    return loaded
            writes, now = self._write_count, self._clock()
            entries: list[MemoryEntry] = []
            async for page in self._client.scroll():
                entries += [self._info.entry(self._info.row(point)) for point in page]
            ordered = await asyncio.to_thread(sorted, entries, key=lambda entry: sort_key(entry, _OLDEST))
            loaded = Loaded(ordered, backend=self.name, order_value=_order_value)
            if writes == self._write_count:
                self._loaded_at = loaded, now
            return loaded

    async def rows(self, query: Query[T]) -> Sequence[T]:
        found: Any
        if query.read is VERSIONS:
            # A version has no vector, which only the server has.
            found = [stamp_of(entry) for entry in await self.rows(replace(query, read=ENTRIES))]  # type: ignore[arg-type]
            return found  # type: ignore[no-any-return]
        try:
            return await super().rows(query)
        except TooManyPoints as error:
            rows = await self._rows_on_server(query, error)
        if query.read.name == "row":
            found = await self._stored([row.id for row in rows])
        else:
            readings: dict[str, Callable[[Row], Any]] = {
                "entry": self._info.entry,
                "excerpt": lambda row: self._info.entry(row).excerpt(),
                "handle": lambda row: row.id,
            }
            found = [readings[query.read.name](row) for row in rows]
        read: Sequence[T] = found
        return read

    async def _rows_of(self, entries: Sequence[MemoryEntry]) -> Sequence[Row]:
        return await self._stored([entry.handle for entry in entries])

    async def count_up(self, filter: MemoryFilter, now: str, by: Sequence[CountField] = ()) -> Counts:
        """The counts; in a collection that is too big to load only the total."""
        try:
            return await super().count_up(filter, now, by)
        except TooManyPoints:
            if (conditions := self._info.conditions(filter)) is None:
                raise
            nothing: dict[CountField, Mapping[str, int]] = {"category": {}, "age": age_groups((), now)}
            return Counts(await self._client.count_points(conditions), nothing)

    def stamp_of(self, row: Row) -> RowVersion:
        return stamp_of(self._info.entry(row))

    async def as_stored(self, rows: Sequence[Row]) -> Sequence[Row]:
        if "write" in self.why_not:
            raise self.refuse_to_write()
        return await asyncio.to_thread(lambda: [self._info.converted(row) for row in rows])

    async def _stored(self, handles: Sequence[Handle], *, vectors: bool = True) -> list[Row]:
        """The rows of these handles, read from the server."""
        ids = [parsed for handle in handles if (parsed := parse_id(str(handle))) is not None]
        points = await self._client.retrieve(ids, vectors=vectors)
        rows = {row.id: row for row in map(self._info.row, points)}
        return [rows[str(handle)] for handle in handles if str(handle) in rows]

    async def scan(self, see: See, filter: MemoryFilter | None = None) -> None:
        """Show every row with its vector, some hundreds read at a time."""
        handles = await self.rows(Query(HANDLES, filter or EVERYTHING, _OLDEST))
        for start in range(0, len(handles), _ROWS_AT_ONCE):
            await show(await self._stored(handles[start : start + _ROWS_AT_ONCE]), see)

    async def recall(
        self, query: str, limit: int, session_id: str | None = None, since: str | None = None, until: str | None = None
    ) -> Scored:
        """The nearest memories by the newest rules. Raises Refused without an embedder, EmbeddingFailed."""
        if not _is_blank(query):
            self._require_fitting_embedder()
        request = RecallRequest(query, limit, session_id, since=since, until=until)
        return own_ranking(await self.search(request, profile_for(NEWEST), ScoringSettings()), limit)

    async def search(
        self,
        request: RecallRequest,
        profile: ScoringProfile,
        settings: ScoringSettings,
        vector: np.ndarray | None = None,
        *,
        deep: bool = False,
    ) -> OwnEvidence:
        """The nearest memories by the rules of `profile`; none and a note without an embedder.

        Bounds in time apply after the limit, so each memory has its place before. Raises EmbeddingFailed if the query
        cannot be embedded: ZeroClaw's own recall fails then too.
        """
        notes, conditions = self._notes(request, profile), self._recall_filter(request)
        depth, is_limited = depth_of(request, deep=deep), True
        points: list[Point] = []
        if _is_blank(request.query):
            is_limited = _limits_blank_queries(profile)
            most = min(depth, _MAX_LISTED) if is_limited else _MAX_LISTED
            points = (await self._client.scroll_page(conditions, most))[0] if most > 0 else []
            notes.append(_BLANK)
        elif vector is None and self._no_embedder is not None:
            notes = ["ZeroClaw cannot search here.", self._no_embedder, *notes]
        else:
            if vector is None:
                vector = await self._require_fitting_embedder().query(request.query)
            points = await self._nearest(vector, depth, conditions) if depth > 0 else []
        entries: list[ScoredEntry] = []
        places: list[int] = []
        bounds = _time_bounds(request, profile)
        for place, point in enumerate(points, 1):
            entry, score = self._info.entry(self._info.row(point)), _score(point)
            if matches(entry, bounds):
                cosine = score if self._info.distance == _COSINE else None
                entries.append(ScoredEntry(entry, len(entries) + 1, score, cosine, stage=STAGE))
                places.append(place if is_limited else 0)
        return OwnEvidence(
            request=request,
            entries=tuple(entries),
            mode=STAGE,
            scale=self._scale,
            notes=tuple(notes),
            depth=depth if len(points) >= depth else None,
            places=tuple(places),
            profile=profile.version,
            settings=settings,
        )

    async def near(self, to: MemoryEntry | np.ndarray | str, limit: int) -> Near | None:
        import numpy as np

        if isinstance(to, str):
            return await super().near(to, limit)
        if isinstance(to, MemoryEntry):
            data = [row.values.get("embedding") for row in await self._stored([to.id])]
            to = np.frombuffer(data[0], dtype="<f4") if data and isinstance(data[0], bytes) else np.zeros(0)
        if self._info.distance != _COSINE or len(to) != self._info.dimensions:
            return None
        scored = [(str(point["id"]), _score(point)) for point in await self._nearest(to, limit)]
        found = [Neighbour(handle, score) for handle, score in scored if score is not None and score > 0]
        return Near(found, await self.count())

    async def store(self, key: str, content: str, category: str, session_id: str | None = None) -> None:
        """Write one memory of the default agent; it replaces one of that key."""
        await self.apply([Change(None, Draft(key, content, category, session_id))], None, on_conflict="overwrite")

    async def forget(self, key: str) -> bool:
        """Delete a key of every agent, as ZeroClaw does; True if it existed, which ZeroClaw always returns."""

        async def delete(writer: RowWriter) -> bool:
            points = self._info.of_keys([key])
            exists = await self._client.count_points(points) > 0
            if exists:
                await self._client.delete({"filter": points})
            return exists

        return await self._with_writer(delete)

    async def _with_writer(
        self, work: Callable[[RowWriter], Coroutine[Any, Any, T]], *, permanently: bool = False
    ) -> T:
        if "write" in self.why_not:
            raise self.refuse_to_write()
        async with self._writing:
            try:
                return await work(QdrantWriter(self._client, self._info, self._embed))
            finally:
                self._write_count += 1
                self._loaded_at = None

    async def _rows_on_server(self, query: Query[Any], error: TooManyPoints) -> list[Row]:
        """Read rows by name, or a list in the order of ids. Raises `error` for everything else."""
        names = query.handles if query.handles is not None else query.ids
        if names is not None:
            rows = await self._stored(list(dict.fromkeys(names)), vectors=False)
            return [row for row in rows if matches(self._info.entry(row), query.filter)]
        conditions = self._info.conditions(query.filter)
        if conditions is None or query.prefix is not None or query.contents is not None:
            raise error
        if query.keys is not None:
            conditions["must"].append(any_of("key", query.keys))
        rows, end = list[Row](), None if query.limit is None else query.offset + query.limit
        position: Handle | None = None
        while end is None or len(rows) < end:
            page_size = _ROWS_AT_ONCE if end is None else min(_ROWS_AT_ONCE, end - len(rows))
            points, position = await self._client.scroll_page(conditions, page_size, position)
            rows += map(self._info.row, points)
            if position is None:
                break
        return rows[query.offset :]

    def _missing(self) -> dict[str, str]:
        reasons = dict(WHY_NOT)
        if not self._has_agents:
            reasons["agents"] = NO_AGENTS
        if self._no_embedder is not None:
            reasons["vectors"] = self._no_embedder
        if self._read_only:
            reasons["write"] = ASKED_READ_ONLY
        return reasons

    def _embedding_problem(self) -> list[str]:
        """Why nothing can be embedded for this collection: nothing, or one sentence."""
        if self._embedder is None:
            return [self._no_embedder or NO_EMBEDDER]
        if self._embedder.dimensions == self._info.dimensions:
            return []
        error = wrong_length(self._info.dimensions, self._embedder.dimensions)
        return [f"{error.message} ZeroClaw can neither store nor search here. {error.hint}"]

    def _require_embedder(self) -> Embedder:
        if self._embedder is None:
            raise Refused(self._no_embedder or NO_EMBEDDER, hint="`zeroclaw onboard` sets it up.")
        return self._embedder

    def _require_fitting_embedder(self) -> Embedder:
        embedder = self._require_embedder()
        if embedder.dimensions != self._info.dimensions:
            raise wrong_length(self._info.dimensions, embedder.dimensions)
        return embedder

    async def _embed(self, texts: Sequence[str]) -> list[bytes]:
        """The vectors of texts. Raises Refused, EmbeddingFailed."""
        embedder = self._require_fitting_embedder()
        vectors: list[bytes] = []
        for result in await embed_each(embedder, texts):
            if isinstance(result, InputRejectedError):
                raise result
            vectors.append(result.astype("<f4").tobytes())
        return vectors

    @property
    def _scale(self) -> str:
        distance = self._info.distance
        return "cosine" if distance == _COSINE else f"qdrant's {distance.lower()} distance"

    async def _nearest(self, vector: np.ndarray, limit: int, conditions: Filter | None = None) -> list[Point]:
        body: dict[str, Any] = {"vector": vector.tolist(), "limit": limit, "with_payload": True}
        return await self._client.search(body | ({"filter": conditions} if conditions else {}))

    def _recall_filter(self, request: RecallRequest) -> Filter | None:
        must: list[Filter] = []
        if request.session_id is not None:
            must.append(any_of("session_id", [request.session_id]))
        if request.agents is not None and self._info.has_agents:
            must.append(of_agents(request.agents))
        return {"must": must} if must else None

    def _notes(self, request: RecallRequest, profile: ScoringProfile) -> list[str]:
        notes = []
        if request.since is not None or request.until is not None:
            notes.append(_TIMES_APPLIED if profile.has_time_bounds else _NO_TIMES.format(profile.version))
        if request.namespace is not None:
            notes.append(_NO_NAMESPACES)
        if request.agents is not None and not self._info.has_agents:
            notes.append(NO_AGENTS)
        return notes


def _is_blank(query: str) -> bool:
    """Whether ZeroClaw lists memories for this query instead of searching."""
    return not query.strip(WHITE_SPACE)


def _limits_blank_queries(profile: ScoringProfile) -> bool:
    return parse_version(profile.version) >= _LIMITS_BLANK_QUERIES_SINCE


def _time_bounds(request: RecallRequest, profile: ScoringProfile) -> MemoryFilter:
    if not profile.has_time_bounds:
        return MemoryFilter()
    return MemoryFilter(newer_than=request.since, older_than=request.until)


def _score(point: Point) -> float | None:
    score = point.get("score")
    return float(score) if isinstance(score, int | float) else None
