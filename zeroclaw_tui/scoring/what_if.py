"""What weights, threshold and rerank mean in one ZeroClaw version, and what other settings change in a recall."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Literal

from zeroclaw_tui.memory.recall import RecallResult, ScoredEntry
from zeroclaw_tui.memory.text import distinct_numbers
from zeroclaw_tui.scoring.injection import HALF_LIFE_DAYS
from zeroclaw_tui.scoring.profiles import (
    EPSILON,
    RerankSettings,
    ScoringProfile,
    ScoringSettings,
    Trial,
    float32,
    mode_in,
    parse_version,
)

Stages = Literal["words", "vectors", "both", "none"]
Move = Literal["enters", "leaves", "stays", "gone", "new"]
"""Into the prompt, out of it, in it or out of it as before; "gone": no longer recalled, "new": recalled only now."""
Setting = Literal["weights", "threshold", "mode", "rerank"]
"""What a complaint is about."""
ALL_SETTINGS: tuple[Setting, ...] = ("weights", "threshold", "mode", "rerank")
POSTGRES_RANKS_SINCE = (0, 5, 7)
_RANK_IN_CONTENT = 0.1
"""What PostgreSQL's ts_rank_cd gives for one word that a content has once; a key counts twice."""
_BOUNDED_SINCE = (0, 8, 4)
"""From here on ZeroClaw takes only thresholds from 0 to 1."""


