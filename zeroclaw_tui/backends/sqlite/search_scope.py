"""Which rows a recall may see, as SQL conditions."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from zeroclaw_tui.backends.sqlite.schema import Schema
from zeroclaw_tui.files.database import bound
from zeroclaw_tui.memory.recall import RecallRequest
from zeroclaw_tui.scoring.keywords import LikeSearch
from zeroclaw_tui.scoring.profiles import ScoringProfile
from zeroclaw_tui.scoring.scope import DURABLE, Scope, served

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


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlScope(Scope):
    """A request as this database and this profile serve it; `asked` is it as it was asked."""

    schema: Schema
    asked: RecallRequest

    def with_agents(self, connection: sqlite3.Connection) -> SqlScope:
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
) -> tuple[SqlScope, list[str]]:
    """The scope of a request, and sentences on what was asked and cannot be served. An empty `agents` is unscoped."""
    left, said = served(request, profile, has_agents=schema.has("agent_id"), has_times=schema.has("created_at"))
    return SqlScope(left, profile, vector_live, schema=schema, asked=request), said
