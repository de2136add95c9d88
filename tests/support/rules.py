"""ZeroClaw's rules, and what a recall is decided from, by names that stay when a module is renamed."""

from __future__ import annotations

from zeroclaw_tui.scoring.evidence import (
    Hit,
    OwnEvidence,
    StageEvidence,
    StageHits,
    StoreRecall,
    WordShare,
    depth_of,
    own_evidence,
    word_shares,
)
from zeroclaw_tui.scoring.profiles import (
    LANDMARKS,
    NEWEST,
    RerankSettings,
    ScoringProfile,
    ScoringSettings,
    SearchMode,
    Trial,
    float32,
    parse_version,
    profile_for,
)
