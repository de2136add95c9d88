"""The Memory contract: ZeroClaw's trait, and the methods for browsing, with defaults that only need the trait.

`plugins.py` explains how to write a backend of your own. The methods must not block the event loop: file access and
CPU work belong in a thread.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from asyncio import Lock, to_thread
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

from zeroclaw_tui.backends.about import About, sentences
from zeroclaw_tui.backends.matching import require_unique_ids
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.errors import InspectorError, Refused
from zeroclaw_tui.memory.query import ENTRIES, EVERYTHING, NEWEST_UPDATED, OLDEST_STORED, VERSIONS, MemoryFilter, Query

if TYPE_CHECKING:
    import numpy as np

    from zeroclaw_tui.backends.health import Health
    from zeroclaw_tui.backends.loaded import Loaded
    from zeroclaw_tui.backends.upkeep import Upkeep
    from zeroclaw_tui.backends.writing import RowWriter, Work
    from zeroclaw_tui.config.memory_config import MemoryConfig
    from zeroclaw_tui.memory.change import (
        ApplyResult,
        Change,
        Journal,
        OnConflict,
        ProgressCallback,
        Row,
        RowVersion,
        RowVisitor,
    )
    from zeroclaw_tui.memory.recall import ScoredEntry
    from zeroclaw_tui.memory.statistics import CountField, Counts
    from zeroclaw_tui.scoring.evidence import Evidence
    from zeroclaw_tui.scoring.neighbours import Near
    from zeroclaw_tui.scoring.profiles import Trial


TRAIT_LIMITS = MappingProxyType(
    {
        "vectors": "This store has no vectors.",
        "keyword": "This store has no keyword index.",
        "agents": "This store does not distinguish agents.",
        "namespaces": "This store has no namespaces.",
        "superseded": "This store has no superseded memories.",
        "kind": "This store has no kinds.",
        "watch": "This store does not notice writes of other programs.",
        "importance": "This store has no importance.",
        "pinned": "This store has no pins.",
        "atomic": "This store has no transactions: what another program writes at the same moment can be overwritten.",
    }
)
"""What a store cannot do if it only has the methods of ZeroClaw's trait."""

T = TypeVar("T")
Contents = TypeVar("Contents", bound="Loaded")
Entries: TypeAlias = "list[MemoryEntry]"
Scored: TypeAlias = "list[ScoredEntry]"


