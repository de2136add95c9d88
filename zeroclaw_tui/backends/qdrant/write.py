"""Writing to a Qdrant collection: compare, keep, write and wait, then read again.

Qdrant has no transactions: between comparing and writing another program may write too. What is read afterwards tells.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace as with_parts

from zeroclaw_tui.backends.qdrant.points import (
    DEFAULT_AGENT,
    EDITABLE_HERE,
    NO_AGENTS,
    WHY_NOT,
    checked,
    lost,
    needs_vector,
    point_id,
    point_of,
    same,
    unpacked,
)
from zeroclaw_tui.backends.qdrant.search import Condition, Embedding, Points, of_keys, text_of
from zeroclaw_tui.backends.revert import Operation, Rows
from zeroclaw_tui.memory.change import Draft, NewVector, RowChange, StoredRow, Value, Vector
from zeroclaw_tui.memory.errors import NotReachable, Refused
from zeroclaw_tui.memory.text import one_line

_BY_ANOTHER = (
    "Another program wrote {!r} at the same moment: Qdrant has no transactions. The other program's version stays."
)
_LONGEST_KEY = 60


class Writer:
    """What all writes to one open collection are made of. Nothing here asks or keeps; the callers do."""

    def __init__(self, points: Points, embedding: Embedding) -> None:
        self._points = points
        self.embedding = embedding
        self.shape = points.shape

    async def rows_of_ids(self, ids: Iterable[str]) -> dict[str, StoredRow]:
        """Points by id, with their vectors."""
        return {row.id: row for row in await self._points.rows_of([*ids], vectors=True)}

    async def rows_of_keys(self, keys: Sequence[str], agent: str | None) -> list[StoredRow]:
        """The points of these keys, and of one agent unless that is None, with their vectors, the oldest first."""
        return await self._points.rows(self._of_keys(keys, agent), vectors=True)

    async def embedded(self, rows: Sequence[StoredRow]) -> list[StoredRow]:
        """The rows, those without a vector embedded. Raises Refused, EmbeddingFailed."""
        lacking = [row for row in rows if needs_vector(row)]
        texts = [text_of(row.key, str(row.values["content"])) for row in lacking]
        made = iter(await self.embedding.vectors(texts, self.shape) if lacking else ())
        return [
            with_parts(row, values={**row.values, "embedding": next(made)}) if needs_vector(row) else row
            for row in rows
        ]

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
                    hint="Another program may have deleted it at the same moment. Check again.",
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


class QdrantRows(Rows):
    """The points of a collection, told apart by their ids; the owner is the agent, where points name one."""

    keys_are_unique = False

    def __init__(self, writer: Writer, vector: Vector | None = None) -> None:
        super().__init__()
        self._writer = writer
        self._shape = writer.shape
        self._given = None if vector is None else writer.embedding.given(vector, writer.shape)
        self._coming_back: set[str] = set()
        self._by_id: dict[str, StoredRow | None] = {}
        self._by_key: dict[tuple[str | None, str], list[StoredRow]] = {}

    def check_edit(self, values: Mapping[str, Value]) -> None:
        """Raises Refused for a field that no point has."""
        for name in values:
            if name not in EDITABLE_HERE:
                raise Refused(WHY_NOT[name])

    def check_vectors(self, vectors: Sequence[NewVector]) -> None:
        """Raises Refused for vectors of another length."""
        for new in vectors:
            self._writer.embedding.given(new.vector, self._shape)

    async def expect(self, changes: Sequence[RowChange]) -> None:
        """Read what these changes are about by two requests."""
        self._coming_back |= {self.identity(change.before) for change in changes if change.before}
        rows = [self._shape.native(row) for change in changes for row in (change.before, change.after) if row]
        ids, keys = {row.id for row in rows}, {row.key for row in rows}
        self._by_id = dict.fromkeys(ids) | await self._writer.rows_of_ids(ids)
        self._by_key = {(row.agent, row.key): [] for row in rows}
        for row in await self._writer.rows_of_keys(sorted(keys), None):
            self._by_key.setdefault((row.agent, row.key), []).append(row)

    async def of_ids(self, ids: Iterable[str]) -> dict[str, StoredRow]:
        """Points by id."""
        return await self._writer.rows_of_ids(ids)

    async def of_key(self, key: str, owner: str | None = None) -> StoredRow | None:
        """The oldest point of that key, of those that are not brought back here: two may have had it before."""
        found = await self._of_key(key, owner)
        return next((row for row in found if row.id not in self._coming_back), None)

    async def others_of_key(self, key: str, owner: str | None) -> Sequence[StoredRow]:
        """Every point of that key but the oldest."""
        return (await self._of_key(key, owner))[1:]

    async def _of_key(self, key: str, owner: str | None) -> list[StoredRow]:
        if (owner, key) not in self._by_key:
            self._by_key[owner, key] = await self._writer.rows_of_keys([key], owner)
        return self._by_key[owner, key]

    def identity(self, row: StoredRow) -> str:
        """The id of its point."""
        return self._shape.native(row).id

    def owner(self, row: StoredRow) -> str | None:
        """Its agent."""
        return self._shape.native(row).agent

    async def owner_named(self, alias: str | None) -> tuple[str | None, Operation | None]:
        """That agent, or ZeroClaw's usual one; where points name none, nobody."""
        return (alias or DEFAULT_AGENT) if self._shape.has_agents else None, None

    async def present(self, row: StoredRow) -> StoredRow | None:
        """The point of its id."""
        name = self.identity(row)
        if name not in self._by_id:
            self._by_id[name] = (await self._writer.rows_of_ids([name])).get(name)
        return self._by_id[name]

    def same(self, one: StoredRow, other: StoredRow) -> bool:
        """Whether every value but the vector is the same."""
        return same(self._shape.native(one), self._shape.native(other))

    def drafted(self, draft: Draft, existing: StoredRow | None, owner: str | None) -> StoredRow:
        """With the vector that was given, or none yet."""
        row = self._shape.drafted(draft, existing.id if existing else None, self._given or b"")
        self.remarks |= {WHY_NOT[name]: None for name in draft.named}
        if draft.agent is not None and not self._shape.has_agents:
            self.remarks[NO_AGENTS] = None
        self._tell_session(draft.session_id, row)
        return row if self._given is not None else _without_vector(row)

    def edited(self, row: StoredRow, values: Mapping[str, Value]) -> StoredRow:
        """Under another key or content with the vector that was given, or none yet."""
        wanted = self._shape.edited(row, values, None)
        self._tell_session(values.get("session_id"), wanted)
        if all(wanted.values[name] == row.values[name] for name in ("key", "content")):
            return wanted
        return _without_vector(wanted) if self._given is None else self._shape.edited(row, values, self._given)

    def returned(self, row: StoredRow, over: StoredRow | None, owner: str | None, *, apart: bool) -> StoredRow:
        """With its id, unless that belongs to another."""
        self.remarks |= {WHY_NOT[name]: None for name in lost(row)}
        row = checked(self._shape.native(row))
        if apart:
            name = str(uuid.uuid4())
            row = StoredRow(name, {**row.values, "id": name}, name, row.agent)
        return row

    async def write(self, operations: Sequence[Operation]) -> Sequence[RowChange]:
        """Embed what has no vector, before anything is kept. Raises Refused, EmbeddingFailed."""
        rows = [operation.wanted for operation in operations if operation.wanted is not None and not operation.is_done]
        embedded = iter(await self._writer.embedded(rows))
        ready = [
            one if one.wanted is None or one.is_done else with_parts(one, wanted=next(embedded)) for one in operations
        ]
        return await super().write(ready)

    async def carry_out(self, operations: Sequence[Operation]) -> Sequence[RowChange]:
        """All of it by a few requests: what is written first, what goes after."""
        state: dict[str, StoredRow | None] = {}
        for operation in operations:
            if operation.over is not None:
                state[operation.over.id] = None
            if operation.wanted is not None:
                state[operation.wanted.id] = operation.wanted
        rows = [row for row in state.values() if row is not None]
        await self._writer.upsert(rows)
        await self._writer.delete([name for name, row in state.items() if row is None])
        self._by_id, self._by_key = {}, {}
        there, sentences = await self._writer.written(rows)
        self.remarks |= dict.fromkeys(sentences)
        last = {row.id: row for row in there}
        changes: list[RowChange] = []
        for operation in operations:
            wanted = operation.wanted
            if wanted is not None and state[wanted.id] is wanted:
                wanted = last[wanted.id]
            changes.append(RowChange(operation.over, wanted, reverses=operation.reverses))
        return changes

    async def upsert(self, drafts: Sequence[Draft]) -> bool:
        """The new points first: whatever ends this in between loses nothing."""
        last = {(draft.key, draft.agent): draft for draft in drafts}
        made = await self._writer.embedded(
            [_without_vector(self._shape.drafted(draft, None, b"")) for draft in last.values()]
        )
        await self._writer.upsert(made)
        for agent in {row.agent for row in made}:
            await self._writer.delete_others([row for row in made if row.agent == agent], agent)
        return True

    async def fill(self, filled: Sequence[tuple[StoredRow, NewVector]]) -> None:
        """The payload stays."""
        await self._writer.write_vectors(
            {row.id: self._writer.embedding.given(new.vector, self._shape) for row, new in filled}
        )

    def _tell_session(self, said: Value, row: StoredRow) -> None:
        stored = row.values["session_id"]
        if isinstance(said, str) and said and stored not in (said, None):
            self.remarks[f"The session is stored as {stored!r}: this ZeroClaw keeps letters, digits, _ and - only."] = (
                None
            )


def _without_vector(row: StoredRow) -> StoredRow:
    return with_parts(row, values={name: value for name, value in row.values.items() if name != "embedding"})


def _shown(row: StoredRow) -> str:
    return one_line(row.key)[:_LONGEST_KEY]
