"""What is written into R-Mem's database: R-Mem's own sequence, checked by plain SQL, and taken back to the byte."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Awaitable
from contextlib import closing
from pathlib import Path

import pytest
from support.rmem_file import BEES, BREAD, BREAD_KEY, WHITE_BREAD, Opened, RMemFile, mila, vector

from zeroclaw_tui.backends.rmem.store import RMemMemory
from zeroclaw_tui.files import database
from zeroclaw_tui.memory.change import SUPERSEDED_BY, Clashes, Conflict, Draft, Edit, NewVector, StoredRow, Vector
from zeroclaw_tui.memory.errors import InspectorError, Locked, NotFound, Refused
from zeroclaw_tui.testing.tools import EVERY, Kept, Told, raises


async def remove(memory: RMemMemory, id: str, kept: Kept | None = None) -> None:
    """Delete one memory."""
    entry = await memory.with_id(id)
    assert entry is not None
    removal = await memory.remove(await memory.stamps_of([entry.handle]), kept or Kept())
    assert removal.removed == 1


async def row_of(memory: RMemMemory, id: str) -> StoredRow:
    """One row as it is stored."""
    row = await memory.stored(id)
    assert row is not None
    return row


def index_is_sound(file: RMemFile) -> bool:
    """Whether FTS5 finds exactly the words of the memories in the index."""
    with closing(sqlite3.connect(file.path)) as connection:
        try:
            connection.execute("INSERT INTO memories_fts(memories_fts, rank) VALUES('integrity-check', 1)")
        except sqlite3.DatabaseError:
            return False
    return True


async def test_a_deletion_goes_by_rmems_sequence_and_heals_the_keyword_index(
    file: RMemFile, memory: RMemMemory
) -> None:
    before = file.everything()
    removal = await memory.remove(await memory.stamps_of([1]), Kept())
    after = file.everything()
    assert after["memories"] == before["memories"][1:]
    assert after["history"][:-1] == before["history"]
    assert after["history"][-1][2:6] == (BEES, "DELETE", "Mila keeps bees on the roof", None)
    assert after["archive"][:-1] == before["archive"]
    archived = file.run("SELECT id, user_id, text, embedding, reason, superseded_by, original_created_at FROM archive")
    assert archived[-1] == (
        BEES, "mila", "Mila keeps bees on the roof", vector(1, 0, 0), "DELETED", None, "2026-04-10 09:00:00"
    )  # fmt: skip
    assert after["relations"] == before["relations"]
    assert file.found_by("bees") == []
    assert index_is_sound(file)
    assert any("R-Mem keeps what it deletes" in note for note in removal.notes)
    assert [entry.id for entry in await memory.list() if entry.kind is None] == [BREAD]


async def test_undo_brings_back_rowid_category_dates_and_vector(file: RMemFile, memory: RMemMemory) -> None:
    """All but the history is as it was; that tells of the deletion and of the return."""
    before, kept = file.everything(), Kept()
    await remove(memory, BEES, kept)
    undone = Kept()
    reversal = await memory.revert(kept.last_first, undone)
    assert reversal.reverted == 1
    after = file.everything()
    assert {name: rows for name, rows in after.items() if name != "history"} == {
        name: rows for name, rows in before.items() if name != "history"
    }
    assert [row[3] for row in after["history"]] == ["ADD", "ADD", "DELETE", "ADD"]
    assert file.found_by("bees") == [1]
    assert index_is_sound(file)
    await memory.revert(undone.last_first, Kept())
    assert [row[1] for row in file.everything()["memories"]] == [BREAD]


async def test_what_was_no_category_and_what_was_not_indexed_comes_back_so(tmp_path: Path, opened: Opened) -> None:
    file = RMemFile(tmp_path / "rustmem.db")
    file.add("a" * 32, "mila", "old tea", vector(1, 0, 0), indexed=False)
    file.run("UPDATE memories SET category = NULL, updated_at = NULL")
    memory, before, kept = await opened(file), file.everything()["memories"], Kept()
    await remove(memory, "a" * 32, kept)
    assert index_is_sound(file)
    await memory.revert(kept.last_first, Kept())
    assert file.everything()["memories"] == before
    assert file.found_by("tea") == []


async def test_a_copy_that_was_in_the_archive_before_stays_there(file: RMemFile, memory: RMemMemory) -> None:
    """R-Mem ignores a second copy of an id, so an undo must not take the first one away."""
    file.run("INSERT INTO archive (id, user_id, text, reason) VALUES (?, 'mila', 'earlier', 'DELETED')", BEES)
    kept, before = Kept(), file.everything()["archive"]
    await remove(memory, BEES, kept)
    assert file.everything()["archive"] == before
    await memory.revert(kept.last_first, Kept())
    assert file.everything()["archive"] == before


@pytest.mark.parametrize("version", ["0.1.x", "0.2.x"])
async def test_earlier_versions_are_written_by_what_they_have(tmp_path: Path, opened: Opened, version: str) -> None:
    file = mila(tmp_path / "rustmem.db", version)
    memory, before, kept = await opened(file), file.everything(), Kept()
    await remove(memory, BEES, kept)
    assert [row[3] for row in file.everything()["history"]] == ["ADD", "ADD", "DELETE"]
    await memory.revert(kept.last_first, Kept())
    assert file.everything()["memories"] == before["memories"]
    error = await raises(
        memory.update(BREAD, Edit({"category": "x"}), (await row_of(memory, BREAD)).fingerprint, Kept()), Refused
    )
    assert "keeps no category" in error.message
    assert "category" not in memory.capabilities.editable


async def test_another_category_changes_nothing_else(file: RMemFile, memory: RMemMemory) -> None:
    before, kept = file.everything(), Kept()
    row = await row_of(memory, BREAD)
    await memory.update(BREAD, Edit({"category": "plan"}), row.fingerprint, kept)
    assert file.run("SELECT category, updated_at FROM memories WHERE id = ?", BREAD) == [
        ("plan", "2026-04-11 09:00:00")
    ]
    assert file.everything()["history"] == before["history"]
    await memory.revert(kept.last_first, Kept())
    assert file.everything() == before


async def test_a_new_text_and_a_new_memory_are_refused_with_the_reason(file: RMemFile, memory: RMemMemory) -> None:
    before, row = file.everything(), await row_of(memory, BREAD)
    refused: list[tuple[Awaitable[object], str]] = [
        (memory.update(BREAD, Edit({"content": "Mila prefers cake"}), row.fingerprint, Kept()), "needs a vector"),
        (memory.create(Draft("cake", "Mila bakes cake"), Kept()), "needs a vector"),
        (memory.store("cake", "Mila bakes cake", "core"), "needs a vector"),
        (memory.update(BREAD, Edit({"namespace": "tom"}), row.fingerprint, Kept()), "user_id"),
        (memory.update(BREAD, Edit({"key": "bread"}), row.fingerprint, Kept()), "made of R-Mem's id"),
        (memory.fill_vectors([NewVector(BREAD, row.fingerprint, Vector(bytes(12), "a", "b"))]), "Which model"),
    ]
    for deed, said in refused:
        assert said in (await raises(deed, Refused)).message
    assert file.everything() == before
    assert "needs a vector" in memory.capabilities.why_not["content"]


async def test_a_deleted_text_is_restored_from_the_archive(file: RMemFile, memory: RMemMemory) -> None:
    """With its id and its vector, as misc, in history and index; the archive keeps its copy."""
    file.delete(BEES)
    archived = await memory.get("rmem_0b0e7c1e0000_deleted")
    assert archived is not None
    before, kept = file.everything(), Kept()
    row = await row_of(memory, archived.id)
    done = await memory.update(archived.id, Edit({SUPERSEDED_BY: None}), row.fingerprint, kept)
    assert file.run("SELECT user_id, text, category, embedding, created_at FROM memories WHERE id = ?", BEES) == [
        ("mila", "Mila keeps bees on the roof", "misc", vector(1, 0, 0), "2026-04-10 09:00:00")
    ]
    assert file.everything()["archive"] == before["archive"]
    assert file.everything()["history"][-1][2:6] == (BEES, "ADD", None, "Mila keeps bees on the roof")
    assert file.found_by("bees")
    assert any("keeps its copy" in note for note in done.notes)
    await memory.revert(kept.last_first, Kept())
    after = file.everything()
    assert (after["memories"], after["archive"]) == (before["memories"], before["archive"])


async def test_an_earlier_text_comes_back_beside_the_one_that_replaced_it(file: RMemFile, memory: RMemMemory) -> None:
    row = await row_of(memory, WHITE_BREAD)
    await memory.update(WHITE_BREAD, Edit({SUPERSEDED_BY: None}), row.fingerprint, Kept())
    texts = file.run("SELECT text FROM memories ORDER BY rowid")
    assert texts == [("Mila keeps bees on the roof",), ("Mila prefers rye bread",), ("Mila prefers white bread",)]


async def test_the_archive_and_the_graph_take_nothing_else(file: RMemFile, memory: RMemMemory) -> None:
    before = file.everything()
    archived = [entry.handle for entry in await memory.entries(EVERY) if not isinstance(entry.handle, int)]
    assert len(archived) == 2
    error = await raises(memory.remove(await memory.stamps_of(archived), Kept()), Refused)
    assert "removes nothing from its archive" in error.message
    row = await row_of(memory, WHITE_BREAD)
    await raises(memory.update(WHITE_BREAD, Edit({"category": "x"}), row.fingerprint, Kept()), Refused)
    assert not await memory.forget("rmem_1c1f8d2f0000_v1")
    assert file.everything() == before


async def test_what_rmem_changed_meanwhile_is_left_alone(file: RMemFile, memory: RMemMemory) -> None:
    """A removal leaves it, an edit shows it, and an undo says that it changed since."""
    stamps, row, kept = await memory.stamps_of([1, 2]), await row_of(memory, BREAD), Kept()
    file.run("UPDATE memories SET text = 'Mila bakes' WHERE id = ?", BREAD)
    removal = await memory.remove(stamps, kept)
    assert (removal.removed, removal.changed) == (1, (BREAD,))
    await raises(memory.update(BREAD, Edit({"category": "plan"}), row.fingerprint, Kept()), Conflict)
    file.add(BEES, "mila", "Mila sold her bees", vector(1, 1, 0))
    clashes = await raises(memory.revert(kept.last_first, Kept()), Clashes)
    assert clashes.found[0].reason == "changed"
    await memory.revert(kept.last_first, Kept(), clash="overwrite")
    assert file.run("SELECT text, embedding FROM memories WHERE id = ?", BEES) == [
        ("Mila keeps bees on the roof", vector(1, 0, 0))
    ]
    assert file.run("SELECT reason FROM archive WHERE text = 'Mila sold her bees'") == [("SUPERSEDED",)]
    assert file.found_by("sold") == []


async def test_where_nothing_can_be_kept_nothing_is_deleted(file: RMemFile, memory: RMemMemory) -> None:
    before, full = file.everything(), Kept()
    full.fails = True
    assert (await raises(memory.remove(await memory.stamps_of([1]), full), Refused)).message == "The disk is full."
    assert file.everything() == before


async def test_a_long_removal_stops_when_asked_and_can_be_taken_back(tmp_path: Path, opened: Opened) -> None:
    file = RMemFile(tmp_path / "rustmem.db")
    with closing(sqlite3.connect(file.path)) as connection, connection:
        rows = [(f"{number:032x}", f"tea {number}", vector(1, number)) for number in range(600)]
        connection.executemany("INSERT INTO memories (id, user_id, text, embedding) VALUES (?, 'mila', ?, ?)", rows)
        connection.execute("INSERT INTO memories_fts(rowid, text) SELECT rowid, text FROM memories")
    memory, before, kept, told = await opened(file), file.everything()["memories"], Kept(), Told()
    removal = await memory.remove(await memory.stamps(EVERY.but(contains="tea")), kept, told)
    assert removal.cancelled
    assert 0 < removal.removed < 600
    assert await memory.count() == 600  # Those deleted are in the archive now.
    await memory.revert(kept.last_first, Kept())
    assert file.everything()["memories"] == before
    assert index_is_sound(file)


async def test_a_file_that_cannot_be_written_says_why(file: RMemFile, opened: Opened) -> None:
    """Asked for read-only, with a second name, or held by another program."""
    before = file.everything()
    memory = await opened(file, read_only=True)
    error = await raises(memory.remove(await memory.stamps_of([1]), Kept()), Refused)
    assert "read-only, as asked" in error.message
    os.link(file.path, file.path.with_name("second.db"))
    linked = await opened(file)
    assert "a hard link" in (linked.read_only_because or "")
    await raises(linked.remove(await linked.stamps_of([1]), Kept()), Refused)
    assert file.everything() == before


async def test_a_lock_is_told_and_nothing_happens(
    file: RMemFile, memory: RMemMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "BUSY_SECONDS", 0.1)
    stamps, before = await memory.stamps_of([1]), file.everything()
    with closing(sqlite3.connect(file.path)) as other:
        other.execute("BEGIN IMMEDIATE")
        error = await raises(memory.remove(stamps, Kept()), Locked)
    assert "R-Mem" in str(error)
    assert isinstance(error, InspectorError)
    assert file.everything() == before


async def test_forgetting_by_key_deletes_the_living_memory(file: RMemFile, memory: RMemMemory) -> None:
    assert await memory.forget(BREAD_KEY)
    assert not await memory.forget(BREAD_KEY)
    assert await memory.with_id(BREAD) is None
    await raises(memory.update(BREAD, Edit({"category": "plan"}), "", Kept()), NotFound)
