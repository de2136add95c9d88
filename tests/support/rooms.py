"""One room or one dialog of the inspector without the others."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, ClassVar

from textual.app import App

from support.screens import screen_lines, screen_words
from zeroclaw_tui.tui.commands import RoomCommands
from zeroclaw_tui.tui.store_room import StoreRoom
from zeroclaw_tui.tui.themes import ZEROCLAW_DARK, ZEROCLAW_LIGHT


class RoomApp(App[None]):
    """A room over an empty screen, and what it gave back; `make` opens its store and makes it."""

    CSS_PATH = Path(__file__).parents[2] / "zeroclaw_tui" / "tui" / "rooms" / "browser.tcss"
    COMMANDS: ClassVar = {RoomCommands}

    def __init__(self, make: Callable[[], Awaitable[StoreRoom]]) -> None:
        super().__init__()
        self._make = make
        self.room: Any = None
        self.given: list[Any] = []
        self.register_theme(ZEROCLAW_DARK)
        self.register_theme(ZEROCLAW_LIGHT)
        self.theme = ZEROCLAW_DARK.name

    async def on_mount(self) -> None:
        self.room = await self._make()
        await self.push_screen(self.room, self.given.append)

    async def on_unmount(self) -> None:
        await self.room.library.close()

    @property
    def library(self) -> Any:
        """The open store."""
        return self.room.library

    @property
    def lines(self) -> list[str]:
        """Every line on the screen, as a person reads it."""
        return screen_lines(self)

    @property
    def words(self) -> str:
        """The same as `screen_words` says it."""
        return screen_words(self)

    @property
    def message(self) -> str:
        """Every toast so far, as one text."""
        return " ".join(f"{note.title} {note.message}" for note in self._notifications)

    async def keys(self) -> list[str]:
        """The keys of all memories that are stored."""
        return sorted(entry.key for entry in await self.library.memory.list())


class WorkApp(App[None]):
    """Does something that asks, and keeps what that gave."""

    def __init__(self, work: Callable[[App[None]], Awaitable[Any]]) -> None:
        super().__init__()
        self._work = work
        self.given: list[Any] = []

    def on_mount(self) -> None:
        self.run_worker(self._do(), group="change")

    async def _do(self) -> None:
        self.given.append(await self._work(self))
