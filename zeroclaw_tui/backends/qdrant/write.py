"""Writing to a Qdrant collection: compare, keep, write and wait, then read again.

Qdrant has no transactions: between comparing and writing another program may write too. What is read afterwards tells.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace as with_parts

from zeroclaw_tui.backends import row_writing
from zeroclaw_tui.backends.qdrant.browse import Condition, Points, of_keys
from zeroclaw_tui.backends.qdrant.points import (
    WHY_NOT,
    checked,
    lost,
    needs_vector,
    point_id,
    point_of,
    same,
    unpacked,
)
from zeroclaw_tui.backends.qdrant.search import Embedding, text_of
from zeroclaw_tui.memory.change import Draft, RowChange, StoredRow, Value
from zeroclaw_tui.memory.errors import NotReachable
from zeroclaw_tui.memory.text import one_line

_BY_ANOTHER = "Another program wrote {!r} at the same moment: Qdrant has no transactions. It is as that one left it."
_LONGEST_KEY = 60


class Writer:
    """What all writes to one open collection are made of. Nothing here asks or keeps; the callers do."""

    def __init__(self, points: Points, embedding: Embedding) -> None:
        self._points = points
        self._embedding = embedding
        self.shape = points.shape

    async def rows_of_ids(self, ids: Iterable[str]) -> dict[str, StoredRow]:
        """Points by id, with their vectors."""
        return {row.id: row for row in await self._points.rows_of([*ids], vectors=True)}

    async def rows_of_keys(self, keys: Sequence[str], agent: str | None) -> list[StoredRow]:
        """The points of these keys and one agent, with their vectors, the oldest first."""
        return await self._points.rows(self._of_keys(keys, agent), vectors=True)

    async def embedded(self, rows: Sequence[StoredRow]) -> list[StoredRow]:
        """The rows, those without a vector embedded. Raises Refused, EmbeddingFailed."""
        lacking = [row for row in rows if needs_vector(row)]
        texts = [text_of(str(row.values["key"]), str(row.values["content"])) for row in lacking]
        made = dict(zip((row.id for row in lacking), await self.vectors_of(texts), strict=True)) if lacking else {}
        return [
            with_parts(row, values={**row.values, "embedding": made[row.id]}) if row.id in made else row for row in rows
        ]

    async def vectors_of(self, texts: Sequence[str]) -> list[bytes]:
        """The vectors of texts. Raises Refused, EmbeddingFailed."""
        return await self._embedding.vectors(texts, self.shape)

    async def upsert(self, rows: Sequence[StoredRow]) -> None:
        """Write points whole, new ones or over those of the same id."""
        if rows:
            await self._points.connection.write_points("PUT", "/points", map(point_of, rows))

    async def delete(self, ids: Sequence[str]) -> None:
        """Delete points by id; those that are not there are none of Qdrant's concern."""
        named = [number for name in ids if (number := point_id(name)) is not None]
        if named:
            await self._points.connection.ask("POST", "/points/delete?wait=true", {"points": named})

    async def write_vectors(self, vectors: Mapping[str, bytes]) -> None:
        """Give points other vectors, by id."""
        points = ({"id": point_id(name), "vector": unpacked(data)} for name, data in vectors.items())
        await self._points.connection.write_points("PUT", "/points/vectors", points)

    async def written(self, rows: Sequence[StoredRow]) -> tuple[list[StoredRow], tuple[str, ...]]:
        """The rows as they are after writing, and a sentence for each that is not as it was written.

        Raises NotReachable where one is not there.
        """
        found = await self.rows_of_ids([row.id for row in rows])
        notes: list[str] = []
        for row in rows:
            if row.id not in found:
                raise NotReachable(
                    f"Qdrant took the memory {_shown(row)!r}, but does not have it.",
                    hint="Another program may have deleted it at the same moment; look again.",
                )
            if not same(found[row.id], row):
                notes.append(_BY_ANOTHER.format(_shown(row)))
        return [found[row.id] for row in rows], tuple(notes)

    async def delete_others(self, rows: Sequence[StoredRow], agent: str | None) -> None:
        """Delete the points that have the key of one of these rows and are none of them."""
        keys = [str(row.values["key"]) for row in rows]
        conditions = self._of_keys(keys, agent)
        conditions["must_not"] = [{"has_id": [point_id(row.id) for row in rows]}]
        await self._points.connection.ask("POST", "/points/delete?wait=true", {"filter": conditions})

    async def delete_key(self, key: str) -> bool:
        """Delete every agent's points of a key; whether there were any."""
        conditions = self._of_keys([key], None)
        found = await self._points.connection.count(conditions)
        if found:
            await self._points.connection.ask("POST", "/points/delete?wait=true", {"filter": conditions})
        return found > 0

    def _of_keys(self, keys: Sequence[str], agent: str | None) -> Condition:
        return of_keys(keys, agent if self.shape.has_agents else None)


