"""kill -9 at any moment of a repair: the memories are as they were, and doing it again finishes it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("doctor_crash_points.py")


def _run(*arguments: str) -> str:
    done = subprocess.run([sys.executable, str(SCRIPT), *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("action", ["hydrated", "index", "compact"])
def test_a_repair_killed_here_and_there_leaves_every_memory(action: str, tmp_path: Path) -> None:
    """Five moments spread over the whole repair, which may be over before the last of them."""
    assert re.search(r"killed at [3-5], every memory whole", _run(action, str(tmp_path), "--points", "5"))


@pytest.mark.slow
@pytest.mark.parametrize("action", ["hydrated", "index", "compact"])
def test_a_repair_killed_before_each_of_its_system_calls_leaves_every_memory(action: str, tmp_path: Path) -> None:
    """Every moment between two system calls."""
    assert "every memory whole" in _run(action, str(tmp_path))
