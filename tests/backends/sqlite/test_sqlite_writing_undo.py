"""Taking back what meets something new: refused with both named, replaced, or put beside it; always undoable again."""

from __future__ import annotations

import pytest
from changed_stores import JournalRecorder, everything, hits, opened, select
from support import small_store
from support.databases import create_database

from zeroclaw_tui.backends.lookup import entries_with_key, row_with_id, versions, versions_at
from zeroclaw_tui.memory.change import Draft, Row, RowChange
from zeroclaw_tui.memory.query import MemoryFilter, Superseded
from zeroclaw_tui.testing.tools import create, delete, edit, undo

EVERY = MemoryFilter(superseded=Superseded.SHOW)


async def edited(memory, id, journal, **values):
    row = await row_with_id(memory, id)
    return await edit(memory, row, values, journal)


async def remove(memory, journal, *handles):
    return await delete(memory, await versions_at(memory, handles), journal)


async def refused(memory, journal):
    """The result of an undo that meets conflicts; nothing may have been written or journaled."""
    before, none = everything(memory.path), JournalRecorder()
    result = await undo(memory, journal.changes[::-1], none)
    assert (result.written, none.changes, everything(memory.path)) == (0, [], before)
    return result


async def taken_back_twice(memory, journal, on_conflict):
    """Take back with a decision, look, and take that back too: everything is as it was."""
    before, back = everything(memory.path), JournalRecorder()
    reversal = await undo(memory, journal.changes[::-1], back, on_conflict=on_conflict)
    after = everything(memory.path)
    assert {change.reverses for change in back.changes} >= {change.number for change in journal.changes}
    await undo(memory, back.changes[::-1], JournalRecorder())
    assert everything(memory.path) == before
    hits(memory.path, ["text"])
    await undo(memory, journal.changes[::-1], back, on_conflict=on_conflict)
    assert everything(memory.path) == after or reversal.renamed
    return reversal


@pytest.fixture
def path(make_store):
    return make_store([{"key": "a", "content": "text a"}, {"key": "b", "content": "text b", "embedding": b"1234"}])


async def test_overwriting_replaces_the_memory_that_has_the_key(path):
    journal = JournalRecorder()
    async with opened(path) as memory:
        await remove(memory, journal, 1)
        await create(memory, Draft("a", "new text"), JournalRecorder())
        await taken_back_twice(memory, journal, "overwrite")
    assert select(path, "SELECT rowid, id, content FROM memories WHERE key = 'a'") == [(1, "id-000", "text a")]


async def test_renaming_brings_the_old_one_back_beside_it(path):
    journal = JournalRecorder()
    async with opened(path) as memory:
        await remove(memory, journal, 1)
        await create(memory, Draft("a", "new text"), JournalRecorder())
        await create(memory, Draft("a (restored)", "taken too"), JournalRecorder())
        reversal = await taken_back_twice(memory, journal, "rename")
        assert reversal.renamed == {"a": "a (restored 2)"}
    assert select(path, "SELECT rowid, id, content FROM memories WHERE key = 'a (restored 2)'") == [
        (1, "id-000", "text a")
    ]
    assert select(path, "SELECT content FROM memories WHERE key = 'a'") == [("new text",)]


async def test_renaming_leaves_what_changed_since_and_adds_what_was(path):
    journal = JournalRecorder()
    async with opened(path) as memory:
        await edited(memory, "id-000", journal, content="mine")
        small_store.change(path, "UPDATE memories SET content = 'theirs' WHERE id = 'id-000'")
        await taken_back_twice(memory, journal, "rename")
    found = select(path, "SELECT id = 'id-000', content FROM memories WHERE key LIKE 'a%' ORDER BY key")
    assert found == [(1, "theirs"), (0, "text a")]


async def test_a_vector_that_zeroclaw_made_meanwhile_is_no_change(path):
    journal = JournalRecorder()
    async with opened(path) as memory:
        await edited(memory, "id-001", journal, content="mine")
        small_store.change(path, "UPDATE memories SET embedding = x'00000000' WHERE id = 'id-001'")
        await undo(memory, journal.changes[::-1], JournalRecorder())
        assert (await row_with_id(memory, "id-001")).values["embedding"] == b"1234"


