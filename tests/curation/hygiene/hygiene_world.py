"""Installs for hygiene runs, and their whole content for comparisons."""

from __future__ import annotations

import json
import os
import sqlite3
import tarfile
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from support import golden, small_store
from support.installs import Install
from support.libraries import Library

from zeroclaw_tui.curation.journal import Trash
from zeroclaw_tui.memory.days import moment

NOW = datetime(2026, 3, 20, 12, 0, tzinfo=UTC)
STATE = "state/memory_hygiene_state.json"
AUDIT = """CREATE TABLE memory_audit (id INTEGER PRIMARY KEY AUTOINCREMENT, operation TEXT NOT NULL, key TEXT,
  namespace TEXT, session_id TEXT, timestamp TEXT NOT NULL, metadata TEXT)"""


@dataclass(frozen=True)
class Place(Install):
    """An install of a ZeroClaw version, which sets the rules, with a fixed current time."""

    version: str = "0.8.4"
    now: datetime = NOW

    @classmethod
    def of(cls, config_dir: Path, version: str, now: datetime = NOW) -> Place:
        return cls(config_dir, config_dir / ("data" if version >= "0.8" else "workspace"), version, now)

    def write(self, name: str, text: str | bytes = b"x\n", *, day: str | None = None, mode: int = 0o644) -> Path:
        """Write a file below the root, last modified at noon UTC of a day."""
        path = super().write(name, text)
        path.chmod(mode)
        if day is not None:
            moment = int(datetime.fromisoformat(f"{day}T12:00:00+00:00").timestamp()) * 10**9 + 123_456_789
            os.utime(path, ns=(moment, moment))
        return path

    def rows(self) -> list[tuple[Any, ...]]:
        """Return every row with its rowid, after SQLite's own checks of the file and the keyword index."""
        with closing(sqlite3.connect(self.database)) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            connection.execute("INSERT INTO memories_fts(memories_fts, rank) VALUES ('integrity-check', 1)")
            found = connection.execute("SELECT rowid, * FROM memories ORDER BY rowid").fetchall()
            connection.rollback()
        return found

    def keys(self) -> list[str]:
        return [key for (key,) in read(self.database, "SELECT key FROM memories ORDER BY rowid")]

    def hits(self, words: str) -> list[int]:
        query = "SELECT rowid FROM memories_fts WHERE memories_fts MATCH ? ORDER BY rowid"
        return [rowid for (rowid,) in read(self.database, query, words)]

    def tree(self) -> dict[str, tuple[bytes, int, int]]:
        return tree(self.root)

    def make_audit(self, timestamps: Iterable[str]) -> Path:
        file = self.root / "memory" / "audit.db"
        with closing(sqlite3.connect(file)) as connection, connection:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute(AUDIT)
            connection.executemany(
                "INSERT INTO memory_audit (operation, key, timestamp, metadata) VALUES ('store', ?, ?, ?)",
                [(f"key{at}", timestamp, "\x00é" * at) for at, timestamp in enumerate(timestamps)],
            )
        return file

    def entries(self) -> list[tuple[Any, ...]]:
        return read(self.root / "memory" / "audit.db", "SELECT * FROM memory_audit ORDER BY id")

    @asynccontextmanager
    async def opened_now(self, **options: Any) -> AsyncIterator[Library]:
        """Open the library with its clock at `now`."""
        async with self.opened(self.version, **options) as library:
            library.trash = Trash(library.config.install, library.trash.store, lambda: self.now)
            yield library


def tree(root: Path) -> dict[str, tuple[bytes, int, int]]:
    """Return bytes, mode and modification time of every file below a folder except databases."""
    files = (path for path in sorted(root.rglob("*")) if path.is_file() and ".db" not in path.name)
    found = {str(path.relative_to(root)): (path.read_bytes(), path.stat()) for path in files}
    return {name: (data, status.st_mode & 0o7777, status.st_mtime_ns) for name, (data, status) in found.items()}


def place_at(folder: Path, version: str, rows: Iterable[dict[str, Any]] = (), **settings: Any) -> Place:
    """Create an install of a version with these rows and settings of [memory]."""
    place = Place.of(folder / "zeroclaw", version)
    place.database.parent.mkdir(parents=True)
    place.configure("".join(f"{name} = {json.dumps(value)}\n" for name, value in settings.items()))
    generation = "G1" if version < "0.5.7" else "G2" if version < "0.8" else "G3" if version < "0.8.3" else "G4"
    small_store.make(place.database, generation, rows)
    return place


def row(key: str, category: str, when: str, **more: Any) -> dict[str, Any]:
    """Return a row created and last updated at a time."""
    return {"id": f"id-{key}", "key": key, "category": category, "created_at": when, "updated_at": when, **more}


def recorded(folder: Path, version: str) -> tuple[Place, Path, dict[str, Any]]:
    """Return an install from before a real hygiene run, the folder after the run, and its state file."""
    place, after = Place.of(folder / "zeroclaw", version), folder / "after"
    for name, target in (("before", place.root), ("after", after)):
        target.mkdir(parents=True)
        with tarfile.open(golden.FOLDER / version / f"hygiene_{name}.tar.gz") as archive:
            archive.extractall(target, filter="fully_trusted")
    place.configure()
    state: dict[str, Any] = json.loads((after / STATE).read_bytes())
    return replace(place, now=moment(state["last_run_at"]) or NOW), after, state


def read(database: Path, query: str, *values: Any) -> list[tuple[Any, ...]]:
    """Return the rows of a query."""
    with closing(sqlite3.connect(database)) as connection:
        return connection.execute(query, values).fetchall()
