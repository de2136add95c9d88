"""A listing has the order of ZeroClaw's own statement, also among memories of one and the same `updated_at`."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest
from changed_stores import GENERATIONS
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.databases import HYDRATED, create_database

from zeroclaw_tui.backends.lookup import count_matching
from zeroclaw_tui.backends.sqlite.store import SqliteMemory
from zeroclaw_tui.memory.query import HANDLES, NEWEST_UPDATED, MemoryFilter, Query, Sort, SortField
from zeroclaw_tui.testing.tools import handles_of

CATEGORIES = ("core", "daily")
WITH_AGENTS = ("G3", "G4")
"""Generations whose rows belong to an agent."""


def made(path: Path, generation: str, times: Sequence[int]) -> Path:
    """A database with a memory for each time, a minute each, written by plain statements."""
    create_database(path, generation, default_agent_id="agent-1")
    own = (", agent_id", ", 'agent-1'") if generation in WITH_AGENTS else ("", "")
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executemany(
            f"INSERT INTO memories (id, key, content, category, created_at, updated_at{own[0]}) "
            f"VALUES (?, ?, 'text', ?, ?, ?{own[1]})",
            [
                (f"id-{at}", f"key-{at}", CATEGORIES[at % 2], moment, moment)
                for at, minute in enumerate(times)
                for moment in [f"2026-03-01T10:{minute:02d}:00.000000001+00:00"]
            ],
        )
    return path


def as_zeroclaw_lists(path: Path, category: str | None) -> list[int]:
    """The rowids that ZeroClaw's own statement gives."""
    with closing(sqlite3.connect(path)) as connection:
        columns = {name for (name,) in connection.execute("SELECT name FROM pragma_table_info('memories')")}
        conditions = ["superseded_by IS NULL"] if "superseded_by" in columns else []
        conditions += ["category = ?1"] if category is not None else []
        where = f"WHERE {' AND '.join(conditions)}" if conditions else ""
        statement = f"SELECT rowid, id, key, content FROM memories {where} ORDER BY updated_at DESC LIMIT 1000"
        return [row[0] for row in connection.execute(statement, () if category is None else (category,))]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(
    generation=st.sampled_from([*GENERATIONS, HYDRATED]),
    times=st.lists(st.integers(0, 3), max_size=30),
    category=st.sampled_from([None, *CATEGORIES]),
    size=st.integers(1, 7),
)
async def test_orders_pages_and_lists_are_those_of_the_statement(tmp_path_factory, generation, times, category, size):
    path = made(tmp_path_factory.mktemp("order") / "brain.db", generation, times)
    expected = as_zeroclaw_lists(path, category)
    memory = SqliteMemory(path)
    await memory.open()
    try:
        wanted = MemoryFilter(category=None if category is None else (category,))
        assert list(await handles_of(memory, wanted, NEWEST_UPDATED)) == expected
        assert [entry.handle for entry in await memory.list(category)] == expected
        part = await memory.rows(Query(HANDLES, wanted, NEWEST_UPDATED, offset=2, limit=size))
        total = await count_matching(memory, wanted)
        assert (list(part), total) == (expected[2 : 2 + size], len(expected))
        turned = Sort(SortField.UPDATED, descending=False)
        assert list(await handles_of(memory, wanted, turned)) == expected[::-1]
    finally:
        await memory.close()


@pytest.mark.slow
@pytest.mark.parametrize("generation", ["G1", HYDRATED])
async def test_paging_reaches_the_last_of_a_million_equal_times(tmp_path, generation):
    path = made(tmp_path / "brain.db", generation, [])
    million = 1_000_000
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(
            "WITH RECURSIVE n(at) AS (VALUES (1) UNION ALL SELECT at + 1 FROM n WHERE at < ?) "
            "INSERT INTO memories (id, key, content, category, created_at, updated_at) "
            "SELECT at, at, 'text', 'core', '2026-03-01T10:00:00+00:00', '2026-03-01T10:00:00+00:00' FROM n",
            (million,),
        )
    memory = SqliteMemory(path)
    await memory.open()
    try:
        found = list(await handles_of(memory, MemoryFilter(), NEWEST_UPDATED))
        assert found == (list(range(million, 0, -1)) if generation == HYDRATED else list(range(1, million + 1)))
    finally:
        await memory.close()
