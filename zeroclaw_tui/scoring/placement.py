"""The way of one memory through a decided recall, in numbers: where it stands in every stage, and what stops it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from zeroclaw_tui.memory.entry import Handle, MemoryEntry
from zeroclaw_tui.memory.recall import ScoredEntry
from zeroclaw_tui.scoring.decide import (
    LIKE_SCORE,
    Answer,
    Decision,
    Fused,
    StoreRanking,
    answer,
    asked_of_store,
    is_same,
    own_place,
    passes_scanner,
)
from zeroclaw_tui.scoring.evidence import DURABLE, OwnEvidence, Scope, StageEvidence, StageHits, masks_of
from zeroclaw_tui.scoring.injection import Blend, blend_of, judge, pool_size, scan
from zeroclaw_tui.scoring.profiles import Trial, mode_in

if TYPE_CHECKING:
    import numpy as np

StageName = Literal[
    "query", "candidates", "merge", "superseded", "time", "session", "agent", "namespace", "like", "recent", "rank",
    "limit", "scanner", "rerank", "threshold", "skip", "cap",
]  # fmt: skip
"""Where a memory can be stopped on its way to the prompt, in the order it meets them.

"candidates": no stage found it, or each ranked it behind the 2 x limit it passes on. "merge": behind the limit of the
fused list. "rank": a backend's own rule does not find it. "limit": behind the limit of what is recalled.
"rerank": a double of a memory before it, or behind the limit after the rerank stage.
"""

NoVector = Literal["no query vector", "mode", "no embedding", "other length", "not above 0", "out of scope"]


@dataclass(frozen=True, slots=True)
class StagePlace:
    """A row's place in the keyword or the vector stage before any cut.

    `rank` counts from 1 among the `hits` this stage may see; the first `offered` go on. `score` is -bm25 or the cosine.
    """

    rank: int
    hits: int
    offered: int
    score: float

    @property
    def goes_on(self) -> bool:
        """Whether the stage passes it on."""
        return self.rank <= self.offered


@dataclass(frozen=True, slots=True)
class Placement:
    """The way of one memory through one recall, in numbers; what it did not meet is None.

    `path` is how the recall as a whole went: "hybrid", "keyword", "vector", "like", "recent", or the backend's own
    name. `merged` says that scores were weighed and cut to `merge_limit`. `best_raw` is the highest -bm25 of the batch,
    which keyword scores are divided by. `fused_rank` counts in the fused list, `rank` in what is recalled.
    `like_rank` is its place among what the LIKE fall-back finds, where that ran.
    `stopped_at` is the first stage that stops it, None when it is in the prompt; `place` is its place there from 1, of
    `injected`. `judged` is its entry in the recall's answer (withheld ones too), where it came so far.
    `recalled` is how many rows a scope recalls at most; `blend` is what the rerank stage made its score of, where it
    acts and the memory has one.
    `out_of_stages` says that session or agent keep it out of the stages themselves (ZeroClaw >= 0.8.4).
    """

    entry: MemoryEntry
    path: str
    store_limit: int
    merged: bool = False
    merge_limit: int | None = None
    keyword: StagePlace | None = None
    keyword_score: float | None = None
    best_raw: float | None = None
    vector: StagePlace | None = None
    no_vector: NoVector | None = None
    out_of_stages: Literal["session", "agent"] | None = None
    fused_score: float | None = None
    fused_rank: int | None = None
    like_rank: int | None = None
    rank: int | None = None
    judged: ScoredEntry | None = None
    stopped_at: StageName | None = None
    place: int | None = None
    injected: int = 0
    recalled: int = 0
    blend: Blend | None = None
    unreached: ScoredEntry | None = None
    """Where it does not come so far: what scanner and injection rules make of it alone, with its score if known."""

    @property
    def candidate(self) -> ScoredEntry | None:
        """It as scanner and injection rules judge it, whether or not it comes so far."""
        return self.judged or self.unreached


def placement_of(decision: Decision, rows: Mapping[Handle, MemoryEntry], entry: MemoryEntry) -> Placement:
    """The way of any memory of the store, recalled or not; `entry` is it with its whole content.

    Of several session scopes it is the way through the one that recalls it, else through its own session's.
    """
    answered = answer(decision, rows)
    judged = _judged(answered, entry)
    scopes = decision.trial.request.scopes
    scope = judged.scope if judged is not None else scopes.index(entry.session_id) if entry.session_id in scopes else 0
    evidence, ranking = decision.evidence[scope], decision.rankings[scope]
    if ranking is None:
        assert isinstance(evidence, OwnEvidence)
        way = _own_way(evidence, decision.trial, answered, judged, entry)
        if evidence.program is not None:
            return way
    else:
        assert isinstance(evidence, StageEvidence)
        way = _stage_way(evidence, ranking, decision.trial, answered, judged, entry)
    return way if judged is not None else replace(way, unreached=_judged_alone(way, decision.trial))


def _judged_alone(way: Placement, trial: Trial) -> ScoredEntry:
    """What scanner and injection rules make of a memory that is stopped before them."""
    score = way.fused_score
    if way.path == "like":
        score = None if way.like_rank is None else LIKE_SCORE
    kind = scan(way.entry.content, trial.settings.threat_scan) if passes_scanner(trial) else None
    return judge([ScoredEntry(way.entry, 1, score, withheld=kind)], trial)[0]


def _stage_way(
    evidence: StageEvidence,
    decision: StoreRanking,
    trial: Trial,
    answered: Answer,
    judged: ScoredEntry | None,
    entry: MemoryEntry,
) -> Placement:
    """The way through ZeroClaw's hybrid search."""
    scope, order = decision.scope, decision.fused
    at = _position(evidence, entry)
    keyword = vector = fused_at = None
    if order is not None and at is not None:
        keyword = _place(order.keyword, at, scope.stage_limit)
        vector = _place(order.vector, at, scope.stage_limit)
        fused_at = _index(order.positions, at)
    passed_at = _index(decision.passing, at)
    listed_at = None if decision.listed is None else _index(decision.listed, at)
    merged = order is not None and order.is_merged
    stop = _stop_of(judged) if judged is not None else _stop(evidence, decision, at, fused_at, entry)
    return Placement(
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
        rank=_rank(evidence, decision, passed_at, judged, answered.withheld),
        judged=judged,
        stopped_at=stop,
        place=_place_in_prompt(answered.results, judged),
        injected=_injected(answered.results),
        recalled=pool_size(trial),
        blend=_blend(judged, trial),
    )


