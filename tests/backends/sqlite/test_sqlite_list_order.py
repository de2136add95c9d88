"""A listing has the order of ZeroClaw's own statement, also among memories with the same `updated_at`."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from changed_stores import GENERATIONS
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.opened import opened_memory
from support.questions import HANDLES, NEWEST_UPDATED, MemoryFilter, Query, Sort, SortField
from support.small_store import make
from support.stores import SqliteMemory, count_matching

from zeroclaw_tui.testing.tools import handles_of

CATEGORIES = ("core", "daily")


def as_zeroclaw_lists(path: Path, category: str | None) -> list[int]:
    """Return the rowids in the order of ZeroClaw's own statement."""
    with closing(sqlite3.connect(path)) as connection:
        columns = {name for (name,) in connection.execute("SELECT name FROM pragma_table_info('memories')")}
        conditions = ["superseded_by IS NULL"] if "superseded_by" in columns else []
        conditions += ["category = ?1"] if category is not None else []
        where = f"WHERE {' AND '.join(conditions)}" if conditions else ""
        statement = f"SELECT rowid, id, key, content FROM memories {where} ORDER BY updated_at DESC LIMIT 1000"
        return [row[0] for row in connection.execute(statement, () if category is None else (category,))]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(
    generation=st.sampled_from(GENERATIONS),
    times=st.lists(st.integers(0, 3), max_size=30),
    category=st.sampled_from([None, *CATEGORIES]),
    size=st.integers(1, 7),
)
async def test_order_pages_and_lists_equal_those_of_the_statement(tmp_path_factory, generation, times, category, size):
    moments = [f"2026-03-01T10:{minute:02d}:00.000000001+00:00" for minute in times]
    rows = [{"category": CATEGORIES[at % 2], "updated_at": moment} for at, moment in enumerate(moments)]
    path = make(tmp_path_factory.mktemp("order") / "brain.db", generation, rows)
    expected = as_zeroclaw_lists(path, category)
    async with opened_memory(SqliteMemory(path)) as memory:
        wanted = MemoryFilter(category=None if category is None else (category,))
        assert list(await handles_of(memory, wanted, NEWEST_UPDATED)) == expected
        assert [entry.handle for entry in await memory.list(category)] == expected
        part = await memory.rows(Query(HANDLES, wanted, NEWEST_UPDATED, offset=2, limit=size))
        total = await count_matching(memory, wanted)
        assert (list(part), total) == (expected[2 : 2 + size], len(expected))
        turned = Sort(SortField.UPDATED, descending=False)
        assert list(await handles_of(memory, wanted, turned)) == expected[::-1]
