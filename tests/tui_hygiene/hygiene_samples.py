"""Workspaces with old notes, sessions and rows, opened as the inspector opens them, at a fixed moment."""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import Callable, Iterable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from support.small_store import make
from textual.app import App
from textual.pilot import Pilot
from zeroclaw_tui.tui.screens.hygiene import HygieneScreen

from zeroclaw_tui.config.install import OpenOptions
from zeroclaw_tui.curation.library import Library, open_library
from zeroclaw_tui.curation.opening import configs_for
from zeroclaw_tui.curation.trash.trash import Trash
from zeroclaw_tui.tui.loader import Pace
from zeroclaw_tui.tui.themes import ZEROCLAW_DARK, ZEROCLAW_LIGHT

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
WIDE = (140, 40)
NARROW = (80, 24)
BROWSER_SHEET = Path(__file__).parents[2] / "zeroclaw_tui" / "tui" / "screens" / "browser.tcss"
CONFIG = 'default_temperature = 0.7\n[memory]\nbackend = "sqlite" # mine\nauto_save = true\n'
STATE = """{
  "last_run_at": "2026-11-20T01:04:00.000000000+00:00",
  "last_report": {
    "archived_memory_files": 2,
    "archived_session_files": 0,
    "purged_memory_archives": 1,
    "purged_session_archives": 0,
    "pruned_conversation_rows": 41
  }
}"""
FILES = {
    "memory/2026-11-02.md": "# Two\n- ramen\n",
    "memory/2026-11-09.md": "# Nine\n- a walk\n",
    "memory/2026-11-15.md": "# Fifteen\n- too new to go today\n",
    "memory/2026-11-20.md": "# Today\n",
    "memory/archive/2026-10-01.md": "# October\n",
    "memory/archive/2026-11-01.md": "# Still kept\n",
    "sessions/2026-11-03-chat.jsonl": "{}\n",
    "MEMORY.md": "# Curated\n",
}
HOSTILE_FILES = {
    "memory/2026-11-01_\x1b[31m\x07.md": "escape",
    "memory/2026-11-01_\u202egpj.exe.md": "bidi",
    "memory/2026-11-01_[bold]no[@x].md": "markup",
    "memory/2026-11-01_" + "long" * 55 + ".md": "long",
    "memory/2026-11-01_全角文字も要对齐.md": "wide",
    "memory/2026-11-01_ sk-abcdefghijklmnopqrstuvwx.md": "a look-alike key",
}
HOSTILE_KEYS = (
    "[/foo] [@click=app.bell()]x[/]",
    "esc \x1b]0;t\x07\x9b2J",
    "bidi \u202egnp",
    "k" * 300,
    "宽字符" * 40,
    "",
)


class Clock:
    """A moment that a test moves."""

    def __init__(self, moment: datetime = NOW) -> None:
        self.moment = moment

    def __call__(self) -> datetime:
        return self.moment


def days_ago(days: int) -> str:
    """A moment as ZeroClaw writes it."""
    return (NOW - timedelta(days=days)).strftime("%Y-%m-%dT%H:%M:%S.000000000+00:00")


def chat(number: int, days: int, **more: Any) -> dict[str, Any]:
    """A conversation row last changed so many days ago."""
    at = days_ago(days)
    return {
        "id": f"chat-{number}",
        "key": f"user_msg_{number}",
        "content": f"What about topic {number}?",
        "category": "conversation",
        "created_at": at,
        "updated_at": at,
    } | more


class Workspace:
    """A config dir on disk of the generation up to 0.7.5; `files` are below the workspace."""

    def __init__(
        self,
        folder: Path,
        *,
        files: dict[str, str] | None = None,
        rows: Iterable[dict[str, Any]] | None = None,
        config: str = CONFIG,
        state: str | None = STATE,
    ) -> None:
        self.config_dir = folder / "zc"
        self.root = self.config_dir / "workspace"
        (self.root / "memory").mkdir(parents=True)
        self.clock = Clock()
        self.database = self.root / "memory" / "brain.db"
        make(self.database, "G2", [chat(1, 40), chat(2, 35), chat(3, 28)] if rows is None else rows)
        for name, text in (FILES if files is None else files).items():
            self.write(name, text)
        (self.config_dir / "config.toml").write_text(config)
        if state is not None:
            self.write("state/memory_hygiene_state.json", state)

    def write(self, name: str, text: str) -> None:
        """A file below the workspace, last changed long ago."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        os.utime(path, (1_760_000_000, 1_760_000_000))

    async def open(self, **options: Any) -> Library:
        """The library, at the moment of the clock."""
        given = OpenOptions(config_dir=self.config_dir, profile="0.7.5", **options)
        config = configs_for(given, {"HOME": str(self.config_dir.parent)})[0]
        library = await open_library(config, given.profile)
        library.trash = Trash(config.install, library.trash.store, self.clock)
        return library

    def files(self) -> dict[str, str]:
        """Every text file below the workspace, by its path."""
        found = sorted(path for path in self.root.rglob("*") if path.is_file() and "brain.db" not in path.name)
        return {str(path.relative_to(self.root)): path.read_text() for path in found}

    def keys(self) -> list[str]:
        """The keys in the database, read as another program would."""
        with closing(sqlite3.connect(self.database)) as connection:
            return [key for (key,) in connection.execute("SELECT key FROM memories ORDER BY key")]


class HygieneApp(App[None]):
    """The hygiene screen over an empty one, and what it gave back."""

    CSS_PATH = BROWSER_SHEET

    def __init__(self, workspace: Workspace, **options: Any) -> None:
        super().__init__()
        self.workspace = workspace
        self.given: list[bool | None] = []
        self.library: Library | None = None
        self._options = options
        self.register_theme(ZEROCLAW_DARK)
        self.register_theme(ZEROCLAW_LIGHT)
        self.theme = ZEROCLAW_DARK.name

    async def on_mount(self) -> None:
        self.library = await self.workspace.open(**self._options)
        screen = HygieneScreen(self.library, self.workspace.clock, Pace(patience=30))
        await self.push_screen(screen, self.given.append)

    async def on_unmount(self) -> None:
        if self.library is not None:
            await self.library.close()

    @property
    def hygiene(self) -> HygieneScreen:
        """The screen, dialogs over it or not."""
        return next(screen for screen in self.screen_stack if isinstance(screen, HygieneScreen))


async def until(pilot: Pilot[Any], condition: Callable[[], object]) -> None:
    """Let the app run until something holds."""
    async with asyncio.timeout(20):
        while not condition():
            await pilot.pause()
    await pilot.pause()


def screen_text(app: App[Any]) -> str:
    """Every line on the screen, as a person reads it."""
    strips = app.screen._compositor.render_strips(app.size)
    return "\n".join("".join(segment.text for segment in strip) for strip in strips)


def screen_words(app: App[Any]) -> str:
    """The same with one space between words, and without the bar beside a row or a toast."""
    return " ".join(screen_text(app).replace("▌", " ").split())


def told(app: App[Any]) -> str:
    """Every toast so far, as one text."""
    return " ".join(f"{note.title} {note.message}" for note in app._notifications)


def dialog_words(app: App[Any]) -> str:
    """The words of the dialog that lies over the screen."""
    region = app.screen.query_one("#asking, #question, #page").region
    lines = screen_text(app).split("\n")[region.y : region.bottom]
    return " ".join(" ".join(line[region.x : region.right] for line in lines).split())
