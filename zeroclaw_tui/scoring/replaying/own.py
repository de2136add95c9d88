"""A recall of a backend with a rule of its own, decided from its whole ranking."""

from __future__ import annotations

from collections.abc import Sequence

from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.recall import RecallRequest, ScoredEntry
from zeroclaw_tui.scoring.agent_view import asked_of_store
from zeroclaw_tui.scoring.evidence import OwnEvidence
from zeroclaw_tui.scoring.trial import Trial


def recalled(evidence: OwnEvidence, limit: int) -> list[ScoredEntry]:
    """What the store returns at a limit."""
    found = zip(evidence.entries, _places(evidence), strict=True)
    return [scored for scored, place in found if place <= max(limit, 0)]


def serves_own(evidence: OwnEvidence, trial: Trial) -> bool:
    """Whether the backend would rank the same rows in the same order for this trial."""
    if _without_judging(evidence.request) != _without_judging(trial.request):
        return False
    if evidence.profile and evidence.profile != trial.profile.version:
        return False
    limit = asked_of_store(trial.request, trial.profile).limit
    if evidence.is_of_limit:
        if limit != evidence.request.limit:
            return False
    elif not evidence.is_complete and limit > max(_places(evidence), default=0):
        return False
    asked, now = evidence.settings, trial.settings
    if asked is None:
        return True
    weighs = evidence.request.own_fusion
    same_weights = (asked.vector_weight, asked.keyword_weight) == (now.vector_weight, now.keyword_weight)
    return asked.search_mode == now.search_mode and (same_weights or not weighs)


def entry_place(evidence: OwnEvidence, entry: MemoryEntry) -> int | None:
    """Where in the entries a memory stands, from 0; None when the ranking does not have it."""
    for at, scored in enumerate(evidence.entries):
        if is_same(scored.entry, entry):
            return at
    return None


def is_same(one: MemoryEntry, other: MemoryEntry) -> bool:
    """Whether two readings are of one memory."""
    return one.handle == other.handle if one.handle != "" and other.handle != "" else one.id == other.id


def _places(evidence: OwnEvidence) -> Sequence[int]:
    return [scored.rank for scored in evidence.entries] if evidence.places is None else evidence.places


def _without_judging(request: RecallRequest) -> tuple[object, ...]:
    return (
        request.query, request.session_id, request.agents or None, request.namespace, request.since, request.until,
        request.own_fusion, request.layer,
    )  # fmt: skip
