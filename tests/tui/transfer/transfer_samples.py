"""An install in a home, and the inspector on it."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from support import small_store
from support.settling import settled
from textual.pilot import Pilot

from zeroclaw_tui.config.locations import OpenOptions
from zeroclaw_tui.tui.app import InspectorApp
from zeroclaw_tui.tui.view import Pace

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
        return InspectorApp(OpenOptions(config_dir=self.config_dir, **options), clock=lambda: NOW, pace=pace)

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


async def command(pilot: Pilot[Any], command: str) -> None:
    """Do what a command of the palette does, and wait until something is asked or done."""
    await pilot.app.screen.run_command(command)
    await settled(pilot)
