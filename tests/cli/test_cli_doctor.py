"""`memory doctor`: findings for people and scripts, repairs that ask first, exit code 1 for what is serious."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from support import small_store
from support.commands import Command


@pytest.fixture
def broken(install: Path) -> Path:
    """Its triggers are missing, and a command of this program was killed once."""
    with closing(sqlite3.connect(install / "workspace" / "memory" / "brain.db")) as connection:
        connection.execute("DROP TRIGGER memories_au")
    return install


def test_a_damaged_keyword_index_is_rebuilt(memory: Command, install: Path) -> None:
    before = memory("list", "--json").json
    small_store.damage(install / "workspace" / "memory" / "brain.db", "memories_fts_data")
    for verb in (("recall", "Rust"), ("store", "pet2", "Dog named Rex")):
        refused = memory(*verb)
        assert refused.code == 3
        assert "`zeroclaw memory doctor` repairs a damaged keyword index." in refused.err
    answer = memory("doctor", "--repair", "keyword-index", "--yes")
    assert answer.code == 0
    assert "The backup is " in answer.out
    assert "✓ The database has ZeroClaw's own tables, index and triggers again" in answer.out
    assert memory("doctor", "--deep").code == 0
    assert memory("list", "--json").json == before
    assert "Rust" in memory("recall", "Rust").out


def test_a_store_that_does_not_open_is_serious(memory: Command, install: Path) -> None:
    database = install / "workspace" / "memory" / "brain.db"
    database.write_bytes(b"no database" * 1000)
    (install / "workspace" / "MEMORY_SNAPSHOT.md").write_text("# snapshot\n")
    answer = memory("doctor")
    assert answer.code == 1
    assert "is not a SQLite database" in answer.out
    assert "zeroclaw memory hydrate" in " ".join(answer.out.split())
    assert memory("doctor", "--json").json["findings"][0]["id"] == "not-open"


def test_read_only_refuses_repairs(memory: Command, broken: Path) -> None:
    answer = memory("doctor", "--repair", "triggers", "--yes", "--read-only")
    assert answer.code == 1
    assert "read-only" in answer.err
