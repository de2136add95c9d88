"""Every memory of a Redis database at one moment, and how to tell that the moment is over."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from zeroclaw_tui.backends.listing import moment
from zeroclaw_tui.backends.redis.connect import Connection
from zeroclaw_tui.backends.redis.documents import PREFIX, Held, held
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.errors import Refused

NAMES_AT_ONCE = 500
_PARSED_ON_A_THREAD = 400_000
_WRITTEN = len("2026-03-01T10:00:00.123456789+01:00")
PATTERN = PREFIX + b"*"
State = tuple[Any, ...]


@dataclass(frozen=True)
class Everything:
    """The memories in the order of storing; `foreign` are the names of values that are none."""

    memories: tuple[Held, ...] = ()
    foreign: tuple[bytes, ...] = ()
    state: State | None = None

    @cached_property
    def by_key(self) -> dict[str, Held]:
        """By the key they lie under."""
        return {memory.entry.key: memory for memory in self.memories}

    @cached_property
    def keys_of_ids(self) -> dict[str, list[str]]:
        """The keys under which each id lies; a value that was copied has the id of the first."""
        found: dict[str, list[str]] = {}
        for memory in self.memories:
            found.setdefault(memory.entry.id, []).append(memory.entry.key)
        return found

    @cached_property
    def size(self) -> int:
        """How many characters the documents have."""
        return sum(len(memory.document) for memory in self.memories)

    def key_of(self, id: str) -> str | None:
        """The key of an id. Raises Refused where several memories have it."""
        keys = self.keys_of_ids.get(id, [])
        if len(keys) > 1:
            raise Refused(f"{len(keys)} memories have the id {id[:60]}, so it names none.", hint="Remove the copies.")
        return keys[0] if keys else None


def order_of_storing(entry: MemoryEntry) -> tuple[Any, ...]:
    """By time, then by key; what is no time comes first."""
    when = _moment(entry.timestamp)
    # Nine digits are written and six are compared as a time: the text decides between the rest.
    return (when is not None, when or 0, entry.timestamp, entry.key)


def _moment(timestamp: str) -> datetime | None:
    """As `moment`, in half the time for what ZeroClaw writes: nine digits of fraction and an offset."""
    if len(timestamp) == _WRITTEN and timestamp[19] == "." and timestamp[26:29].isdigit():
        try:
            when = datetime.fromisoformat(timestamp[:26] + timestamp[29:])
        except ValueError:
            return None
        if when.tzinfo is not None:
            return when
    return moment(timestamp)


async def read_everything(connection: Connection, state: State | None) -> Everything:
    """Read every memory, some hundreds at a time; what comes or goes meanwhile may be in it or not."""
    names = await connection.names(PATTERN)
    memories: list[Held] = []
    foreign: list[bytes] = []
    for start in range(0, len(names), NAMES_AT_ONCE):
        some = names[start : start + NAMES_AT_ONCE]
        values = await connection.values(some)
        if sum(len(value) for value in values if value) > _PARSED_ON_A_THREAD:
            parsed = await asyncio.to_thread(_parsed, some, values)
        else:
            parsed = _parsed(some, values)
        for name, memory in zip(some, parsed, strict=True):
            if memory is not None:
                memories.append(memory)
            else:
                foreign.append(name)
    ordered = await asyncio.to_thread(sorted, memories, key=lambda memory: order_of_storing(memory.entry))
    return Everything(tuple(ordered), tuple(await _still_there(connection, foreign)), state)


async def state_of(connection: Connection) -> State | None:
    """What changes with every write to a server; None where one does not tell."""
    told = await connection.facts()
    if not told or any("rdb_changes_since_last_save" not in facts for facts in told):
        return None
    names = ("run_id", "rdb_changes_since_last_save", "rdb_last_save_time", "expired_keys", "evicted_keys")
    state: list[Any] = []
    for facts in told:
        counts = [
            (name, fact.get("keys")) for name, fact in facts.items() if isinstance(fact, dict) and name[:2] == "db"
        ]
        state += [*(facts.get(name) for name in names), *sorted(counts)]
    return tuple(state)


async def _still_there(connection: Connection, names: Sequence[bytes]) -> list[bytes]:
    """Those that a look says are there; others went between the scan and the reading."""
    return [name for name, is_there in zip(names, await connection.each("EXISTS", names), strict=True) if is_there]


def _parsed(names: Sequence[bytes], values: Sequence[bytes | None]) -> list[Held | None]:
    return [None if value is None else held(name, value) for name, value in zip(names, values, strict=True)]
