"""Changing memories in Redis: documents are put in place of others in one step, only while they are what was read."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from zeroclaw_tui.backends.redis.connect import Connection
from zeroclaw_tui.backends.redis.documents import (
    EXPIRES_AT,
    PREFIX,
    WHY_NOT,
    Everything,
    Held,
    changed_row,
    document_of,
    held,
    name_of,
    native,
    new_row,
)
from zeroclaw_tui.backends.rows import Operation, Rows, kept
from zeroclaw_tui.memory.change import (
    Conflict,
    Draft,
    DuplicateKey,
    RowChange,
    StoredRow,
    Value,
)
from zeroclaw_tui.memory.errors import InspectorError, NotThere, Refused

if TYPE_CHECKING:
    from redis.asyncio import Redis

TRIES = 20
"""So often a step is begun anew that somebody else's write came into."""
_GONE = "This memory is no longer there."


@dataclass(frozen=True, slots=True)
class Found:
    """What lies under a name: a memory, or a value that is none, and when Redis removes it (milliseconds of 1970)."""

    memory: Held | None
    expires_at: int | None = None

    def row(self) -> StoredRow | None:
        """The row of a memory."""
        return None if self.memory is None else self.memory.row(self.expires_at)


async def look(connection: Connection, names: Sequence[bytes]) -> dict[bytes, Found]:
    """What lies under these names; those with nothing are left out."""
    if not names:
        return {}
    values = await _texts(names, connection.values, connection.each)
    found: dict[bytes, Found] = {}
    for (name, value), left in zip(values.items(), await connection.each("PTTL", list(values)), strict=True):
        memory = None if value is None else held(name, value)
        found[name] = Found(memory, _now() + left if left > 0 else None)
    return found


async def swap(
    connection: Connection, operations: Sequence[Operation], before: Callable[[], Any] | None = None
) -> None:
    """Do all of these in order and at once, or none; on a cluster one after the other, for its servers do nothing
    together.

    `before` is awaited when all is as expected. Raises Conflict or NotThere for a row that is not what it was,
    DuplicateKey for a key that another memory has, Refused for one that holds something else.
    """
    if not operations:
        return
    if not connection.is_cluster:
        await connection.at_server(b"", lambda server: _swap_at_once(server, operations, before))
        return
    _check(operations, await _texts(_names(operations), connection.values, connection.each))
    if before is not None:
        await before()
    for done, operation in enumerate(operations):
        try:
            await _swap_on_cluster(connection, operation)
        except InspectorError as error:
            if done:
                error.tell_so_far(f"{done} of {len(operations)} were done before.")
            raise


async def _swap_on_cluster(connection: Connection, operation: Operation) -> None:
    """One operation; under another key the new row is written first, and goes again where the old one cannot go."""
    over, wanted = operation.over, operation.wanted
    names = _names([operation])
    if len(names) == 1:
        await connection.at_server(names[0], lambda server: _swap_at_once(server, [operation]))
        return
    assert over is not None
    assert wanted is not None
    new, old = name_of(str(wanted.values["key"])), name_of(str(over.values["key"]))
    await connection.at_server(new, lambda server: _swap_at_once(server, [Operation(None, wanted)]))
    try:
        await connection.at_server(old, lambda server: _swap_at_once(server, [Operation(over, None)]))
    except (Conflict, NotThere):
        with suppress(Conflict, NotThere):
            await connection.at_server(new, lambda server: _swap_at_once(server, [Operation(wanted, None)]))
        raise


async def _swap_at_once(
    server: Redis, operations: Sequence[Operation], before: Callable[[], Any] | None = None
) -> None:
    from redis.exceptions import WatchError

    names = _names(operations)
    for _ in range(TRIES):
        pipeline: Any
        async with server.pipeline(transaction=True) as pipeline:
            await pipeline.watch(*names)
            _check(operations, await watched_texts(pipeline, names))
            if before is not None:
                await before()
                before = None
            pipeline.multi()
            for operation in operations:
                append(pipeline, operation.over, operation.wanted)
            try:
                await pipeline.execute()
            except WatchError:
                continue
            return
    raise being_written()


