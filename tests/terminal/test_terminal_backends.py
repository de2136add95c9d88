"""Switching between the stores of one config in a real terminal."""

from __future__ import annotations

import hashlib
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest
from support.small_store import create_database
from support.terminal import Terminal

INSPECTOR = [sys.executable, "-m", "zeroclaw_tui"]


@pytest.fixture
def config_dir(tmp_path: Path) -> Path:
    """SQLite in use, with two memories; a MEMORY.md with three beside it."""
    folder = tmp_path / ".zeroclaw"
    database = folder / "workspace" / "memory" / "brain.db"
    database.parent.mkdir(parents=True)
    (folder / "config.toml").write_text('[memory]\nbackend = "sqlite"\n')
    (folder / "workspace" / "MEMORY.md").write_text(
        "# Memory\n\n- Likes ramen.\n- Timezone is EST.\n- Runs on Sundays.\n"
    )
    create_database(database, "G1")
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.executemany(
            "INSERT INTO memories (id, key, content, category, created_at, updated_at)"
            " VALUES (?1, ?1, ?2, 'core', ?3, ?3)",
            [(key, text, "2026-01-02T03:04:05+00:00") for key, text in (("tz", "EST it is"), ("food", "ramen it is"))],
        )
    return folder


def test_from_sqlite_to_markdown_to_none_and_back(config_dir: Path) -> None:
    """Each store shows what it has; nothing of the files changes."""
    before = _digests(config_dir)
    with Terminal([*INSPECTOR, str(config_dir)], columns=80, lines=24) as screen:
        screen.wait_for("2 memories", "ramen it is")
        _switch(screen, "markdown")
        screen.wait_for("3 memories", "Runs on Sundays.")
        _switch(screen, "none")
        screen.wait_for("Nothing is remembered here.")
        screen.press("e")
        screen.wait_for("Nothing is stored")
        _switch(screen, "sqlite")
        screen.wait_for("2 memories", "EST it is")
        screen.press("q")
        assert screen.wait_exit() == 0
    assert _digests(config_dir) == before


def _switch(screen: Terminal, name: str) -> None:
    screen.press("b")
    screen.wait_for("3 stores are known", "look at it")
    screen.wait_gone("asking")
    rows = [row.strip("▌● ").split(" ")[0] for row in screen.rows[3:6]]
    # The cursor starts on the store that is shown.
    screen.press(*["j"] * rows.index(name), "enter")
    screen.wait_gone("are known to this config")


def _digests(folder: Path) -> dict[str, str]:
    return {
        str(path): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.suffix in (".db", ".md", ".toml")
    }
