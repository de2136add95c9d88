"""The keyword and the vector stage as one request sees them, and which rows pass its filters, as arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from zeroclaw_tui.scoring.evidence import ScanOrder, StageEvidence
from zeroclaw_tui.scoring.scope import DEFAULT_NAMESPACE, DURABLE, Scope

if TYPE_CHECKING:
    import numpy as np

_MASKS_KEPT = 64
_NOBODY = -2


class RowMasks:
    """Filters over the row table, each an array of shape (rows,), bool."""

    def __init__(self, evidence: StageEvidence) -> None:
        import numpy as np

        rows = evidence.rows
        self._has_sessions = evidence.has_sessions
        self._rows = rows
        self._kept: dict[tuple[object, ...], np.ndarray] = {}
        self._session_codes = {session: code for code, session in enumerate(rows.sessions)}
        durable = [code for code, category in enumerate(rows.categories) if category in DURABLE]
        self.durable = (rows.session == -1) & np.isin(rows.category, durable)
        self.positions = {
            name: np.searchsorted(rows.handles, getattr(evidence, name))
            for name in ("keyword_handles", "vector_handles", "like", "recent")
        }
        self.id_ranks = rows.id_ranks if rows.id_ranks is not None else _ranks_of(rows.ids)

    def of_session(self, session: str) -> np.ndarray:
        """Rows of exactly this session."""
        code = self._session_codes.get(session, _NOBODY) if self._has_sessions else _NOBODY
        return self._cached(("session", session), lambda: self._rows.session == code)

    def in_stage(self, session: str | None, agent_ids: Sequence[str] | None, *, durable: bool) -> np.ndarray | None:
        """Rows that a statement restricted to session and agents sees; None when it is restricted to neither."""
        if session is None and agent_ids is None:
            return None

        def seen() -> np.ndarray:
            import numpy as np

            left = np.ones(len(self._rows.handles), dtype=bool)
            if session is not None:
                left &= self.of_session(session)
                if durable and self._has_sessions:
                    left |= self.durable
            if agent_ids is not None:
                allowed = [code for code, known in enumerate(self._rows.agent_ids) if known in agent_ids]
                left &= np.isin(self._rows.agent, allowed)
            return left

        return self._cached(("stage", session, agent_ids and tuple(agent_ids), durable), seen)

    def let_through(self, scope: Scope) -> np.ndarray:
        """Rows that `scope.keeps`."""
        session = scope.request.session_id
        crosses = scope.vector_live and scope.profile.durable_rows_cross_sessions

        def kept() -> np.ndarray:
            left = self.visible(scope)
            if session is not None:
                left = (
                    left & self.of_session(session) if not crosses else left & (self.of_session(session) | self.durable)
                )
            return left

        bounds = (scope.request.since, scope.request.until)
        return self._cached(("kept", session, crosses, scope.profile.hides_superseded, *bounds), kept)

    def visible(self, scope: Scope) -> np.ndarray:
        """Rows that no newer one hides and that lie between the time bounds."""
        within = self.within(scope.request.since, scope.request.until)
        if scope.profile.hides_superseded:
            within = within & ~self._rows.superseded
        return within

    def within(self, since: str | None, until: str | None) -> np.ndarray:
        """Rows between two bounds, compared as text."""

        def inside() -> np.ndarray:
            import numpy as np

            if since is None and until is None:
                return np.ones(len(self._rows.handles), dtype=bool)
            first = "" if since is None else since
            return np.fromiter(
                (first <= created and (until is None or created <= until) for created in self._rows.created),
                dtype=bool,
                count=len(self._rows.handles),
            )

        return self._cached(("time", since, until), inside)

    def of_agents(self, names: Sequence[str] | None) -> np.ndarray:
        """Rows of agents of these names; None is everybody's."""
        return self._among("agents", self._rows.agent, self._rows.agents, names)

    def of_namespace(self, namespace: str | None) -> np.ndarray:
        """Rows of a namespace; None is every one."""
        names = [name or DEFAULT_NAMESPACE for name in self._rows.namespaces]
        found = self._among("namespace", self._rows.namespace, names, None if namespace is None else (namespace,))
        return found | (self._rows.namespace == -1) if namespace == DEFAULT_NAMESPACE else found

    def _among(self, what: str, codes: np.ndarray, names: Sequence[str], wanted: Sequence[str] | None) -> np.ndarray:
        def among() -> np.ndarray:
            import numpy as np

            if wanted is None:
                return np.ones(len(codes), dtype=bool)
            return np.isin(codes, [code for code, name in enumerate(names) if name in wanted])

        return self._cached((what, None if wanted is None else tuple(wanted)), among)

    def _cached(self, key: tuple[object, ...], make: Callable[[], np.ndarray]) -> np.ndarray:
        found = self._kept.get(key)
        if found is None:
            if len(self._kept) > _MASKS_KEPT:
                self._kept.clear()
            found = self._kept[key] = make()
        return found


def masks_of(evidence: StageEvidence) -> RowMasks:
    """The filters over this evidence, made at the first use."""
    found = evidence.derived.get(RowMasks)
    if found is None:
        found = evidence.derived[RowMasks] = RowMasks(evidence)
    masks: RowMasks = found
    return masks


def _ranks_of(ids: Sequence[str]) -> np.ndarray:
    import numpy as np

    ranks = np.empty(len(ids), dtype=np.int64)
    ranks[sorted(range(len(ids)), key=ids.__getitem__)] = np.arange(len(ids))
    return ranks


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
