"""Stores and workspaces that want upkeep, an app that shows the room on them, and what is on its screen."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from support.rooms import RoomApp
from support.settling import press
from support.small_store import make
from textual.pilot import Pilot

from zeroclaw_tui.config.locations import Install, OpenOptions
from zeroclaw_tui.config.memory_config import MemoryConfig
from zeroclaw_tui.curation.config_choice import configs_for
from zeroclaw_tui.curation.formats.snapshot import NAME, SIDE_CAR, snapshot_text
from zeroclaw_tui.curation.journal import Trash
from zeroclaw_tui.curation.library import Library, open_library
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.tui.rooms.upkeep import Tab, UpkeepRoom
from zeroclaw_tui.tui.view import Pace

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
SECRET = "sk-proj-9fK2mQ7xT4bV1nC8zR5wY3aL6dJ0"
Row = dict[str, Any]
HOSTILE = (
    "[/foo] [bold]not bold[/] [@click=app.bell()]x[/] \x1b[31mred\x1b]0;title\x07\x1b]52;c;aGk=\x1b\\ \x9b2J "
    "\u202egnp.exe\u202c 全角文字 \x00"
)


def room_app(
    opened: Callable[[], Awaitable[Library]], tab: Tab, clock: Callable[[], datetime] = lambda: NOW
) -> RoomApp:
    """The room of upkeep on a store."""

    async def made() -> UpkeepRoom:
        return UpkeepRoom(await opened(), tab, clock, Pace(poll=None, patience=30))

    return RoomApp(made)


async def go_to(pilot: Pilot[Any], app: RoomApp, words: str) -> None:
    """Put the cursor on the row with these words."""
    await press(pilot, "g")
    for _ in range(40):
        if any(line.startswith(("▌", "◉")) and words in line for line in app.lines):
            return
        await press(pilot, "j")
    raise AssertionError(app.words)


def polluted_rows() -> list[Row]:
    """Fourteen replies, one thing said three times, another twice, a secret, and two that are clean."""
    rows: list[Row] = [
        {"key": f"assistant_resp_{at:02d}", "content": f"Here are some ideas about topic number {at} " + "word " * at,
         "category": "conversation"}
        for at in range(14)
    ]  # fmt: skip
    rows += [
        {"key": f"food_{at}", "content": "She likes ramen and rust coloured plates to eat from.", "category": category}
        for at, category in enumerate(("core", "daily", "notes"))
    ]
    rows += [{"key": f"tz_{at}", "content": "Her time zone is that of New York, all year."} for at in range(2)]
    return [
        *rows,
        {"key": "provider", "content": f"The key of the provider is {SECRET}, kept since March."},
        {"key": "cutlery", "content": "Bought new chopsticks and a wok for the kitchen in Lisbon."},
        {"key": "market", "content": "The farmers' market opens at eight on Saturdays only.", "category": "notes"},
    ]


def clean_up_app(folder: Path, rows: Sequence[Row] | None = None, *, read_only: bool = False) -> RoomApp:
    """The tab of cleaning up on a database with these rows."""
    path = folder / "workspace" / "memory" / "brain.db"
    path.parent.mkdir(parents=True)
    make(path, "G4", polluted_rows() if rows is None else rows)

    async def opened() -> Library:
        (config, *_) = configs_for(OpenOptions(path=path, read_only=read_only))
        return await open_library(config)

    return room_app(opened, "clean_up")


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


def chat(number: int, days: int, **more: Any) -> Row:
    """A conversation row last changed so many days ago."""
    at = (NOW - timedelta(days=days)).strftime("%Y-%m-%dT%H:%M:%S.000000000+00:00")
    return {
        "id": f"chat-{number}", "key": f"user_msg_{number}", "content": f"What about topic {number}?",
        "category": "conversation", "created_at": at, "updated_at": at,
    } | more  # fmt: skip


class Workspace:
    """A config dir on disk of the generation up to 0.7.5; files are below its workspace."""

    def __init__(self, folder: Path, *, rows: Iterable[Row] | None = None, files: dict[str, str] | None = None) -> None:
        self.config_dir = folder / "zc"
        self.root = self.config_dir / "workspace"
        self.config = self.config_dir / "config.toml"
        self.database = self.root / "memory" / "brain.db"
        (self.root / "memory").mkdir(parents=True)
        make(self.database, "G2", [chat(1, 40), chat(2, 35), chat(3, 28)] if rows is None else list(rows))
        for name, text in (FILES if files is None else files).items():
            self.write(name, text)
        self.write("state/memory_hygiene_state.json", STATE)
        self.config.write_text('default_temperature = 0.7\n[memory]\nbackend = "sqlite" # mine\nauto_save = true\n')

    def write(self, name: str, text: str) -> None:
        """A file below the workspace, last changed long ago."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        os.utime(path, (1_760_000_000, 1_760_000_000))

    def app(self, tab: Tab = "hygiene", **options: Any) -> RoomApp:
        """The room on it."""

        async def opened() -> Library:
            given = OpenOptions(config_dir=self.config_dir, profile="0.7.5", **options)
            config = configs_for(given, {"HOME": str(self.config_dir.parent)})[0]
            library = await open_library(config, given.profile)
            library.trash = Trash(config.install, library.trash.store, lambda: NOW)
            return library

        return room_app(opened, tab)

    def files(self) -> dict[str, str]:
        """Every text file below the workspace, by its path."""
        found = sorted(path for path in self.root.rglob("*") if path.is_file() and "brain.db" not in path.name)
        return {str(path.relative_to(self.root)): path.read_text() for path in found}

    def keys(self) -> list[str]:
        """The keys in the database, read as another program would."""
        with closing(sqlite3.connect(self.database)) as connection:
            return [key for (key,) in connection.execute("SELECT key FROM memories ORDER BY key")]


