"""A plan names exactly the memories its filter or marks show, and says of them what a person must know first."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from support import small_store
from support.opened import opened

from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.purge_plan import PurgePlan, plan_of, plan_purge
from zeroclaw_tui.memory.query import EXCERPTS, NEWEST_STORED, MemoryFilter, Query, Superseded

OTHER_AGENT = "00000000-0000-4000-8000-000000000002"
ROWS: tuple[dict[str, Any], ...] = (
    {"id": "a", "key": "one", "content": "first", "category": "work", "namespace": "home", "session_id": "s1"},
    {"id": "b", "key": "two", "content": "second, longer", "category": "home", "namespace": "work"},
    {"id": "c", "key": "three", "content": "ünï", "category": "core", "namespace": "work", "superseded_by": "two"},
    {"id": "d", "key": "four", "content": "100% of under_score", "category": "work", "namespace": "default"},
    {"id": "e", "key": "five", "content": "x" * 3000, "category": "core", "namespace": "home", "session_id": "s1"},
    {"id": "f", "key": "five", "content": "of another agent", "category": "core", "agent_id": OTHER_AGENT},
)
TIMES = (
    "2026-03-01T10:00:00.123456789+00:00",
    "2026-03-01T09:30:00+00:00",
    "2026-03-01T12:00:00+05:00",
    "not a time",
    "2026-03-01T09:59:59-02:00",
    "2026-03-01T11:00:00+00:00",
)

FILTERS = (
    MemoryFilter(),
    MemoryFilter(superseded=Superseded.SHOW),
    MemoryFilter(superseded=Superseded.ONLY),
    MemoryFilter(category=("work",)),
    MemoryFilter(namespace=("work",)),
    MemoryFilter(namespace=("home",), category=("work",)),
    MemoryFilter(session=("s1",)),
    MemoryFilter(session=("",)),
    MemoryFilter(agent=("anna",)),
    MemoryFilter(older_than="2026-03-01T10:00:00+00:00"),
    MemoryFilter(newer_than="2026-03-01T10:00:00+00:00"),
    MemoryFilter(contains="UNDER_score"),
    MemoryFilter(contains="%"),
    MemoryFilter(category=("no such",)),
)


@pytest.fixture
async def library(tmp_path: Path) -> AsyncIterator[Library]:
    """A library of the newest schema, two agents, times of several offsets."""
    database = small_store.make(tmp_path / "brain.db", "G4", [])
    small_store.change(database, "INSERT INTO agents VALUES (?, 'anna', '2026-01-01')", [OTHER_AGENT])
    small_store.add(database, [row | {"created_at": at} for row, at in zip(ROWS, TIMES, strict=True)])
    async with opened({"HOME": str(tmp_path)}, path=database) as library:
        yield library


def _ids(plan: PurgePlan) -> list[str]:
    return [stamp.id for stamp in plan.stamps]


async def test_a_plan_has_exactly_the_memories_the_list_shows(library: Library) -> None:
    for wanted in FILTERS:
        plan = await plan_purge(library, wanted)
        shown = await library.memory.rows(Query(EXCERPTS, wanted, NEWEST_STORED, limit=100))
        assert set(_ids(plan)) == {entry.id for entry in shown}, wanted
        assert plan.filter == wanted


async def test_a_plan_counts_what_would_go(library: Library) -> None:
    """Bytes of the contents, categories by count, and the first ones in the order of storing."""
    plan = await plan_purge(library, MemoryFilter(superseded=Superseded.SHOW))
    assert plan.size == sum(len(row["content"].encode()) for row in ROWS)
    assert list(plan.categories.items()) == [("core", 3), ("work", 2), ("home", 1)]
    assert [stamp.id for stamp in plan.samples] == ["a", "b", "c"]


async def test_the_oldest_and_the_newest_are_found_by_time_not_by_text(library: Library) -> None:
    """They are shown as they are stored, nine digits and offset; what is no time is left out."""
    plan = await plan_purge(library, MemoryFilter(superseded=Superseded.SHOW))
    assert (plan.oldest, plan.newest) == ("2026-03-01T12:00:00+05:00", "2026-03-01T09:59:59-02:00")
    assert not plan.is_typed
    assert plan_of(plan.stamps * 2).is_typed
    undated = plan_of(stamp for stamp in plan.stamps if stamp.id == "d")
    assert (undated.oldest, undated.newest) == (None, None)


def test_a_plan_names_every_category_before_it_counts_others() -> None:
    def named(count: int) -> tuple[str, ...]:
        plan = PurgePlan((), 0, 0, {f"kind_{n}": n for n in range(1, count + 1)}, None, None, ())
        return plan.category_facts()

    assert named(5) == ("kind_1 1", "kind_2 2", "kind_3 3", "kind_4 4", "kind_5 5")
    assert named(7)[3:] == ("kind_4 4", "18 in 3 other categories")
