"""Switching between the stores of one config in a real terminal."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

import pytest
from support.terminal import Terminal
from support.two_stores import install_of_two_stores

INSPECTOR = [sys.executable, "-m", "zeroclaw_tui"]


@pytest.fixture
def config_dir(tmp_path: Path) -> Path:
    """SQLite as the configured store, with two memories, and a MEMORY.md with three."""
    return install_of_two_stores(tmp_path)


def test_switching_from_sqlite_to_markdown_to_none_and_back(config_dir: Path) -> None:
    """Each store shows its memories; no file changes."""
    before = _digests(config_dir)
    with Terminal([*INSPECTOR, str(config_dir)], columns=80, lines=24) as screen:
        screen.wait_for("2 memories", "ramen it is")
        _switch(screen, "markdown")
        screen.wait_for("3 memories", "Runs on Sundays.")
        _switch(screen, "none")
        screen.wait_for("This backend stores no memories.")
        screen.press("e")
        screen.wait_for("Nothing is stored")
        _switch(screen, "sqlite")
        screen.wait_for("2 memories", "EST it is")
        screen.press("q")
        assert screen.wait_exit() == 0
    assert _digests(config_dir) == before


def _switch(screen: Terminal, name: str) -> None:
    def names() -> list[str]:
        return [row.strip("│▌● ").split(" ")[0] for row in screen.rows[4:7]]

    screen.press("6")
    screen.wait_until(lambda: set(names()) == {"sqlite", "markdown", "none"}, "the three stores")
    screen.wait_for("3 stores configured: 3 answer", "⏎ open")
    # The cursor starts on the current store.
    screen.press(*["j"] * names().index(name), "enter")
    screen.wait_until_absent("stores configured")


def _digests(folder: Path) -> dict[str, str]:
    return {
        str(path): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.suffix in (".db", ".md", ".toml")
    }
