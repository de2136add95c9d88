"""Which rows of the evidence pass which filter, worked out once for each thing that is asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from zeroclaw_tui.scoring.evidence import StageEvidence
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
