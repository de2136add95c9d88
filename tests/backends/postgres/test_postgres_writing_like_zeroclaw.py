"""Storing and editing follow ZeroClaw's rules for each form; invalid changes are refused before any write."""

from __future__ import annotations

import numpy as np
import pytest
from support.memories import Draft, Refused, Vector
from support.questions import Sort, SortField
from support.stores import entries_with_key, fill_vectors, row_with_id

from zeroclaw_tui.testing.tools import JournalRecorder, create, delete, edit, row_of, undo

OLD = "2026-01-01T00:00:00Z"
ONE = Vector(np.array([1, 0, 0], dtype="<f4").tobytes(), "hash", "hash:3")
TWO = Vector(np.array([0, 1, 0], dtype="<f4").tobytes(), "hash", "hash:3")
FOUR = Vector(np.ones(4, dtype="<f4").tobytes(), "hash", "hash:4")
STORED = Sort(SortField.STORED, descending=False)


def one_old_row(place, form: str) -> None:
    place.make_table(form)
    more = ", agent_id" if form == "agents" else ""
    owner = ", 'a-default'" if form == "agents" else ""
    place.run(
        f"INSERT INTO memories (id, key, content, category, created_at, updated_at, session_id{more}) "
        f"VALUES ('old', 'lang', 'Prefers Rust', 'core', '{OLD}', '{OLD}', 's'{owner})"
    )


@pytest.mark.parametrize("form", ["key", "vector", "agents"])
async def test_storing_a_key_again_keeps_its_id_and_creation_time(form, place, opens):
    """Other fields, including the session, are the new ones; ZeroClaw never writes namespace and importance."""
    one_old_row(place, form)
    if form != "key":
        place.run("UPDATE memories SET namespace = 'work', importance = 0.9, embedding = '[1,2,3]'")
    memory = await opens()
    before = await row_with_id(memory, "old")
    await memory.store("lang", "Prefers Python", "daily")
    after = await row_with_id(memory, "old")
    changed = {name for name in after.values if after.values[name] != before.values[name]}
    assert changed - {"embedding"} == {"content", "category", "session_id", "updated_at"}
    assert after.values["updated_at"] > before.values["updated_at"]
    assert after.values.get("embedding") is None
    assert await memory.count() == 1


async def test_agents_have_their_own_keys_and_new_ones_are_added(place, opens):
    one_old_row(place, "agents")
    memory, journal = await opens(), JournalRecorder()
    hers = row_of(await create(memory, Draft("lang", "hers", agent="Ada"), journal))
    assert hers.agent == "Ada"
    assert [entry.agent for entry in await entries_with_key(memory, "lang")] == ["default", "Ada"]
    assert [change.row.table for change in journal.changes] == ["agents", "memories"]
    assert row_of(await create(memory, Draft("tz", "usual"))).agent == "default"
    (conflict,) = (await create(memory, Draft("lang", "again", agent="Ada"))).conflicts
    assert (conflict.reason, conflict.existing) == ("key exists", hers)
    assert place.run("SELECT alias FROM agents ORDER BY 1").splitlines() == ["Ada", "default", "scout"]
    await undo(memory, journal.changes[::-1])
    assert place.run("SELECT alias FROM agents ORDER BY 1").splitlines() == ["default", "scout"]


async def test_forgetting_a_key_removes_it_from_every_agent(place, opens):
    """ZeroClaw's own forget without an agent does the same."""
    one_old_row(place, "agents")
    memory = await opens()
    await create(memory, Draft("lang", "hers", agent="scout"))
    assert await memory.forget("lang")
    assert await memory.count() == 0
    assert not await memory.forget("lang")


async def test_an_old_table_with_unique_keys_refuses_the_same_key_of_a_second_agent(place, opens):
    place.make_table("agents")
    place.run("ALTER TABLE memories ADD UNIQUE (key)")
    memory = await opens()
    await create(memory, Draft("lang", "his"))
    with pytest.raises(Refused, match="does not accept another memory with the key 'lang'"):
        await create(memory, Draft("lang", "hers", agent="scout"))


@pytest.mark.parametrize("form", ["vector", "agents", "uuid"])
async def test_a_vector_is_removed_when_its_content_changes(form, place, opens):
    place.make_table(form)
    memory = await opens()
    row = row_of(await create(memory, Draft("k", "first", vector=ONE)))
    assert row.values["embedding"] == ONE.data
    row = row_of(await edit(memory, row, {"category": "daily"}))
    assert row.values["embedding"] == ONE.data
    row = row_of(await edit(memory, row, {"content": "x"}, vector=TWO))
    assert row.values["embedding"] == TWO.data
    row = row_of(await edit(memory, row, {"content": "y"}))
    assert row.values["embedding"] is None
    done = await create(memory, Draft("four", "c", vector=FOUR))
    assert row_of(done).values["embedding"] is None
    assert "takes vectors of 3 numbers only" in done.notes[0]


@pytest.mark.parametrize("form", ["vector", "agents", "uuid"])
async def test_vectors_are_added_only_to_unchanged_rows(form, place, opens):
    place.make_table(form)
    memory = await opens()
    rows = [row_of(await create(memory, Draft(f"k{number}", "c"))) for number in range(3)]
    await edit(memory, rows[1], {"content": "changed"})
    await delete(memory, [rows[2]])
    filled = await fill_vectors(memory, [(row, ONE) for row in rows])
    assert (filled.written, filled.skipped) == (1, [rows[1].id, rows[2].id])
    stored = await row_with_id(memory, rows[0].id)
    assert stored.values == {**rows[0].values, "embedding": ONE.data}
    with pytest.raises(Refused, match="takes vectors of 3 numbers"):
        await fill_vectors(memory, [(rows[0], FOUR)])


async def test_the_tutorials_store_writes_a_category_as_serde_does(place, opens):
    place.make_table("uuid")
    memory = await opens()
    await memory.store("k", "c", "core")
    await memory.store("l", "c", "recipes")
    written = place.run("SELECT category FROM memories ORDER BY key").splitlines()
    assert written == ['"Core"', '{"Custom":"recipes"}']
    row = (await entries_with_key(memory, "k"))[0]
    assert row.category == "core"