def _own_way(
    evidence: OwnEvidence, trial: Trial, answered: Answer, judged: ScoredEntry | None, entry: MemoryEntry
) -> Placement:
    """The way through a recall by a backend's own rule."""
    limit = asked_of_store(trial).limit
    at = own_place(evidence, entry)
    rank = None
    stop: StageName | None = "rank"
    if judged is not None:
        rank, stop = judged.rank, _stop_of(judged)
    elif at is not None:
        withheld = answered.withheld
        withheld_before = sum(
            is_same(scored.entry, each.entry) for each in evidence.entries[:at] for scored in withheld
        )
        rank, stop = at + 1 - withheld_before, "limit"
    return Placement(
        entry=entry,
        path=evidence.mode,
        store_limit=max(limit, 0),
        fused_score=None if at is None else evidence.entries[at].score,
        fused_rank=None if at is None else at + 1,
        rank=rank,
        judged=judged,
        stopped_at=stop,
        place=_place_in_prompt(answered.results, judged),
        injected=_injected(answered.results),
        recalled=pool_size(trial),
        blend=_blend(judged, trial),
    )


def _blend(judged: ScoredEntry | None, trial: Trial) -> Blend | None:
    return blend_of(judged, trial) if judged is not None and trial.reranks else None


def _stop(
    evidence: StageEvidence, decision: StoreRanking, at: int | None, fused_at: int | None, entry: MemoryEntry
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
    excluded = _out_of_stages(evidence, scope, entry)
    if excluded is not None:
        return excluded
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
    decision: StoreRanking,
    passed_at: int | None,
    judged: ScoredEntry | None,
    withheld: Sequence[ScoredEntry],
) -> int | None:
    """The place among what is recalled, counted on behind the limit; withheld ones do not count."""
    if judged is not None:
        return judged.rank
    if passed_at is None:
        return None
    withheld_before = sum(
        1
        for scored in withheld
        if (place := _index(decision.passing, _position(evidence, scored.entry))) is not None and place < passed_at
    )
    return passed_at + 1 - withheld_before


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


def _judged(answered: Answer, entry: MemoryEntry) -> ScoredEntry | None:
    return next((each for each in (*answered.results, *answered.withheld) if is_same(each.entry, entry)), None)


def _stop_of(judged: ScoredEntry) -> StageName | None:
    if judged.stop is None:
        return None
    # Judged by the rules alone no memory is stopped by the recall as a whole.
    assert judged.stop.stage != "recall"
    return judged.stop.stage


def _place_in_prompt(results: Sequence[ScoredEntry], judged: ScoredEntry | None) -> int | None:
    if judged is None or not judged.injected:
        return None
    before = [scored for scored in results if scored.injected and _order(scored) <= _order(judged)]
    return len(before)


def _order(scored: ScoredEntry) -> int:
    return scored.place or scored.rank


def _injected(results: Sequence[ScoredEntry]) -> int:
    return sum(scored.injected for scored in results)


def lost_of_session(decision: Decision) -> int:
    """How many rows of the request's session a stage found and the recall would have room for, but for that cut.

    0 where the recall is full, and where the session is looked at before the cut: from 0.8.4 on while a vector takes
    part.
    """
    import numpy as np

    evidence, ranking = decision.evidence[0], decision.rankings[0]
    if not isinstance(evidence, StageEvidence) or ranking is None or ranking.fused is None:
        return 0
    scope = ranking.scope
    session_first = scope.profile.filters_in_sql and scope.vector_live
    if scope.request.session_id is None or session_first or len(ranking.candidates) >= scope.request.limit:
        return 0
    masks = masks_of(evidence)
    found = np.union1d(ranking.fused.keyword.positions, ranking.fused.vector.positions)
    allowed = (
        masks.let_through(scope)[found]
        & masks.of_agents(scope.request.agents)[found]
        & masks.of_namespace(scope.request.namespace)[found]
    )
    recalled = list(ranking.handles)
    return int(np.count_nonzero(~np.isin(evidence.rows.handles[found[allowed]], recalled)))
