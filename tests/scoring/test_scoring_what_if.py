"""Two recalls compared, and complaints about settings that cannot work."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
from support.fusing import fuse

from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.recall import RecallRequest, RecallResult, ScoredEntry
from zeroclaw_tui.scoring.profiles import LANDMARKS, ScoringSettings, SearchMode, Trial, profile_for
from zeroclaw_tui.scoring.what_if import compare, complaints


def recalled(*rows: tuple[str, bool]) -> RecallResult:
    """A result of these ids in this order, each with whether it is injected."""
    results = [
        ScoredEntry(MemoryEntry(id_, f"key {id_}", "c", "core", ""), rank, 1 / rank, injected=is_injected)
        for rank, (id_, is_injected) in enumerate(rows, 1)
    ]
    request = RecallRequest("tea")
    return RecallResult(request, "sqlite", "/x", "0.8.4", "assumed", "keyword", (0.7, 0.3), 0.4, "0..1", tuple(results))


def test_each_memory_moves_as_its_ranks_say() -> None:
    comparison = compare(
        recalled(("stays in", True), ("leaves", True), ("gone", False), ("gone and out", True), ("enters", False)),
        recalled(("enters", True), ("stays in", True), ("new", False), ("leaves", False), ("new and in", True)),
    )
    found = [(row.result.entry.id, row.move, row.rank_before, row.rank_after) for row in comparison.rows]
    assert found == [
        ("enters", "enters", 5, 1),
        ("stays in", "stays", 1, 2),
        ("new", "new", None, 3),
        ("leaves", "leaves", 2, 4),
        ("new and in", "enters", None, 5),
        ("gone", "gone", 3, None),
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
def test_a_comparison_counts_the_memories_that_enter_and_leave(
    before: Sequence[tuple[str, bool]], after: Sequence[tuple[str, bool]], text: str
) -> None:
    assert compare(recalled(*before), recalled(*after)).words == text


def complained(
    version: str = "0.8.4",
    vector: float = 0.7,
    keyword: float = 0.3,
    threshold: float = 0.4,
    mode: SearchMode = "hybrid",
    *,
    has_vectors: bool = True,
) -> tuple[str, ...]:
    settings = ScoringSettings(vector, keyword, threshold, mode)
    return complaints(Trial(RecallRequest("tea"), profile_for(version), settings), has_vectors=has_vectors)


def test_the_defaults_of_the_newest_version_are_fine() -> None:
    assert complained() == ()


@pytest.mark.parametrize("version", ["0.1.7", "0.6.2", "0.7.5", "0.8.3"])
def test_a_keyword_weight_below_the_threshold_keeps_keyword_hits_out(version: str) -> None:
    """These are ZeroClaw's own defaults up to 0.8.3."""
    assert complained(version) == (
        "Next to vector hits a keyword-only hit can reach at most 0.30 and the threshold is 0.40: "
        "it will never be injected.",
    )
    assert complained(version, threshold=0.3) == ()


@pytest.mark.parametrize("version", LANDMARKS)
def test_weights_of_zero_make_every_score_zero(version: str) -> None:
    assert "every score is 0.00" in " ".join(complained(version, 0.0, 0.0))


@pytest.mark.parametrize(("version", "mode"), [("0.7.5", "hybrid"), ("0.8.4", "bm25"), ("0.8.4", "embedding")])
@pytest.mark.parametrize(
    ("vector", "keyword", "threshold", "text"),
    [
        (math.nan, 0.3, 0.4, "The vector weight is no number"),
        (0.7, math.inf, 0.4, "The keyword weight is infinite"),
        (1e300, 0.3, 0.4, "The vector weight is beyond any 32-bit number"),
        (0.7, -0.5, 0.4, "The keyword weight is negative"),
        (0.7, 0.3, math.nan, "The threshold is no number"),
        (0.7, 0.3, math.inf, "nothing will ever be injected"),
        (0.7, 0.3, -math.inf, "everything passes"),
    ],
)
def test_a_value_that_cannot_be_calculated_with_is_the_only_complaint(
    version: str, mode: SearchMode, vector: float, keyword: float, threshold: float, text: str
) -> None:
    (sentence,) = complained(version, vector, keyword, threshold, mode)
    assert text in sentence


