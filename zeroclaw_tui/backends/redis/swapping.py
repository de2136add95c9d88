"""Putting documents in place of others in one step, and only while they are what was read."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from zeroclaw_tui.backends.redis.documents import EXPIRES_AT, PREFIX, Held, document_of, held, name_of
from zeroclaw_tui.memory.change import Conflict, DuplicateKey, StoredRow
from zeroclaw_tui.memory.errors import NotThere, Refused

if TYPE_CHECKING:
    from redis.asyncio import Redis

_TRIES = 20
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


async def look(client: Redis, names: Sequence[bytes]) -> dict[bytes, Found]:
    """What lies under these names; those with nothing are left out."""
    if not names:
        return {}
    values = await texts(client, names)
    pipeline = client.pipeline(transaction=False)
    for name in values:
        pipeline.pttl(name)
    found: dict[bytes, Found] = {}
    for (name, value), left in zip(values.items(), await pipeline.execute(), strict=True):
        memory = None if value is None else held(name, value)
        found[name] = Found(memory, _now() + left if left > 0 else None)
    return found


async def swap(client: Redis, deeds: Sequence[Deed], before: Callable[[], Any] | None = None) -> None:
    """Do all deeds in order and at once, or none of them.

    `before` is awaited when all is as expected. Raises Conflict or NotThere for a row that is not what it was,
    DuplicateKey for a key that another memory has, Refused for one that holds something else.
    """
    from redis.exceptions import WatchError

    if not deeds:
        return
    names = sorted({name_of(str(row.values["key"])) for deed in deeds for row in deed if row is not None})
    for _ in range(_TRIES):
        pipeline: Any
        async with client.pipeline(transaction=True) as pipeline:
            await pipeline.watch(*names)
            _check(deeds, await texts(pipeline, names))
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


async def texts(commands: Any, names: Sequence[bytes]) -> dict[bytes, bytes | None]:
    """The values under these names, None for a value that is no text; those with nothing are left out.

    `commands` is a client, or a pipeline that watches.
    """
    values = dict(zip(names, await commands.mget(names), strict=True))
    silent = [name for name, value in values.items() if value is None]
    if silent and await commands.exists(*silent):
        there = {name for name in silent if await commands.exists(name)}
    else:
        there = set()
    return {name: value for name, value in values.items() if value is not None or name in there}


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
