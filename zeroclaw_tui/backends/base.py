"""The Memory contract: ZeroClaw's trait, and what browsing needs on top with fall-backs built on the trait's verbs.

`plugins.py` says how to write a backend of your own. The methods must not block the event loop: files and CPU work
belong in a thread.
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
        See,
    )
    from zeroclaw_tui.memory.recall import ScoredEntry
    from zeroclaw_tui.memory.statistics import CountField, Counts
    from zeroclaw_tui.scoring.evidence import Evidence
    from zeroclaw_tui.scoring.neighbours import Near
    from zeroclaw_tui.scoring.profiles import Trial


THE_TRAIT = MappingProxyType(
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
        "namespace": "This store has no namespaces.",
        "atomic": "This store has no transactions: what another program writes at the same moment can be overwritten.",
    }
)
"""What the verbs of ZeroClaw's trait alone cannot do."""

T = TypeVar("T")
Contents = TypeVar("Contents", bound="Loaded")
Entries: TypeAlias = "list[MemoryEntry]"
Scored: TypeAlias = "list[ScoredEntry]"


class Memory(ABC):
    """A store of memories.

    The abstract verbs are ZeroClaw's trait; the rest may be overridden to be faster or to show more. All may raise
    InspectorError kinds.
    """

    name: str = ""
    """The backend's factory name."""
    about: About = About()
    """Where it is, what it is, and how it ranks."""
    why_not: Mapping[str, str] = THE_TRAIT
    """What this store cannot do, each with a sentence that says why; what is not in it, it can.

    The names are "vectors", "keyword", "sessions", "agents", "namespaces", "superseded", "pinned", "importance",
    "kind", "watch", "atomic", "write", and each of memory/entry.py's EDITABLE that an edit cannot change;
    "zeroclaw_forget" says what ZeroClaw's own `forget` does not do. A store with "write" need not name the fields too.
    """
    _changing: Lock | None = None

    @property
    def upkeep(self) -> Upkeep:
        """What only some stores can do."""
        from zeroclaw_tui.backends.upkeep import Upkeep

        return Upkeep()

    @classmethod
    def from_config(cls, config: MemoryConfig) -> Memory:
        """The store a config names, not yet opened. Raises UsageError, Refused or Unreadable for what names none."""
        return cls()

    @abstractmethod
    async def store(self, key: str, content: str, category: str, session_id: str | None = None) -> None:
        """Write one memory; an existing key is replaced."""

    @abstractmethod
    async def recall(
        self, query: str, limit: int, session_id: str | None = None, since: str | None = None, until: str | None = None
    ) -> Scored:
        """The store's own recall, best first."""

    @abstractmethod
    async def get(self, key: str) -> MemoryEntry | None:
        """The memory of that key with its full content, or None; several agents' rows: the oldest stored."""

    @abstractmethod
    async def list(self, category: str | None = None, session_id: str | None = None) -> Entries:
        """All memories with full content, `updated_at` descending, superseded ones left out."""

    @abstractmethod
    async def forget(self, key: str) -> bool:
        """Delete by key; True when something was deleted."""

    @abstractmethod
    async def count(self) -> int:
        """How many memories there are, superseded ones included."""

    @abstractmethod
    async def health_check(self) -> bool:
        """True when it answers."""

    async def open(self) -> None:
        """Get ready to answer; called once, before anything else.

        Raises NothingYet where ZeroClaw would make the store at its first start, NotReachable, Unreadable, Corrupt,
        Locked, UsageError for an address or a name that cannot be.
        """

    async def close(self) -> None:
        """Close files and connections."""

    async def rows(self, query: Query[T]) -> Sequence[T]:
        """Read rows: one page of a list, the rows of some ids or keys, or all that a filter selects.

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
                read = await to_thread(lambda: [self.stamp_of(Row.of(entry)) for entry in entries])
        found: Sequence[T] = read
        return found

    async def _find_entries(self, query: Query[Any]) -> Sequence[MemoryEntry]:
        """The whole memories that a query selects, in its order."""
        return await (await self._loaded()).find(query)

    async def _loaded(self) -> Loaded:
        """All memories, for the verbs that this store does not answer itself."""
        from zeroclaw_tui.backends.loaded import Loaded

        return Loaded(require_unique_ids(await self.list(), self.name), backend=self.name)

    async def _rows_of(self, entries: Sequence[MemoryEntry]) -> Sequence[Row]:
        """The rows of loaded memories, exactly as the store has them."""
        from zeroclaw_tui.memory.change import Row

        return await to_thread(lambda: [Row.of(entry) for entry in entries])

    async def count_up(self, filter: MemoryFilter, now: str, by: Sequence[CountField] = ()) -> Counts:
        """Count the memories that a filter selects, in all and by the values of some fields.

        `now` is the RFC 3339 moment that ages are compared with. Raises UsageError for a pattern that is too slow.
        """
        return await (await self._loaded()).count_up(filter, now, by, self.why_not)

    async def search(self, trial: Trial, vector: np.ndarray | None = None, *, deep: bool = False) -> Evidence:
        """Give what one recall is decided from; `vector` is that of the query, if any.

        `scoring.decide` decides it. With `deep` the evidence is not cut for this request, so that other limits, filters
        and numbers can be decided from it too, as far as the store can.
        """
        from zeroclaw_tui.backends.fallback import evidence_of
        from zeroclaw_tui.scoring.evidence import depth_of

        request, depth = trial.request, depth_of(trial.request, deep=deep)
        found = await self.recall(request.query, depth, request.session_id, request.since, request.until)
        return evidence_of(found, trial, depth, self.name)

    async def near(self, to: MemoryEntry | np.ndarray | str, limit: int) -> Near | None:
        """Find the memories nearest to the vector of a memory, to a vector, or to a text by the words both have.

        Vectors are compared with those of superseded memories and of the memory itself too, words with those of
        current memories. None if there are no vectors to compare. No network except to the store itself.
        """
        from zeroclaw_tui.backends.fallback import nearest_by_words

        return await nearest_by_words(self.scan, to, limit) if isinstance(to, str) else None

    async def version(self) -> int | None:
        """A number that changes when another process has written; None if the store does not know."""
        return None

    async def health(self) -> Health:
        """How the store is, with its facts."""
        from zeroclaw_tui.backends.health import Health

        ok, facts = await self.health_check(), {"memories": await self.count()}
        return Health(ok, "answers" if ok else "does not answer", sentences(self.about.notices), facts)

    async def scan(self, see: See, filter: MemoryFilter | None = None) -> None:
        """Show every row whole, one at a time, in the order of storing, superseded ones too unless a filter says else.

        `see` may be called on another thread and must not keep the rows: contents can be many megabytes. What it raises
        ends the pass and comes out here; cancelling the await ends it too.
        """
        from zeroclaw_tui.backends.fallback import show

        entries = await self.rows(Query(ENTRIES, filter or EVERYTHING, OLDEST_STORED))
        for start in range(0, len(entries), 500):
            await show(await self._rows_of(entries[start : start + 500]), see)

    def stamp_of(self, row: Row) -> RowVersion:
        """The version of a row that `scan` showed, as a query for VERSIONS gives it; the store is not asked."""
        return row.entry().version(row.fingerprint)

    async def as_stored(self, rows: Sequence[Row]) -> Sequence[Row]:
        """Return rows of any store as this one would have them after writing them; nothing is read or written.

        What it cannot store is left out or changed. A row without an id gets one, and its times, from the store itself.
        Raises Refused if nothing can be written.
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

        The changes are read once and written in batches, other programs' writes in between. A batch compares each row
        with what its change expects, records the full rows in the journal, and writes; where the store has
        transactions, that is one. Rows that are not as expected are conflicts, treated as `on_conflict` says; with
        "refuse" everything is one batch. A dry run writes and locks nothing, and returns the rows as the store would
        have them. Only what shall never come back has no journal; `permanently` also overwrites the space of deleted
        rows, where the store can do that.

        A cancelled task ends after the batch that has begun. Raises UsageError and Refused for values that the store
        cannot have, Locked, DiskFull, Unreadable, and what `journal` raises.
        """
        from zeroclaw_tui.backends.change_set import ChangeSet

        change_set = ChangeSet(changes, journal, on_conflict=on_conflict, dry_run=dry_run, on_progress=on_progress)
        return await self._with_writer(change_set.run, permanently=permanently)

    async def _with_writer(self, work: Work[T], *, permanently: bool = False) -> T:
        """Run work that writes rows. Raises Refused if nothing can be written."""
        check_writable(self)
        # Between reading a row and storing it, nobody here may store another.
        self._changing = self._changing or Lock()
        async with self._changing:
            return await work(self._writer())

    def _writer(self) -> RowWriter:
        """What reads and writes the rows of a batch."""
        from zeroclaw_tui.backends.fallback import TraitWriter

        return TraitWriter(self)


class RowMemory(Memory):
    """A store whose verbs follow from `rows` and `count_up`, or from `_loaded`, and from `apply`."""

    async def health_check(self) -> bool:
        """True when it answers; every other verb says why it does not."""
        try:
            await self.rows(Query(ENTRIES, limit=1))
        except InspectorError:
            return False
        return True

    async def get(self, key: str) -> MemoryEntry | None:
        return next(iter(await self.rows(Query(ENTRIES, keys=[key]))), None)

    async def list(self, category: str | None = None, session_id: str | None = None) -> Entries:
        """All memories that none has replaced, the last stored first."""
        wanted = MemoryFilter(
            category=None if category is None else (category,),
            session=(session_id,) if session_id is not None and "sessions" not in self.why_not else None,
        )
        return [*await self.rows(Query(ENTRIES, wanted, NEWEST_UPDATED))]

    async def count(self) -> int:
        return (await self.count_up(EVERYTHING, "")).total

    async def store(self, key: str, content: str, category: str, session_id: str | None = None) -> None:
        """Write one memory of the usual agent; an existing key is overwritten as ZeroClaw's store does it."""
        from zeroclaw_tui.memory.change import Change, Draft

        await self.apply([Change(None, Draft(key, content, category, session_id))], None, on_conflict="overwrite")

    async def forget(self, key: str) -> bool:
        """Delete the memories of that key; like ZeroClaw's own verb, those of all agents that have one."""
        from zeroclaw_tui.memory.change import Change

        while True:
            versions = await self.rows(Query(VERSIONS, keys=[key]))
            result = await self.apply([Change(version, None) for version in versions], None)
            if not result.skipped:
                return result.written > 0


