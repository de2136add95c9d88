"""The keyword stage beside the bare FTS5 statement and beside ZeroClaw's own statement with the join.

    python tests/bench/keyword_stage.py [ROUNDS]

Ratios to stay under, over a mix of words: 1.2 of the bare statement, 1.0 of the join. Databases stay in /tmp.
"""

from __future__ import annotations

import asyncio
import sqlite3
import sys
import tempfile
from collections import Counter
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from bench.big_store import make_store
from bench.side_by_side import medians

from zeroclaw_tui.backends.sqlite.recall import scope_of, search_keywords
from zeroclaw_tui.backends.sqlite.sql import Schema, read_schema
from zeroclaw_tui.files.database import connect_read_only, connect_read_only_blocking
from zeroclaw_tui.memory.recall import RecallRequest
from zeroclaw_tui.scoring.keywords import match_expression
from zeroclaw_tui.scoring.profiles import profile_for

COUNT = 40
PROFILE = profile_for("0.8.4")
BARE = "SELECT rowid, rank FROM memories_fts WHERE memories_fts MATCH ? ORDER BY rank LIMIT ?"
JOIN = """SELECT m.id, bm25(memories_fts) AS score FROM memories_fts f JOIN memories m ON m.rowid = f.rowid
          WHERE memories_fts MATCH ? ORDER BY score LIMIT ?"""


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


async def _schema(path: Path) -> Schema:
    connection = await connect_read_only(path)
    try:
        return await read_schema(connection, path)
    finally:
        await connection.close()


def main() -> None:
    """Print one line a query, and the mix."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 21
    for rows in (10_000, 100_000):
        path = make_store(Path(tempfile.gettempdir()) / f"bench-text-{rows}.db", rows)
        schema = asyncio.run(_schema(path))
        connection = connect_read_only_blocking(path)
        total: Counter[str] = Counter()
        for name, query in mixed_queries(connection).items():
            scope, _ = scope_of(RecallRequest(query), PROFILE, schema, vector_live=False)
            expression = match_expression(query, PROFILE)
            ways = {
                "bare": partial(_run, connection, BARE, expression),
                "ours": partial(search_keywords, scope, COUNT, connection),
                "join": partial(_run, connection, JOIN, expression),
            }
            took = medians(ways, rounds)
            total.update(took)
            _show(f"{rows:>7,} {name}", took)
        _show(f"{rows:>7,} the mix", total)


def _run(connection: sqlite3.Connection, statement: str, expression: str) -> object:
    return connection.execute(statement, (expression, COUNT)).fetchall()


def _show(name: str, took: dict[str, float]) -> None:
    print(
        f"{name:22} bare {took['bare']:8.3f} ms  ours {took['ours']:8.3f} ms  join {took['join']:8.3f} ms"
        f"   ours/bare {took['ours'] / took['bare']:.2f}   ours/join {took['ours'] / took['join']:.2f}"
    )


if __name__ == "__main__":
    main()
