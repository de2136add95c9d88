"""The base of stores that are read whole."""

from __future__ import annotations

from abc import abstractmethod
from asyncio import Lock
from typing import Generic, TypeVar

from zeroclaw_tui.backends.base import RowMemory
from zeroclaw_tui.backends.loaded import Loaded

Contents = TypeVar("Contents", bound=Loaded)


class LoadedMemory(RowMemory):
    """A store whose memories are all loaded at once.

    A subclass supplies `_loaded`, and `_writer` unless it has `store` and `forget` of its own.
    """

    @abstractmethod
    async def _loaded(self) -> Loaded:
        """The memories as they are now."""


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
