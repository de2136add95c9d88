"""Small databases with ZeroClaw's own tables, filled with plain SQL."""

from __future__ import annotations

import sqlite3
import struct
from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from support.databases import create_database
from support.memories import MemoryEntry

MOMENT = "2026-03-01T10:00:{:02d}.000000001+00:00"
AGENT = "00000000-0000-4000-8000-000000000001"
WORKED_EXAMPLE: tuple[dict[str, Any], ...] = (
    {"key": "lang", "content": "User prefers Rust"},
    {"key": "editor", "content": "User uses Helix editor daily"},
    {"key": "pet", "content": "Cat named Mio"},
    {"key": "tz", "content": "Timezone is EST"},
    {"key": "food", "content": "Likes ramen and rust colored plates"},
)
"""Rows whose recalls were run with ZeroClaw 0.1.7 and 0.8.4."""


def blob(*numbers: float) -> bytes:
    """Return a vector as it is stored."""
    return struct.pack(f"<{len(numbers)}f", *numbers)


_EMPTY: dict[str, bytes] = {}
"""An empty database of each generation: creating one waits for the disk, copying it does not."""


def make(path: Path, generation: str, rows: Iterable[dict[str, Any]]) -> Path:
    """Create a database of a generation with these rows; missing values get defaults, and later rows are newer."""
    if generation in _EMPTY:
        path.touch(mode=0o600, exist_ok=False)
        path.write_bytes(_EMPTY[generation])
    else:
        create_database(path, generation, default_agent_id=AGENT)
        _EMPTY[generation] = path.read_bytes()
    add(path, rows)
    return path


def row_of(entry: MemoryEntry) -> dict[str, Any]:
    """Return the row that ZeroClaw would have written for a memory."""
    fields = ("id", "key", "content", "category", "session_id", "updated_at")
    return {name: getattr(entry, name) for name in fields} | {"created_at": entry.timestamp}


def add(path: Path, rows: Iterable[dict[str, Any]], start: int = 0) -> None:
    """Insert rows as another program would; `agent` names the agent of a row and is created if new."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("PRAGMA synchronous = OFF")
        columns = {name for (name,) in connection.execute("SELECT name FROM pragma_table_info('memories')")}
        found = connection.execute("SELECT alias, id FROM agents") if "agent_id" in columns else ()
        agents = {"default": AGENT} | dict(found)
        for at, row in enumerate(rows, start):
            moment = MOMENT.format(at % 60)
            plain = {"id": f"id-{at:03d}", "key": f"key{at}", "content": "text", "category": "core"}
            full = plain | {"created_at": moment, "updated_at": moment} | row
            alias = full.pop("agent", "default")
            if "agent_id" in columns:
                if alias not in agents:
                    agents[alias] = f"agent-{alias}"
                    connection.execute("INSERT INTO agents VALUES (?, ?, ?)", (agents[alias], alias, moment))
                full.setdefault("agent_id", agents[alias])
            names = ", ".join(full)
            marks = ", ".join("?" * len(full))
            connection.execute(f"INSERT INTO memories ({names}) VALUES ({marks})", list(full.values()))


def change(path: Path, statement: str, values: Sequence[Any] = ()) -> None:
    """Run one statement as another program would."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement, values)


def damage(path: Path, table: str) -> None:
    """Checkpoint the write-ahead log, then overwrite the first page of a table."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (size,) = connection.execute("PRAGMA page_size").fetchone()
        (root,) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (table,)).fetchone()
    with path.open("r+b") as file:
        file.seek((root - 1) * size)
        file.write(bytes(size))
