"""Pages, orders and counts of a PostgreSQL table beside asyncpg's own statement in the same run.

    python tests/bench/postgres_pages.py [ROUNDS [ROWS]]

The first page at 1,000,000 rows may take 1.5 times what it takes at 1,000. At 10,000 and 100,000 rows a page,
the whole order and facets may take 1.5 times what asyncpg takes for the bare statement: as it is used behind a pooler
(statement_cache_size=0, in a transaction with a time-out), and, for comparison, on a connection of its own with
prepared statements and no transaction, which a pooler does not allow. At every size a list of three rows may take 1.5
times what the page and the count take, and a text that is looked for 1.3 times what ILIKE takes. At the biggest, to
forget a key may take 50 ms and to purge ten memories 1 s, trash and all; beside them stands the bare DELETE.

First come texts of forty words each, as many as ROWS says (1,000,000): the nearest to one by words; the nearest by
vectors with an index and without; keys that begin so; and the stamps of a text that is looked for. Each stands beside
one bare statement over all rows.

On two busy cores with a million rows, 75 MB at most, in times of the bare statement's 0.7 to 1.1 s: near by vectors
0.5, and 0.3 with an index, most of which is counting them; keys beginning with key_77 0.02, and with what none begins
with 0.25, which is every row looked at: only under the collation C the index on the key has their order; stamps 0.9.
"""

from __future__ import annotations

import asyncio
import os
import resource
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from statistics import median
from typing import Any

from zeroclaw_tui.backends.lookup import count_facets, entries_with_key, versions, versions_at, whole_entry
from zeroclaw_tui.testing.tools import handles_of, part_of

sys.path.insert(0, str(Path(__file__).parents[1]))
from support.postgres_place import PostgresPlace
from support.postgres_server import running_postgres

from zeroclaw_tui.backends.postgres.address import read_url
from zeroclaw_tui.backends.postgres.store import PostgresMemory
from zeroclaw_tui.config.locations import OpenOptions
from zeroclaw_tui.curation import changes
from zeroclaw_tui.curation.library import open_library
from zeroclaw_tui.curation.store_choice import configs_for
from zeroclaw_tui.memory.query import (
    ENTRIES,
    EXCERPTS,
    HANDLES,
    NEWEST_STORED,
    NEWEST_UPDATED,
    MemoryFilter,
    Query,
)

SIZES = (1_000, 10_000, 100_000, 1_000_000)
ROWS = 100
NOW = "2026-11-22T00:00:00+00:00"
COLUMNS = (
    "id, key, left(content, 400) AS content, octet_length(content) AS size, category, created_at::text, "
    "updated_at::text, session_id"
)
LIMITS = "SET LOCAL statement_timeout = 30000"
FACETS = """SELECT category, session_id,
  CASE WHEN created_at > '2026-11-21' THEN 0 WHEN created_at > '2026-11-15' THEN 1
  WHEN created_at > '2026-10-23' THEN 2 ELSE 3 END AS age, count(*) FROM "{0}".memories GROUP BY 1, 2, 3"""
FILL = """INSERT INTO "{0}".memories SELECT gen_random_uuid()::text, 'key_' || n, repeat(md5(n::text) || ' ', 6),
  (ARRAY['core', 'daily', 'conversation', 'notes'])[1 + n % 4], t, t, CASE n % 3 WHEN 0 THEN 'cli' END
  FROM (SELECT n, '2026-11-22'::timestamptz - n * interval '1 minute' AS t FROM generate_series(1, {1}) n) AS made;
  VACUUM ANALYZE "{0}".memories"""

PROSE = """ALTER TABLE "prose".memories ALTER embedding TYPE vector(16);
  INSERT INTO "prose".memories SELECT gen_random_uuid()::text, 'key_' || n,
  (SELECT string_agg('w' || floor(exp(random() * 10.8))::int, ' ') FROM generate_series(1, 35 + n % 10)),
  'core', t, t, NULL, 'default', NULL,
  (SELECT array_agg(random() - 0.5 + 0 * n * place) FROM generate_series(1, 16) AS place)::real[]::vector
  FROM (SELECT n, '2026-11-22'::timestamptz - n * interval '1 minute' AS t FROM generate_series(1, {0}) n) AS made"""
