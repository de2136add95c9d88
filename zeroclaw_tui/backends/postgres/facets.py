"""How many memories a filter leaves, by category, session, agent, namespace and age, in one statement."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from zeroclaw_tui.backends.listing import moment
from zeroclaw_tui.backends.postgres.browse import conditions
from zeroclaw_tui.backends.postgres.categories import category_of
from zeroclaw_tui.backends.postgres.connection import Connections
from zeroclaw_tui.backends.postgres.statements import Parameters, moment_of
from zeroclaw_tui.backends.postgres.table import Table
from zeroclaw_tui.memory.query import AGE_GROUPS, Facets, MemoryFilter

SECONDS = 120.0
"""How long counting a whole table may take."""

_DAYS = (1, 7, 30)
_GROUPED = ("category", "session_id", "agent_id", "namespace")

Groups = Sequence[Mapping[str, Any]]


async def facets(connections: Connections, table: Table, filter: MemoryFilter, now: str) -> Facets:
    """The counts: one pass with a group for each combination that occurs, summed up here."""
    condition, values = conditions(filter, table)
    given = Parameters(values)
    groups = ", ".join(f"m.{name}::text AS {name}" if table.has(name) else f"NULL AS {name}" for name in _GROUPED)
    to = moment(now) or datetime.max.replace(tzinfo=UTC)
    limits = [moment_of(given.text((to - timedelta(days=days)).isoformat())) for days in _DAYS]
    ages = " ".join(f"WHEN m.{table.created} > {limit} THEN {at}" for at, limit in enumerate(limits))
    bare = "m.embedding IS NULL" if table.has("embedding") else "false"
    statement = f"""
        SELECT category, session_id, agent_id, namespace, age, bare, count(*) AS rows
        FROM (SELECT {groups}, CASE {ages} ELSE {len(_DAYS)} END AS age, {bare} AS bare
              FROM {table.quoted} AS m WHERE {condition}) AS each
        GROUP BY category, session_id, agent_id, namespace, age, bare"""
    async with connections.reading(seconds=SECONDS) as connection:
        found: Groups = await connection.fetch(statement, *given.values)
    return _facets(found, table)


def _facets(found: Groups, table: Table) -> Facets:
    def by(name: str, named: Callable[[str], str] = str) -> dict[str, int]:
        return _counts(found, name, named)

    ages = Counter[int]()
    for group in found:
        ages[group["age"]] += group["rows"]
    return Facets(
        total=sum(group["rows"] for group in found),
        category=by("category", lambda stored: category_of(stored, table)),
        session=by("session_id") if table.has("session_id") else None,
        agent=by("agent_id", lambda owner: table.agents.get(owner, owner)) if table.has("agent_id") else None,
        namespace=_counts([group for group in found if group["namespace"] is not None], "namespace", str)
        if table.has("namespace")
        else None,
        age={name: ages[at] for at, name in enumerate(AGE_GROUPS)},
        not_embedded=sum(group["rows"] for group in found if group["bare"]) if table.has("embedding") else None,
    )


def _counts(found: Groups, name: str, named: Callable[[str], str]) -> dict[str, int]:
    """By count descending, then by name; NULL counts as blank."""
    counter = Counter[str]()
    for group in found:
        value = group[name]
        counter["" if value is None else named(value)] += group["rows"]
    return dict(sorted(counter.items(), key=lambda item: (-item[1], item[0])))
