"""Stores and trashes in trouble: each is told in one sentence, and what was done can be taken back."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

Run = Callable[..., Any]


def _database(install: Path) -> Path:
    return install / "workspace" / "memory" / "brain.db"


def _execute(database: Path, *statements: str) -> None:
    with closing(sqlite3.connect(database)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


def _rows(database: Path) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(database)) as connection:
        return connection.execute("SELECT rowid, * FROM memories ORDER BY rowid").fetchall()


def _moved(install: Path) -> Path:
    """The same install after ZeroClaw 0.8 has moved its database."""
    database = install / "data" / "memory" / "brain.db"
    database.parent.mkdir(parents=True)
    _execute(_database(install), "PRAGMA wal_checkpoint(TRUNCATE)")
    shutil.move(_database(install), database)
    shutil.rmtree(install / "workspace")
    (install / "config.toml").write_text('schema_version = 3\n[memory]\nbackend = "sqlite"\n')
    return database


def test_a_memory_deleted_before_zeroclaw_moved_the_database_comes_back(memory: Run, install: Path) -> None:
    before = _rows(_database(install))
    memory("forget", "pet", "--yes")
    database = _moved(install)
    assert "--every-store lists them" in memory("trash", "list").out
    (entry,) = memory("trash", "list", "--every-store", "--json").json["entries"]
    assert memory("trash", "restore", str(entry["number"])).code == 0
    assert _rows(database) == before
    assert memory("trash", "list", "--every-store", "--json").json["entries"] == []
    assert memory("redo", "--yes").code == 0
    assert [row for row in before if row not in _rows(database)] == [row for row in before if "pet" in row]


def test_a_memory_of_another_store_that_is_still_there_is_not_put_into_this_one(memory: Run, install: Path) -> None:
    memory("forget", "pet", "--yes")
    kept = install / "workspace" / "memory"
    other = install / "other" / "brain.db"
    other.parent.mkdir()
    shutil.copy(kept / "brain.db", other)
    number = str(memory("trash", "list", "--json").json["entries"][0]["number"])
    done = memory("--backend", "sqlite", "--location", str(other), "trash", "restore", number)
    assert (done.code, done.out) == (1, "")
    assert "deleted from another store" in done.err
    assert memory("trash", "restore", number).code == 0


def test_a_keyword_index_out_of_step_is_named_and_mended_with_yes(memory: Run, install: Path) -> None:
    before = _rows(_database(install))
    _execute(_database(install), "INSERT INTO memories_fts(memories_fts) VALUES ('delete-all')")
    refused = memory("edit", "pet", "--content", "Dog named Rex")
    assert refused.code == 1
    assert "keyword index does not match the memories" in refused.err
    assert _rows(_database(install)) == before
    assert memory("purge", "--category", "core", "--yes").code == 0
    assert memory("undo", "--yes").code == 0
    assert _rows(_database(install)) == before
    _execute(_database(install), "INSERT INTO memories_fts(memories_fts, rank) VALUES ('integrity-check', 1)")
    assert [entry["key"] for entry in memory("recall", "Mio", "--json").json["results"]] == ["pet"]


def test_why_a_store_takes_no_change_is_said_once(memory: Run, install: Path) -> None:
    _execute(_database(install), "DROP TABLE embedding_cache", "CREATE TABLE embedding_cache (content_hash TEXT)")
    assert memory("list").err.count("no ZeroClaw version can open it") == 1
    for verb in (("store", "k", "v"), ("forget", "pet", "--yes"), ("undo", "--yes"), ("clear", "--yes", "--json")):
        refused = memory(*verb)
        assert (refused.code, refused.told) == (1, "")
        assert refused.err.count("no ZeroClaw version can open it") == 1


def test_a_write_that_was_cut_off_is_taken_back_before_anything_else(memory: Run, install: Path) -> None:
    """In 0.1.8's rollback journal a killed writer, this program too, leaves a store that reading alone cannot open."""
    database, hot = _database(install), install / "hot"
    before = _rows(database)
    hot.mkdir()
    with closing(sqlite3.connect(database, isolation_level=None)) as writer:
        writer.execute("PRAGMA journal_mode = DELETE")
        writer.execute("PRAGMA cache_size = 1")
        writer.execute("BEGIN IMMEDIATE")
        writer.execute("UPDATE memories SET content = content || hex(zeroblob(9000))")
        for name in ("brain.db", "brain.db-journal"):
            shutil.copy(database.parent / name, hot / name)
        writer.execute("ROLLBACK")
    for name in ("brain.db", "brain.db-journal"):
        shutil.copy(hot / name, database.parent / name)
    assert memory("--read-only", "list").code == 3
    stored = memory("store", "k", "v")
    assert stored.code == 0
    assert "The unfinished write was rolled back" in stored.err
    assert memory("undo", "--yes").err == ""
    assert _rows(database) == before


def test_changes_are_in_the_database_itself_where_no_other_program_has_it_open(
    memory: Run, install: Path, tmp_path: Path
) -> None:
    """ZeroClaw 0.8 moves the database and leaves the log behind; so does who copies the one file."""
    assert memory("forget", "pet", "--yes").code == 0
    assert memory("edit", "tz", "--content", "Timezone is CET").code == 0
    alone = Path(shutil.copy(_database(install), tmp_path / "alone.db"))
    contents = [row[3] for row in _rows(alone)]
    assert "Cat named Mio" not in contents
    assert "Timezone is CET" in contents
    found = {finding["id"]: finding for finding in memory("doctor", "--json").json["findings"]}
    assert found["log-size"]["title"] == "The write-ahead log is empty."
    target = tmp_path / "other.db"
    assert memory("copy", "--to", "sqlite", "--to-location", str(target), "--yes").code == 0
    assert not target.with_name("other.db-wal").exists()
    assert len(_rows(target)) == len(contents) - 1


def test_beside_a_program_that_has_it_open_the_log_is_left_to_that(memory: Run, install: Path) -> None:
    """Nothing waits, nothing fails, and that program sees the change."""
    database = _database(install)
    with closing(sqlite3.connect(database, isolation_level=None)) as other:
        other.execute("BEGIN")
        before = other.execute("SELECT count(*) FROM memories").fetchone()
        done = memory("forget", "pet", "--yes")
        assert (done.code, done.err) == (0, "")
        assert database.with_name("brain.db-wal").stat().st_size > 0
        assert other.execute("SELECT count(*) FROM memories").fetchone() == before
        other.execute("COMMIT")
        assert other.execute("SELECT count(*) FROM memories").fetchone() == (before[0] - 1,)
