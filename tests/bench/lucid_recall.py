"""A recall of the Lucid bridge that finds enough in the database, beside the database's own recall.

    python tests/bench/lucid_recall.py [ROUNDS]

Databases stay in the temporary folder. Also printed: what a recall takes that does ask a program, beside that program
run bare, and what a failing one costs while it rests.
"""

from __future__ import annotations

import asyncio
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from bench.big_store import make_store
from bench.keyword_stage import PROFILE
from support.lucid_program import LucidProgram, write_program

from zeroclaw_tui.backends.lucid import LucidConfig, LucidMemory
from zeroclaw_tui.backends.sqlite.store import SqliteMemory
from zeroclaw_tui.memory.recall import RecallRequest
from zeroclaw_tui.scoring.profiles import ScoringSettings

ENOUGH = "memory core user"
TOO_FEW = "xylophonequartz tea"

Way = Callable[[], Awaitable[object]]


async def medians(ways: dict[str, Way], rounds: int) -> dict[str, float]:
    """The median milliseconds of each way, in turns after one warm-up."""
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for turn in range(rounds + 1):
        for name, way in ways.items():
            start = time.perf_counter()
            await way()
            if turn:
                taken[name].append((time.perf_counter() - start) * 1000)
    return {name: statistics.median(times) for name, times in taken.items()}


def recall(memory: SqliteMemory, query: str) -> Way:
    """A recall of five by the newest rules."""
    return lambda: memory.search(RecallRequest(query, 5), PROFILE, ScoringSettings())


async def run_bare(program: LucidProgram) -> None:
    """The program with the same arguments, waited for in a thread."""
    arguments = [str(program.path), "context", TOO_FEW, "--budget=200", "--project=/tmp"]
    await asyncio.to_thread(subprocess.run, arguments, capture_output=True, check=True)


async def measure(path: Path, folder: Path, rounds: int) -> None:
    """Print the figures of one database."""
    program = write_program(folder / "bin", memories=[("decision", "tea: green")])
    given = {"binary_path": str(program.path), "recall_timeout_ms": 60_000}
    local, bridge = SqliteMemory(path), LucidMemory(path, config=LucidConfig(given, given))
    absent = LucidMemory(path, config=LucidConfig({"binary_path": "/nowhere"}, {"binary_path": "/nowhere"}))
    for memory in (local, bridge, absent):
        await memory.open()
    enough = await medians({"sqlite": recall(local, ENOUGH), "lucid": recall(bridge, ENOUGH)}, rounds)
    if program.calls:
        raise SystemExit("the database finds too little for this query; nothing is measured")
    print(f"  enough local hits: sqlite {enough['sqlite']:.2f} ms, lucid {enough['lucid']:.2f} ms", end="")
    print(f", x {enough['lucid'] / enough['sqlite']:.2f}")
    few = {
        "sqlite": recall(local, TOO_FEW), "resting": recall(absent, TOO_FEW), "asked": recall(bridge, TOO_FEW),
        "bare": lambda: run_bare(program),
    }  # fmt: skip
    found = await medians(few, max(5, rounds // 5))
    print(f"  too few, at rest: sqlite {found['sqlite']:.2f} ms, lucid {found['resting']:.2f} ms", end="")
    print(f", x {found['resting'] / found['sqlite']:.2f}")
    beside = found["sqlite"] + found["bare"]
    print(f"  too few, asked: lucid {found['asked']:.1f} ms, sqlite and the bare program {beside:.1f} ms", end="")
    print(f", x {found['asked'] / beside:.2f}")
    for memory in (local, bridge, absent):
        await memory.close()


def main() -> None:
    """Print the figures for 10,000 and 100,000 rows."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    for rows in (10_000, 100_000):
        path = make_store(Path(tempfile.gettempdir()) / f"bench-lucid-{rows}.db", rows)
        print(f"{rows:,} rows")
        with tempfile.TemporaryDirectory() as folder:
            asyncio.run(measure(path, Path(folder), rounds))


if __name__ == "__main__":
    main()
