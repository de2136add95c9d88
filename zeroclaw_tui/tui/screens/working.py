"""What the screens of upkeep share: one thing at a time, what fails is told, and a way out that says what changed."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar

from textual.events import Key
from textual.screen import Screen
from textual.widget import Widget

from zeroclaw_tui.memory.errors import InspectorError
from zeroclaw_tui.tui.commands import Command, say_why_dimmed
from zeroclaw_tui.tui.format import shown_words
from zeroclaw_tui.tui.help import HelpScreen
from zeroclaw_tui.tui.loader import Pace
from zeroclaw_tui.tui.widgets.status_bar import Banner

if TYPE_CHECKING:
    from zeroclaw_tui.curation.library import Library

_SECONDS = 0.1
"""How long to wait before something is said where no patience is set."""


class WorkingScreen(Screen[bool]):
    """A screen on one store. Gives True when the store changed."""

    COMMANDS_HERE: ClassVar[Sequence[Command]] = ()
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (120, "-wide")]  # noqa: RUF012

    def __init__(self, library: Library, clock: Callable[[], datetime], pace: Pace) -> None:
        super().__init__()
        self.library = library
        self.clock = clock
        self.pace = pace
        self.has_changed = False
        self.is_busy = False

    def reload(self) -> None:
        """Look again."""
        raise NotImplementedError

    def panes(self) -> Sequence[tuple[str, Widget]]:
        """The panes whose keys the help tells, each with its heading."""
        raise NotImplementedError

    @property
    def read_only_because(self) -> str | None:
        """Why nothing can be written from here, in a sentence; None when it can."""
        return self.library.read_only_because

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """What writes is dimmed in a store that is only read."""
        return None if action in self._writing and self.read_only_because is not None else True

    def on_key(self, event: Key) -> None:
        """A dimmed key says why it is dimmed."""
        say_why_dimmed(self, event, self._writing, self.read_only_because)

    def palette_commands(self) -> Iterable[Command]:
        """The commands that make sense now."""
        return [
            command
            for command in self.COMMANDS_HERE
            if command.in_palette and self.check_action(command.action, ()) is not False
        ]

    def why_not(self, command: Command) -> str | None:
        """Why a command is dimmed, in a sentence; None when it works."""
        return self.read_only_because if command.writes else None

    async def on_banner_clicked(self, event: Banner.Clicked) -> None:
        """Do what the banner's key does."""
        await self.run_action(event.action)

    def action_show_help(self) -> None:
        """The keys that work here."""
        self.app.push_screen(HelpScreen(self, self.COMMANDS_HERE, self.panes()))

    def action_leave(self) -> None:
        """Back to where one came from, unless something is being written."""
        if self.is_busy:
            self.warn("This is still under way.")
        else:
            self.dismiss(self.has_changed)

    def begin(self, work: Coroutine[Any, Any, None], group: str) -> None:
        """Do one thing at a time; what fails is told."""
        if self.is_busy:
            work.close()
            self.warn("One thing at a time: this is still under way.")
            return
        self.is_busy = True
        self.run_worker(self._guarded(work), group=group)

    async def _guarded(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except InspectorError as error:
            self.say_failure(error)
        finally:
            self.is_busy = False

    @contextmanager
    def saying(self, say: Callable[[], None], *, over_and_over: bool = False) -> Iterator[None]:
        """Say what is under way when it takes longer than a person is patient, and nothing once it is over."""
        is_over = False

        def say_still() -> None:
            # The timer may have gone off in the very moment of the end.
            if not is_over:
                say()

        seconds = self.pace.patience or _SECONDS
        timer = self.set_interval(seconds, say_still) if over_and_over else self.set_timer(seconds, say_still)
        try:
            yield
        finally:
            is_over = True
            timer.stop()

    def say_failure(self, error: InspectorError) -> None:
        """One sentence and what to do next; nothing on the screen changes."""
        self.notify(shown_words(str(error)), title=error.title, severity="error", markup=False)

    def tell(self, sentence: str) -> None:
        """Say what was done."""
        self.notify(shown_words(sentence), markup=False)

    def warn(self, sentence: str) -> None:
        """Say what was not done."""
        self.notify(shown_words(sentence), severity="warning", markup=False)

    @property
    def _writing(self) -> frozenset[str]:
        return frozenset(command.action for command in self.COMMANDS_HERE if command.writes)
