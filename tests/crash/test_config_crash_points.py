"""kill -9 at any moment of a save: the config is the old one or the new one, whole, and saving again finishes."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("config_crash_points.py")


@pytest.mark.parametrize("action", ["save", "linked", "new", "pruning", "restore", "key"])
def test_a_save_killed_before_each_of_its_system_calls_leaves_whole_files(action: str, tmp_path: Path) -> None:
    """Both endings are seen: kills that leave the old state and kills that leave the new one."""
    arguments = [sys.executable, str(SCRIPT), action, str(tmp_path)]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    counted = re.search(r"(\d+) system calls, killed at (\d+), old or new, and whole", done.stdout)
    assert counted is not None, done.stdout
    calls, killed = map(int, counted.groups())
    left = done.stdout.splitlines()
    assert calls - 2 <= killed <= calls == left.count("old") + left.count("new")
    assert {"old", "new"} <= {*left}
