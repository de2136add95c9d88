"""ZeroClaw's PostgreSQL store, and the table of the user's own tutorial."""

from __future__ import annotations

import asyncio
import math
import time
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from zeroclaw_tui.backends.base import Entries, Health, Neighbours
from zeroclaw_tui.backends.postgres import browse
from zeroclaw_tui.backends.postgres.address import SHAPE, PostgresAddress, read_url
from zeroclaw_tui.backends.postgres.batches import in_batches
from zeroclaw_tui.backends.postgres.capabilities import capabilities_of
from zeroclaw_tui.backends.postgres.connection import Connections
from zeroclaw_tui.backends.postgres.failures import NOT_SUPPORTED, OUT_OF_TIME, expected
from zeroclaw_tui.backends.postgres.health import health
from zeroclaw_tui.backends.postgres.many_ids import ManyIds
from zeroclaw_tui.backends.postgres.rows import entry_columns, entry_from, vector_column, vector_from
from zeroclaw_tui.backends.postgres.search_vectors import nearest
from zeroclaw_tui.backends.postgres.statements import Parameters, has_vectors, ids_are
from zeroclaw_tui.backends.postgres.table import Table, base_type, checked_name, read_agents, read_table
from zeroclaw_tui.backends.postgres.watching import state_of
from zeroclaw_tui.backends.postgres.writable import WritablePostgres
from zeroclaw_tui.memory.entry import Handle, MemoryEntry
from zeroclaw_tui.memory.errors import ASKED_READ_ONLY, InspectorError, NothingYet, NotThere, WrongUse
from zeroclaw_tui.memory.query import Cursor, MemoryFilter, Page, Sort, Superseded
from zeroclaw_tui.memory.text import is_unicode

if TYPE_CHECKING:
    import numpy as np

    from zeroclaw_tui.config.memory_config import MemoryConfig

LONG_SECONDS = 300.0
"""The limit of a statement that looks at every row."""

_TEXTS_AT_ONCE = 10_000
_CHARACTERS_AT_ONCE = 8_000_000
_MOST_ALIKE = 10_000
"""So many rows of given contents are read at the most."""
_CONNECT_SECONDS = 10.0
_LONGEST_CONNECT = 300.0
_USUAL_DIMENSIONS = 1536


