"""R-Mem's database passes the store contract for reading."""

from __future__ import annotations

from collections.abc import Collection

import pytest
from support.memories import sample_entries
from support.questions import RecallRequest
from support.rmem_file import create_with_contents, vector
from support.rules import NEWEST, ScoringSettings, Trial, profile_for

from zeroclaw_tui.backends.rmem import RMemMemory
from zeroclaw_tui.scoring.decide import answer, can_decide, decide, store_recall
from zeroclaw_tui.testing.contract import MemoryContract, ReadOnlyContract

ARCHIVED, RELATION = "An earlier text of the twin", "Mila sells Honey"


@pytest.fixture
async def memory(tmp_path, opening):
    """The samples with whole seconds, an archived text and a relation."""
    file = create_with_contents(
        tmp_path / "rustmem.db", [(entry.id, entry.content, entry.category) for entry in sample_entries()]
    )
    file.run(
        "INSERT INTO archive VALUES ('gone', 'mila', ?, ?, 'DELETED', NULL, '2026-10-05 09:00:00', "
        "'2026-10-04 09:00:00')",
        ARCHIVED, vector(0, 0, 1),
    )  # fmt: skip
    file.relate("mila", "Mila", "sells", "Honey")
    return await opening(RMemMemory(file.path))


class TestReading(MemoryContract):
    def expected(self) -> Collection[str]:
        return [*(entry.content for entry in sample_entries()), ARCHIVED, RELATION]

    async def test_evidence_gathered_once_decides_the_recall_of_every_limit(self, memory):
        """The evidence decides only the recall of its own limit: the keyword stage selects others for another limit."""
        profile, numbers = profile_for(NEWEST), ScoringSettings()
        for query in (*self.words, "", "mila"):
            for limit in (1, 5):
                request = RecallRequest(
                    query, limit, layer="store", turn_limit=limit, as_of="2026-11-21T12:00:00+00:00"
                )
                trial = Trial(request, profile, numbers)
                evidence = await memory.search(trial, deep=True)
                decided = answer(decide([evidence], trial), {})
                assert list(decided.results) == list(store_recall(await memory.search(trial), trial).entries)
                other = Trial(RecallRequest(query, limit + 1, layer="store"), profile, numbers)
                assert not can_decide([evidence], other)


class TestCapabilities(ReadOnlyContract):
    pass
