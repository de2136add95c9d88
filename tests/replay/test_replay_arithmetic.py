"""The parts that replay works out over arrays equal those that recall works out row by row."""

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
from zeroclaw_tui.curation.evidence import gather_evidence
from zeroclaw_tui.scoring.fusion import fuse
from zeroclaw_tui.scoring.profiles import LANDMARKS, profile_for
from zeroclaw_tui.scoring.replaying.fused import fused
from zeroclaw_tui.scoring.replaying.stages import StageHits
from zeroclaw_tui.scoring.settings import ScoringSettings
from zeroclaw_tui.scoring.vectors import VectorIndex

OTHER = "00000000-0000-4000-8000-00000000000f"
FIRST_AGENT = "00000000-0000-4000-8000-000000000000"
SCORES = st.floats(0, 50, width=32) | st.sampled_from((0.0, 0.5, 1.0, 2.0**-24))
HITS = st.lists(st.tuples(st.integers(0, 14), SCORES), unique_by=lambda hit: hit[0], max_size=15).map(
    lambda hits: sorted(hits, key=lambda hit: -hit[1])
)
WEIGHTS = st.floats(width=32, allow_nan=False) | st.sampled_from((0.0, 0.3, 0.7))


def _stage(hits: list[tuple[int, float]]) -> StageHits:
    places = np.zeros(15, dtype=np.int64)
    for place, (row, _) in enumerate(hits, 1):
        places[row] = place
    rows = np.array([row for row, _ in hits], dtype=np.int64)
    return StageHits(rows, np.array([score for _, score in hits], dtype=np.float32), places)


@given(HITS, HITS, st.permutations(range(15)), st.sampled_from(LANDMARKS), WEIGHTS, WEIGHTS, st.integers(1, 15))
def test_fusion_over_arrays_is_the_fusion_of_recall(
    keyword: list[tuple[int, float]],
    vector: list[tuple[int, float]],
    ranks: list[int],
    version: str,
    vector_weight: float,
    keyword_weight: float,
    count: int,
) -> None:
    profile, numbers = profile_for(version), ScoringSettings(vector_weight, keyword_weight)
    ids = {row: f"{rank:02d}" for row, rank in enumerate(ranks)}
    expected = fuse(keyword[:count], vector[:count], ids, profile, numbers, 1000)
    found = fused(_stage(keyword), _stage(vector), count, np.array(ranks), profile, numbers)
    rows = found.candidates(np.arange(len(found.positions)), np.arange(15))
    assert repr(list(rows)) == repr(expected)


@given(
    st.lists(st.lists(st.floats(-3, 3, width=16), min_size=3, max_size=3), min_size=1, max_size=40),
    st.lists(st.floats(-3, 3, width=16), min_size=3, max_size=3),
)
def test_every_cosine_is_the_one_search_gives(vectors: list[list[float]], query: list[float]) -> None:
    index = VectorIndex(3, len(vectors))
    for at, vector in enumerate(vectors):
        index.append(at + 1, blob(*vector))
    wanted = np.array(query, dtype=np.float32)
    handles, scores = index.search_all(wanted, lambda: None)
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
