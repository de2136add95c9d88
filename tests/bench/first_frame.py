"""First frame and key-to-screen in a real pty, each against its own yardstick, run in turn.

    python tests/bench/first_frame.py [--rows 1000000] [--runs 7]

Yardsticks: an empty Textual app, and the same inspector on 1,000 rows. "First frame" is the screen's own first text,
"memories" the first row of the list.
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


def times_until(argv: list[str], *awaited: bytes) -> list[float]:
    """Milliseconds from start until each of the texts was printed, one after the other."""
    began = time.perf_counter()
    child = _spawn(argv)
    taken = []
    for text in awaited:
        child.expect_exact(text)
        taken.append((time.perf_counter() - began) * 1000)
    child.close(force=True)
    return taken


def key_times(argv: list[str], awaited: bytes, presses: int = 60) -> tuple[list[float], float]:
    """Milliseconds from a key to the first byte of its answer, and the process's memory in MB afterwards."""
    child = _spawn(argv)
    child.expect_exact(awaited)
    _drain(child, 1.5)
    times: list[float] = []
    for _ in range(presses):
        began = time.perf_counter()
        child.send("j")
        child.read_nonblocking(65536, timeout=5)
        times.append((time.perf_counter() - began) * 1000)
        _drain(child, 0.05)
    status = Path(f"/proc/{child.pid}/status").read_text()
    memory = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS")) / 1024
    child.close(force=True)
    return times, memory


def _spawn(argv: list[str]) -> pexpect.spawn:
    env = {**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor"}
    child = pexpect.spawn(argv[0], argv[1:], dimensions=(24, 80), env=env, timeout=60, maxread=65536)
    # pexpect waits 50 ms before each key unless told not to.
    child.delaybeforesend = None
    return child


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
    folder = Path(tempfile.gettempdir()) / "zeroclaw-bench"
    folder.mkdir(exist_ok=True)
    small = make_store(folder / "rows_1000.db", 1000)
    large = make_store(folder / f"rows_{given.rows}.db", given.rows)
    python = sys.executable
    inspector = [python, "-m", "zeroclaw_tui"]
    awaited = (b"zeroclaw", b"memory_0")
    programs = {
        "empty Textual app": ([python, "-c", EMPTY_APP], (b"ready",)),
        "inspector, 1,000 rows": ([*inspector, str(small)], awaited),
        f"inspector, {given.rows:,} rows": ([*inspector, str(large)], awaited),
    }
    taken: dict[str, list[list[float]]] = {name: [] for name in programs}
    for _ in range(given.runs):
        for name, (argv, texts) in programs.items():
            taken[name].append(times_until(argv, *texts))
    medians = {name: [statistics.median(times) for times in zip(*runs, strict=True)] for name, runs in taken.items()}
    for name, found in medians.items():
        memories = f"   memories {found[1]:5.0f} ms" if len(found) > 1 else ""
        print(f"{name:32} first frame, median {found[0]:5.0f} ms{memories}")
    empty, few, many = medians.values()
    print(f"inspector / empty app            {few[0] / empty[0]:.2f}   (bar 2.0)")
    print(f"large / small                    {many[0] / few[0]:.2f}   (bar 1.3); memories {many[1] / few[1]:.2f}")
    for name in list(programs)[1:]:
        argv, texts = programs[name]
        times, memory = key_times(argv, texts[-1])
        ordered = sorted(times)
        p95 = ordered[int(len(ordered) * 0.95)]
        print(
            f"{name:32} key to screen median {statistics.median(times):.1f}  p95 {p95:.1f} ms  memory {memory:.0f} MB"
        )
    print(f"(this bench itself peaked at {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} MB)")


if __name__ == "__main__":
    main()
