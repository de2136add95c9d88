"""The record of what each stage of a recall did with one memory, for its explanation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.recall import ScoredEntry, Stop
from zeroclaw_tui.scoring.decide import LIKE_SCORE, Answer, FusedRanking, StoreRanking, passes_scanner
from zeroclaw_tui.scoring.evidence import (
    DEFAULT_NAMESPACE,
    FilterName,
    OwnEvidence,
    StageEvidence,
    StageHits,
    WordShare,
    is_durable,
    is_within_bounds,
    word_shares,
)
from zeroclaw_tui.scoring.injection import compared_score, in_prompt_order, judge, scan
from zeroclaw_tui.scoring.profiles import OwnRule, Trial
from zeroclaw_tui.scoring.stages import search_mode, session_scopes

if TYPE_CHECKING:
    import numpy as np

StageName = (
    Literal["query", "candidates", "merge", "like", "recent", "rank", "limit", "scanner", "rerank", "threshold"]
    | Literal["skip", "cap", "recall"]
    | FilterName
)
"""The stages that can stop a memory on its way to the prompt.

"candidates": no stage found it, or each ranked it below its first 2 x limit hits. "merge": below the limit of the fused
list. "rank": a backend's own rule does not find it. "limit": below the limit of the recall. "rerank": a duplicate of a
memory before it, or below the limit after the rerank stage. "recall": ZeroClaw's own recall fails.
"""
FAILS_WITHOUT_VECTOR = "ZeroClaw's own recall fails without the message's vector, so the agent gets nothing."
NoVector = Literal["no query vector", "mode", "no embedding", "other length", "not above 0", "out of scope"]


def is_same(one: MemoryEntry, other: MemoryEntry) -> bool:
    """Whether two entries are the same memory, by handle, or by id if one of them has its id as the handle."""
    return one.handle == other.handle or (one.id == other.id and one.id in (one.handle, other.handle))


class StoreFacts(NamedTuple):
    """The facts about the store that a record needs besides its evidence. `name` is the backend's.

    `why_no_vector` is a short reason why the message has no vector; `recall_fails` says that ZeroClaw needs it.
    """

    name: str
    rule: OwnRule = OwnRule()
    has_sessions: bool = True
    why_no_vector: str = ""
    recall_fails: bool = False


class StagePlace(NamedTuple):
    """A row's position in the keyword or the vector stage before any limit.

    `rank` counts from 1 among the `hits` visible to this stage; the first `offered` pass. `score` is -bm25 or the
    cosine, `part` the value that is weighted: the share of the best or the cosine, None if the row does not pass.
    """

    rank: int
    hits: int
    offered: int
    score: float
    part: float | None


@dataclass(eq=False, repr=False)
class Record:
    """The path of one memory through one recall, in numbers; a stage that it did not reach is None."""

    entry: MemoryEntry
    answer: Answer
    store: StoreFacts
    ranking: StoreRanking | OwnEvidence
    """The recall of its session scope."""
    shares: Sequence[WordShare]
    """The message's words in the memory."""
    judged: ScoredEntry | None = None
    """Its entry in the recall's answer, possibly withheld, if it got that far."""
    judged_alone: ScoredEntry | None = None
    """If it does not get that far: the result of scanner and injection rules for it alone, with its score if known."""
    keyword: StagePlace | None = None
    vector: StagePlace | None = None
    no_vector: NoVector | None = None
    out_of_stages: Literal["session", "agent"] | None = None
    """The filter that excludes it inside the stages themselves (ZeroClaw >= 0.8.4)."""
    excluded_by: Sequence[FilterName] = ()
    """All filters that exclude it."""
    store_rows: int = 0
    """The number of memories in the store."""
    store_limit: int = 0
    """The limit of the fused list."""
    fused_score: float | None = None
    fused_rank: int | None = None
    """Its position in the fused list."""
    like_rank: int | None = None
    """Its position among the results of the LIKE fall-back, if that ran."""
    rank: int | None = None
    """Its position in the recall."""
    stopped_at: StageName | None = None
    """The first stage that stops it; None if it is in the prompt."""
    place: int | None = None
    """Its position in the prompt, from 1, of `injected`; with a `program` both are about that program's results."""
    injected: int = 0

    @property
    def trial(self) -> Trial:
        """The recall that was decided."""
        return self.answer.decision.trial

    @property
    def path(self) -> str:
        """The kind of recall: "hybrid", "keyword", "vector", "like", "recent", or the backend's own name."""
        return self.ranking.mode

    @property
    def is_of_store_alone(self) -> bool:
        """Whether an agent's recall may differ, because it goes through the content scanner and this one does not."""
        return self.trial.request.layer == "store" and self.trial.profile.scans_content

    @property
    def has_own_rule(self) -> bool:
        """Whether the backend has its own ranking rule."""
        return isinstance(self.ranking, OwnEvidence)

    @property
    def program(self) -> str | None:
        """The other program that the rule belongs to."""
        return self.ranking.program if isinstance(self.ranking, OwnEvidence) else None

    @property
    def _fused(self) -> FusedRanking | None:
        return None if isinstance(self.ranking, OwnEvidence) else self.ranking.fused

    @property
    def merged(self) -> bool:
        """Whether scores were weighted and the list limited to `store_limit`."""
        return self._fused is not None and self._fused.is_merged

    @property
    def best_raw(self) -> float | None:
        """The highest -bm25 of the batch, by which keyword scores are divided."""
        return None if self._fused is None else self._fused.best_raw

    @property
    def keyword_failed(self) -> bool:
        """Whether FTS5 could not parse the message."""
        return not isinstance(self.ranking, OwnEvidence) and bool(self.ranking.evidence.keyword_notes)

    @property
    def candidate(self) -> ScoredEntry | None:
        """Its entry as judged by scanner and injection rules, whether or not it gets that far."""
        return self.judged or self.judged_alone

    @property
    def stop(self) -> Stop:
        """The decision of the injection rules for a memory that they stop."""
        assert self.judged is not None
        assert self.judged.stop is not None
        return self.judged.stop

    @property
    def compared_score(self) -> float | None:
        """The score that is compared with the threshold, whether or not the memory gets that far."""
        return None if self.candidate is None else compared_score(self.candidate)

    @property
    def has_decayed(self) -> bool:
        """Whether decay puts its score below the threshold, or below half of the original, whichever is lower."""
        candidate = self.candidate
        if candidate is None or candidate.score is None or candidate.decayed is None:
            return False
        return candidate.decayed < min(self.trial.settings.threshold, candidate.score / 2)

    @property
    def numbers(self) -> dict[str, Any]:
        """The numbers in the JSON of the explain command."""
        return {
            "words": [share._asdict() for share in self.shares],
            "keyword": None if self.keyword is None else self.keyword._asdict(),
            "vector": None if self.vector is None else self.vector._asdict(),
            "best_bm25": self.best_raw,
            "fused_score": self.fused_score,
            "fused_rank": self.fused_rank,
            "rank": self.rank,
            "compared_score": self.compared_score,
            "threshold": self.trial.settings.threshold,
        }


