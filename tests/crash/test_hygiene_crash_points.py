"""kill -9 at any moment of hygiene by hand or of its undo: nothing is in neither place, and doing it again finishes."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("hygiene_crash_points.py")
WAYS = (["hygiene"], ["hygiene", "--purging"], ["undo"], ["undo", "--purging"])


def _run(way: list[str], *arguments: str) -> str:
    command = [sys.executable, str(SCRIPT), *way, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("way", WAYS, ids=" ".join)
def test_hygiene_killed_here_and_there_loses_nothing(way: list[str], tmp_path: Path) -> None:
    """Eight moments spread over the whole of it."""
    assert re.search(r"killed at [678], everything whole", _run(way, str(tmp_path), "--points", "8"))


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS, ids=" ".join)
def test_hygiene_killed_before_each_of_its_system_calls_loses_nothing(way: list[str], tmp_path: Path) -> None:
    """Every moment between two system calls."""
    assert "everything whole" in _run(way, str(tmp_path))