"""Words are as frequent as their place among all is low, as in natural texts."""
WORD_INDEXES = """SET maintenance_work_mem = '256MB';
  CREATE INDEX idx_memories_content_fts ON "prose".memories USING gin (to_tsvector('simple', content));
  CREATE INDEX idx_memories_key_fts ON "prose".memories USING gin (to_tsvector('simple', key))"""
VECTOR_INDEX = """SET maintenance_work_mem = '256MB';
  CREATE INDEX near ON "prose".memories USING ivfflat (embedding vector_cosine_ops) WITH (lists = 200)"""

Ways = Mapping[str, Callable[[], Awaitable[object]]]


async def medians(ways: Ways, rounds: int) -> dict[str, float]:
    """The median milliseconds of each way, run in turns after one warm-up."""
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for way in ways.values():
        await way()
    for _ in range(rounds):
        for name, way in ways.items():
            start = time.perf_counter()
            await way()
            taken[name].append((time.perf_counter() - start) * 1000)
    return {name: median(times) for name, times in taken.items()}


def bare_page(connection: Any, schema: str) -> Callable[[], Awaitable[object]]:
    """The statement of a page as one would write it for asyncpg, rows left as the driver gives them."""
    statement = f'SELECT {COLUMNS} FROM "{schema}".memories AS m ORDER BY m.updated_at DESC, m.id DESC LIMIT {ROWS}'
    return lambda: connection.fetch(statement)


def in_transaction(connection: Any, work: Callable[[], Awaitable[object]]) -> Callable[[], Awaitable[object]]:
    async def done() -> object:
        async with connection.transaction(readonly=True):
            await connection.execute(LIMITS)
            return await work()

    return done


