"""A search that a newer one replaces stops, and harms no other."""

from __future__ import annotations

import asyncio
from pathlib import Path

import numpy as np
import pytest
from support import golden
from support.small_store import blob, make
from support.store_recall import recall_of

from zeroclaw_tui.memory.errors import SearchInterrupted
from zeroclaw_tui.memory.recall import RecallRequest
from zeroclaw_tui.scoring.profiles import ScoringSettings, profile_for

PROFILE = profile_for("0.8.4")
SETTINGS = ScoringSettings()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    rows = [{"content": f"rust {at % 97} word{at}", "embedding": blob(at, 1)} for at in range(20_000)]
    for at, row in enumerate(rows):
        row["id"] = f"id-{at}"
    return make(tmp_path / "brain.db", "G4", rows)


async def test_searches_called_off_raise_and_later_ones_answer(path: Path) -> None:
    search = await golden.opened(path)
    vector = np.array([1, 0], dtype=np.float32)
    try:
        for with_vector in (None, vector):
            old = [
                asyncio.ensure_future(recall_of(search, RecallRequest("rust"), PROFILE, SETTINGS, with_vector))
                for _ in range(5)
            ]
            await asyncio.sleep(0)
            search.interrupt()
            newest = await recall_of(search, RecallRequest("word77"), PROFILE, SETTINGS, None)
            assert [scored.entry.key for scored in newest.entries] == ["key77"]
            for outcome in await asyncio.gather(*old, return_exceptions=True):
                assert isinstance(outcome, SearchInterrupted)
        assert (await recall_of(search, RecallRequest("rust"), PROFILE, SETTINGS, vector)).mode == "hybrid"
    finally:
        await search.close()


async def test_a_cancelled_search_stops_and_the_next_one_answers(path: Path) -> None:
    search = await golden.opened(path)
    try:
        task = asyncio.ensure_future(recall_of(search, RecallRequest("rust"), PROFILE, SETTINGS, None))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        found = await recall_of(search, RecallRequest("word77"), PROFILE, SETTINGS, None)
        assert [scored.entry.key for scored in found.entries] == ["key77"]
    finally:
        await search.close()


async def test_closing_ends_searches_and_loading(path: Path) -> None:
    search = await golden.opened(path)
    vector = np.array([1, 0], dtype=np.float32)
    waiting = asyncio.ensure_future(recall_of(search, RecallRequest("rust"), PROFILE, SETTINGS, vector))
    await asyncio.sleep(0)
    await search.close()
    (outcome,) = await asyncio.gather(waiting, return_exceptions=True)
    assert isinstance(outcome, SearchInterrupted)
    with pytest.raises(SearchInterrupted):
        await recall_of(search, RecallRequest("rust"), PROFILE, SETTINGS, None)
