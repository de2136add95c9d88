"""What the store's own recall returns, decided from the evidence of its stages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from zeroclaw_tui.memory.recall import RecallRequest
from zeroclaw_tui.scoring.evidence import StageEvidence
from zeroclaw_tui.scoring.fusion import Candidate
from zeroclaw_tui.scoring.keywords import LikeSearch, like_search, lists_recent, words
from zeroclaw_tui.scoring.profiles import ScoringProfile
from zeroclaw_tui.scoring.replaying.fused import Candidates, Fused, fused
from zeroclaw_tui.scoring.replaying.masks import RowMasks, masks_of
from zeroclaw_tui.scoring.replaying.stages import keyword_hits, none_of, scan_keys, vector_hits
from zeroclaw_tui.scoring.scope import Scope, served
from zeroclaw_tui.scoring.settings import ScoringSettings, mode_in

if TYPE_CHECKING:
    import numpy as np

_LIKE_SCORE = 1.0


@dataclass(frozen=True, slots=True)
class Decision:
    """The store's recall as far as it is decided without any content.

    `candidates` are what it returns, best first. `passing` are places in the row table, int64: every row that each
    filter lets through, best first, those behind the last limits too. `listed` are the rows the LIKE fall-back or the
    list of the newest finds before it is cut to `list_limit`; None where neither ran.
    """

    scope: Scope
    mode: str
    scale: str
    notes: tuple[str, ...]
    candidates: Sequence[Candidate]
    passing: np.ndarray
    fused: Fused | None = None
    listed: np.ndarray | None = None
    list_limit: int | None = None

    @property
    def handles(self) -> tuple[int, ...]:
        """The candidates' rows."""
        if isinstance(self.candidates, Candidates):
            return self.candidates.handles
        return tuple(candidate.handle for candidate in self.candidates)


def decide(
    evidence: StageEvidence, request: RecallRequest, profile: ScoringProfile, settings: ScoringSettings
) -> Decision:
    """The store's recall of a request, by the rules and numbers given."""
    import numpy as np

    mode = mode_in(settings, profile)
    left, said = served(request, profile, has_agents=evidence.has_agents, has_times=evidence.has_times)
    scope = _with_agents(Scope(left, profile, evidence.vector_live and mode != "bm25"), evidence)
    if lists_recent(request.query, profile):
        return _newest(evidence, scope, tuple(said))
    if not words(request.query):
        said.append(f"ZeroClaw {profile.version} finds nothing for a blank query.")
        return Decision(scope, "recent", "0..1", tuple(said), (), np.zeros(0, dtype=np.int64))
    keyword = keyword_hits(evidence, scope) if mode != "embedding" else none_of(evidence)
    vector = vector_hits(evidence, scope) if scope.vector_live else none_of(evidence)
    if mode != "embedding" and scope.stage_limit:
        said += evidence.keyword_notes
    if scope.vector_live:
        said += [vector.said] if vector.said else evidence.vector_notes
    masks = masks_of(evidence)
    order = fused(keyword, vector, scope.stage_limit, masks.id_ranks, profile, settings)
    decided = _through(evidence, scope, masks, order, tuple(said))
    search = like_search(request.query, profile)
    if decided is None and search is not None:
        return _like(evidence, scope, masks, search, order, tuple(said))
    return decided or Decision(scope, order.mode, _scale(order, profile), tuple(said), (), order.positions[:0], order)


def _through(
    evidence: StageEvidence, scope: Scope, masks: RowMasks, order: Fused, said: tuple[str, ...]
) -> Decision | None:
    """What of the fused order is returned; None where the store's recall keeps nothing, before agents and namespace."""
    import numpy as np

    among = order.positions[: scope.store_limit] if order.is_merged else order.positions
    kept = np.flatnonzero(masks.let_through(scope)[among])
    if not len(kept) or not scope.request.limit:
        return None
    chosen, passing = _cut(scope, masks, among, kept, scope.store_limit)
    candidates = order.candidates(chosen, evidence.rows.handles)
    return Decision(scope, order.mode, _scale(order, scope.profile), said, candidates, among[passing], order)


