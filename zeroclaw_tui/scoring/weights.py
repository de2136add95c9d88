"""What a pair of weights and a threshold mean in one ZeroClaw version, in sentences."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from zeroclaw_tui.memory.text import distinct_numbers
from zeroclaw_tui.scoring.injection import HALF_LIFE_DAYS
from zeroclaw_tui.scoring.profiles import EPSILON, ScoringProfile, SearchMode, float32, parse_version

Stages = Literal["words", "vectors", "both", "none"]

POSTGRES_RANKS_SINCE = (0, 5, 7)
RANK_IN_CONTENT = 0.1
"""What PostgreSQL's ts_rank_cd gives for one word that a content has once; a key counts twice."""


@dataclass(frozen=True, slots=True)
class BestScores:
    """The highest score of a hit by words alone, by vectors alone, and by both, in a search where each stage that runs
    finds something. None where there is no such hit, infinity where a score has no upper end."""

    keyword_only: float | None
    vector_only: float | None
    both: float | None

    @property
    def best(self) -> float | None:
        """The highest of all; None where nothing is found."""
        return max(
            (score for score in (self.keyword_only, self.vector_only, self.both) if score is not None), default=None
        )


def stages_of(profile: ScoringProfile, *, has_vectors: bool, search_mode: SearchMode = "hybrid") -> Stages:
    """Which stages of a search run; versions before 0.6.3 do not read the mode."""
    mode = search_mode if profile.search_modes else "hybrid"
    if mode == "embedding":
        return "vectors" if has_vectors else "none"
    return "both" if has_vectors and mode == "hybrid" else "words"


def best_scores(
    profile: ScoringProfile,
    vector_weight: float,
    keyword_weight: float,
    *,
    has_vectors: bool,
    search_mode: SearchMode = "hybrid",
) -> BestScores:
    """How high each kind of hit can score, for cosines from 0 to 1 and weights from 0."""
    stages = stages_of(profile, has_vectors=has_vectors, search_mode=search_mode)
    if stages == "none":
        return BestScores(None, None, None)
    if stages == "words":
        return BestScores(1.0 if profile.normalises_keyword_only else math.inf, None, None)
    if stages == "vectors":
        return BestScores(None, 1.0, None)
    vector, keyword = float32(vector_weight), float32(keyword_weight)
    total = float32(vector + keyword)
    if not profile.divides_by_weights_present:
        return BestScores(keyword, vector, total)
    return BestScores(*(1.0 if weight > EPSILON else 0.0 for weight in (keyword, vector, total)))


def weights_meaning(
    profile: ScoringProfile,
    vector_weight: float,
    keyword_weight: float,
    threshold: float,
    *,
    has_vectors: bool,
    search_mode: SearchMode = "hybrid",
) -> tuple[str, ...]:
    """Sentences on what reaches the prompt, the one that matters most first; scores have two decimals.

    They hold for what SQLite (and Lucid's own SQLite) finds, before time decay and without ZeroClaw's second ranking,
    which is off unless switched on. Rows that only the fall-back for parts of words finds score 1.00 in any version.
    """
    stages = stages_of(profile, has_vectors=has_vectors, search_mode=search_mode)
    best = best_scores(profile, vector_weight, keyword_weight, has_vectors=has_vectors, search_mode=search_mode)
    if stages == "none":
        sentences = [
            "Without embeddings this mode finds only memories that contain a word of the message, and scores each 1.00."
        ]
    elif stages == "words":
        sentences = list(words_alone(profile, threshold))
    elif stages == "vectors":
        sentences = list(vectors_alone(threshold))
    else:
        sentences = list(_mixed(profile, best, threshold))
    return (*sentences, *_decay(profile))


def threshold_meaning(backend: str, profile: ScoringProfile, threshold: float) -> str:
    """What the threshold means for the scores of a backend that weighs nothing: markdown, postgres or qdrant."""
    limit = f"{threshold:.2f}"
    if backend == "markdown":
        return f"Markdown's score is the share of the message's words that a line contains; the threshold is {limit}."
    if backend == "qdrant":
        return f"Qdrant's score is the cosine between message and memory, at most 1.00; it has to reach {limit}."
    if parse_version(profile.version) < POSTGRES_RANKS_SINCE:
        return "PostgreSQL's hits have no score in this version, so the threshold excludes nothing."
    ranks = (
        f"PostgreSQL ranks a word in the content at {RANK_IN_CONTENT:.2f} and in the key at {2 * RANK_IN_CONTENT:.2f}"
    )
    if threshold > 3 * RANK_IN_CONTENT:
        return f"{ranks}: a threshold of {limit} excludes every memory that does not repeat the words."
    return f"{ranks}; a hit has to reach {limit} to be injected."


