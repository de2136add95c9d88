"""Databases of any size for the benchmarks, with ZeroClaw's own tables."""

from __future__ import annotations

import random
import sqlite3
from pathlib import Path

import numpy as np
from support.databases import create_database

STEMS = ("ra", "lo", "mi", "tan", "ver", "sol", "dek", "pu", "zin", "gar")
WORDS = [f"{stem}{tail}" for stem in STEMS for tail in range(500)]
CATEGORIES = ("core", "daily", "conversation", "project_notes")
CONFIG = """
[memory]
backend = "sqlite"
embedding_provider = "local"
embedding_model = "local"
embedding_dimensions = {}
"""
"""A config.toml; the vectors of the store have this many dimensions."""


def make_store(path: Path, rows: int, dimensions: int = 0, seed: int = 7, *, littered: bool = False) -> Path:
    """Create a G4 database of `rows` memories of 8 to 40 Zipf-distributed words, with random float32 vectors if asked.

    With many rows some are similar, since all words come from one pool; a littered database has no such rows, but a
    few per hundred that are duplicates, near duplicates, secret or superseded.
    """
    if path.exists():
        return path
    create_database(path, "G4")
    chance = random.Random(seed)
    vectors = np.random.default_rng(seed)

    def vector() -> bytes | None:
        # Like embeddings of one language, all have a common direction.
        return (vectors.standard_normal(dimensions, dtype=np.float32) + np.float32(0.3)).tobytes() or None

    weights = [1 / (rank + 1) for rank in range(len(WORDS))]
    pool = chance.choices(WORDS, weights, k=400_000)
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA synchronous=OFF")
    (agent,) = connection.execute("SELECT id FROM agents LIMIT 1").fetchone() or (None,)
    if agent is None:
        agent = "00000000-0000-4000-8000-000000000001"
        connection.execute("INSERT INTO agents VALUES (?, 'default', '2026-01-01T00:00:00+00:00')", (agent,))
    connection.executemany(
        "INSERT INTO memories (id, key, content, category, embedding, created_at, updated_at, agent_id)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (
            _row(number, chance, chance.choices(pool, k=80) if littered else pool, vector(), agent)
            for number in range(rows)
        ),
    )
    if littered:
        _litter(connection)
    connection.commit()
    connection.close()
    return path


def _row(number: int, chance: random.Random, pool: list[str], vector: bytes | None, agent: str) -> tuple[object, ...]:
    start = chance.randrange(len(pool) - 40)
    content = " ".join(pool[start : start + chance.randrange(8, 40)])
    moment = f"2026-{number % 11 + 1:02d}-{number % 28 + 1:02d}T{number % 24:02d}:00:00.{number % 10**9:09d}+00:00"
    key = f"memory_{number:07d}"
    return (f"id-{number:07d}", key, content, CATEGORIES[number % 4], vector, moment, moment, agent)


def _litter(connection: sqlite3.Connection) -> None:
    """Of each hundred memories make one a duplicate, one a near duplicate, and a few secret or superseded."""
    said = {
        "n.rowid % 100 = 1": "(SELECT content FROM memories o WHERE o.rowid = n.rowid / 3 + 2)",
        "n.rowid % 100 = 2": "(SELECT content || ' again' FROM memories o WHERE o.rowid = n.rowid / 2 + 3)",
        "n.rowid % 1000 = 3": "content || ' and the password is hunter2-' || rowid || 'Xy9qLm'",
        "n.rowid % 2000 = 4": "content || ' use sk-proj-' || hex(randomblob(20))",
    }
    for chosen, content in said.items():
        connection.execute(f"UPDATE memories AS n SET content = {content} WHERE {chosen}")
    connection.execute("UPDATE memories SET superseded_by = 'id-0000000' WHERE rowid % 500 = 5")
