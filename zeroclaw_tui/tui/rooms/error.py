"""A store that cannot be opened: one sentence, what to do, retry and quit."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar, Literal

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Footer, Static

from zeroclaw_tui.memory.errors import BeforeFirstStart, InspectorError, NoInstall
from zeroclaw_tui.memory.text import display_text, mask_secrets
from zeroclaw_tui.tui.format import with_tilde
from zeroclaw_tui.tui.themes import STRONG

WayOn = Literal["again", "installs", "demo"]


class ErrorScreen(Screen["WayOn | Path"]):
    """Says what is wrong, and gives the way on: try again, choose another install, the demo, or a path to open.

    `knows_stores` says that there is a config, which may know another store; `snapshot` is a file of which the database
    that is not there can be made.
    """

    CSS_PATH = "error.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("r", "dismiss('again')", "try again", id="error.retry"),
        Binding("enter", "dismiss('demo')", "look at the demo", id="error.demo"),
        Binding("O", "open_path", "open a file or folder", id="error.open"),
        Binding("S", "make_store", "make the database from the snapshot", id="error.make"),
        Binding("n", "make_empty_store", "make it now, empty", id="error.make_empty"),
        Binding("b", "choose_store", "another store", id="error.backend"),
        Binding("i", "dismiss('installs')", "another install", id="error.installs"),
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
            mark = "" if isinstance(self._error, BeforeFirstStart) else "✗ "
            yield Static(Content(f"{mark}{_clean(self._error.title)}"), id="title")
            yield Static(Content(_clean(self._error.message)), id="sentence")
            if self._error.hint:
                yield Static(Content(_clean(self._error.hint)), id="hint")
            if self._snapshot is not None:
                words = f"{_clean(str(self._snapshot))} has memories: S makes the database anew from it."
                yield Static(Content(words), id="snapshot")
        yield Footer(show_command_palette=False)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Another install or store can only be chosen where one is known, a database only be made from a snapshot, and
        an empty store only before ZeroClaw's first start."""
        if action == "choose_store":
            return self._knows_stores
        if action == "make_store":
            return self._snapshot is not None
        if action == "make_empty_store":
            return isinstance(self._error, BeforeFirstStart) and self._snapshot is None
        if parameters == ("demo",):
            return isinstance(self._error, NoInstall)
        return self._has_others or parameters != ("installs",)

    def action_open_path(self) -> None:
        """Ask for a path, and open what lies there."""
        from zeroclaw_tui.tui.dialogs import path_form, path_typed

        def take(values: Mapping[str, str] | None) -> None:
            if values is not None:
                self.dismiss(path_typed(values["path"]))

        about = "A config dir of ZeroClaw, its workspace, a database, a folder of notes, or what another tool left."
        self.app.push_screen(path_form("Open which file or folder?", about), take)

    async def action_choose_store(self) -> None:
        """Have another store chosen."""
        await self.run_action("app.choose_store")

    async def action_make_store(self) -> None:
        """Have the database made from the snapshot."""
        await self.run_action("app.make_store")

    async def action_make_empty_store(self) -> None:
        """Have the store made."""
        await self.run_action("app.make_empty_store")


def _clean(text: str) -> str:
    return display_text(mask_secrets(with_tilde(text)))