def _names(operations: Iterable[Operation]) -> list[bytes]:
    return sorted(
        {
            name_of(str(row.values["key"]))
            for operation in operations
            for row in (operation.over, operation.wanted)
            if row
        }
    )


async def watched_texts(pipeline: Any, names: Sequence[bytes]) -> dict[bytes, bytes | None]:
    """The values under these names, None for a value that is no text; those with nothing are left out."""

    async def each(command: str, asked: Sequence[bytes]) -> list[Any]:
        return [await pipeline.execute_command(command, name) for name in asked]

    return await _texts(names, pipeline.mget, each)


async def texts(connection: Connection, names: Sequence[bytes]) -> dict[bytes, bytes | None]:
    """The same without a watch."""
    return await _texts(names, connection.values, connection.each)


async def _texts(
    names: Sequence[bytes],
    values: Callable[[Sequence[bytes]], Awaitable[Sequence[bytes | None]]],
    each: Callable[[str, Sequence[bytes]], Awaitable[Sequence[Any]]],
) -> dict[bytes, bytes | None]:
    found = dict(zip(names, await values(names), strict=True))
    silent = [name for name, value in found.items() if value is None]
    answers = await each("EXISTS", silent) if silent else ()
    there = [name for name, is_there in zip(silent, answers, strict=True) if is_there]
    # What came between the two questions is a text after all.
    found |= dict(zip(there, await values(there), strict=True)) if there else {}
    return {name: value for name, value in found.items() if value is not None or name in there}


def _check(operations: Iterable[Operation], present: Mapping[bytes, bytes | None]) -> None:
    now = dict(present)
    for operation in operations:
        over, wanted = operation.over, operation.wanted
        if over is not None:
            name = name_of(str(over.values["key"]))
            if name not in now:
                raise NotThere(_GONE, hint="r reloads the list.")
            if now[name] != document_of(over):
                raise Conflict(row_of(name, now[name]))
            del now[name]
        if wanted is not None:
            name = name_of(str(wanted.values["key"]))
            if name in now:
                raise DuplicateKey(str(wanted.values["key"]), row_of(name, now[name]))
            now[name] = document_of(wanted)


def row_of(name: bytes, value: bytes | None) -> StoredRow:
    """The row of a value. Raises Refused for one that is no memory."""
    memory = None if value is None else held(name, value)
    if memory is None:
        raise not_a_memory(name)
    return memory.row()


def being_written() -> Refused:
    """The error for memories that somebody else writes again and again."""
    return Refused("These memories are being written all the time.", hint="Try again when the agent rests.")


def not_a_memory(name: bytes) -> Refused:
    """The error for a key that holds something else."""
    key = name.removeprefix(PREFIX).decode("utf-8", "replace")[:60]
    return Refused(f"Under memory:{key} lies a value that is no memory, and it is left alone.", hint="Choose another.")


def append(pipeline: Any, over: StoredRow | None, wanted: StoredRow | None) -> None:
    """Put an operation into a transaction; what lies under the same name as before expires as before."""
    stays = over is not None and wanted is not None and wanted.values["key"] == over.values["key"]
    if over is not None and not stays:
        pipeline.delete(name_of(str(over.values["key"])))
    if wanted is None:
        return
    name = name_of(str(wanted.values["key"]))
    pipeline.set(name, document_of(wanted), keepttl=stays)
    expires_at = wanted.values.get(EXPIRES_AT)
    if not stays and isinstance(expires_at, int) and expires_at > _now():
        pipeline.pexpireat(name, expires_at)


def _now() -> int:
    return time.time_ns() // 1_000_000


_WRITERS = 4
"""So many memories are on their way to a cluster at once."""
_NO_END = "What was to expire in Redis meanwhile is back without an end."


