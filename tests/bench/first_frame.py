"""Time from start to first frame and from key to screen in a real pty, compared with a baseline, run alternately.

    python tests/bench/first_frame.py [--rows 1000000] [--runs 7]

Baselines: an empty Textual app, and the same inspector on 1,000 rows. "First frame" is the screen's own first text,
"memories" the first row of the list. The CPU time of all threads is printed too, since it is valid on a loaded
machine. All programs run from bytecode, as installed ones do, whatever the value of PYTHONDONTWRITEBYTECODE.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import sys
import tempfile
import time
from pathlib import Path

import pexpect

sys.path.insert(0, str(Path(__file__).parents[1]))
from bench.big_store import make_store

EMPTY_APP = """
from textual.app import App
from textual.widgets import Static
class Empty(App):
    def compose(self):
        yield Static("ready")
Empty().run()
"""


def times_until(argv: list[str], *awaited: bytes) -> list[tuple[float, float]]:
    """Return milliseconds from start until each text was printed, in order, and the CPU milliseconds."""
    began = time.perf_counter()
    child = _spawn(argv)
    taken = []
    for text in awaited:
        child.expect_exact(text)
        taken.append(((time.perf_counter() - began) * 1000, _processor_time(child.pid)))
    child.close(force=True)
    return taken


def key_times(argv: list[str], awaited: bytes, keys: str, before: str = "") -> tuple[list[tuple[float, float]], float]:
    """Return milliseconds from each key to the first byte of its answer, the CPU milliseconds, and the memory in MB."""
    child = _spawn(argv)
    child.expect_exact(awaited)
    _drain(child, 1.5)
    if before:
        child.send(before)
        _drain(child, 0.5)
    times: list[tuple[float, float]] = []
    for key in keys:
        had_run, began = _processor_time(child.pid), time.perf_counter()
        child.send(key)
        child.read_nonblocking(65536, timeout=5)
        times.append(((time.perf_counter() - began) * 1000, _processor_time(child.pid) - had_run))
        # Longer than the pause in typing that starts a search.
        _drain(child, 0.3 if before else 0.05)
    status = Path(f"/proc/{child.pid}/status").read_text()
    memory = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS")) / 1024
    child.close(force=True)
    return times, memory


def _spawn(argv: list[str]) -> pexpect.spawn:
    env = {**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor"}
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    env["PYTHONPYCACHEPREFIX"] = str(_folder() / "bytecode")
    child = pexpect.spawn(argv[0], argv[1:], dimensions=(24, 80), env=env, timeout=60, maxread=65536)
    # pexpect waits 50 ms before each key unless this is 0.
    child.delaybeforesend = None
    return child


def _folder() -> Path:
    folder = Path(tempfile.gettempdir()) / "zeroclaw-bench"
    folder.mkdir(exist_ok=True)
    return folder


def _processor_time(pid: int) -> float:
    """Return the CPU milliseconds of the threads of a process."""
    threads = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(thread.read_text().split()[0]) for thread in threads) / 1e6


def _p95(times: list[float]) -> float:
    return sorted(times)[int(len(times) * 0.95)]


def _drain(child: pexpect.spawn, quiet: float) -> None:
    while True:
        try:
            child.read_nonblocking(65536, timeout=quiet)
        except pexpect.TIMEOUT:
            return


def main() -> None:
    """Print the ratios."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rows", type=int, default=1_000_000)
    options.add_argument("--runs", type=int, default=7)
    given = options.parse_args()
    small = make_store(_folder() / "rows_1000.db", 1000)
    large = make_store(_folder() / f"rows_{given.rows}.db", given.rows)
    python = sys.executable
    inspector = [python, "-m", "zeroclaw_tui"]
    awaited = (b"zeroclaw", b"memory_0")
    programs = {
        "empty Textual app": ([python, "-c", EMPTY_APP], (b"ready",)),
        "inspector, 1,000 rows": ([*inspector, str(small)], awaited),
        f"inspector, {given.rows:,} rows": ([*inspector, str(large)], awaited),
    }
    taken: dict[str, list[list[tuple[float, float]]]] = {name: [] for name in programs}
    for argv, texts in programs.values():
        times_until(argv, *texts)
    for _ in range(given.runs):
        for name, (argv, texts) in programs.items():
            taken[name].append(times_until(argv, *texts))
    medians: dict[str, list[tuple[float, float]]] = {}
    for name, runs in taken.items():
        moments = zip(*runs, strict=True)
        medians[name] = [tuple(map(statistics.median, zip(*moment, strict=True))) for moment in moments]
        shown = zip(("first frame", "memories"), medians[name], strict=False)
        message = "   ".join(f"{what} {wall:5.0f} ms, processor {cpu:5.0f} ms" for what, (wall, cpu) in shown)
        print(f"{name:32} {message}")
    (empty,), few, many = medians.values()
    for name, found in (("1,000 rows", few), (f"{given.rows:,} rows", many)):
        for what, bar, moment in zip(("first frame", "memories"), (1.3, 1.9), found, strict=True):
            wall, cpu = moment[0] / empty[0], moment[1] / empty[1]
            print(f"{name + ', ' + what:32} {wall:.2f} x empty app, processor {cpu:.2f} x   (bar {bar})")
    for name in list(programs)[1:]:
        argv, texts = programs[name]
        for what, keys, before, bar in (
            ("j", "j" * 60, "", 12),
            ("*, then none", "*" * 30, "", 20),
            ("letter in the search box", "memory memory memory", "/", 12),
        ):
            times, memory = key_times(argv, texts[-1], keys, before)
            wall, cpu = ([time[at] for time in times] for at in (0, 1))
            print(
                f"{name:32} {what:25} to screen median {statistics.median(wall):5.1f}  p95 {_p95(wall):5.1f} ms,"
                f" processor {statistics.median(cpu):5.1f}  p95 {_p95(cpu):5.1f} ms"
                f"   (bar {bar})   memory {memory:.0f} MB"
            )
    print(f"(this bench itself peaked at {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} MB)")


if __name__ == "__main__":
    main()
