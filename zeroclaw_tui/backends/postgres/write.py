"""Storing, changing and removing memories of a PostgreSQL table by ZeroClaw's own rules, in short transactions."""

from __future__ import annotations

import dataclasses
import uuid
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from itertools import groupby
from typing import TYPE_CHECKING, Any

from zeroclaw_tui.backends.postgres.connect import (
    PASS_SECONDS,
    Connections,
)
from zeroclaw_tui.backends.postgres.schema import Table, missing_in, read_agents
from zeroclaw_tui.backends.postgres.sql import (
    Parameters,
    casts,
    category_written,
    check_text,
    ids_are,
    keys_are,
    parameters,
    quoted,
    state_of,
    stored_columns,
    stored_row,
)
from zeroclaw_tui.backends.revert import MOST_ROWS, kept
from zeroclaw_tui.backends.tables import TableRows
from zeroclaw_tui.memory.change import (
    AGENTS,
    Draft,
    DuplicateKey,
    Keep,
    NewVector,
    RowChange,
    StoredRow,
    Value,
    Vector,
)
from zeroclaw_tui.memory.errors import Refused
from zeroclaw_tui.memory.text import one_line

if TYPE_CHECKING:
    import asyncpg  # type: ignore[import-untyped]

LATER = "greatest(clock_timestamp(), m.{0} + interval '1 microsecond')"
"""A time of storing that is later than the last one, even where two clocks differ."""

_COLUMNS = """
SELECT attname::text AS name, format_type(atttypid, atttypmod) AS type, attgenerated::text <> '' AS is_computed
FROM pg_attribute WHERE attrelid = to_regclass($1::text) AND attnum > 0 AND NOT attisdropped ORDER BY attnum
"""
_AGENT = "id::text AS id, alias::text AS alias, created_at::text AS created_at"
_NOT_COLUMNS = ("created_at", "updated_at", "category_as_stored")
"""What values of a row may be called where the tutorial's table has other names."""


class TableMoved(Exception):
    """The columns are no longer those that were read on opening: ZeroClaw has migrated the table."""


class _NothingIsUnique(Exception):
    """No rule of the table says that a key is there once, so no statement can go by it."""