class RedisRows(Rows):
    """The rows of one verb: where each id lies is looked up once, what lies there anew for every step.

    `place` tells the key of an id as it was some time ago; `fresh` reads everything anew, which takes long, and is only
    asked where an id does not lie where it was. A client's clock and the server's need not agree: times to live are
    counted from the moment they are read.
    """

    def __init__(
        self,
        connection: Connection,
        place: Callable[[str], str | None],
        fresh: Callable[[], Awaitable[Everything]],
        clock: Callable[[], str],
    ) -> None:
        super().__init__()
        self._connection = connection
        self._place = place
        self._fresh: Callable[[], Awaitable[Everything]] | None = fresh
        self._in_trash: set[str] = set()
        self._clock = clock
        self._moved: dict[str, str] = {}
        self._seen: dict[bytes, Found | None] = {}

    async def of_ids(self, ids: Iterable[str]) -> dict[str, StoredRow]:
        """The rows of these ids, as they are now."""
        wanted = list(ids)
        found = await self._where_they_were(wanted)
        if len(found) < len(wanted) and await self._read_anew():
            found = await self._where_they_were(wanted)
        return found

    async def of_key(self, key: str, owner: str | None = None) -> StoredRow | None:
        """The row of that key. Raises Refused where something else lies there."""
        name = name_of(key)
        if name not in self._seen:
            self._seen[name] = (await look(self._connection, [name])).get(name)
        found = self._seen[name]
        if found is None:
            return None
        row = found.row()
        if row is None:
            raise not_a_memory(name)
        return row

    def identity(self, row: StoredRow) -> str:
        """Its id."""
        return row.id

    async def present(self, row: StoredRow) -> StoredRow | None:
        """The row of its id, under the key it has or another."""
        with suppress(Refused):
            there = await self.of_key(str(row.values["key"]))
            if there is not None and there.id == row.id:
                return there
        await self._read_anew()
        key = self._key_of(row.id)
        there = None if key is None else await self.of_key(key)
        return there if there is not None and there.id == row.id else None

    def same(self, one: StoredRow, other: StoredRow) -> bool:
        """Whether the documents are the same, and the keys they lie under."""
        return native(one).fingerprint == native(other).fingerprint

    def drafted(self, draft: Draft, existing: StoredRow | None, owner: str | None) -> StoredRow:
        """With a new id and the time it is now, or those of the row it replaces."""
        self.remarks |= {} if draft.session_id is None else {WHY_NOT["session_id"]: None}
        self.remarks |= {WHY_NOT[name]: None for name in draft.named}
        self.remarks |= {} if draft.agent is None else {WHY_NOT["agents"]: None}
        return drafted(draft, existing, self._clock)

    def edited(self, row: StoredRow, values: Mapping[str, Value]) -> StoredRow:
        """With other values. Raises Refused for what its document cannot hold."""
        for name, value in values.items():
            if name in WHY_NOT and value is not None:
                raise Refused(WHY_NOT[name])
        return changed_row(row, values)

    def returned(self, row: StoredRow, over: StoredRow | None, owner: str | None, *, apart: bool) -> StoredRow:
        """Its very document; with another id where its own belongs to another row, under the key it now has."""
        row = _under_its_key(native(row))
        return changed_row(row, {}, new_id=True) if apart else row

    async def expect(self, changes: Sequence[RowChange]) -> None:
        """Look at all that these changes concern."""
        rows = [row for change in changes for row in (change.before, change.after) if row is not None]
        keys = {str(row.values["key"]) for row in rows} | {key for row in rows if (key := self._key_of(row.id))}
        names = [name_of(key) for key in keys]
        found = await look(self._connection, names)
        self._seen = {name: found.get(name) for name in names}

    async def drop(self, row: StoredRow) -> bool:
        """Remove a row that still is what was read; False when it had gone."""
        try:
            await self.carry_out([Operation(row, None)])
        except NotThere:
            return False
        return True

    async def write(self, operations: Sequence[Operation]) -> Sequence[RowChange]:
        """Rows that only go and were written since they were looked at are left out of what was done."""
        if not operations or any(one.wanted is not None or one.reverses is not None for one in operations):
            return await super().write(operations)
        cluster = self._connection.is_cluster

        async def keep_them() -> None:
            new = [one.change for one in operations if one.change.row.id not in self._in_trash]
            await kept(self.keep, new)
            self._in_trash |= {change.row.id for change in new}

        if cluster:
            await keep_them()
        done: list[Operation] = []
        for step in [[one] for one in operations] if cluster else [operations]:
            with suppress(Conflict, NotThere):
                await swap(self._connection, step, None if cluster else keep_them)
                done += step
        self._seen = {}
        return [one.change for one in done]

    async def upsert(self, drafts: Sequence[Draft]) -> bool:
        """In one step, on a cluster key by key."""
        await store_all(self._connection, drafts, self._clock)
        return True

    async def carry_out(self, operations: Sequence[Operation]) -> Sequence[RowChange]:
        """All at once, where each row still is what was read. Raises Conflict, NotThere, DuplicateKey."""
        await swap(self._connection, operations)
        self._seen = {}
        for row in (operation.wanted for operation in operations):
            if row is not None:
                self._moved[row.id] = row.key
                end = row.values.get(EXPIRES_AT)
                if isinstance(end, int) and end < _now():
                    self.remarks[_NO_END] = None
        return [operation.change for operation in operations]

    async def _where_they_were(self, ids: Iterable[str]) -> dict[str, StoredRow]:
        keys = {id: key for id in ids if (key := self._key_of(id)) is not None}  # noqa: A001
        found = await look(self._connection, [name_of(key) for key in keys.values()])
        rows = {id: found[name_of(key)].row() for id, key in keys.items() if name_of(key) in found}  # noqa: A001
        return {id: row for id, row in rows.items() if row is not None and row.id == id}  # noqa: A001

    async def _read_anew(self) -> bool:
        """Once; False when that was done."""
        fresh, self._fresh = self._fresh, None
        if fresh is not None:
            self._place = (await fresh()).key_of
        return fresh is not None

    def _key_of(self, id: str) -> str | None:
        return self._moved.get(id) or self._place(id)


