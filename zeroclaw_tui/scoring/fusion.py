"""How keyword and vector hits become one list, in 32-bit arithmetic as ZeroClaw does it."""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.recall import ScoredEntry
from zeroclaw_tui.scoring.profiles import ScoringProfile
from zeroclaw_tui.scoring.settings import ScoringSettings

Hit = tuple[int, float]
"""A row's handle and its score in one stage: -bm25 or the cosine, rounded to 32 bits."""

EPSILON = 2.0**-23
"""Rust's f32::EPSILON: under it a maximum or a sum of weights counts as nothing."""

_FLOAT32 = struct.Struct("f")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A row with the parts of its score; ranks count from 1 within their stage, and what it lacks is None."""

    handle: int
    score: float | None = None
    vector_score: float | None = None
    keyword_score: float | None = None
    keyword_raw: float | None = None
    keyword_rank: int | None = None
    vector_rank: int | None = None

    @property
    def stage(self) -> str:
        """Which stages found it: "hybrid" means both."""
        if self.keyword_rank is None:
            return "vector"
        return "keyword" if self.vector_rank is None else "hybrid"


def scored_entry(candidate: Candidate, entry: MemoryEntry, rank: int, stage: str | None) -> ScoredEntry:
    """A row's result; `stage` where another one than keyword and vector found it."""
    return ScoredEntry(
        entry,
        rank,
        candidate.score,
        vector_score=candidate.vector_score,
        keyword_score=candidate.keyword_score,
        keyword_raw=candidate.keyword_raw,
        stage=stage or candidate.stage,
        keyword_rank=candidate.keyword_rank,
        vector_rank=candidate.vector_rank,
    )


def float32(value: float) -> float:
    """The nearest 32-bit number; beyond its range infinity, as a Rust cast gives."""
    try:
        rounded: float = _FLOAT32.unpack(_FLOAT32.pack(value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)
    return rounded


def mode_of(keyword: Sequence[Hit], vector: Sequence[Hit]) -> str:
    """The path a recall takes with these hits: "hybrid", "keyword" or "vector"."""
    if not vector:
        return "keyword"
    return "hybrid" if keyword else "vector"


def is_merged(keyword: Sequence[Hit], vector: Sequence[Hit], profile: ScoringProfile) -> bool:
    """Whether these hits go through the weighted merge, which cuts to the limit and needs ids to order ties."""
    return bool(vector) and (bool(keyword) or not profile.plain_vector_only)


def fuse(
    keyword: Sequence[Hit],
    vector: Sequence[Hit],
    ids: Mapping[int, str],
    profile: ScoringProfile,
    settings: ScoringSettings,
    limit: int,
) -> list[Candidate]:
    """Every hit with its final score, best first.

    Only a merge cuts to `limit`; hits of one stage alone keep that stage's order and number. `ids` are looked up when
    `is_merged`. Read in ZeroClaw's sources from 0.1.2 to 0.8.4: up to 0.8.3 a missing part counts as 0, from 0.8.4 on
    the sum is divided by the weights of the parts present.
    """
    found = _parts(keyword, vector)
    if not is_merged(keyword, vector, profile):
        if vector:
            return [replace(candidate, score=candidate.vector_score) for candidate in found]
        return _keyword_only(found, profile)
    weights = (float32(settings.vector_weight), float32(settings.keyword_weight))
    scored = [replace(candidate, score=_weighted(candidate, weights, profile)) for candidate in found]
    return sorted(scored, key=lambda candidate: (_descending(candidate.score), ids[candidate.handle]))[:limit]


def _parts(keyword: Sequence[Hit], vector: Sequence[Hit]) -> list[Candidate]:
    """One candidate a row, vector hits first."""
    best = max((raw for _, raw in keyword), default=0.0)
    divisor = best if best >= EPSILON else 1.0
    found = {
        handle: Candidate(handle, vector_score=score, vector_rank=rank)
        for rank, (handle, score) in enumerate(vector, 1)
    }
    for rank, (handle, raw) in enumerate(keyword, 1):
        known = found.get(handle) or Candidate(handle)
        score = float32(raw / divisor)
        found[handle] = replace(known, keyword_score=score, keyword_raw=raw, keyword_rank=rank)
    return list(found.values())


def _keyword_only(found: list[Candidate], profile: ScoringProfile) -> list[Candidate]:
    if not profile.normalises_keyword_only:
        return [replace(candidate, score=candidate.keyword_raw) for candidate in found]
    if max((candidate.keyword_raw or 0.0 for candidate in found), default=0.0) < EPSILON:
        return [replace(candidate, score=0.0, keyword_score=0.0) for candidate in found]
    return [replace(candidate, score=min(max(candidate.keyword_score or 0.0, 0.0), 1.0)) for candidate in found]


def _weighted(candidate: Candidate, weights: tuple[float, float], profile: ScoringProfile) -> float:
    total = present = 0.0
    for part, weight in zip((candidate.vector_score, candidate.keyword_score), weights, strict=True):
        if part is not None:
            total = float32(total + float32(weight * part))
            present = float32(present + weight)
    if not profile.divides_by_weights_present:
        return total
    return float32(total / present) if present > EPSILON else 0.0


def _descending(score: float | None) -> float:
    # Infinite weights can make a score that is no number; it goes last.
    return math.inf if score is None or math.isnan(score) else -score
