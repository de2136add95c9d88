"""What is said about weights and threshold is what the fusion does, in every version."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.fusing import fuse
from support.judging import judge

from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.recall import ScoredEntry
from zeroclaw_tui.scoring.decide import Candidate
from zeroclaw_tui.scoring.evidence import Hit
from zeroclaw_tui.scoring.profiles import ScoringSettings, SearchMode, profile_for
from zeroclaw_tui.scoring.weights import best_scores, stages_of, threshold_meaning, weights_meaning

VERSIONS = ("0.1.2", "0.1.8", "0.5.9", "0.6.2", "0.6.3", "0.7.5", "0.8.2", "0.8.3", "0.8.4")
MODES: tuple[SearchMode, ...] = ("hybrid", "bm25", "embedding")
IDS = {handle: f"{handle:03}" for handle in range(40)}
WEIGHTS = st.one_of(st.sampled_from([0.0, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5]), st.floats(0, 3))
THRESHOLDS = st.one_of(st.sampled_from([0.0, 0.2, 0.3, 0.4, 0.7, 1.0]), st.floats(0, 1.5))
VECTOR_HITS = st.dictionaries(st.integers(0, 30), st.floats(0, 1, width=32), min_size=1, max_size=12)
# A BM25 score never falls under the floor of its rarest word.
WORD_HITS = st.dictionaries(st.integers(0, 30), st.floats(2.0**-20, 50, width=32), min_size=1, max_size=12)


def meaning(
    version: str,
    vector: float = 0.7,
    keyword: float = 0.3,
    threshold: float = 0.4,
    *,
    vectors: bool = True,
    mode: SearchMode = "hybrid",
) -> tuple[str, ...]:
    return weights_meaning(profile_for(version), vector, keyword, threshold, has_vectors=vectors, search_mode=mode)


def fused(version: str, weights: tuple[float, float], words: list[Hit], vectors: list[Hit]) -> list[Candidate]:
    return fuse(words, vectors, IDS, profile_for(version), ScoringSettings(*weights), 100)


def best_of(kind: str, version: str, weights: tuple[float, float]) -> float | None:
    best = best_scores(profile_for(version), *weights, has_vectors=True)
    return {"keyword": best.keyword_only, "vector": best.vector_only, "hybrid": best.both}[kind]


@given(st.sampled_from(VERSIONS), WEIGHTS, WEIGHTS, WORD_HITS, VECTOR_HITS)
def test_no_hit_exceeds_what_its_kind_is_said_to_reach(
    version: str, vector: float, keyword: float, words: dict[int, float], vectors: dict[int, float]
) -> None:
    for candidate in fused(version, (vector, keyword), list(words.items()), list(vectors.items())):
        best = best_of(candidate.stage, version, (vector, keyword))
        assert candidate.score is not None
        assert best is not None
        assert candidate.score <= best


@given(st.sampled_from(VERSIONS), WEIGHTS, WEIGHTS)
def test_what_a_kind_of_hit_is_said_to_reach_is_reached(version: str, vector: float, keyword: float) -> None:
    """One hit of each kind, all as good as hits can be."""
    found = fused(version, (vector, keyword), [(1, 4.0), (3, 4.0)], [(2, 1.0), (3, 1.0)])
    assert {candidate.stage for candidate in found} == {"keyword", "vector", "hybrid"}
    for candidate in found:
        assert candidate.score == best_of(candidate.stage, version, (vector, keyword))


@given(st.sampled_from(VERSIONS), WEIGHTS, WEIGHTS, THRESHOLDS)
def test_never_injected_is_said_of_exactly_the_hits_that_cannot_reach_the_threshold(
    version: str, vector: float, keyword: float, threshold: float
) -> None:
    told = " ".join(meaning(version, vector, keyword, threshold))
    found = fused(version, (vector, keyword), [(1, 4.0), (3, 4.0)], [(2, 1.0), (3, 1.0)])
    passing = {candidate.stage for candidate in found if candidate.score is not None and candidate.score >= threshold}
    nothing = "nothing of it" in told
    assert nothing == (not passing)
    if not nothing and "all of it passes" not in told:
        for kind in ("keyword", "vector"):
            sentences = [part for part in told.split(". ") if f" a {kind}-only hit can reach at most" in part]
            assert any("never be injected" in part for part in sentences) == (kind not in passing)


@given(st.sampled_from(VERSIONS), WEIGHTS, WEIGHTS, THRESHOLDS, st.booleans(), st.sampled_from(MODES))
def test_every_meaning_is_whole_sentences_short_enough_for_a_prompt(
    version: str, vector: float, keyword: float, threshold: float, vectors: bool, mode: SearchMode
) -> None:
    told = meaning(version, vector, keyword, threshold, vectors=vectors, mode=mode)
    assert told
    assert len(set(told)) == len(told)
    for sentence in told:
        assert sentence[0].isupper()
        assert sentence.endswith(".")
        assert "nan" not in sentence
        assert len(sentence) < 160


def test_a_keyword_only_hit_under_the_threshold_is_told_first() -> None:
    assert meaning("0.7.5")[0] == (
        "Next to vector hits a keyword-only hit can reach at most 0.30 and the threshold is 0.40: "
        "it will never be injected."
    )


def test_a_vector_only_hit_under_the_threshold_is_told_first_where_words_pass() -> None:
    assert meaning("0.7.5", 0.3, 0.7)[0].startswith("Next to keyword hits a vector-only hit can reach at most 0.30")


def test_the_cosine_that_is_needed_is_named_and_just_passes() -> None:
    assert any("a cosine of about 0.57." in sentence for sentence in meaning("0.8.3"))
    (passing, *_) = fused("0.8.3", (0.7, 0.3), [(1, 1.0)], [(2, 0.5715)])
    assert passing.stage == "vector"
    assert passing.score is not None
    assert passing.score >= 0.4 > 0.5 * 0.7


def test_from_0_8_4_on_the_weights_only_mix() -> None:
    told = meaning("0.8.4")
    assert told[0].startswith("The weights only mix hits found both ways")
    assert "pass the threshold of 0.40" in told[1]
    assert meaning("0.8.4", 7, 3) == told


def test_weights_that_do_not_add_up_to_one_stretch_the_scores_before_0_8_4_only() -> None:
    assert any("add up to 1.20" in sentence for sentence in meaning("0.8.3", 0.9, 0.3))
    assert not any("add up" in sentence for sentence in meaning("0.8.3"))
    assert not any("add up" in sentence for sentence in meaning("0.8.4", 0.9, 0.3))


@pytest.mark.parametrize("version", VERSIONS)
def test_both_weights_at_zero_make_every_mixed_score_zero(version: str) -> None:
    assert meaning(version, 0, 0)[0].endswith("every score is 0.00, and nothing of it is injected.")
    assert meaning(version, 0, 0, 0)[0].endswith("every score is 0.00, and all of it passes.")
    assert {candidate.score for candidate in fused(version, (0, 0), [(1, 3.0)], [(2, 0.9)])} == {0.0}


@pytest.mark.parametrize("version", VERSIONS)
def test_without_vectors_scores_are_raw_before_0_8_4_and_shares_of_the_best_from_then_on(version: str) -> None:
    found = fused(version, (0.7, 0.3), [(1, 12.0), (2, 3.0)], [])
    told = meaning(version, vectors=False)
    best = best_scores(profile_for(version), 0.7, 0.3, has_vectors=False)
    if version == "0.8.4":
        assert "best hit scores 1.00" in told[0]
        assert (best.best, found[0].score, found[1].score) == (1.0, 1.0, 0.25)
    else:
        assert "raw BM25" in told[0]
        assert (best.best, found[0].score) == (math.inf, 12.0)
    assert told[1] == "The weights do nothing while only keywords are searched."


@pytest.mark.parametrize("version", VERSIONS)
def test_what_is_said_of_searches_where_one_stage_finds_nothing_holds(version: str) -> None:
    told = meaning(version)
    (alone,) = fused(version, (0.7, 0.3), [], [(1, 0.5)])
    assert any("cosine alone" in sentence for sentence in told) == (alone.score == 0.5)
    best = fused(version, (0.7, 0.3), [(1, 12.0)], [])[0].score
    assert any("raw BM25" in sentence for sentence in told) == (best == 12.0)
    assert any("best hit scores 1.00" in sentence for sentence in told) == (best == 1.0)


def test_a_mode_is_heeded_from_0_6_3_on() -> None:
    stages = {
        (version, mode, vectors): stages_of(profile_for(version), has_vectors=vectors, search_mode=mode)
        for version, mode, vectors in itertools.product(("0.6.2", "0.6.3"), MODES, (True, False))
    }
    assert [stages["0.6.2", mode, True] for mode in MODES] == ["both", "both", "both"]
    assert [stages["0.6.3", mode, True] for mode in MODES] == ["both", "words", "vectors"]
    assert [stages["0.6.3", mode, False] for mode in MODES] == ["words", "words", "none"]
    assert best_scores(profile_for("0.8.4"), 1, 1, has_vectors=False, search_mode="embedding").best is None
    assert "cosine" in meaning("0.7.5", mode="embedding")[0]
    assert "contain a word" in meaning("0.7.5", vectors=False, mode="embedding")[0]


@pytest.mark.parametrize(("vectors", "mode"), [(True, "hybrid"), (False, "hybrid"), (True, "embedding")])
def test_a_threshold_above_one_lets_nothing_in_from_0_8_4_on(vectors: bool, mode: SearchMode) -> None:
    assert meaning("0.8.4", threshold=1.2, vectors=vectors, mode=mode)[0].endswith("will ever be injected.")


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("rule", ["cli", "channel"])
def test_what_is_said_of_decay_is_what_happens_to_a_week_old_memory(version: str, rule: str) -> None:
    entry = MemoryEntry(id="a", key="a", content="x", category="daily", timestamp="2026-03-13T12:00:00+00:00")
    (judged,) = judge(
        [ScoredEntry(entry, 1, 0.8)],
        profile_for(version),
        0.0,
        "cli" if rule == "cli" else "channel",
        "2026-03-20T12:00:00+00:00",
        session_id="s",
    )
    halves = judged.decayed is not None and math.isclose(judged.decayed, 0.4)
    told = [sentence for sentence in meaning(version) if "halves" in sentence]
    says = bool(told) and (rule == "cli" or "in channels it does not" not in told[0])
    assert says == halves


def test_a_weight_that_32_bits_make_smaller_than_its_own_threshold_is_said_to_fail() -> None:
    """0.7 is 0.69999999 in 32 bits, so that a perfect vector-only hit does not reach a threshold of 0.7."""
    (perfect, *_) = fused("0.7.5", (0.7, 0.3), [(2, 1.0)], [(1, 1.0)])
    assert perfect.score is not None
    assert perfect.score < 0.7
    assert any(
        "at most 0.69999999 and the threshold is 0.70000000" in sentence for sentence in meaning("0.7.5", threshold=0.7)
    )


def test_each_other_backend_has_a_scale_of_its_own() -> None:
    old, new = profile_for("0.5.6"), profile_for("0.5.7")
    assert "share of the message's words" in threshold_meaning("markdown", new, 0.4)
    assert "cosine" in threshold_meaning("qdrant", new, 0.4)
    assert "no score" in threshold_meaning("postgres", old, 0.4)
    assert "excludes every memory that does not repeat the words" in threshold_meaning("postgres", new, 0.4)
    assert threshold_meaning("postgres", new, 0.05).endswith("a hit has to reach 0.05 to be injected.")