class QdrantRows(row_writing.Rows):
    """The points of one agent, told apart by their ids; where points name no agents, all of them."""

    keys_are_unique = False

    def __init__(self, writer: Writer, agent: str | None) -> None:
        self._writer, self._agent = writer, agent
        self._shape = writer.shape
        self._coming_back: set[str] = set()
        self._by_id: dict[str, StoredRow | None] = {}
        self._by_key: dict[str, list[StoredRow]] = {}
        self._lost: dict[str, None] = {}

    async def expect(self, changes: Sequence[RowChange]) -> None:
        """Read what these changes are about by two requests."""
        self._coming_back |= {self.identity(change.before) for change in changes if change.before}
        rows = [self._shape.native(row) for change in changes for row in (change.before, change.after) if row]
        ids, keys = {row.id for row in rows}, {str(row.values["key"]) for row in rows}
        self._by_id = dict.fromkeys(ids) | await self._writer.rows_of_ids(ids)
        self._by_key = {key: [] for key in keys}
        for row in await self._writer.rows_of_keys(sorted(keys), self._agent):
            self._by_key[str(row.values["key"])].append(row)

    async def of_ids(self, ids: Iterable[str]) -> dict[str, StoredRow]:
        """Points by id."""
        return await self._writer.rows_of_ids(ids)

    async def of_key(self, key: str) -> StoredRow | None:
        """The oldest point of that key, of those that are not brought back here: two may have had it before."""
        if key not in self._by_key:
            self._by_key[key] = await self._writer.rows_of_keys([key], self._agent)
        return next((row for row in self._by_key[key] if row.id not in self._coming_back), None)

    def identity(self, row: StoredRow) -> str:
        """The id of its point."""
        return self._shape.native(row).id

    async def present(self, row: StoredRow) -> StoredRow | None:
        """The point of its id."""
        name = self.identity(row)
        if name not in self._by_id:
            self._by_id[name] = (await self._writer.rows_of_ids([name])).get(name)
        return self._by_id[name]

    def same(self, one: StoredRow, other: StoredRow) -> bool:
        """Whether every value but the vector is the same."""
        return same(self._shape.native(one), self._shape.native(other))

    def drafted(self, draft: Draft, existing: StoredRow | None) -> StoredRow:
        """Without a vector, which `carry_out` makes."""
        row = self._shape.drafted(draft, existing.id if existing else None, b"")
        return with_parts(row, values={name: value for name, value in row.values.items() if name != "embedding"})

    def edited(self, row: StoredRow, values: Mapping[str, Value]) -> StoredRow:
        """With the vector it has."""
        return self._shape.edited(row, values, None)

    def returned(self, row: StoredRow, over: StoredRow | None, *, apart: bool) -> StoredRow:
        """With its id, unless that belongs to another; what this store does not keep is told by `carry_out`."""
        self._lost |= dict.fromkeys(lost(row))
        row = checked(self._shape.native(row))
        if apart:
            name = str(uuid.uuid4())
            row = StoredRow(name, {**row.values, "id": name}, name, row.agent)
        return row

    async def put(self, row: StoredRow, over: StoredRow | None) -> StoredRow:
        """Write one row, in place of `over`."""
        await self.carry_out([(over, row)])
        return (await self._writer.written([row]))[0][0]

    async def drop(self, row: StoredRow) -> bool:
        """Delete one point; False when it had gone."""
        was_there = bool(await self._writer.rows_of_ids([row.id]))
        await self._writer.delete([row.id])
        return was_there

    async def carry_out(self, deeds: Sequence[tuple[StoredRow | None, StoredRow | None]]) -> Sequence[str]:
        """All of it by a few requests: what is written first, what goes after."""
        state: dict[str, StoredRow | None] = {}
        for over, wanted in deeds:
            if over is not None:
                state[over.id] = None
            if wanted is not None:
                state[wanted.id] = wanted
        rows = await self._writer.embedded([row for row in state.values() if row is not None])
        await self._writer.upsert(rows)
        await self._writer.delete([name for name, row in state.items() if row is None])
        self._by_id, self._by_key = {}, {}
        return [*(WHY_NOT[name] for name in self._lost), *(await self._writer.written(rows))[1]]


def _shown(row: StoredRow) -> str:
    return one_line(str(row.values["key"]))[:_LONGEST_KEY]
