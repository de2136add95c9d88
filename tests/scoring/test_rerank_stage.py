"""The rerank stage of ZeroClaw >= 0.8.4: blend, duplicates, MMR and limits."""

from __future__ import annotations

from typing import Any

import pytest
from support.memories import MemoryEntry
from support.questions import UNLIMITED, RecallRequest, ScoredEntry
from support.replaying import AS_OF
from support.rules import RerankSettings, ScoringSettings, Trial, profile_for

from zeroclaw_tui.scoring.injection import in_prompt_order, judge, pool_size

ON = RerankSettings(enabled=True)


def trial(rerank: RerankSettings = ON, threshold: float = 0.0, version: str = "0.8.4", **asked: Any) -> Trial:
    request = RecallRequest("tea", **({"as_of": AS_OF} | asked))
    return Trial(request, profile_for(version), ScoringSettings(threshold=threshold, rerank=rerank))


def pool(*rows: tuple[str, str, float], **fields: Any) -> list[ScoredEntry]:
    """Return core memories without importance, by key, content and score."""
    return [
        ScoredEntry(
            MemoryEntry(id=key, key=key, content=content, category="core", timestamp=AS_OF, **fields), at, score
        )
        for at, (key, content, score) in enumerate(rows, 1)
    ]


def order(judged: tuple[ScoredEntry, ...]) -> list[str]:
    return [scored.entry.key for scored in in_prompt_order(judged)]


def reasons(judged: tuple[ScoredEntry, ...]) -> dict[str, str | None]:
    return {scored.entry.key: scored.not_injected_because for scored in judged}


def test_entries_below_the_threshold_do_not_count_and_the_rest_is_cut() -> None:
    judged = judge(
        pool(("a", "one", 0.9), ("low", "two", 0.1), ("b", "three", 0.8), ("c", "four", 0.7)),
        trial(threshold=0.4, limit=2),
    )
    assert order(judged) == ["a", "b"]
    assert reasons(judged)["low"] == "threshold 0.17 < 0.40 after rerank from 0.10"
    assert reasons(judged)["c"] == "rerank: rank 3 of the reranked, and only the first 2 pass"


def test_no_version_before_0_8_4_reranks() -> None:
    rows = pool(("a", "tea", 0.9), ("b", "tea", 0.8))
    assert order(judge(rows, trial(version="0.8.3", limit=5))) == ["a", "b"]
    assert order(judge(rows, trial(limit=5))) == ["a"]


@pytest.mark.parametrize(
    ("limit", "multiplier", "recalled"),
    [(5, 4, 20), (5, 1, 5), (5, 0, 5), (300, 4, 1024), (2000, 4, 1024), (UNLIMITED, 1, 1024)],
)
def test_the_pool_is_a_multiple_of_the_limit_up_to_1024(limit: int, multiplier: int, recalled: int) -> None:
    assert pool_size(trial(ON._replace(candidate_multiplier=multiplier), limit=limit)) == recalled
    assert pool_size(trial(ON._replace(enabled=False), limit=limit)) == limit
