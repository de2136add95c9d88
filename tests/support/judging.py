"""Judge recalled entries for a prompt, with only the parameters that most tests need."""

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
    """Judge the entries for a turn with this rule and session."""
    request = RecallRequest("", as_of=as_of, rule=rule, session_id=session_id)
    return injection.judge(entries, Trial(request, profile, ScoringSettings(threshold=threshold)))
