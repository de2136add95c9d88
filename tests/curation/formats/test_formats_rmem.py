"""R-Mem's database: what it remembers now, its relations, and of its archive only what is asked for."""

from __future__ import annotations

from pathlib import Path

import pytest
from format_sources import RMEM, UNIT_VECTOR, database, read, value

from zeroclaw_tui.backends.rmem.store import RMemMemory
from zeroclaw_tui.curation.formats.detection import detect
from zeroclaw_tui.curation.formats.graphs import RMem
from zeroclaw_tui.curation.formats.source import Source
from zeroclaw_tui.memory.entry import kind_from

BEES, BREAD = "rmem_0b0e7c1e0000", "rmem_1c1f8d2f0000"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """One of 0.3.0."""
    return database(tmp_path / "rustmem.db", RMEM)


def test_memories_and_relations_that_hold_come_and_the_archive_stays_away_unless_it_is_asked_for(store: Path) -> None:
    rows, report = read(store)
    assert (len(rows), report.skipped) == (3, {"superseded": 1, "deleted": 1})
    assert value(rows[BEES], "content", "category", "namespace", "created_at", "embedding") == (
        "Mila keeps bees on the roof",
        "personal",
        "mila",
        "2026-04-10T09:00:00+00:00",
        UNIT_VECTOR,
    )
    assert value(rows[BREAD], "category", "updated_at") == ("core", "2026-04-12T09:00:00+00:00")
    (relation,) = (row for key, row in rows.items() if key.startswith("rmem_rel_"))
    assert value(relation, "content", "category", "namespace") == ("Mila sells Honey", "relation", "mila")
    assert kind_from(relation.values["kind"]) == "semantic:fact"
    assert report.lost == {"history": 1, "entity types": 1, "mentions": 1, "relations that hold no more": 1}


def test_an_asked_for_older_text_names_the_memory_that_superseded_it(store: Path) -> None:
    rows, report = read(store, RMem().taking(frozenset({"archive"})))
    assert value(rows[f"{BREAD}_v1"], "content", "superseded_by", "created_at") == (
        "Mila prefers white bread",
        BREAD,
        "2026-04-09T09:00:00+00:00",
    )
    assert report.skipped == {"deleted": 1}


def test_a_database_of_the_first_releases_has_no_archive_and_no_categories(tmp_path: Path) -> None:
    old = RMEM + "DROP TABLE archive; ALTER TABLE memories DROP COLUMN category;"
    path = database(tmp_path / "rustmem.db", old)
    assert "R-Mem 0.1" in detect(Source(path)).why
    rows, _ = read(path)
    assert rows[BEES].values["category"] == "core"


async def test_each_has_the_key_that_it_is_shown_by_in_the_file_itself(store: Path) -> None:
    memory = RMemMemory(store)
    await memory.open()
    shown = await memory.list()
    await memory.close()
    assert {entry.key for entry in shown if entry.superseded_by is None} == read(store)[0].keys()


def test_the_same_relation_of_two_people_is_two_memories(tmp_path: Path) -> None:
    more = "INSERT INTO relations VALUES (3, 'tom', 'Mila', 'sells', 'Honey', 1, 1, '2026-04-10', NULL, NULL);"
    rows, _ = read(database(tmp_path / "rustmem.db", RMEM + more))
    owners = [row.values["namespace"] for row in rows.values() if row.values["content"] == "Mila sells Honey"]
    assert owners == ["mila", "tom"]
