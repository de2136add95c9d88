"""Recall, counts and the verbs that change a PostgreSQL table."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from zeroclaw_tui.backends.base import Memory, Scored, Stamps, StoreRecall
from zeroclaw_tui.backends.postgres import stamps, writing
from zeroclaw_tui.backends.postgres.connect import Connections
from zeroclaw_tui.backends.postgres.facets import facets
from zeroclaw_tui.backends.postgres.filling import Filling, Storing
from zeroclaw_tui.backends.postgres.finding import found
from zeroclaw_tui.backends.postgres.making import make
from zeroclaw_tui.backends.postgres.reverting import Reverting
from zeroclaw_tui.backends.postgres.search import search
from zeroclaw_tui.backends.postgres.statistics import statistics
from zeroclaw_tui.backends.postgres.table import Table
from zeroclaw_tui.backends.postgres.transaction import TableMoved
from zeroclaw_tui.memory.change import (
    Advance,
    Batches,
    Clash,
    Draft,
    Edit,
    FilledVectors,
    Keep,
    NewVector,
    Removal,
    Reversal,
    RowChange,
    See,
    Stamp,
    StoredRow,
    Vector,
    Written,
)
from zeroclaw_tui.memory.entry import Handle
from zeroclaw_tui.memory.errors import Locked
from zeroclaw_tui.memory.query import Facets, MemoryFilter, Superseded
from zeroclaw_tui.memory.recall import RecallRequest
from zeroclaw_tui.memory.statistics import Statistics
from zeroclaw_tui.scoring.profiles import NEWEST, ScoringProfile, profile_for
from zeroclaw_tui.scoring.settings import ScoringSettings

if TYPE_CHECKING:
    import numpy as np

Answer = TypeVar("Answer")
Work = Callable[[Connections, Table], Awaitable[Answer]]

_NOT_ZEROED = "PostgreSQL overwrites the space of removed rows in its own time (VACUUM), and its backups keep them."
_EVERYTHING = MemoryFilter(superseded=Superseded.SHOW)


class WritablePostgres(Memory):
    """What PostgresMemory does beyond listing.

    The class above supplies `connections`, `schema_name` and `table_name` from its beginning, and `table` after `open`.
    """

    connections: Connections
    table: Table
    schema_name: str
    table_name: str
    vector_dimensions: int | None = None
    """For how many numbers ZeroClaw's option `vector_enabled` makes a column; None without that option."""

    async def open_anew(self) -> None:
        """Look at the table again, and set what may be done with it."""
        raise NotImplementedError

    async def make(self, profile: ScoringProfile) -> None:
        """Make the table as the ZeroClaw of that profile does, and look at it. Raises Refused with what is missing."""
        if self.read_only_because is not None:
            raise self.refuse_to_write()
        await make(self.connections, self.schema_name, self.table_name, profile, self.vector_dimensions)
        await self.open_anew()

    async def recall(
        self, query: str, limit: int, session_id: str | None = None, since: str | None = None, until: str | None = None
    ) -> Scored:
        """What the newest ZeroClaw recalls by keywords, best first; the tutorial's table has none without a vector."""
        request = RecallRequest(query, limit, session_id, since=since, until=until)
        return list((await self.search(request, profile_for(NEWEST), ScoringSettings())).entries)

    async def search(
        self,
        request: RecallRequest,
        profile: ScoringProfile,
        settings: ScoringSettings,
        query_vector: np.ndarray | None = None,
    ) -> StoreRecall:
        """Recall as the ZeroClaw of that profile, or our own fusion, by one statement."""
        return await search(self.connections, self.table, request, profile, settings, query_vector)

    def interrupt(self) -> None:
        """Stop the searches that run now; they raise SearchInterrupted."""
        self.connections.interrupt()

    async def facets(self, filter: MemoryFilter, now: str) -> Facets:
        """Counts of what a filter leaves, by one statement."""
        return await facets(self.connections, self.table, await self._found(filter), now)

    async def statistics(self, filter: MemoryFilter | None = None) -> Statistics:
        """How much there is, by two statements."""
        return await statistics(self.connections, self.table, await self._found(filter or MemoryFilter()))

    async def stamps(self, filter: MemoryFilter) -> Stamps:
        """Every memory a filter leaves, in the order of storing."""
        return await stamps.stamps(self.connections, self.table, await self._found(filter))

    async def stamps_of(self, handles: Sequence[Handle]) -> Stamps:
        """The stamps of these ids, in that order; rows gone meanwhile are left out."""
        return await stamps.stamps_of(self.connections, self.table, handles)

    def stamp_of(self, row: StoredRow) -> Stamp:
        """The stamp of a row with every column."""
        return stamps.stamp_of(row)

    async def each_row(self, see: See, filter: MemoryFilter | None = None) -> None:
        """Show every row with every column, on a thread, in one consistent read."""
        wanted = await self._found(_EVERYTHING if filter is None else filter)
        await stamps.each_row(self.connections, self.table, see, wanted)

    async def stored(self, id: str) -> StoredRow | None:
        """One memory with every column, or None."""
        return next(iter(await stamps.stored_of(self.connections, self.table, [id])), None)

    async def stored_by_id(self, ids: Sequence[str]) -> Mapping[str, StoredRow]:
        """The same for many ids, some hundreds by one question."""
        return {row.id: row for row in await stamps.stored_of(self.connections, self.table, ids)}

    async def stored_of(self, handles: Sequence[Handle]) -> Sequence[StoredRow]:
        """The rows of these ids with every column, in that order; rows gone meanwhile are left out."""
        return await stamps.stored_of(self.connections, self.table, handles)

    async def store(self, key: str, content: str, category: str, session_id: str | None = None) -> None:
        """Write one memory of the usual agent; an existing key is overwritten as ZeroClaw's store does it."""
        await self.create(Draft(key, content, category, session_id), _keep_nothing, replace=True)

    async def store_batch(self, drafts: Sequence[Draft]) -> None:
        """Write many memories, each as `store` does, some thousands to a statement."""
        await self._write(Storing(drafts).run)

    async def forget(self, key: str) -> bool:
        """Delete the memories of that key; as ZeroClaw's own verb does it, those of all agents that hold one."""
        while True:
            held = await self.with_key(key)
            removal = await self.remove(await self.stamps_of([entry.handle for entry in held]), _keep_nothing)
            if not removal.changed:
                return removal.removed > 0

    async def create(self, draft: Draft, keep: Keep, *, vector: Vector | None = None, replace: bool = False) -> Written:
        """Store a new memory, durably."""
        work = partial(writing.create, draft=draft, keep=keep, vector=vector, replace=replace)
        return await self._looked_again(await self._write(work))

    async def update(self, id: str, edit: Edit, expected: str, keep: Keep, *, vector: Vector | None = None) -> Written:
        """Change a row. An edit that changes nothing is neither kept nor written."""
        work = partial(writing.update, id=id, edit=edit, expected=expected, keep=keep, vector=vector)
        return await self._looked_again(await self._write(work))

    async def remove(
        self, stamps: Sequence[Stamp], keep: Keep, advance: Advance | None = None, *, zero: bool = False
    ) -> Removal:
        """Delete rows, a few hundred to a transaction. What PostgreSQL frees it overwrites in its own time."""
        removal = await self._write(writing.Removing(stamps, keep, advance).run)
        return replace(removal, notes=(*removal.notes, _NOT_ZEROED)) if zero and removal.removed else removal

    async def revert(
        self, changes: Batches, keep: Keep, *, clash: Clash = "refuse", advance: Advance | None = None
    ) -> Reversal:
        """Take changes back, a few hundred to a transaction, with every column."""
        return await self._write(Reverting(changes, keep, clash, advance).run)

    async def fill_vectors(self, vectors: Sequence[NewVector]) -> FilledVectors:
        """Write the vectors of rows that did not change."""
        if not self.capabilities.vectors:
            raise self._no_vectors()
        filled = await self._write(Filling(vectors).run)
        if filled.filled and not self.table.vectors:
            await self.open_anew()
        return filled

    async def _found(self, filter: MemoryFilter) -> MemoryFilter:
        """A filter that the server can answer: the rows of its pattern are looked for here."""
        return await found(self.connections, self.table, filter, self.find_seconds)

    async def _looked_again(self, written: Written) -> Written:
        """With the first vector of a table there is more that can be done."""
        after = written.change.after
        if after is not None and after.values.get("embedding") is not None and not self.table.vectors:
            await self.open_anew()
        return written

    async def _write(self, work: Work[Answer]) -> Answer:
        try:
            return await self._written(work)
        except TableMoved:
            # ZeroClaw has migrated the table: nothing was written, and what may be written is decided again.
            await self.open_anew()
        try:
            return await self._written(work)
        except TableMoved:
            raise Locked(
                "Another program is changing the shape of the table.", hint="Try again when it has finished."
            ) from None

    async def _written(self, work: Work[Answer]) -> Answer:
        if self.read_only_because is not None:
            raise self.refuse_to_write()
        return await work(self.connections, self.table)


def _keep_nothing(changes: Sequence[RowChange]) -> None:
    """For ZeroClaw's own verbs, which keep nothing."""
