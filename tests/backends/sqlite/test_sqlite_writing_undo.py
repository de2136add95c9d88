"""Undo that conflicts with newer rows is refused, replaces them or restores both, and can be undone."""

from __future__ import annotations

import pytest
from changed_stores import opened, select
from support import small_store
from support.databases import create_database
from support.edits import edited
from support.memories import Draft, Row, RowChange
from support.stores import entries_with_key, row_with_id, versions_at
from support.whole_store import everything

from zeroclaw_tui.testing.tools import JournalRecorder, create, delete, undo


async def remove(memory, journal, *handles):
    return await delete(memory, await versions_at(memory, handles), journal)


@pytest.fixture
def path(make_store):
    return make_store([{"key": "a", "content": "text a"}, {"key": "b", "content": "text b", "embedding": b"1234"}])


async def test_a_vector_added_by_zeroclaw_is_no_conflict(path):
    journal = JournalRecorder()
    async with opened(path) as memory:
        await edited(memory, "id-001", journal, content="mine")
        small_store.change(path, "UPDATE memories SET embedding = x'00000000' WHERE id = 'id-001'")
        await undo(memory, journal.changes[::-1])
        assert (await row_with_id(memory, "id-001")).values["embedding"] == b"1234"


async def test_undo_restores_a_row_under_a_new_rowid_if_its_own_is_taken(path):
    journal = JournalRecorder()
    async with opened(path) as memory:
        await remove(memory, journal, 2)
        other = (await create(memory, Draft("c", "mine"))).rows[0]
        assert other.handle == 2
        await undo(memory, journal.changes[::-1])
        assert (await row_with_id(memory, "id-001")).handle == 3
        assert await row_with_id(memory, other.id) == other


async def test_another_programs_row_at_the_highest_rowid_is_no_conflict(path):
    small_store.change(path, "UPDATE memories SET rowid = 9223372036854775807 WHERE id = 'id-001'")
    async with opened(path) as memory:
        assert (await create(memory, Draft("c", "mine"))).rows[0].handle == 2


@pytest.mark.parametrize(("old", "new"), [("G1", "G4"), ("G2", "G3"), ("G3", "G4"), ("G2", "G2")])
async def test_undo_restores_rows_of_an_older_generation_in_a_migrated_file(old, new, make_store, tmp_path):
    journal = JournalRecorder()
    async with opened(make_store([{"key": "a", "content": "text a", "session_id": "s"}], old, "old.db")) as memory:
        await remove(memory, journal, 1)
    create_database(tmp_path / "new.db", new)
    async with opened(tmp_path / "new.db") as memory:
        reversal = await undo(memory, journal.changes[::-1])
        row = await row_with_id(memory, "id-000")
        assert (row.handle, row.values["content"], row.values["session_id"]) == (1, "text a", "s")
        assert row.agent == ("default" if new in ("G3", "G4") else None)
        assert len(reversal.notes) == (1 if old == "G3" else 0)


async def test_an_edit_before_a_migration_can_be_undone_after_it(make_store):
    path = make_store([{"key": "a", "content": "text a", "session_id": "s 1"}], "G1")
    journal = JournalRecorder()
    async with opened(path) as memory:
        await edited(memory, "id-000", journal, content="mine")
    for column in ("namespace TEXT DEFAULT 'default'", "importance REAL DEFAULT 0.5", "superseded_by TEXT"):
        small_store.change(path, f"ALTER TABLE memories ADD COLUMN {column}")
    async with opened(path) as memory:
        assert memory.about.generation == "G2"
        await undo(memory, journal.changes[::-1])
        row = await row_with_id(memory, "id-000")
        assert (row.values["content"], row.values["namespace"]) == ("text a", "default")


async def test_undo_names_values_whose_column_no_longer_exists(make_store, tmp_path):
    journal = JournalRecorder()
    path = make_store([{"namespace": "work", "kind": '"episodic"'}], "G4", "old.db")
    async with opened(path) as memory:
        await remove(memory, journal, 1)
    create_database(tmp_path / "new.db", "G1")
    async with opened(tmp_path / "new.db") as memory:
        reversal = await undo(memory, journal.changes[::-1])
        for name in ("namespace", "kind", "agent_id"):
            assert name in reversal.notes[0]
        assert "superseded_by" not in reversal.notes[0]
        assert (await row_with_id(memory, "id-000")).values["content"] == "text"


async def test_an_owner_with_a_new_id_is_found_by_alias(path):
    journal = JournalRecorder()
    async with opened(path) as memory:
        await create(memory, Draft("c", "hers", agent="Ada"), journal)
        back = JournalRecorder()
        await undo(memory, journal.changes[::-1], back)
        small_store.change(path, "INSERT INTO agents VALUES ('new-id', 'Ada', '')")
        removed = [change for change in back.changes if change.before.table == "memories"]
        reversal = await undo(memory, removed)
        (entry,) = await entries_with_key(memory, "c")
        assert (entry.agent, len(reversal.notes)) == ("Ada", 1)


async def test_a_journaled_row_without_its_vector_can_still_be_compared(path):
    """The trash stores a vector once; the row after an edit is compared by its other fields."""
    journal, light = JournalRecorder(), JournalRecorder()
    async with opened(path) as memory:
        await edited(memory, "id-001", journal, category="daily")
        (change,) = journal.changes
        values = {name: value for name, value in change.after.values.items() if name != "embedding"}
        light.record([RowChange(change.before, Row("id-001", values, 2, "default"))])
        await undo(memory, light.changes[::-1])
        assert (await row_with_id(memory, "id-001")) == change.before


async def test_an_agent_restored_with_its_memory_owns_it_despite_another_agents_key(path):
    """The other agent has the same key, which is no conflict."""
    journal, undone = JournalRecorder(), JournalRecorder()
    async with opened(path) as memory:
        await create(memory, Draft("a", "hers", agent="Ada"), journal)
        after = everything(memory.path)
        await undo(memory, journal.changes[::-1], undone)
        assert [entry.agent for entry in await entries_with_key(memory, "a")] == ["default"]
        assert select(path, "SELECT alias FROM agents") == [("default",)]
        assert (await undo(memory, undone.changes[::-1])).done == 1
        assert everything(memory.path) == after
