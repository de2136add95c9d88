"""The kinds that a list can be narrowed to, side by side with their counts; one of them is shown."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from textual.content import Content
from textual.events import Click
from textual.message import Message
from textual.widgets import Static

from zeroclaw_tui.tui.format import count_text
from zeroclaw_tui.tui.looks import MUTED, STRONG_ACCENT

_GAP = 3


class PartsLine(Static):
    """Names with counts; a click chooses."""

    DEFAULT_CSS = """
    PartsLine { height: 1; padding: 0 1; text-wrap: nowrap; text-overflow: ellipsis; pointer: pointer; }
    """

    class Chosen(Message):
        """A part was clicked."""

        def __init__(self, at: int) -> None:
            super().__init__()
            self.at = at

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__("", id=id, markup=False)
        self._names: list[str] = []

    def show(self, parts: Sequence[tuple[str, int]], at: int) -> None:
        """Show these, the one at `at` as the one that is shown."""
        self._names = [f"{name} {count_text(count)}" for name, count in parts]
        pieces: list[str | tuple[str, str]] = []
        for number, name in enumerate(self._names):
            pieces.append(" " * _GAP if number else "")
            pieces.append((f"●{name}" if number == at else f" {name}", STRONG_ACCENT if number == at else MUTED))
        self.update(Content.assemble(*pieces))

    def on_click(self, event: Click) -> None:
        """Choose what was clicked."""
        event.stop()
        end = 0
        for at, name in enumerate(self._names):
            end += cell_len(name) + 1 + _GAP
            if event.x - 1 < end:
                self.post_message(self.Chosen(at))
                return
