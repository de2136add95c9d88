"""Small sources of other tools, and what is read from them."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

DATA = Path(__file__).parents[2] / "data" / "formats"

RMEM = """
CREATE TABLE memories (id TEXT PRIMARY KEY, user_id TEXT NOT NULL, text TEXT NOT NULL, embedding BLOB, created_at TEXT,
 updated_at TEXT, category TEXT DEFAULT 'misc');
CREATE TABLE history (id INTEGER PRIMARY KEY AUTOINCREMENT, memory_id TEXT, action TEXT, old_text TEXT, new_text TEXT,
 created_at TEXT);
CREATE TABLE archive (id TEXT PRIMARY KEY, user_id TEXT, text TEXT, embedding BLOB, reason TEXT, superseded_by TEXT,
 archived_at TEXT, original_created_at TEXT);
CREATE TABLE entities (id INTEGER PRIMARY KEY, user_id TEXT, name TEXT, entity_type TEXT DEFAULT '', mentions INTEGER,
 created_at TEXT);
CREATE TABLE relations (id INTEGER PRIMARY KEY, user_id TEXT, source TEXT, relation TEXT, destination TEXT,
 mentions INTEGER, valid INTEGER, created_at TEXT, updated_at TEXT, invalidated_at TEXT);
INSERT INTO memories VALUES
 ('0b0e7c1e-0000-4000-8000-000000000001', 'mila', 'Mila keeps bees on the roof', x'0000803F0000000000000000',
  '2026-04-10 09:00:00', '2026-04-10 09:00:00', 'personal'),
 ('1c1f8d2f-0000-4000-8000-000000000002', 'mila', 'Mila prefers rye bread', x'000000000000803F00000000',
  '2026-04-11 09:00:00', '2026-04-12 09:00:00', 'misc');
INSERT INTO history (memory_id, action, old_text, new_text, created_at) VALUES
 ('1c1f8d2f-0000-4000-8000-000000000002', 'UPDATE', 'Mila prefers white bread', 'Mila prefers rye bread', '2026-04-11');
INSERT INTO archive VALUES
 ('1c1f8d2f-0000-4000-8000-000000000002:superseded:0b0e7c1e-0000-4000-8000-0000000000a1', 'mila',
  'Mila prefers white bread', x'000000006666663FCDCCCC3D', 'SUPERSEDED', '1c1f8d2f-0000-4000-8000-000000000002',
  '2026-04-11 09:00:00', '2026-04-09 09:00:00'),
 ('2d2f8d2f-0000-4000-8000-000000000003', 'mila', 'Mila had a cat', NULL, 'DELETED', NULL, '2026-04-12 09:00:00',
  '2026-04-09 09:00:00');
INSERT INTO entities VALUES (1, 'mila', 'Mila', 'person', 3, '2026-04-10 09:00:00'),
 (2, 'mila', 'Honey', '', 1, '2026-04-10 09:00:00');
INSERT INTO relations VALUES
 (1, 'mila', 'Mila', 'sells', 'Honey', 1, 1, '2026-04-10 09:00:00', '2026-04-10 09:00:00', NULL),
 (2, 'mila', 'Mila', 'lives in', 'Bern', 1, 0, '2026-04-10 09:00:00', '2026-04-10 09:00:00', '2026-04-11 09:00:00');
"""


def database(path: Path, script: str) -> Path:
    """A database of that script."""
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(script)
    return path
