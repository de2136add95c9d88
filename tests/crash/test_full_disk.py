"""A disk that is full from any moment on, or that fails to sync: what a command says about it is so."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from support import kill_points

SCRIPT = Path(__file__).with_name("full_disk_points.py")
ACTIONS = ("list", "purge", "forever", "edit", "undo", "empty", "copy", "repair", "replace")
WAYS = ((), ("--io",), ("--once",), ("--io", "--once"))

pytestmark = pytest.mark.skipif(not kill_points.can_fail(), reason="system calls are made to fail on x86_64 only")


def _run(*arguments: str) -> None:
    done = subprocess.run([sys.executable, str(SCRIPT), *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("action", ACTIONS)
def test_a_command_on_a_disk_that_becomes_full_says_what_is_so(action: str, tmp_path: Path) -> None:
    """A few moments, half of them at its end."""
    _run(action, str(tmp_path), "--points", "4" if action == "purge" else "2")


def test_a_command_whose_disk_fails_once_to_sync_says_what_is_so(tmp_path: Path) -> None:
    """Every fsync fails in its turn: what was in the log already may be done, and is not called undone."""
    _run("purge", str(tmp_path), "--io", "--once", "--points", "4")


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS, ids=["full", "no sync", "full once", "no sync once"])
@pytest.mark.parametrize("action", ACTIONS)
def test_a_command_says_what_is_so_at_every_call_that_fails(action: str, way: tuple[str, ...], tmp_path: Path) -> None:
    """Every system call that takes room on the disk, or waits for it."""
    _run(action, str(tmp_path), *way)
