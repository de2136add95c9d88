"""Decide and answer a recall, from the hits of its stages to the judged memories, for every ZeroClaw version.

A store provides evidence (`zeroclaw_tui.scoring.evidence`), complete or limited to one recall; everything after that is
decided here, so that recall, prompt, explain, recall tests and what-if cannot disagree.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, NamedTuple

from zeroclaw_tui.memory.entry import Handle, MemoryEntry
from zeroclaw_tui.memory.errors import UsageError
from zeroclaw_tui.memory.recall import UNLIMITED, RecallRequest, ScoredEntry
from zeroclaw_tui.scoring.evidence import (
    Evidence,
    OwnEvidence,
    Scope,
    StageEvidence,
    StageHits,
    StoreRecall,
    existed,
    keyword_hits,
    no_hits,
    scan_keys,
    supported_request,
    vector_hits,
)
from zeroclaw_tui.scoring.injection import judge, pool_size, scan
from zeroclaw_tui.scoring.profiles import EPSILON, ScoringProfile, ScoringSettings, Trial, float32
from zeroclaw_tui.scoring.stages import (
    LIKE_FAILS,
    LikeSearch,
    like_search,
    lists_recent,
    match_expression,
    search_mode,
    session_scopes,
    words,
)

if TYPE_CHECKING:
    import numpy as np

SCANNER_WINDOW = 4
"""ZeroClaw >= 0.8.4 requests this many times the limit from its store, whether or not it scans."""

LIKE_SCORE = 1.0


# The request to the store, and which trials its evidence can decide.


def store_request(trial: Trial, session_id: str | None = None) -> RecallRequest:
    """Make the request to the store for one session scope.

    Its limit is the turn's limit or the size of the rerank pool, times four if the content scanner follows
    (ZeroClaw >= 0.8.4).
    """
    request = trial.request
    limit = pool_size(trial) * (SCANNER_WINDOW if passes_scanner(trial) else 1)
    return replace(request, limit=min(limit, UNLIMITED), session_id=session_id, extra_sessions=())


def for_other_program(trial: Trial) -> Trial:
    """Make the trial for another program's store: its unchanged recall at its own limit, without scanner and rerank."""
    settings = trial.settings._replace(rerank=trial.settings.rerank._replace(enabled=False))
    return trial._replace(request=replace(trial.request, layer="store"), settings=settings)


def passes_scanner(trial: Trial) -> bool:
    """Whether the store's results go through the content scanner."""
    return trial.profile.scans_content and trial.request.layer == "agent"


def can_decide(evidence: Sequence[Evidence], trial: Trial) -> bool:
    """Whether the trial can be decided from this evidence.

    Needed is one evidence for each session scope, with the same query and the same FTS5 and LIKE expressions.
    """
    scopes = session_scopes(trial.request)
    if len(evidence) != len(scopes):
        return False
    return all(_can_decide_scope(each, trial, session) for each, session in zip(evidence, scopes, strict=True))


def _can_decide_scope(evidence: Evidence, trial: Trial, session_id: str | None) -> bool:
    if isinstance(evidence, OwnEvidence):
        return _can_decide_own(evidence, trial, store_request(trial, session_id))
    if evidence.limited_to is not None and evidence.limited_to != (
        store_request(trial, session_id), trial.profile, search_mode(trial),
    ):  # fmt: skip
        return False
    profile, query = trial.profile, trial.request.query
    if evidence.query != query:
        return False
    if lists_recent(query, profile) or not words(query):
        return True
    if not (evidence.vector_requested or search_mode(trial) == "bm25"):
        return False
    search = like_search(query, profile)
    patterns = () if evidence.like_facts is None else evidence.like_facts.patterns
    is_same_like = evidence.limited_to is not None or search is None or search.patterns == patterns
    return is_same_like and evidence.expression == match_expression(query, profile)


def _can_decide_own(evidence: OwnEvidence, trial: Trial, asked: RecallRequest) -> bool:
    """Whether the backend would rank the same rows in the same order for this trial."""
    before, asked_before = evidence.trial, evidence.trial.request
    if _ranking_parameters(asked_before) != _ranking_parameters(asked) or before.profile != trial.profile:
        return False
    if before.settings.search_mode != trial.settings.search_mode:
        return False
    if evidence.depends_on_limit:
        return asked.limit == asked_before.limit
    return evidence.depth is None or asked.limit <= evidence.depth


