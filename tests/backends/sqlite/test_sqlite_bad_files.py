"""Every file that is no healthy brain.db gets its own clear sentence and is never changed."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from changed_stores import opened
from support.memories import NOT_REACHABLE, Corrupt, InspectorError, Locked
from support.stores import SqliteMemory, sentences

from zeroclaw_tui.files import database as connections


async def failure(path: Path, *, read_only: bool = False) -> InspectorError:
    memory = SqliteMemory(path, read_only=read_only)
    with pytest.raises(InspectorError) as caught:
        await memory.open()
    assert caught.value.exit_code == NOT_REACHABLE
    assert caught.value.hint
    return caught.value


def made_by(*statements: str) -> Callable[[Path], None]:
    """Return a function that creates a database with these statements."""

    def make(path: Path) -> None:
        with closing(sqlite3.connect(path)) as other:
            for statement in statements:
                other.execute(statement)

    return make


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: None, "There is no file "),
        (os.mkfifo, "not a regular file"),
        (Path.touch, "is empty (0 bytes)"),
        (lambda path: path.write_text("# Long-Term Memory\n" * 100), "is not a SQLite database"),
        (
            made_by("CREATE TABLE articles (id)", 'CREATE TABLE "evil\x1b]0;title\x07" (id)'),
            "no memories table: it has articles",
        ),
        (made_by("CREATE TABLE memories (title, body)"), "it lacks category, content"),
    ],
    ids=["missing", "pipe", "empty", "text", "another program's", "without keys"],
)
async def test_a_file_that_is_no_store_is_identified_and_left_unchanged(make, message, tmp_path):
    make(tmp_path / "brain.db")
    before = list(tmp_path.iterdir())
    error = await failure(tmp_path / "brain.db")
    assert message in error.message
    assert not isinstance(error, Corrupt)
    assert "\x1b" not in str(error)
    assert list(tmp_path.iterdir()) == before


async def test_a_file_without_read_permission_is_reported(make_store, monkeypatch):
    path = make_store()
    monkeypatch.setattr(os, "access", lambda name, mode: mode != os.R_OK)
    error = await failure(path)
    assert "no permission to read" in error.message
    assert "user that runs ZeroClaw" in error.hint


async def test_an_empty_file_next_to_a_log_keeps_the_log(tmp_path):
    """SQLite deletes the log of an empty database when it opens it, so the database is not opened."""
    (tmp_path / "brain.db").touch()
    (tmp_path / "brain.db-wal").write_bytes(b"writes")
    error = await failure(tmp_path / "brain.db")
    assert "brain.db-wal next to it holds writes" in error.message
    assert (tmp_path / "brain.db-wal").read_bytes() == b"writes"


async def test_a_truncated_database_is_reported_as_damaged(make_store, digest):
    path = make_store({"content": "words " * 100} for _ in range(200))
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    before = digest(path)
    error = await failure(path)
    assert isinstance(error, Corrupt)
    assert "is corrupt" in error.message
    assert ".recover" in error.hint
    assert digest(path) == before


async def test_an_exclusive_writer_is_reported_as_a_lock(make_store, monkeypatch):
    path = make_store([{}])
    monkeypatch.setattr(connections, "BUSY_SECONDS", 0.05)
    with closing(sqlite3.connect(path, isolation_level=None)) as writer:
        writer.execute("PRAGMA journal_mode = DELETE")
        writer.execute("BEGIN EXCLUSIVE")
        error = await failure(path)
        writer.execute("ROLLBACK")
    assert isinstance(error, Locked)
    assert "Database is locked" in error.message


@pytest.fixture
def crashed(make_store, tmp_path):
    """A database with the rollback journal of a program that crashed during a write."""
    path = make_store([{"content": "x" * 2000} for _ in range(50)])
    copied = tmp_path / "crashed" / "brain.db"
    copied.parent.mkdir()
    with closing(sqlite3.connect(path, isolation_level=None)) as writer:
        writer.execute("PRAGMA journal_mode = DELETE")
        writer.execute("PRAGMA cache_size = 1")
        writer.execute("BEGIN IMMEDIATE")
        writer.execute("UPDATE memories SET content = content || 'y'")
        shutil.copy(path, copied)
        shutil.copy(f"{path}-journal", f"{copied}-journal")
        writer.execute("ROLLBACK")
    return copied


async def test_an_unfinished_write_is_rolled_back_and_reported(crashed):
    async with opened(crashed) as memory:
        assert any("The unfinished write was rolled back" in notice for notice in sentences(memory.about.notices))
        assert {entry.content for entry in await memory.list()} == {"x" * 2000}
    assert os.listdir(crashed.parent) == ["brain.db"]


async def test_a_read_only_store_leaves_an_unfinished_write_unchanged(crashed, digest):
    before = [digest(file) for file in sorted(crashed.parent.iterdir())]
    error = await failure(crashed, read_only=True)
    assert "ended in the middle of a write" in error.message
    assert [digest(file) for file in sorted(crashed.parent.iterdir())] == before
