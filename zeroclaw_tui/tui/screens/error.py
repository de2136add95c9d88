"""A store that cannot be opened: one sentence, what to do, retry and quit."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Footer, Static

from zeroclaw_tui.memory.errors import InspectorError
from zeroclaw_tui.memory.text import display_text, mask_secrets
from zeroclaw_tui.tui.looks import STRONG
from zeroclaw_tui.tui.widgets.header import with_tilde


class ErrorScreen(Screen[bool]):
    """Says what is wrong. Gives True when it shall be tried again, False when another install shall be chosen."""

    CSS_PATH = "error.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("r", "dismiss(True)", "try again", id="error.retry"),
        Binding("i", "dismiss(False)", "another install", id="error.installs"),
        Binding("q", "app.quit", "quit", id="error.quit"),
    ]

    def __init__(self, error: InspectorError, *, has_others: bool) -> None:
        super().__init__()
        self._error = error
        self._has_others = has_others

    def compose(self) -> ComposeResult:
        """Title, sentence, hint, keys."""
        yield Static(Content.styled("zeroclaw", STRONG), id="name")
        with Vertical(id="error"):
            yield Static(Content(f"✗ {_clean(self._error.title)}"), id="title")
            yield Static(Content(_clean(self._error.message)), id="sentence")
            if self._error.hint:
                yield Static(Content(_clean(self._error.hint)), id="hint")
        yield Footer(show_command_palette=False)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Another install can only be chosen where there is one."""
        return self._has_others or action != "dismiss" or parameters != (False,)


def _clean(text: str) -> str:
    return display_text(mask_secrets(with_tilde(text)))
