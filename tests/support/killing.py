"""Kill a function before many of its disk changes and check what each kill leaves (Linux, scripts only)."""

from __future__ import annotations

import argparse
import asyncio
import inspect
import os
import random
import shutil
import signal
import sys
import traceback
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path

from support import kill_points


def arguments(actions: Iterable[str], *switches: str) -> argparse.Namespace:
    """Parse the arguments of a crash-point script: action, working folder and number of points (all by default)."""
    parser = argparse.ArgumentParser()
    parser.add_argument("action", choices=list(actions))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--points", type=int)
    for switch in switches:
        parser.add_argument(switch, action="store_true")
    return parser.parse_args()


Work = Callable[[], object]
"""A function, or a coroutine function."""


def do(work: Work) -> None:
    """Run a function, or the coroutine it returns, to its end."""
    result = work()
    if inspect.iscoroutine(result):
        asyncio.run(result)


def in_child(work: Work) -> None:
    """Run `work` in a child process, so that this process, which forks, has no threads of SQLite and asyncio."""
    child = os.fork()
    if child == 0:
        code = 1
        # Nothing counts here, and an unhandled mark would end the process.
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)
        try:
            do(work)
            code = 0
        except BaseException:  # noqa: BLE001 - a forked child must never return into its parent's code
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(code)
    _, status = os.waitpid(child, 0)
    if status:
        raise SystemExit(1)


def kill_at_points(
    given: argparse.Namespace,
    place: Path,
    act: Work,
    check: Work,
    *,
    holds: str = "every memory whole",
    when_done: Callable[[], object] = lambda: None,
) -> int:
    """Run `act` once to its end, then again from the same `place` with a kill at each point; run `check` after each.

    `when_done` runs after the complete run. Returns an exit code and prints a summary to stdout.
    """
    name, base = given.action, place.with_name(f"{place.name}-base")
    shutil.copytree(place, base, symlinks=True)
    whole = kill_points.run(partial(do, act))
    if whole.code != 0 or not whole.calls:
        raise SystemExit(f"the {name} itself failed: {whole}")
    when_done()
    killed = 0
    for point in _chosen(whole.calls, given.points):
        shutil.rmtree(place)
        shutil.copytree(base, place, symlinks=True)
        ended = kill_points.run(partial(do, act), kill_before=point)
        if ended.code:
            raise SystemExit(f"the {name} failed without being killed at call {point}")
        killed += ended.was_killed
        try:
            in_child(check)
        except SystemExit:
            print(f"killed before call {point} of {whole.calls}")
            return 1
    print(f"{name}: {whole.calls} changes of a disk, killed at {killed}, {holds}")
    return 0


def _chosen(calls: int, points: int | None) -> Sequence[int]:
    """Choose the calls to kill before, counted from 1: all, or `points` of them spread over the whole run."""
    if points is None or points >= calls:
        return range(1, calls + 1)
    # Two runs differ by a few calls, so the last call of one may be past the end of another.
    chance = random.Random(calls)
    width = 0.8 * calls / points
    return [int(part * width + chance.random() * width) + 1 for part in range(points)]
