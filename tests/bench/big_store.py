"""Databases of any size for the benches, with ZeroClaw's own tables."""

from __future__ import annotations

import random
import sqlite3
import struct
from pathlib import Path

from zeroclaw_tui.backends.sqlite.ddl import create_database

STEMS = ("ra", "lo", "mi", "tan", "ver", "sol", "dek", "pu", "zin", "gar")
WORDS = [f"{stem}{tail}" for stem in STEMS for tail in range(500)]
CATEGORIES = ("core", "daily", "conversation", "project_notes")


def make_store(path: Path, rows: int, dimensions: int = 0, seed: int = 7) -> Path:
    """A G4 database of `rows` memories of 8 to 40 Zipf-like words, with random float32 vectors if asked."""
    if path.exists():
        return path
    create_database(path, "G4")
    chance = random.Random(seed)
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
        (_row(number, chance, pool, dimensions, agent) for number in range(rows)),
    )
    connection.commit()
    connection.close()
    return path


def _row(number: int, chance: random.Random, pool: list[str], dimensions: int, agent: str) -> tuple[object, ...]:
    start = chance.randrange(len(pool) - 40)
    content = " ".join(pool[start : start + chance.randrange(8, 40)])
    moment = f"2026-{number % 11 + 1:02d}-{number % 28 + 1:02d}T{number % 24:02d}:00:00.{number % 10**9:09d}+00:00"
    vector = struct.pack(f"<{dimensions}f", *_vector(chance, dimensions)) if dimensions else None
    key = f"memory_{number:07d}"
    return (f"id-{number:07d}", key, content, CATEGORIES[number % 4], vector, moment, moment, agent)


def _vector(chance: random.Random, dimensions: int) -> list[float]:
    return [chance.gauss(0.02, 1.0) for _ in range(dimensions)]