async def of_size(
    place: PostgresPlace, size: int, rounds: int, pages: dict[int, Callable[[], Awaitable[object]]]
) -> PostgresMemory:
    """Measure one table, and leave its pages to be compared across sizes."""
    import asyncpg

    schema = f"rows{size}"
    memory = PostgresMemory(read_url(place.url), schema=schema)
    await memory.open()
    pooled = await asyncpg.connect(place.url, statement_cache_size=0)
    own = await asyncpg.connect(place.url)
    bare, prepared = bare_page(pooled, schema), bare_page(own, schema)
    pages[size] = lambda: memory.rows(Query(EXCERPTS, MemoryFilter(), NEWEST_STORED, limit=ROWS))
    ways: Ways = {"ours": pages[size], "bare": in_transaction(pooled, bare), "prepared": prepared}
    tell(f"{size:>9,} rows, first page", await medians(ways, rounds))
    await short_lists(memory, schema, own, max(3, rounds // (1 + size // 20_000)))
    if size < SIZES[-1]:
        await whole_passes(memory, schema, pooled, own, max(3, rounds // (1 + size // 20_000)))
    await pooled.close()
    await own.close()
    return memory


async def whole_passes(memory: PostgresMemory, schema: str, pooled: Any, own: Any, rounds: int) -> None:
    """Measure what looks at every row."""
    facets = FACETS.format(schema)
    ways = {
        "ours": lambda: count_facets(memory, MemoryFilter(), NOW),
        "bare": in_transaction(pooled, lambda: pooled.fetch(facets)),
        "prepared": lambda: own.fetch(facets),
    }
    tell(f"{schema}, facets", await medians(ways, rounds))
    statement = f'SELECT id FROM "{schema}".memories ORDER BY updated_at DESC, id DESC'
    ways = {
        "ours": lambda: memory.rows(Query(HANDLES, MemoryFilter(), NEWEST_STORED)),
        "bare": in_transaction(pooled, lambda: pooled.fetch(statement)),
        "prepared": lambda: own.fetch(statement),
    }
    tell(f"{schema}, order", await medians(ways, rounds))


async def short_lists(memory: PostgresMemory, schema: str, own: Any, rounds: int) -> None:
    """Measure what shows a few rows of many: a short list, a text that is looked for, other rows of one content."""
    page = f'SELECT id FROM "{schema}".memories ORDER BY updated_at DESC, id DESC LIMIT 3'
    count = f'SELECT count(*) FROM "{schema}".memories'
    found = f"SELECT count(*) FROM \"{schema}\".memories WHERE content ILIKE '%7f3a%' OR key ILIKE '%7f3a%'"
    other = f"SELECT count(*) FROM \"{schema}\".memories WHERE content ILIKE '%花生ß%' OR key ILIKE '%花生ß%'"
    alike = f"SELECT id FROM \"{schema}\".memories WHERE content = 'no such content'"

    async def page_and_count() -> None:
        await own.fetch(page)
        await own.fetch(count)

    pairs: Mapping[str, Ways] = {
        "list of 3": {
            "ours": lambda: part_of(memory, MemoryFilter(), NEWEST_UPDATED, 0, 3),
            "bare": page_and_count,
        },
        "contains": {
            "ours": lambda: part_of(memory, MemoryFilter(contains="7f3a"), NEWEST_UPDATED, 0, 3),
            "bare": lambda: own.fetch(found),
        },
        "contains, not ASCII": {
            "ours": lambda: part_of(memory, MemoryFilter(contains="花生ß"), NEWEST_UPDATED, 0, 3),
            "bare": lambda: own.fetch(other),
        },
        "same content": {
            "ours": lambda: memory.rows(Query(ENTRIES, contents=["no such content"])),
            "bare": lambda: own.fetch(alike),
        },
    }
    for name, ways in pairs.items():
        tell(f"{schema}, {name}", await medians(ways, rounds))


async def removals(place: PostgresPlace, schema: str, rows: int, rounds: int) -> None:
    """Measure what takes one key, and ten memories, out of many: the trash is a file of this machine."""
    import asyncpg

    own = await asyncpg.connect(place.url)
    numbers = iter(range(1, rows))
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_DATA_HOME"] = folder
        library = await open_library(configs_for(OpenOptions(location=f"{place.url}?schema={schema}"))[0])

        async def forget() -> None:
            (entry,) = await entries_with_key(library.memory, f"key_{next(numbers)}")
            plan = changes.plan_of(await versions_at(library.memory, [entry.handle]))
            assert (await changes.remove_memories(library, plan, "forget")).count == 1

        async def purge() -> None:
            keys = [f"key_{next(numbers)}" for _ in range(10)]
            await own.execute(f"UPDATE \"{schema}\".memories SET category = 'gone' WHERE key = ANY($1)", keys)
            plan = await changes.plan_purge(library, MemoryFilter(category=("gone",)))
            assert (await changes.remove_memories(library, plan, "purge")).count == 10

        async def bare(count: int) -> None:
            keys = [f"key_{next(numbers)}" for _ in range(count)]
            await own.execute(f'DELETE FROM "{schema}".memories WHERE key = ANY($1)', keys)

        pairs: Mapping[str, Ways] = {
            "forget one key": {"ours": forget, "bare": lambda: bare(1)},
            "purge of ten": {"ours": purge, "bare": lambda: bare(10)},
        }
        for name, ways in pairs.items():
            tell(f"{schema}, {name}", await medians(ways, rounds))
        await library.close()
    await own.close()


def tell(what: str, found: Mapping[str, float]) -> None:
    ours = found["ours"]
    others = ", ".join(
        f"{name} {taken:.2f} ms ({ours / taken:.2f} x)" for name, taken in found.items() if name != "ours"
    )
    print(f"{what}: {ours:.2f} ms; {others}", flush=True)


async def tell_order_of_the_biggest(memory: PostgresMemory) -> None:
    """The memory the whole order takes, and the longest the event loop stood still meanwhile."""
    longest, stop = 0.0, False

    async def watch() -> None:
        nonlocal longest
        while not stop:
            start = time.perf_counter()
            await asyncio.sleep(0.001)
            longest = max(longest, time.perf_counter() - start - 0.001)

    watching = asyncio.create_task(watch())
    (await handles_of(memory, MemoryFilter(), NEWEST_STORED))
    stop = True
    await watching
    tracemalloc.start()
    order = await handles_of(memory, MemoryFilter(), NEWEST_STORED)
    held, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    print(
        f"order of {len(order):,}: {held / 1e6:.0f} MB held, {peak / 1e6:.0f} MB at most; "
        f"the loop stood still for {longest * 1000:.0f} ms at most"
    )


async def near_others(place: PostgresPlace, rows: int) -> None:
    """Measure what is near a memory, keys that begin so and stamps, in texts of words."""
    import asyncpg

    place.make_table("vector", "prose")
    place.run('DROP INDEX "prose".idx_memories_content_fts, "prose".idx_memories_key_fts')
    place.run_as_superuser(PROSE.format(rows))
    place.run_as_superuser('VACUUM ANALYZE "prose".memories')
    own = await asyncpg.connect(place.url)
    memory = PostgresMemory(read_url(place.url), schema="prose")
    await memory.open()
    ids, _ = await part_of(memory, MemoryFilter(), NEWEST_STORED, rows // 2, 1)
    entry = await whole_entry(memory, ids[0])
    every = "SELECT count(*) FROM \"prose\".memories WHERE content ILIKE '%no such text%'"
    bare = lambda: own.fetch(every)  # noqa: E731
    by_words = lambda: memory.near(entry.content, 70)  # noqa: E731
    by_vector = lambda: memory.near(entry, 70)  # noqa: E731
    tell("near by vectors, no index", await medians({"ours": by_vector, "bare": bare}, 3))
    place.run(WORD_INDEXES)
    place.run(VECTOR_INDEX)
    await memory.open_anew()
    tell("near by words", await medians({"ours": by_words, "bare": bare}, 3))
    tell("near by vectors, index", await medians({"ours": by_vector, "bare": bare}, 3))
    for prefix in ("key_77", "none"):
        ways: Ways = {
            "ours": lambda prefix=prefix: memory.rows(Query(ENTRIES, MemoryFilter(), prefix=prefix, limit=50)),
            "bare": bare,
        }
        tell(f"keys beginning with {prefix}", await medians(ways, 3))
    ways = {"ours": lambda: versions(memory, MemoryFilter(contains="no such text")), "bare": bare}
    tell("stamps of what contains a text", await medians(ways, 3))
    print(f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB at most")
    await own.close()
    await memory.close()


async def main(rounds: int, rows: int) -> None:
    """Fill the tables, of which none has more rows than that, and print the figures."""
    sizes = [size for size in SIZES if size <= rows] or [rows]
    with running_postgres(is_small=False) as server:
        place = PostgresPlace(server, "bench")
        await near_others(place, rows)
        pages: dict[int, Callable[[], Awaitable[object]]] = {}
        memories = []
        for size in sizes:
            place.make_table("key", f"rows{size}")
            # They are not looked at here, and would make filling take minutes.
            place.run(f'DROP INDEX "rows{size}".idx_memories_content_fts, "rows{size}".idx_memories_key_fts')
            for statement in FILL.format(f"rows{size}", size).split(";"):
                place.run_as_superuser(statement)
            memories.append(await of_size(place, size, rounds, pages))
        found = await medians({str(size): page for size, page in pages.items()}, rounds * 3)
        figures = ", ".join(f"{int(size):,} rows {taken:.2f} ms" for size, taken in found.items())
        print(f"first page: {figures}; {found[str(sizes[-1])] / found[str(sizes[0])]:.2f} x at the biggest")
        await tell_order_of_the_biggest(memories[-1])
        await removals(place, f"rows{sizes[-1]}", sizes[-1], max(3, rounds // 6))
        for memory in memories:
            await memory.close()


if __name__ == "__main__":
    given = [int(text) for text in sys.argv[1:]]
    asyncio.run(main(*(given + [60, 1_000_000][len(given) :])))