def _ranking_parameters(request: RecallRequest) -> tuple[object, ...]:
    return (
        request.query, request.session_id, request.agents or None, request.namespace, request.since, request.until,
        request.layer,
    )  # fmt: skip


# Fusion.


class FusedRanking(NamedTuple):
    """All rows that pass the stages, best first, before any limit.

    `positions` are indexes of the row table, `scores` float32, shapes (rows found,). `is_merged` is True if scores were
    weighted, so that a limit applies. `keyword_hits` and `vector_hits` are the numbers of hits from each stage.
    """

    keyword: StageHits
    vector: StageHits
    keyword_hits: int
    vector_hits: int
    positions: np.ndarray
    scores: np.ndarray
    is_merged: bool
    best_raw: float | None
    is_flat: bool = False
    """Whether there are only keyword hits and their best score is below EPSILON."""

    @property
    def mode(self) -> str:
        """The kind of a recall with these hits."""
        if not self.vector_hits:
            return "keyword"
        return "hybrid" if self.keyword_hits else "vector"

    def scored(self, at: int, entry: MemoryEntry, rank: int) -> ScoredEntry:
        """Make the result of a row by its index in this order, with every part of its score; ranks count from 1."""
        position = self.positions[at]
        keyword_rank, raw = self.keyword.hit(position, self.keyword_hits)
        vector_rank, cosine = self.vector.hit(position, self.vector_hits)
        stage = "vector" if raw is None else "keyword" if cosine is None else "hybrid"
        share = None if raw is None else self.share(raw)
        score = float(self.scores[at])
        return ScoredEntry(entry, rank, score, cosine, share, raw, stage, keyword_rank, vector_rank)

    def share(self, raw: float) -> float:
        """Divide a keyword score by the best one."""
        return 0.0 if self.is_flat else float32(raw / _divisor(self.best_raw))


def fuse_hits(
    keyword: StageHits,
    vector: StageHits,
    count: int,
    id_ranks: np.ndarray,
    profile: ScoringProfile,
    settings: ScoringSettings,
) -> FusedRanking:
    """Fuse the first `count` hits of each stage. Arithmetic is in 32 bits, as in ZeroClaw."""
    import numpy as np

    keyword_positions, raw = keyword.positions[:count], keyword.scores[:count]
    vector_positions, cosines = vector.positions[:count], vector.scores[:count]
    best = float(raw.max()) if len(raw) else None
    counts = (len(keyword_positions), len(vector_positions))
    with np.errstate(all="ignore"):
        shares = (raw.astype(np.float64) / _divisor(best)).astype(np.float32)
        if not counts[1]:
            scores, is_flat = _keyword_only(raw, shares, profile)
            return FusedRanking(keyword, vector, *counts, keyword_positions, scores, False, best, is_flat)
        if not counts[0] and profile.plain_vector_only:
            return FusedRanking(keyword, vector, *counts, vector_positions, cosines, False, best)
        positions, scores = _weighted_scores(
            vector, (keyword_positions, shares), (vector_positions, cosines), profile, settings
        )
        downwards = np.where(np.isnan(scores), np.float32(np.inf), -scores)
    order = np.lexsort((id_ranks[positions], downwards))
    return FusedRanking(keyword, vector, *counts, positions[order], scores[order], True, best)


def _weighted_scores(
    vector: StageHits,
    keyword: tuple[np.ndarray, np.ndarray],
    cosine: tuple[np.ndarray, np.ndarray],
    profile: ScoringProfile,
    settings: ScoringSettings,
) -> tuple[np.ndarray, np.ndarray]:
    """Compute the weighted score of every row, vector hits first."""
    import numpy as np

    vector_weight = np.float32(float32(settings.vector_weight))
    keyword_weight = np.float32(float32(settings.keyword_weight))
    keyword_positions, shares = keyword
    vector_positions, cosines = cosine
    places = vector.places[keyword_positions]
    is_alone = (places == 0) | (places > len(vector_positions))
    positions = np.concatenate([vector_positions, keyword_positions[is_alone]])
    at = places - 1
    at[is_alone] = np.arange(len(vector_positions), len(positions))
    total = np.zeros(len(positions), dtype=np.float32)
    present = np.zeros(len(positions), dtype=np.float32)
    total[: len(vector_positions)] += vector_weight * cosines
    present[: len(vector_positions)] = vector_weight
    total[at] += keyword_weight * shares
    present[at] += keyword_weight
    if not profile.divides_by_weights_present:
        return positions, total
    return positions, np.where(present > np.float32(EPSILON), total / present, np.float32(0.0))


