"""Every failure of a write has its sentence, and no write is half done."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing

import pytest
from changed_stores import GENERATIONS, opened, select, shape
from support import small_store
from support.memories import Corrupt, DiskFull, Draft, Locked, Refused, Unreadable
from support.questions import MemoryFilter
from support.stores import require_database, row_with_id, versions, versions_at
from support.whole_store import everything, hits

from zeroclaw_tui.backends.sqlite import write
from zeroclaw_tui.files import database as connections
from zeroclaw_tui.testing.tools import JournalRecorder, create, delete, edit, undo

MIGRATION = ("kind TEXT", "pinned INTEGER NOT NULL DEFAULT 0", "tenant_id TEXT")


async def fails(memory, kind, match):
    """Check that a store, an edit and a removal fail with this error and change and journal nothing."""
    before, journal = everything(memory.path), JournalRecorder()
    row = await row_with_id(memory, "id-000")
    stamps = await versions(memory, MemoryFilter())
    for action in (
        lambda: create(memory, Draft("new", "words " * 2000), journal),
        lambda: edit(memory, row, {"content": "words " * 2000}, journal),
        lambda: delete(memory, stamps, journal),
    ):
        with pytest.raises(kind, match=match) as caught:
            await action()
    assert everything(memory.path) == before
    return caught.value


async def test_a_lasting_lock_is_reported(make_store, monkeypatch):
    path = make_store([{}])
    monkeypatch.setattr(connections, "BUSY_SECONDS", 0.02)
    async with opened(path) as memory:
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            error = await fails(memory, Locked, "Database is locked")
            assert "Nothing was changed." in error.hint
            other.execute("ROLLBACK")
        await create(memory, Draft("k", "c"))


async def test_an_error_in_a_later_batch_says_what_was_done_before(make_store, monkeypatch):
    path = make_store([{"content": f"text {at}"} for at in range(1200)])
    monkeypatch.setattr(connections, "BUSY_SECONDS", 0.02)
    journal = JournalRecorder()
    async with opened(path) as memory:
        with closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as other:

            def lock(done):
                other.execute("BEGIN IMMEDIATE")
                return True

            with pytest.raises(Locked) as caught:
                await delete(memory, await versions(memory, MemoryFilter()), journal, on_progress=lock)
            other.execute("ROLLBACK")
        assert f"{len(journal.changes)} rows were done before" in caught.value.hint
        assert await memory.count() == 1200 - len(journal.changes)


@pytest.mark.parametrize(
    ("name", "kind", "match"),
    [
        ("SQLITE_READONLY_DBMOVED", Refused, "no permission to write"),
        ("SQLITE_IOERR_WRITE", Unreadable, "cannot be written because of a disk error"),
        ("SQLITE_CORRUPT", Corrupt, "is corrupt"),
        ("SQLITE_CORRUPT_VTAB", Corrupt, "index does not match the memories"),
        ("SQLITE_FULL", DiskFull, "the disk is full"),
        ("SQLITE_NOTADB", Unreadable, "not a SQLite database"),
    ],
)
async def test_each_sqlite_error_has_its_sentence(name, kind, match, make_store, monkeypatch):
    def failing(path, *, zero):
        error = sqlite3.OperationalError("in SQLite's words")
        error.sqlite_errorname = name
        raise error

    async with opened(make_store([{}])) as memory:
        monkeypatch.setattr(write, "connect_to_write", failing)
        error = await fails(memory, kind, match)
        assert error.hint.startswith("Nothing was changed.")


async def test_a_violated_table_constraint_is_reported_in_words(make_store):
    path = make_store([{"content": "c"}])
    small_store.change(path, "CREATE UNIQUE INDEX theirs ON memories(content)")
    journal, before = JournalRecorder(), everything(path)
    async with opened(path) as memory:
        with pytest.raises(Refused, match=r"refuses this change: UNIQUE constraint failed: memories\.content"):
            await create(memory, Draft("k", "c"), journal)
    assert (journal.changes, everything(path)) == ([], before)


@pytest.mark.parametrize("generation", GENERATIONS)
@pytest.mark.parametrize("lost", ["memories_ai", "memories_ad", "memories_au"])
async def test_a_missing_trigger_stops_every_write_until_it_is_repaired(generation, lost, make_store):
    path = make_store([{"content": "alpha"}], generation)
    made = shape(path)
    small_store.change(path, f"DROP TRIGGER {lost}")
    small_store.add(path, [{"content": "bravo"}], start=1)
    async with opened(path) as memory:
        error = await fails(memory, Refused, lost)
        assert "doctor --repair all" in error.hint
        await require_database(memory).repair()
        assert shape(path) == made
        found = hits(path, ["alpha", "bravo"])
        assert [[rowid for rowid, _ in found[word]] for word in found] == [[1], [2]]
        await create(memory, Draft("k", "charlie"))
        assert len(hits(path, ["charlie"])["charlie"]) == 1


@pytest.mark.parametrize("action", ["create", "update", "remove", "revert"])
async def test_a_file_migrated_by_zeroclaw_is_written_in_its_new_schema(action, make_store):
    path = make_store([{"content": "alpha"}, {"content": "bravo"}], "G3")
    journal, removed = JournalRecorder(), JournalRecorder()
    async with opened(path) as memory:
        await delete(memory, await versions_at(memory, [2]), removed)
        row, stamps = await row_with_id(memory, "id-000"), await versions_at(memory, [1])
        for column in MIGRATION:
            small_store.change(path, f"ALTER TABLE memories ADD COLUMN {column}")
        match action:
            case "create":
                await create(memory, Draft("k", "c"), journal)
                assert journal.changes[0].after.values["pinned"] == 0
            case "update":
                assert (await edit(memory, row, {"content": "new"}, journal)).rows[0].values["pinned"] == 0
            case "remove":
                assert (await delete(memory, stamps, journal)).written == 1
            case "revert":
                assert (await undo(memory, removed.changes[::-1], journal)).done == 1
                assert (await row_with_id(memory, "id-001")).values["pinned"] == 0
        assert memory.about.generation == "G4"


async def test_a_file_whose_schema_became_unknown_is_refused(make_store):
    path = make_store([{}])
    async with opened(path) as memory:
        small_store.change(path, "ALTER TABLE memories DROP COLUMN tenant_id")
        with pytest.raises(Refused, match="lacks tenant_id"):
            await create(memory, Draft("k", "c"))
        assert "write" in memory.why_not


@pytest.mark.parametrize(
    ("forbidden", "match"),
    [
        (lambda path: path.parent, "write to the directory "),
        (lambda path: path, "write to .*brain.db\\."),
        (lambda path: path.with_name("brain.db-wal"), "write to .*brain.db-wal"),
    ],
    ids=["folder", "file", "log"],
)
async def test_a_path_that_this_user_may_not_write_is_named(forbidden, match, make_store, monkeypatch):
    path = make_store([{}])
    with closing(sqlite3.connect(path)) as other:
        other.execute("UPDATE memories SET content = 'x'")
        other.commit()
        monkeypatch.setattr(os, "access", lambda name, mode: not (mode & os.W_OK and name == forbidden(path)))
        async with opened(path) as memory:
            assert "write" in memory.why_not
            assert memory.why_not["write"]
            with pytest.raises(Refused, match=match):
                await memory.store("k", "c", "core")
            with pytest.raises(Refused, match=match):
                await require_database(memory).repair()


async def test_a_database_keeps_its_rollback_journal_mode(make_store):
    path = make_store([{"content": "alpha"}])
    with closing(sqlite3.connect(path)) as other:
        other.execute("PRAGMA journal_mode = DELETE")
    async with opened(path) as memory:
        await create(memory, Draft("k", "c"))
        await delete(memory, await versions(memory, MemoryFilter()), JournalRecorder(), permanently=True)
    assert select(path, "PRAGMA journal_mode") == [("delete",)]
    assert not path.with_name("brain.db-wal").exists()
