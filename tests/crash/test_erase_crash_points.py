"""kill -9 at any moment of an erasing: nothing else is lost, and erasing once more leaves no byte."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("erase_crash_points.py")


def _run(*arguments: str) -> str:
    done = subprocess.run([sys.executable, str(SCRIPT), *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_an_erasing_killed_here_and_there_loses_nothing_else(tmp_path: Path) -> None:
    """Three moments spread over the whole run."""
    assert "all gone when done again" in _run("erase", str(tmp_path), "--points", "3")


@pytest.mark.slow
def test_an_erasing_killed_at_many_moments_loses_nothing_else(tmp_path: Path) -> None:
    """Four hundred moments between two system calls."""
    assert "all gone when done again" in _run("erase", str(tmp_path), "--points", "400")