def _keyword_only(raw: np.ndarray, shares: np.ndarray, profile: ScoringProfile) -> tuple[np.ndarray, bool]:
    import numpy as np

    if not profile.normalises_keyword_only:
        return raw, False
    if not len(raw) or raw.max() < EPSILON:
        return np.zeros(len(raw), dtype=np.float32), True
    return np.clip(shares, np.float32(0.0), np.float32(1.0)), False


def _divisor(best: float | None) -> float:
    return best if best is not None and best >= EPSILON else 1.0


# The recall of a store that searches in stages.


class StoreRanking(NamedTuple):
    """The store's recall as far as it can be decided without contents.

    `chosen` are the indexes of the returned rows in `fused`, or in `listed`: the rows of the LIKE fall-back or of the
    list of the newest before any limit; None if neither ran. `passing` are indexes of the row table, int64: all rows
    that pass every filter, best first, including those below the last limits.
    """

    evidence: StageEvidence
    scope: Scope
    mode: str
    scale: str
    notes: tuple[str, ...]
    chosen: np.ndarray
    passing: np.ndarray
    fused: FusedRanking | None = None
    listed: np.ndarray | None = None

    @property
    def handles(self) -> list[int]:
        """The handles of the returned rows."""
        order = self.listed if self.fused is None or self.listed is not None else self.fused.positions
        return [] if order is None else self.evidence.rows.handles[order[self.chosen]].tolist()

    def results(self, rows: Mapping[Handle, MemoryEntry]) -> list[ScoredEntry]:
        """Make the results from the rows that still exist, with ranks from 1; rows of the LIKE fall-back score 1."""
        there = [(at, rows[handle]) for at, handle in zip(self.chosen, self.handles, strict=True) if handle in rows]
        if self.listed is None and self.fused is not None:
            return [self.fused.scored(at, entry, rank) for rank, (at, entry) in enumerate(there, 1)]
        score = LIKE_SCORE if self.mode == "like" else None
        return [ScoredEntry(entry, rank, score, stage=self.mode) for rank, (_, entry) in enumerate(there, 1)]


def store_recall(evidence: Evidence, trial: Trial) -> StoreRecall:
    """Decide what the store's own recall returns for a request; with stage evidence, only rows that were read."""
    if isinstance(evidence, OwnEvidence):
        entries = tuple(own_ranking(evidence, trial.request.limit))
        return StoreRecall(entries, evidence.mode, evidence.scale, evidence.notes)
    ranking = rank(evidence, trial)
    entries = tuple(ranking.results(evidence.contents))
    return StoreRecall(entries, ranking.mode, ranking.scale, (*ranking.notes, *evidence.notes))


def rank(evidence: StageEvidence, trial: Trial) -> StoreRanking:
    """Rank the store's recall for the trial's request, which is the one to the store."""
    import numpy as np

    (request, profile, settings), mode = trial, search_mode(trial)
    supported, notes = supported_request(request, profile, has_agents=evidence.has_agents)
    scope = _with_agents(Scope(supported, profile, evidence.vector_live and mode != "bm25"), evidence)
    if lists_recent(request.query, profile):
        return _newest(evidence, scope, tuple(notes))
    if not words(request.query):
        notes.append(f"ZeroClaw {profile.version} finds nothing for a blank query.")
        nothing = np.zeros(0, dtype=np.int64)
        return StoreRanking(evidence, scope, "recent", "0..1", tuple(notes), nothing, nothing)
    keyword = keyword_hits(evidence, scope) if mode != "embedding" else no_hits(evidence)
    vector = vector_hits(evidence, scope) if scope.vector_live else no_hits(evidence)
    if mode != "embedding" and scope.stage_limit:
        notes += evidence.keyword_notes
    order = fuse_hits(keyword, vector, scope.stage_limit, evidence.masks.id_ranks, profile, settings)
    among = order.positions[: scope.store_limit] if order.is_merged else order.positions
    remaining = np.flatnonzero(evidence.masks.in_scope(scope)[among])
    search = like_search(request.query, profile)
    if search is not None and not (len(remaining) and supported.limit):
        return _like(evidence, scope, search, order, notes)
    chosen, passing = _apply_limits(evidence, scope, among, remaining, scope.store_limit)
    scale = "raw bm25" if order.mode == "keyword" and not profile.normalises_keyword_only else "0..1"
    return StoreRanking(evidence, scope, order.mode, scale, tuple(notes), chosen, passing, order)


