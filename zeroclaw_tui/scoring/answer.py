"""The results of a decided recall, made from the contents, and a record of what each stage did with a memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, NamedTuple

from zeroclaw_tui.memory.days import moment
from zeroclaw_tui.memory.entry import Handle, MemoryEntry
from zeroclaw_tui.memory.recall import ScoredEntry, Stop
from zeroclaw_tui.scoring.decide import (
    LIKE_SCORE,
    Decision,
    StoreRanking,
    asked_of_store,
    own_ranking,
    passes_scanner,
)
from zeroclaw_tui.scoring.evidence import (
    DEFAULT_NAMESPACE,
    FILTERS,
    FilterName,
    OwnEvidence,
    StageEvidence,
    StageHits,
    WordShare,
    is_durable,
    word_shares,
)
from zeroclaw_tui.scoring.injection import in_prompt_order, judge, pool_size
from zeroclaw_tui.scoring.profiles import OwnRule, ScoringProfile, Trial, mode_in
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
class Answer:
    """What a recall answers: `results` in the order recalled, and what is withheld from the agent, both judged."""

    decision: Decision
    results: tuple[ScoredEntry, ...]
    withheld: tuple[ScoredEntry, ...]
    mode: str
    scale: str

    def record(self, entry: MemoryEntry, store: StoreFacts) -> Record:
        """Record what each stage did with a memory of the store, recalled or not; `entry` has its whole content.

        With several session scopes, the record is of the one that recalls it, else of its own session.
        """
        trial = self.decision.trial
        judged = next((each for each in (*self.results, *self.withheld) if is_same(each.entry, entry)), None)
        scopes = trial.request.scopes
        own_scope = scopes.index(entry.session_id) if entry.session_id in scopes else 0
        ranking = self.decision.rankings[own_scope if judged is None else judged.scope]
        if isinstance(ranking, OwnEvidence):
            record = _own_record(ranking, self, entry, store)
        else:
            record = _stage_record(ranking, self, entry, store)
        injected = in_prompt_order(self.results) if record.program is None else self.results
        record = replace(record, judged=judged, injected=len(injected))
        if judged is not None:
            place = injected.index(judged) + 1 if judged in injected else None
            stopped_at = None if judged.stop is None or judged.stop.stage == "recall" else judged.stop.stage
            return replace(record, rank=judged.rank, stopped_at=stopped_at, place=place)
        if record.program is not None:
            return record
        score = record.fused_score
        if record.path == "like":
            score = None if record.like_rank is None else LIKE_SCORE
        kind = scan(entry.content, trial.settings.threat_scan) if passes_scanner(trial) else None
        return replace(record, judged_alone=judge([ScoredEntry(entry, 1, score, withheld=kind)], trial)[0])


def answer(decision: Decision, rows: Mapping[Handle, MemoryEntry]) -> Answer:
    """Results and withheld ones, judged for injection.

    `rows` are the wanted rows with their whole content; rows that no longer exist are left out.
    """
    trial = decision.trial
    remaining: list[ScoredEntry] = []
    withheld: list[ScoredEntry] = []
    for scope, ranking in enumerate(decision.rankings):
        if isinstance(ranking, OwnEvidence):
            found = own_ranking(ranking, asked_of_store(trial).limit, trial.request.created_until)
        else:
            found = ranking.results(rows)
        for entries, of_scope in zip((remaining, withheld), _scanned(found, trial), strict=True):
            entries += [replace(scored, scope=scope) for scored in of_scope]
    if len(decision.rankings) > 1:
        remaining, withheld = _joined(remaining, trial.profile), _joined(withheld, trial.profile)
    first = decision.rankings[0]
    if isinstance(first, OwnEvidence) and first.program is not None:
        return Answer(decision, tuple(remaining), tuple(withheld), first.mode, first.scale)
    return Answer(decision, judge(remaining, trial), judge(withheld, trial), first.mode, first.scale)


def _scanned(found: Sequence[ScoredEntry], trial: Trial) -> tuple[list[ScoredEntry], list[ScoredEntry]]:
    """What the agent gets of one scope, ranked again and not yet judged, and what store or scanner withhold.

    The withheld ones keep the rank the store gave them. Layer "store" gets the recall as it is.
    """
    if trial.request.layer == "store":
        return list(found), []
    is_scanned, most = passes_scanner(trial), pool_size(trial)
    remaining: list[ScoredEntry] = []
    withheld: list[ScoredEntry] = []
    for scored in found:
        kind = scored.withheld or (scan(scored.entry.content, trial.settings.threat_scan) if is_scanned else None)
        if kind is not None:
            withheld.append(replace(scored, withheld=kind))
        elif not is_scanned or len(remaining) < most:
            remaining.append(replace(scored, rank=len(remaining) + 1))
    return remaining, withheld


def _joined(entries: Sequence[ScoredEntry], profile: ScoringProfile) -> list[ScoredEntry]:
    """What several scopes recall, one after the other; from 0.8.3 on only the first of each key."""
    first: dict[object, ScoredEntry] = {}
    for at, scored in enumerate(entries):
        first.setdefault(scored.entry.key if profile.joins_scopes else at, scored)
    return [replace(scored, rank=rank) for rank, scored in enumerate(first.values(), 1)]


def is_same(one: MemoryEntry, other: MemoryEntry) -> bool:
    """Whether two readings are of one memory; the id decides where one of them has no other name for its row."""
    return one.handle == other.handle or (one.id == other.id and one.id in (one.handle, other.handle))


# The way of one memory.


class StoreFacts(NamedTuple):
    """What a record needs to know of the store besides its evidence. `name` is the backend's.

    `why_no_vector` says in a few words why the message has no vector.
    """

    name: str
    rule: OwnRule = OwnRule()
    has_sessions: bool = True
    why_no_vector: str = ""


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
class Record:
    """The way of one memory through one recall, in numbers; what it did not meet is None.

    `path` is how the recall as a whole went: "hybrid", "keyword", "vector", "like", "recent", or the backend's own
    name. `is_own_rule` says that a backend ranks by a rule of its own, `program` is the other program whose rule it is.
    `shares` are the message's words in the memory, `store_rows` is how many memories there are.
    `merged` says that scores were weighed and cut to `store_limit`. `best_raw` is the highest -bm25 of the batch,
    which keyword scores are divided by. `fused_rank` counts in the fused list, `rank` in what is recalled.
    `like_rank` is its place among what the LIKE fall-back finds, where that ran.
    `stopped_at` is the first stage that stops it, None when it is in the prompt; `place` is its place there from 1, of
    `injected`; with a `program` both are about what that returns. `left_out_by` are all filters that leave it out.
    `out_of_stages` says that session or agent keep it out of the stages themselves (ZeroClaw >= 0.8.4).
    """

    entry: MemoryEntry
    answer: Answer
    store: StoreFacts
    path: str
    store_limit: int
    shares: Sequence[WordShare]
    is_own_rule: bool = False
    program: str | None = None
    store_rows: int = 0
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
    def trial(self) -> Trial:
        """The recall that was decided."""
        return self.answer.decision.trial

    @property
    def candidate(self) -> ScoredEntry | None:
        """It as scanner and injection rules judge it, whether or not it comes so far."""
        return self.judged or self.judged_alone

    @property
    def stop(self) -> Stop:
        """What the injection rules decided on a memory that they stop."""
        assert self.judged is not None
        assert self.judged.stop is not None
        return self.judged.stop

    @property
    def compared_score(self) -> float | None:
        """The number that is compared with the threshold, whether or not the memory comes so far."""
        return None if self.candidate is None else self.candidate.compared_score

    @property
    def has_faded(self) -> bool:
        """Whether its age alone keeps it below the threshold, or below half of what it was."""
        candidate = self.candidate
        if candidate is None or candidate.score is None or candidate.decayed is None:
            return False
        return candidate.decayed < min(self.trial.settings.threshold, candidate.score / 2)


def _own_record(evidence: OwnEvidence, answered: Answer, entry: MemoryEntry, store: StoreFacts) -> Record:
    """The way through a recall by a backend's own rule, up to its answer."""
    trial = answered.decision.trial
    record = Record(
        entry,
        answered,
        store,
        evidence.mode,
        max(asked_of_store(trial).limit, 0),
        word_shares(evidence, entry, trial.request.query),
        is_own_rule=True,
        program=evidence.program,
        left_out_by=tuple(_own_filters(entry, trial, store)),
        stopped_at="rank",
    )
    at = next((at for at, scored in enumerate(evidence.entries) if is_same(scored.entry, entry)), None)
    if at is None:
        return record
    before = sum(is_same(scored.entry, each.entry) for each in evidence.entries[:at] for scored in answered.withheld)
    score = evidence.entries[at].score
    return replace(record, fused_score=score, fused_rank=at + 1, rank=at + 1 - before, stopped_at="limit")


