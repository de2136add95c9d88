"""Facets and statistics counted by the server are those that are counted one by one."""

from __future__ import annotations

import dataclasses

import pytest
from support.postgres_place import FORMS

from zeroclaw_tui.backends.base import Memory
from zeroclaw_tui.backends.matching import count_entries
from zeroclaw_tui.memory.query import MemoryFilter
from zeroclaw_tui.testing.samples import NOW

FILTERS = (
    MemoryFilter(),
    MemoryFilter(category=("core", "recipes and menus")),
    MemoryFilter(contains="RUST"),
    MemoryFilter(older_than="2026-11-10T00:00:00Z"),
    MemoryFilter(contains="there is nothing like that"),
)


@pytest.mark.parametrize("form", FORMS)
async def test_counts_agree_with_counting_one_by_one(form, place, opens):
    place.make_table(form)
    place.fill(form)
    if form != "key":
        place.run("UPDATE memories SET embedding = '[1,2,3]' WHERE length(content) > 40")
    memory = await opens()
    for wanted in FILTERS:
        now = NOW.isoformat()
        facets, expected = await memory.facets(wanted, now), await Memory.facets(memory, wanted, now)
        bare = sum(entry.embedding_dimensions is None for entry in await memory.entries(wanted))
        not_embedded = None if form == "key" else bare
        assert facets == expected._replace(not_embedded=not_embedded)
        for name in ("category", "session", "agent", "namespace"):
            counted = getattr(facets, name)
            assert counted is None or list(counted.items()) == list(getattr(expected, name).items())
        counted = await memory.statistics(wanted)
        one_by_one = count_entries(await memory.entries(wanted), has_vectors=memory.capabilities.vectors)
        biggest = [memory_.size for memory_ in counted.biggest]
        assert biggest == [memory_.size for memory_ in one_by_one.biggest]
        assert dataclasses.replace(counted, biggest=()) == dataclasses.replace(one_by_one, biggest=())


async def test_a_time_that_is_no_moment_counts_as_older_and_undated(place, opens):
    place.make_table("key")
    place.run(
        "INSERT INTO memories VALUES ('a', 'k', 'c', 'core', 'infinity', now(), NULL), "
        "('b', 'l', 'c', 'core', '-infinity', now(), NULL)"
    )
    memory = await opens()
    assert (await memory.statistics()).undated == 2
    assert sum((await memory.facets(MemoryFilter(), NOW.isoformat())).age.values()) == 2


async def test_facets_of_many_sessions_are_in_order_and_hold_all(place, opens):
    place.make_table("agents")
    place.run(
        "INSERT INTO memories (id, key, content, category, created_at, updated_at, session_id, namespace, agent_id) "
        "SELECT n, n, n, 'core', now(), now(), CASE WHEN n % 10 > 0 THEN 's' || n % 4001 END, "
        "CASE WHEN n % 2 = 0 THEN '' END, 'a-scout' FROM generate_series(1, 6000) AS n"
    )
    memory = await opens()
    facets, expected = (
        await memory.facets(MemoryFilter(), NOW.isoformat()),
        await Memory.facets(memory, MemoryFilter(), NOW.isoformat()),
    )
    assert len(facets.session) > 3600
    assert list(facets.session.items()) == list(expected.session.items())
    assert (facets.total, facets.agent, facets.namespace) == (6000, {"scout": 6000}, expected.namespace)
