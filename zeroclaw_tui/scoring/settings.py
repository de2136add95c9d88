"""The numbers a recall is scored with, beside the rules of its version."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from zeroclaw_tui.scoring.profiles import ScoringProfile
from zeroclaw_tui.scoring.scanner import ScanMode

SearchMode = Literal["hybrid", "bm25", "embedding"]


@dataclass(frozen=True, slots=True)
class ScoringSettings:
    """Weights (any finite number), threshold in the units of the score, mode, and the content scanner's switch."""

    vector_weight: float = 0.7
    keyword_weight: float = 0.3
    threshold: float = 0.4
    search_mode: SearchMode = "hybrid"
    threat_scan: ScanMode = "on"


def mode_in(settings: ScoringSettings, profile: ScoringProfile) -> SearchMode:
    """The search mode as this version takes it: versions before 0.6.3 do not read it."""
    return settings.search_mode if profile.search_modes else "hybrid"
