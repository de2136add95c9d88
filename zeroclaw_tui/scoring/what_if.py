"""The effect of weights, threshold and rerank in one ZeroClaw version, and the comparison of two recalls."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

from zeroclaw_tui.memory.recall import RecallResult, ScoredEntry
from zeroclaw_tui.memory.text import distinct_numbers
from zeroclaw_tui.scoring.injection import reranks
from zeroclaw_tui.scoring.profiles import (
    EPSILON,
    RerankSettings,
    ScoringProfile,
    ScoringSettings,
    Trial,
    float32,
    parse_version,
)
from zeroclaw_tui.scoring.stages import search_mode

Move = Literal["enters", "leaves", "stays", "lost", "new"]
""""enters", "leaves" and "stays" refer to the prompt; "lost": no longer recalled, "new": recalled only now."""
Subject = Literal["weights", "threshold", "mode", "rerank"]
"""The setting that a problem is about."""
Fault = tuple[tuple[Subject, ...], str]
"""Settings that cannot work or have no effect, and a sentence about them."""
ALL_SUBJECTS: tuple[Subject, ...] = ("weights", "threshold", "mode", "rerank")
_BOUNDED_SINCE = (0, 8, 4)
"""From this version on ZeroClaw accepts only thresholds from 0 to 1."""


@dataclass(frozen=True, slots=True)
class ComparedRow:
    """One memory before and after; None if it is not recalled."""

    result: ScoredEntry
    """Its result after, or before if it is no longer recalled."""
    before: ScoredEntry | None
    after: ScoredEntry | None

    @property
    def is_injected(self) -> bool:
        """Whether it is in the prompt afterwards."""
        return self.after is not None and self.after.injected

    @property
    def move(self) -> Move:
        """How its position changes; entering and leaving the prompt take precedence."""
        if self.is_injected != (self.before is not None and self.before.injected):
            return "enters" if self.is_injected else "leaves"
        if self.after is None:
            return "lost"
        return "new" if self.before is None else "stays"


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two recalls of one query. `rows` are the results of the later one in order, then the lost ones."""

    before: RecallResult
    after: RecallResult
    rows: tuple[ComparedRow, ...]

    @property
    def words(self) -> str:
        """A summary in one line: "injected 2 → 4, 2 enter"."""
        parts = [f"injected {self.before.injected} → {self.after.injected}"]
        for move, verb in (("enters", "enter"), ("leaves", "leave")):
            count = sum(row.move == move for row in self.rows)
            parts += [f"{count} {move if count == 1 else verb}"] if count else []
        if len(parts) == 1 and self.after.injected:
            parts.append("the same ones")
        return ", ".join(parts)


def compare(before: RecallResult, after: RecallResult) -> Comparison:
    """Compare two recalls; memories are matched by id."""
    old = {result.entry.id: result for result in before.results}
    new = {result.entry.id: result for result in after.results}
    lost = {id_: result for id_, result in old.items() if id_ not in new}
    rows = (ComparedRow(result, old.get(id_), new.get(id_)) for id_, result in {**new, **lost}.items())
    return Comparison(before, after, tuple(rows))


class BestScores(NamedTuple):
    """The highest score of a keyword-only hit, of a vector-only hit, and of a hit by both, if both stages have hits."""

    keyword_only: float
    vector_only: float
    both: float


def best_scores(profile: ScoringProfile, settings: ScoringSettings) -> BestScores:
    """Compute the highest score of each kind of hit, for cosines from 0 to 1 and weights from 0."""
    vector, keyword = float32(settings.vector_weight), float32(settings.keyword_weight)
    total = float32(vector + keyword)
    if not profile.divides_by_weights_present:
        return BestScores(keyword, vector, total)
    return BestScores(*(1.0 if weight > EPSILON else 0.0 for weight in (keyword, vector, total)))


def keyword_meaning(profile: ScoringProfile, threshold: float) -> str:
    """Explain the score of a hit if only keywords are searched."""
    limit = f"{threshold:.2f}"
    if not profile.normalises_keyword_only:
        raw = "Without vectors the score is raw BM25: it has no upper end and stays near 0 in a small store"
        return f"{raw}, so {limit} has no fixed meaning."
    if threshold > 1.0:
        return f"The best hit scores 1.00 and the threshold is {limit}: nothing will ever be injected."
    return f"Without vectors the best hit scores 1.00 and the others are relative to it; the threshold is {limit}."