def test_a_threshold_that_no_score_reaches_is_named_with_the_best_score() -> None:
    assert "no score can exceed 0.50 and the threshold is 0.60" in " ".join(complained("0.7.5", 0.3, 0.2, 0.6))
    assert "no score can exceed 1.00 and the threshold is 1.50" in " ".join(complained(threshold=1.5))
    by_vectors = complained("0.7.5", threshold=1.5, mode="embedding")
    assert "A cosine is at most 1.00 and the threshold is 1.50" in " ".join(by_vectors)
    by_keywords = complained(threshold=1.5, has_vectors=False)
    assert "The best hit scores 1.00 and the threshold is 1.50" in " ".join(by_keywords)


@pytest.mark.parametrize(("version", "is_bounded"), [("0.7.5", False), ("0.8.3", False), ("0.8.4", True)])
def test_only_the_newest_version_refuses_thresholds_outside_0_to_1(version: str, is_bounded: bool) -> None:
    sentence = f"ZeroClaw {version} takes only a threshold from 0 to 1."
    assert (sentence in complained(version, 5.0, 5.0, 1.5)) == is_bounded
    assert (sentence in complained(version, threshold=-0.1)) == is_bounded


@pytest.mark.parametrize(("version", "is_read"), [("0.1.7", False), ("0.6.2", False), ("0.6.3", True)])
def test_a_search_mode_has_no_effect_before_0_6_3(version: str, is_read: bool) -> None:
    sentence = f"ZeroClaw {version} does not read the search mode, so it changes nothing."
    assert (sentence in complained(version, mode="bm25")) != is_read


def test_without_vectors_weights_have_no_effect_and_raw_scores_no_scale() -> None:
    old = complained("0.7.5", has_vectors=False)
    assert any("raw BM25" in sentence and "no fixed meaning" in sentence for sentence in old)
    assert "The weights do nothing while only keywords are searched." in old
    assert complained(has_vectors=False) == ("The weights do nothing while only keywords are searched.",)
    by_vectors = complained(mode="embedding", has_vectors=False)
    assert "finds only memories that contain a word" in " ".join(by_vectors)


def test_complaints_about_other_settings_are_left_out() -> None:
    trial = Trial(RecallRequest("tea"), profile_for("0.7.5"), ScoringSettings())
    assert complaints(trial, has_vectors=False, about=()) == ()
    (threshold,) = complaints(trial, has_vectors=False, about={"threshold"})
    assert "raw BM25" in threshold


def test_a_backend_with_its_own_rule_uses_neither_weights_nor_search_mode() -> None:
    trial = Trial(RecallRequest("tea"), profile_for("0.7.5"), ScoringSettings(search_mode="bm25"))
    found = complaints(trial, has_vectors=False, has_stages=False)
    assert [sentence.partition(" do")[0] for sentence in found] == ["The weights", "The search mode"]


@pytest.mark.parametrize(
    ("generation", "version", "text"),
    [
        ("G2", "0.7.5", None),
        ("G2", "0.5.6", "would open this file"),
        ("G2", "0.8.4", "would first migrate this file"),
        ("G4", "0.8.3", None),
        ("G4", "0.8.0", "would open this file"),
        ("G4", "0.1.7", "could read this file, which has the tables of 0.8.3 and later, but not write to it"),
        (None, "0.1.7", None),
    ],
)
def test_a_version_of_another_schema_is_described(generation: str | None, version: str, text: str | None) -> None:
    trial = Trial(RecallRequest("tea"), profile_for(version), ScoringSettings())
    found = complaints(trial, has_vectors=True, about=(), generation=generation)
    assert len(found) == (text is not None)
    assert text is None or f"ZeroClaw {version} {text}" in found[0]


@pytest.mark.parametrize("version", LANDMARKS)
def test_a_hit_is_said_to_be_never_injected_exactly_when_the_scores_say_so(version: str) -> None:
    """Compare with the score of the best possible keyword-only hit in a batch with a vector hit."""
    for keyword in (0.0, 0.1, 0.39, 0.4, 0.41, 1.0):
        for threshold in (0.1, 0.4, 0.9):
            settings = ScoringSettings(0.7, keyword, threshold)
            found = fuse([(1, 4.0)], [(2, 1.0)], {1: "a", 2: "b"}, profile_for(version), settings, 5)
            best = next(candidate.score for candidate in found if candidate.handle == 1)
            assert best is not None
            text = " ".join(complained(version, 0.7, keyword, threshold))
            if "no score can exceed" not in text:
                assert ("a keyword-only hit can" in text) == (best < threshold), (keyword, threshold, best)
