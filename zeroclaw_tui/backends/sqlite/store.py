"""ZeroClaw's own store."""

from __future__ import annotations

import asyncio
from array import array
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from sqlite3 import Connection
from typing import TYPE_CHECKING, Any

import aiosqlite

from zeroclaw_tui.backends.about import About, Notice
from zeroclaw_tui.backends.base import Entries, T, check_writable
from zeroclaw_tui.backends.cancellation import ReadWorkerPool, run_cancellable, wait_until_done
from zeroclaw_tui.backends.sql.select import Select, first_value
from zeroclaw_tui.backends.sql.store import SqlMemory
from zeroclaw_tui.backends.sqlite.schema import Schema, missing_capabilities, read_schema
from zeroclaw_tui.backends.sqlite.select import SqliteSelect, find_functions, state_of
from zeroclaw_tui.config.locations import has_markdown
from zeroclaw_tui.files.database import (
    FileIdentity,
    ReadOnlyConnection,
    UnfinishedWrite,
    connect_read_only_blocking,
    file_identity,
    roll_back_hot_journal,
    translate_sqlite_errors,
    why_not_writable,
)
from zeroclaw_tui.files.disk import exists
from zeroclaw_tui.memory.entry import Handle, MemoryEntry, as_text
from zeroclaw_tui.memory.errors import ASKED_READ_ONLY, Corrupt, Refused, SearchInterrupted, Unreadable
from zeroclaw_tui.memory.query import EVERYTHING, VERSIONS, MemoryFilter, Query
from zeroclaw_tui.scoring.profiles import ScoringProfile, generation_made_by

# Modules that a list does not need are imported by the methods that need them, to keep the start of commands fast.
if TYPE_CHECKING:
    import numpy as np

    from zeroclaw_tui.backends.health import ExpiredRow, Health, Pages, Repair, Retention
    from zeroclaw_tui.backends.sqlite.search import SqliteSearch
    from zeroclaw_tui.backends.sqlite.write import SqliteWriter
    from zeroclaw_tui.backends.upkeep import Upkeep
    from zeroclaw_tui.backends.writing import Work
    from zeroclaw_tui.config.memory_config import MemoryConfig
    from zeroclaw_tui.memory.change import Row, RowVersion, RowVisitor
    from zeroclaw_tui.scoring.evidence import Evidence
    from zeroclaw_tui.scoring.neighbours import Near
    from zeroclaw_tui.scoring.profiles import Trial

_FOLDER_READ_ONLY = "The directory of the database is read-only."
_ROLLED_BACK = "A program ended in the middle of a write to this database. The unfinished write was rolled back."


