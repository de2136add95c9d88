"""200 recall tests on 10,000 memories with vectors: a run of them, and what a purge of 100 would lose.

    python tests/bench/recall_tests.py [DIMENSIONS] [ROUNDS]

The bar is 2 s for a run. Databases stay in the temporary folder.
"""

from __future__ import annotations

import asyncio
import random
import sys
import tempfile
import time
import zlib
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from bench.big_store import WORDS, make_store

from zeroclaw_tui.config.locations import OpenOptions
from zeroclaw_tui.curation.evaluation import (
    PlannedChange,
    TestQuery,
    evaluate,
    losses_among,
    plain_trial,
    trial_of_test,
)
from zeroclaw_tui.curation.library import open_library
from zeroclaw_tui.curation.opening import configs_for
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


async def main(dimensions: int, rounds: int) -> None:
    """Print the seconds of each round."""
    path = make_store(Path(tempfile.gettempdir()) / f"recall_tests_{dimensions}.db", ROWS, dimensions)
    chance = random.Random(1)
    tests = [
        TestQuery(" ".join(chance.sample(WORDS[:1000], 5)), (f"memory_{chance.randrange(ROWS):07d}",), str(number))
        for number in range(TESTS)
    ]
    now = datetime(2026, 11, 20, 12, tzinfo=UTC)
    for _ in range(rounds):
        library = await open_library(configs_for(OpenOptions(path=path))[0], "0.8.4")
        library.embedder = RandomVectors(dimensions)
        try:
            start = time.perf_counter()
            await evaluate(library, tests, partial(trial_of_test, library, plain_trial(library)), "run")
            run = time.perf_counter() - start
            stamps = chance.sample(await library.memory.stamps(MemoryFilter()), GOING)
            start = time.perf_counter()
            await losses_among(library, tests, PlannedChange(going=stamps), now)
            print(f"{dimensions} dimensions: run {run:.2f} s, losses of a purge {time.perf_counter() - start:.2f} s")
        finally:
            await library.close()


if __name__ == "__main__":
    numbers = [int(word) for word in sys.argv[1:]]
    asyncio.run(main(*(numbers + [768, 5][len(numbers) :])))
