"""Changes in Qdrant keep and restore unknown fields, numeric ids, agents and vectors."""

from __future__ import annotations

import copy
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from qdrant_world import DIMENSIONS, NAME, embedder, filled, memory_of, point
from support.memories import Draft, MemoryEntry, NothingYet, Refused, Row, Vector, sample_entries
from support.opened import opened_memory
from support.qdrant_points import PointStore
from support.questions import EVERYTHING, ROWS, MemoryFilter, Query, Sort
from support.recalls import ids, recalled
from support.rules import NEWEST, profile_for
from support.stores import entries_with_key, entry_with_id, fill_vectors, row_with_id, sentences, versions

from zeroclaw_tui.curation.transfer.comparison import Comparison, Incoming
from zeroclaw_tui.testing.tools import JournalRecorder, create, delete, edit, handles_of, row_of, undo

ODD: tuple[dict[str, Any], ...] = (
    {"mood": {"joy": 0.25, "words": ["a", None]}, "rank": 2**60},
    {"session_id": None, "agent_id": "ada"},
    {"category": 7, "timestamp": None},
    {},
)


@pytest.fixture
def points(server):
    """Points with unknown fields, a numeric id, values that are not text, and an agent."""
    points = filled(server, ())
    for number, (entry, more) in enumerate(zip(sample_entries(), ODD, strict=False)):
        made = point(entry, **more)
        points.upsert([made | {"id": 42} if number == 0 else made])
    return points


@pytest.fixture
async def memory(server, points, opening):
    return await opening(memory_of(server))


def state_of(points: PointStore) -> dict[Any, Any]:
    return {name: (copy.deepcopy(points.payloads[name]), points.vectors[name].tobytes()) for name in points.payloads}


async def test_undo_restores_id_payload_and_vector_exactly(memory, points):
    before, kept = state_of(points), JournalRecorder()
    row = await row_with_id(memory, "42")
    done = await edit(memory, row, {"content": "now a number", "session_id": "s 1"}, kept)
    payload = points.payloads[42]
    assert payload["mood"] == ODD[0]["mood"]
    assert (payload["content"], payload["session_id"]) == ("now a number", "s_1")
    assert any("s_1" in note for note in done.notes)
    assert points.vectors[42].tobytes() != before[42][1]
    await delete(memory, await versions(memory, EVERYTHING), kept)
    assert points.payloads == {}
    reversal = await undo(memory, kept.changes[::-1])
    assert not reversal.notes
    assert state_of(points) == before


async def test_key_and_content_are_embedded_together(memory, points):
    """ZeroClaw does this only in Qdrant."""
    row = row_of(await create(memory, Draft("tea", "likes green tea")))
    expected = await embedder().embed("tea\nlikes green tea")
    assert points.vectors[row.id] == pytest.approx(expected, abs=1e-6)
    renamed = row_of(await edit(memory, row, {"key": "coffee"}))
    expected = await embedder().embed("coffee\nlikes green tea")
    assert points.vectors[renamed.id] == pytest.approx(expected, abs=1e-6)


async def test_a_given_vector_is_stored_and_an_invalid_one_refused(memory, points):
    data = (await embedder().embed("something else")).tobytes()
    row = row_of(await create(memory, Draft("x", "y", vector=Vector(data, "local", "local")), JournalRecorder()))
    assert points.vectors[row.id].tobytes() == data
    kept = JournalRecorder()
    with pytest.raises(Refused, match="has vectors of 16 numbers, not of 3"):
        await create(memory, Draft("z", "y", vector=Vector(bytes(12), "local", "local")), kept)
    assert kept.changes == []


async def test_filling_vectors_skips_points_that_have_changed(memory, points):
    rows = await memory.rows(Query(ROWS, handles=list(await handles_of(memory, EVERYTHING, Sort()))))
    before = state_of(points)
    data = (await embedder().embed("another model")).tobytes()
    vector, other_state = Vector(data, "x", "x"), replace(rows[1], values={})
    filled_in = await fill_vectors(memory, [(rows[0], vector), (other_state, vector)])
    assert (filled_in.written, filled_in.skipped) == (1, [rows[1].id])
    changed = {name for name, state in state_of(points).items() if state != before[name]}
    assert {str(name) for name in changed} == {rows[0].id}
    assert points.payloads[next(iter(changed))] == before[next(iter(changed))][0]


async def test_an_import_compares_the_memories_of_each_agent(memory):
    """Qdrant has no list of agents: any alias may own a point."""
    rows = [row_of(await create(memory, Draft("plan", f"of {agent}", agent=agent))) for agent in ("ada", "default")]
    rows.append(replace(rows[0], id="", values={**rows[0].values, "id": ""}, agent="bob"))

    async def batches(to_notes: bool) -> AsyncIterator[Sequence[Row]]:
        yield rows

    comparison = await Comparison.prepare(Incoming(batches), memory, datetime.now(UTC))
    found = [one async for batch in comparison.batches() for one in batch]
    assert [(one.state, one.stored.agent) for one in found] == [("same", "ada"), ("same", "default"), ("new", "bob")]


