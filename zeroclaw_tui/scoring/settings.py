"""The numbers a recall is scored with, beside the rules of its version."""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from zeroclaw_tui.memory.recall import RecallRequest
    from zeroclaw_tui.scoring.profiles import ScoringProfile
    from zeroclaw_tui.scoring.scanner import ScanMode

SearchMode = Literal["hybrid", "bm25", "embedding"]
RerankStrategy = Literal["none", "mmr"]

EPSILON = 2.0**-23
"""Rust's f32::EPSILON: under it a maximum or a sum of weights counts as nothing."""

_FLOAT32 = struct.Struct("f")


@dataclass(frozen=True, slots=True)
class RerankSettings:
    """The rerank stage of ZeroClaw >= 0.8.4: the `rerank_*`, weight and pool keys under [memory], with its defaults.

    `threshold` is how many rows MMR needs; `mmr_lambda` and the two weights are taken between 0 and 1. The pool that is
    reranked is `candidate_multiplier` times the limit of the turn.
    """

    enabled: bool = False
    strategy: RerankStrategy = "none"
    threshold: int = 5
    mmr_lambda: float = 0.7
    importance_weight: float = 0.2
    recency_weight: float = 0.1
    candidate_multiplier: int = 4


@dataclass(frozen=True, slots=True)
class ScoringSettings:
    """Weights (any finite number), threshold in the units of the score, mode, the content scanner's switch, rerank."""

    vector_weight: float = 0.7
    keyword_weight: float = 0.3
    threshold: float = 0.4
    search_mode: SearchMode = "hybrid"
    threat_scan: ScanMode = "on"
    rerank: RerankSettings = field(default_factory=RerankSettings)


@dataclass(frozen=True, slots=True)
class Trial:
    """A recall as it might be: the request, and the rules and numbers it is scored with."""

    request: RecallRequest
    profile: ScoringProfile
    settings: ScoringSettings

    @property
    def reranks(self) -> bool:
        """Whether what is put before the message is reranked: switched on, and known to this version (>= 0.8.4)."""
        return self.settings.rerank.enabled and self.profile.reranks


def mode_in(settings: ScoringSettings, profile: ScoringProfile) -> SearchMode:
    """The search mode as this version takes it: versions before 0.6.3 do not read it."""
    return settings.search_mode if profile.search_modes else "hybrid"


def float32(value: float) -> float:
    """The nearest 32-bit number; beyond its range infinity, as a Rust cast gives."""
    try:
        rounded: float = _FLOAT32.unpack(_FLOAT32.pack(value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)
    return rounded