def _cut(
    scope: Scope, masks: RowMasks, positions: np.ndarray, kept: np.ndarray, store_limit: int
) -> tuple[np.ndarray, np.ndarray]:
    """Which of the kept places pass agents and namespace: up to the three limits that follow one another, and all."""
    of_agents = masks.of_agents(scope.request.agents)
    of_namespace = masks.of_namespace(scope.request.namespace)
    chosen = kept[:store_limit]
    chosen = chosen[of_agents[positions[chosen]]][: scope.agent_limit]
    chosen = chosen[of_namespace[positions[chosen]]][: scope.request.limit]
    passing = positions[kept]
    return chosen, kept[of_agents[passing] & of_namespace[passing]]


def _like(
    evidence: StageEvidence,
    scope: Scope,
    masks: RowMasks,
    search: LikeSearch,
    order: Fused,
    said: tuple[str, ...],
) -> Decision:
    import numpy as np

    positions, facts, profile = masks.positions["like"], evidence.like_facts, scope.profile
    seen = masks.within(scope.request.since, scope.request.until)[positions]
    if facts is not None and facts.early is not None and profile.has_time_bounds and not profile.hides_superseded:
        # These versions forgot the brackets, so a time bound restricts only the last word.
        seen = seen | facts.early
    if profile.hides_superseded:
        seen &= ~evidence.rows.superseded[positions]
    agents = scope.agent_ids if profile.filters_in_sql else None
    in_stage = masks.in_stage(None, agents, durable=False)
    at = np.flatnonzero(seen if in_stage is None else seen & in_stage[positions])
    if agents is not None and facts is not None and facts.order != "stored":
        keys = scan_keys(evidence, masks, facts.order, None)[positions[at]]
        at = at[np.lexsort((keys, facts.moments[at]))]
    list_limit = search.sql_limit(scope.store_limit)
    listed = positions[at]
    keeps = np.ones(len(at), dtype=bool)
    if scope.request.session_id is not None:
        keeps &= masks.of_session(scope.request.session_id)[listed]
    if facts is not None and facts.accepted is not None:
        keeps &= facts.accepted[at]
    kept = np.flatnonzero(keeps[:list_limit])
    chosen, passing = _cut(scope, masks, listed, kept, scope.store_limit)
    handles = evidence.rows.handles[listed[chosen]].tolist()
    candidates = tuple(Candidate(handle, _LIKE_SCORE) for handle in handles)
    return Decision(scope, "like", "0..1", said, candidates, listed[passing], order, listed, list_limit)


def _newest(evidence: StageEvidence, scope: Scope, said: tuple[str, ...]) -> Decision:
    import numpy as np

    masks = masks_of(evidence)
    positions = masks.positions["recent"]
    seen = masks.visible(scope)
    if scope.request.session_id is not None:
        seen = seen & masks.of_session(scope.request.session_id)
    listed = positions[seen[positions]]
    kept = np.arange(min(len(listed), scope.recent_limit))
    chosen, passing = _cut(scope, masks, listed, kept, scope.recent_limit)
    handles = evidence.rows.handles[listed[chosen]].tolist()
    candidates = tuple(Candidate(handle) for handle in handles)
    limit = scope.recent_limit
    return Decision(scope, "recent", "0..1", said, candidates, listed[passing], None, listed, limit)


def _with_agents(scope: Scope, evidence: StageEvidence) -> Scope:
    aliases = scope.request.agents
    if aliases is None:
        return scope
    known = evidence.rows.agents_by_alias
    ids = tuple(known.get(alias, alias) for alias in aliases)
    return replace(scope, agent_ids=ids, store_rows=evidence.store_rows)


def _scale(order: Fused, profile: ScoringProfile) -> str:
    return "raw bm25" if order.mode == "keyword" and not profile.normalises_keyword_only else "0..1"
