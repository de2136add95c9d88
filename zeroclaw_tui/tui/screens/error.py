"""A store that cannot be opened: one sentence, what to do, retry and quit."""

from __future__ import annotations

from pathlib import Path
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
    """Says what is wrong. Gives True when it shall be tried again, False when another install shall be chosen.

    `knows_stores` says that there is a config, which may know another store; `snapshot` is a file of which the database
    that is not there can be made.
    """

    CSS_PATH = "error.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("r", "dismiss(True)", "try again", id="error.retry"),
        Binding("S", "make_store", "make the database from the snapshot", id="error.make"),
        Binding("b", "choose_store", "another store", id="error.backend"),
        Binding("i", "dismiss(False)", "another install", id="error.installs"),
        Binding("q", "app.quit", "quit", id="error.quit"),
    ]

    def __init__(
        self, error: InspectorError, *, has_others: bool, knows_stores: bool = False, snapshot: Path | None = None
    ) -> None:
        super().__init__()
        self._knows_stores = knows_stores
        self._error = error
        self._has_others = has_others
        self._snapshot = snapshot

    def compose(self) -> ComposeResult:
        """Title, sentence, hint, keys."""
        yield Static(Content.styled("zeroclaw", STRONG), id="name")
        with Vertical(id="error"):
            yield Static(Content(f"✗ {_clean(self._error.title)}"), id="title")
            yield Static(Content(_clean(self._error.message)), id="sentence")
            if self._error.hint:
                yield Static(Content(_clean(self._error.hint)), id="hint")
            if self._snapshot is not None:
                words = f"{_clean(str(self._snapshot))} has memories: S makes the database anew from it."
                yield Static(Content(words), id="snapshot")
        yield Footer(show_command_palette=False)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Another install or store can only be chosen where one is known, a database only be made from a snapshot."""
        if action == "choose_store":
            return self._knows_stores
        if action == "make_store":
            return self._snapshot is not None
        return self._has_others or action != "dismiss" or parameters != (False,)

    async def action_choose_store(self) -> None:
        """Have another store chosen."""
        await self.run_action("app.choose_store")

    async def action_make_store(self) -> None:
        """Have the database made from the snapshot."""
        await self.run_action("app.make_store")


def _clean(text: str) -> str:
    return display_text(mask_secrets(with_tilde(text)))
