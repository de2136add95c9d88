"""Why a memory is recalled, and the prompt, in a real terminal on copies of databases that ZeroClaw wrote."""

from __future__ import annotations

import hashlib
import shutil
import sys
from pathlib import Path

import pytest
from support.terminal import Terminal

INSPECTOR = [sys.executable, "-m", "zeroclaw_tui"]
WRITTEN = Path(__file__).parents[1] / "data" / "sqlite"


@pytest.mark.parametrize(("version", "columns", "lines"), [("0.7.5", 140, 40), ("0.8.4", 80, 24)])
def test_explain_a_row_and_read_the_prompt(tmp_path: Path, version: str, columns: int, lines: int) -> None:
    """From the list to why and to the prompt by keys alone, the message typed as fast as a terminal sends it."""
    store = tmp_path / "memory" / "brain.db"
    store.parent.mkdir()
    shutil.copy(WRITTEN / f"zeroclaw_{version}.db", store)
    before = hashlib.sha256(store.read_bytes()).hexdigest()
    command = [*INSPECTOR, str(store), "--profile", version]
    with Terminal(command, columns=columns, lines=lines) as screen:
        screen.wait_for("last stored first", "▌", "created")
        screen.press("x")
        screen.wait_for("is recalled, or not", "For which message?")
        screen.press("charlie", "enter")
        screen.wait_for("prompt for “charlie”", "matches “charlie”")
        screen.press("/", "charlie and bravo", "enter")
        screen.wait_for("prompt for “charlie and bravo”", "and, bravo")
        screen.press("P")
        screen.wait_for("before “charlie and bravo”")
        screen.press("x")
        screen.wait_for("“c” is")
        screen.press("escape")
        screen.wait_for("last stored first")
        screen.press(":")
        screen.press("prompt")
        screen.wait_for("The text ZeroClaw puts")
        screen.press("enter")
        screen.wait_for("For which message?")
        screen.press("charlie", "enter")
        screen.wait_for("before “charlie”")
        screen.press("escape")
        screen.wait_for("last stored first")
        screen.press("q")
        assert screen.wait_exit() == 0
    assert hashlib.sha256(store.read_bytes()).hexdigest() == before
