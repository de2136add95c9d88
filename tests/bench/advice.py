"""Measured advice: hundreds of settings on 200 queries of 10,000 memories with vectors.

    python tests/bench/advice.py [DIMENSIONS] [QUERIES]

What the settings take has to stay under 10 s: evidence is gathered once for a query, which is told apart, and they are
arithmetic on it. Databases stay in the temporary folder.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from bench.big_store import make_store
from bench.recall_tests import RandomVectors, tests_of
from bench.what_if import AS_OF, opened
from bench.whole_recall import with_vectors

from zeroclaw_tui.curation.evaluation.advice import advise
from zeroclaw_tui.curation.evaluation.figures import plain_trial, trial_of_test
from zeroclaw_tui.curation.recall import gather_each

ROWS = 10_000
LEAST = 500


async def measure(path: Path, dimensions: int, queries: int) -> None:
    """Print how long it takes."""
    tests = tests_of(path, queries)
    async with opened(path, dimensions) as library:
        library.embedder = RandomVectors(dimensions)
        await library.memory.prepare_vectors()
        plain = plain_trial(library)
        plain = plain._replace(request=replace(plain.request, as_of=AS_OF))
        start = time.perf_counter()
        async for _ in gather_each(library, (trial_of_test(library, plain, asked) for asked in tests)):
            pass
        gathering = time.perf_counter() - start
        start, worked = time.perf_counter(), time.process_time()
        advice = await advise(library, tests, plain)
        took, worked = time.perf_counter() - start, time.process_time() - worked
    print(f"  {advice.settings} settings x {len(tests)} queries x {ROWS:,} rows in {took:.2f} s, ", end="")
    print(f"{worked:.2f} s of work; what the store finds takes {gathering:.2f} s when nothing else is done")
    if advice.settings < LEAST:
        print(f"  fewer than {LEAST} settings were tried")


def main() -> None:
    """Print the figures."""
    dimensions = int(sys.argv[1]) if len(sys.argv) > 1 else 384
    queries = int(sys.argv[2]) if len(sys.argv) > 2 else 200
    path = make_store(Path(tempfile.gettempdir()) / f"bench-vectors-{ROWS}-{dimensions}.db", ROWS)
    with_vectors(path, dimensions)
    asyncio.run(measure(path, dimensions, queries))


if __name__ == "__main__":
    main()
