"""Storing and removing many memories in PostgreSQL, beside the driver's own statements in the same run.

Run: python tests/bench/postgres_bulk.py [rows …]
"""

from __future__ import annotations

import asyncio
import sys
import time
import uuid
from collections.abc import Awaitable
from datetime import UTC, datetime
from pathlib import Path

import asyncpg

sys.path.insert(0, str(Path(__file__).parents[1]))

from support.postgres_place import PostgresPlace
from support.postgres_server import running_postgres

from zeroclaw_tui.backends.postgres.address import read_url
from zeroclaw_tui.backends.postgres.store import PostgresMemory
from zeroclaw_tui.memory.change import Draft
from zeroclaw_tui.testing.tools import EVERY, Kept

ROUNDS = 3
BARE = """
    INSERT INTO bare.memories (id, key, content, category, created_at, updated_at, session_id)
    SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::timestamptz[], $6::timestamptz[],
                         $7::text[])
    ON CONFLICT (key) DO UPDATE SET content = excluded.content, category = excluded.category,
        updated_at = excluded.updated_at, session_id = excluded.session_id"""


async def taken(work: Awaitable[object]) -> float:
    start = time.perf_counter()
    await work
    return time.perf_counter() - start


async def bare_store(connection: asyncpg.Connection, drafts: list[Draft]) -> None:
    """The same upsert with the same number of rows to a statement."""
    now = datetime.now(UTC)
    for start in range(0, len(drafts), 2000):
        some = drafts[start : start + 2000]
        rows = [(str(uuid.uuid4()), draft.key, draft.content, draft.category, now, now, None) for draft in some]
        await connection.execute(BARE, *map(list, zip(*rows, strict=True)))


async def bare_copy(connection: asyncpg.Connection, drafts: list[Draft]) -> None:
    """COPY, which knows no upsert."""
    now = datetime.now(UTC)
    rows = [(str(uuid.uuid4()), draft.key, draft.content, draft.category, now, now, None) for draft in drafts]
    names = ["id", "key", "content", "category", "created_at", "updated_at", "session_id"]
    await connection.copy_records_to_table("memories", schema_name="bare", columns=names, records=rows)


async def measured(place: PostgresPlace, count: int) -> None:
    drafts = [Draft(f"key {number:07}", f"content {number} " + "word " * 30, "daily") for number in range(count)]
    connection = await asyncpg.connect(place.url, statement_cache_size=0)
    memory = PostgresMemory(read_url(place.url), schema="ours")
    await memory.open()
    best: dict[str, float] = {}
    for _ in range(ROUNDS):
        for name, work in (
            ("ours", lambda: memory.store_batch(drafts)),
            ("bare upsert", lambda: bare_store(connection, drafts)),
            ("bare COPY", lambda: bare_copy(connection, drafts)),
        ):
            place.run("TRUNCATE ours.memories, bare.memories")
            best[name] = min(best.get(name, 1e9), await taken(work()))
    print(f"{count:>8,} rows stored:", *(f"{name} {seconds:.2f} s" for name, seconds in best.items()), sep="  ")
    print(f"         ours / bare upsert {best['ours'] / best['bare upsert']:.2f}")
    place.run("TRUNCATE ours.memories")
    await memory.store_batch(drafts)
    kept = Kept()
    stamps_took = await taken(memory.stamps(EVERY))
    remove_took = await taken(memory.remove(await memory.stamps(EVERY), kept))
    undo_took = await taken(memory.revert(kept.last_first, Kept()))
    print(f"         stamps {stamps_took:.2f} s, remove all {remove_took:.2f} s, undo {undo_took:.2f} s")
    await memory.close()
    await connection.close()


def main() -> None:
    counts = [int(text) for text in sys.argv[1:]] or [10_000, 100_000]
    with running_postgres(is_small=False) as server:
        place = PostgresPlace(server, "bulk")
        for schema in ("ours", "bare"):
            place.make_table("key", schema)
        for count in counts:
            asyncio.run(measured(place, count))


if __name__ == "__main__":
    main()
