"""The doctor as a person meets it, in a real terminal."""

from __future__ import annotations

import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest
from support import small_store
from support.terminal import Terminal

INSPECTOR = [sys.executable, "-m", "zeroclaw_tui"]


@pytest.fixture
def config_dir(clean_environment: Path) -> Path:
    """A database whose keyword index lost its triggers, and that is mostly empty pages."""
    folder = clean_environment / ".zeroclaw"
    database = folder / "workspace" / "memory" / "brain.db"
    database.parent.mkdir(parents=True)
    (folder / "config.toml").write_text('[memory]\nbackend = "sqlite"\n', encoding="utf-8")
    rows = [{"key": f"key{number}", "content": "word " * 2000} for number in range(200)]
    small_store.make(database, "G1", rows)
    small_store.change(database, "DELETE FROM memories WHERE key <> 'key7'")
    small_store.change(database, "DROP TRIGGER memories_ai")
    return folder


@pytest.mark.parametrize("size", [(80, 24), (140, 40)], ids=["80x24", "140x40"])
def test_repair_compact_and_go_on(config_dir: Path, size: tuple[int, int]) -> None:
    """The whole way, each step seen before the next key; afterwards the list answers as before."""
    database = config_dir / "workspace" / "memory" / "brain.db"
    before = database.stat().st_size
    with Terminal([*INSPECTOR, str(config_dir)], columns=size[0], lines=size[1]) as screen:
        screen.wait_for("1 memory")
        screen.press("D")
        screen.wait_for("1 thing is serious", "✗")
        screen.press("enter")
        screen.wait_for("Rebuild keyword index?", "Make a backup")
        screen.press("y")
        screen.wait_gone("serious")
        screen.wait_for("worth knowing")
        screen.press("g")
        screen.wait_for("▌!", "enter compact:")
        screen.press("enter")
        screen.wait_for("Compact?", "Make a backup")
        screen.press("y")
        screen.wait_for("now,", "before")
        screen.press("x")
        screen.wait_for("every page checked")
        screen.press("escape")
        screen.wait_for("key7", "newest first")
        screen.press("q")
        assert screen.wait_exit() == 0
    assert database.stat().st_size < before
    with closing(sqlite3.connect(database)) as connection:
        assert connection.execute("SELECT key FROM memories").fetchall() == [("key7",)]
        assert connection.execute("SELECT count(*) FROM sqlite_master WHERE name = 'memories_ai'").fetchone() == (1,)
