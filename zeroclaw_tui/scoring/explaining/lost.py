"""Memories of a session that a recall finds and loses, because its cut comes before its session filter."""

from __future__ import annotations

from zeroclaw_tui.scoring.evidence import StageEvidence
from zeroclaw_tui.scoring.replay import Replay
from zeroclaw_tui.scoring.replaying.masks import masks_of


def lost_of_session(replayed: Replay) -> int:
    """How many rows of the request's session a stage found and the recall would have room for, but for that cut.

    0 where the recall is full, and where the session is looked at before the cut: from 0.8.4 on while a vector takes
    part.
    """
    import numpy as np

    evidence, decision = replayed.evidence, replayed.decision
    if not isinstance(evidence, StageEvidence) or decision is None or decision.fused is None:
        return 0
    scope = decision.scope
    session_first = scope.profile.filters_in_sql and scope.vector_live
    if scope.request.session_id is None or session_first or len(decision.candidates) >= scope.request.limit:
        return 0
    masks = masks_of(evidence)
    found = np.union1d(decision.fused.keyword.positions, decision.fused.vector.positions)
    allowed = (
        masks.let_through(scope)[found]
        & masks.of_agents(scope.request.agents)[found]
        & masks.of_namespace(scope.request.namespace)[found]
    )
    recalled = [candidate.handle for candidate in decision.candidates]
    return int(np.count_nonzero(~np.isin(evidence.rows.handles[found[allowed]], recalled)))
