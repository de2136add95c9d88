"""Deciding a recall again with other numbers, beside the bare arithmetic over the same arrays.

    python tests/bench/what_if.py [DIMENSIONS] [ROUNDS]

The ratio to stay under is 1.5 on 10,000 memories, and the store is not called at all. On 100,000 memories the longest
pause of the event loop is reported, while everything is gathered and while it is decided again in a thread, as the
screen does it. Databases stay in the temporary folder.
"""

from __future__ import annotations

import asyncio
import gc
import itertools
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from bench.big_store import make_store
from bench.keyword_stage import mixed_queries
from bench.side_by_side import medians
from bench.whole_recall import with_vectors

from zeroclaw_tui.config.locations import OpenOptions
from zeroclaw_tui.curation.library import Library, open_library
from zeroclaw_tui.curation.recall import GatheredEvidence, gather_evidence, trial_of
from zeroclaw_tui.curation.store_choice import configs_for
from zeroclaw_tui.memory.recall import RecallRequest
from zeroclaw_tui.scoring.evidence import StageEvidence
from zeroclaw_tui.scoring.profiles import RerankSettings, Trial

AS_OF = "2026-11-20T12:00:00+00:00"
DAY_SECONDS = 86_400
LIMITS = (5, 20, 100)
TICK = 0.001
RERANKED = RerankSettings(enabled=True, strategy="mmr", candidate_multiplier=20)
"""The dearest there is: the largest pool, each row of it compared with those chosen before."""


class OneVector:
    """An embedder that has the same vector for every text."""

    name = "bench"
    is_remote = False

    def __init__(self, dimensions: int) -> None:
        self.dimensions = dimensions
        chance = np.random.default_rng(2)
        self._vector = chance.standard_normal(dimensions, dtype=np.float32) + np.float32(0.3)

    async def embed(self, text: str) -> np.ndarray:
        return self._vector

    async def close(self) -> None:
        """Nothing to let go of."""


class Counting:
    """A store that counts what is asked of it."""

    def __init__(self, memory: Any) -> None:
        self._memory = memory
        self.asked: Counter[str] = Counter()

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._memory, name)
        if not callable(found):
            return found

        def counted(*arguments: Any, **more: Any) -> Any:
            self.asked[name] += 1
            return found(*arguments, **more)

        return counted


def bare_arithmetic(evidence: StageEvidence) -> Callable[[Trial], int]:
    """The same question in plain numpy over all rows: weigh, sort (stable), decay, and hold against the threshold."""
    rows = evidence.rows
    keyword = np.searchsorted(rows.handles, evidence.keyword_handles)
    vector = np.searchsorted(rows.handles, evidence.vector_handles)
    raw, cosines = evidence.keyword_scores, evidence.vector_scores
    as_of = np.datetime64(AS_OF[:19])
    created = np.array([moment[:19] for moment in rows.created], dtype="datetime64[s]")
    core = rows.categories.index("core")

    def decided(trial: Trial) -> int:
        weights = np.float32(trial.settings.vector_weight), np.float32(trial.settings.keyword_weight)
        total = np.zeros(len(rows.handles), dtype=np.float32)
        present = np.zeros(len(rows.handles), dtype=np.float32)
        total[vector] = weights[0] * cosines
        present[vector] = weights[0]
        total[keyword] += weights[1] * (raw / raw.max())
        present[keyword] += weights[1]
        scores = np.divide(total, present, out=np.zeros_like(total), where=present > 0)
        order = np.argsort(-scores, kind="stable")
        ages = (as_of - created).astype(np.float64) / DAY_SECONDS
        decayed = np.where(rows.category == core, scores, scores * np.exp2(-ages / 7.0))
        return int((decayed[order] >= trial.settings.threshold).sum())

    return decided


@asynccontextmanager
async def opened(path: Path, dimensions: int) -> AsyncIterator[Library]:
    """The library of a lone database, with an embedder."""
    (config,) = configs_for(OpenOptions(path=path))
    library = await open_library(config, "0.8.4")
    library.embedder = OneVector(dimensions)
    try:
        yield library
    finally:
        await library.close()


def trials(trial: Trial) -> Callable[[], Trial]:
    """Another trial at every call, as when a key is held down."""
    weights = itertools.cycle(np.linspace(0.05, 1.0, 96).tolist())
    return lambda: trial._replace(settings=trial.settings._replace(vector_weight=next(weights)))


def decide_now(gathered: GatheredEvidence, next_trial: Callable[[], Trial]) -> None:
    """Decide the next trial."""
    if gathered.replayed_now(next_trial()) is None:
        raise AssertionError("the store would have to be asked")


