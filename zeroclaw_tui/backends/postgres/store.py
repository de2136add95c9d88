"""ZeroClaw's PostgreSQL store, and the table of the tutorial for custom backends."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from zeroclaw_tui.backends.about import About
from zeroclaw_tui.backends.base import Memory, T, check_writable
from zeroclaw_tui.backends.health import Health, StartCheck
from zeroclaw_tui.backends.matching import TextSearch, has_patterns
from zeroclaw_tui.backends.postgres import search
from zeroclaw_tui.backends.postgres.address import (
    DEFAULT_SCHEMA,
    DEFAULT_TABLE,
    OPTIONS_OF_ZEROCLAW,
    SHAPE,
    PostgresAddress,
    read_url,
)
from zeroclaw_tui.backends.postgres.connect import (
    DEFAULT_SECONDS,
    LONG_SECONDS,
    PASS_SECONDS,
    STATEMENT_SECONDS,
    Connections,
    in_batches,
    no_answer,
)
from zeroclaw_tui.backends.postgres.schema import (
    check_form,
    checked_name,
    health_of,
    inspect_table,
    make_table,
    read_table,
)
from zeroclaw_tui.backends.postgres.select import PostgresSelect
from zeroclaw_tui.backends.postgres.table import Table, state_of, vector_from
from zeroclaw_tui.backends.postgres.write import PostgresWriter
from zeroclaw_tui.backends.sql.select import Select
from zeroclaw_tui.backends.sql.store import SqlMemory
from zeroclaw_tui.backends.upkeep import Upkeep
from zeroclaw_tui.config.memory_config import MemoryConfig, shown
from zeroclaw_tui.memory.change import Row, RowVersion, RowVisitor
from zeroclaw_tui.memory.entry import Handle, MemoryEntry
from zeroclaw_tui.memory.errors import ASKED_READ_ONLY, NothingYet, Refused, UsageError
from zeroclaw_tui.memory.query import EVERYTHING, MemoryFilter
from zeroclaw_tui.scoring.evidence import OwnEvidence, depth_of, own_evidence
from zeroclaw_tui.scoring.neighbours import Near
from zeroclaw_tui.scoring.profiles import OwnRule, ScoringProfile, Trial

if TYPE_CHECKING:
    import numpy as np

    from zeroclaw_tui.backends.writing import Work


_ROWS_AT_ONCE = 500
_WHOLE_ROWS_AT_ONCE = 100
_SMALL = 8 * 1024 * 1024
"""The maximum size in bytes, without TOAST, of a table whose version is computed from all its rows."""
_SMALL_VERSION = "SELECT count(*)::text, coalesce(sum(xmin::text::bigint), 0)::text FROM {table}"
_BIG_VERSION = """
SELECT max({updated})::text, (SELECT (n_tup_ins + n_tup_upd + n_tup_del)::text FROM pg_stat_all_tables
                              WHERE relid = '{table}'::regclass) FROM {table}
