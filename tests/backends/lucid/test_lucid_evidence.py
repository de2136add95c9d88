"""What a recall of the bridge can be decided from: the database's stages, or lucid's answer where it takes part."""

from __future__ import annotations

from pathlib import Path

import pytest
from lucid_samples import OpenBridge
from support.lucid_program import write_program
from support.replaying import library_of, parts_of, recalled, trial

from zeroclaw_tui.curation.recall import gather_evidence
from zeroclaw_tui.scoring.evidence import OwnEvidence, StageEvidence
from zeroclaw_tui.scoring.profiles import ScoringSettings
from zeroclaw_tui.testing.tools import entries_at

TEA = [{"key": f"tea{number}", "content": f"tea of kind {number}"} for number in range(4)]
LUCID = [("decision", "tea: green"), ("bug", "tea spilt")]
ALL = ScoringSettings(threshold=0.0)


@pytest.mark.parametrize("limit", [1, 3, 20])
async def test_where_the_database_finds_enough_its_stages_decide(
    bridge: OpenBridge, tmp_path: Path, limit: int
) -> None:
    memory = await bridge(write_program(tmp_path / "bin", memories=LUCID), TEA)
    library, tried = library_of(memory), trial("tea", "0.7.5", ALL, limit=limit)
    evidence = await gather_evidence(library, tried)
    assert isinstance(evidence.evidence[0], StageEvidence)
    assert parts_of(await evidence.replay(tried))[:4] == parts_of(await recalled(library, tried))[:4]


async def test_where_lucid_takes_part_its_answer_is_judged_again(bridge: OpenBridge, tmp_path: Path) -> None:
    """Another threshold is decided on it, another limit is another question; lucid's rows can be asked about."""
    program = write_program(tmp_path / "bin", memories=LUCID)
    memory = await bridge(program, TEA[:1])
    library, tried = library_of(memory), trial("tea", "0.7.5", ALL)
    evidence = await gather_evidence(library, tried)
    assert isinstance(evidence.evidence[0], OwnEvidence)
    result = await evidence.replay(tried)
    asked = len(program.calls)
    assert [(scored.entry.key, scored.injected) for scored in result.results] == [
        ("tea0", True), ("lucid_0", True), ("lucid_1", True),
    ]  # fmt: skip
    strict = trial("tea", "0.7.5", ScoringSettings(threshold=0.97))
    assert [scored.injected for scored in (await evidence.replay(strict)).results] == [False, True, False]
    assert (await evidence.placement(strict, result.results[2].entry)).stopped_at == "threshold"
    assert not evidence.serves(trial("tea", "0.7.5", ALL, limit=2))
    assert len(program.calls) == asked
    rows = await entries_at(memory, [scored.entry.handle for scored in result.results])
    assert [row.content for row in rows] == [scored.entry.content for scored in result.results]
