"""The memories that share words with a text."""

from __future__ import annotations

import sqlite3

from zeroclaw_tui.backends.sqlite.schema import Schema
from zeroclaw_tui.scoring.neighbours import Near, as_neighbours, words_of


def near_by_index(connection: sqlite3.Connection, schema: Schema, text: str, limit: int) -> Near:
    """Find the current rows nearest to a text by FTS5's bm25 of the words both have."""
    current = "m.superseded_by IS NULL" if schema.has("superseded_by") else "1"
    (compared,) = connection.execute(f"SELECT count(*) FROM memories AS m WHERE {current}").fetchone()
    statement = f"""
        SELECT m.rowid, -bm25(memories_fts) AS score
        FROM memories_fts JOIN memories AS m ON m.rowid = memories_fts.rowid
        WHERE memories_fts MATCH ? AND {current} ORDER BY score DESC, m.rowid DESC LIMIT ?"""
    query = " OR ".join(f'"{word}"' for word in words_of(text))
    return Near(as_neighbours(connection.execute(statement, (query, limit)).fetchall()), compared)