def _own_filters(entry: MemoryEntry, trial: Trial, store: StoreFacts) -> Iterator[FilterName]:
    """The filters that leave it out by a backend's own rule: what such a store does not record leaves nothing out."""
    request, profile, rule = trial.request, trial.profile, store.rule
    at, since, until = moment(entry.timestamp), moment(request.since), moment(request.until)
    is_outside = at is not None and ((since is not None and at < since) or (until is not None and at > until))
    if is_outside and rule.reads_times and profile.has_time_bounds:
        yield "time"
    has_sessions = entry.session_id is not None or store.has_sessions
    is_of_session = None in request.scopes or entry.session_id in request.scopes
    crosses = profile.durable_rows_cross_sessions and rule.crosses_sessions and is_durable(entry)
    if has_sessions and not is_of_session and not crosses:
        yield "session"
    if entry.agent is not None and request.agents and entry.agent not in request.agents:
        yield "agent"
    has_namespaces = entry.namespace is not None or rule.has_one_namespace
    if has_namespaces and request.namespace not in (None, entry.namespace or DEFAULT_NAMESPACE):
        yield "namespace"


def _stage_record(ranking: StoreRanking, answered: Answer, entry: MemoryEntry, store: StoreFacts) -> Record:
    """The way through ZeroClaw's hybrid search, up to its answer."""
    evidence, scope, order, trial = ranking.evidence, ranking.scope, ranking.fused, answered.decision.trial
    at = _index(evidence.rows.handles, entry.handle)
    listed_at = None if ranking.listed is None else _index(ranking.listed, at)
    agent_id = evidence.rows.agents_by_alias.get(entry.agent or "", entry.agent)
    is_of_agents = scope.agent_ids is None or agent_id in scope.agent_ids
    left_out_by = scope.left_out_by(entry, crosses=ranking.listed is None)
    if not is_of_agents and "agent" not in left_out_by:
        left_out_by = sorted({*left_out_by, "agent"}, key=FILTERS.index)
    record = Record(
        entry,
        answered,
        store,
        ranking.mode,
        scope.store_limit,
        word_shares(evidence, entry, trial.request.query),
        store_rows=evidence.store_rows,
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
        record = replace(
            record,
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
    return replace(record, stopped_at=_stop(ranking, record))


def _stop(ranking: StoreRanking, record: Record) -> StageName:
    """The first stage that stops a memory the store's recall does not return, or returns behind the limit."""
    evidence, scope, entry = ranking.evidence, ranking.scope, record.entry
    if ranking.fused is None and ranking.listed is None:
        return "query"
    if record.rank is not None:
        return "limit"
    if ranking.listed is None and record.fused_rank is None:
        # Whatever session and agents are asked for.
        is_hit = _index(evidence.keyword_handles, entry.handle) is not None
        is_hit = is_hit or (scope.vector_live and _index(evidence.vector_handles, entry.handle) is not None)
        if record.keyword is not None or record.vector is not None or not is_hit:
            return "candidates"
        return record.out_of_stages or ("candidates" if scope.is_of_session(entry) else "session")
    if ranking.listed is None and record.merged and (record.fused_rank or 0) > scope.store_limit:
        return "merge"
    if record.left_out_by:
        return record.left_out_by[0]
    return "limit" if ranking.listed is None else "like" if record.path == "like" else "recent"


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
