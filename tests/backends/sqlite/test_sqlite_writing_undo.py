"""Taking back what meets something new: refused with both named, replaced, or put beside it; always undoable again."""

from __future__ import annotations

import pytest
from changed_stores import Kept, everything, hits, opened, select
from support import small_store

from zeroclaw_tui.backends.lookup import entries_with_key, row_with_id, versions, versions_at
from zeroclaw_tui.backends.sqlite.schema import create_database
from zeroclaw_tui.memory.change import Clashes, Draft, Edit, RowChange, StoredRow
from zeroclaw_tui.memory.query import MemoryFilter, Superseded

EVERY = MemoryFilter(superseded=Superseded.SHOW)


async def edit(memory, id, kept, **values):
    row = await row_with_id(memory, id)
    return await memory.update(id, Edit(values), row.fingerprint, kept)


async def remove(memory, kept, *handles):
    return await memory.remove(await versions_at(memory, handles), kept)


async def refused(memory, kept):
    """What stands in the way; nothing may have been done or kept."""
    before, none = everything(memory.path), Kept()
    with pytest.raises(Clashes) as caught:
        await memory.revert(kept.backwards(), none)
    assert (none.changes, everything(memory.path)) == ([], before)
    return caught.value


async def taken_back_twice(memory, kept, clash):
    """Take back with a decision, look, and take that back too: everything is as it was."""
    before, back = everything(memory.path), Kept()
    reversal = await memory.revert(kept.backwards(), back, clash=clash)
    after = everything(memory.path)
    assert {change.reverses for change in back.changes} >= {change.number for change in kept.changes}
    await memory.revert(back.backwards(), Kept())
    assert everything(memory.path) == before
    hits(memory.path, ["text"])
    await memory.revert(kept.backwards(), back, clash=clash)
    assert everything(memory.path) == after or reversal.renamed
    return reversal


@pytest.fixture
def path(make_store):
    return make_store([{"key": "a", "content": "text a"}, {"key": "b", "content": "text b", "embedding": b"1234"}])


async def test_overwriting_replaces_the_memory_that_has_the_key(path):
    kept = Kept()
    async with opened(path) as memory:
        await remove(memory, kept, 1)
        await memory.create(Draft("a", "new text"), Kept())
        await taken_back_twice(memory, kept, "overwrite")
    assert select(path, "SELECT rowid, id, content FROM memories WHERE key = 'a'") == [(1, "id-000", "text a")]


async def test_renaming_brings_the_old_one_back_beside_it(path):
    kept = Kept()
    async with opened(path) as memory:
        await remove(memory, kept, 1)
        await memory.create(Draft("a", "new text"), Kept())
        await memory.create(Draft("a (restored)", "taken too"), Kept())
        reversal = await taken_back_twice(memory, kept, "rename")
        assert reversal.renamed == {"a": "a (restored 2)"}
    assert select(path, "SELECT rowid, id, content FROM memories WHERE key = 'a (restored 2)'") == [
        (1, "id-000", "text a")
    ]
    assert select(path, "SELECT content FROM memories WHERE key = 'a'") == [("new text",)]


async def test_an_edited_memory_that_changed_since_is_refused_and_named(path):
    kept = Kept()
    async with opened(path) as memory:
        await edit(memory, "id-000", kept, content="mine")
        small_store.change(path, "UPDATE memories SET content = 'theirs' WHERE id = 'id-000'")
        clashes = await refused(memory, kept)
        assert (clashes.found[0].reason, clashes.found[0].present.values["content"]) == ("changed", "theirs")
        await taken_back_twice(memory, kept, "overwrite")
        assert (await row_with_id(memory, "id-000")).values["content"] == "text a"


async def test_renaming_leaves_what_changed_since_and_adds_what_was(path):
    kept = Kept()
    async with opened(path) as memory:
        await edit(memory, "id-000", kept, content="mine")
        small_store.change(path, "UPDATE memories SET content = 'theirs' WHERE id = 'id-000'")
        await taken_back_twice(memory, kept, "rename")
    found = select(path, "SELECT id = 'id-000', content FROM memories WHERE key LIKE 'a%' ORDER BY key")
    assert found == [(1, "theirs"), (0, "text a")]


