"""How good a ranking is, measured against the keys that were expected."""

from __future__ import annotations

from collections.abc import Collection, Sequence


def is_hit(ranked: Sequence[str], expected: Collection[str], k: int) -> bool:
    """Whether one of the first k is expected."""
    raise NotImplementedError


def reciprocal_rank(ranked: Sequence[str], expected: Collection[str], k: int) -> float:
    """1 / the rank of the first expected one among the first k, 0 when there is none (Voorhees, TREC-8, 1999)."""
    raise NotImplementedError


def ndcg(ranked: Sequence[str], expected: Collection[str], k: int) -> float:
    """Normalised discounted cumulative gain of the first k with gains of 0 and 1 and the discount log2(rank + 1), 0..1
    (Jaervelin and Kekaelaeinen, ACM TOIS 20(4), 2002). A key that comes twice gains once."""
    raise NotImplementedError
