"""The rerank stage of ZeroClaw >= 0.8.4: what becomes of the recalled memories on their way before a message.

Where `memory.rerank_enabled` is set, a pool larger than the turn's limit is recalled; its scores are blended with
importance and recency in place of time decay, doubles collapse, MMR may reorder, and the first of the rest go on. It
acts in the block put before a message alone, never in the agent's recall tool. The rules are those of ZeroClaw 0.8.4,
in 64-bit arithmetic and in its order of additions.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from zeroclaw_tui.memory.recall import UNLIMITED, ScoredEntry
from zeroclaw_tui.memory.text import WHITE_SPACE
from zeroclaw_tui.scoring.profiles import RerankSettings, Trial

if TYPE_CHECKING:
    import numpy as np

LARGEST_POOL = 1024
NEARLY_THE_SAME = 0.92
"""From this Jaccard similarity of adjacent word pairs on, the later of two memories is left out."""
HALF_LIFE_DAYS = 7.0

_DEFAULT_WEIGHTS = (0.2, 0.1)
_EPSILON = 2.0**-52
_ROUNDING = 1e-9
_BLANKS = re.compile(f"[{re.escape(WHITE_SPACE)}]+")
_ASCII_LOWER = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")


@dataclass(frozen=True, slots=True)
class Blend:
    """What a score is blended of, each in 0..1: the recall's score, importance and recency, with their weights."""

    relevance: float
    importance: float
    recency: float
    weights: tuple[float, float, float]
    """Of relevance, importance and recency, in this order; with the default ones 0.7, 0.2 and 0.1."""
    score: float


@dataclass(frozen=True, slots=True)
class Reranked:
    """What becomes of one memory of the pool. `place` counts from 1 among what goes on to the threshold.

    `because` says what leaves it out: it collapses with an earlier one, or its place is behind the limit.
    """

    place: int | None = None
    because: str | None = None


def pool_size(trial: Trial) -> int:
    """How many memories each session scope recalls: the turn's limit, or `candidate_multiplier` times as many."""
    limit = trial.request.limit
    if not trial.reranks or limit <= 0:
        return limit
    final = final_limit(limit)
    return max(min(final * max(trial.settings.rerank.candidate_multiplier, 1), LARGEST_POOL), final)


def final_limit(limit: int) -> int:
    """How many memories the stage hands on at most; an unlimited turn has its largest pool."""
    return min(max(limit, 1), LARGEST_POOL)


def blend(score: float, importance: float | None, age_in_days: float | None, settings: RerankSettings) -> Blend:
    """A score with importance and recency in it. `age_in_days` is None for core memories and times that cannot be read:
    they count as new."""
    relevance, weight = _clamped(score), _clamped(importance or 0.0)
    recency = 1.0 if age_in_days is None else fading(age_in_days)
    weights, total = blend_weights(settings)
    of_relevance, of_importance, of_recency = weights
    blended = relevance * of_relevance + weight * of_importance + recency * of_recency
    return Blend(relevance, weight, recency, weights, _clamped(blended) if total is None else blended / total)


def blend_weights(settings: RerankSettings) -> tuple[tuple[float, float, float], float | None]:
    """What relevance, importance and recency weigh, and what their sum is divided by; None with the default weights,
    where it is held between 0 and 1 instead."""
    given = (settings.importance_weight, settings.recency_weight)
    if all(abs(one - other) <= _EPSILON for one, other in zip(given, _DEFAULT_WEIGHTS, strict=True)):
        return (0.7, *_DEFAULT_WEIGHTS), None
    of_importance, of_recency = map(_clamped, given)
    # Weights of more than 1 together leave no share to the recall's own score.
    of_relevance = max(1.0 - of_importance - of_recency, 0.0)
    return (of_relevance, of_importance, of_recency), of_relevance + of_importance + of_recency


def fading(age_in_days: float) -> float:
    """What age leaves of a score, 0..1: half of it each HALF_LIFE_DAYS."""
    return math.exp(-age_in_days / HALF_LIFE_DAYS * math.log(2))


def rerank(pool: Sequence[ScoredEntry], settings: RerankSettings, threshold: float, limit: int) -> list[Reranked]:
    """What becomes of each of the eligible memories of a pool, whose `reranked` scores are blended already.

    By score, equal ones in the order recalled; doubles collapse; MMR where `settings` ask for it; what is under
    `threshold` goes without taking a place, then the first `limit` go on.
    """
    order = sorted(range(len(pool)), key=lambda at: -_held(pool[at]))
    left, fates = _collapsed(pool, order)
    if settings.strategy == "mmr" and left and len(left) >= settings.threshold:
        left = _by_mmr(pool, left, _clamped(settings.mmr_lambda))
    place = 0
    for at in left:
        score = pool[at].reranked
        if score is not None and score < threshold:
            continue
        place += 1
        behind = f"rerank: {place:,} of the reranked, and only the first {limit:,} go on" if limit < UNLIMITED else None
        fates[at] = Reranked(place) if place <= limit else Reranked(None, behind)
    return [fates.get(at, Reranked()) for at in range(len(pool))]


