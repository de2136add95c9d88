"""Stores to copy between, opened as by the commands."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager, closing
from pathlib import Path
from typing import Any

from support.installs import Install, make_install
from support.libraries import Library
from support.memories import OnConflict
from transfer_world import EVERYTHING

from zeroclaw_tui.curation.transfer.copy import CopyOutcome, copy_memories, open_target, plan_copy
from zeroclaw_tui.curation.transfer.plan import Plan

COLUMNS = "id, key, content, category, created_at, updated_at, session_id, namespace, importance, embedding"


def install_in(folder: Path, rows: Sequence[dict[str, Any]], generation: str = "G2") -> Path:
    """Create a config dir whose database has these rows and return the database."""
    return make_install(folder / "zc", generation, rows).database


def opened(
    folder: Path, backend: str | None = None, location: str | Path | None = None
) -> AbstractAsyncContextManager[Library]:
    """Open a store of the install in that folder."""
    install = Install(folder / "zc", folder / "zc" / "workspace")
    return install.opened("0.7.5", backend=backend, location=None if location is None else str(location))


async def planned(source: Library, backend: str, place: str | Path | None, profile: str = "0.7.5") -> Plan:
    """Plan to copy everything to a store."""
    target = await open_target(source, backend, None if place is None else str(place), profile, environ={})
    try:
        return await plan_copy(source, target, EVERYTHING)
    finally:
        await target.close()


async def copied(
    source: Library, backend: str, place: str | Path | None, on_conflict: OnConflict = "skip", profile: str = "0.7.5"
) -> CopyOutcome:
    """Copy everything to a store and return the result."""
    target = await open_target(source, backend, None if place is None else str(place), profile, environ={})
    try:
        return await copy_memories(source, target, EVERYTHING, on_conflict)
    finally:
        await target.close()


def stored(path: Path, columns: str = COLUMNS) -> list[tuple[Any, ...]]:
    """Return these columns of every row with types and bytes, in the order of storing."""
    names = [name.strip() for name in columns.split(",")]
    parts = ", ".join(f"typeof({name}), CAST({name} AS BLOB)" for name in names)
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(f"SELECT {parts} FROM memories ORDER BY rowid").fetchall()


def contents(path: Path) -> dict[str, str]:
    """Return the contents by key."""
    with closing(sqlite3.connect(path)) as connection:
        return dict(connection.execute("SELECT key, content FROM memories"))
