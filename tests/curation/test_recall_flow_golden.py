"""The agent's recall on a real database of ZeroClaw 0.8.4, against what its own store returned.

Runs when ZEROCLAW_FIXTURES names the folder with the full recordings; the small copy next to the flow's tests serves
otherwise.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support import golden
from support.test_embedder import embed

from zeroclaw_tui.backends.sqlite.store import SqliteMemory
from zeroclaw_tui.curation.library import Library, ProfileChoice
from zeroclaw_tui.curation.recall import recall_memories
from zeroclaw_tui.embeddings.base import Embedder
from zeroclaw_tui.memory.recall import RecallRequest
from zeroclaw_tui.scoring.profiles import ScoringSettings, profile_for
from zeroclaw_tui.scoring.scanner import scan

DATABASES = {"none": "brain.db", "hash:64": "brain.db", "dense:64": "brain_dense.db"}


class RecordedEmbedder(Embedder):
    """The embedder the recordings were made with."""

    dimensions = 64

    def __init__(self, name: str) -> None:
        self.name = name

    async def embed(self, text: str) -> np.ndarray:
        return embed(self.name, text)


if golden.IS_WHOLE:

    @pytest.mark.parametrize("embedder", DATABASES)
    async def test_the_agent_at_limit_5_gets_the_unflagged_head_of_the_store_at_limit_20(tmp_path, embedder):
        recorded = golden.runs("0.8.4", "recall_runs")["runs"]
        memory = SqliteMemory(golden.database("0.8.4", DATABASES[embedder], tmp_path))
        await memory.open()
        try:
            at_20 = [run for run in recorded if run["limit"] == 20 and run["embed"] == embedder]
            await _assert_head_of_window(memory, embedder, at_20)
        finally:
            await memory.close()


async def _assert_head_of_window(memory: SqliteMemory, embedder: str, runs: list[dict[str, Any]]) -> None:
    flagged = {entry.id for entry in await memory.list() if scan(entry.content, "on")}
    vectors = None if embedder == "none" else RecordedEmbedder(embedder)
    missing: Any = None
    choice = ProfileChoice(profile_for("0.8.4"), "option")
    library = Library(missing, memory, choice, ScoringSettings(), vectors)
    assert len(runs) > 200
    for run in runs:
        vector_weight, keyword_weight = run.get("weights") or (0.7, 0.3)
        settings = ScoringSettings(vector_weight, keyword_weight, search_mode=run.get("search_mode") or "hybrid")
        request = RecallRequest(run["query"], 5, run["session"])
        result = await recall_memories(library, library.trial(request, settings))
        expected = [found for found in run["results"] if found[0] not in flagged][:5]
        assert [scored.entry.id for scored in result.results] == [found[0] for found in expected], run["query"]
        scores = [found[1] for found in expected]
        assert [scored.score for scored in result.results] == pytest.approx(scores, abs=1e-6)
        assert not result.withheld
