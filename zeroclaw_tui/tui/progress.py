"""What a change that takes its time has done so far, and the way to stop it between two batches."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, ClassVar, TypeVar

from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widget import AwaitMount
from textual.widgets import Static

from zeroclaw_tui.memory.change import Advance
from zeroclaw_tui.tui.format import bar, count_text
from zeroclaw_tui.tui.themes import ACCENT, MUTED

_SECONDS = 0.1
_BAR = 36

Done = TypeVar("Done")


class Progress:
    """How far a change is. `advance` may be called on any thread; only plain values pass between the threads.

    A `total` of 0 means that nobody knows it.
    """

    def __init__(self, total: int) -> None:
        self.total = total
        self.done = 0
        self.is_stopped = False
        self.is_over = False

    def advance(self, done: int) -> bool:
        """Take the count of rows done; False when no other batch shall begin."""
        self.done = done
        return not self.is_stopped


class ProgressScreen(ModalScreen[None]):
    """A sentence, a bar, a count. It leaves by itself once the change is over."""

    CSS_PATH = "progress.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "stop", "stop after this batch")]

    def __init__(self, sentence: str, progress: Progress) -> None:
        super().__init__()
        self._sentence = sentence
        self._progress = progress

    def compose(self) -> ComposeResult:
        """Sentence, bar with count, the key that stops."""
        with Vertical(id="progress"):
            yield Static(Content(self._sentence), id="sentence")
            yield Static(self._so_far(), id="so-far")
            yield Static("esc stops after this batch", id="keys", markup=False)

    def on_mount(self) -> None:
        """Follow the change."""
        self.set_interval(_SECONDS, self.follow)

    def follow(self) -> None:
        """Show how far it is, or leave when it is over."""
        if self._progress.is_over:
            # `is_current` holds for a screen behind a dialog too, and to dismiss that one takes the dialog away.
            if self.app.screen is self:
                self.dismiss()
            return
        self.query_one("#so-far", Static).update(self._so_far())

    def action_stop(self) -> None:
        """Begin no other batch."""
        self._progress.is_stopped = True
        self.query_one("#keys", Static).update("Stopping after this batch …")

    def _so_far(self) -> Content:
        progress = self._progress
        if not progress.total:
            return Content(count_text(progress.done))
        share = min(1.0, progress.done / progress.total)
        return Content.assemble(
            (bar(share, _BAR), ACCENT),
            f"  {count_text(progress.done)}",
            (f" of {count_text(progress.total)}", MUTED),
        )


async def with_progress(
    app: App[Any], sentence: str, total: int, patience: float, change: Callable[[Advance], Awaitable[Done]]
) -> Done:
    """Do a change; when it takes longer than `patience` seconds, show how far it is."""
    progress = Progress(total)
    screen = ProgressScreen(sentence, progress)
    mounting: list[AwaitMount] = []

    def show() -> None:
        if not progress.is_over:
            mounting.append(app.push_screen(screen))

    timer = app.set_timer(patience, show)
    try:
        return await change(progress.advance)
    finally:
        timer.stop()
        progress.is_over = True
        for mounted in mounting:
            # What is asked next must not come to lie over it.
            await mounted
            screen.follow()
