"""What a plan to delete memories says about them."""

from __future__ import annotations

from support import small_store
from support.opened import opened_at

from zeroclaw_tui.curation.purge_plan import plan_of, plan_purge
from zeroclaw_tui.memory.change import RowVersion
from zeroclaw_tui.memory.query import MemoryFilter


async def test_a_plan_has_what_the_filter_selects_and_counts_the_superseded_ones_that_stay(tmp_path):
    rows = [{"id": name, "superseded_by": "a" if name == "c" else None} for name in "abcd"]
    async with opened_at(small_store.make(tmp_path / "brain.db", "G4", rows)) as library:
        plan = await plan_purge(library, MemoryFilter())
    assert [stamp.id for stamp in plan.stamps] == ["a", "b", "d"]
    assert plan.as_json() == {"superseded_hidden": 1}
    assert plan.superseded_sentence("--superseded show takes").startswith("1 superseded memory stays; --superseded")


def version(number: int, category: str, timestamp: str = "") -> RowVersion:
    return RowVersion(f"id{number}", "key", "", category, timestamp, size=1024)


def test_a_plan_names_the_largest_categories_the_ages_and_the_size():
    """Ages are compared as moments, not as texts; what is no time is left out."""
    times = ("2026-03-02T01:00:00+05:00", "2026-03-01T22:00:00+00:00", "not a time")
    some = [version(number, "core", time) for number, time in enumerate(times)]
    others = [version(number, f"kind {number}") for number in range(3, 9)]
    categories, facts = plan_of([*some, *others]).sentences()
    assert categories == "core 3 · kind 3 1 · kind 4 1 · kind 5 1 · 3 of other categories (3)"
    assert facts == "oldest 2026-03-02 · newest 2026-03-01 · 9.0 KB"


def test_from_eleven_memories_on_the_number_is_typed():
    assert [plan_of([version(0, "core")] * count).is_typed for count in (10, 11)] == [False, True]
