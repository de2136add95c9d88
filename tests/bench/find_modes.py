"""Finding by contains, words and a pattern in 100,000 rows, beside the bare statement for the same rows.

    python tests/bench/find_modes.py [ROWS [ROUNDS]]

The bare way has one connection of sqlite3 and no filter of ours: instr() on lowered bytes, or a function that matches
with the same library and a time limit, and fetches the rowids. The pause is the longest time the event loop did not get
round while ours ran, and what it does not get round in without any work beside it. The database stays in /tmp.
"""

from __future__ import annotations

import asyncio
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import regex

sys.path.insert(0, str(Path(__file__).parents[1]))
from bench.big_store import make_store
from bench.side_by_side import medians

from zeroclaw_tui.backends.sqlite.store import SqliteMemory
from zeroclaw_tui.files.database import connect_read_only_blocking
from zeroclaw_tui.memory.query import MemoryFilter, Sort

HAS = "(instr(CAST(lower(content) AS BLOB), ?) > 0 OR instr(CAST(lower(key) AS BLOB), ?) > 0)"
CASES: tuple[tuple[str, MemoryFilter, str, tuple[bytes, ...]], ...] = (
    ("contains, common", MemoryFilter(contains="RA1"), HAS, (b"ra1", b"ra1")),
    ("contains, nowhere", MemoryFilter(contains="xylophone"), HAS, (b"xylophone", b"xylophone")),
    ("contains, Cyrillic", MemoryFilter(contains="чай"), "folded(content) OR folded(key)", ()),
    ("words, two", MemoryFilter(words=("ra1", "lo2")), f"{HAS} AND {HAS}", (b"ra1", b"ra1", b"lo2", b"lo2")),
    ("regex, word", MemoryFilter(regex=r"\btan4\d*\b"), "found(content) OR found(key)", ()),
    ("regex, nowhere", MemoryFilter(regex=r"x{3,}y"), "found(content) OR found(key)", ()),
)


def bare(connection: sqlite3.Connection, condition: str, values: tuple[bytes, ...], pattern: str | None) -> object:
    if pattern is not None:
        search = regex.compile(pattern, regex.IGNORECASE).search
        connection.create_function("found", 1, lambda text: search(text, concurrent=True, timeout=1.0) is not None)
    connection.create_function("folded", 1, lambda text: "чай" in text.casefold())
    statement = f"SELECT rowid FROM memories WHERE superseded_by IS NULL AND ({condition}) ORDER BY rowid DESC"
    return connection.execute(statement, values).fetchall()


async def longest_pause(work: Callable[[], object] | None) -> float:
    """The longest the loop did not get round, in milliseconds, while a coroutine of `work` ran, or for 0.3 s."""
    longest, is_over = 0.0, False

    async def watch() -> None:
        nonlocal longest
        before = time.perf_counter()
        while not is_over:
            await asyncio.sleep(0.001)
            now = time.perf_counter()
            longest, before = max(longest, now - before - 0.001), now

    watching = asyncio.ensure_future(watch())
    await asyncio.sleep(0)
    await (work() if work is not None else asyncio.sleep(0.3))  # type: ignore[misc]
    is_over = True
    await watching
    return longest * 1000


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 7
    path = make_store(Path(tempfile.gettempdir()) / f"bench-text-{rows}.db", rows)
    connection = connect_read_only_blocking(path)
    with asyncio.Runner() as runner:
        memory = SqliteMemory(path)
        runner.run(memory.open())
        print(f"{rows:,} rows; the loop alone pauses for {runner.run(longest_pause(None)):.1f} ms")
        for name, wanted, condition, values in CASES:
            newest = Sort()

            def ours(wanted: MemoryFilter = wanted, newest: Sort = newest) -> object:
                return runner.run(memory.order(wanted, newest))

            def theirs(condition: str = condition, values: tuple[bytes, ...] = values, wanted: MemoryFilter = wanted):
                return bare(connection, condition, values, wanted.regex)

            assert len(ours()) == len(theirs())  # type: ignore[arg-type]
            took = medians({"bare": theirs, "ours": ours}, rounds)
            pause = runner.run(longest_pause(lambda wanted=wanted, newest=newest: memory.order(wanted, newest)))
            print(
                f"{name:20} {len(theirs()):>7,} found   bare {took['bare']:7.1f} ms   ours {took['ours']:7.1f} ms   "
                f"ratio {took['ours'] / took['bare']:.2f}   longest pause {pause:.1f} ms"
            )
        runner.run(memory.close())
    connection.close()


if __name__ == "__main__":
    main()