class ReloadedMemory(RowMemory, Generic[Contents]):
    """A store whose memories are all loaded at once, and again when its state has changed."""

    _contents: Contents | None = None
    _state_loaded: object = None
    _loading: Lock | None = None

    @abstractmethod
    async def _state(self) -> object:
        """What differs after each write, also of other programs; hashable."""

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
    """A store with a `search` of its own, from which its recall follows."""

    async def recall(
        self, query: str, limit: int, session_id: str | None = None, since: str | None = None, until: str | None = None
    ) -> Scored:
        """Recall by the rules of the newest ZeroClaw that has this schema, without a vector of the query."""
        from zeroclaw_tui.memory.recall import RecallRequest
        from zeroclaw_tui.scoring.decide import store_recall
        from zeroclaw_tui.scoring.profiles import NEWEST, ScoringSettings, Trial, profile_for

        request = RecallRequest(query, limit, session_id, since=since, until=until, layer="store")
        trial = Trial(request, profile_for(self.about.newest_version or NEWEST), ScoringSettings())
        return list(store_recall(await self.search(trial), trial).entries)

    @abstractmethod
    async def search(self, trial: Trial, vector: np.ndarray | None = None, *, deep: bool = False) -> Evidence:
        """As in `Memory`, but not by `recall`."""


def check_writable(memory: Memory) -> None:
    """Raise Refused, with the reason, if nothing can be written to a store."""
    if "write" in memory.why_not:
        raise Refused(memory.why_not["write"])
