"""kill -9 at any moment of a change: each memory is in the store or in the trash, and doing it again finishes it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("crash_points.py")
ACTIONS = ("purge", "edit", "undo")


def _run(*arguments: str) -> str:
    done = subprocess.run([sys.executable, str(SCRIPT), *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("action", ACTIONS)
def test_a_change_killed_here_and_there_loses_nothing(action: str, tmp_path: Path) -> None:
    """Six moments spread over the whole change, which may be over before the last of them."""
    assert re.search(r"killed at [456], every memory whole", _run(action, str(tmp_path), "--points", "6"))


@pytest.mark.slow
@pytest.mark.parametrize("action", ACTIONS)
def test_a_change_killed_before_each_of_its_system_calls_loses_nothing(action: str, tmp_path: Path) -> None:
    """Every moment between two system calls."""
    assert "every memory whole" in _run(action, str(tmp_path))
