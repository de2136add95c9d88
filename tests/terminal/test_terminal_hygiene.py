"""Hygiene in a real terminal, on a workspace with old notes and conversation rows."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from support.commands import state_of
from support.small_store import make
from support.terminal import Terminal

INSPECTOR = [sys.executable, "-m", "zeroclaw_tui"]
AT = "2020-01-05T10:00:00+00:00"


@pytest.fixture
def zc(tmp_path: Path) -> Path:
    memory = tmp_path / "zc" / "workspace" / "memory"
    memory.mkdir(parents=True)
    row = {"category": "conversation", "created_at": AT, "updated_at": AT}
    make(memory / "brain.db", "G2", [row | {"key": "user_msg_1"}, row | {"key": "user_msg_2"}, {"key": "core_fact"}])
    (memory / "2020-01-05.md").write_text("# Five\n")
    (memory / "2020-01-06_\x1b[31mred.md").write_text("# Six\n")
    (tmp_path / "zc" / "config.toml").write_text(
        'default_temperature = 0.7\n[memory]\nbackend = "sqlite"\nauto_save = true\npurge_after_days = 0\n'
    )
    return tmp_path / "zc"


def test_hygiene_runs_without_the_excluded_item_and_can_be_undone(zc: Path) -> None:
    """From the list to hygiene and back; the excluded item stays, and undo restores everything else."""
    before = state_of(zc / "workspace")
    with Terminal([*INSPECTOR, "--config-dir", str(zc)], columns=80, lines=24) as screen:
        screen.wait_for("3 memories")
        screen.press("3", "H")
        screen.wait_for("4 items due", "memory/2020-01-05.md", "2020-01-06_␛[31mred.md", "user_msg_2")
        screen.press(" ")
        screen.wait_for("3 items due", "1 excluded")
        screen.press("enter")
        screen.wait_for("Run hygiene now?", "1 file archived", "2 rows to the trash")
        screen.press("y")
        screen.wait_for("last run ", "1 excluded")
        screen.wait_until_absent("user_msg_2")
        files, keys = state_of(zc / "workspace")
        assert "memory/2020-01-05.md" in files
        assert "memory/archive/2020-01-06_\x1b[31mred.md" in files
        assert keys == {"core_fact"}
        screen.press("u")
        screen.wait_for("user_msg_2", "3 items due")
        files, keys = state_of(zc / "workspace")
        # The time of the last run stays recorded, so that ZeroClaw does not run it again at its next start.
        assert files.pop("state/memory_hygiene_state.json")
        assert (files, keys) == before
        screen.press("escape")
        screen.wait_for("3 memories")
        screen.press("q")
        assert screen.wait_exit() == 0
    assert b"\x1b[31mred" not in screen.raw