"""


class _RolledBack(Exception):
    """Raised to roll back a transaction on purpose."""


class PostgresMemory(SqlMemory):
    """A table of memories on a PostgreSQL server.

    Reading never blocks a writer. `connections` connects on use, and connects again after the server was
    unreachable.
    """

    name = "postgres"
    about = About(
        keeps_deleted="PostgreSQL may keep deleted rows in the table until its owner runs VACUUM FULL, and in its "
        "write-ahead log, server log, replicas and backups, which this program cannot read.",
        slow_recall_above=50_000,
    )

    def __init__(
        self,
        address: PostgresAddress,
        *,
        schema: str = DEFAULT_SCHEMA,
        table: str = DEFAULT_TABLE,
        connect_seconds: float | None = None,
        read_only: bool = False,
    ) -> None:
        """Use the table named in the URL, or else `schema` and `table`."""
        self.schema_name = checked_name("schema", address.options.get("schema") or schema)
        self.table_name = checked_name("table", address.options.get("table") or table)
        self.address = address
        self.about = self.about._replace(location=address.location(self.schema_name, self.table_name))
        self._asked_read_only = {"write": ASKED_READ_ONLY} if read_only else {}
        self.why_not = {**Memory.why_not, **self._asked_read_only}
        self._table: Table | None = None
        self._seen: tuple[Table, Any] | None = None
        self._changes = 0
        self.connect_seconds = connect_seconds or DEFAULT_SECONDS
        self.connections = Connections(address, connect_seconds=self.connect_seconds)

    @classmethod
    def from_config(cls, config: MemoryConfig) -> PostgresMemory:
        settings = config.storage
        url = config.location or settings.get("db_url")
        if not isinstance(url, str) or not url.strip():
            raise UsageError(
                "The config names no database URL that can be read.", hint=f"Give one with --location. {SHAPE}"
            )
        seconds = settings.get("connect_timeout_secs")
        return cls(
            read_url(url.strip()),
            schema=str(settings.get("schema") or DEFAULT_SCHEMA),
            table=str(settings.get("table") or DEFAULT_TABLE),
            connect_seconds=float(seconds) if isinstance(seconds, int) and seconds > 0 else None,
            read_only=config.read_only,
        )

    @property
    def table(self) -> Table:
        """The description of the table; only after `open`."""
        if self._table is None:
            raise RuntimeError("open() comes first")
        return self._table

    async def open(self) -> None:
        """Connect and inspect the table; after NothingYet the connections stay open for `make`."""
        await self.connections.open()
        try:
            await self.reopen()
        except NothingYet:
            raise
        except BaseException:
            await self.connections.disconnect()
            raise

    async def reopen(self) -> None:
        """Inspect the table again, and update `why_not` and `about`."""
        async with self.connections.reading() as connection:
            self._use_table(await read_table(connection, self.schema_name, self.table_name))

    def _use_table(self, table: Table) -> None:
        self._table = table
        self.why_not = {**self._asked_read_only, **table.why_not}
        if not table.is_tutorial:
            rule = OwnRule(
                "keyword only",
                takes_vector=False,
                needed_text=search.needed_text,
                threshold_meaning=search.threshold_meaning,
            )
        elif table.keeps_vectors:
            rule = OwnRule("cosine only", finds_words=False)
        else:
            rule = OwnRule("no recall without pgvector", takes_vector=False, finds_words=False)
        self.about = self.about._replace(rule=rule._replace(crosses_sessions=False))

    async def close(self) -> None:
        await self.connections.disconnect()

    @property
    def upkeep(self) -> Upkeep:
        return Upkeep(maker=self)

    async def make(self, profile: ScoringProfile, *, dry_run: bool = False) -> None:
        """Connect, create the table as the ZeroClaw version of the profile does, and open it; roll back a `dry_run`.

        Raises Refused with the missing rights.
        """
        if dry_run and "write" in self.why_not:
            return
        check_writable(self)
        await self.connections.open()
        with suppress(_RolledBack):
            async with self.connections.writing() as connection:
                await make_table(connection, self.schema_name, self.table_name, profile)
                if dry_run:
                    self._use_table(await read_table(connection, self.schema_name, self.table_name))
                    raise _RolledBack
            await self.reopen()

    async def health(self) -> Health:
        async with self.connections.reading(seconds=LONG_SECONDS) as connection:
            return await health_of(connection, self.table, self.about.location)

    async def select(self, filter: MemoryFilter) -> PostgresSelect:
        """Select the rows that match a filter; patterns are matched in Python, as PostgreSQL's syntax differs.

        In PostgreSQL `\\b` is a backspace, and `\\p{L}` and named groups are errors.
        """
        select = PostgresSelect(self.table, filter)
        return select.named("id", await self._ids_matching(filter, select)) if has_patterns(filter) else select

    async def _ids_matching(self, filter: MemoryFilter, select: PostgresSelect) -> Sequence[str]:
        """Find the ids of the selected rows whose key or content match the patterns."""
        search = await asyncio.to_thread(TextSearch, filter)
        statement = select.statement("m.id::text, m.key::text, m.content")
        ids: list[str] = []

        def matching(records: Sequence[Any]) -> list[str]:
            return [row_id for row_id, key, content in records if search.finds(key or "", content or "")]

        try:
            async with self.connections.reading(seconds=PASS_SECONDS) as connection:
                async for records in in_batches(connection, statement, select.values, _ROWS_AT_ONCE):
                    ids += await asyncio.to_thread(matching, records)
        finally:
            search.stop()
        return ids

    async def fetch_records(
        self, select: Select, statement: str, make: Callable[[Any], T], *, takes_long: bool = False
    ) -> Sequence[T]:
        seconds = LONG_SECONDS if takes_long else STATEMENT_SECONDS
        records = await self.connections.fetch(statement, select.values, seconds=seconds)
        return await asyncio.to_thread(lambda: list(map(make, records)))

    async def stored_rows(self, handles: Sequence[Handle]) -> Sequence[Row]:
        table = self.table
        select = PostgresSelect(table).named("handle", handles)
        rows = await self.fetch_records(select, select.statement(table.stored_columns), table.stored_row)
        found = {row.id: row for row in rows}
        return [found[str(handle)] for handle in handles if handle in found]

    async def agent_aliases(self) -> Mapping[str, str]:
        return self.table.agents

    def version_of(self, row: Row) -> RowVersion:
        return row.entry().version(state_of(row))

    async def near(self, to: MemoryEntry | np.ndarray | str, limit: int) -> Near | None:
        """Compare by pgvector's cosine, or by words."""
        if isinstance(to, str):
            return await super().near(to, limit)
        if not self.table.keeps_vectors:
            return None
        if isinstance(to, MemoryEntry):
            select = PostgresSelect(self.table).named("handle", [to.handle])
            statement = select.statement(self.table.vector_column)
            (data,) = await self.fetch_records(select, statement, lambda record: vector_from(record[0])) or [None]
            if not isinstance(data, bytes):
                return None
            import numpy as np

            to = np.frombuffer(data, dtype="<f4")
        return await search.near_by_vector(self.connections, self.table, to, limit)

    async def search(self, trial: Trial, vector: np.ndarray | None = None, *, deep: bool = False) -> OwnEvidence:
        depth = depth_of(trial.request, deep=deep)
        wanted = replace(trial.request, limit=depth)
        found = await search.recall(self.connections, self.table, wanted, trial.profile, vector)
        return own_evidence(trial, found, depth)

    async def scan(self, visit: RowVisitor, filter: MemoryFilter | None = None) -> None:
        """Call `visit` with every row and all its columns, on a thread, from one snapshot."""
        table = self.table
        select = await self.select(EVERYTHING if filter is None else filter)
        statement = select.statement(table.stored_columns, f"ORDER BY m.{table.updated}, m.id")

        def visit_all(records: Sequence[Any]) -> None:
            for record in records:
                visit(table.stored_row(record))

        async with self.connections.reading(seconds=PASS_SECONDS) as connection:
            async for records in in_batches(connection, statement, select.values, _WHOLE_ROWS_AT_ONCE):
                await asyncio.to_thread(visit_all, records)

    async def version(self) -> int | None:
        """Changes when any program writes to the table, or adds a column or an agent.

        For a small table it uses the sum of the transaction ids of all rows, which is exact and immediate. For a bigger
        one it uses PostgreSQL's own counters, which are updated one to ten seconds after a commit, and the newest
        `updated_at`, which changes immediately with a store.
        """
        async with self.connections.reading() as connection:
            table = await read_table(connection, self.schema_name, self.table_name)
            size = await connection.fetchval("SELECT pg_table_size($1::text::regclass)", table.quoted)
            statement = _SMALL_VERSION if size <= _SMALL else _BIG_VERSION
            written = await connection.fetchrow(statement.format(table=table.quoted, updated=table.updated))
        if table != self._table:
            self._use_table(table)
        if (table, written) != self._seen:
            self._seen = (table, written)
            self._changes += 1
        return self._changes

    async def _with_writer(self, work: Work[T], *, permanently: bool = False) -> T:
        check_writable(self)
        writer = PostgresWriter(self.connections, self.table)
        done = await work(writer)
        if writer.table != self.table:
            await self.reopen()
        return done


