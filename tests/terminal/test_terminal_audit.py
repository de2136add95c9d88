"""Cleaning up as a person meets them, in a real terminal."""

from __future__ import annotations

import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest
from support import small_store
from support.terminal import Terminal

INSPECTOR = [sys.executable, "-m", "zeroclaw_tui"]
REPEATED = "The boiler is serviced every October by the man from Braga."


@pytest.fixture
def config_dir(clean_environment: Path) -> Path:
    """Three tool results, the same sentence four times, and one memory that is nothing of the kind."""
    folder = clean_environment / ".zeroclaw"
    database = folder / "workspace" / "memory" / "brain.db"
    database.parent.mkdir(parents=True)
    (folder / "config.toml").write_text('[memory]\nbackend = "sqlite"\n', encoding="utf-8")
    rows = [{"key": "cat", "content": "Her cat is called Biscoito and sleeps on the piano."}]
    rows += [{"key": f"tool{at}", "content": f"<tool_result>file number {at}</tool_result>"} for at in range(3)]
    rows += [{"key": f"boiler{at}", "content": REPEATED} for at in range(4)]
    small_store.make(database, "G1", rows)
    return folder


def _keys(config_dir: Path) -> list[str]:
    with closing(sqlite3.connect(config_dir / "workspace" / "memory" / "brain.db")) as connection:
        return [key for (key,) in connection.execute("SELECT key FROM memories ORDER BY rowid")]


def test_purge_merge_and_take_both_back(config_dir: Path) -> None:
    """The whole way, each step seen before the next key; afterwards every memory is where it lay."""
    before = _keys(config_dir)
    with Terminal([*INSPECTOR, str(config_dir)], columns=80, lines=24) as screen:
        screen.wait_for("8 memories")
        screen.press("3")
        screen.wait_for("2 kinds of findings", "▌exact duplicates")
        screen.press("enter")
        screen.wait_for("Merge 1 group of exact duplicates", "delete 3 memories?", "✓ stays")
        screen.press("y")
        screen.wait_for("1 kind of findings", "◉tool results", "3 marked in 1 kind: d deletes")
        screen.press("d")
        screen.wait_for("Delete 3 memories?", "y  Delete")
        screen.press("y")
        screen.wait_for("No findings in 2 memories.")
        assert _keys(config_dir) == ["cat", "boiler3"]
        screen.press("u")
        screen.wait_for("1 kind of findings", "tool results")
        screen.press("q")
        screen.wait_for("5 memories", "last stored first")
        screen.press("u")
        screen.wait_for("8 memories", "last stored first")
        screen.press("q")
        assert screen.wait_exit() == 0
    assert _keys(config_dir) == before
