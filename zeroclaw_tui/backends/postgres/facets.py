"""How many memories a filter leaves, by category, session, agent, namespace and age, in one statement."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from zeroclaw_tui.backends.listing import moment
from zeroclaw_tui.backends.postgres.browse import conditions, is_dated
from zeroclaw_tui.backends.postgres.categories import category_of
from zeroclaw_tui.backends.postgres.connect import NOT_SUPPORTED, Connections, expected
from zeroclaw_tui.backends.postgres.statements import Parameters, moment_of
from zeroclaw_tui.backends.postgres.table import Table
from zeroclaw_tui.memory.query import AGE_GROUPS, Facets, MemoryFilter

SECONDS = 120.0
"""How long counting a whole table may take."""

_DAYS = (1, 7, 30)
_GROUPED = ("category", "agent_id", "namespace")
_SETS = "GROUPING SETS"
_GROUPS_AT_ONCE = 2000


async def facets(connections: Connections, table: Table, filter: MemoryFilter, now: str) -> Facets:
    """The counts, in one pass; in two where the server has no GROUPING SETS, as databases spread over machines do.

    There may be as many sessions as memories: they are counted apart from what else occurs together, and put in order
    by the server.
    """
    condition, values = conditions(filter, table)
    given = Parameters(values)
    to = moment(now) or datetime.max.replace(tzinfo=UTC)
    limits = [moment_of(given.text((to - timedelta(days=days)).isoformat())) for days in _DAYS]
    ages = " ".join(f"WHEN m.{table.created} > {limit} THEN {at}" for at, limit in enumerate(limits))
    columns = ", ".join(
        [
            *(f"m.{name}::text AS {name}" if table.has(name) else f"NULL AS {name}" for name in _GROUPED),
            "coalesce(m.session_id::text, '') AS session" if table.has("session_id") else "NULL AS session",
            f"CASE WHEN NOT {is_dated(table)} THEN {len(_DAYS) + 1} {ages} ELSE {len(_DAYS)} END AS age",
            ("m.embedding IS NULL" if table.has("embedding") else "false") + " AS bare",
        ]
    )
    others = ", ".join((*_GROUPED, "age", "bare"))
    each = f"(SELECT {columns} FROM {table.quoted} AS m WHERE {condition}) AS each"
    by_session = 'ORDER BY rows DESC, session COLLATE "C"'
    at_once = f"""
        SELECT {others}, session, grouping(session) = 0 AS is_session, sum(rows)::bigint AS rows
        FROM (SELECT {others}, session, count(*) AS rows FROM {each} GROUP BY {others}, session) AS groups
        GROUP BY GROUPING SETS (({others}), (session)) {by_session}
    """
    one_by_one = (
        f"SELECT {others}, false AS is_session, count(*) AS rows FROM {each} GROUP BY {others} ORDER BY rows DESC",
        f"SELECT session, true AS is_session, count(*) AS rows FROM {each} GROUP BY session {by_session}",
    )
    found = await _groups(connections, (at_once,), given.values) if _SETS not in connections.refused else None
    if found is None:
        found = await _groups(connections, one_by_one, given.values, ()) or []
        connections.refused.add(_SETS)
    counts = _Counts(table)
    for start in range(0, len(found), _GROUPS_AT_ONCE):
        counts.add(found[start : start + _GROUPS_AT_ONCE])
        await asyncio.sleep(0)
    return counts.facets()


async def _groups(
    connections: Connections, statements: Sequence[str], values: Sequence[Any], codes: Sequence[str] = NOT_SUPPORTED
) -> Sequence[Mapping[str, Any]] | None:
    """The groups of all of these statements; None where the server answers with one of the codes."""
    groups: list[Mapping[str, Any]] = []
    async with connections.reading(seconds=SECONDS) as connection:
        with expected(*codes) as refused:
            for statement in statements:
                # Not by a cursor: for one the server uses no parallel workers.
                groups += await connection.fetch(statement, *values)
    return None if refused else groups


class _Counts:
    """Groups added up."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._sessions: dict[str, int] = {}
        self._by: dict[str, Counter[str | None]] = {name: Counter() for name in _GROUPED}
        self._ages = Counter[int]()
        self._bare = 0

    def add(self, groups: Sequence[Mapping[str, Any]]) -> None:
        """Some more of the groups."""
        for group in groups:
            rows = group["rows"]
            if group["is_session"]:
                self._sessions[group["session"]] = rows
                continue
            for name, counter in self._by.items():
                counter[group[name]] += rows
            self._ages[group["age"]] += rows
            self._bare += rows if group["bare"] else 0

    def facets(self) -> Facets:
        """What they come to. A row without a namespace is in none."""
        table = self._table
        namespaces = {name: rows for name, rows in self._by["namespace"].items() if name is not None}
        return Facets(
            total=self._ages.total(),
            category=_ordered(self._by["category"], lambda stored: category_of(stored, table)),
            session=self._sessions if table.has("session_id") else None,
            agent=_ordered(self._by["agent_id"], lambda owner: table.agents.get(owner, owner))
            if table.has("agent_id")
            else None,
            namespace=_ordered(namespaces, str) if table.has("namespace") else None,
            age={name: self._ages[at] for at, name in enumerate(AGE_GROUPS)},
            not_embedded=self._bare if table.has("embedding") else None,
        )


def _ordered(counted: Mapping[Any, int], named: Callable[[str], str]) -> dict[str, int]:
    """By count descending, then by name; NULL counts as blank, and several spellings of one name as that name."""
    counter = Counter[str]()
    for stored, rows in counted.items():
        counter[named(stored or "")] += rows
    return dict(sorted(counter.items(), key=lambda item: (-item[1], item[0])))
