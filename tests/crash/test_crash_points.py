"""kill -9 at any moment of a change: nothing is lost, doing it again finishes it, undoing reverses that."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
UPKEEP = HERE / "upkeep_crash_points.py"
WHOLE, ALL_GONE = "every memory whole", "nothing else lost, all gone when done again"
RUNS = [
    *((HERE / "crash_points.py", action, 6, WHOLE) for action in ("purge", "edit", "undo")),
    *((UPKEEP, action, 4, WHOLE) for action in ("skip", "overwrite", "rename", "merge")),
    *(
        (HERE / "hygiene_crash_points.py", action, 8, "everything whole")
        for action in ("hygiene", "hygiene --purging", "undo", "undo --purging")
    ),
    (HERE / "erase_crash_points.py", "erase", 2, ALL_GONE),
]
"""Script, what it does, at how many moments a short run kills it, and what it says of what it found."""
every_run = pytest.mark.parametrize(
    ("script", "action", "points", "holds"), RUNS, ids=[f"{script.stem} {action}" for script, action, *_ in RUNS]
)


def _run(script: Path, action: str, folder: Path, *arguments: str) -> str:
    command = [sys.executable, str(script), *action.split(), str(folder), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@every_run
def test_a_change_killed_here_and_there_loses_nothing(
    script: Path, action: str, points: int, holds: str, tmp_path: Path
) -> None:
    """Moments spread over the whole change, which may be over before the last of them."""
    killed = re.search(rf"killed at (\d), {holds}", _run(script, action, tmp_path, "--points", str(points)))
    assert killed is not None
    assert points - 2 <= int(killed[1]) <= points


@pytest.mark.slow
@every_run
def test_a_change_killed_before_each_of_its_system_calls_loses_nothing(
    script: Path, action: str, points: int, holds: str, tmp_path: Path
) -> None:
    """Every moment between two system calls; of an erasing, which has a great many, four hundred."""
    few = ("--points", "400") if action.startswith("erase") else ()
    assert holds in _run(script, action, tmp_path, *few)
