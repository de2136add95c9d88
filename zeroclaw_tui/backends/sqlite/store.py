"""ZeroClaw's own store."""

from __future__ import annotations

import asyncio
import math
import struct
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from sqlite3 import Connection
from typing import TYPE_CHECKING, Any, TypeVar

from zeroclaw_tui.backends.answers import Compacted, Outdated, Pages, Retention, StoreFacts
from zeroclaw_tui.backends.base import Entries, Health
from zeroclaw_tui.backends.sqlite import browse
from zeroclaw_tui.backends.sqlite.capabilities import capabilities_of
from zeroclaw_tui.backends.sqlite.facets import facets
from zeroclaw_tui.backends.sqlite.health import health
from zeroclaw_tui.backends.sqlite.making import fill_database, make_database
from zeroclaw_tui.backends.sqlite.retention import outdated_rows
from zeroclaw_tui.backends.sqlite.rows import agent_join, entry_columns, entry_from
from zeroclaw_tui.backends.sqlite.schema import Schema, read_schema
from zeroclaw_tui.backends.sqlite.searchable import SearchableSqlite
from zeroclaw_tui.backends.sqlite.statistics import statistics
from zeroclaw_tui.backends.sqlite.upkeep import check_pages, compact_database, store_facts
from zeroclaw_tui.backends.sqlite.writing import Writing, fold_in
from zeroclaw_tui.backends.waiting import Stoppable, to_its_end
from zeroclaw_tui.config.layouts import exists, file_size, has_markdown
from zeroclaw_tui.files.database import (
    FileIdentity,
    Reading,
    ReadOnlyConnection,
    UnfinishedWrite,
    bound,
    connect_read_only,
    file_identity,
    take_back_unfinished_write,
    translated,
    wal_file,
    why_not_writable,
)
from zeroclaw_tui.files.whole_database import holders
from zeroclaw_tui.memory.change import StoredRow
from zeroclaw_tui.memory.entry import EXCERPT, Handle, MemoryEntry
from zeroclaw_tui.memory.errors import ASKED_READ_ONLY, InspectorError, NotThere, Refused, Unreadable
from zeroclaw_tui.memory.query import Cursor, Facets, MemoryFilter, Page, Sort, Superseded
from zeroclaw_tui.memory.statistics import Statistics
from zeroclaw_tui.scoring.generations import generation_made_by
from zeroclaw_tui.scoring.profiles import ScoringProfile

if TYPE_CHECKING:
    from zeroclaw_tui.backends.sqlite.search import SqliteSearch
    from zeroclaw_tui.config.memory_config import MemoryConfig

Answer = TypeVar("Answer")

_FOLDER_READ_ONLY = "The folder of the database is read-only."
_TAKEN_BACK = "A program had ended in the middle of a write to this database: the unfinished write was taken back."


