"""The same way on a real database, and in a real terminal."""

from __future__ import annotations

import sqlite3
import sys
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from changing_samples import screen_of
from support import small_store
from support.screens import WIDE, said, screen_text, screen_words
from support.settling import press, running, settled
from support.terminal import Terminal
from tui_samples import STILL

from zeroclaw_tui.config.locations import OpenOptions
from zeroclaw_tui.tui.app import InspectorApp


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """Thirty memories, twelve of them small talk."""
    path = tmp_path / "memory" / "brain.db"
    path.parent.mkdir()
    talk = [{"key": f"talk_{at}", "content": f"ok {at}", "category": "conversation"} for at in range(12)]
    notes = [{"key": f"note_{at}", "content": f"worth {at}"} for at in range(18)]
    return small_store.make(path, "G1", talk + notes)


def rows_in(path: Path) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        return connection.execute("SELECT rowid, * FROM memories ORDER BY rowid").fetchall()


def found_in(path: Path, word: str) -> int:
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        query = "SELECT count(*) FROM memories_fts WHERE memories_fts MATCH ?"
        return int(connection.execute(query, (word,)).fetchone()[0])


def inspector(path: Path) -> InspectorApp:
    return InspectorApp(OpenOptions(path=path), clock=lambda: datetime(2026, 11, 20, tzinfo=UTC), pace=STILL)


async def test_a_superseded_memory_is_shown_again_and_hidden_by_undo(tmp_path: Path) -> None:
    """The detail names the key; the key shows the memory to the agent again, undo hides it as it was."""
    rows = [{"key": "old", "content": "User prefers C", "superseded_by": "new"}, {"key": "new"}]
    path = small_store.make(tmp_path / "brain.db", "G2", rows)
    before = rows_in(path)
    async with running(inspector(path), WIDE) as (app, pilot):
        for _ in range(2):
            screen_of(pilot).panes.look(screen_of(pilot).view.toggled("superseded", ""))
        await settled(pilot)
        assert "superseded by new" in screen_words(app)
        await app.screen.run_action("show_again")
        await settled(pilot)
        assert "Changed old · u reverses that." in said(app)
        assert rows_in(path) != before
        screen_of(pilot).panes.look(screen_of(pilot).view.toggled("superseded", ""))
        await settled(pilot)
        assert "2 memories" in screen_text(app)
        await press(pilot, "u")
        assert rows_in(path) == before
        await app.screen.run_action("show_again")
        await settled(pilot)
        assert "This memory is not superseded" in said(app)


def test_find_mark_purge_and_undo_in_a_real_terminal(database: Path) -> None:
    """The whole way by keys: what is deleted is missing from file and index, and comes back into them as it was."""
    before = rows_in(database)
    with Terminal([sys.executable, "-m", "zeroclaw_tui", str(database)]) as screen:
        screen.wait_for("30 memories", "note_17")
        screen.press("/")
        screen.wait_for("❯ recall")
        screen.press("tab")
        screen.wait_for("contains")
        screen.press("talk_")
        screen.wait_for("talk_11", "12 found")
        screen.press("enter")
        screen.wait_for("d delete")
        screen.press("*")
        screen.wait_for("12 marked")
        screen.press("d")
        screen.wait_for("Delete 12 memories?", "Type 12 to delete:")
        screen.press("12")
        screen.wait_for("delete: 12")
        screen.press("enter")
        screen.wait_for("12 memories are in the trash until", "Nothing contains")
        assert rows_in(database) == [row for row in before if row[0] > 12]
        assert found_in(database, "ok") == 0
        screen.press("u")
        screen.wait_for("talk_11", "Undid")
        assert rows_in(database) == before
        assert found_in(database, "ok") == 12
        screen.press("escape")
        screen.wait_for("30 memories")
        screen.press("q")
        assert screen.wait_exit() == 0
    assert b"Traceback" not in screen.raw
