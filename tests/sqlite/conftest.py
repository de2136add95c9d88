"""Databases as ZeroClaw makes them, filled by plain statements."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import pytest

from zeroclaw_tui.backends.sqlite.schema import create_database
from zeroclaw_tui.backends.sqlite.store import SqliteMemory

DATES = "2026-03-01T10:00:00.123456789+00:00"


def fill(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    """Insert rows; what a row does not say is something plain."""
    with closing(sqlite3.connect(path)) as connection, connection:
        columns = {name for (name,) in connection.execute("SELECT name FROM pragma_table_info('memories')")}
        agents = (
            dict(connection.execute("SELECT alias, id FROM agents")) if "agent_id" in columns else {"default": None}
        )
        for at, row in enumerate(rows):
            plain = {"id": f"id-{at}", "key": f"key-{at}", "content": "text", "created_at": DATES, "updated_at": DATES}
            full = plain | row
            alias = full.pop("agent", "default")
            if "agent_id" in columns:
                if alias not in agents:
                    agents[alias] = f"agent-{alias}"
                    connection.execute("INSERT INTO agents VALUES (?, ?, ?)", (agents[alias], alias, DATES))
                full["agent_id"] = agents[alias]
            marks = ", ".join("?" * len(full))
            connection.execute(f"INSERT INTO memories ({', '.join(full)}) VALUES ({marks})", tuple(full.values()))


@asynccontextmanager
async def opened(path: Path) -> AsyncIterator[SqliteMemory]:
    memory = SqliteMemory(path)
    await memory.open()
    try:
        yield memory
    finally:
        await memory.close()


@pytest.fixture
def open_store() -> Callable[[Path], Any]:
    """An opened store as an async context manager."""
    return opened


@pytest.fixture
def make_store(tmp_path: Path) -> Callable[..., Path]:
    """Make a database of a generation with these rows."""

    def make(rows: Iterable[dict[str, Any]] = (), generation: str = "G4", name: str = "brain.db") -> Path:
        path = tmp_path / name
        create_database(path, generation)
        fill(path, rows)
        return path

    return make


@pytest.fixture
def fill_store() -> Callable[[Path, Iterable[dict[str, Any]]], None]:
    """Insert rows into a database."""
    return fill


@pytest.fixture
def digest() -> Callable[[Path], str]:
    """What changes when one byte of a file does."""
    return lambda path: hashlib.sha256(path.read_bytes()).hexdigest()
