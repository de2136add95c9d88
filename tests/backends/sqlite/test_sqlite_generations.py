"""A file of any ZeroClaw version is recognised by its columns, read as written, and never migrated."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from changed_stores import opened
from support.databases import HYDRATED, create_database
from support.questions import EXCERPTS, NEWEST_STORED, NEWEST_UPDATED, MemoryFilter, Query
from support.stores import count_facets, sentences, whole_entry

from zeroclaw_tui.testing.tools import entries_of, handles_of

DATA = Path(__file__).parents[2] / "data" / "sqlite"
GENERATION = {"0.1.7": "G1", "0.7.5": "G2", "0.8.3": "G4", "0.8.4": "G4"}
REAL = [(version, DATA / f"zeroclaw_{version}.db") for version in GENERATION]


def shape(path: Path) -> dict[str, object]:
    """Return the tables with columns, types and defaults, the indexes with columns, and the triggers."""
    with closing(sqlite3.connect(f"file:{path}?immutable=1", uri=True)) as connection:
        names = connection.execute("SELECT type, name FROM sqlite_master ORDER BY 1, 2").fetchall()
        described: dict[str, object] = {"names": [name for name in names if "autoindex" not in name[1]]}
        for kind, name in names:
            if kind == "table" and not name.startswith("memories_fts_"):
                described[name] = sorted(row[1:] for row in connection.execute(f"PRAGMA table_info('{name}')"))
                described[f"{name} keys"] = connection.execute(f"PRAGMA foreign_key_list('{name}')").fetchall()
                described[f"{name} unique"] = sorted(
                    str(connection.execute(f"PRAGMA index_info('{index[1]}')").fetchall())
                    for index in connection.execute(f"PRAGMA index_list('{name}')")
                    if index[2]
                )
            elif kind == "index":
                described[name] = [row[2] for row in connection.execute(f"PRAGMA index_info('{name}')")]
        return described


@pytest.mark.parametrize(("version", "original"), REAL, ids=lambda value: str(value).rpartition("/")[2])
async def test_real_files_open_in_their_generation_and_keep_every_byte(version, original, tmp_path, digest):
    path = tmp_path / "brain.db"
    shutil.copy(original, path)
    before = digest(path)
    async with opened(path) as memory:
        expected = "G1" if "hydrated" in original.name else GENERATION[version]
        assert memory.about.generation == expected
        total = await memory.count()
        handles = await handles_of(memory, MemoryFilter(), NEWEST_STORED)
        facets = await count_facets(memory, MemoryFilter(), "2026-12-31T00:00:00+00:00")
        assert len(handles) == facets.total == sum(facets.by["category"].values()) == sum(facets.by["age"].values())
        assert total == facets.total + facets.superseded
        assert len(await entries_of(memory, MemoryFilter())) == facets.total
        health = await memory.health()
        assert health.facts["memories"] == total
        assert health.ok is ("hydrated" not in original.name)
    assert digest(path) == before


@pytest.mark.parametrize("version", GENERATION)
async def test_every_field_is_as_zeroclaw_wrote_it(version, tmp_path):
    rows = json.loads((DATA / "rows.json").read_text())[version]
    path = tmp_path / "brain.db"
    shutil.copy(DATA / f"zeroclaw_{version}.db", path)
    async with opened(path) as memory:
        for row in rows:
            entry = await whole_entry(memory, row["rowid"])
            assert entry == await memory.get(row["key"])
            assert (entry.id, entry.key, entry.content) == (row["id"], row["key"], row["content"])
            assert (entry.timestamp, entry.updated_at) == (row["created_at"], row["updated_at"])
            assert (entry.category, entry.session_id) == (row["category"], row["session_id"])
            assert entry.namespace == row.get("namespace")
            assert entry.importance == row.get("importance")
            assert entry.superseded_by is None
            assert entry.pinned == (None if version < "0.8.3" else False)
            assert entry.agent == (None if version < "0.8.3" else "default")
            assert (entry.embedding_dimensions or 0) * 4 == row["embedding_bytes"]
            assert (entry.size, entry.is_excerpt) == (len(row["content"].encode()), False)
        newest = sorted(rows, key=lambda row: row["updated_at"], reverse=True)
        assert [entry.key for entry in await memory.list()] == [row["key"] for row in newest]
        page = await memory.rows(Query(EXCERPTS, MemoryFilter(), NEWEST_UPDATED, limit=10))
        assert [entry.key for entry in page] == [row["key"] for row in newest]


@pytest.mark.parametrize(
    ("generation", "version"), [("G1", "0.1.7"), ("G2", "0.7.5"), ("G4", "0.8.3"), ("G4", "0.8.4")]
)
def test_created_databases_have_the_schema_of_real_ones(generation, version, tmp_path):
    create_database(tmp_path / "made.db", generation)
    assert shape(tmp_path / "made.db") == shape(DATA / f"zeroclaw_{version}.db")


@pytest.mark.parametrize(
    ("generation", "newest", "absent"),
    [
        ("G1", "0.5.6", {"agents", "namespaces", "superseded", "pinned", "importance", "kind"}),
        ("G2", "0.7.5", {"agents", "pinned", "kind"}),
        ("G3", "0.8.2", {"pinned", "kind"}),
        ("G4", "0.8.4", set()),
    ],
)
async def test_a_missing_capability_of_a_generation_has_a_reason(generation, newest, absent, make_store):
    async with opened(make_store([{}], generation)) as memory:
        assert (memory.about.generation, memory.about.newest_version) == (generation, newest)
        for what in ("agents", "namespaces", "superseded", "pinned", "importance", "kind"):
            assert (what in memory.why_not) is (what in absent)
        (entry,) = await entries_of(memory, MemoryFilter())
        assert (entry.importance is None) is ("importance" in absent)
        assert memory.about.notices == ()


async def test_a_database_made_by_hydration_is_read_and_explained(make_store):
    path = make_store([{"key": "a"}, {"key": "b"}], HYDRATED)
    async with opened(path) as memory:
        assert await memory.count() == 2
        assert "no ZeroClaw version can open it" in sentences(memory.about.notices)[0]
        assert memory.why_not["write"] == sentences(memory.about.notices)[0]
        health = await memory.health()
        assert not health.ok
        assert health.facts["keyword index"] == "2 memories are not in the keyword index."
