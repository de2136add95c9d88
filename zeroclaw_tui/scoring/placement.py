"""The way of one memory through a decided recall, in numbers: where it is in every stage, and what stops it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from zeroclaw_tui.memory.entry import Handle, MemoryEntry
from zeroclaw_tui.memory.recall import ScoredEntry
from zeroclaw_tui.scoring.decide import (
    LIKE_SCORE,
    Answer,
    Decision,
    StoreRanking,
    answer,
    asked_of_store,
    is_same,
    passes_scanner,
)
from zeroclaw_tui.scoring.evidence import FILTERS, FilterName, OwnEvidence, StageEvidence, StageHits, is_durable
from zeroclaw_tui.scoring.injection import in_prompt_order, judge
from zeroclaw_tui.scoring.profiles import Trial, mode_in
from zeroclaw_tui.scoring.scanner import scan

if TYPE_CHECKING:
    import numpy as np

StageName = (
    Literal["query", "candidates", "merge", "like", "recent", "rank", "limit", "scanner", "rerank", "threshold"]
    | Literal["skip", "cap"]
    | FilterName
)
"""Where a memory can be stopped on its way to the prompt.

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

    @property
    def numbers(self) -> dict[str, int | bool]:
        """Its place as the explain command prints it."""
        return {"rank": self.rank, "hits": self.hits, "offered": self.offered, "goes_on": self.goes_on}


@dataclass(frozen=True, slots=True)
class Placement:
    """The way of one memory through one recall, in numbers; what it did not meet is None.

    `path` is how the recall as a whole went: "hybrid", "keyword", "vector", "like", "recent", or the backend's own
    name. `merged` says that scores were weighed and cut to `store_limit`. `best_raw` is the highest -bm25 of the batch,
    which keyword scores are divided by. `fused_rank` counts in the fused list, `rank` in what is recalled.
    `like_rank` is its place among what the LIKE fall-back finds, where that ran.
    `stopped_at` is the first stage that stops it, None when it is in the prompt; `place` is its place there from 1, of
    `injected`. `left_out_by` are all filters that leave it out. `out_of_stages` says that session or agent keep it out
    of the stages themselves (ZeroClaw >= 0.8.4).
    """

    entry: MemoryEntry
    path: str
    store_limit: int
    merged: bool = False
    keyword: StagePlace | None = None
    keyword_score: float | None = None
    best_raw: float | None = None
    keyword_failed: bool = False
    """Whether FTS5 could not read the message."""
    vector: StagePlace | None = None
    no_vector: NoVector | None = None
    out_of_stages: Literal["session", "agent"] | None = None
    left_out_by: tuple[FilterName, ...] = ()
    fused_score: float | None = None
    fused_rank: int | None = None
    like_rank: int | None = None
    rank: int | None = None
    stopped_at: StageName | None = None
    place: int | None = None
    injected: int = 0
    judged: ScoredEntry | None = None
    """Its entry in the recall's answer (withheld ones too), where it came so far."""
    judged_alone: ScoredEntry | None = None
    """Where it does not come so far: what scanner and injection rules make of it alone, with its score if known."""

    @property
    def candidate(self) -> ScoredEntry | None:
        """It as scanner and injection rules judge it, whether or not it comes so far."""
        return self.judged or self.judged_alone


def placement_of(decision: Decision, rows: Mapping[Handle, MemoryEntry], entry: MemoryEntry) -> Placement:
    """The way of any memory of the store, recalled or not; `entry` is it with its whole content.

    Of several session scopes it is the way through the one that recalls it, else through its own session's.
    """
    answered, trial = answer(decision, rows), decision.trial
    judged = next((each for each in (*answered.results, *answered.withheld) if is_same(each.entry, entry)), None)
    scopes = trial.request.scopes
    scope = judged.scope if judged is not None else scopes.index(entry.session_id) if entry.session_id in scopes else 0
    ranking = decision.rankings[scope]
    if isinstance(ranking, OwnEvidence):
        way = _own_way(ranking, trial, answered, entry)
    else:
        way = _stage_way(ranking, trial, answered, entry)
    in_prompt = in_prompt_order(answered.results)
    way = replace(way, judged=judged, injected=len(in_prompt))
    if judged is not None:
        place = in_prompt.index(judged) + 1 if judged.injected else None
        # Judged by the rules alone no memory is stopped by the recall as a whole.
        stop = judged.stop.stage if judged.stop is not None and judged.stop.stage != "recall" else None
        return replace(way, rank=judged.rank, stopped_at=stop, place=place)
    if isinstance(ranking, OwnEvidence) and ranking.program is not None:
        return way
    score = LIKE_SCORE if way.like_rank is not None else None if way.path == "like" else way.fused_score
    kind = scan(entry.content, trial.settings.threat_scan) if passes_scanner(trial) else None
    return replace(way, judged_alone=judge([ScoredEntry(entry, 1, score, withheld=kind)], trial)[0])


