"""How long a copy takes beside the bare INSERTs of the same rows, and how much memory it needs at most.

    python tests/bench/copy_between.py [--rows N] [--postgres]

SQLite to SQLite, vectors of 384 numbers with every second row; with --postgres also SQLite to PostgreSQL, beside the
driver's executemany.
"""

from __future__ import annotations

import argparse
import asyncio
import resource
import sqlite3
import struct
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "curation" / "transfer"))

from copying_world import copied, install_in, opened
from support.postgres_server import running_postgres

from zeroclaw_tui.backends.sqlite.sql import create_database

VECTOR = struct.pack("<384f", *[at / 384 for at in range(384)])
NAMES = "id, key, content, category, embedding, created_at, updated_at, session_id"


def rows(count: int) -> list[tuple[Any, ...]]:
    at = "2026-03-01T10:00:00.000001+00:00"
    text = "a memory of the harbour and the crossing, as long as most are. " * 3
    return [
        (f"id-{n}", f"key-{n}", f"{text}{n}", "core", VECTOR if n % 2 else None, at, at, None) for n in range(count)
    ]


def insert(path: Path, held: list[tuple[Any, ...]]) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executemany(f"INSERT INTO memories ({NAMES}) VALUES ({', '.join('?' * 8)})", held)


async def timed(work: Callable[[], Awaitable[object]]) -> float:
    start = time.perf_counter()
    await work()
    return time.perf_counter() - start


async def measure(count: int, *, postgres: bool) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        held = rows(count)
        insert(install_in(folder, []), held)
        create_database(folder / "bare.db", "G2")
        start = time.perf_counter()
        insert(folder / "bare.db", held)
        bare = time.perf_counter() - start
        del held
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        async with opened(folder) as library:
            whole = await timed(lambda: copied(library, "sqlite", folder / "new.db"))
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            again = await timed(lambda: copied(library, "sqlite", folder / "new.db"))
            print(
                f"{count:,} rows, SQLite to SQLite: bare INSERTs {bare:.2f} s, copy {whole:.2f} s, again {again:.2f} s"
            )
            print(f"  {whole / bare:.1f} x; memory {before / 1024:.0f} MB before, at most {peak / 1024:.0f} MB")
            if postgres:
                await beside_postgres(library, count)


async def beside_postgres(library: Any, count: int) -> None:
    import asyncpg  # type: ignore[import-untyped]

    with running_postgres(is_small=False) as server:
        server.make_user("zeroclaw", "secret")
        server.make_database("memories", "zeroclaw")
        url = server.url("zeroclaw", "secret", "memories")
        whole = await timed(lambda: copied(library, "postgres", url))
        connection = await asyncpg.connect(url)
        try:
            await connection.execute("CREATE TABLE bare (LIKE memories INCLUDING ALL)")
            found = [tuple(row) for row in await connection.fetch("SELECT * FROM memories")]
            marks = ", ".join(f"${at}" for at in range(1, len(found[0]) + 1))
            statement = f"INSERT INTO bare VALUES ({marks})"
            bare = await timed(lambda: connection.executemany(statement, found))
        finally:
            await connection.close()
        print(
            f"{count:,} rows, SQLite to PostgreSQL: bare INSERTs {bare:.2f} s, copy {whole:.2f} s, {whole / bare:.1f} x"
        )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--postgres", action="store_true")
    given = parser.parse_args()
    asyncio.run(measure(given.rows, postgres=given.postgres))


if __name__ == "__main__":
    main()
