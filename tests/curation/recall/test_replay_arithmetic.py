"""What is decided from every hit equals what the statements of a recall cut."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.replaying import FixedEmbedder, library_of, parts_of, recalled, trial
from support.small_store import AGENT, MOMENT, blob, change, make

from zeroclaw_tui.backends.sqlite.store import SqliteMemory
from zeroclaw_tui.curation.recall import gather_evidence
from zeroclaw_tui.scoring.profiles import LANDMARKS
from zeroclaw_tui.scoring.vectors import VectorIndex

OTHER = "00000000-0000-4000-8000-00000000000f"
FIRST_AGENT = "00000000-0000-4000-8000-000000000000"


@given(
    st.lists(st.lists(st.floats(-3, 3, width=16), min_size=3, max_size=3), min_size=1, max_size=40),
    st.lists(st.floats(-3, 3, width=16), min_size=3, max_size=3),
)
def test_every_cosine_is_the_one_search_gives(vectors: list[list[float]], query: list[float]) -> None:
    index = VectorIndex(3, len(vectors))
    index.append(np.arange(1, len(vectors) + 1), np.array(vectors, dtype=np.float32))
    wanted = np.array(query, dtype=np.float32)
    handles, scores = index.search_all(wanted)
    assert list(zip(handles.tolist(), scores.tolist(), strict=True)) == index.search(wanted, len(vectors))


def _agents_in_turn(at: int) -> str:
    return (AGENT, OTHER, FIRST_AGENT)[at % 3]


@pytest.mark.parametrize("asked", [{"session_id": "s"}, {"agents": ("default", "scout", "first")}, {}])
@pytest.mark.parametrize("query", ["zebra", "tea", "ea"])
async def test_equal_scores_keep_the_order_in_which_sqlite_meets_the_rows(
    asked: dict[str, Any], query: str, tmp_path: Path
) -> None:
    """Nothing but ties: of one session and of none, of three agents, by vector, by words and by the fall-back."""
    rows = [
        {
            "content": "tea",
            "session_id": None if at % 2 else "s",
            "agent_id": _agents_in_turn(at),
            "embedding": None if query == "ea" else blob(1, 0),
            "updated_at": MOMENT.format(at // 4),
        }
        for at in range(24)
    ]
    path = make(tmp_path / "brain.db", "G4", rows)
    for alias, agent in (("scout", OTHER), ("first", FIRST_AGENT)):
        change(path, "INSERT INTO agents (id, alias, created_at) VALUES (?, ?, '')", [agent, alias])
    memory = SqliteMemory(path)
    await memory.open()
    try:
        library = library_of(memory, None if query == "ea" else FixedEmbedder(1, 0))
        for version in LANDMARKS:
            for limit in (1, 3, 5, 20):
                tried = trial(query, version, limit=limit, layer="store", **asked)
                evidence = await gather_evidence(library, tried)
                assert parts_of(await evidence.replayed(tried)) == parts_of(await recalled(library, tried)), tried
    finally:
        await memory.close()
