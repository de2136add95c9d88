"""`memory doctor --compact`: says what it would do, refuses next to another program, and makes the file small."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]


@pytest.fixture
def database(install: Path) -> Path:
    """Much was deleted from it."""
    path = install / "workspace" / "memory" / "brain.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500) INSERT INTO memories (id, "
            "key, content, created_at, updated_at) SELECT 'g' || i, 'g' || i, replace(hex(zeroblob(800)), '00', "
            "'gone '), '2026-01-01', '2026-01-01' FROM n"
        )
        connection.execute("DELETE FROM memories WHERE id GLOB 'g[0-9]*'")
    return path


def test_as_json(memory: Run, database: Path) -> None:
    before = database.stat().st_size
    planned = memory("doctor", "--compact", "--dry-run", "--json").json
    assert (planned["dry_run"], planned["before"], planned["after"]) == (True, before, None)
    assert planned["free"] > before / 2
    assert database.stat().st_size == before
    done = memory("doctor", "--compact", "--yes", "--json").json
    assert (done["dry_run"], done["before"]) == (False, before)
    assert done["after"] == database.stat().st_size
    assert Path(done["backup"]).is_file()


def test_next_to_another_program_it_is_not_done(memory: Run, database: Path) -> None:
    before = database.stat().st_size
    with closing(sqlite3.connect(database)) as other:
        other.execute("SELECT count(*) FROM memories").fetchone()
        answer = memory("doctor", "--compact", "--yes")
        planned = memory("doctor", "--compact", "--dry-run")
    assert answer.code == 3
    assert f"{database} is open in " in answer.err
    assert "then do it again" in answer.err
    assert planned.code == 3
    assert "Close it there first." in planned.out
    assert database.stat().st_size == before
