"""Memory in a Qdrant collection, with recall as ZeroClaw does it: the nearest points, no threshold and no keywords.

Up to MAX_LOADED points are loaded once for lists, filters and counts. A new or deleted point is noticed at once, a
changed one after LOADED_SECONDS_PER_POINT for each point; our own changes are always read again. Of a bigger collection
the server gives counts, recall, and the points of named ids and keys.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from zeroclaw_tui.backends.about import About, Notice, OwnRule
from zeroclaw_tui.backends.base import SearchedMemory, check_writable
from zeroclaw_tui.backends.fallback import ignored_parts
from zeroclaw_tui.backends.health import StartCheck
from zeroclaw_tui.backends.loaded import Loaded, order_value
from zeroclaw_tui.backends.loaded_memory import ReloadedMemory
from zeroclaw_tui.backends.matching import matches, sort_key
from zeroclaw_tui.backends.qdrant.client import (
    TOTAL_SECONDS,
    CollectionAddress,
    Filter,
    KeyRefused,
    Point,
    QdrantClient,
    configured_address,
    not_qdrant,
)
from zeroclaw_tui.backends.qdrant.rows import (
    NO_EMBEDDER,
    WHY_NOT,
    QdrantWriter,
    any_of,
    converted,
    entry_of_row,
    of_agents,
    parse_id,
    row_of_point,
    wrong_length,
)
from zeroclaw_tui.backends.upkeep import Upkeep
from zeroclaw_tui.backends.writing import RowWriter, Work
from zeroclaw_tui.config.memory_config import MemoryConfig, shown
from zeroclaw_tui.embeddings.base import Embedder, InputRejectedError
from zeroclaw_tui.embeddings.endpoint import embed_each
from zeroclaw_tui.embeddings.factory import create_embedder, why_no_embedder
from zeroclaw_tui.memory.change import Row, RowVersion
from zeroclaw_tui.memory.entry import Handle, MemoryEntry
from zeroclaw_tui.memory.errors import ASKED_READ_ONLY, NothingYet, Refused, Unreadable, UsageError
from zeroclaw_tui.memory.query import (
    VERSIONS,
    MemoryFilter,
    Query,
    Sort,
    SortField,
)
from zeroclaw_tui.memory.recall import RecallRequest, ScoredEntry
from zeroclaw_tui.memory.text import WHITE_SPACE, counted
from zeroclaw_tui.scoring.evidence import OwnEvidence, depth_of
from zeroclaw_tui.scoring.neighbours import Near, Neighbour
from zeroclaw_tui.scoring.profiles import ScoringProfile, Trial, parse_version

if TYPE_CHECKING:
    import numpy as np

T = TypeVar("T")

STAGE = "qdrant"
MAX_LOADED = 50_000
LOADED_SECONDS_PER_POINT = 0.001
_PURPOSE = "to store and find memories here"
_OTHER_NAME = "Name another collection in config.toml, or with --location URL/collections/NAME."
_NOT_ZEROCLAWS = "The collection {} is not ZeroClaw's: it has no single unnamed vector."
_COSINE = "Cosine"
_MAX_LISTED = 1000
"""The page size of ZeroClaw's list for a blank query; it reads one page."""
_LIMITS_BLANK_QUERIES_SINCE = (0, 5, 5)


class TooManyPoints(Refused):
    """A question that needs every point of a collection that is too big to load."""

    def __init__(self, collection: str, points: int) -> None:
        super().__init__(
            f"The collection {shown(collection)} has {points:,} points, and only up to {MAX_LOADED:,} are listed.",
            hint="Recall works, and so do commands that name keys or ids.",
        )


def _order_value(entry: MemoryEntry, field: SortField) -> tuple[Any, ...]:
    """Points have no order of storing, so their times are used."""
    return order_value(entry, SortField.AGE if field is SortField.STORED else field)


