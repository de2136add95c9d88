"""Recalls replayed on evidence that was gathered once."""

from __future__ import annotations

from support.opened import opened_memory
from support.replaying import library_of, trial
from support.small_store import blob, change, make

from zeroclaw_tui.backends.sqlite.store import SqliteMemory
from zeroclaw_tui.curation.recall import gather_evidence


async def test_a_row_deleted_in_the_meantime_is_left_out(tmp_path):
    rows = [{"content": f"rust number{at}", "embedding": blob(at, 1)} for at in range(40)]
    path = make(tmp_path / "brain.db", "G4", rows)
    async with opened_memory(SqliteMemory(path)) as memory:
        evidence = await gather_evidence(library_of(memory), trial("number7 rust", limit=40))
        change(path, "DELETE FROM memories WHERE key = 'key7'")
        result = await evidence.replay(trial("number7 rust", limit=40))
    assert "key7" not in [scored.entry.key for scored in result.results]
    assert [scored.rank for scored in result.results] == list(range(1, 40))