async def test_an_edited_memory_that_has_gone_since_can_come_back(path):
    journal = JournalRecorder()
    async with opened(path) as memory:
        await edited(memory, "id-000", journal, content="mine")
        small_store.change(path, "DELETE FROM memories WHERE id = 'id-000'")
        assert (await refused(memory, journal)).conflicts[0].reason == "deleted"
        await taken_back_twice(memory, journal, "overwrite")
        assert (await row_with_id(memory, "id-000")).values["content"] == "text a"


async def test_a_stored_memory_that_changed_since_goes_only_when_told(path):
    journal, back = JournalRecorder(), JournalRecorder()
    async with opened(path) as memory:
        new = (await create(memory, Draft("c", "mine"), journal)).rows[0]
        small_store.change(path, "UPDATE memories SET content = 'theirs' WHERE key = 'c'")
        assert (await refused(memory, journal)).conflicts[0].reason == "changed"
        reversal = await undo(memory, journal.changes[::-1], back, on_conflict="rename")
        assert "changed since it was stored" in reversal.notes[0]
        assert back.changes[0].before == back.changes[0].after == await row_with_id(memory, new.id)
        await undo(memory, journal.changes[::-1], back, on_conflict="overwrite")
        assert back.changes[1].before.values["content"] == "theirs"
        assert await row_with_id(memory, new.id) is None


async def test_a_place_that_is_taken_costs_only_the_place(path):
    journal = JournalRecorder()
    async with opened(path) as memory:
        await remove(memory, journal, 2)
        other = (await create(memory, Draft("c", "mine"), JournalRecorder())).rows[0]
        assert other.handle == 2
        await undo(memory, journal.changes[::-1], JournalRecorder())
        assert (await row_with_id(memory, "id-001")).handle == 3
        assert await row_with_id(memory, other.id) == other


async def test_several_clashes_are_counted_and_a_hundred_told(make_store):
    path = make_store([{"content": "text"} for _ in range(130)])
    journal = JournalRecorder()
    async with opened(path) as memory:
        await delete(memory, await versions(memory, EVERY), journal)
        small_store.add(path, [{"id": f"new-{at}", "key": f"key{at}"} for at in range(120)])
        clashes = await refused(memory, journal)
        assert (clashes.conflict_count, len(clashes.conflicts)) == (120, 100)


async def test_two_removed_memories_of_one_key_do_not_both_come_back(path):
    """Each was removed under the key; the second one meets the first."""
    journal = JournalRecorder()
    async with opened(path) as memory:
        await remove(memory, journal, 1)
        new = (await create(memory, Draft("a", "second text"), JournalRecorder())).rows[0]
        await remove(memory, journal, new.handle)
        assert (await refused(memory, journal)).conflicts[0].reason == "key exists"
        reversal = await undo(memory, journal.changes[::-1], JournalRecorder(), on_conflict="rename")
        assert reversal.renamed == {"a": "a (restored)"}
    assert {content for (content,) in select(path, "SELECT content FROM memories WHERE key LIKE 'a%'")} == {
        "text a",
        "second text",
    }


async def test_many_removed_memories_come_back_to_their_places(make_store):
    rows = [{"content": f"text {at}", "embedding": bytes([at % 256]) * 8} for at in range(900)]
    path = make_store(rows)
    before, found, journal, told = everything(path), hits(path, ["text"]), JournalRecorder(), []
    async with opened(path) as memory:
        await delete(memory, await versions(memory, EVERY), journal)
        assert await memory.count() == 0
        reversal = await undo(
            memory, journal.changes[::-1], on_conflict="skip", on_progress=lambda done: told.append(done) or False
        )
        assert reversal.cancelled
        assert reversal.done == told[0] == await memory.count()
        reversal = await undo(memory, journal.changes[::-1], JournalRecorder())
        assert (reversal.done, reversal.cancelled) == (900, False)
    assert (everything(path), hits(path, ["text"])) == (before, found)