class QdrantMemory(SearchedMemory, ReloadedMemory[Loaded]):
    """One collection. It embeds key and content together, and refuses to store without an embedder."""

    name = STAGE
    about = About(
        embeds_itself=True,
        keeps_deleted="Qdrant keeps deleted points in its segments until it optimizes them, and in its log, snapshots "
        "and replicas, which this program cannot read.",
    )

    def __init__(
        self,
        address: CollectionAddress,
        api_key: str = "",
        *,
        embedder: Embedder | None = None,
        no_embedder_reason: str | None = None,
        read_only: bool = False,
        seconds: float = TOTAL_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client = QdrantClient(address, api_key, seconds=seconds)
        self._embedder = embedder
        reason = (no_embedder_reason or "set memory.embedding_provider.").removeprefix("keyword only: ")
        self._no_embedder = f"{NO_EMBEDDER}: {reason}"
        self.about = replace(self.about, location=address.location)
        self._clock = clock
        self._dimensions, self._distance = 0, _COSINE
        self._write_count = 0
        vectors = {} if embedder is not None else {"vectors": self._no_embedder}
        self.why_not = {**WHY_NOT, **vectors, **({"write": ASKED_READ_ONLY} if read_only else {})}

    @classmethod
    def from_config(cls, config: MemoryConfig) -> QdrantMemory:
        """The configured collection, or the one at --location. Raises UsageError."""
        address, key = configured_address(config.storage, config.location)
        return cls(
            address,
            key,
            embedder=create_embedder(config.embedding)[0],
            no_embedder_reason=why_no_embedder(config.embedding, purpose=_PURPOSE),
            read_only=config.read_only,
        )

    async def open(self) -> None:
        """Look at the collection. Raises NothingYet, NotReachable, and Unreadable for another program's."""
        description, name = await self._client.describe(), shown(self._client.address.collection)
        vectors = _vectors_of(description)
        if vectors is None:
            raise Unreadable(_NOT_ZEROCLAWS.format(name), hint=_OTHER_NAME)
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
        rule = OwnRule(f"{self._scale} only", takes_vector=False)
        self.about = replace(self.about, rule=rule, notices=tuple(notices))

    async def close(self) -> None:
        self._contents = None
        await self._client.close()
        if self._embedder is not None:
            await self._embedder.close()

    @property
    def upkeep(self) -> Upkeep:
        return Upkeep(maker=self, embedder=self._embedder)

    async def make(self, profile: ScoringProfile, *, dry_run: bool = False) -> None:
        """Create the collection with the length of the embedder's vectors, cosine distance and no payload index.

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
            raise Refused(f"There is a collection {self._client.address.collection} already.")

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
        oldest = Sort(SortField.AGE, descending=False)
        ordered = await asyncio.to_thread(sorted, entries, key=lambda entry: sort_key(entry, oldest))
        return Loaded(ordered, backend=self.name, order_value=_order_value)

    async def rows(self, query: Query[T]) -> Sequence[T]:
        if query.read is not VERSIONS:
            return await super().rows(query)
        # A version needs no vector, and only the server has vectors.
        entries = await self._find_entries(query)
        found: Any = [RowVersion.of(entry) for entry in entries]
        return found  # type: ignore[no-any-return]

    async def _find_entries(self, query: Query[Any]) -> Sequence[MemoryEntry]:
        """Rows that are named by handles, ids or keys come from the server."""
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

    def stamp_of(self, row: Row) -> RowVersion:
        return RowVersion.of(self._entry(row))

    async def as_stored(self, rows: Sequence[Row]) -> Sequence[Row]:
        check_writable(self)
        return await asyncio.to_thread(lambda: [converted(row, self._dimensions) for row in rows])

    def _entry(self, row: Row) -> MemoryEntry:
        return entry_of_row(row, self._dimensions)

    async def _stored(self, handles: Sequence[Handle], *, vectors: bool = True) -> list[Row]:
        """The rows of these handles, read from the server."""
        ids = [parsed for handle in handles if (parsed := parse_id(str(handle))) is not None]
        points = await self._client.retrieve(ids, vectors=vectors)
        rows = {row.id: row for row in map(row_of_point, points)}
        return [rows[str(handle)] for handle in handles if str(handle) in rows]

    async def search(self, trial: Trial, vector: np.ndarray | None = None, *, deep: bool = False) -> OwnEvidence:
        """The nearest memories by the rules of the profile; none and a note without an embedder.

        Bounds in time apply after the limit, so each memory has its place before. Raises EmbeddingFailed if the query
        cannot be embedded: ZeroClaw's own recall fails then too.
        """
        request, profile = trial.request, trial.profile
        notes, conditions = ignored_parts(request, WHY_NOT), _recall_filter(request)
        depth, is_limited = depth_of(request, deep=deep), True
        points: list[Point] = []
        if _is_blank(request.query):
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
            request=request,
            entries=tuple(entries),
            mode=STAGE,
            scale=self._scale,
            notes=tuple(notes),
            depth=depth if len(points) >= depth else None,
            places=tuple(places),
            profile=profile.version,
            settings=trial.settings,
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
        """Why nothing can be embedded for this collection."""
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
        """The vectors of texts. Raises Refused, EmbeddingFailed."""
        vectors: list[bytes] = []
        for result in await embed_each(self._require_embedder(), texts):
            if isinstance(result, InputRejectedError):
                raise result
            vectors.append(result.astype("<f4").tobytes())
        return vectors

    @property
    def _scale(self) -> str:
        return "cosine" if self._distance == _COSINE else f"qdrant's {self._distance.lower()} distance"


async def probe(config: MemoryConfig, seconds: float) -> StartCheck:
    """Ask Qdrant about the collection of a config with one GET request."""
    address, key = configured_address(config.storage, config.location)
    embedder = create_embedder(config.embedding)[0]
    client, name = QdrantClient(address, key, seconds=seconds), shown(address.collection)
    start = time.perf_counter()
    description: dict[str, Any] | None = None
    try:
        description = await client.describe()
    except KeyRefused as error:
        raise Refused(error.message, hint=error.hint) from None
    except NothingYet:
        pass
    finally:
        await client.close()
    summary = f"answers in {(time.perf_counter() - start) * 1000:.0f} ms"
    if description is None:
        made = "ZeroClaw makes it" + ("" if embedder else " once an embedding provider is on")
        return StartCheck(summary, (f"has no collection {name} yet: {made}",))
    if "config" not in description:
        raise not_qdrant(address.server)
    vectors, points = _vectors_of(description), description.get("points_count")
    if vectors is None:
        problem = Refused(_NOT_ZEROCLAWS.format(name), hint="Set storage.qdrant.collection to another name.")
        return StartCheck(summary, problem=problem)
    size = vectors["size"]
    if embedder is not None and size != embedder.dimensions:
        mismatch = wrong_length(size, embedder.dimensions)
        wrong = UsageError(mismatch.message, hint=mismatch.hint)
        return StartCheck(summary, problem=wrong, corrections={"memory.embedding_dimensions": size})
    number = counted(points) if isinstance(points, int) else "memories"
    return StartCheck(summary, (f"the collection {name} holds {number}", f"its vectors have {size:,} numbers"))


def _vectors_of(description: Any) -> Mapping[str, Any] | None:
    """The settings of the one unnamed vector of a described collection; None if it has others."""
    try:
        params = description["config"]["params"]
        vectors, sparse = params["vectors"], params.get("sparse_vectors")
        is_single = type(vectors["size"]) is int and not vectors.get("multivector_config") and not sparse
    except (KeyError, TypeError, AttributeError):
        return None
    return vectors if is_single else None


def _is_blank(query: str) -> bool:
    """Whether ZeroClaw lists memories for this query instead of searching."""
    return not query.strip(WHITE_SPACE)


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