class SqliteMemory(SqlMemory):
    """A brain.db of any ZeroClaw version. Only methods that write change its bytes.

    Lists use one open connection; searches, scans and changes each use their own connection on a thread, so that they
    do not wait for each other.
    """

    name = "sqlite"
    about = About(rule=None, keeps_deleted=None)

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self.path = path
        self.about = self.about._replace(location=str(path), path=path)
        self._asked_read_only = read_only
        self._connection: aiosqlite.Connection | None = None
        self._file: FileIdentity | None = None
        self._seen_version: int | None = None
        self._changes = 0
        self._schema: Schema | None = None
        self._search: SqliteSearch | None = None
        self._reopening = asyncio.Lock()
        self._reads = ReadWorkerPool(path)
        self._writers: set[SqliteWriter] = set()
        self._has_written = False

    @classmethod
    def from_config(cls, config: MemoryConfig) -> SqliteMemory:
        """Use the brain.db of an install. Raises Unreadable if there are Markdown notes, but no brain.db or config."""
        memory, install = SqliteMemory(config.database, read_only=config.read_only), config.install
        if config.location or exists(config.database) or not has_markdown(install.root):
            return memory
        hint = f"{install.root} has Markdown notes: --backend markdown opens them."
        if install.config_file is None or not exists(install.config_file):
            raise Unreadable(f"There is no database {config.database}.", hint=hint)
        memory.about = memory.about._replace(notices=(Notice(hint),))
        return memory

    @property
    def schema(self) -> Schema:
        """The schema of the database; only after `open`."""
        if self._schema is None:
            raise RuntimeError("open() comes first")
        return self._schema

    @property
    def upkeep(self) -> Upkeep:
        from zeroclaw_tui.backends.upkeep import Upkeep

        return Upkeep(database=self, maker=self)

    def _refuse_read_only(self) -> None:
        """Raise Refused if the store was opened with --read-only."""
        if self._asked_read_only:
            raise Refused(ASKED_READ_ONLY, hint="Leave --read-only out.")

    async def open(self) -> None:
        """Connect, and read the schema; earlier connections are closed.

        Raises NothingYet if ZeroClaw would create the file, Unreadable, Corrupt or Locked.
        """
        # Read before connecting, so that a file that replaces this one in between is opened again.
        file = file_identity(self.path)
        # If aiosqlite's own connector failed, its thread could report to an event loop that is already closed.
        opened, rollback_notice = await asyncio.to_thread(self._connect)
        connection, notice = await aiosqlite.Connection(lambda: opened, iter_chunk_size=500), opened.notice
        try:
            schema = await read_schema(connection, self.path)
        except BaseException:
            await connection.close()
            raise
        earlier, self._connection = self._connection, connection
        self._schema = schema
        self._file = file
        self.about = self.about._replace(
            generation=schema.generation,
            newest_version=schema.newest_version,
            not_opened_because=schema.read_only_because if schema.hydrate_made else None,
            notices=tuple(map(Notice, filter(None, (rollback_notice, notice, schema.read_only_because)))),
        )
        because = (
            schema.read_only_because
            or (_FOLDER_READ_ONLY if notice else None)
            or why_not_writable(self.path)
            or (ASKED_READ_ONLY if self._asked_read_only else None)
        )
        self.why_not = missing_capabilities(schema) | ({"write": because} if because else {})
        if earlier is not None:
            await earlier.close()
            self._search = None

    async def make(self, profile: ScoringProfile, *, dry_run: bool = False) -> None:
        """Create the database with the tables of the profile's version, if it is missing or empty. Raises Refused."""
        from zeroclaw_tui.backends.sqlite.repair import make_database

        self._refuse_read_only()
        if not dry_run:
            await asyncio.to_thread(make_database, self.path, generation_made_by(profile.version))

    async def close(self) -> None:
        """Stop running work and close every connection.

        The log is checkpointed into the database after writes: copying or moving the file alone, as ZeroClaw 0.8 does,
        would lose the log (SQLite does not checkpoint it for a last connection that only reads).
        """
        for writer in self._writers:
            writer.stop()
        await self._reads.close()
        # Wait for `version` and `reopen`, whose new connection must not outlive the store.
        async with self._reopening:
            connection, self._connection = self._connection, None
            self._reads, self._search = ReadWorkerPool(self.path), None
        if connection is not None:
            await connection.close()
        if self._has_written:
            from zeroclaw_tui.backends.sqlite.table import fold_in

            self._has_written = False
            folding = asyncio.get_running_loop().run_in_executor(None, fold_in, self.path)
            await wait_until_done(folding, lambda: None)

    @asynccontextmanager
    async def disconnected(self) -> AsyncIterator[None]:
        """Close all connections within the block, for exclusive access, and reopen the file afterwards."""
        async with self._reopening:
            await self._reads.stop()
            connection, self._connection = self._connection, None
            # If it cannot be reopened now, the next call of `version` tries again.
            self._file = None
            if connection is not None:
                await connection.close()
            try:
                yield
            finally:
                await self.open()

    async def list(self, category: str | None = None, session_id: str | None = None) -> Entries:
        """List as ZeroClaw does: at most 1000 rows, limited before the filter for the session."""
        select = await self.select(MemoryFilter(category=None if category is None else (category,)))
        columns, make = select.reading("entry")
        statement = select.statement(columns, f"ORDER BY {select.listed_order} LIMIT 1000")
        listed = await self.fetch_records(select, statement, make)
        return [entry for entry in listed if session_id is None or entry.session_id == session_id]

    async def select(self, filter: MemoryFilter) -> SqliteSelect:
        return SqliteSelect(self.schema, filter)

    async def fetch_records(
        self, select: Select, statement: str, make: Callable[[Any], T], *, takes_long: bool = False
    ) -> Sequence[T]:
        if not takes_long:
            return [make(record) for record in await self._fetch(statement, select.values)]

        def read(connection: Connection) -> Any:
            made = map(make, connection.execute(statement, select.values))
            # The handles of a million rows stay in memory while the list is shown: eight bytes for each.
            return array("q", made) if make is first_value else list(made)

        found: Sequence[T] = await self._find(read, select.filter)
        return found

    async def stored_rows(self, handles: Sequence[Handle]) -> Sequence[Row]:
        from zeroclaw_tui.backends.sqlite.table import RawTable

        rowids = [handle for handle in handles if isinstance(handle, int)]
        found = await self._reads.run(lambda connection: RawTable(connection).with_rowids(rowids))
        return [found[rowid] for rowid in rowids if rowid in found]

    async def agent_aliases(self) -> Mapping[str, str]:
        if not self.schema.has_agents:
            return {}
        return {as_text(owner): as_text(alias) for owner, alias in await self._fetch("SELECT id, alias FROM agents")}

    def version_of(self, row: Row) -> RowVersion:
        return row.entry().version(state_of(row))

    async def version(self) -> int | None:
        """Changes when another connection writes (SQLite's PRAGMA data_version) or the file is replaced.

        Connections would keep reading the old file, so then they are reopened. Raises Unreadable while there is no
        file, and the errors of `open` for the new one.
        """
        async with self._reopening:
            if self._file is None or file_identity(self.path) != self._file:
                # Unset until the new file is open, so that the return of the same file also counts as a change.
                self._file = self._seen_version = None
                await self.open()
            ((version,),) = await self._fetch("PRAGMA data_version")
            if version != self._seen_version:
                self._seen_version = version
                self._changes += 1
            return self._changes

    async def reopen(self) -> None:
        """Read the file again, and close every earlier connection."""
        async with self._reopening:
            await self.open()

    async def health(self) -> Health:
        from zeroclaw_tui.backends.sqlite.health import health

        schema, path = self.schema, self.path
        return await self._reads.run(lambda connection: health(connection, schema, path))

    async def search(self, trial: Trial, vector: np.ndarray | None = None, *, deep: bool = False) -> Evidence:
        """Gather the hits of the keyword, vector and LIKE stages: all, or limited like ZeroClaw's statements."""
        search, version = await self._current_search()
        if deep:
            from zeroclaw_tui.backends.sqlite.deep_search import gather_all

            return await gather_all(search, trial, vector, version)
        return await search.gather(trial, vector, version)

    async def near(self, to: MemoryEntry | np.ndarray | str, limit: int) -> Near | None:
        if isinstance(to, str):
            return await super().near(to, limit)
        search, version = await self._current_search()
        return await search.near(to.handle if isinstance(to, MemoryEntry) else to, limit, version)

    async def forget(self, key: str) -> bool:
        """Delete the memory with this key. Raises Refused with the agents' names if several have one."""
        agents = [version.agent for version in await self.rows(Query(VERSIONS, keys=[key]))]
        if len(agents) > 1:
            names = ", ".join(sorted(map(str, agents)))
            raise Refused(f"Several agents have the key {key!r}: {names}.", hint="Name the agent, or the id.")
        return await super().forget(key)

    async def scan(self, visit: RowVisitor, filter: MemoryFilter | None = None) -> None:
        """Call `visit` with every row and all its columns on a thread, from one snapshot; `embedding` is the vector."""
        from zeroclaw_tui.backends.sqlite.table import RawTable

        select = await self.select(filter or EVERYTHING)

        def visit_all(connection: Connection) -> None:
            connection.execute("BEGIN")
            chosen = f"rowid IN ({select.statement('m.rowid')})" if select.conditions else "1"
            for row in RawTable(connection).where(f"{chosen} ORDER BY rowid", select.values):
                visit(row)
                # Release it before the next one is read, because both can be many megabytes.
                del row

        await self._find(visit_all, select.filter)

    def _connect(self) -> tuple[ReadOnlyConnection, str]:
        """Open a connection; also return a sentence about a rollback."""
        try:
            return connect_read_only_blocking(self.path), ""
        except UnfinishedWrite:
            if self._asked_read_only or why_not_writable(self.path):
                raise
        roll_back_hot_journal(self.path)
        return connect_read_only_blocking(self.path), _ROLLED_BACK

    async def _fetch(self, statement: str, values: Sequence[Any] = ()) -> Sequence[Any]:
        """Fetch the rows of a reading statement."""
        if self._connection is None:
            raise SearchInterrupted
        with translate_sqlite_errors(self.path):
            return list(await self._connection.execute_fetchall(statement, values))

    async def _current_search(self) -> tuple[SqliteSearch, int]:
        """The search of this store, created on first use, and the version of the database."""
        from zeroclaw_tui.backends.sqlite.search import SqliteSearch

        version = await self.version() or 0
        if self._connection is None:
            raise SearchInterrupted
        self._search = self._search or SqliteSearch(self._reads, self.schema)
        return self._search, version

    async def _find(self, work: Callable[[Connection], T], filter: MemoryFilter) -> T:
        """Read with the SQL functions for the texts of a filter."""

        def look(connection: Connection) -> T:
            with find_functions(connection, filter):
                return work(connection)

        return await self._reads.run(look)

    async def _with_writer(self, work: Work[T], *, permanently: bool = False) -> T:
        from zeroclaw_tui.backends.change_set import run_sync

        return await self.write(lambda writer: run_sync(work(writer)), zero=permanently)

    async def write(self, work: Callable[[SqliteWriter], T], *, zero: bool = False) -> T:
        """Run `work`, which writes, on a thread, and return its result."""
        from zeroclaw_tui.backends.sqlite.write import SchemaChanged, SqliteWriter

        check_writable(self)
        writer = SqliteWriter(self.path, self.schema, zero=zero)
        self._writers.add(writer)
        self._has_written = True
        try:
            return await writer.run(work)
        except SchemaChanged:
            # ZeroClaw has migrated the file: nothing was written. Reopen it, which also checks again if it is writable.
            await self.reopen()
        finally:
            self._writers.discard(writer)
        return await self.write(work, zero=zero)

    async def check_pages(self) -> Pages:
        """Run SQLite's and FTS5's own checks on a copy made with the backup API; cancelling the await stops them.

        Raises Unreadable without room for the copy.
        """
        from zeroclaw_tui.backends.sqlite.repair import check_pages

        return await run_cancellable(check_pages, self.path, self.schema)

    async def compact(self) -> int:
        """Vacuum the file, and rebuild its keyword index; for a closed store.

        Returns the number of memories. Raises Locked if any process has it open, Unreadable without room.
        """
        from zeroclaw_tui.backends.sqlite.repair import rewrite_database

        return await run_cancellable(rewrite_database, self.path)

    async def expired(self, retention: Retention) -> Sequence[ExpiredRow]:
        """List the rows that ZeroClaw's hygiene would delete, in order; missing columns have migration's defaults."""
        from zeroclaw_tui.backends.sqlite.hygiene import expired_rows

        schema = self.schema
        return await self._reads.run(lambda connection: expired_rows(connection, schema, retention))

    def create_from_rows(self, generation: str, rows: Sequence[Row], now: str) -> None:
        """Create the file with these rows, in this order, atomically. Blocks.

        `generation` selects the tables ("G1" to "G4"). Rows have their table and every value; `now` is the time for
        the tables. An empty file is replaced. Raises Refused if there is another file, and the errors of writing.
        """
        from zeroclaw_tui.backends.sqlite.repair import make_database

        self._refuse_read_only()
        make_database(self.path, generation, rows, now)

    async def repair(self, what: Repair = "rebuild keyword index") -> None:
        """Repair one thing with ZeroClaw's own statements, in one transaction, and reopen the file.

        Also works if the store is read-only because of the problem. Raises Locked, Refused.
        """
        from zeroclaw_tui.backends.sqlite.repair import fold_log, rebuild_index, repair_hydrated, rewrite_database
        from zeroclaw_tui.backends.sqlite.write import SqliteWriter

        match what:
            case "rebuild keyword index":
                try:
                    await self.write(rebuild_index)
                except Corrupt:
                    async with self.disconnected():
                        await run_cancellable(rewrite_database, self.path)
            case "repair hydrated database":
                # Not `write`, because the store may be read-only because of the problem.
                await SqliteWriter(self.path, self.schema).run(repair_hydrated)
            case "fold in write-ahead log":
                await asyncio.to_thread(fold_log, self.path)
        await self.reopen()

    async def check_model(self, provider: str, model: str, dimensions: int) -> None:
        """Raise Refused if the store's vectors come from another model (memory_meta, ZeroClaw >= 0.8.3)."""
        from zeroclaw_tui.backends.sqlite.write import other_model

        schema = self.schema
        problem = await self._reads.run(lambda one: other_model(one, schema, provider, model, dimensions))
        if problem is not None:
            raise problem

    async def cached_vector(self, text: str) -> np.ndarray | None:
        """Look up the vector of exactly this text in ZeroClaw's embedding cache."""
        if "embedding_cache" not in self.schema.tables:
            return None
        import hashlib

        statement = "SELECT embedding FROM embedding_cache WHERE content_hash = ?"
        # ZeroClaw's key is the first eight bytes of the SHA-256 in hexadecimal.
        found = await self._fetch(statement, [hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]])
        if not found or not isinstance(found[0][0], bytes) or not found[0][0]:
            return None
        from zeroclaw_tui.backends.sqlite.search import vector_from_blob

        return vector_from_blob(found[0][0])
