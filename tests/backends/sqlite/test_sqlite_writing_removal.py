"""Removal deletes exactly the memories shown, in small batches, so that an agent can write in between."""

from __future__ import annotations

import sqlite3
from contextlib import closing

from changed_stores import opened
from support.memories import EMBEDDING_CACHE, Row, RowChange
from support.questions import MemoryFilter, Superseded
from support.stores import versions

from zeroclaw_tui.testing.tools import JournalRecorder, delete, undo

EVERY = MemoryFilter(superseded=Superseded.SHOW)


async def test_another_program_writes_between_two_batches(make_store):
    """The other program waits for the lock as ZeroClaw does, at most for one batch."""
    path = make_store([{"content": f"text {at}"} for at in range(1600)])
    written: list[int] = []

    def write(done):
        with closing(sqlite3.connect(path, timeout=0)) as other, other:
            other.execute("UPDATE memories SET content = 'theirs', updated_at = '2027' WHERE id = 'id-1599'")
        written.append(done)
        return True

    async with opened(path) as memory:
        removal = await delete(memory, await versions(memory, EVERY), JournalRecorder(), on_progress=write)
        assert (removal.written, removal.skipped) == (1599, ["id-1599"])
    assert len(written) > 2


async def test_a_cached_vector_removed_by_an_earlier_version_is_left_to_zeroclaw(make_store):
    """The trash may still have change sets with such rows."""
    values = {"content_hash": "2cf24dba5fb0a30e", "embedding": b"\1\2", "created_at": "a", "accessed_at": "b"}
    removed = RowChange(Row("2cf24dba5fb0a30e", values, table=EMBEDDING_CACHE), None)
    async with opened(make_store([{}])) as memory:
        assert "ZeroClaw computes them again" in (await undo(memory, [removed])).notes[0]