SAME = (("tz", "Timezone is EST"), ("editor", "Prefers a dark theme"), ("tea", "Drinks green tea in the morning"))
RECIPE = "# Ramen\n\n- broth\n- noodles\n- an egg\n\nServe hot.\n"


class Home:
    """A home with ~/.zeroclaw: `here` is what its store has, `there` what the snapshot has."""

    here = (
        *SAME,
        ("food_allergy", "Allergic to peanuts and shellfish."),
        ("recipe", RECIPE.replace("an egg", "two eggs\n- nori")),
        ("phone", "Bought a new phone in November"),
        ("rule", "first\n---\nsecond"),
    )
    there: tuple[tuple[str, str], ...] = (
        *SAME,
        ("food_allergy", "Allergic to peanuts."),
        ("recipe", RECIPE),
        ("old_car", "Drives an old car"),
        ("pet", "Has a cat called Momo"),
    )

    def __init__(self, folder: Path) -> None:
        self.config_dir = folder / ".zeroclaw"
        self.root = self.config_dir / "workspace"
        self.snapshot = self.root / NAME
        self.side_car = self.root / SIDE_CAR
        database = self.root / "memory" / "brain.db"
        self.config = MemoryConfig(
            Install(self.config_dir, self.root, database, "workspace", "the default place", self.config_dir / "own")
        )

    def clock(self) -> datetime:
        """A day and a half after the snapshot was written."""
        return datetime(2026, 11, 22, 9, 0, tzinfo=UTC)

    def make(self) -> None:
        """The database with what is here."""
        self.config.database.parent.mkdir(parents=True, exist_ok=True)
        rows = [{"key": key, "content": content} for key, content in self.here]
        make(self.config.database, "G1", [*rows, {"key": "chat", "category": "daily"}])

    async def opened(self) -> Library:
        """The store with what is here."""
        self.make()
        library = await open_library(self.config)
        library.trash = Trash(self.config.install, library.trash.store, self.clock)
        return library

    def write_snapshot(self) -> None:
        """As ZeroClaw wrote it, of what is there."""
        self.root.mkdir(parents=True, exist_ok=True)
        moment = "2026-11-01T08:00:00+00:00"
        entries = [MemoryEntry(f"id-{key}", key, content, "core", moment, moment) for key, content in self.there]
        exported = datetime(2026, 11, 20, 21, 4, tzinfo=UTC)
        self.snapshot.write_text(snapshot_text(entries, exported), encoding="utf-8")

    def app(self) -> RoomApp:
        """The tab of the snapshot on the store."""
        return room_app(self.opened, "snapshot", self.clock)
