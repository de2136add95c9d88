"""The keyword and the vector stage as a request sees them: their hits in order, before any cut."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from zeroclaw_tui.scoring.evidence import ScanOrder, StageEvidence
from zeroclaw_tui.scoring.replaying.masks import RowMasks, masks_of
from zeroclaw_tui.scoring.scope import Scope

if TYPE_CHECKING:
    import numpy as np

_STAGES_KEPT = 16


@dataclass(frozen=True, slots=True)
class StageHits:
    """The hits a stage may see, best first.

    `positions` are places in the row table, int64, `scores` float32, shapes (hits,); `places` has shape (rows,), int64:
    each row's place among the hits from 1, 0 for a row that is none of them. `said` tells why the stage failed.
    """

    positions: np.ndarray
    scores: np.ndarray
    places: np.ndarray
    said: str | None = None

    def __len__(self) -> int:
        return len(self.positions)


def keyword_hits(evidence: StageEvidence, scope: Scope) -> StageHits:
    """What FTS5 finds; ZeroClaw >= 0.8.4 restricts it to agents, and while vectors take part to the session."""
    masks = masks_of(evidence)
    session = scope.request.session_id if scope.vector_live else None
    seen = masks.in_stage(session, scope.agent_ids, durable=True) if scope.profile.filters_in_sql else None
    key = ("keyword", scope.profile.filters_in_sql, session, scope.agent_ids)
    found = _kept(evidence, key)
    if found is None:
        found = _hits(evidence, masks.positions["keyword_handles"], evidence.keyword_scores, seen)
        _keep(evidence, key, found)
    return found


def vector_hits(evidence: StageEvidence, scope: Scope) -> StageHits:
    """What the cosine finds, restricted to the session, and from 0.8.4 on to the agents."""
    in_sql = scope.profile.filters_in_sql
    session, agents = scope.request.session_id, scope.agent_ids if in_sql else None
    key = ("vector", in_sql, session, agents)
    found = _kept(evidence, key)
    if found is None:
        masks = masks_of(evidence)
        seen = masks.in_stage(session, agents, durable=in_sql)
        failure = _failure(evidence, seen)
        if failure is not None:
            found = none_of(evidence, failure)
        else:
            found = _hits(evidence, masks.positions["vector_handles"], evidence.vector_scores, seen)
            order = evidence.agent_order if agents is not None else evidence.durable_order
            if in_sql and seen is not None and order != "stored":
                found = _in_scan_order(evidence, masks, found, order, session)
        _keep(evidence, key, found)
    return found


def none_of(evidence: StageEvidence, said: str | None = None) -> StageHits:
    """A stage that finds nothing."""
    import numpy as np

    nothing = np.zeros(0, dtype=np.int64)
    return StageHits(nothing, nothing.astype(np.float32), np.zeros(len(evidence.rows.handles), dtype=np.int64), said)


def scan_keys(evidence: StageEvidence, masks: RowMasks, order: ScanOrder, session: str | None) -> np.ndarray:
    """What decides between equal rows before the order of storing does, shape (rows,)."""
    import numpy as np

    rows = evidence.rows
    if order == "session" and session is not None:
        return np.where(masks.of_session(session), 0, 1)
    if order == "agent" and rows.agent_ids:
        by_id = sorted(range(len(rows.agent_ids)), key=lambda code: rows.agent_ids[code])
        ranks = np.empty(len(by_id) + 1, dtype=np.int64)
        ranks[by_id] = np.arange(len(by_id))
        ranks[-1] = -1
        keys: np.ndarray = ranks[rows.agent]
        return keys
    return np.zeros(len(rows.handles), dtype=np.int64)


def _hits(evidence: StageEvidence, positions: np.ndarray, scores: np.ndarray, seen: np.ndarray | None) -> StageHits:
    if seen is not None:
        left = seen[positions]
        positions, scores = positions[left], scores[left]
    return _placed(evidence, positions, scores)


def _placed(evidence: StageEvidence, positions: np.ndarray, scores: np.ndarray) -> StageHits:
    import numpy as np

    places = np.zeros(len(evidence.rows.handles), dtype=np.int64)
    places[positions] = np.arange(1, len(positions) + 1)
    return StageHits(positions, scores, places)


def _in_scan_order(
    evidence: StageEvidence, masks: RowMasks, hits: StageHits, order: ScanOrder, session: str | None
) -> StageHits:
    """Equal scores in the order in which SQLite meets their rows."""
    import numpy as np

    is_new = hits.scores[1:] != hits.scores[:-1]
    if is_new.all():
        return hits
    groups = np.concatenate([[0], np.cumsum(is_new)])
    keys = scan_keys(evidence, masks, order, session)[hits.positions]
    return _placed(evidence, hits.positions[np.lexsort((keys, groups))], hits.scores)


def _failure(evidence: StageEvidence, seen: np.ndarray | None) -> str | None:
    import numpy as np

    faults = evidence.faults
    if faults is None or not len(faults.handles):
        return None
    if seen is None:
        return faults.said
    rows = evidence.rows.handles
    at = np.searchsorted(rows, faults.handles)
    known = at < len(rows)
    known[known] = rows[at[known]] == faults.handles[known]
    return faults.said if seen[at[known]].any() else None


def _kept(evidence: StageEvidence, key: tuple[object, ...]) -> StageHits | None:
    stages: dict[tuple[object, ...], StageHits] = evidence.derived.setdefault(StageHits, {})
    return stages.get(key)


def _keep(evidence: StageEvidence, key: tuple[object, ...], hits: StageHits) -> None:
    stages: dict[tuple[object, ...], StageHits] = evidence.derived.setdefault(StageHits, {})
    if len(stages) >= _STAGES_KEPT:
        stages.clear()
    stages[key] = hits
