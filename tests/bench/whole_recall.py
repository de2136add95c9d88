"""A whole recall, hybrid and by keyword only, warm and cold (opening and loading included).

    python tests/bench/whole_recall.py [DIMENSIONS] [ROUNDS]

Databases stay in /tmp. "After a write" is the first recall after another program stored one memory.
"""

from __future__ import annotations

import asyncio
import sqlite3
import statistics
import sys
import tempfile
import time
from collections import Counter
from contextlib import closing
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from bench.big_store import make_store
from support.golden import opened

from zeroclaw_tui.backends.sqlite.store import SqliteMemory
from zeroclaw_tui.memory.recall import RecallRequest
from zeroclaw_tui.scoring.profiles import ScoringSettings, profile_for

PROFILE = profile_for("0.8.4")


def mixed_queries(connection: sqlite3.Connection) -> dict[str, str]:
    """Queries by how many rows their words are in: from most of them down to a few."""
    seen: Counter[str] = Counter()
    for (content,) in connection.execute("SELECT content FROM memories ORDER BY rowid LIMIT 5000"):
        seen.update(set(content.split()))
    words = [word for word, _ in seen.most_common()]
    common, medium, rare = words[3], words[len(words) // 20], words[len(words) // 2]
    return {
        "very common": words[0],
        "common": common,
        "medium": medium,
        "rare": rare,
        "common + rare": f"{common} {rare}",
        "four words": f"{medium} {rare} {words[len(words) // 3]} {words[len(words) // 10]}",
    }


def with_vectors(path: Path, dimensions: int) -> None:
    """Give every row a random vector, unless they have one."""
    chance = np.random.default_rng(11)
    with closing(sqlite3.connect(path)) as connection, connection:
        if connection.execute("SELECT count(embedding) FROM memories").fetchone() != (0,):
            return
        connection.execute("PRAGMA synchronous = OFF")
        # Vectors are no words: without the trigger the index stays as it is.
        (trigger,) = connection.execute("SELECT sql FROM sqlite_master WHERE name = 'memories_au'").fetchone()
        connection.execute("DROP TRIGGER memories_au")
        rowids = connection.execute("SELECT rowid FROM memories").fetchall()
        connection.executemany(
            "UPDATE memories SET embedding = ? WHERE rowid = ?",
            ((_vector(chance, dimensions).tobytes(), rowid) for (rowid,) in rowids),
        )
        connection.execute(trigger)


def _vector(chance: np.random.Generator, dimensions: int) -> np.ndarray:
    return chance.standard_normal(dimensions, dtype=np.float32) + np.float32(0.3)


async def _milliseconds(memory: SqliteMemory, query: str, vector: np.ndarray | None, **parts: str) -> float:
    start = time.perf_counter()
    await memory.search(RecallRequest(query, 20, **parts), PROFILE, ScoringSettings(), vector)
    return (time.perf_counter() - start) * 1000


async def measure(path: Path, dimensions: int, rounds: int) -> None:
    """Print the figures of one database."""
    vector = _vector(np.random.default_rng(2), dimensions)
    with closing(sqlite3.connect(path)) as connection:
        queries = mixed_queries(connection)
    start = time.perf_counter()
    memory = await opened(path)
    await memory.search(RecallRequest(queries["medium"], 20), PROFILE, ScoringSettings(), vector)
    print(f"  cold hybrid, opening and loading included: {(time.perf_counter() - start) * 1000:.0f} ms")
    for name, query in queries.items():
        hybrid = [await _milliseconds(memory, query, vector) for _ in range(rounds)]
        keyword = [await _milliseconds(memory, query, None) for _ in range(rounds)]
        print(f"  {name:15} hybrid {statistics.median(hybrid):7.1f} ms   keyword {statistics.median(keyword):7.1f} ms")
    scoped = [await _milliseconds(memory, queries["medium"], vector, session_id="none") for _ in range(rounds)]
    print(f"  in a session: first {scoped[0]:.1f} ms, then {statistics.median(scoped[1:]):.1f} ms")
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE memories SET updated_at = updated_at || '0' WHERE rowid = 5")
    print(f"  after a write: {await _milliseconds(memory, queries['medium'], vector):.0f} ms")
    await memory.close()


def main() -> None:
    """Print the figures for 10,000 and 100,000 rows."""
    dimensions = int(sys.argv[1]) if len(sys.argv) > 1 else 768
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 15
    for rows in (10_000, 100_000):
        path = make_store(Path(tempfile.gettempdir()) / f"bench-vectors-{rows}-{dimensions}.db", rows)
        with_vectors(path, dimensions)
        print(f"{rows:,} rows x {dimensions}")
        asyncio.run(measure(path, dimensions, rounds))


if __name__ == "__main__":
    main()
