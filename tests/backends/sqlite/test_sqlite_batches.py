"""How many rows one durable batch takes while no other program has the database open."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from support.small_store import make

from zeroclaw_tui.backends.sqlite.store import SqliteMemory
from zeroclaw_tui.memory.change import Change, Row, RowChange
from zeroclaw_tui.testing.tools import JournalRecorder


async def test_an_import_is_recorded_once_for_every_500_rows(tmp_path: Path) -> None:
    times = {"created_at": "2026-03-01T10:00:00+00:00", "updated_at": "2026-03-01T10:00:00+00:00"}
    rows = [
        Row(f"id-{at}", {"id": f"id-{at}", "key": f"k{at}", "content": "text", "category": "core", **times})
        for at in range(1200)
    ]
    recorded: list[int] = []

    class Recorder(JournalRecorder):
        def record(self, changes: Sequence[RowChange]) -> None:
            recorded.append(len(changes))

    memory = SqliteMemory(make(tmp_path / "brain.db", "G2", []))
    await memory.open()
    done = await memory.apply([Change(None, row) for row in rows], Recorder())
    count = await memory.count()
    await memory.close()
    assert (done.done, count, recorded) == (1200, 1200, [500, 500, 200])
