"""Putting documents in place of others in one step, and only while they are what was read."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from zeroclaw_tui.backends.redis.connect import Connection
from zeroclaw_tui.backends.redis.documents import EXPIRES_AT, PREFIX, Held, document_of, held, name_of
from zeroclaw_tui.memory.change import Conflict, DuplicateKey, StoredRow
from zeroclaw_tui.memory.errors import InspectorError, NotThere, Refused

if TYPE_CHECKING:
    from redis.asyncio import Redis

TRIES = 20
"""So often a step is begun anew that somebody else's write came into."""
_GONE = "This memory is no longer there."
Deed = tuple[StoredRow | None, StoredRow | None]
"""A row and the one to put in its place; without the second it goes, without the first the second is new."""


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


async def swap(connection: Connection, deeds: Sequence[Deed], before: Callable[[], Any] | None = None) -> None:
    """Do all deeds in order and at once, or none of them; on a cluster one after the other, for its servers do nothing
    together.

    `before` is awaited when all is as expected. Raises Conflict or NotThere for a row that is not what it was,
    DuplicateKey for a key that another memory has, Refused for one that holds something else.
    """
    if not deeds:
        return
    if not connection.is_cluster:
        await connection.at_server(b"", lambda server: _swap_at_once(server, deeds, before))
        return
    _check(deeds, await _texts(_names(deeds), connection.values, connection.each))
    if before is not None:
        await before()
    for done, deed in enumerate(deeds):
        try:
            await _swap_on_cluster(connection, deed)
        except InspectorError as error:
            if done:
                error.tell_so_far(f"{done} of {len(deeds)} were done before.")
            raise


async def _swap_on_cluster(connection: Connection, deed: Deed) -> None:
    """One deed; under another key the new row is written first, and goes again where the old one cannot go."""
    over, wanted = deed
    names = _names([deed])
    if len(names) == 1:
        await connection.at_server(names[0], lambda server: _swap_at_once(server, [deed]))
        return
    assert over is not None
    assert wanted is not None
    new, old = name_of(str(wanted.values["key"])), name_of(str(over.values["key"]))
    await connection.at_server(new, lambda server: _swap_at_once(server, [(None, wanted)]))
    try:
        await connection.at_server(old, lambda server: _swap_at_once(server, [(over, None)]))
    except (Conflict, NotThere):
        with suppress(Conflict, NotThere):
            await connection.at_server(new, lambda server: _swap_at_once(server, [(wanted, None)]))
        raise


async def _swap_at_once(server: Redis, deeds: Sequence[Deed], before: Callable[[], Any] | None = None) -> None:
    from redis.exceptions import WatchError

    names = _names(deeds)
    for _ in range(TRIES):
        pipeline: Any
        async with server.pipeline(transaction=True) as pipeline:
            await pipeline.watch(*names)
            _check(deeds, await watched_texts(pipeline, names))
            if before is not None:
                await before()
                before = None
            pipeline.multi()
            for deed in deeds:
                append(pipeline, *deed)
            try:
                await pipeline.execute()
            except WatchError:
                continue
            return
    raise being_written()


def _names(deeds: Iterable[Deed]) -> list[bytes]:
    return sorted({name_of(str(row.values["key"])) for deed in deeds for row in deed if row is not None})


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


def _check(deeds: Iterable[Deed], present: Mapping[bytes, bytes | None]) -> None:
    now = dict(present)
    for over, wanted in deeds:
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
    """Put what does a deed into a transaction; what lies under the same name as before expires as before."""
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
