"""Memory in Redis, as the tutorial for custom backends lays it out; ZeroClaw itself has no such backend."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from zeroclaw_tui.backends import row_reverting, row_writing
from zeroclaw_tui.backends.redis import writing
from zeroclaw_tui.backends.redis.connect import SHAPE, RedisAddress, read_url
from zeroclaw_tui.backends.redis.reading import RedisReading
from zeroclaw_tui.backends.sqlite.clock import local_now
from zeroclaw_tui.memory.change import (
    Advance,
    Batches,
    Clash,
    Draft,
    Edit,
    Keep,
    Removal,
    Reversal,
    Stamp,
    Vector,
    Written,
)
from zeroclaw_tui.memory.errors import WrongUse

if TYPE_CHECKING:
    from zeroclaw_tui.config.memory_config import MemoryConfig

_SHORTEST_TIMEOUT, _LONGEST_TIMEOUT = 1.0, 300.0
_USUAL_TIMEOUT = 5.0
_STORED_AT_ONCE = 500


class RedisMemory(RedisReading):
    """Each memory is a JSON document under `memory:<key>`. A write is done in one step, or not at all."""

    def __init__(
        self,
        address: RedisAddress,
        *,
        connect_seconds: float = _USUAL_TIMEOUT,
        read_only: bool = False,
        clock: Callable[[], str] = local_now,
    ) -> None:
        super().__init__(address, connect_seconds=connect_seconds, read_only=read_only)
        self._clock = clock

    @classmethod
    def from_config(cls, config: MemoryConfig) -> RedisMemory:
        """The server that the location names, or the config's settings. Raises WrongUse."""
        url = config.location or config.storage.get("url") or config.storage.get("db_url")
        if not url or not isinstance(url, str):
            raise WrongUse(
                "Redis needs to know which server.",
                hint=f"--location takes its URL, or [storage.redis.default] url in config.toml: {SHAPE}.",
            )
        seconds = config.storage.get("connect_timeout_secs")
        if seconds is not None and (isinstance(seconds, bool) or not isinstance(seconds, int | float)):
            raise WrongUse("connect_timeout_secs of Redis is no number.", hint="Write it without quotes, such as 5.")
        limit = min(max(float(seconds), _SHORTEST_TIMEOUT), _LONGEST_TIMEOUT) if seconds else _USUAL_TIMEOUT
        return cls(read_url(url), connect_seconds=limit, read_only=config.read_only)

    async def store(self, key: str, content: str, category: str, session_id: str | None = None) -> None:
        """Write one memory; an existing key keeps its id, its time and what else its document has."""
        await self.store_batch([Draft(key, content, category, session_id)])

    async def store_batch(self, drafts: Sequence[Draft]) -> None:
        """Write many memories, some hundreds in one step."""
        self._refuse_unless_writable()
        with self.connection.asking():
            for start in range(0, len(drafts), _STORED_AT_ONCE):
                await writing.store_all(self.connection, drafts[start : start + _STORED_AT_ONCE], self._clock)

    async def forget(self, key: str) -> bool:
        """Delete by key; True when there was one. Raises Refused for a value that is no memory."""
        async with self._rows_to_write() as rows:
            row = await rows.of_key(key)
            return row is not None and await rows.drop(row)

    async def create(self, draft: Draft, keep: Keep, *, vector: Vector | None = None, replace: bool = False) -> Written:
        """Store a new memory. Raises DuplicateKey without `replace`, and Refused over a value that is no memory."""
        async with self._rows_to_write() as rows:
            return await row_writing.create(rows, draft, keep, replace)

    async def update(self, id: str, edit: Edit, expected: str, keep: Keep, *, vector: Vector | None = None) -> Written:
        """Change fields of one memory; what else its document has stays. Raises Conflict, NotThere, DuplicateKey."""
        row = await self.stored(id)
        async with self._rows_to_write() as rows:
            return await row_writing.update(rows, id if row is None else row.id, edit, expected, keep)

    async def remove(
        self, stamps: Sequence[Stamp], keep: Keep, advance: Advance | None = None, *, zero: bool = False
    ) -> Removal:
        """Delete the memories that still have the state of their stamp. Redis overwrites no freed memory."""
        places = {stamp.id: str(stamp.handle) for stamp in stamps}
        async with self._rows_to_write(places if len(places) == len(stamps) else None) as rows:
            return await writing.remove(self.connection, rows, stamps, keep, advance)

    async def revert(
        self, changes: Batches, keep: Keep, *, clash: Clash = "refuse", advance: Advance | None = None
    ) -> Reversal:
        """Bring memories back to the letter, and when they expire too. Raises Clashes."""
        async with self._rows_to_write() as rows:
            return await row_reverting.revert(rows, changes, keep, clash, advance)

    @asynccontextmanager
    async def _rows_to_write(self, places: Mapping[str, str] | None = None) -> AsyncIterator[writing.RedisRows]:
        """The rows; `places` are keys of ids that are sure."""
        self._refuse_unless_writable()
        with self.connection.asking():

            def place(wanted: str) -> str | None:
                return (places or {}).get(wanted) or self.key_of(wanted)

            yield writing.RedisRows(self.connection, place, self.everything, self._clock)

    def _refuse_unless_writable(self) -> None:
        if self.read_only_because is not None:
            raise self.refuse_to_write()
