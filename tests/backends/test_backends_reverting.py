"""Bringing rows to a state with "skip": what is in the way stays, the rest is done."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from support.small_store import make

from zeroclaw_tui.backends.in_memory import InMemory
from zeroclaw_tui.backends.sqlite.store import SqliteMemory
from zeroclaw_tui.memory.change import RowChange, StoredRow

WHEN = "2026-01-01T00:00:00+00:00"


def _row(id: str, key: str, content: str) -> StoredRow:
    values: dict[str, Any] = {"id": id, "key": key, "content": content, "category": "core"}
    return StoredRow(id, values | {"created_at": WHEN, "updated_at": WHEN}, None)


@pytest.fixture(params=["sqlite", "in-memory"])
async def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    made = InMemory() if request.param == "in-memory" else SqliteMemory(make(tmp_path / "brain.db", "G2", []))
    await made.open()
    yield made
    await made.close()


async def test_what_is_in_the_way_is_left_out_and_not_counted(memory: Any) -> None:
    kept: list[RowChange] = []

    async def bring(*changes: RowChange) -> int:
        def batches() -> Iterator[Sequence[RowChange]]:
            for change in changes:
                yield [change]

        return int((await memory.revert(batches, kept.extend, clash="skip")).reverted)

    first, second = _row("1", "a", "first"), _row("2", "b", "second")
    assert await bring(RowChange(first, None), RowChange(second, None)) == 2
    kept.clear()
    of_its_key, of_its_id, new = _row("3", "a", "other"), _row("2", "c", "other"), _row("4", "d", "new")
    assert await bring(*(RowChange(row, None) for row in (of_its_key, of_its_id, new))) == 1
    changed_meanwhile = RowChange(None, _row("1", "a", "what it was"))
    assert await bring(changed_meanwhile) == 0
    assert {entry.key: entry.content for entry in await memory.list()} == {"a": "first", "b": "second", "d": "new"}
    assert [change.row.id for change in kept] == ["4"]