@pytest.mark.parametrize(("old", "new"), [("G1", "G4"), ("G2", "G3"), ("G3", "G4"), ("G2", "G2")])
async def test_rows_of_an_older_generation_come_back_into_a_migrated_file(old, new, make_store, tmp_path):
    journal = JournalRecorder()
    async with opened(make_store([{"key": "a", "content": "text a", "session_id": "s"}], old, "old.db")) as memory:
        await remove(memory, journal, 1)
    create_database(tmp_path / "new.db", new)
    async with opened(tmp_path / "new.db") as memory:
        reversal = await undo(memory, journal.changes[::-1], JournalRecorder())
        row = await row_with_id(memory, "id-000")
        assert (row.handle, row.values["content"], row.values["session_id"]) == (1, "text a", "s")
        assert row.agent == ("default" if new in ("G3", "G4") else None)
        assert len(reversal.notes) == (1 if old == "G3" else 0)


async def test_an_edit_before_a_migration_can_be_taken_back_after_it(make_store):
    path = make_store([{"key": "a", "content": "text a", "session_id": "s 1"}], "G1")
    journal = JournalRecorder()
    async with opened(path) as memory:
        await edited(memory, "id-000", journal, content="mine")
    for column in ("namespace TEXT DEFAULT 'default'", "importance REAL DEFAULT 0.5", "superseded_by TEXT"):
        small_store.change(path, f"ALTER TABLE memories ADD COLUMN {column}")
    async with opened(path) as memory:
        assert memory.about.generation == "G2"
        await undo(memory, journal.changes[::-1], JournalRecorder())
        row = await row_with_id(memory, "id-000")
        assert (row.values["content"], row.values["namespace"]) == ("text a", "default")


async def test_what_has_no_column_any_more_is_named(make_store, tmp_path):
    journal = JournalRecorder()
    path = make_store([{"namespace": "work", "kind": '"episodic"'}], "G4", "old.db")
    async with opened(path) as memory:
        await remove(memory, journal, 1)
    create_database(tmp_path / "new.db", "G1")
    async with opened(tmp_path / "new.db") as memory:
        reversal = await undo(memory, journal.changes[::-1], JournalRecorder())
        for name in ("namespace", "kind", "agent_id"):
            assert name in reversal.notes[0]
        assert "superseded_by" not in reversal.notes[0]
        assert (await row_with_id(memory, "id-000")).values["content"] == "text"


async def test_an_owner_is_found_by_alias_when_its_id_is_new(path):
    journal = JournalRecorder()
    async with opened(path) as memory:
        await create(memory, Draft("c", "hers", agent="Ada"), journal)
        back = JournalRecorder()
        await undo(memory, journal.changes[::-1], back)
        small_store.change(path, "INSERT INTO agents VALUES ('new-id', 'Ada', '')")
        removed = [change for change in back.changes if change.before.table == "memories"]
        reversal = await undo(memory, removed, JournalRecorder())
        (entry,) = await entries_with_key(memory, "c")
        assert (entry.agent, len(reversal.notes)) == ("Ada", 1)


async def test_a_kept_row_without_its_vector_can_still_be_compared(path):
    """The trash holds a vector once; the row after an edit is compared by everything else."""
    journal, light = JournalRecorder(), JournalRecorder()
    async with opened(path) as memory:
        await edited(memory, "id-001", journal, category="daily")
        (change,) = journal.changes
        values = {name: value for name, value in change.after.values.items() if name != "embedding"}
        light.record([RowChange(change.before, Row("id-001", values, 2, "default"))])
        await undo(memory, light.changes[::-1], JournalRecorder())
        assert (await row_with_id(memory, "id-001")) == change.before


async def test_an_agent_that_comes_back_with_its_memory_owns_it_beside_one_of_the_same_key(path):
    """The key is the other agent's too, which stands in nobody's way."""
    journal, undone = JournalRecorder(), JournalRecorder()
    async with opened(path) as memory:
        await create(memory, Draft("a", "hers", agent="Ada"), journal)
        after = everything(memory.path)
        await undo(memory, journal.changes[::-1], undone)
        assert [entry.agent for entry in await entries_with_key(memory, "a")] == ["default"]
        assert select(path, "SELECT alias FROM agents") == [("default",)]
        assert (await undo(memory, undone.changes[::-1], JournalRecorder())).done == 1
        assert everything(memory.path) == after
