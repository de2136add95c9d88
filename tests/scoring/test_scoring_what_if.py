"""Effects of other settings on a recall, and advice about settings that agrees with the fusion of each version."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.fusing import fuse
from support.memories import MemoryEntry
from support.questions import RecallRequest, RecallResult, ScoredEntry
from support.rules import Hit, RerankSettings, ScoringSettings, SearchMode, Trial, profile_for

from zeroclaw_tui.backends.markdown.store import MarkdownMemory
from zeroclaw_tui.backends.postgres import search as postgres
from zeroclaw_tui.backends.qdrant.store import QdrantMemory
from zeroclaw_tui.scoring.what_if import best_scores, compare, mixed_meanings, setting_problems

VERSIONS = ("0.1.2", "0.1.8", "0.5.9", "0.6.2", "0.6.3", "0.7.5", "0.8.2", "0.8.3", "0.8.4")
IDS = {handle: f"{handle:03}" for handle in range(40)}
WEIGHTS = st.one_of(st.sampled_from([0.0, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5]), st.floats(0, 3))
THRESHOLDS = st.one_of(st.sampled_from([0.0, 0.2, 0.3, 0.4, 0.7, 1.0]), st.floats(0, 1.5))
VECTOR_HITS = st.dictionaries(st.integers(0, 30), st.floats(0, 1, width=32), min_size=1, max_size=12)
# A BM25 score is never below that of its rarest word.
WORD_HITS = st.dictionaries(st.integers(0, 30), st.floats(2.0**-20, 50, width=32), min_size=1, max_size=12)


def fused(version: str, weights: tuple[float, float], words: list[Hit], vectors: list[Hit]) -> list[ScoredEntry]:
    return fuse(words, vectors, IDS, profile_for(version), ScoringSettings(*weights), 100)


def best_of(kind: str, version: str, weights: tuple[float, float]) -> float:
    best = best_scores(profile_for(version), ScoringSettings(*weights))
    return {"keyword": best.keyword_only, "vector": best.vector_only, "hybrid": best.both}[kind]


@given(st.sampled_from(VERSIONS), WEIGHTS, WEIGHTS, WORD_HITS, VECTOR_HITS)
def test_no_hit_exceeds_the_stated_maximum_of_its_kind(
    version: str, vector: float, keyword: float, words: dict[int, float], vectors: dict[int, float]
) -> None:
    for candidate in fused(version, (vector, keyword), list(words.items()), list(vectors.items())):
        assert candidate.score is not None
        assert candidate.score <= best_of(candidate.stage, version, (vector, keyword))


@given(st.sampled_from(VERSIONS), WEIGHTS, WEIGHTS)
def test_the_stated_maximum_of_each_kind_of_hit_can_be_reached(version: str, vector: float, keyword: float) -> None:
    """One hit of each kind with the best possible score."""
    found = fused(version, (vector, keyword), [(1, 4.0), (3, 4.0)], [(2, 1.0), (3, 1.0)])
    assert {candidate.stage for candidate in found} == {"keyword", "vector", "hybrid"}
    for candidate in found:
        assert candidate.score == best_of(candidate.stage, version, (vector, keyword))


@given(st.sampled_from(VERSIONS), WEIGHTS, WEIGHTS, THRESHOLDS)
def test_exactly_the_hits_that_cannot_reach_the_threshold_are_called_never_injected(
    version: str, vector: float, keyword: float, threshold: float
) -> None:
    sentences = mixed_meanings(profile_for(version), ScoringSettings(vector, keyword, threshold))
    text = " ".join(sentences.values())
    found = fused(version, (vector, keyword), [(1, 4.0), (3, 4.0)], [(2, 1.0), (3, 1.0)])
    passing = {candidate.stage for candidate in found if candidate.score is not None and candidate.score >= threshold}
    nothing = "nothing of it" in text
    assert nothing == (not passing)
    if not nothing and "all of it passes" not in text:
        for kind in ("keyword", "vector"):
            assert ("never be injected" in sentences[kind]) == (kind not in passing)


def test_every_other_backend_has_its_own_scale() -> None:
    old, new = profile_for("0.5.6"), profile_for("0.5.7")
    markdown, qdrant = MarkdownMemory.about.rule, QdrantMemory.about.rule
    assert markdown is not None
    assert markdown.threshold_meaning is not None
    assert qdrant is not None
    assert qdrant.threshold_meaning is not None
    assert "share of the message's words" in markdown.threshold_meaning(new, 0.4)
    assert "cosine" in qdrant.threshold_meaning(new, 0.4)
    assert "no score" in postgres.threshold_meaning(old, 0.4)
    assert postgres.threshold_meaning(new, 0.05).endswith("a hit has to reach 0.05 to be injected.")


def recalled(*rows: tuple[str, bool]) -> RecallResult:
    """Return a result of these ids in order, each with whether it is injected."""
    results = [
        ScoredEntry(MemoryEntry(id_, f"key {id_}", "c", "core", ""), rank, 1 / rank, injected=is_injected)
        for rank, (id_, is_injected) in enumerate(rows, 1)
    ]
    request = RecallRequest("tea")
    count = sum(is_injected for _, is_injected in rows)
    plain = (request, "sqlite", "/x", "0.8.4", "assumed", "keyword", (0.7, 0.3), 0.4, "0..1", tuple(results))
    return RecallResult(*plain, injected=count)


def test_each_move_follows_from_the_two_ranks() -> None:
    comparison = compare(
        recalled(("stays in", True), ("leaves", True), ("gone", False), ("gone and out", True), ("enters", False)),
        recalled(("enters", True), ("stays in", True), ("new", False), ("leaves", False), ("new and in", True)),
    )
    found = [
        (row.result.entry.id, row.move, row.before and row.before.rank, row.after and row.after.rank)
        for row in comparison.rows
    ]
    assert found == [
        ("enters", "enters", 5, 1),
        ("stays in", "stays", 1, 2),
        ("new", "new", None, 3),
        ("leaves", "leaves", 2, 4),
        ("new and in", "enters", None, 5),
        ("gone", "lost", 3, None),
        ("gone and out", "leaves", 4, None),
    ]


@pytest.mark.parametrize(
    ("before", "after", "text"),
    [
        ([("a", True), ("b", True)], [("a", True), ("c", True), ("d", True)], "injected 2 → 3, 2 enter, 1 leaves"),
        ([("a", True), ("b", True)], [("b", True), ("a", True)], "injected 2 → 2, the same ones"),
        ([("a", False)], [("a", False)], "injected 0 → 0"),
    ],
)
def test_a_comparison_counts_entering_and_leaving_memories(
    before: Sequence[tuple[str, bool]], after: Sequence[tuple[str, bool]], text: str
) -> None:
    assert compare(recalled(*before), recalled(*after)).words == text


def complaints_about(
    version: str = "0.8.4",
    vector: float = 0.7,
    keyword: float = 0.3,
    threshold: float = 0.4,
    mode: SearchMode = "hybrid",
    *,
    has_vectors: bool = True,
) -> tuple[str, ...]:
    settings = ScoringSettings(vector, keyword, threshold, mode)
    return setting_problems(Trial(RecallRequest("tea"), profile_for(version), settings), has_vectors=has_vectors)


def test_the_defaults_of_the_newest_version_have_no_complaints() -> None:
    assert complaints_about() == ()


@pytest.mark.parametrize("version", ["0.1.7", "0.6.2", "0.7.5", "0.8.3"])
def test_a_keyword_weight_below_the_threshold_keeps_keyword_hits_out(version: str) -> None:
    """These are ZeroClaw's defaults up to 0.8.3."""
    assert complaints_about(version) == (
        "Next to vector hits a keyword-only hit can reach at most 0.30 and the threshold is 0.40: "
        "it will never be injected.",
    )
    assert complaints_about(version, threshold=0.3) == ()