def drafted(draft: Draft, existing: StoredRow | None, clock: Callable[[], str]) -> StoredRow:
    """The row a draft becomes, new or in place of another."""
    if existing is None:
        return new_row(draft.key, draft.content, draft.category, clock())
    return changed_row(existing, {"content": draft.content, "category": draft.category})


async def store_all(connection: Connection, drafts: Sequence[Draft], clock: Callable[[], str]) -> None:
    """Store drafts in one step, on a cluster key by key; the last of a key wins.

    Raises Refused before any is written.
    """
    wanted = {name_of(draft.key): draft for draft in drafts}
    if not connection.is_cluster:
        if wanted:
            await connection.at_server(b"", lambda server: _store_at_once(server, wanted, clock))
        return
    for name, value in (await texts(connection, list(wanted))).items():
        row_of(name, value)
    waiting = iter(wanted.items())

    async def store_some() -> None:
        for name, draft in waiting:
            await connection.at_server(name, partial(_store_at_once, wanted={name: draft}, clock=clock))

    for failed in await asyncio.gather(*(store_some() for _ in range(_WRITERS)), return_exceptions=True):
        if failed is not None:
            raise failed


async def _store_at_once(server: Redis, wanted: Mapping[bytes, Draft], clock: Callable[[], str]) -> None:
    from redis.exceptions import WatchError

    names = list(wanted)
    for _ in range(TRIES):
        pipeline: Any
        async with server.pipeline(transaction=True) as pipeline:
            await pipeline.watch(*names)
            present = await watched_texts(pipeline, names) if await pipeline.exists(*names) else {}
            pipeline.multi()
            for name, draft in wanted.items():
                existing = row_of(name, present[name]) if name in present else None
                append(pipeline, existing, drafted(draft, existing, clock))
            with suppress(WatchError):
                await pipeline.execute()
                return
    raise being_written()


def _under_its_key(row: StoredRow) -> StoredRow:
    """With the key it goes to in its document too, where taking back gave it another than it had."""
    key = row.values["key"]
    return row if row.handle == key else changed_row(row, {"key": key})
