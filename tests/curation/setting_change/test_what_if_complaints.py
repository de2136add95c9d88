"""Settings that cannot work are said, and good ones are not nagged about."""

from __future__ import annotations

import math

import pytest
from support.fusing import fuse

from zeroclaw_tui.memory.recall import RecallRequest
from zeroclaw_tui.scoring.profiles import LANDMARKS, ScoringSettings, SearchMode, Trial, profile_for
from zeroclaw_tui.scoring.what_if import complaints


def told(
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
    assert told() == ()


@pytest.mark.parametrize("version", ["0.1.7", "0.6.2", "0.7.5", "0.8.3"])
def test_a_keyword_weight_under_the_threshold_keeps_keyword_hits_out(version: str) -> None:
    """ZeroClaw's own defaults up to 0.8.3."""
    assert told(version) == (
        "Next to vector hits a keyword-only hit can reach at most 0.30 and the threshold is 0.40: "
        "it will never be injected.",
    )
    assert told(version, threshold=0.3) == ()


@pytest.mark.parametrize("version", LANDMARKS)
def test_weights_of_zero_make_every_score_zero(version: str) -> None:
    assert any("every score is 0.00" in sentence for sentence in told(version, 0.0, 0.0))


@pytest.mark.parametrize(("version", "mode"), [("0.7.5", "hybrid"), ("0.8.4", "bm25"), ("0.8.4", "embedding")])
@pytest.mark.parametrize(
    ("vector", "keyword", "threshold", "said"),
    [
        (math.nan, 0.3, 0.4, "The vector weight is no number"),
        (0.7, math.nan, 0.4, "The keyword weight is no number"),
        (math.inf, 0.3, 0.4, "The vector weight is infinite"),
        (1e300, 0.3, 0.4, "The vector weight is beyond any 32-bit number"),
        (-0.5, 0.3, 0.4, "The vector weight is negative"),
        (0.7, -0.5, 0.4, "The keyword weight is negative"),
        (0.7, 0.3, math.nan, "The threshold is no number"),
        (0.7, 0.3, math.inf, "nothing will ever be injected"),
        (0.7, 0.3, -math.inf, "everything passes"),
    ],
)
def test_what_is_no_number_to_reckon_with_is_said(
    version: str, mode: SearchMode, vector: float, keyword: float, threshold: float, said: str
) -> None:
    (sentence,) = told(version, vector, keyword, threshold, mode)
    assert said in sentence


def test_a_threshold_no_score_reaches_is_said_with_the_best_there_is() -> None:
    assert "no score can exceed 0.50 and the threshold is 0.60" in " ".join(told("0.7.5", 0.3, 0.2, 0.6))
    assert "no score can exceed 1.00 and the threshold is 1.50" in " ".join(told("0.8.4", threshold=1.5))
    assert "A cosine is at most 1.00 and the threshold is 1.50" in " ".join(
        told("0.7.5", threshold=1.5, mode="embedding")
    )
    assert "The best hit scores 1.00 and the threshold is 1.50" in " ".join(
        told("0.8.4", threshold=1.5, has_vectors=False)
    )


@pytest.mark.parametrize(("version", "is_bounded"), [("0.7.5", False), ("0.8.3", False), ("0.8.4", True)])
def test_the_newest_version_takes_only_thresholds_from_0_to_1(version: str, is_bounded: bool) -> None:
    said = f"ZeroClaw {version} takes only a threshold from 0 to 1."
    assert (said in told(version, 5.0, 5.0, 1.5)) == is_bounded
    assert (said in told(version, threshold=-0.1)) == is_bounded


@pytest.mark.parametrize(("version", "is_read"), [("0.1.7", False), ("0.6.2", False), ("0.6.3", True)])
def test_a_search_mode_that_the_version_does_not_read_is_said(version: str, is_read: bool) -> None:
    said = f"ZeroClaw {version} does not read the search mode, so it changes nothing."
    assert (said in told(version, mode="bm25")) != is_read


def test_without_vectors_the_weights_do_nothing_and_raw_scores_have_no_scale() -> None:
    old = told("0.7.5", has_vectors=False)
    assert any("raw BM25" in sentence and "no fixed meaning" in sentence for sentence in old)
    assert "The weights do nothing while only keywords are searched." in old
    assert told("0.8.4", has_vectors=False) == ("The weights do nothing while only keywords are searched.",)
    assert any(
        "finds only memories that contain a word" in sentence for sentence in told(mode="embedding", has_vectors=False)
    )


def test_only_what_was_asked_about_is_said() -> None:
    trial = Trial(RecallRequest("tea"), profile_for("0.7.5"), ScoringSettings())
    assert complaints(trial, has_vectors=False, about=()) == ()
    (threshold,) = complaints(trial, has_vectors=False, about={"threshold"})
    assert "raw BM25" in threshold
    (weights,) = complaints(trial, has_vectors=False, about={"weights"})
    assert "weights do nothing" in weights


def test_a_backend_with_a_rule_of_its_own_weighs_nothing() -> None:
    settings = ScoringSettings(search_mode="bm25")
    trial = Trial(RecallRequest("tea"), profile_for("0.7.5"), settings)
    found = complaints(trial, has_vectors=False, has_stages=False)
    assert [sentence.partition(" do")[0] for sentence in found] == ["The weights", "The search mode"]


@pytest.mark.parametrize("version", LANDMARKS)
def test_what_can_never_be_injected_is_true_of_the_arithmetic(version: str) -> None:
    """A keyword-only hit beside a vector hit, best as it can be, stays under the threshold exactly where it is said."""
    for keyword in (0.0, 0.1, 0.39, 0.4, 0.41, 1.0):
        for threshold in (0.1, 0.4, 0.9):
            settings = ScoringSettings(0.7, keyword, threshold)
            found = fuse([(1, 4.0)], [(2, 1.0)], {1: "a", 2: "b"}, profile_for(version), settings, 5)
            best = next(candidate.score for candidate in found if candidate.handle == 1)
            assert best is not None
            said = any("a keyword-only hit can" in sentence for sentence in told(version, 0.7, keyword, threshold))
            if not any("no score can exceed" in sentence for sentence in told(version, 0.7, keyword, threshold)):
                assert said == (best < threshold), (keyword, threshold, best)
