"""An install in a home, and the inspector on it."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from support import small_store
from textual.pilot import Pilot
from tui.changes.changes_samples import Clock

from zeroclaw_tui.config.locations import OpenOptions
from zeroclaw_tui.tui.app import InspectorApp
from zeroclaw_tui.tui.loader import Pace
from zeroclaw_tui.tui.rooms.browser import BrowserRoom

NOW = datetime(2026, 11, 22, 9, 0, tzinfo=UTC)
ROWS = (
    {"key": "tz", "content": "Timezone is EST"},
    {"key": "food", "content": "Allergic to peanuts."},
    {"key": "chat", "content": "Asked about ramen", "category": "daily"},
)


class Place:
    """~/.zeroclaw with a database of three memories."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.config_dir = home / ".zeroclaw"
        self.database = self.config_dir / "workspace" / "memory" / "brain.db"
        self.database.parent.mkdir(parents=True)
        (self.config_dir / "config.toml").write_text('[memory]\nbackend = "sqlite"\n', encoding="utf-8")
        small_store.make(self.database, "G1", ROWS)

    def app(self, **options: Any) -> InspectorApp:
        """The inspector, with nothing that goes on by itself."""
        pace = Pace(debounce=0, poll=None, patience=0.01, stopwatch=lambda: 0.0)
        return InspectorApp(OpenOptions(config_dir=self.config_dir, **options), clock=Clock(NOW), pace=pace)

    def exported(self, name: str, rows: Iterable[dict[str, Any]]) -> Path:
        """A JSONL of ours, as plain as it may be."""
        path = self.home / name
        moment = "2026-10-01T08:00:00+00:00"
        plain = {"category": "core", "created_at": moment, "updated_at": moment}
        lines = [json.dumps({"id": f"import-{at}"} | plain | row) for at, row in enumerate(rows)]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return path

    def contents(self) -> dict[str, str]:
        """What the database holds, by key."""
        with closing(sqlite3.connect(self.database)) as connection:
            return dict(connection.execute("SELECT key, content FROM memories"))


async def ready(pilot: Pilot[Any]) -> None:
    """Wait until the browser is on top and everything is answered; a change that asks counts as answered."""
    quiet = 0
    async with asyncio.timeout(20):
        while quiet < 3:
            await pilot.pause()
            asks = not isinstance(pilot.app.screen, BrowserRoom)
            running = [one for one in pilot.app.workers if not one.is_finished and not (asks and one.group == "change")]
            quiet = 0 if running else quiet + 1


async def command(pilot: Pilot[Any], action: str) -> None:
    """Do what a command of the palette does, and wait until something is asked or done."""
    await pilot.app.screen.run_action(action)
    await ready(pilot)


def said(pilot: Pilot[Any]) -> str:
    """What the notifications say, the newest last."""
    return "\n".join(str(note.message) for note in pilot.app._notifications)