async def measure_ratio(path: Path, dimensions: int, rounds: int) -> None:
    """Print both ways side by side for some queries and limits, and what was asked of the store meanwhile."""
    with closing(sqlite3.connect(path)) as connection:
        queries = mixed_queries(connection)
    async with opened(path, dimensions) as library:
        for name in ("very common", "medium", "rare"):
            for limit in LIMITS:
                await _ratio(library, f"{name}, limit {limit}", queries[name], limit, rounds)


async def _ratio(library: Library, name: str, query: str, limit: int, rounds: int) -> None:
    trial = trial_of(library, RecallRequest(query, limit, as_of=AS_OF))
    gathered = await gather_evidence(library, trial, whole_store=True)
    (evidence,) = gathered.evidence
    assert isinstance(evidence, StageEvidence)
    memory = library.memory
    counting: Any = Counting(memory)
    library.memory = counting
    bare = bare_arithmetic(evidence)
    ways = {
        "bare": partial(lambda arithmetic, take: arithmetic(take()), bare, trials(trial)),
        "what-if": partial(decide_now, gathered, trials(trial)),
    }
    taken = medians(ways, rounds)
    library.memory = memory
    hits = f"{len(evidence.keyword_handles):,} by words, {len(evidence.vector_handles):,} by vectors"
    ratio = taken["what-if"] / taken["bare"]
    asked = sum(count for verb, count in counting.asked.items() if verb != "interrupt")
    print(
        f"  {name:24} bare {taken['bare']:6.2f} ms   what-if {taken['what-if']:6.2f} ms   ratio {ratio:4.2f}"
        f"   store calls {asked}   ({hits})"
    )


async def measure_pauses(path: Path, dimensions: int, rounds: int) -> None:
    """Print the longest pauses of the event loop on a big store."""
    with closing(sqlite3.connect(path)) as connection:
        queries = mixed_queries(connection)
    async with opened(path, dimensions) as library:
        async with longest_pause() as pause:
            await asyncio.sleep(1)
        print(f"  with nothing to do: longest pause in a second {pause[0] * 1000:.1f} ms")
        # The browser has them loaded by the time anybody asks.
        await library.memory.prepare_vectors()
        for name, rerank in itertools.product(("very common", "rare"), (RerankSettings(), RERANKED)):
            trial = trial_of(library, RecallRequest(queries[name], 20, as_of=AS_OF))
            trial = trial._replace(settings=trial.settings._replace(rerank=rerank))
            name += " reranked" if rerank.enabled else ""
            gc.collect()
            async with longest_pause() as pause:
                start = time.perf_counter()
                gathered = await gather_evidence(library, trial, whole_store=True)
                took = time.perf_counter() - start
            print(f"  {name:20} gathered in {took * 1000:6.0f} ms, longest pause {pause[0] * 1000:5.1f} ms")
            next_trial = trials(trial)
            async with longest_pause() as pause:
                start = time.perf_counter()
                for _ in range(rounds):
                    tried = next_trial()
                    if await asyncio.to_thread(gathered.replayed_now, tried) is None:
                        await gathered.replayed(tried)
                took = (time.perf_counter() - start) / rounds
            print(f"  {name:20} decided in  {took * 1000:6.1f} ms, longest pause {pause[0] * 1000:5.1f} ms")


@asynccontextmanager
async def longest_pause() -> AsyncIterator[list[float]]:
    """How long the loop did not come round, in seconds, at the worst."""
    worst = [0.0]

    async def tick() -> None:
        last = time.perf_counter()
        while True:
            await asyncio.sleep(TICK)
            now = time.perf_counter()
            worst[0] = max(worst[0], now - last - TICK)
            last = now

    ticking = asyncio.create_task(tick())
    await asyncio.sleep(TICK)
    try:
        yield worst
    finally:
        await asyncio.sleep(2 * TICK)
        ticking.cancel()


def main() -> None:
    """Print the figures for 10,000 and 100,000 rows."""
    dimensions = int(sys.argv[1]) if len(sys.argv) > 1 else 384
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 51
    for rows, measure in ((10_000, measure_ratio), (100_000, measure_pauses)):
        path = make_store(Path(tempfile.gettempdir()) / f"bench-vectors-{rows}-{dimensions}.db", rows)
        with_vectors(path, dimensions)
        print(f"{rows:,} rows x {dimensions}")
        asyncio.run(measure(path, dimensions, rounds))


if __name__ == "__main__":
    main()