def _own_way(evidence: OwnEvidence, trial: Trial, answered: Answer, entry: MemoryEntry) -> Placement:
    """The way through a recall by a backend's own rule, up to its answer."""
    at = next((at for at, scored in enumerate(evidence.entries) if is_same(scored.entry, entry)), None)
    way = Placement(entry, evidence.mode, max(asked_of_store(trial).limit, 0), stopped_at="rank")
    if at is None:
        return way
    before = sum(is_same(scored.entry, each.entry) for each in evidence.entries[:at] for scored in answered.withheld)
    score = evidence.entries[at].score
    return replace(way, fused_score=score, fused_rank=at + 1, rank=at + 1 - before, stopped_at="limit")


def _stage_way(ranking: StoreRanking, trial: Trial, answered: Answer, entry: MemoryEntry) -> Placement:
    """The way through ZeroClaw's hybrid search, up to its answer."""
    evidence, scope, order = ranking.evidence, ranking.scope, ranking.fused
    at = _index(evidence.rows.handles, entry.handle)
    listed_at = None if ranking.listed is None else _index(ranking.listed, at)
    agent_id = evidence.rows.agents_by_alias.get(entry.agent or "", entry.agent)
    is_of_agents = scope.agent_ids is None or agent_id in scope.agent_ids
    left_out_by = scope.left_out_by(entry, crosses=ranking.listed is None)
    if not is_of_agents and "agent" not in left_out_by:
        left_out_by = sorted({*left_out_by, "agent"}, key=FILTERS.index)
    way = Placement(
        entry,
        ranking.mode,
        scope.store_limit,
        left_out_by=tuple(left_out_by),
        like_rank=listed_at + 1 if ranking.mode == "like" and listed_at is not None else None,
        rank=_rank(ranking, answered, at),
    )
    if order is not None:
        keyword = vector = fused_at = None
        out_of_stages: Literal["session", "agent"] | None = None
        if at is not None:
            keyword = _place(order.keyword, at, scope.stage_limit)
            vector = _place(order.vector, at, scope.stage_limit)
            fused_at = _index(order.positions, at)
        if scope.profile.filters_in_sql:
            is_elsewhere = scope.vector_live and not scope.is_of_session(entry) and not is_durable(entry)
            out_of_stages = "session" if is_elsewhere else None if is_of_agents else "agent"
        way = replace(
            way,
            merged=order.is_merged,
            keyword=keyword,
            keyword_score=order.share(keyword.score) if keyword and keyword.goes_on else None,
            best_raw=order.best_raw,
            keyword_failed=bool(evidence.keyword_notes),
            vector=vector,
            no_vector=None if vector is not None else _no_vector(evidence, trial, entry),
            out_of_stages=out_of_stages,
            fused_score=None if fused_at is None else float(order.scores[fused_at]),
            fused_rank=None if fused_at is None else fused_at + 1,
        )
    return replace(way, stopped_at=_stop(ranking, way))


def _stop(ranking: StoreRanking, way: Placement) -> StageName:
    """The first stage that stops a memory the store's recall does not return, or returns behind the limit."""
    evidence, scope, entry = ranking.evidence, ranking.scope, way.entry
    if ranking.fused is None and ranking.listed is None:
        return "query"
    if way.rank is not None:
        return "limit"
    if ranking.listed is None and way.fused_rank is None:
        # Whatever session and agents are asked for.
        is_hit = _index(evidence.keyword_handles, entry.handle) is not None
        is_hit = is_hit or (scope.vector_live and _index(evidence.vector_handles, entry.handle) is not None)
        if way.keyword is not None or way.vector is not None or not is_hit:
            return "candidates"
        return way.out_of_stages or ("candidates" if scope.is_of_session(entry) else "session")
    if ranking.listed is None and way.merged and (way.fused_rank or 0) > scope.store_limit:
        return "merge"
    if way.left_out_by:
        return way.left_out_by[0]
    return "limit" if ranking.listed is None else "like" if way.path == "like" else "recent"


def _no_vector(evidence: StageEvidence, trial: Trial, entry: MemoryEntry) -> NoVector:
    """Why a memory has no vector score."""
    if mode_in(trial.settings, trial.profile) == "bm25":
        return "mode"
    if not evidence.vector_live:
        return "no query vector"
    if not entry.embedding_dimensions:
        return "no embedding"
    if evidence.dimensions is not None and entry.embedding_dimensions != evidence.dimensions:
        return "other length"
    return "not above 0" if _index(evidence.vector_handles, entry.handle) is None else "out of scope"


def _rank(ranking: StoreRanking, answered: Answer, at: int | None) -> int | None:
    """The place among what is recalled, counted on behind the limit; withheld ones do not count."""
    passed_at = _index(ranking.passing, at)
    if passed_at is None:
        return None
    positions = [_index(ranking.evidence.rows.handles, scored.entry.handle) for scored in answered.withheld]
    places = [_index(ranking.passing, position) for position in positions]
    return passed_at + 1 - sum(place is not None and place < passed_at for place in places)


def _place(hits: StageHits, at: int, offered: int) -> StagePlace | None:
    place = int(hits.places[at])
    return StagePlace(place, len(hits), offered, float(hits.scores[place - 1])) if place else None


def _index(values: np.ndarray, value: object) -> int | None:
    """Where a number is in an array; None when it is not there, or is none."""
    if not isinstance(value, int):
        return None
    found = (values == value).nonzero()[0]
    return int(found[0]) if len(found) else None