async def probe(config: MemoryConfig, seconds: float) -> StartCheck:
    """Connect without TLS, as ZeroClaw does at its start, and inspect table and rights, without writing or locking.

    Raises Unreadable for another program's table.
    """
    store = PostgresMemory.from_config(config)
    _check_url(store.address)
    address = replace(store.address, options={**store.address.options, "sslmode": "disable"})
    connections = Connections(address, connect_seconds=store.connect_seconds)
    began = time.perf_counter()
    try:
        async with asyncio.timeout(seconds):
            await connections.open()
            summary = f"connects in {(time.perf_counter() - began) * 1000:.0f} ms"
            async with connections.reading() as connection:
                found = await inspect_table(connection, store.schema_name, store.table_name)
        if found.kind is not None:
            check_form(found)
    except TimeoutError:
        raise no_answer(address, seconds) from None
    finally:
        await connections.disconnect()
    vector = "no pgvector" if found.schema_of_vector is None else "pgvector is there"
    facts = [f"{vector}: ZeroClaw recalls from PostgreSQL by keywords only"]
    problem = _problem(found, address)
    if problem is None:
        right = "may create" if found.kind is None else "may read and write"
        facts.insert(0, f"{right} the table {found.shown_name}")
    return StartCheck(summary, tuple(facts), problem)


def _check_url(address: PostgresAddress) -> None:
    """Raise UsageError for a URL option that ZeroClaw's driver cannot connect with."""
    for name, value in address.options.items():
        asks_for_tls = name in ("sslmode", "channel_binding") and address.tls not in ("disable", "prefer")
        if name not in OPTIONS_OF_ZEROCLAW or asks_for_tls:
            raise UsageError(
                f"ZeroClaw cannot connect with {shown(name)}={shown(value)} in the database URL: it always connects "
                "without TLS, and does not support certificates or table names there.",
                hint="Remove it from the URL. If the server insists on TLS, reach it through a tunnel.",
            )


def _problem(found: Table, address: PostgresAddress) -> Refused | None:
    """The reason why ZeroClaw cannot create or use its table, if there is one.

    It sends CREATE SCHEMA, CREATE TABLE and CREATE INDEX, each IF NOT EXISTS, at every start. PostgreSQL checks the
    rights before it checks existence, and lets only a table's owner create an index.
    """
    if found.is_read_only:
        return Refused(
            f"The database server {address.place} is read-only: it is a replica or configured as read-only.",
            hint="Use the address of the primary server.",
        )
    if found.may_make and (found.kind is None or found.owns_table):
        return None
    return Refused(
        f"The user {shown(found.user)} lacks rights that ZeroClaw needs at every start: to create the schema "
        f"{found.schema}, and to own the table {found.shown_name}.",
        hint=found.grant,
    )
