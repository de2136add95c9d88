"""How R-Mem's files are recognised and opened, and which files are refused."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing

import pytest
from support.memories import Corrupt, Unreadable
from support.questions import EVERYTHING, EXCERPTS, MemoryFilter, Query, Sort, SortField, Superseded
from support.rmem_file import BEES, BREAD, BREAD_KEY, WHITE_KEY, create_milas_store, vector
from support.small_store import make
from support.stores import count_facets, entry_with_id, sentences

from zeroclaw_tui.backends.factory import backend_of_file
from zeroclaw_tui.backends.rmem import RMemMemory
from zeroclaw_tui.testing.tools import entries_of, raises


@pytest.mark.parametrize("version", ["0.2.x", "0.3.0"])
async def test_each_version_is_recognised_by_its_tables(tmp_path, opened, version):
    file = create_milas_store(tmp_path / "any name at all", version)
    assert backend_of_file(file.path) == "rmem"
    memory = await opened(file)
    assert version in sentences(memory.about.notices)[0]
    bees = await entry_with_id(memory, BEES)
    assert bees.category == ("personal" if version == "0.3.0" else "misc")


async def test_rows_of_all_tables_are_memories(memory):
    """Current texts are memories, earlier texts are superseded by them, and relations have their own kind."""
    entries = {entry.key: entry for entry in (await entries_of(memory, EVERYTHING))}
    bread, white = entries[BREAD_KEY], entries[WHITE_KEY]
    assert (bread.id, bread.timestamp, bread.embedding_dimensions) == (BREAD, "2026-04-11 09:00:00", 3)
    assert (white.content, white.superseded_by, white.kind) == ("Mila prefers white bread", BREAD, "archive:superseded")
    relation = next(entry for entry in entries.values() if entry.kind == "semantic:relation")
    assert (relation.content, relation.namespace) == ("Mila sells Honey", "mila")
    assert relation.key.startswith("rmem_rel_")
    assert len(entries) == await memory.count() == 4
    assert [entry.key for entry in (await entries_of(memory, MemoryFilter(superseded=Superseded.ONLY)))] == [WHITE_KEY]
    facets = await count_facets(memory, MemoryFilter(), "2026-11-21T12:00:00+00:00")
    assert facets.by.get("namespace") == {"mila": 3}
    assert facets.by["category"] == {"personal": 1, "preference": 1, "relation": 1}


async def test_a_deleted_text_is_hidden_with_its_reason(file, memory):
    file.delete(BEES)
    assert [entry.content for entry in await memory.list() if entry.kind is None] == ["Mila prefers rye bread"]
    deleted = await memory.get("rmem_0b0e7c1e0000_deleted")
    assert (deleted.kind, deleted.superseded_by) == ("archive:deleted", "")


async def test_the_history_and_relations_of_a_memory_are_shown(file, memory):
    file.run(
        "INSERT INTO history (memory_id, action, old_text, new_text, created_at) VALUES (?, 'UPDATE', 'white', 'rye', "
        "'2026-04-11 10:00:00')",
        BREAD,
    )
    sentence = await memory.history(BREAD)
    assert [(past.action, past.old, past.new) for past in sentence] == [
        ("ADD", None, "Mila prefers rye bread"), ("UPDATE", "white", "rye")
    ]  # fmt: skip
    bread, white = await memory.get(BREAD_KEY), await memory.get(WHITE_KEY)
    assert bread is not None
    assert await memory.history(white.id) == sentence
    related = await memory.related(bread)
    assert next(entry.key for entry in related) == WHITE_KEY
    (relation,) = [entry for entry in related if entry.kind == "semantic:relation"]
    assert BREAD_KEY in [entry.key for entry in await memory.related(relation)]
    assert BREAD_KEY in [entry.key for entry in await memory.related(white)]


async def test_writes_of_another_program_are_seen(file, memory):
    before = await memory.version()
    file.add("a" * 32, "mila", "Mila bakes", vector(1, 1, 1), at="2026-05-01 09:00:00")
    assert await memory.version() != before
    newest, *_ = await memory.rows(Query(EXCERPTS, sort=Sort(SortField.STORED), limit=1))
    assert newest.content == "Mila bakes"
    os.replace(create_milas_store(file.path.with_name("other.db"), "0.2.x").path, file.path)
    for side in ("-wal", "-shm"):
        file.path.with_name(file.path.name + side).unlink(missing_ok=True)
    assert [entry.content for entry in await memory.list()][-1] == "Mila keeps bees on the roof"
    assert "0.2.x" in sentences(memory.about.notices)[0]


async def test_only_plain_tables_of_the_file_itself_are_read(tmp_path):
    """A view, ZeroClaw's own database, a truncated file and a file that is no database are refused with a sentence."""
    view = tmp_path / "view.db"
    with closing(sqlite3.connect(view)) as connection:
        connection.executescript(
            "CREATE VIEW memories AS SELECT '1' AS id, 'u' AS user_id, 't' AS text, NULL AS embedding;"
            "CREATE TABLE history (memory_id, action, old_text, new_text);"
            "CREATE TABLE relations (user_id, source, relation, destination, valid);"
        )
    make(tmp_path / "brain.db", "G2", [{"key": "tea", "content": "Likes tea"}])
    whole = create_milas_store(tmp_path / "whole.db")
    whole.run("PRAGMA wal_checkpoint(TRUNCATE)")
    (tmp_path / "short.db").write_bytes(whole.path.read_bytes()[:-8192])
    (tmp_path / "text.db").write_text("no database")
    os.mkfifo(tmp_path / "pipe.db")
    said = {
        "view.db": "is not an R-Mem database", "brain.db": "is not an R-Mem database",
        "short.db": "Database is corrupt", "text.db": "is not a SQLite database",
        "pipe.db": "is not a regular file", "nothing.db": "There is no file",
    }  # fmt: skip
    for name, words in said.items():
        assert backend_of_file(tmp_path / name) is None
        error = await raises(RMemMemory(tmp_path / name).open(), Corrupt if name == "short.db" else Unreadable)
        assert words in error.message, name
