"""Changes to a real database leave the same rows as ZeroClaw's own: update, forget, store again."""

from __future__ import annotations

import gzip
import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from changed_stores import opened, select, shape
from support import golden
from support.memories import Draft, Vector
from support.whole_store import hits

from zeroclaw_tui.testing.tools import create

VERSIONS = ("0.1.7", "0.7.5", "0.8.3", "0.8.4")
VARYING = ("id", "created_at", "updated_at")


def recorded(version: str) -> dict[str, Any]:
    folder = golden.FOLDER / version
    plain = folder / "effects.json"
    text = plain.read_bytes() if plain.exists() else gzip.decompress((folder / "effects.json.gz").read_bytes())
    found: dict[str, Any] = json.loads(text)
    return found


def rows(path: Path) -> list[dict[str, Any]]:
    with closing(sqlite3.connect(path)) as connection:
        connection.row_factory = sqlite3.Row
        found = [dict(row) for row in connection.execute("SELECT rowid, * FROM memories ORDER BY rowid")]
    return [row | {"embedding": row["embedding"].hex()} for row in found]


def without(row: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in names}


def of_key(found: list[dict[str, Any]], key: str) -> dict[str, Any]:
    return next(row for row in found if row["key"] == key)


def drafted(row: dict[str, Any]) -> tuple[Draft, Vector]:
    draft = Draft(row["key"], row["content"], row["category"], row["session_id"])
    return draft, Vector(bytes.fromhex(row["embedding"]), "hash", "hash:8")


def index_rows(path: Path) -> list[int]:
    return [number for (number,) in select(path, "SELECT id FROM memories_fts_docsize ORDER BY id")]


@pytest.mark.parametrize("version", VERSIONS)
async def test_storing_forgetting_and_storing_again_leave_the_same_rows_as_zeroclaw(version, tmp_path):
    steps = recorded(version)
    path = golden.database(version, "effect_0_stored.db", tmp_path)
    before = shape(path)
    assert rows(path) == steps["0_stored"]["memories"]
    async with opened(path) as memory:
        updated = steps["1_update_b"]["memories"]
        draft, vector = drafted(of_key(updated, "b"))
        await create(memory, replace(draft, vector=vector), replace=True)
        now = rows(path)
        assert [without(row, "updated_at") for row in now] == [without(row, "updated_at") for row in updated]
        assert of_key(now, "b")["updated_at"] > of_key(steps["0_stored"]["memories"], "b")["updated_at"]

        assert await memory.forget("b") is True
        assert [row["key"] for row in rows(path)] == ["a", "c"]
        assert index_rows(path) == [row["id"] for row in steps["2_forget_b"]["memories_fts_docsize"]]
        assert await memory.forget("b") is False

        again = steps["3_store_b_again"]["memories"]
        draft, vector = drafted(of_key(again, "b"))
        await create(memory, replace(draft, vector=vector))
        now = rows(path)
        stored = of_key(now, "b")
        assert without(stored, *VARYING) == without(of_key(again, "b"), *VARYING)
        assert stored["created_at"] == stored["updated_at"]
        for name in VARYING:
            assert len(stored[name]) == len(of_key(again, "b")[name])
        assert index_rows(path) == [row["id"] for row in steps["3_store_b_again"]["memories_fts_docsize"]]
    assert hits(path, ["updated", "two"]) == {"updated": [], "two": []}
    assert [rowid for rowid, _ in hits(path, ["again"])["again"]] == [stored["rowid"]]
    assert select(path, "PRAGMA integrity_check") == [("ok",)]
    assert shape(path) == before