def mixed_meanings(profile: ScoringProfile, settings: ScoringSettings) -> dict[str, str]:
    """Explain the scores that hits of one stage alone can reach if both stages have hits: sentences for "keyword" and
    "vector"; if no score at all reaches the threshold, or all are 0, the same sentence for both."""
    best, threshold = best_scores(profile, settings), settings.threshold
    if not best.both:
        end = "nothing of it is injected" if threshold > 0.0 else "all of it passes"
        nothing = f"Both weights are 0: where words and vectors find something every score is 0.00, and {end}."
    elif max(best) < threshold:
        top, limit = distinct_numbers(max(best), threshold)
        nothing = (
            f"Where words and vectors find something no score can exceed {top} and the threshold is {limit}: "
            "nothing of it will ever be injected."
        )
    else:
        return {
            "keyword": _one_way("keyword-only", "vector", best.keyword_only, threshold),
            "vector": _one_way("vector-only", "keyword", best.vector_only, threshold),
        }
    return dict.fromkeys(("keyword", "vector"), nothing)


def _one_way(kind: str, others: str, best: float, threshold: float) -> str:
    top, limit = distinct_numbers(best, threshold)
    reach = f"Next to {others} hits a {kind} hit can reach at most {top} and the threshold is {limit}"
    if best < threshold:
        return f"{reach}: it will never be injected."
    if kind == "vector-only" and best > 0.0 and best != 1.0:
        return f"{reach}, so it needs a cosine of about {threshold / best:.2f}."
    return f"{reach}."


def setting_problems(
    trial: Trial, *, has_vectors: bool, about: Collection[Subject] = ALL_SUBJECTS, has_stages: bool = True
) -> tuple[str, ...]:
    """Describe the settings that cannot work: a sum of 0, a threshold that no score reaches, settings that the version
    does not read. Empty if all settings work.

    `about` selects sentences by setting. `has_stages` is False for a backend that ranks by its own rule,
    where neither weights nor search mode have an effect.
    """
    found = _faults(trial, has_vectors, has_stages)
    return tuple(dict.fromkeys(sentence for names, sentence in found if set(names) & set(about)))


def _faults(trial: Trial, has_vectors: bool, has_stages: bool) -> Iterator[Fault]:
    profile, settings, rerank = trial.profile, trial.settings, trial.settings.rerank
    mode, threshold = search_mode(trial), settings.threshold
    if parse_version(profile.version) >= _BOUNDED_SINCE and threshold > 1.0:
        yield ("threshold",), f"ZeroClaw {profile.version} accepts only a threshold from 0 to 1."
    if not has_stages:
        yield ("weights",), "The weights do nothing here: this backend ranks by its own rule."
        if settings.search_mode != "hybrid":
            yield ("mode",), "The search mode does nothing here: this backend ranks by its own rule."
    elif mode != settings.search_mode:
        yield ("mode",), f"ZeroClaw {profile.version} does not read the search mode, so it changes nothing."
    if has_stages and mode == "embedding" and not has_vectors:
        yield ("mode",), "Without embeddings this mode finds only memories that contain a word of the message."
    elif has_stages and mode == "embedding":
        if threshold > 1.0:
            limit = f"{threshold:.2f}"
            yield ("threshold",), f"A cosine is at most 1.00 and the threshold is {limit}: nothing is ever injected."
        yield ("weights",), "The weights do nothing while only vectors are searched."
    elif has_stages and (mode == "bm25" or not has_vectors):
        if threshold > 1.0 or not profile.normalises_keyword_only:
            yield ("threshold",), keyword_meaning(profile, threshold)
        yield ("weights",), "The weights do nothing while only keywords are searched."
    elif has_stages and not reranks(trial):
        best, sentences = best_scores(profile, settings), mixed_meanings(profile, settings)
        for kind, reach in (("keyword", best.keyword_only), ("vector", best.vector_only)):
            if reach < threshold or not best.both:
                yield ("weights", "threshold"), sentences[kind]
    if not rerank.enabled and rerank != RerankSettings():
        yield ("rerank",), "The rerank stage is switched off, so its numbers change nothing."
    if rerank.enabled and not profile.reranks:
        yield ("rerank",), f"ZeroClaw {profile.version} has no rerank stage, so it changes nothing before 0.8.4."
