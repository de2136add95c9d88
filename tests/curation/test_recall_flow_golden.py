"""The agent's recall on a real database of ZeroClaw 0.8.4, against what its own store returned.

Runs when ZEROCLAW_FIXTURES names the folder with the full recordings; the small copy next to the flow's tests serves
otherwise.
"""

from __future__ import annotations

import pytest
from support import golden
from support.opened import opened_memory
from support.replaying import RecordedEmbedder, library_of

from zeroclaw_tui.backends.sqlite.store import SqliteMemory
from zeroclaw_tui.curation.recall import recall_memories
from zeroclaw_tui.memory.recall import RecallRequest
from zeroclaw_tui.scoring.scanner import scan

if golden.IS_WHOLE:

    @pytest.mark.parametrize("embedder", golden.DATABASES)
    async def test_the_agent_at_limit_5_gets_the_unflagged_head_of_the_store_at_limit_20(tmp_path, embedder):
        recorded = golden.runs("0.8.4", "recall_runs")["runs"]
        at_20 = [run for run in recorded if run["limit"] == 20 and run["embed"] == embedder]
        assert len(at_20) > 200
        database = golden.database("0.8.4", golden.DATABASES[embedder], tmp_path)
        async with opened_memory(SqliteMemory(database)) as memory:
            flagged = {entry.id for entry in await memory.list() if scan(entry.content, "on")}
            library = library_of(memory, None if embedder == "none" else RecordedEmbedder(embedder))
            for run in at_20:
                request = RecallRequest(run["query"], 5, run["session"])
                result = await recall_memories(library, library.trial(request, golden.settings_of(run)))
                expected = [found for found in run["results"] if found[0] not in flagged][:5]
                assert [scored.entry.id for scored in result.results] == [found[0] for found in expected], run["query"]
                scores = [found[1] for found in expected]
                assert [scored.score for scored in result.results] == pytest.approx(scores, abs=1e-6)
                assert not result.withheld
