"""kill -9 at any moment of a copy: the source is whole, doing it again finishes it, undoing takes all of it back."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("copying_crash_points.py")


def _run(*arguments: str) -> str:
    done = subprocess.run([sys.executable, str(SCRIPT), *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("backend", ["sqlite", "markdown"])
def test_a_killed_copy_can_be_continued(backend: str, tmp_path: Path) -> None:
    """Six moments spread over the whole copy."""
    assert "killed at 6, every memory whole" in _run(backend, str(tmp_path), "--points", "6")


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["sqlite", "markdown"])
def test_a_copy_killed_before_any_system_call_can_be_continued(backend: str, tmp_path: Path) -> None:
    """Every moment between two system calls."""
    assert "every memory whole" in _run(backend, str(tmp_path))
