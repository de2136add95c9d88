"""Points are loaded once and reloaded after a change; a collection that is too big is queried in parts."""

from __future__ import annotations

from dataclasses import replace

import pytest
from qdrant_world import filled, memory_of, point
from support.memories import NOW, Refused, sample_entries
from support.questions import ENTRIES, EVERYTHING, EXCERPTS, HANDLES, ROWS, VERSIONS, MemoryFilter, Query
from support.stores import count_facets, count_matching, sentences

from zeroclaw_tui.backends.qdrant import store
from zeroclaw_tui.backends.qdrant.store import LOADED_SECONDS_PER_POINT, QdrantMemory
from zeroclaw_tui.testing.tools import delete

NUMBER = 1000
SAMPLE = sample_entries()[0]


def numbered_point(number: int, **fields: str) -> dict[str, object]:
    """Return a point with this number in its id and key."""
    entry = replace(SAMPLE, id=f"00000000-0000-4000-8000-{number:012}", key=f"key {number:04}", content=f"n {number}")
    return point(entry, **fields)


@pytest.fixture
def points(server):
    points = filled(server, ())
    points.upsert([numbered_point(number, category="daily" if number % 10 else "core") for number in range(NUMBER)])
    return points


@pytest.fixture
async def memory(server, points, clock, opening):
    return await opening(memory_of(server, clock=clock))


@pytest.fixture
async def too_big(server, points, monkeypatch, opening):
    monkeypatch.setattr(store, "MAX_LOADED", NUMBER - 1)
    return await opening(memory_of(server))


async def keys(memory: QdrantMemory, text: str = "") -> set[str]:
    return {entry.key for entry in (await memory.rows(Query(EXCERPTS, MemoryFilter(contains=text or None))))}


async def test_many_queries_load_the_points_once(memory, server):
    begun = server.points_sent
    assert len(await memory.rows(Query(EXCERPTS, limit=50))) == 50
    assert await keys(memory, "key 0007") == {"key 0007"}
    assert dict((await count_facets(memory, EVERYTHING, NOW.isoformat())).by["category"]) == {"daily": 900, "core": 100}
    assert server.points_sent - begun == NUMBER


async def test_stores_and_deletions_of_another_program_are_seen_at_once(memory, points):
    assert len(await keys(memory)) == NUMBER
    points.upsert([numbered_point(NUMBER)])
    assert "key 1000" in await keys(memory)
    points.delete([f"00000000-0000-4000-8000-{NUMBER:012}"])
    assert "key 1000" not in await keys(memory)


async def test_changes_of_another_program_are_seen_after_the_refresh_time(memory, points, clock):
    assert len(await keys(memory)) == NUMBER
    points.upsert([numbered_point(7, content="changed elsewhere")])
    assert await keys(memory, "changed elsewhere") == set()
    clock.seconds += NUMBER * LOADED_SECONDS_PER_POINT * 1.01
    assert await keys(memory, "changed elsewhere") == {"key 0007"}


async def test_rows_of_a_collection_too_big_to_load_are_found_by_key_and_id(too_big, server, points):
    assert await count_matching(too_big, MemoryFilter(category=("daily",))) == 900
    (entry,) = await too_big.rows(Query(ENTRIES, keys=["key 0500"]))
    assert entry.content == "n 500"
    (row,) = await too_big.rows(Query(ROWS, keys=["key 0500"]))
    assert "embedding" in row.values
    begun = len(server.requests)
    (version,) = await too_big.rows(Query(VERSIONS, ids=[entry.id]))
    assert not any(body["with_vector"] for _, _, body in server.requests[begun:] if "with_vector" in body)
    assert await too_big.rows(Query(HANDLES, handles=[entry.handle, "nobody's"])) == [entry.handle]
    assert (await delete(too_big, [version])).written == 1
    assert len(points.payloads) == NUMBER - 1


async def test_actions_that_need_every_point_of_a_big_collection_are_refused(too_big):
    assert "1,000 points" in sentences(too_big.about.notices)[-1]
    for asked in (
        too_big.rows(Query(EXCERPTS, limit=4)),
        too_big.rows(Query(ENTRIES, MemoryFilter(contains="n 5"), limit=5)),
        too_big.rows(Query(ENTRIES, prefix="key", limit=5)),
        count_matching(too_big, MemoryFilter(regex="5")),
    ):
        with pytest.raises(Refused, match="1,000 points"):
            await asked
    assert len(await too_big.recall("n 500", 3)) == 3
    assert await too_big.count() == NUMBER
