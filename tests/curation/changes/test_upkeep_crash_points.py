"""kill -9 at any moment of an import, a merge or a new category: doing it again finishes it, undoing takes it back."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("upkeep_crash_points.py")
ACTIONS = ("skip", "overwrite", "rename", "merge", "recategorise")


def _run(*arguments: str) -> str:
    done = subprocess.run([sys.executable, str(SCRIPT), *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("action", ACTIONS)
def test_upkeep_killed_here_and_there_loses_nothing(action: str, tmp_path: Path) -> None:
    """Four moments over the whole change; a run that needs fewer calls than the first may end before the last."""
    done = re.search(r"killed at (\d), every memory whole", _run(action, str(tmp_path), "--points", "4"))
    assert done is not None
    assert int(done.group(1)) >= 3


@pytest.mark.slow
@pytest.mark.parametrize("action", ACTIONS)
def test_upkeep_killed_before_each_of_its_system_calls_loses_nothing(action: str, tmp_path: Path) -> None:
    """Every moment between two system calls."""
    assert "every memory whole" in _run(action, str(tmp_path))
