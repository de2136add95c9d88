"""Facets and statistics counted by the server are those that are counted one by one."""

from __future__ import annotations

import pytest
from support.postgres_place import FORMS

from zeroclaw_tui.backends.matching import count_entries
from zeroclaw_tui.memory.query import MemoryFilter
from zeroclaw_tui.memory.statistics import FACET_FIELDS, STATISTICS_FIELDS
from zeroclaw_tui.testing.samples import NOW
from zeroclaw_tui.testing.tools import entries_of

FILTERS = (
    MemoryFilter(),
    MemoryFilter(category=("core", "recipes and menus")),
    MemoryFilter(contains="RUST"),
    MemoryFilter(older_than="2026-11-10T00:00:00Z"),
    MemoryFilter(contains="there is nothing like that"),
)

FIELDS = tuple(dict.fromkeys((*FACET_FIELDS, *STATISTICS_FIELDS)))


@pytest.mark.parametrize("form", FORMS)
async def test_counts_agree_with_counting_one_by_one(form, place, opens):
    place.make_table(form)
    place.fill(form)
    if form != "key":
        place.run("UPDATE memories SET embedding = '[1,2,3]' WHERE length(content) > 40")
    memory = await opens()
    for wanted in FILTERS:
        now = NOW.isoformat()
        entries = await entries_of(memory, wanted)
        counts = await memory.count_up(wanted, now, FIELDS)
        expected = count_entries(entries, [], memory.why_not, now, FIELDS)
        assert (counts.total, counts.content) == (expected.total, expected.content)
        for field, values in expected.by.items():
            assert dict(counts.by[field]) == dict(values)
            # The order is that of the counts; fields of numbers have none.
            assert field == "quarter" or list(counts.by[field]) == list(values)
