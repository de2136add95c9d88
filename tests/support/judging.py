"""What reaches the prompt of recalled entries, said with the few numbers that most tests care for."""

from __future__ import annotations

from collections.abc import Sequence

from support.questions import RecallRequest, Rule, ScoredEntry
from support.rules import ScoringProfile, ScoringSettings, Trial
from zeroclaw_tui.scoring import injection


def judge(
    entries: Sequence[ScoredEntry],
    profile: ScoringProfile,
    threshold: float,
    rule: Rule,
    as_of: str,
    *,
    session_id: str | None,
) -> tuple[ScoredEntry, ...]:
    """The entries judged for a turn of this rule and session."""
    request = RecallRequest("", as_of=as_of, rule=rule, session_id=session_id)
    return injection.judge(entries, Trial(request, profile, ScoringSettings(threshold=threshold)))
