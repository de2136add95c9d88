"""The way of one memory through a recall that was decided from evidence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.recall import ScoredEntry
from zeroclaw_tui.scoring.agent_view import asked_of_store
from zeroclaw_tui.scoring.evidence import OwnEvidence, StageEvidence
from zeroclaw_tui.scoring.replaying.decision import Decision
from zeroclaw_tui.scoring.replaying.fused import Fused
from zeroclaw_tui.scoring.replaying.own import entry_place, is_same
from zeroclaw_tui.scoring.replaying.stages import StageHits
from zeroclaw_tui.scoring.scope import DURABLE, Scope
from zeroclaw_tui.scoring.settings import mode_in
from zeroclaw_tui.scoring.trial import NoVector, StageName, StagePlace, Trial, Way

if TYPE_CHECKING:
    import numpy as np

_JUDGED: dict[str, StageName] = {
    "withheld": "scanner", "limit": "limit", "threshold": "threshold", "skipped": "skip", "cap": "cap",
}  # fmt: skip
"""How the reasons of the injection rules begin, and which stage each is."""


def stage_way(
    evidence: StageEvidence,
    decision: Decision,
    trial: Trial,
    results: Sequence[ScoredEntry],
    withheld: Sequence[ScoredEntry],
    entry: MemoryEntry,
) -> Way:
    """The way through ZeroClaw's hybrid search."""
    scope, order = decision.scope, decision.fused
    at = _position(evidence, entry)
    judged = _judged(results, withheld, entry)
    keyword = vector = fused_at = None
    if order is not None and at is not None:
        keyword = _place(order.keyword, at, scope.stage_limit)
        vector = _place(order.vector, at, scope.stage_limit)
        fused_at = _index(order.positions, at)
    passed_at = _index(decision.passing, at)
    listed_at = None if decision.listed is None else _index(decision.listed, at)
    merged = order is not None and order.is_merged
    stop = _stop_of(judged) if judged is not None else _stop(evidence, decision, at, fused_at, entry)
    return Way(
        entry=entry,
        path=decision.mode,
        merged=merged,
        store_limit=scope.store_limit,
        merge_limit=scope.store_limit if merged else None,
        keyword=keyword,
        keyword_score=order.share(keyword.score) if order and keyword and keyword.goes_on else None,
        best_raw=None if order is None else order.best_raw,
        vector=vector,
        no_vector=None if order is None or vector is not None else _no_vector(evidence, scope, trial, entry),
        out_of_stages=None if order is None else _out_of_stages(evidence, scope, entry),
        fused_score=None if order is None or fused_at is None else float(order.scores[fused_at]),
        fused_rank=None if fused_at is None else fused_at + 1,
        like_rank=listed_at + 1 if decision.mode == "like" and listed_at is not None else None,
        rank=_rank(evidence, decision, passed_at, judged, withheld),
        judged=judged,
        stopped_at=stop,
        place=_place_in_prompt(results, judged),
        injected=_injected(results),
    )


def own_way(
    evidence: OwnEvidence,
    trial: Trial,
    results: Sequence[ScoredEntry],
    withheld: Sequence[ScoredEntry],
    entry: MemoryEntry,
) -> Way:
    """The way through a recall by a backend's own rule."""
    limit = asked_of_store(trial.request, trial.profile).limit
    at = entry_place(evidence, entry)
    judged = _judged(results, withheld, entry)
    rank = None
    stop: StageName | None = "rank"
    if judged is not None:
        rank, stop = judged.rank, _stop_of(judged)
    elif at is not None:
        kept_back = sum(is_same(scored.entry, each.entry) for each in evidence.entries[:at] for scored in withheld)
        rank, stop = at + 1 - kept_back, "limit"
    return Way(
        entry=entry,
        path=evidence.mode,
        merged=False,
        store_limit=max(limit, 0),
        merge_limit=None,
        keyword=None,
        keyword_score=None,
        best_raw=None,
        vector=None,
        no_vector=None,
        out_of_stages=None,
        fused_score=None if at is None else evidence.entries[at].score,
        fused_rank=None if at is None else at + 1,
        like_rank=None,
        rank=rank,
        judged=judged,
        stopped_at=stop,
        place=_place_in_prompt(results, judged),
        injected=_injected(results),
    )


def _stop(
    evidence: StageEvidence, decision: Decision, at: int | None, fused_at: int | None, entry: MemoryEntry
) -> StageName:
    """The first stage that stops a memory the store's recall does not return, or returns behind the limit."""
    scope, order = decision.scope, decision.fused
    if order is None and decision.listed is None:
        return "query"
    if _index(decision.passing, at) is not None:
        return "limit"
    if decision.listed is None and order is not None:
        if fused_at is None:
            return _out_of_sight(evidence, scope, order, at, entry)
        if order.is_merged and fused_at >= scope.store_limit:
            return "merge"
    crosses = decision.listed is None and scope.crosses_sessions(entry)
    filters: tuple[tuple[bool, StageName], ...] = (
        (scope.keeps_version(entry), "superseded"),
        (scope.keeps_time(entry), "time"),
        (scope.keeps_session(entry) or crosses, "session"),
        (scope.keeps_agent(entry) and _is_of_agents(evidence, scope, entry), "agent"),
        (scope.keeps_namespace(entry), "namespace"),
    )
    for keeps, name in filters:
        if not keeps:
            return name
    if decision.listed is None:
        return "limit"
    return "like" if decision.mode == "like" else "recent"