class Memory(ABC):
    """A store of memories.

    The abstract methods are ZeroClaw's trait; override the others to be faster or to show more. All of them may raise
    subclasses of InspectorError.
    """

    name: str = ""
    """The backend's factory name."""
    about: About = About()
    """Its location, its properties, and how it ranks."""
    why_not: Mapping[str, str] = TRAIT_LIMITS
    """What this store cannot do, each with the reason as a sentence; everything else is possible.

    The names are "vectors", "keyword", "sessions", "agents", "namespaces", "superseded", "pinned", "importance",
    "kind", "watch", "atomic", "write", and each other field in EDITABLE (memory/entry.py) that an edit cannot change;
    "zeroclaw_forget" says what ZeroClaw's own `forget` does not do. With "write" the fields need not be listed.
    """
    _changing: Lock | None = None

    @property
    def upkeep(self) -> Upkeep:
        """The operations that only some stores have."""
        from zeroclaw_tui.backends.upkeep import Upkeep

        return Upkeep()

    @classmethod
    def from_config(cls, config: MemoryConfig) -> Memory:
        """Create the store of a config, unopened. Raises UsageError, Refused, or Unreadable if it names none."""
        return cls()

    @abstractmethod
    async def store(self, key: str, content: str, category: str, session_id: str | None = None) -> None:
        """Write one memory, replacing an existing one with the same key."""

    @abstractmethod
    async def recall(
        self, query: str, limit: int, session_id: str | None = None, since: str | None = None, until: str | None = None
    ) -> Scored:
        """The store's own recall, best first."""

    @abstractmethod
    async def get(self, key: str) -> MemoryEntry | None:
        """Get the memory with this key and its full content, or None; if several agents have one, the oldest."""

    @abstractmethod
    async def list(self, category: str | None = None, session_id: str | None = None) -> Entries:
        """List all memories except superseded ones, with full content, `updated_at` descending."""

    @abstractmethod
    async def forget(self, key: str) -> bool:
        """Delete by key; return True if something was deleted."""

    @abstractmethod
    async def count(self) -> int:
        """Count all memories, including superseded ones."""

    @abstractmethod
    async def health_check(self) -> bool:
        """Return True if the store answers."""

    async def open(self) -> None:
        """Open the store; called once, before anything else.

        Raises NothingYet if ZeroClaw would create the store at its first start, NotReachable, Unreadable, Corrupt,
        Locked, and UsageError for an invalid address or name.
        """

    async def close(self) -> None:
        """Close files and connections."""

    async def rows(self, query: Query[T]) -> Sequence[T]:
        """Read rows: one page of a list, the rows with some ids or keys, or all that match a filter.

        Cancelling the task interrupts the store. Raises UsageError for a pattern that is too slow, and the errors of
        `open`.
        """
        from zeroclaw_tui.memory.change import Row

        entries = await self._find_entries(query)
        match query.read.name:
            case "handle":
                read: Any = [entry.handle for entry in entries]
            case "excerpt":
                read = [entry.excerpt() for entry in entries]
            case "entry":
                read = entries
            case "row":
                read = await self._rows_of(entries)
            case "version":
                read = await to_thread(lambda: [self.version_of(Row.from_entry(entry)) for entry in entries])
        found: Sequence[T] = read
        return found

    async def _find_entries(self, query: Query[Any]) -> Sequence[MemoryEntry]:
        """Find the memories of a query with their full contents, in its order."""
        return await (await self._loaded()).find(query)

    async def _loaded(self) -> Loaded:
        """Load all memories, for the methods that this store does not implement itself."""
        from zeroclaw_tui.backends.loaded import Loaded

        return Loaded(require_unique_ids([*await self.list()], self.name), backend=self.name)

    async def _rows_of(self, entries: Sequence[MemoryEntry]) -> Sequence[Row]:
        """Get the rows of loaded memories exactly as stored."""
        from zeroclaw_tui.memory.change import Row

        return await to_thread(lambda: [Row.from_entry(entry) for entry in entries])

    async def count_up(self, filter: MemoryFilter, now: str, by: Sequence[CountField] = ()) -> Counts:
        """Count the memories that match a filter, in total and by the values of some fields.

        `now` is the RFC 3339 time that ages are computed from. Raises UsageError for a pattern that is too slow.
        """
        return await (await self._loaded()).count_up(filter, now, by, self.why_not)

    async def search(self, trial: Trial, vector: np.ndarray | None = None, *, deep: bool = False) -> Evidence:
        """Collect the evidence for one recall; `vector` is the query's, if there is one.

        `scoring.decide` makes the result of it. With `deep` the evidence is not truncated for this request, so that
        other limits, filters and weights can be tried with it, as far as the store supports that.
        """
        from zeroclaw_tui.backends.fallback import evidence_of
        from zeroclaw_tui.scoring.evidence import depth_of

        request, depth = trial.request, depth_of(trial.request, deep=deep)
        found = await self.recall(request.query, depth, request.session_id, request.since, request.until)
        return evidence_of(found, trial, depth, self.name)

    async def near(self, to: MemoryEntry | np.ndarray | str, limit: int) -> Near | None:
        """Find the memories nearest to a memory's vector, to a vector, or to a text by shared words.

        Comparing vectors includes superseded memories and the memory itself; comparing words, only current memories.
        None if there are no vectors to compare. No network except to the store itself.
        """
        from zeroclaw_tui.backends.fallback import nearest_by_words

        return await nearest_by_words(self.scan, to, limit) if isinstance(to, str) else None

    async def version(self) -> int | None:
        """Return a number that changes when another process writes; None if the store does not know."""
        return None

    async def health(self) -> Health:
        """Report the state of the store, with its facts."""
        from zeroclaw_tui.backends.health import Health

        ok, facts = await self.health_check(), {"memories": await self.count()}
        return Health(ok, "answers" if ok else "does not answer", sentences(self.about.notices), facts)

    async def scan(self, visit: RowVisitor, filter: MemoryFilter | None = None) -> None:
        """Call `visit` with every full row in the order of storing, including superseded ones unless a filter is given.

        `visit` may run on another thread and must not store the rows: contents can be many megabytes. An exception in
        `visit` ends the scan and is raised here; cancelling the await ends the scan too.
        """
        from zeroclaw_tui.backends.fallback import visit_rows

        entries = await self.rows(Query(ENTRIES, filter or EVERYTHING, OLDEST_STORED))
        for start in range(0, len(entries), 500):
            await visit_rows(await self._rows_of(entries[start : start + 500]), visit)

    def version_of(self, row: Row) -> RowVersion:
        """Compute the version of a row from `scan`, equal to that of a query for VERSIONS, without a query."""
        return row.entry().version(row.fingerprint)

    async def as_stored(self, rows: Sequence[Row]) -> Sequence[Row]:
        """Convert rows of any store to what this store would contain after writing them; nothing is read or written.

        Values that it cannot store are dropped or changed. The store itself assigns id and times to a row without an
        id. Raises Refused if the store is read-only.
        """

        async def convert(writer: RowWriter) -> Sequence[Row]:
            return await writer.blocking(lambda: [writer.as_stored(row) for row in rows])

        return await self._with_writer(convert)

    async def apply(
        self,
        changes: Iterable[Change],
        journal: Journal | None,
        *,
        on_conflict: OnConflict = "skip",
        dry_run: bool = False,
        permanently: bool = False,
        on_progress: ProgressCallback | None = None,
    ) -> ApplyResult:
        """Write changes of rows: the only way to store, edit, delete and restore memories.

        The changes are read once and written in batches, so that other programs can write in between. A batch compares
        each row with what its change expects, records the full rows in the journal, and writes, in one transaction if
        the store has transactions. Rows that differ are conflicts, handled as `on_conflict` says; with "refuse"
        everything is one batch. A dry run writes and locks nothing, and returns the rows as the store would have them.
        Pass None as `journal` only for changes that must never be undone; `permanently` also overwrites the space of
        deleted rows, if the store can.

        A cancelled task ends after the current batch. Raises UsageError and Refused for values that the store cannot
        have, Locked, DiskFull, Unreadable, and the errors of `journal`.
        """
        from zeroclaw_tui.backends.change_set import ChangeSet

        change_set = ChangeSet(changes, journal, on_conflict=on_conflict, dry_run=dry_run, on_progress=on_progress)
        return await self._with_writer(change_set.run, permanently=permanently)

    async def _with_writer(self, work: Work[T], *, permanently: bool = False) -> T:
        """Run work that writes rows. Raises Refused if the store is read-only."""
        check_writable(self)
        # No other task of this process may write between reading a row and storing it.
        self._changing = self._changing or Lock()
        async with self._changing:
            return await work(self._writer())

    def _writer(self) -> RowWriter:
        """Create the object that reads and writes the rows of a batch."""
        from zeroclaw_tui.backends.fallback import TraitWriter

        return TraitWriter(self)


