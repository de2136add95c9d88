"""What the four tabs of upkeep share: a title of fact, a failure in one line, lists with what is under the cursor."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.containers import Container, Vertical
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from zeroclaw_tui.memory.errors import InspectorError
from zeroclaw_tui.tui.commands import Command, bindings
from zeroclaw_tui.tui.format import shown_words
from zeroclaw_tui.tui.loader import Pace
from zeroclaw_tui.tui.themes import MUTED, STRONG
from zeroclaw_tui.tui.widgets.reading_pane import ReadingPane
from zeroclaw_tui.tui.widgets.status_bar import Banner, StatusBar

if TYPE_CHECKING:
    from zeroclaw_tui.curation.changes import Outcome
    from zeroclaw_tui.curation.library import Library
    from zeroclaw_tui.tui.changes import Change, Changes, Work
    from zeroclaw_tui.tui.view import View

_SECONDS = 0.1
"""How long to wait before something is said where no patience is set."""


@dataclass(frozen=True, slots=True)
class Desk:
    """What the room hands to each of its panes: the store, the moment, and the one part that changes memories.

    `begin` makes a change unless something is being written; `after` is told what it came to, and `note_change` that
    memories, files or settings are others now. `narrow` leads to the list, and narrows what it shows of everything.
    """

    library: Library
    clock: Callable[[], datetime]
    pace: Pace
    changes: Changes
    begin: Callable[[Change], None]
    after: Callable[[Outcome | None], Awaitable[None]]
    note_change: Callable[[], None]
    narrow: Callable[[Callable[[View], View]], None]


class UpkeepPane(Vertical):
    """One tab. It is made when it is first shown, and looks at the store then."""

    COMMANDS: ClassVar[Sequence[Command]] = ()

    def __init_subclass__(cls) -> None:
        """The keys of its commands work while the focus is in it."""
        cls.BINDINGS = bindings(cls.COMMANDS)
        super().__init_subclass__()

    def __init__(self, desk: Desk, *, id: str) -> None:
        super().__init__(id=id)
        self.desk = desk
        self._title = ("", "")

    @property
    def library(self) -> Library:
        """The store that is looked after."""
        return self.desk.library

    def compose(self) -> ComposeResult:
        """Title, what went wrong, the lists and what is under the cursor, what is to be known."""
        yield Static("", classes="title", markup=False)
        yield Banner()
        with Container(classes="panes"):
            with Vertical(classes="lists"):
                yield from self.compose_lists()
            yield from self.compose_about()
        yield StatusBar()

    def compose_lists(self) -> ComposeResult:
        """The lists."""
        yield from ()

    def compose_about(self) -> ComposeResult:
        """What stands beside the lists, or below them."""
        yield ReadingPane(Static("", classes="text", markup=False), classes="about")

    def on_mount(self) -> None:
        """Look."""
        self.reload()

    def on_resize(self) -> None:
        """As many facts as fit."""
        self._paint_title()

    @property
    def home(self) -> Widget:
        """The list that has the focus at the start."""
        raise NotImplementedError

    @property
    def is_busy(self) -> bool:
        """Whether it writes something that is no change of memories."""
        return False

    @property
    def read_only_because(self) -> str | None:
        """Why nothing can be written from here, in a sentence; None when it can."""
        return self.library.read_only_because

    def why_dimmed(self, action: str) -> str | None:
        """Why an action cannot be done now, in a sentence; None when it can."""
        writes = any(command.action == action and command.writes for command in self.COMMANDS)
        return self.read_only_because if writes else None

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """What cannot be done is dimmed."""
        return None if self.is_mounted and self.why_dimmed(action) is not None else True

    def reload(self) -> None:
        """Look again."""
        raise NotImplementedError

    def action_reload(self) -> None:
        """Look again, unless something is being changed."""
        if self.desk.changes.is_under_way:
            self.warn("One moment: a change is still under way.")
        else:
            self.reload()

    def after_change(self, outcome: Outcome | None) -> None:
        """Something was changed, here or in another tab; None where nobody can tell what."""
        self.reload()

    async def carry_out(
        self, library: Library, sentence: str, total: int, work: Work, words: Callable[[Outcome], str]
    ) -> None:
        """Do what a person has agreed to, tell by `words` what it came to, and show what is there then."""
        changes = self.desk.changes
        outcome = await changes.carried_out(library, sentence, total, work)
        (changes.tell if outcome.count == total else changes.warn)(shown_words(words(outcome)))
        await self.desk.after(outcome)

    def step_out(self) -> bool:
        """One step back within the tab, or stop what runs; whether there was one."""
        return False

    def stop(self) -> None:
        """Look no further: the room is left."""

    def say_title(self, fact: str, rest: str = "") -> None:
        """The sentence at the top; its rest is left out where it does not fit."""
        self._title = (fact, rest)
        self._paint_title()

    def say_failed(self, error: InspectorError) -> None:
        """What could not be looked at, with the key that tries again; what is shown stays."""
        self.query_one(Banner).show("error", shown_words(str(error)), "r", "tries again", "reload")

    def say_whole(self) -> None:
        """It could be looked at."""
        self.query_one(Banner).hide()

    def say_about(self, content: Content) -> None:
        """All about what is under the cursor, from its beginning."""
        pane = self.query_one(ReadingPane)
        pane.query_one(".text", Static).update(content)
        pane.scroll_home(animate=False)

    def tell(self, sentence: str) -> None:
        """Say what was done."""
        self.notify(shown_words(sentence), markup=False)

    def warn(self, sentence: str) -> None:
        """Say what was not done."""
        self.notify(shown_words(sentence), severity="warning", markup=False)

    @contextmanager
    def saying(self, say: Callable[[], None], *, over_and_over: bool = False) -> Iterator[None]:
        """Say what is under way when it takes longer than a person is patient, and nothing once it is over."""
        is_over = False

        def say_still() -> None:
            # The timer may have gone off in the very moment of the end.
            if not is_over:
                say()

        seconds = self.desk.pace.patience or _SECONDS
        timer = self.set_interval(seconds, say_still) if over_and_over else self.set_timer(seconds, say_still)
        try:
            yield
        finally:
            is_over = True
            timer.stop()

    async def on_banner_clicked(self, event: Banner.Clicked) -> None:
        """Do what the banner's key does."""
        event.stop()
        await self.run_action(event.action)

    def _paint_title(self) -> None:
        fact, rest = self._title
        fits = len(fact) + len(rest) <= self.size.width - 2
        self.query_one(".title", Static).update(Content.assemble((fact, STRONG), (rest if fits else "", MUTED)))
