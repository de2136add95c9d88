"""The verbs that change a store of ZeroClaw's, and those that look at rows as they are for that."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from sqlite3 import Connection
from typing import Any, TypeVar

from zeroclaw_tui.backends.answers import Mended, Repair
from zeroclaw_tui.backends.base import Memory, Stamps
from zeroclaw_tui.backends.revert import Reverting
from zeroclaw_tui.backends.rows import finished, keep_nothing
from zeroclaw_tui.backends.sqlite import browse
from zeroclaw_tui.backends.sqlite.finding import finding
from zeroclaw_tui.backends.sqlite.identity import other_model
from zeroclaw_tui.backends.sqlite.raw_rows import RawTable
from zeroclaw_tui.backends.sqlite.schema import Schema
from zeroclaw_tui.backends.sqlite.stamps import stamp_of, stamps
from zeroclaw_tui.backends.sqlite.upkeep import fold_log, name_unknown_agents, rebuild_index, repair_hydrated
from zeroclaw_tui.backends.sqlite.write import (
    SqliteRows,
    another_model,
    count_cached_vectors,
    forget_cached_vectors,
)
from zeroclaw_tui.backends.sqlite.writing import SchemaMoved, Writing
from zeroclaw_tui.backends.write import Filling, Removing, Storing, create, update
from zeroclaw_tui.memory.change import (
    EMBEDDING_CACHE,
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
    See,
    Stamp,
    StoredRow,
    Vector,
    Written,
)
from zeroclaw_tui.memory.entry import Handle
from zeroclaw_tui.memory.errors import Refused
from zeroclaw_tui.memory.query import MemoryFilter, Superseded

Answer = TypeVar("Answer")

_STILL_IN_LOG = "What was deleted may still be read in {}-wal until the last program that has it open closes it."


class WritableSqlite(Memory):
    """What writes: each change has a connection of its own, and short transactions that check the file first."""

    path: Path
    _writings: set[Writing]
    _has_written = False

    @property
    @abstractmethod
    def schema(self) -> Schema:
        """What the database has."""

    @property
    @abstractmethod
    def _is_blind(self) -> bool:
        """Whether the file is read as it was when opened, so that no write is seen."""

    @abstractmethod
    async def open_anew(self) -> None:
        """Look at the file again, and let go of every earlier connection."""

    @abstractmethod
    async def _in_thread(self, work: Callable[[Connection], Answer], *, is_find: bool = False) -> Answer:
        """What `work` answers on a connection that only reads."""

    async def _find(self, work: Callable[[Connection], Answer], filter: MemoryFilter) -> Answer:
        """The same with what the filter's text is compared by; one that looks for text can be interrupted."""
        seconds = self.find_seconds

        def look(connection: Connection) -> Answer:
            with finding(connection, filter, seconds):
                return work(connection)

        return await self._in_thread(look, is_find=filter.looks_for_text)

    async def store(self, key: str, content: str, category: str, session_id: str | None = None) -> None:
        """Write one memory of the usual agent; an existing key is overwritten as ZeroClaw's store does it."""
        await self.create(Draft(key, content, category, session_id), keep_nothing, replace=True)

    async def store_batch(self, drafts: Sequence[Draft]) -> None:
        """Write many memories in transactions of about 40 ms each, with pauses for other writers."""
        await self._by_rows(Storing(drafts).run)

    async def forget(self, key: str) -> bool:
        """Delete the memory of that key. Raises Refused with the agents' names when several hold one."""
        while True:
            held = await self.with_key(key)
            if len(held) > 1:
                names = ", ".join(sorted(str(entry.agent) for entry in held))
                raise Refused(f"Several agents hold the key {key!r}: {names}.", hint="Name the agent, or the id.")
            removal = await self.remove(await self.stamps_of([entry.handle for entry in held]), keep_nothing)
            if not removal.changed:
                return removal.removed > 0

    async def stamps(self, filter: MemoryFilter) -> Stamps:
        """Every memory a filter leaves, in the order of storing; cancelling the await stops the pass."""
        schema, found = self.schema, browse.where(self.schema, filter)
        return await self._find(lambda connection: stamps(connection, schema, found), filter)

    async def stamps_of(self, handles: Sequence[Handle]) -> Stamps:
        """The stamps of these rowids, in that order; rows gone meanwhile are left out."""
        schema = self.schema

        def look(connection: Connection) -> Stamps:
            by_handle: dict[Handle, Stamp] = {}
            for start in range(0, len(handles), browse.ROWS_AT_ONCE):
                some = handles[start : start + browse.ROWS_AT_ONCE]
                wanted = browse.Where().also(f"m.rowid IN ({', '.join('?' * len(some))})", some)
                by_handle |= {stamp.handle: stamp for stamp in stamps(connection, schema, wanted)}
            return [by_handle[handle] for handle in handles if handle in by_handle]

        return await self._in_thread(look)

    async def each_row(self, see: See, filter: MemoryFilter | None = None) -> None:
        """Show every row with every column, on a thread, in one consistent read; its vector is in `embedding`."""
        wanted = filter or MemoryFilter(superseded=Superseded.SHOW)
        found = None if filter is None else browse.where(self.schema, filter)

        def look(connection: Connection) -> None:
            chosen = "1" if found is None else f"rowid IN (SELECT m.rowid FROM memories AS m {found.sql})"
            for row in RawTable(connection).where(f"{chosen} ORDER BY rowid", () if found is None else found.values):
                see(row)
                # It would stay until the next one is read, and both can be many megabytes.
                del row

        await self._find(look, wanted)

    def stamp_of(self, row: StoredRow) -> Stamp:
        """The stamp of a row with every column."""
        return stamp_of(row)

    async def stored_of(self, handles: Sequence[Handle]) -> Sequence[StoredRow]:
        """The rows of these rowids with every column, in that order; rows gone meanwhile are left out."""

        def look(connection: Connection) -> Sequence[StoredRow]:
            memories, found = RawTable(connection), dict[Handle | None, StoredRow]()
            for start in range(0, len(handles), browse.ROWS_AT_ONCE):
                some = handles[start : start + browse.ROWS_AT_ONCE]
                found |= {row.handle: row for row in memories.where(f"rowid IN ({', '.join('?' * len(some))})", some)}
            return [found[handle] for handle in handles if handle in found]

        return await self._in_thread(look)

    async def stored(self, id: str) -> StoredRow | None:
        """One memory with every column, or None."""
        if not self.schema.has("id"):
            return None
        return await self._in_thread(lambda connection: RawTable(connection).with_id(id))

    async def create(self, draft: Draft, keep: Keep, *, vector: Vector | None = None, replace: bool = False) -> Written:
        """Store a new memory, durably."""
        return await self._by_rows(lambda rows: create(rows, draft, keep, replace), vector)

    async def update(self, id: str, edit: Edit, expected: str, keep: Keep, *, vector: Vector | None = None) -> Written:
        """Change a row. An edit that changes nothing is neither kept nor written."""
        return await self._by_rows(lambda rows: update(rows, id, edit, expected, keep), vector)

    async def remove(
        self, stamps: Sequence[Stamp], keep: Keep, advance: Advance | None = None, *, zero: bool = False
    ) -> Removal:
        """Delete rows in batches that hold the write lock for about 40 ms each, with pauses for other writers.

        With `zero` SQLite overwrites what it frees (PRAGMA secure_delete); cancelling the await stops at a batch's end.
        """
        removing = Removing(stamps, keep, advance)

        def work(writing: Writing) -> Removal:
            removal = finished(removing.run(SqliteRows(writing)))
            if not zero or not removal.removed or removal.cancelled or writing.zeroed():
                return removal
            return replace(removal, notes=(*removal.notes, _STILL_IN_LOG.format(writing.path.name)))

        return await self._write(work, zero=zero)

    async def revert(
        self, changes: Batches, keep: Keep, *, clash: Clash = "refuse", advance: Advance | None = None
    ) -> Reversal:
        """Take changes back in such batches, rowids and vectors too."""
        return await self._by_rows(Reverting(changes, keep, clash, advance).run)

    async def fill_vectors(self, vectors: Sequence[NewVector]) -> FilledVectors:
        """Write the vectors of rows that did not change, in short transactions."""
        if not self.capabilities.vectors:
            raise self._no_vectors()
        return await self._by_rows(Filling(vectors).run)

    async def check_model(self, provider: str, model: str, dimensions: int) -> None:
        """As ZeroClaw >= 0.8.3 notes the model in memory_meta."""
        schema = self.schema
        theirs = await self._in_thread(lambda one: other_model(one, schema, provider, model, dimensions))
        if theirs is not None:
            raise another_model(theirs)

    async def forget_cached_vectors(self, contents: Sequence[str], keep: Keep) -> int:
        """Remove ZeroClaw's cached vectors of these contents."""
        if not self.capabilities.cached_vectors:
            return 0
        return await self._write(partial(forget_cached_vectors, contents=contents, keep=keep))

    async def count_cached_vectors(self, contents: Sequence[str]) -> int:
        """How many of these contents ZeroClaw's embedding cache holds."""
        if not self.capabilities.cached_vectors:
            return 0
        return await self._in_thread(
            lambda connection: count_cached_vectors(RawTable(connection, EMBEDDING_CACHE), contents)
        )

    async def repair(self, what: Repair = "rebuild keyword index") -> Mended:
        """Each by ZeroClaw's own statements; the file is looked at anew afterwards."""
        match what:
            case "rebuild keyword index":
                await self._write(rebuild_index)
                mended = Mended()
            case "repair hydrated database":
                await self._mend(repair_hydrated)
                mended = Mended()
            case "name unknown agents":
                mended = Mended(agents=await self._mend(name_unknown_agents))
            case "fold in write-ahead log":
                mended = Mended(log_bytes=await self._mend(fold_log))
        await self.open_anew()
        return mended

    async def _mend(self, work: Callable[[Writing], Answer]) -> Answer:
        """Write also where the store is read-only for what this repairs."""
        return await Writing(self.path, self.schema).run(work)

    async def _by_rows(
        self, work: Callable[[SqliteRows], Coroutine[Any, Any, Answer]], vector: Vector | None = None
    ) -> Answer:  # fmt: skip
        return await self._write(lambda writing: finished(work(SqliteRows(writing, vector))))

    async def _write(self, work: Callable[[Writing], Answer], *, zero: bool = False) -> Answer:
        try:
            return await self._written(work, zero)
        except SchemaMoved:
            # ZeroClaw has migrated the file: nothing was written, and what may be written is decided again.
            await self.open_anew()
            return await self._written(work, zero)

    async def _written(self, work: Callable[[Writing], Answer], zero: bool) -> Answer:
        if self.read_only_because is not None:
            raise self.refuse_to_write()
        writing = Writing(self.path, self.schema, zero=zero)
        self._writings.add(writing)
        self._has_written = True
        try:
            written = await writing.run(work)
        finally:
            self._writings.discard(writing)
        if self._is_blind:
            await self.open_anew()
        return written