class RowMemory(Memory):
    """A store whose trait methods are built on `apply`, and on `rows` and `count_up` or on `_loaded`."""

    async def health_check(self) -> bool:
        """Return True if the store answers; if not, every other method raises the reason."""
        try:
            await self.rows(Query(ENTRIES, limit=1))
        except InspectorError:
            return False
        return True

    async def get(self, key: str) -> MemoryEntry | None:
        return next(iter(await self.rows(Query(ENTRIES, keys=[key]))), None)

    async def list(self, category: str | None = None, session_id: str | None = None) -> Entries:
        wanted = MemoryFilter(
            category=None if category is None else (category,),
            session=(session_id,) if session_id is not None and "sessions" not in self.why_not else None,
        )
        return [*await self.rows(Query(ENTRIES, wanted, NEWEST_UPDATED))]

    async def count(self) -> int:
        return (await self.count_up(EVERYTHING, "")).total

    async def store(self, key: str, content: str, category: str, session_id: str | None = None) -> None:
        """Write one memory of the default agent, overwriting an existing key as ZeroClaw does."""
        from zeroclaw_tui.memory.change import Change, Draft

        await self.apply([Change(None, Draft(key, content, category, session_id))], None, on_conflict="overwrite")

    async def forget(self, key: str) -> bool:
        """Delete the memories with this key of all agents, as ZeroClaw does."""
        from zeroclaw_tui.memory.change import Change

        while True:
            versions = await self.rows(Query(VERSIONS, keys=[key]))
            result = await self.apply([Change(version, None) for version in versions], None)
            if not result.skipped:
                return result.written > 0


class ReloadedMemory(RowMemory, Generic[Contents]):
    """A store that is loaded whole, and loaded again when its state has changed."""

    _contents: Contents | None = None
    _state_loaded: object = None
    _loading: Lock | None = None

    @abstractmethod
    async def _state(self) -> object:
        """Return a hashable value that changes with each write, also of other programs."""

    @abstractmethod
    async def _load(self) -> Contents:
        """Read everything."""

    async def _loaded(self) -> Contents:
        self._loading = self._loading or Lock()
        async with self._loading:
            state = await self._state()
            if self._contents is None or state != self._state_loaded:
                self._contents, self._state_loaded = await self._load(), state
            return self._contents

    async def version(self) -> int | None:
        return hash(await self._state())


class SearchedMemory(Memory):
    """A store with its own `search`, on which its recall is built."""

    async def recall(
        self, query: str, limit: int, session_id: str | None = None, since: str | None = None, until: str | None = None
    ) -> Scored:
        """Recall by the rules of the newest ZeroClaw that has this schema, without a query vector."""
        from zeroclaw_tui.memory.recall import RecallRequest
        from zeroclaw_tui.scoring.decide import store_recall
        from zeroclaw_tui.scoring.profiles import NEWEST, ScoringSettings, Trial, profile_for

        request = RecallRequest(query, limit, session_id, since=since, until=until, layer="store")
        trial = Trial(request, profile_for(self.about.newest_version or NEWEST), ScoringSettings())
        return list(store_recall(await self.search(trial), trial).entries)

    @abstractmethod
    async def search(self, trial: Trial, vector: np.ndarray | None = None, *, deep: bool = False) -> Evidence:
        """Collect the evidence without using `recall`; see `Memory.search`."""


def check_writable(memory: Memory) -> None:
    """Raise Refused with the reason if a store is read-only."""
    if "write" in memory.why_not:
        raise Refused(memory.why_not["write"])