def _apply_limits(
    evidence: StageEvidence, scope: Scope, positions: np.ndarray, remaining: np.ndarray, store_limit: int
) -> tuple[np.ndarray, np.ndarray]:
    """Filter the remaining indexes by agents and namespace: as indexes within the three successive limits, and as rows
    without limits."""
    of_agents = evidence.masks.of_agents(scope.request.agents)
    of_namespace = evidence.masks.of_namespace(scope.request.namespace)
    chosen = remaining[:store_limit]
    chosen = chosen[of_agents[positions[chosen]]][: scope.agent_limit]
    chosen = chosen[of_namespace[positions[chosen]]][: scope.request.limit]
    passing = positions[remaining]
    return chosen, passing[of_agents[passing] & of_namespace[passing]]


def _like(
    evidence: StageEvidence, scope: Scope, search: LikeSearch, order: FusedRanking, notes: Sequence[str]
) -> StoreRanking:
    """Rank by the LIKE fall-back, if nothing else remains before the filters for agents and namespace."""
    import numpy as np

    masks, facts, profile = evidence.masks, evidence.like_facts, scope.profile
    positions = masks.positions["like"]
    seen = masks.within(scope.request.since, scope.request.until)[positions]
    if facts is not None and facts.early is not None and profile.has_time_bounds and not profile.hides_superseded:
        # These versions lack parentheses in SQL, so a time bound restricts only the last word.
        seen = seen | facts.early
    if profile.hides_superseded:
        seen &= ~evidence.rows.superseded[positions]
    agents = scope.agent_ids if profile.filters_in_sql else None
    seen &= (masks.in_stage(None, agents, durable=False) & masks.existing(scope.request.created_until))[positions]
    at = np.flatnonzero(seen)
    if agents is not None and facts is not None and facts.order != "stored":
        keys = scan_keys(evidence, facts.order, None)[positions[at]]
        at = at[np.lexsort((keys, facts.moments[at]))]
    listed = positions[at]
    keeps = masks.of_session(scope.request.session_id)[listed]
    if facts is not None and facts.accepted is not None:
        keeps = keeps & facts.accepted[at]
    remaining = np.flatnonzero(keeps[: search.sql_limit(scope.store_limit)])
    every = (*notes, LIKE_FAILS) if search.fails else tuple(notes)
    return _listing(evidence, scope, "like", listed, remaining, every, order)


def _newest(evidence: StageEvidence, scope: Scope, notes: tuple[str, ...]) -> StoreRanking:
    """Rank by the list of the newest."""
    import numpy as np

    masks, positions = evidence.masks, evidence.masks.positions["recent"]
    seen = masks.visible(scope) & masks.of_session(scope.request.session_id)
    seen &= masks.existing(scope.request.created_until)
    listed = positions[seen[positions]]
    remaining = np.arange(min(len(listed), scope.recent_limit))
    return _listing(evidence, scope, "recent", listed, remaining, notes)


def _listing(
    evidence: StageEvidence,
    scope: Scope,
    mode: Literal["like", "recent"],
    listed: np.ndarray,
    remaining: np.ndarray,
    notes: tuple[str, ...],
    order: FusedRanking | None = None,
) -> StoreRanking:
    """Make the ranking of listed rows, of which the indexes `remaining` passed the filters."""
    limit = scope.store_limit if mode == "like" else scope.recent_limit
    chosen, passing = _apply_limits(evidence, scope, listed, remaining, limit)
    return StoreRanking(evidence, scope, mode, "0..1", notes, chosen, passing, order, listed)


def _with_agents(scope: Scope, evidence: StageEvidence) -> Scope:
    aliases = scope.request.agents
    if aliases is None:
        return scope
    known = evidence.rows.agents_by_alias
    ids = tuple(known.get(alias, alias) for alias in aliases)
    return replace(scope, agent_ids=ids, store_rows=evidence.store_rows)


# Backends with their own ranking rule.


def own_ranking(evidence: OwnEvidence, limit: int, created_until: str = "") -> list[ScoredEntry]:
    """Apply a limit to the store's results; memories created after `created_until` are removed before the limit."""
    found, later = list[ScoredEntry](), 0
    places = evidence.places or [scored.rank for scored in evidence.entries]
    for scored, place in zip(evidence.entries, places, strict=True):
        if not existed(scored.entry.timestamp, created_until):
            later += 1
        elif evidence.depends_on_limit or place - later <= max(limit, 0):
            found.append(scored)
    return found


