"""Recall, facets and statistics in PostgreSQL, beside ZeroClaw's own statement through the bare driver in the same run.

Run: python tests/bench/postgres_recall.py [rows …]
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import asyncpg

from zeroclaw_tui.backends.lookup import count_facets
from zeroclaw_tui.testing.tools import statistics_of

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.side_by_side import medians
from support.postgres_place import PostgresPlace
from support.postgres_server import running_postgres

from zeroclaw_tui.backends.postgres.address import read_url
from zeroclaw_tui.backends.postgres.store import PostgresMemory
from zeroclaw_tui.memory.query import MemoryFilter
from zeroclaw_tui.memory.recall import RecallRequest
from zeroclaw_tui.scoring.profiles import ScoringSettings, profile_for

ROUNDS = 7
FILL = """
    TRUNCATE memories;
    INSERT INTO memories (id, key, content, category, created_at, updated_at, session_id, embedding)
    SELECT gen_random_uuid(), 'key ' || n, 'memory ' || n || ' about w' || n % 997 || ' and w' || n % 113
               || repeat(' filler words', 12),
           (ARRAY['core', 'daily', 'conversation'])[n % 3 + 1], now() - n * interval '1 min',
           now() - n * interval '1 min', 'session ' || n % 50, ARRAY[random(), random(), random()]::real[]::vector
    FROM generate_series(1, {count}) AS n"""
WORDS = """
    SELECT id, key, content, category, created_at, session_id,
           ts_rank_cd(to_tsvector('simple', key), q) * 2.0 + ts_rank_cd(to_tsvector('simple', content), q) AS score
    FROM memories, plainto_tsquery('simple', $1) AS q
    WHERE to_tsvector('simple', key || ' ' || content) @@ q ORDER BY score DESC, updated_at DESC LIMIT $2"""
SUBSTRING = """
    SELECT id, key, content, category, created_at, session_id,
           (CASE WHEN key ILIKE '%' || $1 || '%' THEN 2.0 ELSE 0 END)
               + (CASE WHEN content ILIKE '%' || $1 || '%' THEN 1.0 ELSE 0 END) AS score
    FROM memories WHERE key ILIKE '%' || $1 || '%' OR content ILIKE '%' || $1 || '%'
    ORDER BY score DESC, updated_at DESC LIMIT $2"""
COUNTS = """
    SELECT category, session_id, namespace, embedding IS NULL, count(*),
           CASE WHEN created_at > '2026-11-20T12:00:00Z' THEN 0 WHEN created_at > '2026-11-14T12:00:00Z' THEN 1
                WHEN created_at > '2026-10-22T12:00:00Z' THEN 2 ELSE 3 END AS age
    FROM memories GROUP BY 1, 2, 3, 4, 6"""


def measured(place: PostgresPlace, count: int) -> None:
    place.run_as_superuser(FILL.format(count=count))
    # As autovacuum leaves a table: without it, nothing is told by an index alone.
    place.run_as_superuser("VACUUM (ANALYZE) memories")
    with asyncio.Runner() as runner:
        connection = runner.run(asyncpg.connect(place.url, statement_cache_size=0))
        memory = PostgresMemory(read_url(place.url))
        runner.run(memory.open())

        def recall(version: str) -> object:
            request = RecallRequest("about w13", 10)
            return runner.run(memory.search(request, profile_for(version), ScoringSettings()))

        pairs = {
            "words": (lambda: recall("0.8.4"), lambda: runner.run(connection.fetch(WORDS, "about w13", 10))),
            "substring": (lambda: recall("0.5.6"), lambda: runner.run(connection.fetch(SUBSTRING, "about w13", 10))),
            "facets": (
                lambda: runner.run(count_facets(memory, MemoryFilter(), "2026-11-21T12:00:00Z")),
                lambda: runner.run(connection.fetch(COUNTS)),
            ),
        }
        for name, (ours, bare) in pairs.items():
            took = medians({"ours": ours, "bare": bare}, ROUNDS)
            ratio = took["ours"] / took["bare"]
            print(
                f"{count:>8,} rows  {name:<10} ours {took['ours']:8.1f} ms  bare {took['bare']:8.1f} ms  {ratio:.2f} x"
            )
        statistics = medians({"statistics": lambda: runner.run(statistics_of(memory))}, 3)["statistics"]
        print(f"{count:>8,} rows  statistics {statistics:.1f} ms")
        runner.run(memory.close())
        runner.run(connection.close())


def main() -> None:
    counts = [int(text) for text in sys.argv[1:]] or [10_000, 100_000]
    with running_postgres(is_small=False) as server:
        place = PostgresPlace(server, "recall")
        place.make_table("vector")
        for count in counts:
            measured(place, count)


if __name__ == "__main__":
    main()
