"""ZeroClaw's PostgreSQL store, and the table of the user's own tutorial."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from zeroclaw_tui.backends.about import About, Notice, OwnRule
from zeroclaw_tui.backends.base import Answer, Entries, Memory, Scored, Stamps, T, Work
from zeroclaw_tui.backends.health import Health
from zeroclaw_tui.backends.matching import TextSearch
from zeroclaw_tui.backends.postgres import search, sql
from zeroclaw_tui.backends.postgres.address import (
    SHAPE,
    TABLE_OPTIONS,
    USUAL_SCHEMA,
    USUAL_TABLE,
    PostgresAddress,
    read_url,
)
from zeroclaw_tui.backends.postgres.connect import (
    LONG_SECONDS,
    PASS_SECONDS,
    STATEMENT_SECONDS,
    USUAL_SECONDS,
    Connections,
    in_batches,
    patience,
)
from zeroclaw_tui.backends.postgres.counts import (
    count_statement,
    counts_of,
    near_by_words,
    stamp_from,
    stamp_of,
    stamp_select,
    version_of,
)
from zeroclaw_tui.backends.postgres.schema import (
    Table,
    base_type,
    checked_name,
    health_of,
    make_table,
    missing_in,
    read_agents,
    read_table,
)
from zeroclaw_tui.backends.postgres.sql import (
    FoundFilter,
    Parameters,
    can_hold,
    conditions,
    entry_columns,
    entry_from,
    ids_are,
    stored_columns,
    stored_row,
    vector_column,
    vector_from,
)
from zeroclaw_tui.backends.postgres.write import PostgresRows, TableMoved
from zeroclaw_tui.backends.revert import (
    MOST_ROWS,
    StoreJob,
    keep_nothing,
)
from zeroclaw_tui.memory.change import (
    Advance,
    Draft,
    Keep,
    Removal,
    See,
    Stamp,
    Vector,
)
from zeroclaw_tui.memory.entry import Handle, MemoryEntry
from zeroclaw_tui.memory.errors import ASKED_READ_ONLY, InspectorError, Locked, NothingYet, UsageError
from zeroclaw_tui.memory.query import (
    ENTRIES,
    EVERYTHING,
    HANDLES,
    VERSIONS,
    MemoryFilter,
    Query,
    Superseded,
)
from zeroclaw_tui.memory.recall import RecallRequest
from zeroclaw_tui.memory.statistics import CountField, Counts
from zeroclaw_tui.memory.text import is_unicode
from zeroclaw_tui.scoring.decide import own_ranking
from zeroclaw_tui.scoring.evidence import OwnEvidence, depth_of, own_evidence
from zeroclaw_tui.scoring.neighbours import Near, is_cut_in_twos, words_of
from zeroclaw_tui.scoring.profiles import NEWEST, ScoringProfile, ScoringSettings, profile_for

if TYPE_CHECKING:
    import numpy as np

    from zeroclaw_tui.config.memory_config import MemoryConfig


_TEXTS_AT_ONCE = 10_000
_CHARACTERS_AT_ONCE = 8_000_000
"""So many rows of given contents are read at the most."""
_STAMPS_AT_ONCE = 2000
_DRAFTS_AT_ONCE = 2000
_WHOLE_ROWS_AT_ONCE = 100
_LONGEST_CONNECT = 300.0
_USUAL_DIMENSIONS = 1536
_NOT_ZEROED = "PostgreSQL overwrites the space of removed rows in its own time (VACUUM), and its backups keep them."


class _RolledBack(Exception):
    """Ends a transaction of which nothing is to stay."""


class PostgresMemory(Memory):
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
    agents_are_rows = True
    keeps_nul = False
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
        wanted = connect_seconds or address.connect_seconds or USUAL_SECONDS
        self.connect_seconds = min(wanted, _LONGEST_CONNECT)
        self.connections = Connections(address, connect_seconds=self.connect_seconds)

    @classmethod
    def from_config(cls, config: MemoryConfig) -> PostgresMemory:
        """The table a config names. Raises UsageError without a URL, and for a URL or a name that cannot be.

        `connect_timeout_secs` is cut at 300 as ZeroClaw does it; without one, and without connect_timeout in the URL,
        ten seconds are waited.
        """
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

    @property
    def columns(self) -> frozenset[str] | None:
        """Those of the table by the names that rows have here; None before `open`."""
        if self._table is None:
            return None
        return frozenset("created_at" if name == "timestamp" else name for name in self._table.columns)

    async def open(self) -> None:
        """Connect and look at the table.

        Raises NothingYet (the connections stay open then, for `make`), Unreadable for another program's table,
        NotReachable, Refused where the driver or the right to read is missing.
        """
        await self.connections.open()
        try:
            await self.open_anew()
        except NothingYet:
            raise
        except BaseException:
            await self.connections.close()
            raise

    async def open_anew(self) -> None:
        """Look at the table again, and set what may be done with it."""
        async with self.connections.reading() as connection:
            self._look_at(await read_table(connection, self.schema_name, self.table_name))

    def _look_at(self, table: Table) -> None:
        self._table = table
        self.keeps_updates = table.form != "uuid"
        self.ids_are_uuids = base_type(table.columns["id"]) == "uuid"
        self.why_not = {**self._asked_read_only, **missing_in(table)}
        if table.form != "uuid":
            rule = OwnRule("keyword only", takes_vector=False)
        elif table.keeps_vectors:
            rule = OwnRule("cosine only")
        else:
            rule = OwnRule("no recall without pgvector", takes_vector=False)
        self.about = replace(self.about, rule=rule)
        self.notices = tuple(Notice(sentence, is_minor=True) for sentence in self._warnings())

    def _warnings(self) -> Iterator[str]:
        refused = [
            name for name in self.address.unknown_to_zeroclaw if self._url_is_configs or name not in TABLE_OPTIONS
        ]
        if self.address.asks_for_tls:
            yield "The database URL asks for TLS; ZeroClaw itself connects without TLS."
        if refused:
            yield f"ZeroClaw's own driver refuses the option {', '.join(refused)} of the database URL."

    async def close(self) -> None:
        """Stop what runs and let go of every connection."""
        self.connections.stop()
        await self.connections.close()

    async def health_check(self) -> bool:
        """True when it answers; why it does not is told by every other verb."""
        try:
            await self._fetch(f"SELECT 1 FROM {self.table.quoted} LIMIT 1", ())
        except InspectorError:
            return False
        return True

    async def make(self, profile: ScoringProfile, *, dry_run: bool = False) -> None:
        """Make the table as the ZeroClaw of that profile does, and look at it; with `dry_run` roll it back.

        Raises Refused with the rights that are missing.
        """
        if "write" in self.why_not:
            if dry_run:
                return
            raise self.refuse_to_write()
        with suppress(_RolledBack):
            async with self.connections.writing() as connection:
                await make_table(connection, self.schema_name, self.table_name, profile, self.vector_dimensions)
                if dry_run:
                    self._look_at(await read_table(connection, self.schema_name, self.table_name))
                    raise _RolledBack
            await self.open_anew()

    async def health(self) -> Health:
        """The facts of server, table and rights, and what follows from them."""
        async with self.connections.reading(seconds=LONG_SECONDS) as connection:
            return await health_of(connection, self.table, self.about.location, notices=tuple(self._warnings()))

    async def get(self, key: str) -> MemoryEntry | None:
        """The memory of that key with its full content; several agents' rows: the oldest."""
        return next(iter(await self.rows(Query(ENTRIES, keys=[key]))), None)

    async def list(self, category: str | None = None, session_id: str | None = None) -> Entries:
        """All memories with full content, `updated_at` descending; ZeroClaw's own list in PostgreSQL has no limit."""
        wanted = MemoryFilter(
            category=None if category is None else (category,), session=None if session_id is None else (session_id,)
        )
        return await self._filtered(wanted, f"ORDER BY m.{self.table.updated} DESC, m.id DESC")

    async def count(self) -> int:
        """How many memories there are."""
        condition, values = conditions(MemoryFilter(superseded=Superseded.SHOW), self.table)
        statement = f"SELECT count(*) AS counted FROM {self.table.quoted} AS m WHERE {condition}"
        rows = await self._fetch(statement, values, seconds=LONG_SECONDS)
        return int(rows[0]["counted"])

    async def rows(self, query: Query[T]) -> Sequence[T]:
        found: Any
        if query.read.name == "version" and query.is_full_scan:
            found = await self._every_version(query.filter)
        elif query.read.name == "excerpt" and _is_page(query):
            found = await self._page(query)
        else:
            found = await self._handles(query)
            if query.read.name != "handle":
                found = await self._read(query.read.name, found)
        read: Sequence[T] = found
        return read

    async def _page(self, query: Query[Any]) -> Entries:
        """One page as excerpts, by one statement."""
        table = self.table
        condition, values = conditions(await self._found(query.filter), table)
        given = Parameters(values)
        order = f"{sql.order_by(table, query.sort)} {_part(query, given)}"
        statement = f"SELECT {entry_columns(table, excerpt=True)} FROM {table.quoted} AS m WHERE {condition} {order}"
        seconds = LONG_SECONDS if sql.takes_long(query.filter, query.sort) or query.offset else None
        found = await self._fetch(statement, given.values, seconds=seconds)
        return [entry_from(row, table) for row in found]

    async def _handles(self, query: Query[Any]) -> Sequence[Handle]:
        """The ids of the rows that a query selects, in its order."""
        table = self.table
        if query.handles is not None or query.ids is not None:
            ids = _ids(list(dict.fromkeys(query.handles if query.handles is not None else query.ids or ())))
            return (
                ids
                if query.filter == EVERYTHING and query.read is not HANDLES
                else await self._ids_of(query, "id", ids)
            )
        if query.keys is not None:
            return await self._ids_of(query, "key", list(dict.fromkeys(query.keys)))
        if query.contents is not None:
            return await self._ids_of(query, "content", query.contents)
        condition, values = conditions(await self._found(query.filter), table)
        given = Parameters(values)
        if query.prefix is not None:
            if not _can_be_a_key(query.prefix):
                return []
            condition += f" AND starts_with(m.key::text, {given.text(query.prefix)})"
            order = f"ORDER BY m.{table.updated} DESC, m.id DESC LIMIT {given.count(query.limit or 2**62)}"
        else:
            order = f"{sql.order_by(table, query.sort)} {_part(query, given)}"
        statement = f"SELECT m.id::text AS handle FROM {table.quoted} AS m WHERE {condition} {order}"
        ids = []
        async with self.connections.reading(seconds=LONG_SECONDS) as connection:
            async for batch in in_batches(connection, statement, given.values, sql.IDS_AT_ONCE, LONG_SECONDS):
                ids += [row[0] for row in batch]
        return ids

    async def _ids_of(self, query: Query[Any], column: str, names: Sequence[str]) -> Sequence[Handle]:
        """The ids of the rows with one of these values, in the order of the values, then of storing.

        No index has whole contents: for those the server may look at every row.
        """
        table, by_name = self.table, dict[str, list[Handle]]()
        condition, values = conditions(await self._found(query.filter), table)
        value = "''" if column == "content" else f"m.{column}::text"
        for some in _parts(names):
            given = Parameters(values)
            named = ids_are(table, some, given) if column == "id" else f"m.{column} = ANY({given.texts(some)})"
            statement = (
                f"SELECT m.id::text AS id, {value} AS name FROM {table.quoted} AS m WHERE {condition} AND {named} "
                f"ORDER BY m.{table.created}, m.id"
            )
            for row in await self._fetch(statement, given.values, seconds=LONG_SECONDS):
                by_name.setdefault(row["name"], []).append(row["id"])
        return [one for name in ([""] if column == "content" else names) for one in by_name.get(name, ())]

    async def _read(self, read: str, handles: Sequence[Handle]) -> Sequence[Any]:
        """The rows of these ids, in that order; rows deleted meanwhile are left out."""
        table, found = self.table, dict[Handle, Any]()
        size = _WHOLE_ROWS_AT_ONCE if read == "row" else sql.ROWS_AT_ONCE
        columns = {
            "excerpt": f"SELECT {entry_columns(table, excerpt=True)} FROM {table.quoted} AS m",
            "entry": f"SELECT {entry_columns(table, excerpt=False)} FROM {table.quoted} AS m",
            "row": f"SELECT {stored_columns(table)} FROM {table.quoted} AS m",
            "version": stamp_select(table),
        }[read]
        make: Callable[[Any, Table], Any] = {"row": stored_row, "version": stamp_from}.get(read, entry_from)
        for start in range(0, len(handles), size):
            given = Parameters()
            condition = ids_are(table, _ids(handles[start : start + size]), given)
            for record in await self._fetch(f"{columns} WHERE {condition}", given.values):
                row = make(record, table)
                found[row.id] = row
        return [found[handle] for handle in handles if handle in found]

    async def count_up(self, filter: MemoryFilter, now: str, by: Sequence[CountField] = ()) -> Counts:
        statement, values = count_statement(self.table, await self._found(filter), now, by)
        groups = await self._fetch(statement, values, seconds=PASS_SECONDS)
        return await asyncio.to_thread(counts_of, groups, self.table, by)

    async def _vector_of(self, handle: Handle) -> bytes | None:
        """A row's vector, float32 little-endian."""
        table = self.table
        given = Parameters()
        condition = ids_are(table, _ids([handle]), given)
        statement = f"SELECT {vector_column(table)} AS vector FROM {table.quoted} AS m WHERE {condition}"
        for row in await self._fetch(statement, given.values):
            data = vector_from(row["vector"])
            return data if isinstance(data, bytes) else None
        return None

    async def near(self, to: MemoryEntry | np.ndarray | str, limit: int) -> Near | None:
        """By pgvector's cosine, or by the server's words: a script without blanks is one word there."""
        if isinstance(to, str):
            words = words_of(to)
            if not words or not can_hold(to) or any(map(is_cut_in_twos, words)):
                return await super().near(to, limit)
            return await near_by_words(self.connections, self.table, to, limit)
        if not self.table.keeps_vectors:
            return None
        if isinstance(to, MemoryEntry):
            data = await self._vector_of(to.handle)
            if data is None:
                return None
            import numpy as np

            to = np.frombuffer(data, dtype="<f4")
        return await search.near_by_vector(self.connections, self.table, to, limit)

    async def recall(
        self, query: str, limit: int, session_id: str | None = None, since: str | None = None, until: str | None = None
    ) -> Scored:
        """What the newest ZeroClaw recalls by keywords, best first; the tutorial's table has none without a vector."""
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
        """Recall as the ZeroClaw of that profile, by one statement."""
        depth = depth_of(request, deep=deep)
        wanted = replace(request, limit=depth)
        found = await search.recall(self.connections, self.table, wanted, profile, vector)
        return own_evidence(request, found, depth, profile, settings)

    async def _every_version(self, filter: MemoryFilter) -> Stamps:
        """The versions of all rows that a filter selects, in the order of storing."""
        table = self.table
        condition, values = conditions(await self._found(filter), table)
        statement = f"{stamp_select(table)} WHERE {condition} ORDER BY m.{table.updated}, m.id"
        found: Stamps = []
        async with self.connections.reading(seconds=PASS_SECONDS) as connection:
            async for records in in_batches(connection, statement, values, _STAMPS_AT_ONCE, PASS_SECONDS):
                found += [stamp_from(record, table) for record in records]
        return found

    stamp_of = staticmethod(stamp_of)

    async def scan(self, see: See, filter: MemoryFilter | None = None) -> None:
        """Show every row with every column, on a thread, in one consistent read."""
        table = self.table
        condition, values = conditions(await self._found(EVERYTHING if filter is None else filter), table)
        order = f"m.{table.updated}, m.id"
        statement = f"SELECT {stored_columns(table)} FROM {table.quoted} AS m WHERE {condition} ORDER BY {order}"

        def show(records: Sequence[Any]) -> None:
            for record in records:
                see(stored_row(record, table))

        async with self.connections.reading(seconds=PASS_SECONDS) as connection:
            async for records in in_batches(connection, statement, values, _WHOLE_ROWS_AT_ONCE, PASS_SECONDS):
                await asyncio.to_thread(show, records)

    async def version(self) -> int | None:
        """Changes when somebody has written to the table; None for a view or a foreign table.

        The agents' names are read again too.
        """
        if "watch" in self.why_not:
            return None
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

    async def store(self, key: str, content: str, category: str, session_id: str | None = None) -> None:
        """Write one memory of the usual agent; an existing key is overwritten as ZeroClaw's store does it."""
        await self.create(Draft(key, content, category, session_id), keep_nothing, replace=True)

    async def store_batch(self, drafts: Sequence[Draft]) -> None:
        """Write many memories, each as `store` does, some thousands to a statement."""
        await self.write_rows(StoreJob(drafts).run, most=_DRAFTS_AT_ONCE)

    async def forget(self, key: str) -> bool:
        """Delete the memories of that key; as ZeroClaw's own verb does it, those of all agents that hold one."""
        while True:
            removal = await self.remove(await self.rows(Query(VERSIONS, keys=[key])), keep_nothing)
            if not removal.changed:
                return removal.removed > 0

    async def remove(
        self, stamps: Sequence[Stamp], keep: Keep, advance: Advance | None = None, *, zero: bool = False
    ) -> Removal:
        """Delete rows, a few hundred to a transaction. What PostgreSQL frees it overwrites in its own time."""
        removal = await super().remove(stamps, keep, advance)
        return replace(removal, notes=(*removal.notes, _NOT_ZEROED)) if zero and removal.removed else removal

    async def _found(self, filter: MemoryFilter) -> MemoryFilter:
        """A filter that the server can answer: the rows of its pattern are looked for here, some at a time.

        The server's own `~*` reads other patterns: `\\b` is a backspace there, `\\p{L}` and named groups are errors.
        Raises UsageError for a pattern that cannot be read or is matched for too long, SearchInterrupted.
        """
        if not filter.regex:
            return filter
        rest = filter.but(regex=None)
        matched = await asyncio.to_thread(TextSearch, MemoryFilter(regex=filter.regex))
        condition, values = conditions(rest, self.table)
        statement = f"SELECT m.id::text, m.key::text, m.content FROM {self.table.quoted} AS m WHERE {condition}"
        ids: list[str] = []

        def look(records: Sequence[Any]) -> list[str]:
            return [row_id for row_id, key, content in records if matched.finds(key or "", content or "")]

        try:
            async with self.connections.reading(seconds=PASS_SECONDS) as connection:
                async for records in in_batches(connection, statement, values, sql.ROWS_AT_ONCE, PASS_SECONDS):
                    ids += await asyncio.to_thread(look, records)
        finally:
            matched.stop()
        return FoundFilter(**{field.name: getattr(rest, field.name) for field in fields(rest)}, ids=tuple(ids))

    async def _filtered(self, filter: MemoryFilter, order: str) -> Entries:
        table = self.table
        condition, values = conditions(await self._found(filter), table)
        statement = f"SELECT {entry_columns(table, excerpt=False)} FROM {table.quoted} AS m WHERE {condition} {order}"
        found: Entries = []
        async with self.connections.reading(seconds=LONG_SECONDS) as connection:
            async for batch in in_batches(connection, statement, values, sql.ROWS_AT_ONCE, LONG_SECONDS):
                found += [entry_from(row, table) for row in batch]
                await asyncio.sleep(0)
        return found

    async def _entries(
        self, condition: str, values: Sequence[Any], order: str = "", *, excerpt: bool = False
    ) -> Entries:
        table = self.table
        columns = entry_columns(table, excerpt=excerpt)
        rows = await self._fetch(f"SELECT {columns} FROM {table.quoted} AS m WHERE {condition} {order}", values)
        return [entry_from(row, table) for row in rows]

    async def _fetch(self, statement: str, values: Sequence[Any], *, seconds: float | None = None) -> Sequence[Any]:
        async with self.connections.reading(seconds=seconds) as connection:
            waited = patience(STATEMENT_SECONDS if seconds is None else seconds)
            rows: Sequence[Any] = await connection.fetch(statement, *values, timeout=waited)
            return rows

    async def write_rows(self, work: Work[Answer], vector: Vector | None = None, *, most: int = MOST_ROWS) -> Answer:
        """A few hundred rows to a transaction, `most` of them."""
        try:
            return await self._written(work, vector, most)
        except TableMoved:
            # ZeroClaw has migrated the table: nothing was written, and what may be written is decided again.
            await self.open_anew()
        try:
            return await self._written(work, vector, most)
        except TableMoved:
            raise Locked(
                "Another program is changing the columns of the table.", hint="Try again when it has finished."
            ) from None

    async def _written(self, work: Work[Answer], vector: Vector | None, most: int) -> Answer:
        if "write" in self.why_not:
            raise self.refuse_to_write()
        rows = PostgresRows(self.connections, self.table, vector, most=most)
        answer = await work(rows)
        self._table = replace(self.table, agents=rows.agents)
        return answer


def _part(query: Query[Any], given: Parameters) -> str:
    """The LIMIT and OFFSET of a query; LIMIT NULL is all rows."""
    limit = "NULL" if query.limit is None else given.count(min(query.limit, 2**62))
    return f"LIMIT {limit} OFFSET {given.count(min(query.offset, 2**62))}"


def _is_page(query: Query[Any]) -> bool:
    return query.limit is not None and query.prefix is None and not query.names_rows


def _can_be_a_key(text: str) -> bool:
    """Whether PostgreSQL can hold such a text at all."""
    return "\0" not in text and is_unicode(text)


def _parts(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    """Some texts at a time, as many as go well into one statement; what PostgreSQL cannot hold is left out."""
    part: list[str] = []
    size = 0
    for text in filter(_can_be_a_key, texts):
        part.append(text)
        size += len(text)
        if len(part) == _TEXTS_AT_ONCE or size > _CHARACTERS_AT_ONCE:
            yield part
            part, size = [], 0
    if part:
        yield part


def _ids(handles: Sequence[Handle]) -> list[str]:
    return [str(handle) for handle in handles if _can_be_a_key(str(handle))]