def record_of(answer: Answer, entry: MemoryEntry, store: StoreFacts) -> Record:
    """Record what each stage did with a memory of the store, recalled or not; `entry` has its full content.

    With several session scopes, the record is for the one that recalls it, or else for its own session.
    """
    trial = answer.decision.trial
    judged = next((each for each in (*answer.results, *answer.withheld) if is_same(each.entry, entry)), None)
    scopes = session_scopes(trial.request)
    own_scope = scopes.index(entry.session_id) if entry.session_id in scopes else 0
    ranking = answer.decision.rankings[own_scope if judged is None else judged.scope]
    evidence = ranking if isinstance(ranking, OwnEvidence) else ranking.evidence
    record = Record(entry, answer, store, ranking, word_shares(evidence, entry, trial.request.query), judged=judged)
    if isinstance(ranking, OwnEvidence):
        _follow_own_rule(record, ranking)
    else:
        _follow_stages(record, ranking)
    injected = in_prompt_order(answer.results) if record.program is None else answer.results
    record.injected = len(injected)
    if judged is not None:
        record.rank = judged.rank
        record.stopped_at = None if judged.stop is None else judged.stop.stage
        record.place = injected.index(judged) + 1 if judged in injected else None
    elif record.program is None:
        score = record.fused_score
        if record.path == "like":
            score = None if record.like_rank is None else LIKE_SCORE
        kind = scan(entry.content, trial.settings.threat_scan) if passes_scanner(trial) else None
        record.judged_alone = judge([ScoredEntry(entry, 1, score, withheld=kind)], trial)[0]
    if store.recall_fails:
        record.stopped_at, record.place, record.injected = "recall", None, 0
    return record


def _follow_own_rule(record: Record, evidence: OwnEvidence) -> None:
    """Record the path through a recall by a backend's own rule, up to its answer."""
    at = next((at for at, scored in enumerate(evidence.entries) if is_same(scored.entry, record.entry)), None)
    if at is None:
        record.excluded_by = [*_own_filters(record.entry, record.trial, record.store)]
        record.stopped_at = next(iter(record.excluded_by), "rank")
        return
    before = evidence.entries[:at]
    withheld = sum(is_same(scored.entry, each.entry) for each in before for scored in record.answer.withheld)
    record.fused_score, record.rank, record.stopped_at = evidence.entries[at].score, at + 1 - withheld, "limit"


def _own_filters(entry: MemoryEntry, trial: Trial, store: StoreFacts) -> Iterator[FilterName]:
    """List the filters of a backend's own rule that exclude a memory; fields that the store lacks do not filter."""
    request, profile, rule = trial.request, trial.profile, store.rule
    if not is_within_bounds(entry, request) and rule.reads_times and profile.has_time_bounds:
        yield "time"
    has_sessions = entry.session_id is not None or store.has_sessions
    is_of_session = None in session_scopes(request) or entry.session_id in session_scopes(request)
    crosses = profile.durable_rows_cross_sessions and rule.crosses_sessions and is_durable(entry)
    if has_sessions and not is_of_session and not crosses:
        yield "session"
    if entry.agent is not None and request.agents and entry.agent not in request.agents:
        yield "agent"
    has_namespaces = entry.namespace is not None or rule.has_one_namespace
    if has_namespaces and request.namespace not in (None, entry.namespace or DEFAULT_NAMESPACE):
        yield "namespace"


