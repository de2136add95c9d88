"""Names for ZeroClaw's rules and the input of a recall, re-exported so that a renamed module changes one file."""

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