def words_alone(profile: ScoringProfile, threshold: float) -> Iterator[str]:
    """What the threshold, and then what the weights mean where only words are searched."""
    limit = f"{threshold:.2f}"
    if not profile.normalises_keyword_only:
        yield (
            f"Without vectors the score is raw BM25: it has no upper end and stays near 0 in a small store, so {limit} "
            "has no fixed meaning."
        )
    elif threshold > 1.0:
        yield f"The best hit scores 1.00 and the threshold is {limit}: nothing will ever be injected."
    else:
        yield f"Without vectors the best hit scores 1.00 and the others are relative to it; the threshold is {limit}."
    yield "The weights do nothing while only keywords are searched."


def vectors_alone(threshold: float) -> Iterator[str]:
    """What the threshold, and then what the weights mean where only vectors are searched."""
    if threshold > 1.0:
        yield f"A cosine is at most 1.00 and the threshold is {threshold:.2f}: nothing will ever be injected."
    else:
        yield f"The score is the cosine between message and memory, at most 1.00; it has to reach {threshold:.2f}."
    yield "The weights do nothing while only vectors are searched."


def nothing_passes(best: BestScores, threshold: float) -> str | None:
    """Why a search in which both stages find something has all the same fate; None where it depends on the hit."""
    if not best.both:
        end = "nothing of it is injected" if threshold > 0.0 else "all of it passes"
        return f"Both weights are 0: where words and vectors find something every score is 0.00, and {end}."
    highest = best.best or 0.0
    if highest >= threshold:
        return None
    top, limit = distinct_numbers(highest, threshold)
    return (
        f"Where words and vectors find something no score can exceed {top} and the threshold is {limit}: "
        "nothing of it will ever be injected."
    )


def _mixed(profile: ScoringProfile, best: BestScores, threshold: float) -> Iterator[str]:
    keyword, vector, both = best.keyword_only or 0.0, best.vector_only or 0.0, best.both or 0.0
    nothing = nothing_passes(best, threshold)
    if nothing is not None:
        yield nothing
    elif profile.divides_by_weights_present and min(keyword, vector) > 0.0:
        yield "The weights only mix hits found both ways: a keyword-only or vector-only hit can reach 1.00 by itself."
        yield (
            "A keyword score is relative to the best of its search, so one common word can reach 1.00 and pass the "
            f"threshold of {threshold:.2f}."
        )
    else:
        keyword_meaning, vector_meaning = one_way_meanings(best, threshold)
        yield from (
            (vector_meaning, keyword_meaning) if vector < threshold <= keyword else (keyword_meaning, vector_meaning)
        )
        yield f"A hit found both ways can reach {both:.2f}."
    yield from _special_cases(profile, both)


def one_way_meanings(best: BestScores, threshold: float) -> tuple[str, str]:
    """What a keyword-only hit, and what a vector-only hit, can reach where both stages find something."""
    return (
        _one_way("keyword-only", "vector", best.keyword_only or 0.0, threshold),
        _one_way("vector-only", "keyword", best.vector_only or 0.0, threshold),
    )


def _one_way(kind: str, others: str, best: float, threshold: float) -> str:
    """What a hit found by one stage alone can reach beside hits of the other."""
    top, limit = distinct_numbers(best, threshold)
    reach = f"Next to {others} hits a {kind} hit can reach at most {top} and the threshold is {limit}"
    if best < threshold:
        return f"{reach}: it will never be injected."
    if kind == "vector-only" and best > 0.0 and best != 1.0:
        return f"{reach}, so it needs a cosine of about {threshold / best:.2f}."
    return f"{reach}."


def _special_cases(profile: ScoringProfile, both: float) -> Iterator[str]:
    if not profile.divides_by_weights_present and both > 0.0 and f"{both:.2f}" != "1.00":
        yield f"The weights add up to {both:.2f}, and so does the best possible score; with a sum of 1.00 it is 1.00."
    if profile.plain_vector_only:
        yield "Without keyword hits the score is the cosine alone, whatever the weights."
    if profile.normalises_keyword_only:
        yield "Without vector hits the best hit scores 1.00 and the others are relative to it."
    else:
        yield "Without vector hits the score is raw BM25, which has no upper end."


def _decay(profile: ScoringProfile) -> Iterator[str]:
    halves = f"halves every {HALF_LIFE_DAYS:g} days of age, except for core memories"
    if profile.decays_channel:
        yield f"A score {halves}."
    elif profile.decays_cli:
        yield f"On the command line a score {halves}; in channels it does not."