def _follow_stages(record: Record, ranking: StoreRanking) -> None:
    """Record the path through ZeroClaw's hybrid search, up to its answer."""
    evidence, scope, entry = ranking.evidence, ranking.scope, record.entry
    at = _index(evidence.rows.handles, entry.handle)
    agent_id = evidence.rows.agents_by_alias.get(entry.agent or "", entry.agent)
    record.store_rows, record.store_limit = evidence.store_rows, scope.store_limit
    record.excluded_by = scope.excluded_by(entry, agent_id, crosses=ranking.listed is None)
    record.rank = _rank(ranking, record.answer, at)
    if ranking.mode == "like" and ranking.listed is not None:
        listed_at = _index(ranking.listed, at)
        record.like_rank = None if listed_at is None else listed_at + 1
    if ranking.fused is not None:
        _follow_fusion(record, ranking, ranking.fused, at)
        if scope.profile.filters_in_sql:
            is_elsewhere = scope.vector_live and not scope.is_of_session(entry) and not is_durable(entry)
            is_of_agents = scope.agent_ids is None or agent_id in scope.agent_ids
            record.out_of_stages = "session" if is_elsewhere else None if is_of_agents else "agent"
    record.stopped_at = _stop(ranking, record)


def _follow_fusion(record: Record, ranking: StoreRanking, order: FusedRanking, at: int | None) -> None:
    """Record positions and scores in both stages and after fusion; `at` is the row's index in the row table."""
    if at is not None:
        offered = ranking.scope.stage_limit
        record.keyword = _place(order.keyword, at, offered, order.share)
        record.vector = _place(order.vector, at, offered, lambda cosine: cosine)
        fused_at = _index(order.positions, at)
        if fused_at is not None:
            record.fused_score, record.fused_rank = float(order.scores[fused_at]), fused_at + 1
    if record.vector is None:
        record.no_vector = _no_vector(ranking.evidence, record.trial, record.entry)


def _stop(ranking: StoreRanking, record: Record) -> StageName:
    """Find the first stage that stops a memory that the store does not return, or returns below the limit."""
    evidence, scope, entry = ranking.evidence, ranking.scope, record.entry
    if ranking.fused is None and ranking.listed is None:
        return "query"
    if record.rank is not None:
        return "limit"
    if ranking.listed is None and record.fused_rank is None:
        # Regardless of the requested session and agents.
        is_hit = _index(evidence.keyword_handles, entry.handle) is not None
        is_hit = is_hit or (scope.vector_live and _index(evidence.vector_handles, entry.handle) is not None)
        if record.keyword is not None or record.vector is not None or not is_hit:
            return "candidates"
        return record.out_of_stages or ("candidates" if scope.is_of_session(entry) else "session")
    if ranking.listed is None and record.merged and (record.fused_rank or 0) > scope.store_limit:
        return "merge"
    if record.excluded_by:
        return record.excluded_by[0]
    return "limit" if ranking.listed is None else "like" if record.path == "like" else "recent"


def _no_vector(evidence: StageEvidence, trial: Trial, entry: MemoryEntry) -> NoVector:
    """Find the reason why a memory has no vector score."""
    if search_mode(trial) == "bm25":
        return "mode"
    if not evidence.vector_live:
        return "no query vector"
    if not entry.embedding_dimensions:
        return "no embedding"
    if evidence.dimensions is not None and entry.embedding_dimensions != evidence.dimensions:
        return "other length"
    return "not above 0" if _index(evidence.vector_handles, entry.handle) is None else "out of scope"


def _rank(ranking: StoreRanking, answered: Answer, at: int | None) -> int | None:
    """The position in the recall, also below the limit; withheld memories do not count."""
    passed_at = _index(ranking.passing, at)
    if passed_at is None:
        return None
    positions = [_index(ranking.evidence.rows.handles, scored.entry.handle) for scored in answered.withheld]
    places = [_index(ranking.passing, position) for position in positions]
    return passed_at + 1 - sum(place is not None and place < passed_at for place in places)


def _place(hits: StageHits, at: int, offered: int, part_of: Callable[[float], float]) -> StagePlace | None:
    count = len(hits.positions)
    place, score = hits.hit(at, count)
    if place is None or score is None:
        return None
    return StagePlace(place, count, offered, score, part_of(score) if place <= offered else None)


def _index(values: np.ndarray, value: object) -> int | None:
    """Find the index of an int in an array; None if it is missing, or if the value is not an int."""
    if not isinstance(value, int):
        return None
    found = (values == value).nonzero()[0]
    return int(found[0]) if len(found) else None