@dataclass(frozen=True, slots=True)
class ComparedRow:
    """One memory before and after.

    `result` is its result after, or before where it is no longer recalled; ranks are None where it is not recalled.
    """

    result: ScoredEntry
    rank_before: int | None
    rank_after: int | None
    was_injected: bool
    is_injected: bool

    @property
    def move(self) -> Move:
        """What becomes of it; entering and leaving the prompt count most."""
        if self.is_injected != self.was_injected:
            return "enters" if self.is_injected else "leaves"
        if self.rank_after is None:
            return "gone"
        return "new" if self.rank_before is None else "stays"


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two recalls of one query. `rows`: the later one in its order, then what it no longer recalls."""

    before: RecallResult
    after: RecallResult
    rows: tuple[ComparedRow, ...]

    @property
    def words(self) -> str:
        """In one line: "injected 2 → 4, 2 enter"."""
        parts = [f"injected {self.before.injected} → {self.after.injected}"]
        for move, verb in (("enters", "enter"), ("leaves", "leave")):
            count = sum(row.move == move for row in self.rows)
            parts += [f"{count} {move if count == 1 else verb}"] if count else []
        if len(parts) == 1 and self.after.injected:
            parts.append("the same ones")
        return ", ".join(parts)


def compare(before: RecallResult, after: RecallResult) -> Comparison:
    """What the later recall changes; memories are the same by their id."""
    old = {result.entry.id: result for result in before.results}
    new = {result.entry.id: result for result in after.results}
    rows = []
    for id_, result in {**new, **{id_: result for id_, result in old.items() if id_ not in new}}.items():
        was, now = old.get(id_), new.get(id_)
        rows.append(
            ComparedRow(
                result,
                None if was is None else was.rank,
                None if now is None else now.rank,
                was is not None and was.injected,
                now is not None and now.injected,
            )
        )
    return Comparison(before, after, tuple(rows))


@dataclass(frozen=True, slots=True)
class BestScores:
    """The highest score of a hit by words alone, by vectors alone, and by both, in a search where each stage that runs
    finds something. None where there is no such hit, infinity where a score has no upper end."""

    keyword_only: float | None = None
    vector_only: float | None = None
    both: float | None = None


@dataclass(frozen=True, slots=True)
class _Meaning:
    """A sentence about settings; `is_fault` says that they cannot work, or do nothing."""

    about: tuple[Setting, ...]
    sentence: str
    is_fault: bool = False


def stages_of(profile: ScoringProfile, settings: ScoringSettings, *, has_vectors: bool) -> Stages:
    """Which stages of a search run; versions before 0.6.3 do not read the mode."""
    mode = mode_in(settings, profile)
    if mode == "embedding":
        return "vectors" if has_vectors else "none"
    return "both" if has_vectors and mode == "hybrid" else "words"


def best_scores(profile: ScoringProfile, settings: ScoringSettings, *, has_vectors: bool) -> BestScores:
    """How high each kind of hit can score, for cosines from 0 to 1 and weights from 0."""
    match stages_of(profile, settings, has_vectors=has_vectors):
        case "none":
            return BestScores()
        case "words":
            return BestScores(keyword_only=1.0 if profile.normalises_keyword_only else math.inf)
        case "vectors":
            return BestScores(vector_only=1.0)
    vector, keyword = float32(settings.vector_weight), float32(settings.keyword_weight)
    total = float32(vector + keyword)
    if not profile.divides_by_weights_present:
        return BestScores(keyword, vector, total)
    return BestScores(*(1.0 if weight > EPSILON else 0.0 for weight in (keyword, vector, total)))


def weights_meaning(profile: ScoringProfile, settings: ScoringSettings, *, has_vectors: bool) -> tuple[str, ...]:
    """Sentences on what reaches the prompt, the one that matters most first; scores have two decimals.

    They hold for what SQLite (and Lucid's own SQLite) finds, before time decay and without ZeroClaw's second ranking,
    which is off unless switched on. Rows that only the fall-back for parts of words finds score 1.00 in any version.
    """
    sentences = [meaning.sentence for meaning in _meanings(profile, settings, has_vectors)]
    halves = f"halves every {HALF_LIFE_DAYS:g} days of age, except for core memories"
    if profile.decays_channel:
        sentences.append(f"A score {halves}.")
    elif profile.decays_cli:
        sentences.append(f"On the command line a score {halves}; in channels it does not.")
    return tuple(sentences)


def threshold_meaning(backend: str, profile: ScoringProfile, threshold: float) -> str:
    """What the threshold means for the scores of a backend that weighs nothing: markdown, postgres or qdrant."""
    limit = f"{threshold:.2f}"
    if backend == "markdown":
        return f"Markdown's score is the share of the message's words that a line contains; the threshold is {limit}."
    if backend == "qdrant":
        return f"Qdrant's score is the cosine between message and memory, at most 1.00; it has to reach {limit}."
    if parse_version(profile.version) < POSTGRES_RANKS_SINCE:
        return "PostgreSQL's hits have no score in this version, so the threshold excludes nothing."
    in_content, in_key = _RANK_IN_CONTENT, 2 * _RANK_IN_CONTENT
    ranks = f"PostgreSQL ranks a word in the content at {in_content:.2f} and in the key at {in_key:.2f}"
    if threshold > in_content + in_key:
        return f"{ranks}: a threshold of {limit} excludes every memory that does not repeat the words."
    return f"{ranks}; a hit has to reach {limit} to be injected."


def mixed_meanings(profile: ScoringProfile, settings: ScoringSettings) -> dict[str, str]:
    """What hits of one stage alone can reach in a search where both stages find something: the sentences for "keyword"
    and "vector"; where no score at all reaches the threshold, or every one is 0, one sentence for both."""
    best, threshold = best_scores(profile, settings, has_vectors=True), settings.threshold
    highest = max(best.keyword_only or 0.0, best.vector_only or 0.0, best.both or 0.0)
    if not best.both:
        end = "nothing of it is injected" if threshold > 0.0 else "all of it passes"
        nothing = f"Both weights are 0: where words and vectors find something every score is 0.00, and {end}."
    elif highest < threshold:
        top, limit = distinct_numbers(highest, threshold)
        nothing = (
            f"Where words and vectors find something no score can exceed {top} and the threshold is {limit}: "
            "nothing of it will ever be injected."
        )
    else:
        return {
            "keyword": _one_way("keyword-only", "vector", best.keyword_only or 0.0, threshold),
            "vector": _one_way("vector-only", "keyword", best.vector_only or 0.0, threshold),
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


def _meanings(profile: ScoringProfile, settings: ScoringSettings, has_vectors: bool) -> Iterator[_Meaning]:
    threshold = settings.threshold
    limit, is_too_high = f"{threshold:.2f}", threshold > 1.0
    match stages_of(profile, settings, has_vectors=has_vectors):
        case "none":
            yield _Meaning(
                ("mode",), "Without embeddings this mode finds only memories that contain a word of the message.", True
            )
        case "words":
            if not profile.normalises_keyword_only:
                raw = "Without vectors the score is raw BM25: it has no upper end and stays near 0 in a small store"
                yield _Meaning(("threshold",), f"{raw}, so {limit} has no fixed meaning.", True)
            elif is_too_high:
                words = f"The best hit scores 1.00 and the threshold is {limit}: nothing will ever be injected."
                yield _Meaning(("threshold",), words, True)
            else:
                best = "Without vectors the best hit scores 1.00 and the others are relative to it"
                yield _Meaning(("threshold",), f"{best}; the threshold is {limit}.")
            yield _Meaning(("weights",), "The weights do nothing while only keywords are searched.", True)
        case "vectors":
            if is_too_high:
                words = f"A cosine is at most 1.00 and the threshold is {limit}: nothing will ever be injected."
            else:
                words = f"The score is the cosine between message and memory, at most 1.00; it has to reach {limit}."
            yield _Meaning(("threshold",), words, is_too_high)
            yield _Meaning(("weights",), "The weights do nothing while only vectors are searched.", True)
        case "both":
            yield from _mixed(profile, settings)


def _mixed(profile: ScoringProfile, settings: ScoringSettings) -> Iterator[_Meaning]:
    """What holds where words and vectors are both searched. Weights and threshold make it together."""
    about: tuple[Setting, ...] = ("weights", "threshold")
    best, threshold = best_scores(profile, settings, has_vectors=True), settings.threshold
    both, sentences = best.both or 0.0, mixed_meanings(profile, settings)
    if sentences["keyword"] == sentences["vector"]:
        yield _Meaning(about, sentences["keyword"], True)
    elif profile.divides_by_weights_present and best.keyword_only and best.vector_only:
        mix = "The weights only mix hits found both ways: a keyword-only or vector-only hit can reach 1.00 by itself."
        yield _Meaning(about, mix)
    else:
        alone = [
            _Meaning(about, sentences[kind], (reach or 0.0) < threshold)
            for kind, reach in (("keyword", best.keyword_only), ("vector", best.vector_only))
        ]
        yield from sorted(alone, key=lambda meaning: not meaning.is_fault)
        yield _Meaning(about, f"A hit found both ways can reach {both:.2f}.")
    if profile.plain_vector_only:
        yield _Meaning(about, "Without keyword hits the score is the cosine alone, whatever the weights.")
    if profile.normalises_keyword_only:
        yield _Meaning(about, "Without vector hits the best hit scores 1.00 and the others are relative to it.")
    else:
        yield _Meaning(about, "Without vector hits the score is raw BM25, which has no upper end.")


def complaints(
    trial: Trial,
    *,
    has_vectors: bool,
    about: Collection[Setting] = ALL_SETTINGS,
    has_stages: bool = True,
) -> tuple[str, ...]:
    """Describe the settings that cannot work: a sum of 0, a threshold that no score reaches, words that no version
    reads. Empty if all settings work.

    `about` leaves out sentences about other settings. `has_stages` is False for a backend that ranks by its own rule,
    where neither weights nor search mode have an effect.
    """
    profile, settings = trial.profile, trial.settings
    found: list[_Meaning] = []
    if parse_version(profile.version) >= _BOUNDED_SINCE and settings.threshold > 1.0:
        found.append(_Meaning(("threshold",), f"ZeroClaw {profile.version} takes only a threshold from 0 to 1."))
    if not has_stages:
        found.append(_Meaning(("weights",), "The weights do nothing here: this backend ranks by a rule of its own."))
        if settings.search_mode != "hybrid":
            mode = "The search mode does nothing here: this backend ranks by a rule of its own."
            found.append(_Meaning(("mode",), mode))
    else:
        if settings.search_mode != "hybrid" and not profile.search_modes:
            unread = f"ZeroClaw {profile.version} does not read the search mode, so it changes nothing."
            found.append(_Meaning(("mode",), unread))
        found += [meaning for meaning in _meanings(profile, settings, has_vectors) if meaning.is_fault]
    found += _of_rerank(trial)
    return tuple(dict.fromkeys(meaning.sentence for meaning in found if set(meaning.about) & set(about)))


def _of_rerank(trial: Trial) -> Iterator[_Meaning]:
    """What of the rerank stage changes nothing."""
    rerank = trial.settings.rerank
    if not rerank.enabled:
        if rerank != RerankSettings():
            yield _Meaning(("rerank",), "The rerank stage is switched off, so its numbers change nothing.")
    elif not trial.profile.reranks:
        version = trial.profile.version
        yield _Meaning(("rerank",), f"ZeroClaw {version} has no rerank stage, so it changes nothing before 0.8.4.")
