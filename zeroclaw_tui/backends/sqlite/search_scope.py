"""Which rows a recall may see: as SQL conditions, and as a check on rows already read."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from zeroclaw_tui.backends.sqlite.rows import bound
from zeroclaw_tui.backends.sqlite.schema import Schema
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.recall import RecallRequest
from zeroclaw_tui.scoring.keywords import LikeSearch
from zeroclaw_tui.scoring.profiles import ScoringProfile

DURABLE = ("core", "daily")
"""Categories whose rows without a session are seen from every session, from 0.8.4 on, while vectors take part."""

MOST = 2**31
"""A limit beyond this is taken as this."""

_DEFAULT_NAMESPACE = "default"
_NOTHING = "0"


class Conditions:
    """Parts of a WHERE clause that must all hold, with their parameters in order."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.values: list[Any] = []

    def add(self, part: str, *groups: Iterable[Any]) -> None:
        """One more; each `{}` in `part` stands for the placeholders of one group of values."""
        marks: list[str] = []
        for group in groups:
            placeholders, ready = bound(group)
            marks.append(placeholders)
            self.values += ready
        self.parts.append(part.format(*marks))

    @property
    def where(self) -> str:
        """The clause with its keyword; empty without parts."""
        return f"WHERE {' AND '.join(self.parts)}" if self.parts else ""


@dataclass(frozen=True, slots=True)
class Scope:
    """A request as this database and this profile serve it.

    `vector_live` says that a query vector takes part. `agent_ids` are the allowed agents' ids, None when agents do not
    matter; then `store_rows` is not counted either.
    """

    request: RecallRequest
    profile: ScoringProfile
    schema: Schema
    vector_live: bool
    agent_ids: tuple[str, ...] | None = None
    store_rows: int = 0

    def with_agents(self, connection: sqlite3.Connection) -> Scope:
        """The same with the ids of the request's agents and the number of rows, where they are needed."""
        aliases = self.request.agents
        if aliases is None:
            return self
        known: dict[str, str] = {}
        if self.schema.has_agents:
            marks, values = bound(aliases)
            known = dict(connection.execute(f"SELECT alias, id FROM agents WHERE alias IN ({marks})", values))
        # ZeroClaw makes up an id for an alias it does not know; no row has it.
        ids = tuple(known.get(alias, alias) for alias in aliases)
        (rows,) = connection.execute("SELECT count(*) FROM memories").fetchone()
        return replace(self, agent_ids=ids, store_rows=rows)

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

    def keyword_conditions(self) -> Conditions:
        """What the FTS statement restricts besides the words: nothing before 0.8.4."""
        found = Conditions()
        if self.profile.filters_in_sql:
            if self.vector_live:
                self._add_session(found, durable=True)
            self._add_agents(found)
        return found

    def vector_conditions(self) -> Conditions:
        """Which of the rows with a vector the vector stage scans."""
        found = Conditions()
        self._add_session(found, durable=self.profile.filters_in_sql)
        if self.profile.filters_in_sql:
            self._add_agents(found)
        return found

    def recent_conditions(self) -> Conditions:
        """Which rows the list of the newest takes, whoever's they are."""
        found = Conditions()
        self._add_not_superseded(found)
        self._add_session(found, durable=False)
        self._add_times(found)
        return found

    def like_conditions(self, search: LikeSearch) -> Conditions:
        """Which rows the LIKE fall-back takes; sessions are sorted out afterwards."""
        found = Conditions()
        self._add_not_superseded(found)
        escape = r" ESCAPE '\'" if search.escapes else ""
        word = f"(m.content LIKE {{}}{escape} OR m.key LIKE {{}}{escape})"
        any_word = " OR ".join(word for _ in search.patterns)
        # 0.5.5 and 0.5.6 forgot the brackets, so there a time bound restricts only the last word.
        brackets = self.profile.hides_superseded or not self.profile.has_time_bounds
        patterns = [[pattern] for pattern in search.patterns for _ in ("content", "key")]
        found.add(f"({any_word})" if brackets else any_word, *patterns)
        self._add_times(found)
        if self.profile.filters_in_sql:
            self._add_agents(found)
        return found

    def keeps(self, entry: MemoryEntry) -> bool:
        """Whether the store's recall lets a keyword or vector hit through."""
        request = self.request
        if self.profile.hides_superseded and entry.superseded_by is not None:
            return False
        if request.since is not None and entry.timestamp < request.since:
            return False
        if request.until is not None and entry.timestamp > request.until:
            return False
        if self.keeps_session(entry):
            return True
        durable = entry.session_id is None and entry.category in DURABLE
        return durable and self.vector_live and self.profile.durable_rows_cross_sessions

    def keeps_session(self, entry: MemoryEntry) -> bool:
        """Whether a row is of the session asked for."""
        return self.request.session_id is None or entry.session_id == self.request.session_id

    def keeps_agent(self, entry: MemoryEntry) -> bool:
        """Whether a row is of an agent asked for."""
        return self.request.agents is None or entry.agent in self.request.agents

    def keeps_namespace(self, entry: MemoryEntry) -> bool:
        """Whether a row is of the namespace asked for; none counts as "default"."""
        wanted = self.request.namespace
        return wanted is None or (entry.namespace or _DEFAULT_NAMESPACE) == wanted

    def _add_not_superseded(self, found: Conditions) -> None:
        if self.profile.hides_superseded and self.schema.has("superseded_by"):
            found.add("m.superseded_by IS NULL")

    def _add_session(self, found: Conditions, *, durable: bool) -> None:
        session = self.request.session_id
        if session is None:
            return
        if not self.schema.has("session_id"):
            found.add(_NOTHING)
        elif durable and self.schema.has("category"):
            found.add("(m.session_id = {} OR (m.session_id IS NULL AND m.category IN ({})))", [session], DURABLE)
        else:
            found.add("m.session_id = {}", [session])

    def _add_times(self, found: Conditions) -> None:
        if self.request.since is not None:
            found.add("m.created_at >= {}", [self.request.since])
        if self.request.until is not None:
            found.add("m.created_at <= {}", [self.request.until])

    def _add_agents(self, found: Conditions) -> None:
        if self.agent_ids is not None:
            found.add("m.agent_id IN ({})", self.agent_ids)


def scope_of(
    request: RecallRequest, profile: ScoringProfile, schema: Schema, *, vector_live: bool
) -> tuple[Scope, list[str]]:
    """The scope of a request, and sentences on what was asked and cannot be served. An empty `agents` is unscoped."""
    said: list[str] = []
    limit = min(max(request.limit, 0), MOST)
    served = replace(request, limit=limit, agents=request.agents or None)
    if served.agents and (profile.agent_scope == "none" or not schema.has("agent_id")):
        knows_none = f"ZeroClaw {profile.version}" if profile.agent_scope == "none" else "This database"
        said.append(f"{knows_none} knows no agents, so every agent's memories are recalled.")
        served = replace(served, agents=None)
    if (served.since or served.until) and not (profile.has_time_bounds and schema.has("created_at")):
        said.append(f"ZeroClaw {profile.version} has no time bounds in recall, so none are applied.")
        served = replace(served, since=None, until=None)
    return Scope(served, profile, schema, vector_live), said