async def test_a_vector_that_zeroclaw_made_meanwhile_is_no_change(path):
    kept = Kept()
    async with opened(path) as memory:
        await edit(memory, "id-001", kept, content="mine")
        small_store.change(path, "UPDATE memories SET embedding = x'00000000' WHERE id = 'id-001'")
        await memory.revert(kept.backwards(), Kept())
        assert (await row_with_id(memory, "id-001")).values["embedding"] == b"1234"


async def test_an_edited_memory_that_has_gone_since_can_come_back(path):
    kept = Kept()
    async with opened(path) as memory:
        await edit(memory, "id-000", kept, content="mine")
        small_store.change(path, "DELETE FROM memories WHERE id = 'id-000'")
        assert (await refused(memory, kept)).found[0].reason == "gone"
        await taken_back_twice(memory, kept, "overwrite")
        assert (await row_with_id(memory, "id-000")).values["content"] == "text a"


async def test_a_stored_memory_that_changed_since_goes_only_when_told(path):
    kept, back = Kept(), Kept()
    async with opened(path) as memory:
        new = (await memory.create(Draft("c", "mine"), kept)).change.after
        small_store.change(path, "UPDATE memories SET content = 'theirs' WHERE key = 'c'")
        assert (await refused(memory, kept)).found[0].reason == "changed"
        reversal = await memory.revert(kept.backwards(), back, clash="rename")
        assert "changed since it was stored" in reversal.notes[0]
        assert back.changes[0].before == back.changes[0].after == await row_with_id(memory, new.id)
        await memory.revert(kept.backwards(), back, clash="overwrite")
        assert back.changes[1].before.values["content"] == "theirs"
        assert await row_with_id(memory, new.id) is None


async def test_what_already_is_as_it_was_counts_as_taken_back(path):
    kept, back = Kept(), Kept()
    async with opened(path) as memory:
        await remove(memory, kept, 1)
        created = (await memory.create(Draft("c", "mine"), kept)).change.after
        await memory.revert(kept.backwards(), Kept())
        before = everything(path)
        reversal = await memory.revert(kept.backwards(), back)
        assert (reversal.reverted, everything(path)) == (2, before)
        now = await row_with_id(memory, "id-000")
        assert back.changes == [RowChange(created, None, 1, 2), RowChange(now, now, 2, 1)]


async def test_a_place_that_is_taken_costs_only_the_place(path):
    kept = Kept()
    async with opened(path) as memory:
        await remove(memory, kept, 2)
        other = (await memory.create(Draft("c", "mine"), Kept())).change.after
        assert other.handle == 2
        await memory.revert(kept.backwards(), Kept())
        assert (await row_with_id(memory, "id-001")).handle == 3
        assert await row_with_id(memory, other.id) == other


async def test_several_clashes_are_counted_and_a_hundred_told(make_store):
    path = make_store([{"content": "text"} for _ in range(130)])
    kept = Kept()
    async with opened(path) as memory:
        await memory.remove(await versions(memory, EVERY), kept)
        small_store.add(path, [{"id": f"new-{at}", "key": f"key{at}"} for at in range(120)])
        clashes = await refused(memory, kept)
        assert (clashes.total, len(clashes.found)) == (120, 100)


async def test_two_removed_memories_of_one_key_do_not_both_come_back(path):
    """Each was removed under the key; the second one meets the first."""
    kept = Kept()
    async with opened(path) as memory:
        await remove(memory, kept, 1)
        new = (await memory.create(Draft("a", "second text"), Kept())).change.after
        await remove(memory, kept, new.handle)
        assert (await refused(memory, kept)).found[0].reason == "key exists"
        reversal = await memory.revert(kept.backwards(), Kept(), clash="rename")
        assert reversal.renamed == {"a": "a (restored)"}
    assert {content for (content,) in select(path, "SELECT content FROM memories WHERE key LIKE 'a%'")} == {
        "text a",
        "second text",
    }


async def test_many_removed_memories_come_back_to_their_places(make_store):
    rows = [{"content": f"text {at}", "embedding": bytes([at % 256]) * 8} for at in range(900)]
    path = make_store(rows)
    before, found, kept, told = everything(path), hits(path, ["text"]), Kept(), []
    async with opened(path) as memory:
        await memory.remove(await versions(memory, EVERY), kept)
        assert await memory.count() == 0
        reversal = await memory.revert(kept.backwards(250), Kept(), advance=lambda done: told.append(done) or False)
        assert reversal.cancelled
        assert reversal.reverted == told[0] == await memory.count()
        reversal = await memory.revert(kept.backwards(250), Kept())
        assert (reversal.reverted, reversal.cancelled) == (900, False)
    assert (everything(path), hits(path, ["text"])) == (before, found)


