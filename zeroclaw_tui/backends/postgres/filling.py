"""Many memories at once, and vectors for those that are there."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from itertools import groupby

from zeroclaw_tui.backends.postgres.connect import Connections
from zeroclaw_tui.backends.postgres.owners import owner_of
from zeroclaw_tui.backends.postgres.rows import casts, category_written, parameters
from zeroclaw_tui.backends.postgres.schema import Table
from zeroclaw_tui.backends.postgres.sql import Parameters, check_text, has_vectors, ids_are
from zeroclaw_tui.backends.postgres.transaction import MOST_BYTES, MOST_ROWS, Transaction, transaction
from zeroclaw_tui.backends.postgres.writing import create, drafted, session_stored
from zeroclaw_tui.memory.change import Draft, FilledVectors, NewVector, RowChange, StoredRow
from zeroclaw_tui.memory.errors import Refused

DRAFTS_AT_ONCE = 2000


class _NothingIsUnique(Exception):
    """No rule of the table says that a key is there once, so no statement can go by it."""


class Storing:
    """Storing these drafts. It may be run again after TableMoved, and goes on where it was."""

    def __init__(self, drafts: Sequence[Draft]) -> None:
        self._drafts = [draft.checked() for draft in drafts]
        for draft in self._drafts:
            check_text(draft.key, draft.content, draft.category, draft.session_id, draft.namespace, draft.agent)
        self._next = 0

    async def run(self, connections: Connections, table: Table) -> None:
        """Store each as ZeroClaw's store does, some thousands to a statement."""
        while self._next < len(self._drafts):
            batch = list(_fitting(self._drafts, self._next))
            try:
                async with transaction(connections, table) as open_:
                    await _stored(open_, batch)
            except _NothingIsUnique:
                for draft in batch:
                    await create(connections, table, draft, _keep_nothing, None, replace=True)
            self._next += len(batch)


class Filling:
    """Giving rows these vectors. It may be run again after TableMoved, and goes on where it was."""

    def __init__(self, vectors: Sequence[NewVector]) -> None:
        self._vectors = vectors
        self._next = self._filled = 0
        self._left: list[str] = []

    async def run(self, connections: Connections, table: Table) -> FilledVectors:
        """Write them into the rows that still have the fingerprint; their times stay.

        Raises Refused for vectors that the column does not take, before any of them is written.
        """
        _check_lengths(table, self._vectors)
        while self._next < len(self._vectors):
            batch = self._vectors[self._next : self._next + MOST_ROWS]
            async with transaction(connections, table) as open_:
                present = {row.id: row for row in await open_.locked(ids=[wanted.id for wanted in batch])}
                going = {
                    wanted.id: wanted
                    for wanted in batch
                    if wanted.id in present and present[wanted.id].fingerprint == wanted.fingerprint
                }
                await _fill(open_, [(present[row_id], wanted) for row_id, wanted in going.items()])
            self._next += len(batch)
            self._filled += len(going)
            self._left += [wanted.id for wanted in batch if wanted.id not in going]
        return FilledVectors(self._filled, tuple(self._left))


async def _stored(open_: Transaction, drafts: Sequence[Draft]) -> None:
    """Of two drafts with one key the later counts, and its place in the order."""
    chosen: dict[tuple[str | None, str], Draft] = {}
    for draft in drafts:
        owner, _ = await owner_of(open_, draft.agent)
        chosen.pop((owner, draft.key), None)
        chosen[owner, draft.key] = draft
    place = 0
    for _, group in groupby(chosen.items(), key=lambda item: _named(item[1])):
        some = list(group)
        await _upserted(open_, [owner for (owner, _), _ in some], [draft for _, draft in some], place)
        place += len(some)


def _named(draft: Draft) -> tuple[bool, bool, bool]:
    """What a draft says beyond what each says: the rest is the table's to fill in."""
    return draft.namespace is not None, draft.importance is not None, draft.pinned is not None


async def _upserted(open_: Transaction, owners: Sequence[str | None], drafts: Sequence[Draft], first: int) -> None:
    """One statement; a microsecond lies between each and the next, so that they keep their order."""
    from asyncpg import InvalidColumnReferenceError  # type: ignore[import-untyped]

    table = open_.table
    columns = _columns(table, owners, drafts)
    given, shapes = Parameters(), casts(table)
    arrays = ", ".join(given.texts(values) for values in columns.values())
    now = f"now() + (g.place + {first:d}) * interval '1 microsecond'"
    times = list(dict.fromkeys((table.created, table.updated)))
    chosen = ", ".join([*(shapes[name] % f"g.c{at}" for at, name in enumerate(columns)), *[now] * len(times)])
    unique = "(agent_id, key)" if table.form == "agents" else "(key)"
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
        await open_.connection.execute(statement, *given.values)
    except InvalidColumnReferenceError as error:
        raise _NothingIsUnique from error


def _columns(table: Table, owners: Sequence[str | None], drafts: Sequence[Draft]) -> dict[str, list[str | None]]:
    """The values of each column as text. Raises Refused for what the table has no column for."""
    spelled = {draft.category: category_written(draft.category, table) for draft in drafts}
    columns: dict[str, list[str | None]] = {
        "id": [str(uuid.uuid4()) for _ in drafts],
        "key": [draft.key for draft in drafts],
        "content": [draft.content for draft in drafts],
        "category": [spelled[draft.category] for draft in drafts],
    }
    # Each of them says the same fields, so the first speaks for all.
    drafted(table, next((draft for draft in drafts if draft.session_id is not None), drafts[0]), [])
    if table.has("session_id"):
        columns["session_id"] = [session_stored(table, draft.session_id, []) for draft in drafts]
    if table.form == "agents":
        columns["agent_id"] = list(owners)
    if drafts[0].namespace is not None:
        columns["namespace"] = [draft.namespace for draft in drafts]
    if drafts[0].importance is not None:
        columns["importance"] = [str(draft.importance) for draft in drafts]
    return columns


async def _fill(open_: Transaction, filled: Sequence[tuple[StoredRow, NewVector]]) -> None:
    if not filled:
        return
    table, given = open_.table, Parameters()
    texts = [
        parameters(StoredRow(row.id, {**row.values, "embedding": wanted.vector.data}), table)["embedding"]
        for row, wanted in filled
    ]
    ids = given.texts([row.id for row, _ in filled])
    shape = casts(table)["embedding"] % "g.vector"
    condition = ids_are(table, [row.id for row, _ in filled], given)
    await open_.connection.execute(
        f"UPDATE {table.quoted} AS m SET embedding = {shape} "
        f"FROM unnest({ids}, {given.texts(texts)}) AS g(id, vector) WHERE m.id::text = g.id AND {condition}",
        *given.values,
    )


def _keep_nothing(changes: Sequence[RowChange]) -> None:
    """For ZeroClaw's own verb, which keeps nothing."""


def _fitting(drafts: Sequence[Draft], start: int) -> Iterator[Draft]:
    size = 0
    for number, draft in enumerate(drafts[start : start + DRAFTS_AT_ONCE]):
        size += len(draft.content)
        if number and size > MOST_BYTES:
            return
        yield draft


def _check_lengths(table: Table, vectors: Sequence[NewVector]) -> None:
    if not has_vectors(table):
        raise Refused("This table has no column for pgvector's vectors.")
    for wanted in vectors:
        if table.dimensions not in (None, wanted.vector.dimensions):
            raise Refused(
                f"The table takes vectors of {table.dimensions} numbers; the model makes {wanted.vector.dimensions}.",
                hint="Name a model in the config that fits, or have the column altered by who owns the table.",
            )
