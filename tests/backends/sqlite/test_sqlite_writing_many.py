"""Many memories stored at once are stored as one after the other would be."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from support.small_store import make

from zeroclaw_tui.backends.sqlite.store import SqliteMemory
from zeroclaw_tui.memory.change import Draft
from zeroclaw_tui.testing.tools import create, fill

GENERATIONS = ["G1", "G2", "G3", "G4"]
ROWS: list[dict[str, Any]] = [
    {"key": "there", "content": "first", "embedding": b"\0\0\x80?"},
    {"key": "same", "content": "unchanged", "embedding": b"\0\0\x80?", "session_id": "s1"},
]
DRAFTS = [
    Draft("there", "second", "daily"),
    Draft("same", "unchanged", "core", "s.2"),
    Draft("new", "content \udcff", "Core"),
    Draft("new", "the last of a key counts", "custom words", "s.2"),
    *(Draft(f"bulk {number}", f"text {number}", "core") for number in range(250)),
]


async def store_one_by_one(memory: SqliteMemory, drafts: list[Draft]) -> None:
    for draft in drafts:
        await create(memory, draft, replace=True)


def held(path: Path) -> list[tuple[Any, ...]]:
    """Every row without its id and times, and what the keyword index finds."""
    with closing(sqlite3.connect(path)) as connection:
        connection.text_factory = bytes
        names = [name.decode() for _, name, *_ in connection.execute("PRAGMA table_info(memories)")]
        kept = ", ".join(name for name in names if name not in ("id", "created_at", "updated_at", "agent_id"))
        rows = connection.execute(f"SELECT {kept} FROM memories ORDER BY rowid").fetchall()
        found = connection.execute(
            "SELECT rowid FROM memories_fts WHERE memories_fts MATCH 'text' ORDER BY 1"
        ).fetchall()
        connection.execute("INSERT INTO memories_fts(memories_fts) VALUES ('integrity-check')")
    return [*rows, tuple(found)]


@pytest.mark.parametrize("generation", GENERATIONS)
async def test_all_at_once_leaves_what_one_after_the_other_leaves(generation: str, tmp_path: Path) -> None:
    drafts = [draft for draft in DRAFTS if "\udcff" not in draft.content]
    for name in ("one", "all"):
        memory = SqliteMemory(make(tmp_path / f"{name}.db", generation, ROWS))
        await memory.open()
        before = await memory.get("there")
        await (fill(memory, drafts) if name == "all" else store_one_by_one(memory, drafts))
        after = await memory.get("there")
        assert before is not None
        assert after is not None
        assert (after.id, after.timestamp) == (before.id, before.timestamp)
        assert after.updated_at != before.updated_at
        await memory.close()
    assert held(tmp_path / "all.db") == held(tmp_path / "one.db")
