"""A search that a newer one replaces stops, and harms no other."""

from __future__ import annotations

import asyncio
from pathlib import Path

import numpy as np
import pytest
from support import golden
from support.small_store import blob, make

from zeroclaw_tui.memory.errors import SearchInterrupted
from zeroclaw_tui.memory.recall import RecallRequest
from zeroclaw_tui.scoring.profiles import ScoringSettings, profile_for
from zeroclaw_tui.testing.tools import recall_of

PROFILE = profile_for("0.8.4")
SETTINGS = ScoringSettings()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    rows = [{"content": f"rust {at % 97} word{at}", "embedding": blob(at, 1)} for at in range(4_000)]
    for at, row in enumerate(rows):
        row["id"] = f"id-{at}"
    return make(tmp_path / "brain.db", "G4", rows)


async def test_closing_ends_searches_and_loading(path: Path) -> None:
    memory = await golden.opened(path)
    vector = np.array([1, 0], dtype=np.float32)
    waiting = asyncio.ensure_future(recall_of(memory, RecallRequest("rust"), PROFILE, SETTINGS, vector))
    await asyncio.sleep(0)
    await memory.close()
    (outcome,) = await asyncio.gather(waiting, return_exceptions=True)
    assert isinstance(outcome, SearchInterrupted)
