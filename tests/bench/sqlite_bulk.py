"""Storing many memories in a new brain.db, beside the bare statement in one transaction, keyword index and all.

python tests/bench/sqlite_bulk.py [ROWS ...]
"""

from __future__ import annotations

import asyncio
import sqlite3
import statistics
import sys
import tempfile
import time
import uuid
from contextlib import closing
from pathlib import Path

from zeroclaw_tui.backends.sqlite.schema import create_database
from zeroclaw_tui.backends.sqlite.store import SqliteMemory
from zeroclaw_tui.backends.tables import local_now
from zeroclaw_tui.memory.change import Draft

ROUNDS = 5
_BARE = """INSERT INTO memories (id, key, content, category, created_at, updated_at, session_id)
VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (key) DO UPDATE SET content = excluded.content, category = excluded.category,
updated_at = excluded.updated_at, session_id = excluded.session_id"""


def drafts(count: int) -> list[Draft]:
    """Memories of a sentence each."""
    text = "said the meeting about sqlite moved to the second floor, bring the coriander and the slugs"
    return [Draft(f"bulk {number}", f"{number} {text}", "core") for number in range(count)]


def bare(path: Path, wanted: list[Draft]) -> float:
    """Seconds of the statement alone."""
    start = time.perf_counter()
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executemany(
            _BARE,
            ((str(uuid.uuid4()), one.key, one.content, one.category, local_now(), local_now(), None) for one in wanted),
        )
    return time.perf_counter() - start


async def ours(path: Path, wanted: list[Draft]) -> float:
    """Seconds of store_batch."""
    memory = SqliteMemory(path)
    await memory.open()
    start = time.perf_counter()
    await memory.store_batch(wanted)
    seconds = time.perf_counter() - start
    await memory.close()
    return seconds


def main() -> None:
    """Both in turns, the medians and their ratio."""
    for count in map(int, sys.argv[1:] or ["10000", "100000"]):
        wanted = drafts(count)
        taken: dict[str, list[float]] = {"bare": [], "ours": []}
        for _ in range(ROUNDS):
            with tempfile.TemporaryDirectory() as folder:
                for name in taken:
                    path = Path(folder) / f"{name}.db"
                    create_database(path, "G1")
                    taken[name].append(bare(path, wanted) if name == "bare" else asyncio.run(ours(path, wanted)))
        one, other = (statistics.median(taken[name]) for name in ("bare", "ours"))
        print(f"{count:,} rows: bare {one:.2f} s, store_batch {other:.2f} s, ratio {other / one:.2f}")


if __name__ == "__main__":
    main()