class PostgresMemory(WritablePostgres):
    """A table of memories on a PostgreSQL server.

    Reading never blocks a writer. `connections` makes connections at use, and new ones once a server that went away is
    back.
    """

    name = "postgres"
    keeps_nul = False
    orders_in_parts = True

    def __init__(
        self,
        address: PostgresAddress,
        *,
        schema: str = "public",
        table: str = "memories",
        connect_seconds: float | None = None,
        read_only: bool = False,
    ) -> None:
        self.schema_name = checked_name("schema", schema)
        self.table_name = checked_name("table", table)
        self.address = address
        self.location = address.location
        self._asked_read_only = read_only
        self.read_only_because = ASKED_READ_ONLY if read_only else None
        self._table: Table | None = None
        self._seen: tuple[tuple[Any, ...], Mapping[str, str]] | None = None
        self._changes = 0
        wanted = connect_seconds or address.connect_seconds or _CONNECT_SECONDS
        self.connections = Connections(address, connect_seconds=min(wanted, _LONGEST_CONNECT))

    @classmethod
    def from_config(cls, config: MemoryConfig) -> PostgresMemory:
        """The table a config names. Raises WrongUse without a URL, and for a URL or a name that cannot be.

        `connect_timeout_secs` is cut at 300 as ZeroClaw does it; without one, and without connect_timeout in the URL,
        ten seconds are waited.
        """
        settings = config.storage
        url = config.location or settings.get("db_url")
        if not isinstance(url, str) or not url.strip():
            raise WrongUse("The config names no database URL.", hint=f"Give one with --location. {SHAPE}")
        seconds = settings.get("connect_timeout_secs")
        memory = cls(
            read_url(url.strip()),
            schema=str(settings.get("schema") or "public"),
            table=str(settings.get("table") or "memories"),
            connect_seconds=float(seconds) if isinstance(seconds, int) and seconds > 0 else None,
            read_only=config.read_only,
        )
        if settings.get("vector_enabled"):
            memory.vector_dimensions = int(settings.get("vector_dimensions") or _USUAL_DIMENSIONS)
        return memory

    @property
    def table(self) -> Table:  # type: ignore[override]
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
        async with self.connections.reading(interruptible=False) as connection:
            table = await read_table(connection, self.schema_name, self.table_name)
        self._table = table
        self.keeps_updates = table.form != "uuid"
        self.ids_are_uuids = base_type(table.columns["id"]) == "uuid"
        self.read_only_because = table.read_only_because or (ASKED_READ_ONLY if self._asked_read_only else None)
        self.capabilities = capabilities_of(table, self.read_only_because)
        self.recalls_by = "cosine only" if table.form == "uuid" else "keyword only"
        self.notices = self.facts = self._notices()

    def _notices(self) -> tuple[str, ...]:
        refused = self.address.unknown_to_zeroclaw
        told = []
        if self.address.tls not in ("disable", "prefer") or self.address.asks_for_tls:
            told.append("The database URL asks for TLS; ZeroClaw itself connects without TLS.")
        if refused:
            told.append(f"ZeroClaw's own driver refuses the option {', '.join(refused)} of the database URL.")
        return tuple(told)

    async def close(self) -> None:
        """Stop what runs and let go of every connection."""
        await self.connections.close()

    async def health_check(self) -> bool:
        """True when it answers; why it does not is told by every other verb."""
        try:
            await self._fetch(f"SELECT 1 FROM {self.table.quoted} LIMIT 1", ())
        except InspectorError:
            return False
        return True

    async def health(self) -> Health:
        """The facts of server, table and rights, and what follows from them."""
        async with self.connections.reading(seconds=LONG_SECONDS, interruptible=False) as connection:
            return await health(
                connection, self.table, self.address, uses_tls=self.connections.uses_tls, notices=self.notices
            )

    async def get(self, key: str) -> MemoryEntry | None:
        """The memory of that key with its full content; several agents' rows: the oldest."""
        for entry in await self.with_key(key):
            return entry
        return None

    async def get_batch(self, keys: Sequence[str]) -> Entries:
        """The memories of these keys in that order, each as `get` gives it; those that are not there are left out."""
        by_key: dict[str, MemoryEntry] = {}
        for start in range(0, len(keys), browse.ROWS_AT_ONCE):
            some = [key for key in keys[start : start + browse.ROWS_AT_ONCE] if _can_be_a_key(key)]
            given = Parameters()
            condition = f"m.key = ANY({given.texts(some)})"
            for entry in await self._entries(condition, given.values, f"ORDER BY m.{self.table.created}, m.id"):
                by_key.setdefault(entry.key, entry)
        return [by_key[key] for key in keys if key in by_key]

    async def list(self, category: str | None = None, session_id: str | None = None) -> Entries:
        """All memories with full content, `updated_at` descending; ZeroClaw's own list in PostgreSQL has no limit."""
        wanted = MemoryFilter(
            category=None if category is None else (category,), session=None if session_id is None else (session_id,)
        )
        return await self._filtered(wanted, f"ORDER BY m.{self.table.updated} DESC, m.id DESC")

    async def entries(self, filter: MemoryFilter) -> Entries:
        """Every memory a filter leaves, with full content."""
        return await self._filtered(filter, "")

    async def count(self) -> int:
        """How many memories there are."""
        condition, values = browse.conditions(MemoryFilter(superseded=Superseded.SHOW), self.table)
        statement = f"SELECT count(*) AS counted FROM {self.table.quoted} AS m WHERE {condition}"
        rows = await self._fetch(statement, values, seconds=LONG_SECONDS)
        return int(rows[0]["counted"])

    async def page(self, filter: MemoryFilter, sort: Sort, cursor: Cursor | None, limit: int) -> Page:
        """The rows after `cursor` as excerpts.

        In the orders STORED and UPDATED any depth costs the same by ZeroClaw's index on `updated_at`.
        """
        table = self.table
        statement, values = browse.page_statement(table, await self._found(filter), sort, cursor, limit)
        seconds = LONG_SECONDS if browse.takes_long(filter, sort) else None
        found = await self._fetch(statement, values, seconds=seconds, interruptible=filter.looks_for_text)
        entries = tuple(entry_from(row, table) for row in found[:limit])
        following = browse.cursor_after(found[limit - 1], sort) if len(found) > limit else None
        return Page(entries, following)

    async def order(self, filter: MemoryFilter, sort: Sort) -> Sequence[Handle]:
        """The ids of all rows in order, read in parts; cancelling the await stops the pass on the server too."""
        table = self.table
        condition, values = browse.conditions(await self._found(filter), table)
        statement = (
            f"SELECT m.id::text AS handle FROM {table.quoted} AS m WHERE {condition} {browse.order_by(table, sort)}"
        )
        ids = ManyIds()
        is_find = filter.looks_for_text
        async with self.connections.reading(seconds=LONG_SECONDS, interruptible=is_find) as connection:
            async for batch in in_batches(connection, statement, values, browse.IDS_AT_ONCE):
                ids.add([row[0] for row in batch])
        return ids

    async def order_part(
        self, filter: MemoryFilter, sort: Sort, offset: int, limit: int
    ) -> tuple[Sequence[Handle], int]:
        """Some ids in order and how many there are in all, by one statement; no other id comes over."""
        if limit > browse.MOST_IDS:
            return await super().order_part(filter, sort, offset, limit)
        statement, values = browse.order_statement(self.table, await self._found(filter), sort, offset, limit)
        (record,) = await self._fetch(statement, values, seconds=LONG_SECONDS, interruptible=filter.looks_for_text)
        return record["handles"], record["total"]

    async def rows(self, handles: Sequence[Handle]) -> Entries:
        """The rows of these ids, in that order, as excerpts; rows gone meanwhile are left out."""
        by_handle: dict[Handle, MemoryEntry] = {}
        for start in range(0, len(handles), browse.ROWS_AT_ONCE):
            given = Parameters()
            condition = ids_are(self.table, _ids(handles[start : start + browse.ROWS_AT_ONCE]), given)
            for entry in await self._entries(condition, given.values, excerpt=True):
                by_handle[entry.handle] = entry
        return [by_handle[handle] for handle in handles if handle in by_handle]

    async def whole(self, handle: Handle) -> MemoryEntry:
        """One row with its full content. Raises NotThere when it has gone."""
        found = await self.with_id(str(handle))
        if found is None:
            raise NotThere("This memory is no longer there.", hint="r reloads the list.")
        return found

    async def with_id(self, id: str) -> MemoryEntry | None:
        """The memory of that id with its full content, or None."""
        given = Parameters()
        condition = ids_are(self.table, _ids([id]), given)
        for entry in await self._entries(condition, given.values):
            return entry
        return None

    async def vector_norm(self, handle: Handle) -> float | None:
        """The Euclidean length of one row's vector; None when it has none."""
        data = await self._vector_of(handle) if self.capabilities.vectors else None
        return None if data is None else math.hypot(*array("f", data))

    async def _vector_of(self, handle: Handle) -> bytes | None:
        """A row's vector, float32 little-endian."""
        table = self.table
        given = Parameters()
        condition = ids_are(table, _ids([handle]), given)
        statement = f"SELECT {vector_column(table)} AS vector FROM {table.quoted} AS m WHERE {condition}"
        for row in await self._fetch(statement, given.values):
            data = vector_from(row["vector"], table)
            return data if isinstance(data, bytes) else None
        return None

    async def nearest(self, entry: MemoryEntry | None, vector: np.ndarray | None, limit: int) -> Neighbours:
        """The rows nearest by cosine, told by pgvector on the server."""
        if not has_vectors(self.table):
            return None
        if vector is None:
            data = await self._vector_of(entry.handle) if entry is not None else None
            if data is None:
                return None
            import numpy as np

            vector = np.frombuffer(data, dtype="<f4")
        return await nearest(self.connections, self.table, vector, limit)

    async def with_key(self, key: str, agent: str | None = None) -> Entries:
        """Every row of that key, the oldest first, with full content."""
        if not _can_be_a_key(key):
            return []
        wanted = MemoryFilter(agent=None if agent is None else (agent,), superseded=Superseded.SHOW)
        condition, values = browse.conditions(wanted, self.table)
        given = Parameters(values)
        condition += f" AND m.key = {given.text(key)}"
        return await self._entries(condition, given.values, f"ORDER BY m.{self.table.created}, m.id")

    async def holding(self, contents: Sequence[str], keys: Sequence[str], seconds: float) -> tuple[Entries, bool]:
        """The memories of these contents or keys, asked of the server, and whether those of the contents are all.

        No index has whole contents, so every row may be looked at for some thousand of them, there and not here.
        """
        found: dict[Handle, MemoryEntry] = {}
        for some in _parts(keys):
            given = Parameters()
            for entry in await self._entries(f"m.key = ANY({given.texts(some)})", given.values):
                found[entry.handle] = entry
        until = time.monotonic() + seconds
        for some in _parts(contents):
            left = until - time.monotonic()
            alike = await self._alike(some, left) if left > 0 else None
            if alike is None:
                return [*found.values()], False
            found |= {entry.handle: entry for entry in alike}
            if len(alike) == _MOST_ALIKE:
                return [*found.values()], False
        return [*found.values()], True

    async def _alike(self, contents: Sequence[str], seconds: float) -> Entries | None:
        """The first rows of these contents; None where the server would look for them for longer."""
        given = Parameters()
        columns, places = entry_columns(self.table, excerpt=False), given.texts(contents)
        statement = f"SELECT {columns} FROM {self.table.quoted} AS m WHERE m.content = ANY({places}) "
        statement += f"LIMIT {given.count(_MOST_ALIKE)}"
        found: Entries = []
        async with self.connections.reading(seconds=seconds, interruptible=False) as connection:
            with expected(OUT_OF_TIME) as stopped:
                async for batch in in_batches(connection, statement, given.values, browse.ROWS_AT_ONCE):
                    found += [entry_from(row, self.table) for row in batch]
        return None if stopped else found

    async def keys_starting(self, prefix: str, limit: int) -> Entries:
        """Rows whose key begins so, `updated_at` descending, with full content."""
        if not _can_be_a_key(prefix):
            return []
        given = Parameters()
        condition = f"starts_with(m.key::text, {given.text(prefix)})"
        order = f"ORDER BY m.{self.table.updated} DESC, m.id DESC LIMIT {given.count(limit)}"
        return await self._entries(condition, given.values, order)

    async def data_version(self) -> int | None:
        """Changes when somebody has written to the table; None for a view. The agents' names are read again too."""
        if not self.capabilities.watch:
            return None
        by_writers = "xmin" not in self.connections.refused
        async with self.connections.reading(interruptible=False) as connection:
            with expected(*(NOT_SUPPORTED if by_writers else ())) as refused:
                state = await state_of(connection, self.table, by_writers=by_writers)
                agents = await read_agents(connection, self.schema_name) if self.table.form == "agents" else {}
        if refused:
            self.connections.refused.add("xmin")
            return await self.data_version()
        if self._seen is not None and state[:2] != self._seen[0][:2]:
            # Another table of that name, or other columns: a newer ZeroClaw has been at work.
            await self.open_anew()
        elif agents != self.table.agents:
            self._table = replace(self.table, agents=agents)
        if (state, agents) != self._seen:
            self._seen = (state, agents)
            self._changes += 1
        return self._changes

    async def _filtered(self, filter: MemoryFilter, order: str) -> Entries:
        table = self.table
        condition, values = browse.conditions(await self._found(filter), table)
        statement = f"SELECT {entry_columns(table, excerpt=False)} FROM {table.quoted} AS m WHERE {condition} {order}"
        found: Entries = []
        async with self.connections.reading(seconds=LONG_SECONDS, interruptible=False) as connection:
            async for batch in in_batches(connection, statement, values, browse.ROWS_AT_ONCE):
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

    async def _fetch(
        self, statement: str, values: Sequence[Any], *, seconds: float | None = None, interruptible: bool = False
    ) -> Sequence[Any]:
        async with self.connections.reading(seconds=seconds, interruptible=interruptible) as connection:
            rows: Sequence[Any] = await connection.fetch(statement, *values)
            return rows


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
