"""Keyword and vector hits are fused into one list."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from support.fusing import fuse, fusion_of
from support.questions import ScoredEntry
from support.rules import Hit, ScoringSettings, float32, profile_for

IDS = {1: "x", 2: "y", 3: "z"}
WEIGHTS = ScoringSettings(0.7, 0.3)
SCORES = st.floats(0, 1, width=32)
RAW = st.floats(0, 50, width=32)
HITS = st.dictionaries(st.integers(0, 30), SCORES, max_size=12).map(lambda found: list(found.items()))
RAW_HITS = st.dictionaries(st.integers(0, 30), RAW, max_size=12).map(lambda found: list(found.items()))


def _scores(found: list[ScoredEntry]) -> list[tuple[str, float]]:
    return [(IDS[int(candidate.entry.handle)], round(candidate.score or 0.0, 6)) for candidate in found]


def test_keyword_only_scores_are_raw_up_to_0_8_3_and_relative_from_0_8_4_on() -> None:
    keyword = [(1, 4.0), (2, 1.0)]
    old = fuse(keyword, [], {}, profile_for("0.8.3"), WEIGHTS, 1)
    new = fuse(keyword, [], {}, profile_for("0.8.4"), WEIGHTS, 1)
    assert [(candidate.score, candidate.keyword_score) for candidate in old] == [(4.0, 1.0), (1.0, 0.25)]
    assert [(candidate.score, candidate.keyword_raw) for candidate in new] == [(1.0, 4.0), (0.25, 1.0)]


def test_a_batch_without_any_weight_scores_nothing() -> None:
    tiny = [(1, float32(1e-8))]
    assert fuse(tiny, [], {}, profile_for("0.8.4"), WEIGHTS, 5)[0].score == 0.0
    assert fuse(tiny, [], {}, profile_for("0.8.3"), WEIGHTS, 5)[0].score == float32(1e-8)
    (merged,) = fuse(tiny, [(1, 0.5)], IDS, profile_for("0.8.4"), ScoringSettings(0.0, 0.0), 5)
    assert merged.score == 0.0


def test_vector_only_scores_are_weighted_before_0_6_3() -> None:
    vector = [(1, 0.5), (2, 0.25)]
    assert _scores(fuse([], vector, IDS, profile_for("0.6.2"), WEIGHTS, 1)) == [("x", 0.35)]
    assert _scores(fuse([], vector, {}, profile_for("0.6.3"), WEIGHTS, 1)) == [("x", 0.5), ("y", 0.25)]


@given(
    RAW_HITS, HITS, st.sampled_from(["0.1.7", "0.6.2", "0.7.5", "0.8.3", "0.8.4"]), SCORES, SCORES, st.integers(0, 9)
)
def test_fusion_equals_a_plain_reference_in_32_bits(
    keyword: list[Hit], vector: list[Hit], version: str, vector_weight: float, keyword_weight: float, limit: int
) -> None:
    profile = profile_for(version)
    settings = ScoringSettings(vector_weight, keyword_weight)
    ids = {handle: f"id-{handle % 7}-{handle}" for handle in range(31)}
    found = fuse(keyword, vector, ids, profile, settings, limit)
    order, _ = fusion_of(keyword, vector, ids, profile, settings)
    if not order.is_merged:
        assert [candidate.entry.handle for candidate in found] == [handle for handle, _ in vector or keyword]
        return
    assert order.mode == ("hybrid" if keyword else "vector")
    expected = _reference(dict(keyword), dict(vector), settings, profile.divides_by_weights_present)
    best = sorted(expected, key=lambda handle: (-expected[handle], ids[handle]))[:limit]
    assert [(candidate.entry.handle, candidate.score) for candidate in found] == [(at, expected[at]) for at in best]


def _reference(
    keyword: dict[int, float], vector: dict[int, float], settings: ScoringSettings, divides: bool
) -> dict[int, float]:
    single = np.float32
    weights = single(settings.vector_weight), single(settings.keyword_weight)
    best = max(keyword.values(), default=0.0)
    divisor = single(best) if best >= np.finfo(single).eps else single(1)
    scores: dict[int, float] = {}
    for handle in {*keyword, *vector}:
        parts = []
        if handle in vector:
            parts.append((weights[0], single(vector[handle])))
        if handle in keyword:
            parts.append((weights[1], single(keyword[handle]) / divisor))
        total = present = single(0)
        for weight, part in parts:
            total, present = total + weight * part, present + weight
        if divides:
            total = total / present if present > np.finfo(single).eps else single(0)
        scores[handle] = float(total)
    return scores
