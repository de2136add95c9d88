"""Rows of equal values come in one order in both directions, by pages, as a part and whole."""

from __future__ import annotations

import pytest

from zeroclaw_tui.backends.lookup import count_matching
from zeroclaw_tui.memory.query import EXCERPTS, HANDLES, MemoryFilter, Query, Sort, SortField
from zeroclaw_tui.testing.tools import handles_of

IDS = [f"id-{number:02}" for number in range(17)]


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("field", [field for field in SortField if field is not SortField.KEY])
@pytest.mark.parametrize("wanted", [MemoryFilter(), MemoryFilter(contains="text")])
async def test_equal_values_are_paged_by_their_ids_in_both_directions(place, opens, wanted, field, descending):
    place.make_table("key")
    rows = ", ".join(f"('{id_}', 'key {id_}', 'text', 'core', 'epoch', 'epoch')" for id_ in IDS[8:] + IDS[:8])
    place.run(f"INSERT INTO memories (id, key, content, category, created_at, updated_at) VALUES {rows}")
    memory, sort = await opens(), Sort(field, descending)
    expected = sorted(IDS, reverse=descending)
    assert list(await handles_of(memory, wanted, sort)) == expected
    for offset in range(0, len(IDS), 5):
        part = await memory.rows(Query(HANDLES, wanted, sort, offset=offset, limit=5))
        total = await count_matching(memory, wanted)
        assert (list(part), total) == (expected[offset : offset + 5], len(IDS))
        page = await memory.rows(Query(EXCERPTS, wanted, sort, offset=offset, limit=5))
        assert [entry.handle for entry in page] == expected[offset : offset + 5]