@pytest.mark.parametrize(("old", "new"), [("G1", "G4"), ("G2", "G3"), ("G3", "G4"), ("G2", "G2")])
async def test_rows_of_an_older_generation_come_back_into_a_migrated_file(old, new, make_store, tmp_path):
    kept = Kept()
    async with opened(make_store([{"key": "a", "content": "text a", "session_id": "s"}], old, "old.db")) as memory:
        await remove(memory, kept, 1)
    create_database(tmp_path / "new.db", new)
    async with opened(tmp_path / "new.db") as memory:
        reversal = await memory.revert(kept.backwards(), Kept())
        row = await row_with_id(memory, "id-000")
        assert (row.handle, row.values["content"], row.values["session_id"]) == (1, "text a", "s")
        assert row.agent == ("default" if new in ("G3", "G4") else None)
        assert len(reversal.notes) == (1 if old == "G3" else 0)


async def test_an_edit_before_a_migration_can_be_taken_back_after_it(make_store):
    path = make_store([{"key": "a", "content": "text a", "session_id": "s 1"}], "G1")
    kept = Kept()
    async with opened(path) as memory:
        await edit(memory, "id-000", kept, content="mine")
    for column in ("namespace TEXT DEFAULT 'default'", "importance REAL DEFAULT 0.5", "superseded_by TEXT"):
        small_store.change(path, f"ALTER TABLE memories ADD COLUMN {column}")
    async with opened(path) as memory:
        assert memory.about.generation == "G2"
        await memory.revert(kept.backwards(), Kept())
        row = await row_with_id(memory, "id-000")
        assert (row.values["content"], row.values["namespace"]) == ("text a", "default")


async def test_what_has_no_column_any_more_is_named(make_store, tmp_path):
    kept = Kept()
    path = make_store([{"namespace": "work", "kind": '"episodic"'}], "G4", "old.db")
    async with opened(path) as memory:
        await remove(memory, kept, 1)
    create_database(tmp_path / "new.db", "G1")
    async with opened(tmp_path / "new.db") as memory:
        reversal = await memory.revert(kept.backwards(), Kept())
        for name in ("namespace", "kind", "agent_id"):
            assert name in reversal.notes[0]
        assert "superseded_by" not in reversal.notes[0]
        assert (await row_with_id(memory, "id-000")).values["content"] == "text"


async def test_an_owner_is_found_by_alias_when_its_id_is_new(path):
    kept = Kept()
    async with opened(path) as memory:
        await memory.create(Draft("c", "hers", agent="Ada"), kept)
        back = Kept()
        await memory.revert(kept.backwards(), back)
        small_store.change(path, "INSERT INTO agents VALUES ('new-id', 'Ada', '')")
        removed = [change for change in back.changes if change.before.table == "memories"]
        reversal = await memory.revert(lambda: iter([removed]), Kept())
        (entry,) = await entries_with_key(memory, "c")
        assert (entry.agent, len(reversal.notes)) == ("Ada", 1)


async def test_a_kept_row_without_its_vector_can_still_be_compared(path):
    """The trash holds a vector once; the row after an edit is compared by everything else."""
    kept, light = Kept(), Kept()
    async with opened(path) as memory:
        await edit(memory, "id-001", kept, category="daily")
        (change,) = kept.changes
        values = {name: value for name, value in change.after.values.items() if name != "embedding"}
        light([RowChange(change.before, StoredRow("id-001", values, 2, "default"))])
        await memory.revert(light.backwards(), Kept())
        assert (await row_with_id(memory, "id-001")) == change.before


async def test_an_agent_that_comes_back_with_its_memory_owns_it_beside_one_of_the_same_key(path):
    """The key is the other agent's too, which stands in nobody's way."""
    kept, undone = Kept(), Kept()
    async with opened(path) as memory:
        await memory.create(Draft("a", "hers", agent="Ada"), kept)
        after = everything(memory.path)
        await memory.revert(kept.backwards(), undone)
        assert [entry.agent for entry in await entries_with_key(memory, "a")] == ["default"]
        assert select(path, "SELECT alias FROM agents") == [("default",)]
        assert (await memory.revert(undone.backwards(), Kept())).reverted == 1
        assert everything(memory.path) == after
