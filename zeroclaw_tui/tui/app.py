"""The inspector app: opens the store of an install, and shows it in the browser."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

from textual.app import ComposeResult, ScreenStackError
from textual.command import Provider
from textual.css.query import NoMatches
from textual.notifications import SeverityLevel
from textual.screen import Screen
from textual.theme import Theme
from textual.worker import WorkerError, WorkerFailed

from zeroclaw_tui.memory.errors import DONE, REFUSED, BeforeFirstStart, InspectorError, NoInstall, NothingYet
from zeroclaw_tui.memory.text import mask_secrets, one_line, with_tilde
from zeroclaw_tui.tui.commands import ROOM_COMMANDS, Command, Palette, Room, RoomCommands, say_after, show_failure
from zeroclaw_tui.tui.format import safe_text
from zeroclaw_tui.tui.themes import ANSI_DARK, ZEROCLAW_DARK, ZEROCLAW_LIGHT, first_theme, own_variables
from zeroclaw_tui.tui.typeahead import TypeAhead
from zeroclaw_tui.tui.view import Pace, View
from zeroclaw_tui.tui.widgets.lines import Empty

if TYPE_CHECKING:
    from zeroclaw_tui.config.locations import OpenOptions
    from zeroclaw_tui.config.memory_config import MemoryConfig
    from zeroclaw_tui.curation.config_choice import Candidate, StoreStatus
    from zeroclaw_tui.curation.library import Library
    from zeroclaw_tui.tui.rooms.browser import BrowserRoom

DEMO_WANTED = -1
"""The exit code with which a user without an install asks for the demo."""

_STOPPED = frozenset({"change", "copy-write", "editor-save", "live-write"})
"""Worker groups that are cancelled on quit: they may wait for an answer, or finish only the current batch."""
_AWAITED = frozenset({"doctor-write", "make-store"})


def run_inspector(options: OpenOptions, *, clock: Callable[[], datetime] | None = None) -> int:
    """Open the inspector with these options; returns the exit code when the user quits, or DEMO_WANTED."""
    app = InspectorApp(options, clock=clock or (lambda: datetime.now(UTC).astimezone()))
    code = app.run()
    if app.has_failed:
        return REFUSED
    return DONE if code is None else code


class StartRoom(Room[None]):
    """The screen until a store is open: says that it is being opened, or why it does not open and what to do."""

    KEYS = (
        Command("retry", "r", "retry", "Open the store again", True, target="app"),
        Command("demo", "enter", "demo", "Open sample memories", True, target="app"),
        Command("open_path", "O", "open", "Open a file or directory", True, target="app"),
        Command("make_store", "S", "from snapshot", "Create the database from the snapshot", True, target="app"),
        Command("make_empty_store", "n", "create", "Create an empty store", True, target="app"),
        *(replace(command, footer=True) for command in ROOM_COMMANDS if command.id == "stores"),
        Command("keys", "question_mark,f1", "keys", "The keys that work here", True),
        Command("command_palette", "colon,ctrl+p", "commands", "Find a command", listed=False, target="app"),
        Command("quit", "q", "quit", "Quit", True, synonyms="exit leave close", target="app"),
    )

    _offered: Mapping[str, bool] = MappingProxyType({})

    def compose(self) -> ComposeResult:
        yield Empty()

    def on_mount(self) -> None:
        self.show(None)

    def show(self, error: InspectorError | None, snapshot: Path | None = None, *, knows_stores: bool = True) -> None:
        """Say that a store is being opened, or why it does not open and what to do.

        `snapshot` is a file to create the missing database from; `knows_stores` offers the other stores of a config.
        """
        is_first_start = isinstance(error, BeforeFirstStart)
        self._offered = {
            "retry": error is not None,
            "open_path": error is not None,
            "demo": isinstance(error, NoInstall),
            "make_store": snapshot is not None,
            "make_empty_store": is_first_start and snapshot is None,
            "stores": knows_stores,
        }
        if error is None:
            self.query_one(Empty).show("Opening …")
        else:
            title = f"{'' if is_first_start else '✗ '}{safe_text(error.title)}"
            sentences = [safe_text(error.message), safe_text(error.hint)]
            if snapshot is not None:
                sentences.append(f"{safe_text(str(snapshot))} has memories. Press S to create the database from it.")
            self.query_one(Empty).show(title, "\n\n".join(filter(None, sentences)))
        self.refresh_bindings()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return self._offered.get(str(parameters[0]) if parameters else action, True)


class InspectorApp(TypeAhead[int]):
    """Opens a store after the first frame, and shows it or the reason why it does not open."""

    TITLE = "zeroclaw"
    CSS = """
    * { scrollbar-size-vertical: 1; }
    CommandPalette SearchIcon { display: none; }
    ToastRack { align: left bottom; margin: 0 0 1 0; overflow: hidden; }
    ToastHolder { align-horizontal: left; }
    Toast { width: 100%; max-width: 100%; max-height: 4; margin: 0; padding: 0 1; }
    """
    COMMANDS: ClassVar[set[type[Provider] | Callable[[], type[Provider]]]] = {RoomCommands}

    def __init__(self, options: OpenOptions, *, clock: Callable[[], datetime], pace: Pace | None = None) -> None:
        pace = pace or Pace()
        super().__init__(pace.overdue)
        self._options = options
        self._pace = pace
        self._clock = clock
        self._browser: BrowserRoom | None = None
        self._configs: tuple[MemoryConfig, ...] = ()
        self._library: Library | None = None
        self._exit_code = DONE
        self._start = StartRoom()
        self._is_leaving = False
        self._messages = set[str]()
        self.has_failed = False
        self.animation_level = "none"
        for theme in (ZEROCLAW_DARK, ZEROCLAW_LIGHT, ANSI_DARK):
            self.register_theme(theme)
        self._own_theme = self.theme = first_theme(os.environ, self.console.color_system)

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return own_variables(self.current_theme)

    def get_default_screen(self) -> Screen[Any]:
        """The screen that is shown until a store is open."""
        return self._start

    def on_ready(self) -> None:
        self.theme_changed_signal.subscribe(self, self._keep_theme)
        self.open_store()

    async def on_unmount(self) -> None:
        if self._library is not None:
            await self._library.close()

    # These methods import lazily, after the first frame.

    def find_configs(self, options: OpenOptions) -> tuple[MemoryConfig, ...]:
        """Find the installs that match the options, the one to open first. Raises InspectorError."""
        from zeroclaw_tui.curation.config_choice import configs_for

        return configs_for(options)

    async def open_library(self, config: MemoryConfig) -> Library:
        """Open the store of an install. Raises InspectorError."""
        from zeroclaw_tui.curation.library import open_library

        return await open_library(config, self._options.profile)

    def find_stores(self, current: MemoryConfig, started: MemoryConfig) -> Sequence[Candidate]:
        """Find the stores that a config names."""
        from zeroclaw_tui.curation.config_choice import candidates

        return candidates(current, started=started)

    async def check_store(self, candidate: Candidate) -> StoreStatus:
        """Check whether a store answers, and what it can do."""
        from zeroclaw_tui.curation.config_choice import check_candidate

        return await check_candidate(candidate)

    def open_store(self) -> None:
        """Open the install that matches the current options; of several the first."""
        self.run_worker(self._open(), group="open", exclusive=True)

    def action_retry(self) -> None:
        self.open_store()

    def action_demo(self) -> None:
        self.exit(DEMO_WANTED)

    def action_open_path(self) -> None:
        """Ask for a path, and open it instead of the original options."""
        self.run_worker(self._open_path(), group="open-path", exclusive=True)

    async def _open_path(self) -> None:
        from zeroclaw_tui.tui.dialogs import ask_path

        async def find(path: Path) -> OpenOptions:
            options = self._options._replace(path=path, config_dir=None, workspace=None, location=None)
            await asyncio.to_thread(self.find_configs, options)
            return options

        about = "A config directory or workspace of ZeroClaw, a database, a directory of notes, or another tool's data."
        options = await ask_path(self, "Open which file or directory?", about, find)
        if options is not None:
            self._options = options
            self.open_store()

    def action_make_store(self) -> None:
        """Create the missing database from its snapshot, after confirmation."""
        from zeroclaw_tui.tui.transfer import make_from_snapshot

        asking = make_from_snapshot(self, self._configs[0], self._options.profile, self.open_store)
        self.run_worker(asking, group="make-ask", exclusive=True)

    def action_make_empty_store(self) -> None:
        """Create the store that ZeroClaw creates at its first start."""
        self.run_worker(self._make_empty(), group="open", exclusive=True)

    async def _make_empty(self) -> None:
        from zeroclaw_tui.curation.transfer.plan import Target

        try:
            target = await Target.at(self._configs[0], self._options.profile)
            try:
                await target.make()
            finally:
                await target.close()
        except InspectorError as error:
            show_failure(self, error)
        else:
            await self._open()

    async def action_enter_room(self, room: str) -> None:
        """Leave the rooms on top of the browser, unless one of them is writing, and enter this room."""
        browser = self._browser
        while browser is not None and self.screen is not browser and isinstance(self.screen, Room):
            room_left = self.screen
            room_left.action_leave()
            if self.screen is room_left:
                return
        if room == "stores":
            self.action_stores()
        elif browser is not None and self.screen is browser:
            browser.action_open_tab(room)

    def action_stores(self) -> None:
        """Open the list of stores, even if no store is open."""
        from zeroclaw_tui.tui.rooms.stores import StoresRoom

        if self._configs:
            started = self._configs[0]
            current = self._library.config if self._library is not None else started
            find = partial(self.find_stores, current, started)
            room = StoresRoom(self._library, find, self.check_store, self._options.profile, self._pace.patience)
            self.push_screen(room, self._use_store)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Let the current room decide which commands of the app are available."""
        room = self.screen if self.screen_stack else None
        return room.check_action(action, parameters) if isinstance(room, Room) else True

    def action_command_palette(self) -> None:
        """Open the palette with the commands of the room."""
        if not isinstance(self.screen, Palette):
            self.push_screen(Palette())

    async def action_quit(self) -> None:
        """Quit after asking about unsaved text and waiting for the current write."""
        if not self._is_leaving:
            self._is_leaving = True
            self.run_worker(self._leave(), group="leave")

    async def _leave(self) -> None:
        try:
            if any(getattr(screen, "has_unsaved_text", False) for screen in self.screen_stack):
                from zeroclaw_tui.tui.dialogs import Dialog, yes_or_no

                question = yes_or_no("Quit without saving your changes?", "Quit and discard")
                if not await self.push_screen_wait(question):
                    return
                for screen in self.screen_stack:
                    if isinstance(screen, Dialog):
                        screen.discard_text()
            await self._finish_writing()
            # If the store did not open, this is the exit code of its error.
            self.exit(self._exit_code)
        finally:
            self._is_leaving = False

    async def _finish_writing(self) -> None:
        """Stop background work, and wait for the current write; say so if it takes long."""
        writing = [worker for worker in self.workers if worker.group in _STOPPED | _AWAITED and not worker.is_finished]
        if not writing:
            return
        with say_after(self, self._pace.patience, lambda: self.notify("Finishing the current change, then quitting …")):
            for worker in writing:
                if worker.group in _STOPPED:
                    worker.cancel()
            for worker in writing:
                # The change reports its own failure; only its end matters here.
                with suppress(WorkerError):
                    await worker.wait()

    def _handle_exception(self, error: Exception) -> None:
        cause = error.error if isinstance(error, WorkerFailed) else error
        if not self.is_running and isinstance(cause, (NoMatches, ScreenStackError)):
            # Textual removes the screens before all workers that use them have ended.
            return
        # Textual would print a traceback with local variables, which contain memories, and has no public switch for it.
        if self.is_headless or os.environ.get("ZEROCLAW_TUI_DEBUG"):
            super()._handle_exception(error)
            return
        self.has_failed = True
        self.panic(
            f"zeroclaw: Internal error ({type(error).__name__}). Please report it with what you did.\n"
            "The last change was not made, or you can restore it from the trash. "
            "Set ZEROCLAW_TUI_DEBUG=1 to see a traceback."
        )

    async def _open(self) -> None:
        self._start.show(None)
        try:
            self._configs = await asyncio.to_thread(self.find_configs, self._options)
            self.sub_title = place_of(self._configs[0])
            library = await self._open_library()
        except InspectorError as error:
            self._exit_code = DONE if isinstance(error, BeforeFirstStart) else error.exit_code
            snapshot = None
            # The reason why the store did not open is already shown.
            with suppress(InspectorError):
                if isinstance(error, NothingYet):
                    from zeroclaw_tui.curation.snapshot import snapshot_to_make_from

                    snapshot = await asyncio.to_thread(snapshot_to_make_from, self._configs[0])
            self._start.show(error, snapshot, knows_stores=bool(self._configs))
            return
        agent = self._options.agent
        await self._take_over(library, View((("agent", agent),) if agent else ()))

    async def _open_library(self) -> Library:
        """Open the store, and check that the agent of the options exists. Raises InspectorError."""
        library, agent = await self.open_library(self._configs[0]), self._options.agent
        try:
            if agent is not None:
                await library.check_agents([agent])
        except InspectorError:
            await library.close()
            raise
        return library

    async def _take_over(self, library: Library, view: View) -> None:
        """Switch to this store, and close the previous one."""
        from zeroclaw_tui.config.settings import saved_theme
        from zeroclaw_tui.tui.rooms import browser

        self._exit_code = DONE
        before, self._library = self._library, library
        theme = saved_theme(self._configs[0].install)
        if theme in self.available_themes:
            self._own_theme = self.theme = theme
        while self.screen not in (self._browser, self._start):
            await self.pop_screen()
        room = browser.BrowserRoom(library, view, self._clock, self._pace)
        if self._browser is None:
            await self.push_screen(room)
        else:
            self._browser.stop_loading()
            await self.switch_screen(room)
        self._browser = room
        if before is not None:
            await before.close()
        elif len(self._configs) > 1:
            others = ", ".join(map(place_of, self._configs[1:]))
            self.notify(f"Another install here: {others}. Open it with --config-dir.", markup=False)

    def _use_store(self, candidate: Candidate | None) -> None:
        if candidate is not None:
            # All openings share this group, so that the last chosen store is shown.
            self.run_worker(self._switch(candidate), group="open", exclusive=True)

    async def _switch(self, candidate: Candidate) -> None:
        words = f"Opening {one_line(candidate.name)} …"
        try:
            with say_after(self, self._pace.patience, lambda: self.notify(words, markup=False)):
                library = await self.open_library(candidate.config)
        except InspectorError as error:
            # The screen stays, and the previous store stays open.
            still_open = " The previous store is still open." if self._library else ""
            words = f"{safe_text(str(error))}{still_open}"
            self.notify(words, title=error.title, severity="error", markup=False)
            return
        browser = self._browser
        if self.screen not in (browser, self._start) or (browser is not None and browser.is_changing):
            # Work begun in the meantime uses the previous store, so that store must stay open.
            await library.close()
            words = f"{one_line(candidate.name)} is available now, but you started something else. Press 6 to open it."
            self.notify(words, severity="warning", markup=False)
            return
        await self._take_over(library, View())

    def notify(
        self,
        message: str,
        *,
        title: str = "",
        severity: SeverityLevel = "information",
        timeout: float | None = None,
        markup: bool = True,
    ) -> None:
        """Show a message above the footer, unless it is there; failures and warnings stay until a key or click."""
        words = f"{title}: {message}" if title else message
        if words not in self._messages:
            self._messages.add(words)
            self.before_next_input = self.clear_notifications
            timeout = timeout if severity == "information" else 86_400
            super().notify(words, severity=severity, timeout=timeout, markup=markup)

    def clear_notifications(self) -> None:
        self._messages.clear()
        super().clear_notifications()

    def _keep_theme(self, theme: Theme) -> None:
        from zeroclaw_tui.config.settings import save_theme

        if theme.name == self._own_theme or not self._configs:
            return
        self._own_theme = theme.name
        try:
            save_theme(self._configs[0].install, theme.name)
        except InspectorError as error:
            show_failure(self, error)


def place_of(config: MemoryConfig) -> str:
    """The memory location of an install as shown to people; it differs for two installs of one config directory."""
    return one_line(mask_secrets(with_tilde(str(config.install.root))))
