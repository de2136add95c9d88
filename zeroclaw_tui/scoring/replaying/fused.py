"""Fusion over arrays: the numbers and the order of `fusion.fuse`, for any number of hits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, overload

from zeroclaw_tui.scoring.fusion import EPSILON, Candidate, float32
from zeroclaw_tui.scoring.profiles import ScoringProfile
from zeroclaw_tui.scoring.replaying.stages import StageHits
from zeroclaw_tui.scoring.settings import ScoringSettings

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True, slots=True)
class Fused:
    """All rows the stages passed on, best first, not yet cut to any limit.

    `positions` are places in the row table, `scores` float32, shapes (rows found,). `is_merged` says that scores were
    weighed, and are to be cut. `keyword_hits` and `vector_hits` are how many each stage passed on.
    """

    keyword: StageHits
    vector: StageHits
    keyword_hits: int
    vector_hits: int
    positions: np.ndarray
    scores: np.ndarray
    is_merged: bool
    best_raw: float | None
    is_flat: bool = False
    """Keywords alone, and their best score counts as nothing."""

    @property
    def mode(self) -> str:
        """The path of a recall with these hits."""
        if not self.vector_hits:
            return "keyword"
        return "hybrid" if self.keyword_hits else "vector"

    def candidates(self, at: np.ndarray, handles: np.ndarray) -> Candidates:
        """The rows at these places of the fused order, with every part of their scores."""
        return Candidates(self, at, handles)

    def candidate(self, handle: int, score: float, keyword_place: int, vector_place: int) -> Candidate:
        """One row with the parts of its score, by its places in the stages; 0 is none."""
        raw = cosine = None
        if 0 < keyword_place <= self.keyword_hits:
            raw = float(self.keyword.scores[keyword_place - 1])
        if 0 < vector_place <= self.vector_hits:
            cosine = float(self.vector.scores[vector_place - 1])
        return Candidate(
            handle,
            score,
            vector_score=cosine,
            keyword_score=None if raw is None else self.share(raw),
            keyword_raw=raw,
            keyword_rank=None if raw is None else keyword_place,
            vector_rank=None if cosine is None else vector_place,
        )

    def share(self, raw: float) -> float:
        """A keyword score as a share of the best."""
        return 0.0 if self.is_flat else float32(raw / _divisor(self.best_raw))


class Candidates(Sequence[Candidate]):
    """Rows of a fused order, each made when it is looked at: of hundreds that are recalled few are shown."""

    def __init__(self, order: Fused, at: np.ndarray, handles: np.ndarray) -> None:
        positions = order.positions[at]
        self._order = order
        self.handles: tuple[int, ...] = tuple(handles[positions].tolist())
        self._scores: list[float] = order.scores[at].tolist()
        self._places = (order.keyword.places[positions].tolist(), order.vector.places[positions].tolist())

    def __len__(self) -> int:
        return len(self.handles)

    @overload
    def __getitem__(self, at: int) -> Candidate: ...

    @overload
    def __getitem__(self, at: slice) -> Sequence[Candidate]: ...

    def __getitem__(self, at: int | slice) -> Candidate | Sequence[Candidate]:
        if isinstance(at, slice):
            return [self[each] for each in range(*at.indices(len(self)))]
        keyword, vector = self._places
        return self._order.candidate(self.handles[at], self._scores[at], keyword[at], vector[at])


def fused(
    keyword: StageHits,
    vector: StageHits,
    count: int,
    id_ranks: np.ndarray,
    profile: ScoringProfile,
    settings: ScoringSettings,
) -> Fused:
    """The first `count` hits of each stage in one order. Arithmetic is in 32 bits, as ZeroClaw's."""
    import numpy as np

    keyword_positions, raw = keyword.positions[:count], keyword.scores[:count]
    vector_positions, cosines = vector.positions[:count], vector.scores[:count]
    best = float(raw.max()) if len(raw) else None
    counts = (len(keyword_positions), len(vector_positions))
    with np.errstate(all="ignore"):
        shares = (raw.astype(np.float64) / _divisor(best)).astype(np.float32)
        if not counts[1]:
            scores, is_flat = _keyword_only(raw, shares, profile)
            return Fused(keyword, vector, *counts, keyword_positions, scores, False, best, is_flat)
        if not counts[0] and profile.plain_vector_only:
            return Fused(keyword, vector, *counts, vector_positions, cosines, False, best)
        positions, scores = _weighed(
            vector, (keyword_positions, shares), (vector_positions, cosines), profile, settings
        )
        downwards = np.where(np.isnan(scores), np.float32(np.inf), -scores)
    order = np.lexsort((id_ranks[positions], downwards))
    return Fused(keyword, vector, *counts, positions[order], scores[order], True, best)


def _weighed(
    vector: StageHits,
    keyword: tuple[np.ndarray, np.ndarray],
    cosine: tuple[np.ndarray, np.ndarray],
    profile: ScoringProfile,
    settings: ScoringSettings,
) -> tuple[np.ndarray, np.ndarray]:
    """Every row once, vector hits first, with its weighted score."""
    import numpy as np

    vector_weight = np.float32(float32(settings.vector_weight))
    keyword_weight = np.float32(float32(settings.keyword_weight))
    keyword_positions, shares = keyword
    vector_positions, cosines = cosine
    places = vector.places[keyword_positions]
    is_alone = (places == 0) | (places > len(vector_positions))
    positions = np.concatenate([vector_positions, keyword_positions[is_alone]])
    at = places - 1
    at[is_alone] = np.arange(len(vector_positions), len(positions))
    total = np.zeros(len(positions), dtype=np.float32)
    present = np.zeros(len(positions), dtype=np.float32)
    total[: len(vector_positions)] += vector_weight * cosines
    present[: len(vector_positions)] = vector_weight
    total[at] += keyword_weight * shares
    present[at] += keyword_weight
    if not profile.divides_by_weights_present:
        return positions, total
    return positions, np.where(present > np.float32(EPSILON), total / present, np.float32(0.0))


def _keyword_only(raw: np.ndarray, shares: np.ndarray, profile: ScoringProfile) -> tuple[np.ndarray, bool]:
    import numpy as np

    if not profile.normalises_keyword_only:
        return raw, False
    if not len(raw) or raw.max() < EPSILON:
        return np.zeros(len(raw), dtype=np.float32), True
    return np.clip(shares, np.float32(0.0), np.float32(1.0)), False


def _divisor(best: float | None) -> float:
    return best if best is not None and best >= EPSILON else 1.0