# All session scopes of one recall.


class Decision(NamedTuple):
    """A recall as far as it can be decided without contents.

    `rankings` has one item for each session scope, in order: a decided ranking of stages, or the ranking of a backend
    with its own rule. `wanted` are the rows whose contents are needed for the rest, best first. `notes` are sentences
    about the stages and about unsupported parts of the request.
    """

    trial: Trial
    rankings: tuple[StoreRanking | OwnEvidence, ...]
    wanted: tuple[Handle, ...]
    notes: tuple[str, ...] = ()


def decide(evidence: Sequence[Evidence], trial: Trial) -> Decision:
    """Rank, limit, fuse and filter as the ZeroClaw version of the trial's profile does.

    `evidence` has one item for each of the request's scopes. Raises UsageError if the trial needs other evidence.
    """
    if not can_decide(evidence, trial):
        raise UsageError("The hits of this query cannot be used for another query.", hint="Ask the store again.")
    rankings: list[StoreRanking | OwnEvidence] = []
    wanted: dict[Handle, None] = {}
    notes: dict[str, None] = {}
    for each, session in zip(evidence, session_scopes(trial.request), strict=True):
        if isinstance(each, OwnEvidence):
            rankings.append(each)
        else:
            rankings.append(ranking := rank(each, trial._replace(request=store_request(trial, session))))
            wanted |= dict.fromkeys(ranking.handles)
            notes |= dict.fromkeys(ranking.notes)
        notes |= dict.fromkeys(each.notes)
    return Decision(trial, tuple(rankings), tuple(wanted), tuple(notes))


# The answer, with contents.


class Answer(NamedTuple):
    """The answer of a recall: `results` in the order of recall, and memories `withheld` from the agent, both judged."""

    decision: Decision
    results: tuple[ScoredEntry, ...]
    withheld: tuple[ScoredEntry, ...]
    mode: str
    scale: str


def answer(decision: Decision, rows: Mapping[Handle, MemoryEntry]) -> Answer:
    """Build the results and the withheld memories, and judge them for injection.

    `rows` are the wanted rows with their full content; rows that no longer exist are left out.
    """
    trial = decision.trial
    remaining: list[ScoredEntry] = []
    withheld: list[ScoredEntry] = []
    for scope, ranking in enumerate(decision.rankings):
        if isinstance(ranking, OwnEvidence):
            found = own_ranking(ranking, store_request(trial).limit, trial.request.created_until)
        else:
            found = ranking.results(rows)
        for entries, of_scope in zip((remaining, withheld), _split_by_scanner(found, trial), strict=True):
            entries += [scored._replace(scope=scope) for scored in of_scope]
    if len(decision.rankings) > 1:
        remaining, withheld = _join_scopes(remaining, trial.profile), _join_scopes(withheld, trial.profile)
    first = decision.rankings[0]
    if isinstance(first, OwnEvidence) and first.program is not None:
        return Answer(decision, tuple(remaining), tuple(withheld), first.mode, first.scale)
    return Answer(decision, judge(remaining, trial), judge(withheld, trial), first.mode, first.scale)


def _split_by_scanner(found: Sequence[ScoredEntry], trial: Trial) -> tuple[list[ScoredEntry], list[ScoredEntry]]:
    """Split the recall of one scope: memories for the agent with new ranks, and memories withheld by store or scanner.

    Withheld memories keep their rank in the store. For the layer "store" nothing is withheld.
    """
    if trial.request.layer == "store":
        return list(found), []
    is_scanned, most = passes_scanner(trial), pool_size(trial)
    remaining: list[ScoredEntry] = []
    withheld: list[ScoredEntry] = []
    for scored in found:
        kind = scored.withheld or (scan(scored.entry.content, trial.settings.threat_scan) if is_scanned else None)
        if kind is not None:
            withheld.append(scored._replace(withheld=kind))
        elif not is_scanned or len(remaining) < most:
            remaining.append(scored._replace(rank=len(remaining) + 1))
    return remaining, withheld


def _join_scopes(entries: Sequence[ScoredEntry], profile: ScoringProfile) -> list[ScoredEntry]:
    """Join the recalls of several scopes in order; from 0.8.3 on each memory once."""
    first: dict[object, ScoredEntry] = {}
    for at, scored in enumerate(entries):
        first.setdefault(scored.entry.handle if profile.joins_scopes else at, scored)
    return [scored._replace(rank=rank) for rank, scored in enumerate(first.values(), 1)]
