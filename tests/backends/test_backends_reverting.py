"""Sets of changes that meet rows which are not as expected."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.small_store import make

from zeroclaw_tui.backends.in_memory import InMemory
from zeroclaw_tui.backends.sqlite.store import SqliteMemory
from zeroclaw_tui.memory.change import Change, Row
from zeroclaw_tui.memory.query import ROWS, Query

WHEN = "2026-01-01T00:00:00+00:00"


def _row(id: str, key: str, content: str) -> Row:
    values: dict[str, Any] = {"id": id, "key": key, "content": content, "category": "core"}
    return Row(id, values | {"created_at": WHEN, "updated_at": WHEN}, None)


@pytest.fixture(params=["sqlite", "in-memory"])
async def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    made = InMemory() if request.param == "in-memory" else SqliteMemory(make(tmp_path / "brain.db", "G2", []))
    await made.open()
    yield made
    await made.close()


async def test_a_key_is_not_free_where_the_row_that_should_leave_it_has_changed(memory: Any) -> None:
    first, second = _row("1", "a", "first"), _row("2", "b", "second")
    await memory.apply([Change(None, first), Change(None, second)], None)
    rows = {row.key: row for row in await memory.rows(Query(ROWS))}
    changed = replace(rows["b"], values={**rows["b"].values, "content": "changed"})
    result = await memory.apply(
        [Change(rows["a"], replace(rows["a"], values={**rows["a"].values, "key": "b"})), Change(changed, None)], None
    )
    assert (result.written, [conflict.reason for conflict in result.conflicts]) == (0, ["key exists", "changed"])
    assert {entry.id: entry.key for entry in await memory.list()} == {"1": "a", "2": "b"}
