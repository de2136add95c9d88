"""200 recall tests on 10,000 memories with vectors: a run of them, and what a purge of 100 would lose.

    python tests/bench/recall_tests.py [DIMENSIONS] [ROUNDS]

The bar is 2 s for a run. Databases stay in the temporary folder.
"""

from __future__ import annotations

import asyncio
import random
import sqlite3
import sys
import tempfile
import time
import zlib
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from bench.big_store import make_store

from zeroclaw_tui.config.locations import OpenOptions
from zeroclaw_tui.curation.evaluation.figures import evaluate, plain_trial, trial_of_test
from zeroclaw_tui.curation.evaluation.losses import PlannedChange, losses_among
from zeroclaw_tui.curation.evaluation.queries import TestQuery
from zeroclaw_tui.curation.library import open_library
from zeroclaw_tui.curation.store_choice import configs_for
from zeroclaw_tui.memory.query import MemoryFilter

ROWS, TESTS, GOING = 10_000, 200, 100


class RandomVectors:
    """An embedder with a random vector of its own for every text."""

    name = "bench"
    is_remote = False

    def __init__(self, dimensions: int) -> None:
        self.dimensions = dimensions

    async def embed(self, text: str) -> np.ndarray:
        return np.random.default_rng(zlib.crc32(text.encode())).standard_normal(self.dimensions, dtype=np.float32)

    async def close(self) -> None:
        """Nothing to let go of."""


def tests_of(path: Path, count: int) -> list[TestQuery]:
    """Queries of five words of a memory each, which is what they expect."""
    chance = random.Random(5)
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute("SELECT key, content FROM memories ORDER BY rowid").fetchall()
    chosen = chance.sample(rows, count)
    return [TestQuery(" ".join(chance.sample(content.split(), 5)), (key,), key) for key, content in chosen if content]


async def main(dimensions: int, rounds: int) -> None:
    """Print the seconds of each round."""
    path = make_store(Path(tempfile.gettempdir()) / f"recall_tests_{dimensions}.db", ROWS, dimensions)
    chance = random.Random(1)
    tests = tests_of(path, TESTS)
    now = datetime(2026, 11, 20, 12, tzinfo=UTC)
    for _ in range(rounds):
        library = await open_library(configs_for(OpenOptions(path=path))[0], "0.8.4")
        library.embedder = RandomVectors(dimensions)
        try:
            start, worked = time.perf_counter(), time.process_time()
            found = await evaluate(library, tests, partial(trial_of_test, library, plain_trial(library)), "run")
            run, run_worked = time.perf_counter() - start, time.process_time() - worked
            # As queries are imported: what comes now is expected, so every test has something to lose.
            passing = [
                replace(figures.asked, expected=figures.injected) for figures in found.queries if figures.injected
            ]
            stamps = chance.sample(await library.memory.stamps(MemoryFilter()), GOING)
            start, worked = time.perf_counter(), time.process_time()
            await losses_among(library, passing, PlannedChange(going=stamps), now)
            losses, losses_worked = time.perf_counter() - start, time.process_time() - worked
            print(f"{dimensions} dimensions: run {run:.2f} s ({run_worked:.2f} s of work), losses of a purge ", end="")
            print(f"for {len(passing)} tests that pass {losses:.2f} s ({losses_worked:.2f} s of work)")
        finally:
            await library.close()


if __name__ == "__main__":
    numbers = [int(word) for word in sys.argv[1:]]
    asyncio.run(main(*(numbers + [768, 5][len(numbers) :])))
