"""A purge of 10,000 memories with vectors and its undo, against the bare SQL with the same triggers.

    python tests/bench/purge_and_undo.py [ROWS [DIMENSIONS]]

Both run in turns on copies of one database, so that a noisy machine is noisy for both. Times are the CPU time of the
whole process.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from big_store import make_store

from zeroclaw_tui.config.locations import OpenOptions
from zeroclaw_tui.curation import changes
from zeroclaw_tui.curation.library import Library, open_library
from zeroclaw_tui.curation.store_choice import configs_for
from zeroclaw_tui.memory.query import MemoryFilter

ROUNDS = 5
Seconds = tuple[float, float]


def timed(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def bare(database: Path) -> Seconds:
    """DELETE and INSERT in one transaction each, triggers and all, as durable as ZeroClaw's own writes."""
    with closing(sqlite3.connect(database, isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous = NORMAL")
        rows = connection.execute("SELECT rowid, * FROM memories").fetchall()
        names = [name for (name,) in connection.execute("SELECT name FROM pragma_table_info('memories')")]
        insert = f"INSERT INTO memories (rowid, {', '.join(names)}) VALUES ({', '.join('?' * len(rows[0]))})"

        def delete() -> None:
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany("DELETE FROM memories WHERE id = ?", [(row[1],) for row in rows])
            connection.execute("COMMIT")

        def put_back() -> None:
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany(insert, rows)
            connection.execute("COMMIT")

        return timed(delete), timed(put_back)


def ours(database: Path) -> Seconds:
    """The same through plan, trash, batches and undo."""

    async def both() -> Seconds:
        library = await open_library(configs_for(OpenOptions(path=database))[0])
        try:
            return await measured(library)
        finally:
            await library.close()

    return asyncio.run(both())


async def measured(library: Library) -> Seconds:
    start = time.process_time()
    plan = await changes.plan_purge(library, MemoryFilter())
    outcome = await changes.remove_memories(library, plan, "purge")
    middle = time.process_time()
    undone = await changes.undo(library)
    end = time.process_time()
    assert outcome.count == undone.count == plan.count
    return middle - start, end - middle


def main() -> None:
    rows, dimensions = [int(value) for value in [*sys.argv[1:], *("10000", "768")[len(sys.argv) - 1 :]]]
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_DATA_HOME"] = folder
        base = make_store(Path(folder) / "base.db", rows, dimensions)
        taken: dict[str, list[Seconds]] = {"bare SQL": [], "with trash": []}
        for number in range(ROUNDS):
            for name, way in (("bare SQL", bare), ("with trash", ours)):
                home = Path(folder) / f"{name}-{number}"
                home.mkdir()
                shutil.copy(base, home / "brain.db")
                taken[name].append(way(home / "brain.db"))
                shutil.rmtree(home)
    medians = {name: [statistics.median(part) for part in zip(*times, strict=True)] for name, times in taken.items()}
    for name, (purged, undone) in medians.items():
        print(f"{name:12} {rows:,} rows x {dimensions}: purge {purged * 1000:7.0f} ms, undo {undone * 1000:7.0f} ms")
    ratios = [medians["with trash"][at] / medians["bare SQL"][at] for at in (0, 1)]
    both = sum(medians["with trash"]) / sum(medians["bare SQL"])
    print(f"ratio: purge {ratios[0]:.2f}, undo {ratios[1]:.2f}, both {both:.2f} (bar 2)")


if __name__ == "__main__":
    main()
