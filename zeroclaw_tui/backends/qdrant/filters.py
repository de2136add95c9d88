"""Filters in Qdrant's own words, as far as they mean exactly the same there; the rest is looked at here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from zeroclaw_tui.backends.qdrant.points import DEFAULT_AGENT
from zeroclaw_tui.memory.query import NO_SESSION, MemoryFilter, Superseded
from zeroclaw_tui.memory.text import is_unicode

Condition = dict[str, Any]

NOTHING: Condition = {"has_id": []}


def translated(filter: MemoryFilter, *, has_agents: bool) -> Condition | None:
    """The conditions on category, session and agent as one of Qdrant's filters; None where there are none."""
    must: list[Condition] = []
    if filter.category is not None:
        must.append(any_of("category", filter.category, or_empty="" in filter.category))
    if filter.session is not None:
        must.append(any_of("session_id", filter.session, or_empty=NO_SESSION in filter.session))
    if filter.agent is not None:
        must.append(of_agents(filter.agent) if has_agents else NOTHING)
    if filter.namespace is not None or filter.superseded is Superseded.ONLY:
        must.append(NOTHING)
    return {"must": must} if must else None


def is_looked_at_here(filter: MemoryFilter) -> bool:
    """Whether a filter has parts that Qdrant cannot answer exactly: times, text in the middle, lengths."""
    is_timed = filter.older_than is not None or filter.newer_than is not None or filter.undated
    return is_timed or needs_content(filter)


def needs_content(filter: MemoryFilter) -> bool:
    """Whether a memory's content decides."""
    return filter.looks_for_text or filter.longer_than is not None or filter.shorter_than is not None


def of_key(key: str, agent: str | None = None) -> Condition:
    """The points of a key, all of them or one agent's."""
    return of_keys([key], agent)


def of_keys(keys: Sequence[str], agent: str | None = None) -> Condition:
    """The points of any of these keys, all of them or one agent's."""
    return {"must": [any_of("key", keys), *([] if agent is None else [of_agents([agent])])]}


def of_agents(agents: Iterable[str]) -> Condition:
    """The points of any of these agents; the default one has those that name none too."""
    wanted = list(agents)
    return any_of("agent_id", wanted, or_empty=DEFAULT_AGENT in wanted)


def any_of(field: str, values: Iterable[str], *, or_empty: bool = False) -> Condition:
    """The points whose field is one of these texts, or is not there where `or_empty`."""
    # What is no Unicode is in no payload, and Qdrant refuses it as JSON.
    texts = [value for value in values if is_unicode(value)]
    condition: Condition = {"key": field, "match": {"any": texts}} if texts else NOTHING
    return {"should": [condition, {"is_empty": {"key": field}}]} if or_empty else condition
