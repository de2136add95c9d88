"""Recall with other numbers: who enters, who leaves, and which settings cannot work."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Literal

from zeroclaw_tui.memory.recall import RecallResult, ScoredEntry
from zeroclaw_tui.scoring.injection import pool_size
from zeroclaw_tui.scoring.profiles import (
    SCHEMA_VERSIONS,
    RerankSettings,
    ScoringProfile,
    ScoringSettings,
    Trial,
    float32,
    generation_made_by,
    parse_version,
)
from zeroclaw_tui.scoring.weights import (
    best_scores,
    nothing_passes,
    one_way_meanings,
    stages_of,
    vectors_alone,
    words_alone,
)

Move = Literal["enters", "leaves", "stays", "gone", "new"]
"""Into the prompt, out of it, in it or out of it as before; "gone": no longer recalled, "new": recalled only now."""

Setting = Literal["weights", "threshold", "mode", "rerank"]
"""What a complaint is about."""
ALL_SETTINGS: tuple[Setting, ...] = ("weights", "threshold", "mode", "rerank")
_BOUNDED_SINCE = (0, 8, 4)
"""From here on ZeroClaw takes only thresholds from 0 to 1."""


@dataclass(frozen=True, slots=True)
class ComparedRow:
    """One memory before and after. `result` is its result after, or before where it is gone; ranks are None where it is
    not recalled."""

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

    def count(self, move: Move) -> int:
        """How many memories move so."""
        return sum(row.move == move for row in self.rows)

    @property
    def words(self) -> str:
        """In one line: "injected 2 → 4, 2 enter"."""
        counts = f"injected {self.before.injected} → {self.after.injected}"
        enter, leave = self.count("enters"), self.count("leaves")
        moves = [
            *([f"{enter} {'enters' if enter == 1 else 'enter'}"] if enter else []),
            *([f"{leave} {'leaves' if leave == 1 else 'leave'}"] if leave else []),
        ]
        return ", ".join([counts, *(moves or ["the same ones"] * (self.after.injected > 0))])


def compare(before: RecallResult, after: RecallResult) -> Comparison:
    """What the later recall changes; memories are the same by their id."""
    formerly = {result.entry.id: result for result in before.results}
    still = {result.entry.id for result in after.results}
    rows = [_compared(formerly.get(result.entry.id), result) for result in after.results]
    rows += [_compared(result, None) for result in before.results if result.entry.id not in still]
    return Comparison(before, after, tuple(rows))


def complaints(
    trial: Trial,
    *,
    has_vectors: bool,
    about: Collection[Setting] = ALL_SETTINGS,
    has_stages: bool = True,
    generation: str | None = None,
) -> tuple[str, ...]:
    """Describe the settings that cannot work: no number, negative, a sum of 0, a threshold that no score reaches,
    words that no version reads. Empty if all settings work.

    `about` leaves out sentences about other settings. `has_stages` is False for a backend that ranks by its own rule,
    where neither weights nor search mode have an effect. `generation` is the schema of the store, which a version of
    another schema would change.
    """
    found = _of_numbers(trial.settings)
    if not found:
        found = _of_meaning(trial, has_vectors) if has_stages else _of_own_rule(trial.profile, trial.settings)
        found += _of_rerank(trial)
    remark = _schema_remark(trial.profile.version, generation)
    sentences = dict.fromkeys(sentence for setting, sentence in found if setting in about)
    return tuple(sentences) if remark is None else (*sentences, remark)


def _schema_remark(version: str, generation: str | None) -> str | None:
    """Say what ZeroClaw of this version would do to a store of another schema generation; None if the schema fits.

    Versions up to 0.7.5 read tables from 0.8.0 on but cannot write to them. Later versions add missing columns when
    they open a database, and 0.8.0 creates the table again.
    """
    made = generation_made_by(version)
    if generation not in SCHEMA_VERSIONS or generation == made:
        return None
    tables = f"this file, which has the tables of {SCHEMA_VERSIONS[generation]}"
    if made > generation:
        locks_out = ", and versions before 0.8.0 could no longer write to it" if made >= "G3" > generation else ""
        effect = f"would first migrate {tables}{locks_out}"
    elif generation >= "G3" > made:
        effect = f"could read {tables}, but not write to it"
    else:
        effect = f"would open {tables}, and ignore their extra columns"
    return f"ZeroClaw {version} {effect}. The scores shown are the ones it would give."


_Complaints = list[tuple[Setting, str]]


def _compared(before: ScoredEntry | None, after: ScoredEntry | None) -> ComparedRow:
    result = after or before
    assert result is not None
    return ComparedRow(
        result,
        None if before is None else before.rank,
        None if after is None else after.rank,
        before is not None and before.injected,
        after is not None and after.injected,
    )


def _of_numbers(settings: ScoringSettings) -> _Complaints:
    """What is no number that could be reckoned with; whatever else could be said makes no sense then."""
    found: _Complaints = []
    for name, weight in (("vector", settings.vector_weight), ("keyword", settings.keyword_weight)):
        if not math.isfinite(float32(weight)):
            found.append(("weights", f"The {name} weight is {_no_number(weight)}, and so are the scores made with it."))
        elif weight < 0:
            less = "the nearer in meaning" if name == "vector" else "the more words it shares"
            found.append(("weights", f"The {name} weight is negative: {less}, the lower a memory scores."))
    if math.isnan(settings.threshold):
        found.append(("threshold", "The threshold is no number, so no score reaches it."))
    elif math.isinf(settings.threshold):
        what = "everything passes" if settings.threshold < 0 else "nothing will ever be injected"
        found.append(("threshold", f"The threshold is infinite: {what}."))
    return found


def _no_number(weight: float) -> str:
    return "no number" if math.isnan(weight) else "infinite" if math.isinf(weight) else "beyond any 32-bit number"


def _of_meaning(trial: Trial, has_vectors: bool) -> _Complaints:
    profile, settings = trial.profile, trial.settings
    mode, threshold = settings.search_mode, settings.threshold
    found = _of_threshold(profile, threshold)
    if mode != "hybrid" and not profile.search_modes:
        found.append(("mode", f"ZeroClaw {profile.version} does not read the search mode, so it changes nothing."))
    stages = stages_of(profile, has_vectors=has_vectors, search_mode=mode)
    if stages == "none":
        found.append(("mode", "Without embeddings this mode finds only memories that contain a word of the message."))
    elif stages == "words":
        meaning, useless = words_alone(profile, threshold)
        if threshold > 1.0 or not profile.normalises_keyword_only:
            found.append(("threshold", meaning))
        found.append(("weights", useless))
    elif stages == "vectors":
        meaning, useless = vectors_alone(threshold)
        if threshold > 1.0:
            found.append(("threshold", meaning))
        found.append(("weights", useless))
    else:
        found += _of_mix(profile, settings)
    return found


def _of_mix(profile: ScoringProfile, settings: ScoringSettings) -> Iterator[tuple[Setting, str]]:
    best = best_scores(profile, settings.vector_weight, settings.keyword_weight, has_vectors=True)
    nothing = nothing_passes(best, settings.threshold)
    if nothing is not None:
        # Weights and threshold make it together, so whoever changes either is told.
        yield "weights", nothing
        yield "threshold", nothing
        return
    for reach, meaning in zip(
        (best.keyword_only, best.vector_only), one_way_meanings(best, settings.threshold), strict=True
    ):
        if reach is not None and reach < settings.threshold:
            yield "weights", meaning
            yield "threshold", meaning


def _of_threshold(profile: ScoringProfile, threshold: float) -> _Complaints:
    if parse_version(profile.version) >= _BOUNDED_SINCE and not 0.0 <= threshold <= 1.0:
        return [("threshold", f"ZeroClaw {profile.version} takes only a threshold from 0 to 1.")]
    if threshold < 0:
        return [("threshold", "The threshold is negative: everything passes.")]
    return []


def _of_rerank(trial: Trial) -> _Complaints:
    """What of the rerank stage changes nothing, or leaves nothing to the recall's own score."""
    rerank = trial.settings.rerank
    if not rerank.enabled:
        is_untouched = rerank == RerankSettings()
        return [] if is_untouched else [("rerank", "The rerank stage is switched off, so its numbers change nothing.")]
    if not trial.profile.reranks:
        return [
            ("rerank", f"ZeroClaw {trial.profile.version} has no rerank stage, so it changes nothing before 0.8.4.")
        ]
    found: _Complaints = []
    if rerank.importance_weight + rerank.recency_weight >= 1:
        found.append(("rerank", "Importance and recency weigh 1 or more together: the recall's score counts nothing."))
    pool = pool_size(trial)
    if rerank.strategy == "mmr" and rerank.threshold > pool:
        words = f"mmr needs {rerank.threshold:,} memories, and the pool has {pool:,} at most: it never reorders."
        found.append(("rerank", f"{words[0].upper()}{words[1:]}"))
    return found


def _of_own_rule(profile: ScoringProfile, settings: ScoringSettings) -> _Complaints:
    found = _of_threshold(profile, settings.threshold)
    found.append(("weights", "The weights do nothing here: this backend ranks by a rule of its own."))
    if settings.search_mode != "hybrid":
        found.append(("mode", "The search mode does nothing here: this backend ranks by a rule of its own."))
    return found
