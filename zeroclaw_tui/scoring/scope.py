"""Which rows a recall may return and how many, by the rules of each ZeroClaw generation; nothing is read."""

from __future__ import annotations

from dataclasses import dataclass, replace

from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.recall import RecallRequest
from zeroclaw_tui.scoring.profiles import ScoringProfile

DURABLE = ("core", "daily")
"""Categories whose rows without a session are seen from every session, from 0.8.4 on, while vectors take part."""

MOST = 2**31
"""A limit beyond this is taken as this."""

DEFAULT_NAMESPACE = "default"
"""The namespace of a row that names none."""


@dataclass(frozen=True, slots=True)
class Scope:
    """A request as a database and a profile serve it.

    `vector_live` says that a query vector takes part. `agent_ids` are the allowed agents' ids, None when agents do not
    matter; then `store_rows`, the number of rows in the store, is not needed either.
    """

    request: RecallRequest
    profile: ScoringProfile
    vector_live: bool
    agent_ids: tuple[str, ...] | None = None
    store_rows: int = 0

    @property
    def agent_limit(self) -> int:
        """How many rows are asked for: twice the limit when a namespace is picked out of them."""
        return self.request.limit * 2 if self.request.namespace is not None else self.request.limit

    @property
    def store_limit(self) -> int:
        """The limit of the store's own recall: all rows where agents are sorted out afterwards."""
        if self.agent_ids is None or self.profile.agent_scope == "sql":
            return self.agent_limit
        return self.recent_limit

    @property
    def recent_limit(self) -> int:
        """The limit of the list of the newest; its agents are sorted out afterwards in every version."""
        return self.agent_limit if self.agent_ids is None else max(self.store_rows, self.agent_limit)

    @property
    def stage_limit(self) -> int:
        """How many hits the keyword stage and the vector stage each pass on."""
        return min(2 * self.store_limit, MOST)

    def keeps(self, entry: MemoryEntry) -> bool:
        """Whether the store's recall lets a keyword or vector hit through."""
        return (
            self.keeps_version(entry)
            and self.keeps_time(entry)
            and (self.keeps_session(entry) or self.crosses_sessions(entry))
        )

    def keeps_version(self, entry: MemoryEntry) -> bool:
        """Whether a row is not hidden by a newer one."""
        return not self.profile.hides_superseded or entry.superseded_by is None

    def keeps_time(self, entry: MemoryEntry) -> bool:
        """Whether a row lies between the bounds, compared as text."""
        since, until = self.request.since, self.request.until
        return (since is None or entry.timestamp >= since) and (until is None or entry.timestamp <= until)

    def keeps_session(self, entry: MemoryEntry) -> bool:
        """Whether a row is of the session asked for."""
        return self.request.session_id is None or entry.session_id == self.request.session_id

    def crosses_sessions(self, entry: MemoryEntry) -> bool:
        """Whether a row is seen from every session (ZeroClaw >= 0.8.4, while vectors take part)."""
        durable = entry.session_id is None and entry.category in DURABLE
        return durable and self.vector_live and self.profile.durable_rows_cross_sessions

    def keeps_agent(self, entry: MemoryEntry) -> bool:
        """Whether a row is of an agent asked for."""
        return self.request.agents is None or entry.agent in self.request.agents

    def keeps_namespace(self, entry: MemoryEntry) -> bool:
        """Whether a row is of the namespace asked for; none counts as "default"."""
        wanted = self.request.namespace
        return wanted is None or (entry.namespace or DEFAULT_NAMESPACE) == wanted


def served(
    request: RecallRequest, profile: ScoringProfile, *, has_agents: bool, has_times: bool
) -> tuple[RecallRequest, list[str]]:
    """The request with what can be served of it, and sentences on the rest. An empty `agents` is unscoped."""
    said: list[str] = []
    limit = min(max(request.limit, 0), MOST)
    left = replace(request, limit=limit, agents=request.agents or None)
    if left.agents and (profile.agent_scope == "none" or not has_agents):
        knows_none = f"ZeroClaw {profile.version}" if profile.agent_scope == "none" else "This database"
        said.append(f"{knows_none} knows no agents, so every agent's memories are recalled.")
        left = replace(left, agents=None)
    if (left.since or left.until) and not (profile.has_time_bounds and has_times):
        said.append(f"ZeroClaw {profile.version} has no time bounds in recall, so none are applied.")
        left = replace(left, since=None, until=None)
    return left, said