class PostgresRows(TableRows):
    """The rows of a table; every step is a transaction, and what is looked at in it stays locked until its end."""

    noun = "table"

    def __init__(
        self, connections: Connections, table: Table, vector: Vector | None = None, *, most: int = MOST_ROWS
    ) -> None:
        super().__init__(vector)
        self._connections = connections
        self._table = table
        self._agents: dict[str, str] = dict(table.agents)
        self._computed: frozenset[str] = frozenset()
        self._connection: asyncpg.Connection = None
        self.at_once = most

    @property
    def has_agents(self) -> bool:
        """Whether the table is one of ZeroClaw >= 0.8.0."""
        return self._table.form == "agents"

    @property
    def agents(self) -> dict[str, str]:
        """The aliases by id."""
        return self._agents

    @property
    def columns(self) -> Iterable[str]:
        """Those of the table, and what its values are called here."""
        return (*self._table.columns, *_NOT_COLUMNS)

    @asynccontextmanager
    async def step(self, keep: Keep) -> AsyncIterator[None]:
        """A transaction: committed at the end, or nothing of it happened. Raises TableMoved before anything is done."""
        self._changes = []
        async with self._connections.writing() as connection:
            await self._begin(connection)
            yield
            if self._changes:
                await kept(keep, self._changes)

    @asynccontextmanager
    async def look(self) -> AsyncIterator[None]:
        """One that changes nothing and locks nothing. Raises TableMoved."""
        self._is_looking = True
        async with self._connections.reading(seconds=PASS_SECONDS) as connection:
            await self._begin(connection)
            yield
        self._is_looking = False

    def check_draft(self, draft: Draft) -> None:
        """Raises Refused for what the table has no column for, or PostgreSQL takes in no text."""
        check_text(draft.key, draft.content, draft.category, draft.session_id, draft.namespace, draft.agent)
        self._check_has(draft.named)
        self._check_has([] if draft.session_id is None else ["session_id"])
        if draft.agent is not None and not self.has_agents:
            raise Refused("This table knows no agents.", hint="Leave the agent out: all memories here have one owner.")

    def check_edit(self, values: Mapping[str, Value]) -> None:
        """Raises Refused for what the table has no column for, or PostgreSQL takes in no text."""
        self._check_has(values)
        check_text(*(value for value in values.values() if isinstance(value, str)))

    def check_vectors(self, vectors: Sequence[NewVector]) -> None:
        """Raises Refused for vectors that the column does not take."""
        if not self._table.keeps_vectors:
            raise Refused("This table has no column for pgvector's vectors.")
        length = self._table.dimensions
        for wanted in vectors:
            if length not in (None, wanted.vector.dimensions):
                raise Refused(
                    f"The table takes vectors of {length} numbers; the model makes {wanted.vector.dimensions}.",
                    hint="Name a model in the config that fits, or have the column altered by who owns the table.",
                )

    async def of_ids(self, ids: Iterable[str]) -> dict[str, StoredRow]:
        """The rows of these ids."""
        return {row.id: row for row in await self._locked(ids=[*ids])}

    async def fetch(self, rows: Sequence[StoredRow], owners: Iterable[str]) -> Iterable[StoredRow]:
        """By id, and by key and owner, with one statement."""
        return await self._locked({row.id for row in rows}, {row.key for row in rows}, [*owners])

    async def fetch_id(self, row: StoredRow) -> StoredRow | None:
        """By its id."""
        return next(iter(await self._locked(ids=[row.id])), None)

    async def fetch_key(self, key: str, owner: str | None) -> StoredRow | None:
        """By key and agent's id."""
        return next(iter(await self._locked(keys=[key], owners=[] if owner is None else [owner])), None)

    state_of = staticmethod(state_of)

    def as_stored(self, values: Mapping[str, Value], row: StoredRow) -> Mapping[str, Value]:
        """A session as ZeroClaw writes it, importance as a number."""
        stored = _plain(values)
        if "session_id" in stored and stored["session_id"] != row.values["session_id"]:
            stored["session_id"] = self.session_stored(stored["session_id"])
        return stored

    def drafted(self, draft: Draft, existing: StoredRow | None, owner: str | None) -> StoredRow:
        """As ZeroClaw's own store writes it; its times are the server's."""
        values: dict[str, Value] = {"content": draft.content, "category": draft.category, **_plain(draft.named)}
        if self._table.has("session_id"):
            values["session_id"] = self.session_stored(draft.session_id)
        data = self._usable_vector()
        if existing is not None:
            return self._changed(existing, values, data)
        fixed: dict[str, Value] = {"id": str(uuid.uuid4()), "key": draft.key}
        if owner is not None:
            fixed["agent_id"] = owner
        if data is not None:
            fixed["embedding"] = data
        alias = None if owner is None else self._agents.get(owner)
        return StoredRow(str(fixed["id"]), {**fixed, **values}, str(fixed["id"]), agent=alias)

    def edited(self, row: StoredRow, values: Mapping[str, Value]) -> StoredRow:
        """New content with the given vector or none."""
        return self._changed(row, values, self._usable_vector() if "content" in values else None)

    def returned(self, row: StoredRow, over: StoredRow | None, owner: str | None, *, apart: bool) -> StoredRow:
        """With the values that today's table has columns for; it lies where its id is."""
        back = super().returned(row, over, owner, apart=apart)
        return dataclasses.replace(back, handle=back.id, values={**back.values, "id": back.id})

    async def delete(self, rows: Sequence[StoredRow]) -> None:
        """By their ids."""
        if rows:
            given = Parameters()
            condition = ids_are(self._table, [row.id for row in rows], given)
            await self._connection.execute(f"DELETE FROM {self._table.quoted} AS m WHERE {condition}", *given.values)

    async def change(self, row: StoredRow, values: Mapping[str, Value], *, touch: bool) -> StoredRow:
        """Only what differs, and with `touch` the time of storing."""
        table = self._table
        wanted = self._bound(dataclasses.replace(row, values={**row.values, **values}))
        present, shapes, given = self._bound(row), self._casts(), Parameters()
        changed = [name for name in self._writable if wanted[name] != present[name]]
        parts = [f"{quoted(name)} = {shapes[name] % given.text(wanted[name])}" for name in changed]
        if touch and table.updated != table.created:
            parts = [part for part in parts if not part.startswith(quoted(table.updated))]
            parts.append(f"{quoted(table.updated)} = {LATER.format(table.updated)}")
        if not parts:
            return row
        found = await self._rows(
            f"UPDATE {table.quoted} AS m SET {', '.join(parts)} WHERE {ids_are(table, [row.id], given)} "
            f"RETURNING {stored_columns(table)}",
            given,
        )
        return found[0]

    async def insert(self, rows: Sequence[StoredRow]) -> Sequence[StoredRow]:
        """Rows that name the same columns by one statement, since what is not named is the table's to fill in."""
        groups: dict[frozenset[str], list[StoredRow]] = {}
        for row in rows:
            groups.setdefault(frozenset(row.values), []).append(row)
        written: dict[str, StoredRow] = {}
        for alike in groups.values():
            written |= {row.id: row for row in await self._inserted(alike)}
        for row in rows:
            if row.id not in written:
                raise await self._taken(row)
        return [written[row.id] for row in rows]

    async def present_other(self, row: StoredRow) -> StoredRow | None:
        """An agent by its id, held."""
        record = await self._connection.fetchrow(
            f"SELECT {_AGENT} FROM {self._agents_table} WHERE id::text = $1::text FOR UPDATE", row.id
        )
        return None if record is None else _agent_row(record)

    async def insert_other(self, row: StoredRow) -> StoredRow:
        """An agent, with the time it was made."""
        record = await self._connection.fetchrow(
            f"INSERT INTO {self._agents_table} (id, alias, created_at) "
            f"VALUES ($1::text, $2::text, coalesce(CAST($3::text AS timestamptz), now())) RETURNING {_AGENT}",
            row.id, row.agent or row.id, row.values.get("created_at"),
        )  # fmt: skip
        return _agent_row(record)

    async def delete_other(self, row: StoredRow) -> bool:
        """Not an agent that owns memories, or that another table refers to."""
        from asyncpg import ForeignKeyViolationError

        owns = await self._connection.fetchval(
            f"SELECT EXISTS (SELECT FROM {self._table.quoted} AS m WHERE m.agent_id::text = $1::text)", row.id
        )
        if owns:
            return False
        try:
            async with self._connection.transaction():
                await self._connection.execute(f"DELETE FROM {self._agents_table} WHERE id::text = $1::text", row.id)
        except ForeignKeyViolationError:
            return False
        return True

    async def add_agent(self, alias: str) -> RowChange:
        """Another program may add it at the same moment."""
        record = await self._connection.fetchrow(
            f"INSERT INTO {self._agents_table} (id, alias, created_at) VALUES ($1::text, $2::text, now()) "
            f"ON CONFLICT DO NOTHING RETURNING {_AGENT}",
            str(uuid.uuid4()),
            alias,
        )
        if record is not None:
            return RowChange(None, _agent_row(record))
        there = _agent_row(
            await self._connection.fetchrow(f"SELECT {_AGENT} FROM {self._agents_table} WHERE alias = $1::text", alias)
        )
        return RowChange(there, there)

    def has_table(self, name: str) -> bool:
        """Agents alone have one here."""
        return name == AGENTS and self.has_agents

    async def upsert(self, drafts: Sequence[Draft]) -> bool:
        """By one statement for those that name the same fields; False where no rule of the table makes a key unique.

        Of two drafts with one key the later counts, and its place in the order.
        """
        chosen: dict[tuple[str | None, str], Draft] = {}
        for draft in drafts:
            owner, _ = await self.owner_named(draft.agent)
            chosen.pop((owner, draft.key), None)
            chosen[owner, draft.key] = draft
        place = 0
        try:
            for _, group in groupby(chosen.items(), key=lambda item: frozenset(item[1].named)):
                some = [*group]
                await self._upserted([owner for (owner, _), _ in some], [draft for _, draft in some], place)
                place += len(some)
        except _NothingIsUnique:
            return False
        return True

    async def fill(self, filled: Sequence[tuple[StoredRow, NewVector]]) -> None:
        """By one statement."""
        if not filled:
            return
        table, given = self._table, Parameters()
        texts = [
            parameters(StoredRow(row.id, {**row.values, "embedding": wanted.vector.data}), table)["embedding"]
            for row, wanted in filled
        ]
        ids = given.texts([row.id for row, _ in filled])
        shape = casts(table)["embedding"] % "g.vector"
        condition = ids_are(table, [row.id for row, _ in filled], given)
        await self._connection.execute(
            f"UPDATE {table.quoted} AS m SET embedding = {shape} "
            f"FROM unnest({ids}, {given.texts(texts)}) AS g(id, vector) WHERE m.id::text = g.id AND {condition}",
            *given.values,
        )

    async def _begin(self, connection: asyncpg.Connection) -> None:
        found = await connection.fetch(_COLUMNS, self._table.quoted)
        if {row["name"]: row["type"] for row in found} != dict(self._table.columns):
            raise TableMoved
        self._agents = dict(await read_agents(connection, self._table.schema)) if self.has_agents else {}
        self._table = dataclasses.replace(self._table, agents=self._agents)
        self._computed = frozenset(row["name"] for row in found if row["is_computed"])
        self._connection = connection
        self._by_id, self._by_key = {}, {}

    @property
    def _writable(self) -> list[str]:
        """The columns that take values."""
        return [name for name in self._table.columns if name not in self._computed]

    @property
    def _agents_table(self) -> str:
        return f'"{self._table.schema}"."agents"'

    def _check_has(self, names: Iterable[str]) -> None:
        why_not = missing_in(self._table)
        for name in names:
            if name in why_not:
                raise Refused(why_not[name], hint="Leave it out.")

    async def _locked(
        self, ids: Iterable[str] = (), keys: Iterable[str] = (), owners: Sequence[str] = ()
    ) -> list[StoredRow]:
        """The rows of these ids, and those of these keys, in the order of their ids and held until the end."""
        given = Parameters()
        parts = [
            *([ids_are(self._table, ids, given)] if ids else []),
            *([f"({keys_are(self._table, keys, owners or None, given)})"] if keys else []),
        ]
        if not parts:
            return []
        return await self._rows(
            f"SELECT {stored_columns(self._table)} FROM {self._table.quoted} AS m "
            f"WHERE {' OR '.join(parts)} ORDER BY m.id {'' if self._is_looking else 'FOR UPDATE'}",
            given,
        )

    async def _inserted(self, rows: Sequence[StoredRow]) -> list[StoredRow]:
        """Rows as they then are in the table, those left out whose id or key is taken; times that are not named become
        now."""
        table, shapes, given = self._table, self._casts(), Parameters()
        names = [name for name in self._writable if any(_has(row, name, table) for row in rows)]
        bound = [self._bound(row) for row in rows]
        arrays = ", ".join(given.texts([values[name] for values in bound]) for name in names)
        now = [name for name in dict.fromkeys((table.created, table.updated)) if name not in names]
        targets = ", ".join(quoted(name) for name in (*names, *now))
        chosen = ", ".join([*(shapes[name] % f"g.c{at}" for at, name in enumerate(names)), *["now()"] * len(now)])
        return await self._rows(
            f"INSERT INTO {table.quoted} AS m ({targets}) OVERRIDING SYSTEM VALUE "
            f"SELECT {chosen} FROM unnest({arrays}) AS g({', '.join(f'c{at}' for at in range(len(names)))}) "
            f"ON CONFLICT DO NOTHING RETURNING {stored_columns(table)}",
            given,
        )

    async def _taken(self, row: StoredRow) -> Refused:
        """The error for a row that the table did not take."""
        existing = await self.fetch_key(row.key, self.owner(row))
        if existing is not None:
            return DuplicateKey(row.key, existing)
        return Refused(
            f"The table does not take another memory with the key {one_line(row.key)!r}, by a rule of its own.",
            hint="A table made before ZeroClaw 0.8.0 may allow each key once for all agents together.",
        )

    def _changed(self, row: StoredRow, values: Mapping[str, Value], data: bytes | None) -> StoredRow:
        """Creation time and id stay. A vector of other content would be worse than none."""
        if self._table.has("embedding"):
            same_content = values.get("content", row.values["content"]) == row.values["content"]
            values = {**values, "embedding": (row.values["embedding"] or data) if same_content else data}
        return dataclasses.replace(row, values={**row.values, **values})

    def _usable_vector(self) -> bytes | None:
        """The vector's data where the table has room for it."""
        vector, table = self._vector, self._table
        if vector is None or not table.has("embedding"):
            return None
        if table.keeps_vectors and table.dimensions in (None, vector.dimensions):
            return vector.data
        length = "" if table.dimensions is None else f" of {table.dimensions} numbers"
        self.remarks[
            f"Stored without its vector of {vector.dimensions} numbers: the table takes vectors{length} only."
        ] = None
        return None

    async def _upserted(self, owners: Sequence[str | None], drafts: Sequence[Draft], first: int) -> None:
        """A microsecond lies between each and the next, so that they keep their order."""
        from asyncpg import InvalidColumnReferenceError

        table = self._table
        columns = self._values(owners, drafts)
        given, shapes = Parameters(), casts(table)
        arrays = ", ".join(given.texts(values) for values in columns.values())
        now = f"now() + (g.place + {first:d}) * interval '1 microsecond'"
        times = list(dict.fromkeys((table.created, table.updated)))
        chosen = ", ".join([*(shapes[name] % f"g.c{at}" for at, name in enumerate(columns)), *[now] * len(times)])
        unique = "(agent_id, key)" if self.has_agents else "(key)"
        sets = [f'"{name}" = excluded."{name}"' for name in columns if name not in ("id", "key", "agent_id")]
        if table.updated != table.created:
            updated = table.updated
            sets.append(f"{updated} = greatest(excluded.{updated}, m.{updated} + interval '1 microsecond')")
        if table.has("embedding"):
            sets.append("embedding = CASE WHEN m.content = excluded.content THEN m.embedding END")
        targets = ", ".join(f'"{name}"' for name in (*columns, *times))
        statement = (
            f"INSERT INTO {table.quoted} AS m ({targets}) SELECT {chosen} "
            f"FROM unnest({arrays}) WITH ORDINALITY AS g({', '.join(f'c{at}' for at in range(len(columns)))}, place) "
            f"ON CONFLICT {unique} DO UPDATE SET {', '.join(sets)}"
        )
        try:
            async with self._connection.transaction():
                await self._connection.execute(statement, *given.values)
        except InvalidColumnReferenceError as error:
            raise _NothingIsUnique from error

    def _values(self, owners: Sequence[str | None], drafts: Sequence[Draft]) -> dict[str, list[str | None]]:
        """The values of each column as text; all of these drafts name the same fields."""
        spelled = {draft.category: category_written(draft.category, self._table) for draft in drafts}
        columns: dict[str, list[str | None]] = {
            "id": [str(uuid.uuid4()) for _ in drafts],
            "key": [draft.key for draft in drafts],
            "content": [draft.content for draft in drafts],
            "category": [spelled[draft.category] for draft in drafts],
        }
        if self._table.has("session_id"):
            columns["session_id"] = [self.session_stored(draft.session_id) for draft in drafts]
        if self.has_agents:
            columns["agent_id"] = list(owners)
        for name in drafts[0].named:
            columns[name] = [None if (value := getattr(draft, name)) is None else str(value) for draft in drafts]
        return columns

    def _bound(self, row: StoredRow) -> dict[str, Any]:
        """Also the numbers that PostgreSQL counts up itself: a row that comes back has its own."""
        return {**{name: row.values.get(name) for name in self._writable}, **parameters(row, self._table)}

    def _casts(self) -> dict[str, str]:
        known = casts(self._table)
        return {name: known.get(name, f"CAST(%s AS {self._table.columns[name]})") for name in self._writable}

    async def _rows(self, statement: str, given: Parameters) -> list[StoredRow]:
        return [stored_row(record, self._table) for record in await self._connection.fetch(statement, *given.values)]


def _agent_row(record: Mapping[str, Value]) -> StoredRow:
    values = dict(record)
    return StoredRow(str(values["id"]), values, agent=str(values["alias"]), table=AGENTS)


def _plain(values: Mapping[str, Any]) -> dict[str, Value]:
    return {
        name: float(value) if name == "importance" and value is not None else value for name, value in values.items()
    }


def _has(row: StoredRow, column: str, table: Table) -> bool:
    """Whether a row names the value of a column, which the tutorial's table may call otherwise."""
    if table.form == "uuid" and column == table.created:
        return "created_at" in row.values or "updated_at" in row.values
    return column in row.values
