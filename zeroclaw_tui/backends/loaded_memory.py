"""The base of stores that are read whole."""

from __future__ import annotations

from abc import abstractmethod
from asyncio import Lock
from typing import Generic, TypeVar

from zeroclaw_tui.backends.base import Entries, Memory
from zeroclaw_tui.backends.loaded import Loaded
from zeroclaw_tui.memory.change import Change, Draft
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.errors import InspectorError
from zeroclaw_tui.memory.query import ENTRIES, NEWEST_UPDATED, VERSIONS, MemoryFilter, Query

Contents = TypeVar("Contents", bound=Loaded)


class LoadedMemory(Memory):
    """A store whose memories are all loaded at once.

    A subclass supplies `_loaded`, and `_writer` unless it has `store` and `forget` of its own.
    """

    @abstractmethod
    async def _loaded(self) -> Loaded:
        """The memories as they are now."""

    async def health_check(self) -> bool:
        try:
            await self._loaded()
        except InspectorError:
            return False
        return True

    async def get(self, key: str) -> MemoryEntry | None:
        return next(iter((await self._loaded()).by_key.get(key, ())), None)

    async def list(self, category: str | None = None, session_id: str | None = None) -> Entries:
        """All memories that none has replaced, the last stored first."""
        wanted = MemoryFilter(
            category=None if category is None else (category,),
            session=(session_id,) if session_id is not None and "sessions" not in self.why_not else None,
        )
        return [*await self.rows(Query(ENTRIES, wanted, NEWEST_UPDATED))]

    async def store(self, key: str, content: str, category: str, session_id: str | None = None) -> None:
        await self.apply([Change(None, Draft(key, content, category, session_id))], None, on_conflict="overwrite")

    async def forget(self, key: str) -> bool:
        deleting = [Change(version, None) for version in await self.rows(Query(VERSIONS, keys=[key]))]
        return (await self.apply(deleting, None)).written > 0

    async def count(self) -> int:
        return len((await self._loaded()).entries)


class ReloadedMemory(LoadedMemory, Generic[Contents]):
    """A store that is loaded again when its state has changed."""

    _contents: Contents | None = None
    _state_loaded: object = None
    _loading: Lock | None = None

    @abstractmethod
    async def _state(self) -> object:
        """What differs after each write, also of other programs; hashable."""

    @abstractmethod
    async def _load(self) -> Contents:
        """Read everything."""

    async def _loaded(self) -> Contents:
        self._loading = self._loading or Lock()
        async with self._loading:
            state = await self._state()
            if self._contents is None or state != self._state_loaded:
                self._contents, self._state_loaded = await self._load(), state
            return self._contents

    async def version(self) -> int | None:
        return hash(await self._state())
