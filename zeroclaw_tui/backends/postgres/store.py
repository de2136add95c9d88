"""ZeroClaw's PostgreSQL store, and the table of the user's own tutorial."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from zeroclaw_tui.backends.about import About, Notice, OwnRule, sentences
from zeroclaw_tui.backends.base import Entries, Memory, Scored, T, check_writable
from zeroclaw_tui.backends.health import Health
from zeroclaw_tui.backends.matching import TextSearch
from zeroclaw_tui.backends.postgres import connect, search, sql
from zeroclaw_tui.backends.postgres.address import (
    SHAPE,
    TABLE_OPTIONS,
    USUAL_SCHEMA,
    USUAL_TABLE,
    PostgresAddress,
    read_url,
)
from zeroclaw_tui.backends.postgres.schema import (
    Table,
    checked_name,
    health_of,
    make_table,
    missing_in,
    read_agents,
    read_table,
)
from zeroclaw_tui.backends.postgres.select import PostgresSelect
from zeroclaw_tui.backends.postgres.watch import version_of
from zeroclaw_tui.backends.postgres.write import PostgresWriter
from zeroclaw_tui.backends.sql.select import Select
from zeroclaw_tui.backends.sql.store import SqlMemory
from zeroclaw_tui.backends.upkeep import Upkeep
from zeroclaw_tui.memory.change import Row, See
from zeroclaw_tui.memory.entry import Handle, MemoryEntry
from zeroclaw_tui.memory.errors import ASKED_READ_ONLY, NothingYet, UsageError
from zeroclaw_tui.memory.query import EVERYTHING, MemoryFilter
from zeroclaw_tui.memory.recall import RecallRequest
from zeroclaw_tui.scoring.decide import own_ranking
from zeroclaw_tui.scoring.evidence import OwnEvidence, depth_of, own_evidence
from zeroclaw_tui.scoring.neighbours import Near, is_cut_in_twos, words_of
from zeroclaw_tui.scoring.profiles import NEWEST, ScoringProfile, ScoringSettings, Trial, profile_for

if TYPE_CHECKING:
    import numpy as np

    from zeroclaw_tui.backends.writing import Work
    from zeroclaw_tui.config.memory_config import MemoryConfig


_ROWS_AT_ONCE = 500
_RECORDS_AT_ONCE = 2000
_WHOLE_ROWS_AT_ONCE = 100
_USUAL_DIMENSIONS = 1536


class _RolledBack(Exception):
    """Ends a transaction of which nothing is to stay."""


class PostgresMemory(SqlMemory):
    """A table of memories on a PostgreSQL server.

    Reading never blocks a writer. `connections` makes connections at use, and new ones once a server that went away is
    back.
    """

    name = "postgres"
    about = About(
        keeps_deleted="PostgreSQL may keep deleted rows in the table until its owner runs VACUUM FULL, and in its "
        "write-ahead log, server log, replicas and backups, which this program cannot read.",
        slow_recall_above=50_000,
    )
    vector_dimensions: int | None = None
    """For how many numbers ZeroClaw's option `vector_enabled` makes a column; None without that option."""

    def __init__(
        self,
        address: PostgresAddress,
        *,
        schema: str = USUAL_SCHEMA,
        table: str = USUAL_TABLE,
        connect_seconds: float | None = None,
        read_only: bool = False,
    ) -> None:
        """The table that the URL names; where it names none, that of `schema` and `table`."""
        self.schema_name = checked_name("schema", address.options.get("schema") or schema)
        self.table_name = checked_name("table", address.options.get("table") or table)
        self.address = address
        self.about = replace(self.about, location=address.location(self.schema_name, self.table_name))
        self._url_is_configs = True
        self._asked_read_only = {"write": ASKED_READ_ONLY} if read_only else {}
        self.why_not = {**Memory.why_not, **self._asked_read_only}
        self._table: Table | None = None
        self._seen: tuple[tuple[Any, ...], Mapping[str, str]] | None = None
        self._changes = 0
        self.connect_seconds = connect_seconds or address.connect_seconds or connect.USUAL_SECONDS
        self.connections = connect.Connections(address, connect_seconds=self.connect_seconds)

    @classmethod
    def from_config(cls, config: MemoryConfig) -> PostgresMemory:
        """The table a config names. Raises UsageError without a URL, and for a URL or a name that cannot be."""
        settings = config.storage
        url = config.location or settings.get("db_url")
        if not isinstance(url, str) or not url.strip():
            raise UsageError(
                "The config names no database URL that can be read.", hint=f"Give one with --location. {SHAPE}"
            )
        seconds = settings.get("connect_timeout_secs")
        memory = cls(
            read_url(url.strip()),
            schema=str(settings.get("schema") or USUAL_SCHEMA),
            table=str(settings.get("table") or USUAL_TABLE),
            connect_seconds=float(seconds) if isinstance(seconds, int) and seconds > 0 else None,
            read_only=config.read_only,
        )
        memory._url_is_configs = config.location is None
        if settings.get("vector_enabled"):
            memory.vector_dimensions = int(settings.get("vector_dimensions") or _USUAL_DIMENSIONS)
        return memory

    @property
    def table(self) -> Table:
        """What the table has; only after `open`."""
        if self._table is None:
            raise RuntimeError("open() comes first")
        return self._table

    async def open(self) -> None:
        """Connect and look at the table; after NothingYet the connections stay open for `make`."""
        await self.connections.open()
        try:
            await self.open_anew()
        except NothingYet:
            raise
        except BaseException:
            await self.connections.disconnect()
            raise

    async def open_anew(self) -> None:
        """Look at the table again, and set what may be done with it."""
        async with self.connections.reading() as connection:
            self._look_at(await read_table(connection, self.schema_name, self.table_name))

    def _look_at(self, table: Table) -> None:
        self._table = table
        self.why_not = {**self._asked_read_only, **missing_in(table)}
        if table.form != "uuid":
            rule = OwnRule("keyword only", takes_vector=False)
        elif table.keeps_vectors:
            rule = OwnRule("cosine only")
        else:
            rule = OwnRule("no recall without pgvector", takes_vector=False)
        refused = [
            name for name in self.address.unknown_to_zeroclaw if self._url_is_configs or name not in TABLE_OPTIONS
        ]
        warnings = []
        if self.address.asks_for_tls:
            warnings.append("The database URL asks for TLS; ZeroClaw itself connects without TLS.")
        if refused:
            warnings.append(f"ZeroClaw's own driver refuses the option {', '.join(refused)} of the database URL.")
        notices = tuple(Notice(sentence, is_minor=True) for sentence in warnings)
        self.about = replace(self.about, rule=rule, notices=notices)

    async def close(self) -> None:
        """Stop what runs and let go of every connection."""
        await self.connections.disconnect()

    @property
    def upkeep(self) -> Upkeep:
        return Upkeep(maker=self)

    async def make(self, profile: ScoringProfile, *, dry_run: bool = False) -> None:
        """Connect, make the table as the ZeroClaw of that profile does, and look at it; with `dry_run` roll it back.

        Raises Refused with the rights that are missing.
        """
        if dry_run and "write" in self.why_not:
            return
        check_writable(self)
        await self.connections.open()
        with suppress(_RolledBack):
            async with self.connections.writing() as connection:
                await make_table(connection, self.schema_name, self.table_name, profile, self.vector_dimensions)
                if dry_run:
                    self._look_at(await read_table(connection, self.schema_name, self.table_name))
                    raise _RolledBack
            await self.open_anew()

    async def health(self) -> Health:
        """The facts of server, table and rights, and what follows from them."""
        async with self.connections.reading(seconds=connect.LONG_SECONDS) as connection:
            return await health_of(connection, self.table, self.about.location, sentences(self.about.notices))

    async def list(self, category: str | None = None, session_id: str | None = None) -> Entries:
        """All memories with full content, `updated_at` descending; ZeroClaw's own list in PostgreSQL has no limit."""
        wanted = MemoryFilter(
            category=None if category is None else (category,), session=None if session_id is None else (session_id,)
        )
        select = await self.select(wanted)
        statement = select.statement(select.columns("entry"), f"ORDER BY {select.listed_order}")
        return list(await self.fetch_records(select, statement, self.maker("entry"), takes_long=True, has_many=True))

    async def select(self, filter: MemoryFilter) -> PostgresSelect:
        """The rows that a filter leaves; a pattern is matched here, since the server reads other patterns.

        In those `\\b` is a backspace, and `\\p{L}` and named groups are errors.
        """
        if not filter.regex:
            return PostgresSelect(self.table, filter)
        select = PostgresSelect(self.table, filter.but(regex=None))
        return select.named("id", await self._ids_matching(filter.regex, select))

    async def _ids_matching(self, pattern: str, select: PostgresSelect) -> Sequence[str]:
        """The ids of the selected rows in whose key or content the pattern is found."""
        search = await asyncio.to_thread(TextSearch, MemoryFilter(regex=pattern))
        statement = select.statement("m.id::text, m.key::text, m.content")
        ids: list[str] = []

        def matching(records: Sequence[Any]) -> list[str]:
            return [row_id for row_id, key, content in records if search.finds(key or "", content or "")]

        try:
            async with self.connections.reading(seconds=connect.PASS_SECONDS) as connection:
                async for records in connect.in_batches(
                    connection, statement, select.values, _ROWS_AT_ONCE, connect.PASS_SECONDS
                ):
                    ids += await asyncio.to_thread(matching, records)
        finally:
            search.stop()
        return ids

    def maker(self, read: str) -> Callable[[Any], Any]:
        if read == "handle":
            return itemgetter(0)
        return partial(sql.version_from if read == "version" else sql.entry_from, table=self.table)

    async def fetch_records(
        self,
        select: Select,
        statement: str,
        make: Callable[[Any], T],
        *,
        takes_long: bool = False,
        has_many: bool = False,
    ) -> Sequence[T]:
        seconds = connect.LONG_SECONDS if takes_long else connect.STATEMENT_SECONDS
        if not has_many:
            return [make(record) for record in await self.connections.fetch(statement, select.values, seconds=seconds)]
        found: list[T] = []
        async with self.connections.reading(seconds=seconds) as connection:
            async for records in connect.in_batches(connection, statement, select.values, _RECORDS_AT_ONCE, seconds):
                found += map(make, records)
                await asyncio.sleep(0)
        return found

    async def stored_rows(self, handles: Sequence[Handle]) -> Sequence[Row]:
        select, table = PostgresSelect(self.table), self.table
        found: dict[Handle, Row] = {}
        for start in range(0, len(handles), _WHOLE_ROWS_AT_ONCE):
            some = select.named("handle", handles[start : start + _WHOLE_ROWS_AT_ONCE])
            rows = await self.fetch_records(
                some, some.statement(sql.stored_columns(table)), partial(sql.stored_row, table=table)
            )
            found |= {row.id: row for row in rows}
        return [found[handle] for handle in handles if handle in found]

    async def agent_aliases(self) -> Mapping[str, str]:
        return self.table.agents

    state_of = staticmethod(sql.state_of)

    async def near(self, to: MemoryEntry | np.ndarray | str, limit: int) -> Near | None:
        """By pgvector's cosine, or by the server's words: a script without blanks is one word there."""
        if isinstance(to, str):
            words = words_of(to)
            if not words or not sql.can_hold(to) or any(map(is_cut_in_twos, words)):
                return await super().near(to, limit)
            return await search.near_by_words(self.connections, self.table, to, limit)
        if not self.table.keeps_vectors:
            return None
        if isinstance(to, MemoryEntry):
            select = PostgresSelect(self.table).named("handle", [to.handle])
            statement = select.statement(sql.vector_column(self.table))
            (data,) = await self.fetch_records(select, statement, lambda record: sql.vector_from(record[0])) or [None]
            if not isinstance(data, bytes):
                return None
            import numpy as np

            to = np.frombuffer(data, dtype="<f4")
        return await search.near_by_vector(self.connections, self.table, to, limit)

    async def recall(
        self, query: str, limit: int, session_id: str | None = None, since: str | None = None, until: str | None = None
    ) -> Scored:
        """What the newest ZeroClaw recalls by keywords, best first; the tutorial's table has none without a vector."""
        request = RecallRequest(query, limit, session_id, since=since, until=until)
        return own_ranking(await self.search(Trial(request, profile_for(NEWEST), ScoringSettings())), limit)

    async def search(self, trial: Trial, vector: np.ndarray | None = None, *, deep: bool = False) -> OwnEvidence:
        """Recall as the ZeroClaw of that profile, by one statement."""
        depth = depth_of(trial.request, deep=deep)
        wanted = replace(trial.request, limit=depth)
        found = await search.recall(self.connections, self.table, wanted, trial.profile, vector)
        return own_evidence(trial, found, depth)

    async def scan(self, see: See, filter: MemoryFilter | None = None) -> None:
        """Show every row with every column, on a thread, in one consistent read."""
        table = self.table
        select = await self.select(EVERYTHING if filter is None else filter)
        statement = select.statement(sql.stored_columns(table), f"ORDER BY m.{table.updated}, m.id")

        def show(records: Sequence[Any]) -> None:
            for record in records:
                see(sql.stored_row(record, table))

        async with self.connections.reading(seconds=connect.PASS_SECONDS) as connection:
            async for records in connect.in_batches(
                connection, statement, select.values, _WHOLE_ROWS_AT_ONCE, connect.PASS_SECONDS
            ):
                await asyncio.to_thread(show, records)

    async def version(self) -> int | None:
        """Changes when somebody has written to the table. The agents' names are read again too."""
        async with self.connections.reading() as connection:
            state = await version_of(connection, self.table)
            agents = await read_agents(connection, self.schema_name) if self.table.form == "agents" else {}
        if self._seen is not None and state[:2] != self._seen[0][:2]:
            # Another table of that name, or other columns: a newer ZeroClaw has been at work.
            await self.open_anew()
        elif agents != self.table.agents:
            self._table = replace(self.table, agents=agents)
        if (state, agents) != self._seen:
            self._seen = (state, agents)
            self._changes += 1
        return self._changes

    async def _with_writer(self, work: Work[T], *, permanently: bool = False) -> T:
        check_writable(self)
        writer = PostgresWriter(self.connections, self.table, permanently=permanently)
        done = await work(writer)
        if writer.table != self.table:
            await self.open_anew()
        return done
