"""Run the inspector, or one of its rooms, in a headless terminal; press its keys and read its screen."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, ClassVar

from textual.app import App
from textual.pilot import Pilot

from support import settling
from support.screens import NARROW, highlighted_in, line_with, notifications, screen_lines, screen_text, words_of
from zeroclaw_tui.tui.commands import RoomCommands
from zeroclaw_tui.tui.themes import ZEROCLAW_DARK, ZEROCLAW_LIGHT
from zeroclaw_tui.tui.widgets.lines import SearchBar
from zeroclaw_tui.tui.widgets.memory_list import MemoryList

Words = str | tuple[str, ...]


class Screen:
    """Reads the screen of a running app and presses its keys."""

    def __init__(self, pilot: Pilot[Any]) -> None:
        self.pilot = pilot
        self.app: Any = pilot.app

    @property
    def top(self) -> Any:
        """The room or dialog that has the focus."""
        return self.app.screen

    @property
    def browser(self) -> Any:
        """The list of memories, even below other screens."""
        return self.app.screen_stack[1]

    @property
    def rows(self) -> Any:
        """The rows of the list of memories."""
        return self.browser.query_one(MemoryList)

    @property
    def search_bar(self) -> Any:
        """The input field of the search line."""
        return self.browser.query_one(SearchBar).input

    @property
    def mode(self) -> str:
        """The highlighted search mode of the search line."""
        return "".join(highlighted_in(self.browser.query_one("SearchBar > .prompt")))

    @property
    def text(self) -> str:
        """Every line as drawn."""
        return screen_text(self.app)

    @property
    def words(self) -> str:
        """The text with one space between words, without frames and cursors."""
        return words_of(self.text)

    @property
    def lines(self) -> list[str]:
        """Every line without frames."""
        return screen_lines(self.app)

    @property
    def notifications(self) -> str:
        """Every notification so far, one per line."""
        return notifications(self.app)

    def line(self, number: int) -> str:
        """Return one line, counted from 0."""
        return self.text.splitlines()[number]

    def line_with(self, words: str) -> str:
        """Return the first line with these words, with one space between words."""
        return line_with(self.app, words)

    def shows(self, *texts: str) -> None:
        """Fail unless each text is on the screen."""
        words = words_of(text := self.text)
        for one in texts:
            assert one in text or one in words, f"{one!r} is not on the screen:\n{text}"

    def hides(self, *texts: str) -> None:
        """Fail if one of these texts is on the screen."""
        words = words_of(text := self.text)
        for one in texts:
            assert one not in text and one not in words, f"{one!r} is on the screen:\n{text}"  # noqa: PT018

    def says(self, *texts: str) -> None:
        """Fail unless each text is in a notification."""
        for one in texts:
            assert one in self.notifications, f"{one!r} is no notification, but:\n{self.notifications}\n{self.text}"

    async def press(self, *keys: str, shows: Words = (), hides: Words = (), says: Words = ()) -> None:
        """Press keys as `settling.press` does, then check the texts that the screen shows, hides and says."""
        await settling.press(self.pilot, *keys)
        for check, texts in ((self.shows, shows), (self.hides, hides), (self.says, says)):
            if texts:
                check(*([texts] if isinstance(texts, str) else texts))

    async def settle(self) -> None:
        """Wait until all pending work is done and painted."""
        await settling.settled(self.pilot)

    async def until(self, *wanted: str | Callable[[], object]) -> None:
        """Wait until each text is on the screen and each condition is true."""
        for one in wanted:
            shown = (lambda text=one: self._has(text)) if isinstance(one, str) else one
            await settling.until(self.pilot, shown)

    def _has(self, wanted: str) -> bool:
        text = self.text
        return wanted in text or wanted in words_of(text)

    async def click(self, text: str, within: str = "*") -> None:
        """Click the first letter of a text, inside the given widget if any."""
        await settling.click_text(self.pilot, text, within)

    async def command(self, name: str) -> None:
        """Run a command by id, as the palette does."""
        await self.top.run_command(name)
        await self.settle()

    async def go_to(self, words: str) -> None:
        """Move the cursor to the row with these words."""
        await self.press("g")
        for _ in range(40):
            if any(line.startswith(("▌", "◉")) and words in line for line in self.lines):
                return
            await self.press("j")
        raise AssertionError(f"no row has {words!r}:\n{self.text}")


@asynccontextmanager
async def running(app: App[Any], size: tuple[int, int] = NARROW, *, rests: bool = True) -> AsyncIterator[Screen]:
    """Run an app in a terminal of this size; with `rests`, wait until it is idle first."""
    async with app.run_test(size=size, notifications=True) as pilot:
        screen = Screen(pilot)
        if rests:
            await screen.settle()
        yield screen


class RoomApp(App[None]):
    """An empty screen that opens a room or dialog, or runs a function that opens one; `given` is the result."""

    CSS_PATH = Path(__file__).parents[2] / "zeroclaw_tui" / "tui" / "rooms" / "browser.tcss"
    COMMANDS: ClassVar = {RoomCommands}

    def __init__(
        self, room: Callable[[], Any] | None = None, work: Callable[[App[Any]], Awaitable[Any]] | None = None
    ) -> None:
        super().__init__()
        self._make, self._work, self._opened_itself = room, work, False
        self.room: Any = None
        self.given: list[Any] = []
        self.suspended = 0
        self.register_theme(ZEROCLAW_DARK)
        self.register_theme(ZEROCLAW_LIGHT)
        self.theme = ZEROCLAW_DARK.name

    async def on_mount(self) -> None:
        if self._make is not None:
            made = self._make()
            self._opened_itself = inspect.isawaitable(made)
            self.room = await made if self._opened_itself else made
            await self.push_screen(self.room, self.take)
        if self._work is not None:
            self.run_worker(self._do(self._work), group="change")

    def take(self, result: Any) -> None:
        """Store the result of the room."""
        self.given.append(result)

    async def _do(self, work: Callable[[App[Any]], Awaitable[Any]]) -> None:
        self.given.append(await work(self))

    async def on_unmount(self) -> None:
        if self._opened_itself:
            await self.room.library.close()

    @contextmanager
    def suspend(self) -> Iterator[None]:
        """Count how often the terminal is handed to another program."""
        self.suspended += 1
        yield

    @property
    def library(self) -> Any:
        """The open store."""
        return self.room.library

    async def keys(self) -> list[str]:
        """The keys of all stored memories."""
        return sorted(entry.key for entry in await self.library.memory.list())