def _collapsed(pool: Sequence[ScoredEntry], order: Sequence[int]) -> tuple[list[int], dict[int, Reranked]]:
    """The rows left, in this order, and why the others are not."""
    seen: dict[str, int] = {}
    kept = _Kept()
    fates: dict[int, Reranked] = {}
    for at in order:
        text = compared_text(pool[at].entry.content)
        earlier = seen.setdefault(text, at)
        if earlier != at:
            fates[at] = Reranked(because=f"rerank: the same text as {pool[earlier].entry.key}")
            continue
        pairs = pairs_of(text)
        near = kept.nearly_the_same(pairs)
        if near is None:
            kept.add(at, pairs)
        else:
            fates[at] = Reranked(because=f"rerank: nearly the text of {pool[near[0]].entry.key} ({near[1]:.2f} alike)")
    return kept.rows, fates


class _Kept:
    """The rows kept so far, and which of them have each pair of words."""

    def __init__(self) -> None:
        self.rows: list[int] = []
        self._pairs: list[frozenset[tuple[str, ...]]] = []
        self._having: dict[tuple[str, ...], list[int]] = {}

    def add(self, row: int, pairs: frozenset[tuple[str, ...]]) -> None:
        """Keep a row."""
        for pair in pairs:
            self._having.setdefault(pair, []).append(len(self.rows))
        self.rows.append(row)
        self._pairs.append(pairs)

    def nearly_the_same(self, pairs: frozenset[tuple[str, ...]]) -> tuple[int, float] | None:
        """The first of the rows that is nearly the same, with its similarity.

        Such a row lacks at most the share of the pairs by which it may differ, so of one more than that it has one:
        rows with none of the rarest of them need no look (the prefix filter of set similarity joins, Chaudhuri et al.
        2006).
        """
        rarest = sorted(pairs, key=lambda pair: len(self._having.get(pair, ())))
        most_lacking = int((1.0 - NEARLY_THE_SAME) * len(pairs) + _ROUNDING)
        near = {place for pair in rarest[: most_lacking + 1] for place in self._having.get(pair, ())}
        for place in sorted(near):
            others = self._pairs[place]
            shared = len(pairs & others)
            likeness = shared / (len(pairs) + len(others) - shared)
            if likeness >= NEARLY_THE_SAME:
                return self.rows[place], likeness
        return None


def _by_mmr(pool: Sequence[ScoredEntry], left: Sequence[int], share: float) -> list[int]:
    """Maximal marginal relevance: the best first, then always the row whose score is best after what it repeats.

    Of equal values ZeroClaw takes the last.
    """
    import numpy as np

    likeness = likeness_table([words_of(pool[at].entry.content) for at in left])
    scores = np.array([_held(pool[at]) for at in left], dtype=np.float64)
    taken = [0]
    repeats = likeness[0].copy()
    remaining = np.arange(1, len(left))
    while len(remaining):
        values = share * scores[remaining] - (1.0 - share) * repeats[remaining]
        best = len(values) - 1 - int(np.argmax(values[::-1]))
        chosen = int(remaining[best])
        taken.append(chosen)
        remaining = np.delete(remaining, best)
        np.maximum(repeats, likeness[chosen], out=repeats)
    return [left[at] for at in taken]


def likeness_table(texts: Sequence[Sequence[str]]) -> np.ndarray:
    """The Jaccard similarity of the words of each two texts, shape (texts, texts), float64; two empty ones have 0."""
    import numpy as np

    codes: dict[str, int] = {}
    sets = [sorted({codes.setdefault(word, len(codes)) for word in text}) for text in texts]
    words = np.zeros((len(texts), max(len(codes), 1)), dtype=np.float32)
    for row, known in enumerate(sets):
        words[row, known] = 1.0
    shared = (words @ words.T).astype(np.float64)
    sizes = words.sum(axis=1, dtype=np.float64)
    together = sizes[:, None] + sizes[None, :] - shared
    table: np.ndarray = np.divide(shared, together, out=np.zeros_like(shared), where=together > 0)
    return table


def _held(scored: ScoredEntry) -> float:
    return 0.0 if scored.reranked is None else scored.reranked


def compared_text(content: str) -> str:
    """A content as it is compared with others: its words, one blank between them, A to Z in lower case."""
    return " ".join(words_of(content)).translate(_ASCII_LOWER)


def pairs_of(text: str) -> frozenset[tuple[str, ...]]:
    """The adjacent words of a compared text; a lone word stands for itself."""
    words = text.split(" ") if text else []
    if len(words) == 1:
        return frozenset([(words[0],)])
    return frozenset(pairwise(words))


def words_of(text: str) -> list[str]:
    """The words of a content, split at Unicode white space."""
    return [word for word in _BLANKS.split(text) if word]


def _clamped(value: float) -> float:
    return min(max(value, 0.0), 1.0)
