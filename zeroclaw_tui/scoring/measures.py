"""Metrics of a ranking, given the expected keys."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence


def is_hit(ranked: Sequence[str], expected: Collection[str], k: int) -> bool:
    """Whether one of the first k keys is expected."""
    return not set(expected).isdisjoint(ranked[: max(k, 0)])


def reciprocal_rank(ranked: Sequence[str], expected: Collection[str], k: int) -> float:
    """1 / the rank of the first expected key among the first k, 0 if there is none (Voorhees, TREC-8, 1999)."""
    wanted = set(expected)
    return next((1 / rank for rank, key in enumerate(ranked[: max(k, 0)], 1) if key in wanted), 0.0)


def ndcg(ranked: Sequence[str], expected: Collection[str], k: int) -> float:
    """Normalised discounted cumulative gain of the first k with gains of 0 and 1 and the discount log2(rank + 1), 0..1
    (Jaervelin and Kekaelaeinen, ACM TOIS 20(4), 2002). A repeated key gains once; 0 if nothing is expected.
    """
    missing = set(expected)
    best = math.fsum(_gain(rank) for rank in range(1, min(len(missing), k) + 1))
    gains = []
    for rank, key in enumerate(ranked[: max(k, 0)], 1):
        if key in missing:
            missing.discard(key)
            gains.append(_gain(rank))
    return math.fsum(gains) / best if best else 0.0


def _gain(rank: int) -> float:
    return 1 / math.log2(rank + 1)