async def test_each_agent_has_its_own_keys_in_qdrant(memory, points):
    """A point without an agent belongs to the default one."""
    assert "agents" not in memory.why_not
    mine = row_of(await create(memory, Draft("plan", "of ada", agent="ada")))
    other = row_of(await create(memory, Draft("plan", "of nobody")))
    assert (points.payloads[mine.id]["agent_id"], points.payloads[other.id]["agent_id"]) == ("ada", "default")
    (conflict,) = (await create(memory, Draft("plan", "again", agent="ada"))).conflicts
    assert conflict.existing == await row_with_id(memory, mine.id)
    assert [entry.agent for entry in await entries_with_key(memory, "plan")] == ["ada", "default"]
    assert [entry.content for entry in await entries_with_key(memory, "plan", "default")] == ["of nobody"]
    order = await handles_of(memory, MemoryFilter(agent=("default",)), Sort())
    assert mine.handle not in order
    assert "42" in order
    found = await recalled(memory, "plan", agents=("ada",))
    assert {scored.entry.agent for scored in found.entries} == {"ada"}


async def test_a_duplicate_point_of_a_key_is_removed_and_restored_with_the_first(memory, points):
    """Two programs that store at once leave two points with one key."""
    first = sample_entries()[3]
    points.upsert(
        [point(replace(first, id=str(number).zfill(8) + "-0000-4000-8000-000000000000")) for number in (1, 2)]
    )
    before, kept = state_of(points), JournalRecorder()
    await create(memory, Draft(first.key, "the only one"), kept, replace=True)
    assert [entry.content for entry in await entries_with_key(memory, first.key)] == ["the only one"]
    await undo(memory, kept.changes[::-1])
    assert state_of(points) == before


async def test_an_edit_returns_what_another_program_wrote_at_the_same_time(memory, server, points):
    row = await row_with_id(memory, "42")

    def write_elsewhere(method, path):
        if points.payloads[42]["content"] == "mine" and path.endswith("/points"):
            points.payloads[42] = points.payloads[42] | {"content": "theirs"}

    server.before = write_elsewhere
    done = await edit(memory, row, {"content": "mine"})
    assert row_of(done).entry().content == "theirs"
    assert (await edit(memory, row, {"content": "more"})).skipped


async def test_without_an_embedder_storing_is_refused_and_the_rest_works(server, points):
    async with opened_memory(
        memory_of(server, embedder=None, no_embedder_reason="no embeddings configured; set it.")
    ) as memory:
        before, kept = state_of(points), JournalRecorder()
        why = "Qdrant stores and finds nothing without an embedding: no embeddings configured"
        assert why in memory.why_not["vectors"]
        assert any(why in notice for notice in sentences(memory.about.notices))
        row = await row_with_id(memory, "42")
        for action in (
            create(memory, Draft("new", "content"), kept),
            memory.store("new", "content", "core"),
            edit(memory, row, {"content": "new"}, kept),
            memory.make(profile_for(NEWEST)),
        ):
            with pytest.raises(Refused, match=why):
                await action
        assert kept.changes == []
        found = await recalled(memory, "anything")
        assert (found.entries, found.notes[0][:28]) == ((), "ZeroClaw cannot search here.")
        await edit(memory, row, {"category": "projects"}, kept)
        await delete(memory, await versions(memory, EVERYTHING), kept)
        await undo(memory, kept.changes[::-1])
        assert state_of(points) == before


async def test_make_creates_the_collection_as_zeroclaws_first_start_does(server):
    memory = memory_of(server)
    with pytest.raises(NothingYet, match=f"no collection {NAME} yet"):
        await memory.open()
    await memory.make(profile_for(NEWEST))
    made = [request for request in server.requests if request[0] == "PUT"]
    path = f"/collections/{NAME}"
    assert made == [("PUT", path, {"vectors": {"size": DIMENSIONS, "distance": "Cosine"}})]
    await memory.open()
    assert await memory.count() == 0
    with pytest.raises(Refused, match="already"):
        await memory.make(profile_for(NEWEST))
    await memory.close()


@pytest.mark.parametrize(("version", "count"), [("0.5.4", 4), ("0.5.5", 2), (NEWEST, 2)])
async def test_a_blank_query_lists_by_id_and_older_versions_ignore_the_limit(memory, version, count):
    found = await recalled(memory, " \n", version, limit=2)
    first, *others = ids(found)
    assert (first, len(others)) == ("42", count - 1)
    assert others == sorted(others)
    assert {scored.score for scored in found.entries} == {None}


async def test_time_bounds_are_applied_to_the_results(memory):
    entries: list[MemoryEntry] = await memory.list()
    middle = entries[1].timestamp
    found = await recalled(memory, "rust", until=middle)
    assert {scored.entry.timestamp < middle for scored in found.entries} == {True}
    assert [scored.rank for scored in found.entries] == list(range(1, len(found.entries) + 1))
    older = await recalled(memory, "rust", "0.5.4", until=middle)
    assert len(older.entries) == len(entries)


async def test_the_server_finds_the_nearest_points(memory, points):
    entry = await entry_with_id(memory, "42")
    assert entry is not None
    found = await memory.near(entry, 10)
    near, compared = found
    assert (near[0].handle, near[0].score) == ("42", pytest.approx(1.0, abs=1e-5))
    assert compared == len(points.payloads)
    scores = [one.score for one in near]
    assert scores == sorted(scores, reverse=True)
    assert all(score > 0 for score in scores)
