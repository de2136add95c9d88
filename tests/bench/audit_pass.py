"""The audit of a store against a bare pass over its rows, in turns on one database.

python tests/bench/audit_pass.py [ROWS [DIMENSIONS]]
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import sys
import tempfile
from contextlib import closing
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from big_store import make_store
from side_by_side import medians

from zeroclaw_tui.config.locations import OpenOptions
from zeroclaw_tui.curation.audit.audit import audit_memories
from zeroclaw_tui.curation.library import Library, open_library
from zeroclaw_tui.curation.store_choice import configs_for

ROUNDS = 3


def bare(database: Path) -> int:
    """Every column of every row through sqlite3, the content measured."""
    with closing(sqlite3.connect(database)) as connection:
        rows = connection.execute("SELECT rowid, * FROM memories ORDER BY rowid")
        return sum(len(row[3]) for row in rows)


def on_library(database: Path, work: str) -> object:
    """The audit, or nothing but its pass over the rows."""

    async def opened() -> object:
        library = await open_library(configs_for(OpenOptions(path=database))[0])
        try:
            return await (audit_memories(library) if work == "audit" else each_row(library))
        finally:
            await library.close()

    return asyncio.run(opened())


async def each_row(library: Library) -> int:
    rows = 0

    def see(row: object) -> None:
        nonlocal rows
        rows += 1

    await library.memory.each_row(see)
    return rows


def main() -> None:
    rows, dimensions = [int(value) for value in [*sys.argv[1:], *("100000", "0")[len(sys.argv) - 1 :]]]
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_DATA_HOME"] = folder
        database = make_store(Path(folder) / "brain.db", rows, dimensions)
        taken = medians(
            {
                "bare SQL": lambda: bare(database),
                "each_row": lambda: on_library(database, "each_row"),
                "audit": lambda: on_library(database, "audit"),
            },
            ROUNDS,
        )
    for name, time in taken.items():
        print(f"{name:9} {rows:,} rows x {dimensions}: {time:7.0f} ms, {time / taken['bare SQL']:5.1f} of bare SQL")


if __name__ == "__main__":
    main()