def _out_of_sight(evidence: StageEvidence, scope: Scope, order: Fused, at: int | None, entry: MemoryEntry) -> StageName:
    """Why no stage passes a memory on: session or agent keep it out where else it would be found."""
    found_by = [
        bool(order.keyword.places[at]) if at is not None else False,
        bool(order.vector.places[at]) if at is not None else False,
    ]
    if any(found_by) or not _is_found_anywhere(evidence, scope, entry):
        return "candidates"
    kept_out = _out_of_stages(evidence, scope, entry)
    if kept_out is not None:
        return kept_out
    return "candidates" if scope.keeps_session(entry) else "session"


def _is_found_anywhere(evidence: StageEvidence, scope: Scope, entry: MemoryEntry) -> bool:
    by_words = _index(evidence.keyword_handles, entry.handle) is not None
    by_vector = scope.vector_live and _index(evidence.vector_handles, entry.handle) is not None
    return by_words or by_vector


def _no_vector(evidence: StageEvidence, scope: Scope, trial: Trial, entry: MemoryEntry) -> NoVector:
    """Why a memory has no vector score."""
    if mode_in(trial.settings, trial.profile) == "bm25":
        return "mode"
    if not evidence.vector_live:
        return "no query vector"
    if not entry.embedding_dimensions:
        return "no embedding"
    if evidence.dimensions is not None and entry.embedding_dimensions != evidence.dimensions:
        return "other length"
    if _index(evidence.vector_handles, entry.handle) is None:
        return "not above 0"
    is_seen = scope.keeps_session(entry) or (_is_durable(entry) and scope.profile.filters_in_sql)
    if is_seen and (not scope.profile.filters_in_sql or _is_of_agents(evidence, scope, entry)):
        # The stage as a whole failed, which its note tells.
        return "no query vector"
    return "out of scope"


def _out_of_stages(evidence: StageEvidence, scope: Scope, entry: MemoryEntry) -> Literal["session", "agent"] | None:
    if not scope.profile.filters_in_sql:
        return None
    if scope.vector_live and not scope.keeps_session(entry) and not _is_durable(entry):
        return "session"
    return None if _is_of_agents(evidence, scope, entry) else "agent"


def _is_durable(entry: MemoryEntry) -> bool:
    return entry.session_id is None and entry.category in DURABLE


def _is_of_agents(evidence: StageEvidence, scope: Scope, entry: MemoryEntry) -> bool:
    """Whether a memory's agent has one of the ids that the statements are restricted to."""
    if scope.agent_ids is None:
        return True
    return evidence.rows.agents_by_alias.get(entry.agent or "", entry.agent) in scope.agent_ids


def _rank(
    evidence: StageEvidence,
    decision: Decision,
    passed_at: int | None,
    judged: ScoredEntry | None,
    withheld: Sequence[ScoredEntry],
) -> int | None:
    """The place among what is recalled, counted on behind the limit; withheld ones do not count."""
    if judged is not None:
        return judged.rank
    if passed_at is None:
        return None
    kept_back = sum(
        1
        for scored in withheld
        if (place := _index(decision.passing, _position(evidence, scored.entry))) is not None and place < passed_at
    )
    return passed_at + 1 - kept_back


def _place(hits: StageHits, at: int, offered: int) -> StagePlace | None:
    place = int(hits.places[at])
    return StagePlace(place, len(hits), offered, float(hits.scores[place - 1])) if place else None


def _position(evidence: StageEvidence, entry: MemoryEntry) -> int | None:
    return _index(evidence.rows.handles, entry.handle)


def _index(values: np.ndarray, value: object) -> int | None:
    """Where a number stands in an array; None when it is not there, or is none."""
    if not isinstance(value, int):
        return None
    found = (values == value).nonzero()[0]
    return int(found[0]) if len(found) else None


def _judged(results: Sequence[ScoredEntry], withheld: Sequence[ScoredEntry], entry: MemoryEntry) -> ScoredEntry | None:
    return next((scored for scored in (*results, *withheld) if is_same(scored.entry, entry)), None)


def _stop_of(judged: ScoredEntry) -> StageName | None:
    because = judged.not_injected_because
    if because is None:
        return None
    return next(stage for start, stage in _JUDGED.items() if because.startswith(start))


def _place_in_prompt(results: Sequence[ScoredEntry], judged: ScoredEntry | None) -> int | None:
    if judged is None or not judged.injected:
        return None
    return sum(scored.injected and scored.rank <= judged.rank for scored in results)


def _injected(results: Sequence[ScoredEntry]) -> int:
    return sum(scored.injected for scored in results)
