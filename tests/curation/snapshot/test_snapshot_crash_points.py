"""kill -9 while a snapshot is written or a store is made: each file is the old one or the new one, whole."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("snapshot_crash_points.py")
ACTIONS = ("snapshot", "make")


def _run(*arguments: str) -> str:
    done = subprocess.run([sys.executable, str(SCRIPT), *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("action", ACTIONS)
def test_killed_here_and_there_it_leaves_whole_files_only(action: str, tmp_path: Path) -> None:
    """Five moments spread over the whole of it."""
    assert re.search(r"killed at [3-5], every file whole", _run(action, str(tmp_path), "--points", "5"))


@pytest.mark.slow
@pytest.mark.parametrize("action", ACTIONS)
def test_killed_before_each_of_its_system_calls_it_leaves_whole_files_only(action: str, tmp_path: Path) -> None:
    """Every moment between two system calls."""
    assert "every file whole" in _run(action, str(tmp_path))
