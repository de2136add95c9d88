"""When the disk is full or fails to sync, the output of every command is still true."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from support import kill_points

SCRIPT = Path(__file__).with_name("full_disk_points.py")
ACTIONS = ("list", "purge", "forever", "edit", "undo", "empty", "copy", "repair", "replace")
WAYS = ((), ("--io",), ("--once",), ("--io", "--once"))

pytestmark = pytest.mark.skipif(not kill_points.can_fail(), reason="system calls can be made to fail on x86_64 only")


def _run(*arguments: str) -> None:
    done = subprocess.run([sys.executable, str(SCRIPT), *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("action", ACTIONS)
def test_a_command_reports_the_truth_when_the_disk_becomes_full(action: str, tmp_path: Path) -> None:
    """A few failing calls, half of them near the end."""
    _run(action, str(tmp_path), "--points", "4" if action == "purge" else "2")


def test_a_command_reports_the_truth_when_a_sync_fails(tmp_path: Path) -> None:
    """Each fsync fails once: a change already in the log may be done, and is not reported as failed."""
    _run("purge", str(tmp_path), "--io", "--once", "--points", "4")


# A list never syncs.
@pytest.mark.slow
@pytest.mark.parametrize(
    ("action", "way"),
    [(action, way) for action in ACTIONS for way in WAYS if action != "list" or "--io" not in way],
)
def test_a_command_reports_the_truth_at_many_failing_calls(action: str, way: tuple[str, ...], tmp_path: Path) -> None:
    """Of the system calls that need disk space or a sync, thirty fail one by one; half of them are the last calls."""
    _run(action, str(tmp_path), *way, "--points", "30")