def test_an_unreachable_threshold_is_reported_with_the_best_score() -> None:
    assert "no score can exceed 0.50 and the threshold is 0.60" in " ".join(complaints_about("0.7.5", 0.3, 0.2, 0.6))
    assert "no score can exceed 1.00 and the threshold is 1.50" in " ".join(complaints_about(threshold=1.5))
    by_vectors = complaints_about("0.7.5", threshold=1.5, mode="embedding")
    assert "A cosine is at most 1.00 and the threshold is 1.50" in " ".join(by_vectors)
    by_keywords = complaints_about(threshold=1.5, has_vectors=False)
    assert "The best hit scores 1.00 and the threshold is 1.50" in " ".join(by_keywords)


@pytest.mark.parametrize(("version", "is_bounded"), [("0.7.5", False), ("0.8.3", False), ("0.8.4", True)])
def test_only_the_newest_version_refuses_thresholds_above_1(version: str, is_bounded: bool) -> None:
    sentence = f"ZeroClaw {version} accepts only a threshold from 0 to 1."
    assert (sentence in complaints_about(version, 5.0, 5.0, 1.5)) == is_bounded


@pytest.mark.parametrize(("version", "is_read"), [("0.1.7", False), ("0.6.2", False), ("0.6.3", True)])
def test_a_search_mode_has_no_effect_before_0_6_3(version: str, is_read: bool) -> None:
    sentence = f"ZeroClaw {version} does not read the search mode, so it changes nothing."
    assert (sentence in complaints_about(version, mode="bm25")) != is_read


def test_without_vectors_weights_have_no_effect_and_raw_scores_no_maximum() -> None:
    old = complaints_about("0.7.5", has_vectors=False)
    assert any("raw BM25" in sentence and "no fixed meaning" in sentence for sentence in old)
    assert "The weights do nothing while only keywords are searched." in old
    assert complaints_about(has_vectors=False) == ("The weights do nothing while only keywords are searched.",)
    by_vectors = complaints_about(mode="embedding", has_vectors=False)
    assert "finds only memories that contain a word" in " ".join(by_vectors)


def test_no_hit_is_called_never_injected_while_its_score_is_blended() -> None:
    """With rerank, importance and recency can lift a score of 0 above the threshold."""
    settings = ScoringSettings(0.0, 0.0, 0.1, rerank=RerankSettings(enabled=True))
    trial = Trial(RecallRequest("tea"), profile_for("0.8.4"), settings)
    assert setting_problems(trial, has_vectors=True) == ()


def test_complaints_about_other_settings_are_left_out() -> None:
    trial = Trial(RecallRequest("tea"), profile_for("0.7.5"), ScoringSettings())
    assert setting_problems(trial, has_vectors=False, about=()) == ()
    (threshold,) = setting_problems(trial, has_vectors=False, about={"threshold"})
    assert "raw BM25" in threshold


def test_a_backend_with_its_own_rule_uses_neither_weights_nor_search_mode() -> None:
    trial = Trial(RecallRequest("tea"), profile_for("0.7.5"), ScoringSettings(search_mode="bm25"))
    found = setting_problems(trial, has_vectors=False, has_stages=False)
    assert [sentence.partition(" do")[0] for sentence in found] == ["The weights", "The search mode"]
