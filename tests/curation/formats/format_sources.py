"""Small sources of other tools, and what is read from them."""

from __future__ import annotations

import base64
import json
import pickle
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from zeroclaw_tui.curation.formats.detection import detect
from zeroclaw_tui.curation.formats.foreign import ForeignFormat
from zeroclaw_tui.curation.formats.source import Report, Source
from zeroclaw_tui.memory.change import StoredRow

DATA = Path(__file__).parents[2] / "data" / "formats"
UNIT_VECTOR = bytes.fromhex("0000803F0000000000000000")

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
MEM0_VECTORS = """
CREATE TABLE vectors (id TEXT PRIMARY KEY, vector BLOB, payload TEXT);
CREATE TABLE memory_migrations (id INTEGER PRIMARY KEY, user_id TEXT);
INSERT INTO vectors VALUES ('9a1b0000-0000-4000-8000-000000000001', x'0000803F0000000000000000',
 '{"data":"Mila keeps bees","hash":"90766144dbe09c13c5cdc343a0f2a496","createdAt":"2026-03-01T10:00:00.000Z",
   "userId":"mila","runId":"r1"}'),
 ('9a1b0000-0001-4000-8000-000000000002', x'0000', '{"data":"Wax is kept cold","created_at":"2026-03-02T10:00:00Z"}'),
 ('9a1b0000-0002-4000-8000-000000000003', NULL, 'no JSON');
"""
MEM0_HISTORY = """
CREATE TABLE history (id TEXT PRIMARY KEY, memory_id TEXT, old_memory TEXT, new_memory TEXT, event TEXT,
 created_at TEXT, updated_at TEXT, is_deleted INTEGER, actor_id TEXT, role TEXT);
INSERT INTO history VALUES
 ('h1', '9a1b0000-0000-4000-8000-000000000001', NULL, 'Mila keeps ants', 'ADD', '2026-02-01T10:00:00-08:00', NULL, 0,
  NULL, NULL),
 ('h2', '9a1b0000-0001-4000-8000-000000000002', NULL, 'Mila had a cat', 'ADD', '2026-02-01T11:00:00-08:00', NULL, 0,
  NULL, NULL),
 ('h3', '9a1b0000-0000-4000-8000-000000000001', 'Mila keeps ants', 'Mila keeps bees', 'UPDATE',
  '2026-02-01T10:00:00-08:00', '2026-02-03T10:00:00-08:00', 0, NULL, NULL),
 ('h4', '9a1b0000-0001-4000-8000-000000000002', 'Mila had a cat', NULL, 'DELETE', NULL, '2026-02-04T10:00:00-08:00', 1,
  NULL, NULL);
"""
ZEROCLAW = """
CREATE TABLE memories (id TEXT PRIMARY KEY, key TEXT NOT NULL UNIQUE, content TEXT NOT NULL, category TEXT NOT NULL,
 embedding BLOB, created_at TEXT NOT NULL, updated_at TEXT NOT NULL, session_id TEXT);
INSERT INTO memories VALUES ('1', 'a', 'A', 'core', NULL, '2026-01-01T00:00:00+00:00', '2026-01-01T00:00:00+00:00',
 NULL);
"""
DATABASES = {
    "mem0": MEM0_VECTORS,
}
FILES = {
    "server_memory.jsonl": "mcp",
    "server_memory_dialect.jsonl": "mcp",
    "mem0.json": "mem0",
    "mem0_plugin.md": "mem0",
}


def database(path: Path, script: str) -> Path:
    """A database of that script."""
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(script)
    return path


def read(path: Path, format: ForeignFormat | None = None) -> tuple[dict[str, StoredRow], Report]:
    """Every memory by its key, in a format or in the one that its content tells."""
    source, report = Source(path), Report()
    rows = [row for _, row in (format or detect(source).format).memories(source, report)]
    by_key = {row.key: row for row in rows}
    assert len(by_key) == len(rows), "a key came twice"
    return by_key, report


def value(row: StoredRow, *names: str) -> Any:
    """Some of its values."""
    return tuple(row.values.get(name) for name in names)


@contextmanager
def _stand_in() -> Iterator[type]:
    """A class that pickle writes by the name of qdrant-client's point."""
    names = ["qdrant_client", "qdrant_client.http", "qdrant_client.http.models", "qdrant_client.http.models.models"]
    before = {name: sys.modules.get(name) for name in names}
    point = type("PointStruct", (), {"__module__": names[-1]})
    for name in names:
        sys.modules[name] = ModuleType(name)
    sys.modules[names[-1]].PointStruct = point  # type: ignore[attr-defined]
    try:
        yield point
    finally:
        for name, module in before.items():
            if module is None:
                del sys.modules[name]
            else:
                sys.modules[name] = module


def pickled_point(id: str, vector: Any, payload: dict[str, Any]) -> bytes:
    """A point as qdrant-client stores it."""
    with _stand_in() as made:
        point = made()
        point.__dict__ |= {"id": id, "vector": vector, "payload": payload}
        return pickle.dumps(point, protocol=4)


def qdrant(folder: Path, collections: dict[str, list[tuple[str, bytes]]]) -> Path:
    """The folder of a local Qdrant, with pickled points by their ids."""
    for name, points in collections.items():
        (folder / "collection" / name).mkdir(parents=True)
        with closing(sqlite3.connect(folder / "collection" / name / "storage.sqlite")) as connection:
            connection.execute("CREATE TABLE points (id TEXT PRIMARY KEY, point BLOB)")
            rows = [(base64.b64encode(pickle.dumps(one)).decode(), point) for one, point in points]
            connection.executemany("INSERT INTO points VALUES (?, ?)", rows)
            connection.commit()
    parts = {name: {"vectors": {"size": 3, "distance": "Cosine"}} for name in collections}
    (folder / "meta.json").write_text(json.dumps({"collections": parts, "aliases": {}}), encoding="utf-8")
    (folder / ".lock").write_text("tmp lock file", encoding="utf-8")
    return folder
