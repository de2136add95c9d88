"""Kill a piece of work before many of its changes of a disk, and look at what each left (Linux, scripts only)."""

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
    """What a script of crash points gets: the action, a folder to work in, how many points (all by default)."""
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
    """Do a piece of work to its end."""
    result = work()
    if inspect.iscoroutine(result):
        asyncio.run(result)


def in_child(work: Work) -> None:
    """Threads of SQLite and asyncio stay in a process of their own, since this one forks."""
    child = os.fork()
    if child == 0:
        code = 1
        # Nobody counts here, and unheard marks would end the process.
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
    """Run `act` once to its end and then killed at each point, from the same `place`; `check` looks afterwards.

    `when_done` sees the place after the run that was not killed. Gives an exit code, and says how it went on stdout.
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
    """The calls to kill before, counted from 1: every one, or so many of them spread over the whole."""
    if points is None or points >= calls:
        return range(1, calls + 1)
    # Two runs differ by a few calls, so that the last of one may be past the end of another.
    chance = random.Random(calls)
    width = 0.8 * calls / points
    return [int(part * width + chance.random() * width) + 1 for part in range(points)]