class SqliteMemory(SearchableSqlite):
    """A brain.db of any ZeroClaw version. Only the verbs of WritableSqlite change a byte of it.

    Listings use one connection kept open, searching another, and long passes and changes one of their own in a thread
    each, so that none waits for the other.
    """

    name = "sqlite"
    keeps_texts = True
    keeps_bytes = True
    agents_are_rows = True
    has_quotas = True

    def __init__(self, path: Path, *, location: str | None = None, read_only: bool = False) -> None:
        self.path = self.file = path
        self.location = location or str(path)
        self._asked_read_only = read_only
        self._connection: ReadOnlyConnection | None = None
        self._file: FileIdentity | None = None
        self._seen_version: int | None = None
        self._changes = 0
        self._schema: Schema | None = None
        self._search: SqliteSearch | None = None
        self._search_opening = asyncio.Lock()
        self._looking = asyncio.Lock()
        self._readings: set[Reading] = set()
        self._finds: set[Reading] = set()
        self._writings: set[Writing] = set()

    @classmethod
    def from_config(cls, config: MemoryConfig) -> SqliteMemory:
        """The brain.db of an install. Raises Unreadable where it is missing but the install has Markdown notes."""
        if not (config.location or exists(config.database)) and has_markdown(config.install.root):
            raise Unreadable(
                f"There is no database {config.database}.",
                hint=f"{config.install.root} has Markdown notes: --backend markdown opens them.",
            )
        return cls(config.database, read_only=config.read_only)

    @property
    def schema(self) -> Schema:
        """What the database has; only after `open`."""
        if self._schema is None:
            raise RuntimeError("open() comes first")
        return self._schema

    @property
    def columns(self) -> frozenset[str]:
        """Those of the memories table, in lower case."""
        return self.schema.columns

    async def open(self) -> None:
        """Connect, and tell the generation; an earlier connection is let go.

        Raises NothingYet where ZeroClaw would make the file, Unreadable, Corrupt or Locked.
        """
        # Looked at before the connection, so that a file that takes this one's place in between is opened again.
        file = file_identity(self.path)
        connection, taken_back = await self._connected()
        try:
            schema = await read_schema(connection, self.path)
        except BaseException:
            await connection.close()
            raise
        earlier, self._connection = self._connection, connection
        self._schema = schema
        self._file = file
        self.generation = schema.generation
        self.newest_version = schema.newest_version
        self.not_opened_because = schema.read_only_because if schema.hydrate_made else None
        self.notices, self.facts = (*taken_back, *schema.notices), schema.facts
        self.read_only_because = (
            schema.read_only_because
            or (_FOLDER_READ_ONLY if connection.notice and not connection.is_full else None)
            or why_not_writable(self.path)
            or (ASKED_READ_ONLY if self._asked_read_only else None)
        )
        self.capabilities = capabilities_of(schema, self.read_only_because)
        if earlier is not None:
            await earlier.close()

    async def make(self, profile: ScoringProfile) -> None:
        """Make the database with the tables of that version, where there is no file or an empty one. Raises Refused."""
        if self._asked_read_only:
            raise Refused(ASKED_READ_ONLY, hint="Leave --read-only out.")
        await asyncio.to_thread(make_database, self.path, generation_made_by(profile.version))

    def fill(self, generation: str, rows: Sequence[StoredRow], now: str) -> None:
        """Make the database with the tables of that generation; an empty file in its place is kept beside it."""
        if self._asked_read_only:
            raise Refused(ASKED_READ_ONLY, hint="Leave --read-only out.")
        fill_database(self.path, generation, rows, now)

    async def _connected(self) -> tuple[ReadOnlyConnection, Sequence[str]]:
        """A connection, and what had to be done to the file for it."""
        try:
            return await connect_read_only(self.path), ()
        except UnfinishedWrite:
            if self._asked_read_only or why_not_writable(self.path):
                raise
        await asyncio.to_thread(take_back_unfinished_write, self.path)
        return await connect_read_only(self.path), (_TAKEN_BACK,)

    async def close(self) -> None:
        """Stop what runs and let go of every connection.

        What was written here goes into the database itself where no other program has it open: who copies or moves the
        file alone, as ZeroClaw 0.8 does, would leave the log behind (SQLite does not fold it in for a last connection
        that only reads).
        """
        for reading in self._readings:
            reading.stop()
        for writing in self._writings:
            writing.stop()
        await self._close_search()
        # A connection that is being opened anew must not outlive the store.
        async with self._looking:
            connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()
        if self._has_written:
            self._has_written = False
            await to_its_end(asyncio.get_running_loop().run_in_executor(None, _leave_whole, self.path), _nothing)

    @asynccontextmanager
    async def without_connections(self) -> AsyncIterator[None]:
        """Hold no connection within this, so that this process is not in its own way; the file is opened anew after."""
        async with self._looking:
            while self._readings:
                for reading in self._readings:
                    reading.stop()
                await asyncio.sleep(0.01)
            async with self._search_opening:
                await self._close_search()
            connection, self._connection = self._connection, None
            if connection is not None:
                await connection.close()
            try:
                yield
            finally:
                await self._open_anew()

    async def get(self, key: str) -> MemoryEntry | None:
        """The memory of that key, superseded or not; several agents' rows: the oldest stored."""
        for entry in await self.with_key(key):
            return entry
        return None

    async def list(self, category: str | None = None, session_id: str | None = None) -> Entries:
        """What ZeroClaw's own list returns: at most 1000 rows, cut before the session is looked at."""
        found, order = browse.listing(self.schema, category)
        listed = await self._entries(found, order)
        return [entry for entry in listed if session_id is None or entry.session_id == session_id]

    async def count(self) -> int:
        """How many memories there are, superseded ones included."""
        ((counted,),) = await self._fetch("SELECT count(*) FROM memories")
        return int(counted)

    async def health_check(self) -> bool:
        """True when it answers; why it does not is told by every other verb."""
        try:
            await self._fetch("SELECT rowid FROM memories NOT INDEXED LIMIT 1")
        except InspectorError:
            return False
        return True

    async def entries(self, filter: MemoryFilter) -> Entries:
        """Every memory a filter leaves, with full content, in the order of storing."""
        schema, found = self.schema, browse.where(self.schema, filter)
        if not filter.looks_for_text:
            return await self._entries(found, "ORDER BY m.rowid")
        statement = _select(schema, found, "ORDER BY m.rowid")
        return await self._find(
            lambda connection: [entry_from(row, schema) for row in connection.execute(statement, found.values)], filter
        )

    async def page(self, filter: MemoryFilter, sort: Sort, cursor: Cursor | None, limit: int) -> Page:
        """The rows after `cursor`, as excerpts; any depth costs the same. Cancelling the await stops a long pass."""
        statement, values = browse.page_statement(self.schema, filter, sort, cursor, limit)
        if browse.takes_long(filter, sort):
            chosen = await self._find(lambda connection: connection.execute(statement, values).fetchall(), filter)
        else:
            chosen = list(await self._fetch(statement, values))
        handles, following = browse.page_of(chosen, limit)
        return Page(tuple(await self.rows(handles)), following)

    async def order(self, filter: MemoryFilter, sort: Sort) -> Sequence[Handle]:
        """The rowids of all rows in order as an array; cancelling the await stops the pass."""
        schema = self.schema
        return await self._find(lambda connection: browse.ordered_handles(connection, schema, filter, sort), filter)

    async def order_part(
        self, filter: MemoryFilter, sort: Sort, offset: int, limit: int
    ) -> tuple[Sequence[Handle], int]:
        """Some rowids of that order, and how many there are; none behind them is read or sorted.

        Ordered and counted at once, as neither waits for the other; a text is looked for only once.
        """
        if filter.looks_for_text:
            return await super().order_part(filter, sort, offset, limit)
        schema, count = self.schema, offset + limit if limit else 0
        ordering = asyncio.ensure_future(
            self._find(lambda connection: browse.ordered_handles(connection, schema, filter, sort, count), filter)
        )
        try:
            found = browse.where(schema, filter)
            statement = f"SELECT count(*) FROM memories AS m {found.sql}"
            ((total,),) = await self._find(lambda one: one.execute(statement, found.values).fetchall(), filter)
            return (await ordering)[offset:], total
        finally:
            ordering.cancel()

    async def rows(self, handles: Sequence[Handle]) -> Entries:
        """The rows of these rowids, in that order, as excerpts; rows gone meanwhile are left out."""
        by_handle: dict[Handle, MemoryEntry] = {}
        for start in range(0, len(handles), browse.ROWS_AT_ONCE):
            some = handles[start : start + browse.ROWS_AT_ONCE]
            wanted = browse.Where().also(f"m.rowid IN ({', '.join('?' * len(some))})", some)
            for entry in await self._entries(wanted, excerpt=EXCERPT):
                by_handle[entry.handle] = entry
        for entry in [entry for entry in by_handle.values() if entry.is_excerpt and len(entry.content) < EXCERPT]:
            # SQLite's substr() ends at a NUL; the memory goes on behind it.
            for whole in await self._entries(browse.Where().also("m.rowid = ?", [entry.handle])):
                by_handle[entry.handle] = whole.excerpt()
        return [by_handle[handle] for handle in handles if handle in by_handle]

    async def whole(self, handle: Handle) -> MemoryEntry:
        """One row with its full content. Raises NotThere when it has gone."""
        for entry in await self._entries(browse.Where().also("m.rowid = ?", [handle])):
            return entry
        raise NotThere("This memory is no longer there.", hint="r reloads the list.")

    async def vector_norm(self, handle: Handle) -> float | None:
        """The Euclidean length of one row's float32 vector, little-endian; None when it has none."""
        if not self.schema.has("embedding"):
            return None
        rows = await self._fetch("SELECT embedding FROM memories WHERE rowid = ?", [handle])
        blob = rows[0][0] if rows else None
        if not isinstance(blob, bytes) or len(blob) < 4:
            return None
        return math.hypot(*struct.unpack_from(f"<{len(blob) // 4}f", blob))

    async def with_key(self, key: str, agent: str | None = None) -> Entries:
        """Every row of that key, the oldest stored first, with full content."""
        of_agent = MemoryFilter(agent=None if agent is None else (agent,), superseded=Superseded.SHOW)
        mark, value = bound([key])
        return await self._entries(
            browse.where(self.schema, of_agent).also(f"m.key = {mark}", value), "ORDER BY m.rowid"
        )

    async def with_id(self, id: str) -> MemoryEntry | None:
        """The memory of that id with its full content, or None."""
        if not self.schema.has("id"):
            return None
        mark, value = bound([id])
        for entry in await self._entries(browse.Where().also(f"m.id = {mark}", value)):
            return entry
        return None

    async def keys_starting(self, prefix: str, limit: int) -> Entries:
        """Rows whose key begins so, `updated_at` descending, with full content."""
        found, order = browse.starting_with(self.schema, prefix)
        return await self._entries(found, f"{order} LIMIT {limit:d}")

    async def facets(self, filter: MemoryFilter, now: str) -> Facets:
        """Counts, made in a thread; cancelling the await stops them."""
        schema = self.schema
        return await self._find(lambda connection: facets(connection, schema, filter, now), filter)

    async def statistics(self, filter: MemoryFilter | None = None) -> Statistics:
        """How much there is, counted in a thread; cancelling the await stops it."""
        schema, path = self.schema, self.path
        wanted = MemoryFilter(superseded=Superseded.SHOW) if filter is None else filter
        found = browse.where(schema, wanted)
        return await self._find(lambda connection: statistics(connection, schema, path, found), wanted)

    async def data_version(self) -> int | None:
        """Changes when another connection has written (SQLite's PRAGMA data_version), or put another file in place.

        Connections keep reading the file they opened, so then they are opened anew. Raises Unreadable while there is
        no file, and what `open` raises for the new one.
        """
        async with self._looking:
            if self._is_blind:
                await self._open_anew()
                if self._is_blind:
                    return self._changes
            if self._file is None or file_identity(self.path) != self._file:
                # Forgotten until the new file is open: the same one may come back, and it too counts as a change.
                self._file = self._seen_version = None
                await self._open_anew()
            ((version,),) = await self._fetch("PRAGMA data_version")
            if version != self._seen_version:
                self._seen_version = version
                self._changes += 1
            return self._changes

    @property
    def _is_blind(self) -> bool:
        """Whether the file is read as it was when opened, since the disk had no room for SQLite's -shm file."""
        return self._connection is not None and self._connection.is_full

    async def open_anew(self) -> None:
        """Look at the file again, and let go of every earlier connection."""
        async with self._looking:
            await self._open_anew()

    async def _open_anew(self) -> None:
        await self.open()
        async with self._search_opening:
            await self._close_search()

    def interrupt(self) -> None:
        """Stop the search that runs now, and listings and counts that look for a text."""
        if self._search is not None:
            self._search.interrupt()
        for reading in self._finds:
            reading.stop()

    async def health(self) -> Health:
        """The facts of the file and the tables, and what follows from them."""
        schema, path, notices = self.schema, self.path, self.notices
        return await self._in_thread(lambda connection: health(connection, schema, path, notices))

    async def outdated(self, retention: Retention) -> Sequence[Outdated]:
        """Those of brain.db, counted as ZeroClaw's hygiene does; a column that is lacking counts as after migration."""
        schema = self.schema
        return await self._in_thread(lambda connection: outdated_rows(connection, schema, retention))

    async def examine(self) -> StoreFacts:
        """The facts of `health` and of every row, and who else has the database open."""
        schema, health = self.schema, await self.health()
        facts = await self._in_thread(lambda connection: store_facts(connection, schema, health))
        return replace(facts, holders=await asyncio.to_thread(holders, self.path))

    async def check_pages(self) -> Pages:
        """SQLite's and FTS5's own checks, on a copy made with the backup API; cancelling the await stops them."""
        stoppable = Stoppable()
        return await stoppable.run(partial(check_pages, self.path, self.schema, stoppable))

    async def compact(self) -> Compacted:
        """The keyword index built anew, VACUUM, and the log folded in."""
        stoppable = Stoppable()
        return await stoppable.run(partial(compact_database, self.path, stoppable))

    async def _entries(self, found: browse.Where, order: str = "", excerpt: int | None = None) -> Entries:
        schema = self.schema
        statement = _select(schema, found, order, excerpt)
        return [entry_from(row, schema) for row in await self._fetch(statement, found.values)]

    async def _fetch(self, statement: str, values: Sequence[Any] = ()) -> Sequence[Any]:
        if self._connection is None:
            raise RuntimeError("open() comes first")
        with translated(self.path):
            return list(await self._connection.execute_fetchall(statement, values))

    async def _in_thread(self, work: Callable[[Connection], Answer], *, is_find: bool = False) -> Answer:
        reading = Reading(self.path)
        self._readings.add(reading)
        if is_find:
            self._finds.add(reading)
        try:
            return await reading.run(work)
        finally:
            self._readings.discard(reading)
            self._finds.discard(reading)


def _leave_whole(path: Path) -> None:
    """Where another program has it open, that one folds in the log when it ends."""
    if file_size(wal_file(path)) and not holders(path):
        fold_in(path)


def _nothing() -> None:
    """Folding in a log cannot be asked to stop."""


def _select(schema: Schema, found: browse.Where, order: str, excerpt: int | None = None) -> str:
    columns = entry_columns(schema, excerpt=excerpt)
    return f"SELECT {columns} FROM memories AS m {agent_join(schema)} {found.sql} {order}"
