"""kill -9 at any point of a change: nothing is lost, a second run finishes the work, and undo reverses it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
UPKEEP = ("skip", "overwrite", "rename", "merge", "clean", "hygiene", "undo")
RUNS = [
    ("crash/crash_points.py", ("purge", "edit", "undo"), 6, "every memory whole"),
    ("crash/upkeep_crash_points.py", UPKEEP, 5, "every memory whole"),
    ("crash/erase_crash_points.py", ("erase",), 2, "nothing else lost, none left when done again"),
    ("crash/doctor_crash_points.py", ("hydrated", "index", "compact"), 5, "every memory whole"),
    ("curation/transfer/transfer_crash_points.py", ("sqlite", "markdown", "snapshot", "make"), 6, "every memory whole"),
]
"""The script, its actions, the number of kills in a short run, and the result that it prints."""
CONFIG = TESTS / "crash" / "config_crash_points.py"
every_run = pytest.mark.parametrize(
    ("script", "action", "points", "holds"),
    [
        pytest.param(TESTS / script, action, points, holds, id=f"{Path(script).stem} {action}")
        for script, actions, points, holds in RUNS
        for action in actions
    ],
)


def _run(script: Path, action: str, folder: Path, *arguments: str) -> str:
    command = [sys.executable, str(script), *action.split(), str(folder), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@every_run
def test_a_change_killed_at_some_points_loses_nothing(
    script: Path, action: str, points: int, holds: str, tmp_path: Path
) -> None:
    """The kills are spread over the whole change, which may end before the last one."""
    killed = re.search(rf"killed at (\d), {holds}", _run(script, action, tmp_path, "--points", str(points)))
    assert killed is not None
    assert points - 2 <= int(killed[1]) <= points


@pytest.mark.slow
@every_run
def test_a_change_killed_before_each_of_its_writes_loses_nothing(
    script: Path, action: str, points: int, holds: str, tmp_path: Path
) -> None:
    # An erasure makes very many writes.
    few = ("--points", "200") if action == "erase" else ()
    assert holds in _run(script, action, tmp_path, *few)


@pytest.mark.parametrize("action", ["save", "linked", "new", "pruning", "restore", "key"])
def test_a_config_save_killed_at_any_write_leaves_the_old_or_the_new_file(action: str, tmp_path: Path) -> None:
    """Both results occur: some kills leave the old state and some the new one."""
    output = _run(CONFIG, action, tmp_path)
    counted = re.search(r"(\d+) changes of a disk, killed at (\d+), old or new, and whole", output)
    assert counted is not None, output
    calls, killed = map(int, counted.groups())
    left = output.splitlines()
    assert calls - 2 <= killed <= calls == left.count("old") + left.count("new")
    assert {"old", "new"} <= {*left}
