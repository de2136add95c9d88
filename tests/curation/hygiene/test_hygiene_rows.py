"""Which rows are old, and which are over a budget."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hygiene_world import NOW, Place, place_at, row
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support import small_store
from support.opened import opened_at

from zeroclaw_tui.backends.health import Budget, Retention
from zeroclaw_tui.backends.lookup import require_database
from zeroclaw_tui.backends.sqlite.store import SqliteMemory
from zeroclaw_tui.curation.hygiene.plan import HygienePlan, plan_hygiene

Make = Callable[..., Place]
OLD, YOUNG = "2026-01-01T00:00:00+00:00", "2026-03-19T00:00:00+00:00"


async def planned(place: Place, as_of: datetime = NOW, **options: Any) -> HygienePlan:
    async with place.opened(**options) as library:
        return await plan_hygiene(library, as_of)


def taken(plan: HygienePlan) -> list[tuple[str, str]]:
    return [(item.rule, item.name) for item in plan.items]


async def test_each_category_goes_by_its_own_date(make_place: Make, tmp_path: Path) -> None:
    rows = [
        row("talk", "conversation", OLD),
        row("talked again", "conversation", OLD, updated_at=YOUNG),
        row("day", "daily", OLD),
        row("day again", "daily", OLD, updated_at=YOUNG),
        row("fact", "core", OLD, updated_at=YOUNG, content="what it says"),
        row("new fact", "core", YOUNG, updated_at=OLD),
        row("other", "project", OLD),
    ]
    plan = await planned(make_place("0.8.4", rows, daily_retention_days=30, core_retention_days=30))
    assert taken(plan) == [("conversation rows", "talk"), ("daily rows", "day"), ("core rows", "fact")]
    fact = plan.items[2]
    assert (fact.date, fact.size, fact.excerpt) == (OLD, len("what it says"), "what it says")
    assert plan.report()["pruned_core_rows"] == 1
    earlier = place_at(tmp_path / "earlier", "0.8.0", rows, daily_retention_days=30, core_retention_days=30)
    assert taken(await planned(earlier)) == [("conversation rows", "talk")]


@pytest.mark.parametrize(("version", "spared"), [("0.8.2", False), ("0.8.3", True)])
async def test_pinned_rows_stay_from_0_8_3_on(make_place: Make, version: str, spared: bool) -> None:
    pinned = {"pinned": 1} if version >= "0.8.3" else {}
    place = make_place(version, [row("talk", "conversation", OLD, **pinned)])
    assert bool((await planned(place)).items) is not spared


async def test_a_database_not_yet_migrated_counts_as_after_the_migration(make_place: Make) -> None:
    place = make_place("0.8.2", [row("talk", "conversation", OLD)])
    place.version = "0.8.4"
    plan = await planned(place)
    assert taken(plan) == [("conversation rows", "talk")]
    assert any("column pinned" in problem for problem in plan.problems)


async def test_moments_are_compared_as_text_whatever_their_offset(
    make_place: Make, in_zone: Callable[[str], None]
) -> None:
    """The cutoff is 2026-02-18T21:00:00+09:00 in Tokyo: by the clock that is noon in London."""
    in_zone("Asia/Tokyo")
    rows = [
        row("written in London an hour later", "conversation", "2026-02-18T13:00:00+00:00"),
        row("written in Tokyo an hour later", "conversation", "2026-02-18T22:00:00+09:00"),
        row("written in Tokyo at that second", "conversation", "2026-02-18T21:00:00.5+09:00"),
        row("no date at all", "conversation", ""),
    ]
    plan = await planned(make_place("0.8.4", rows))
    # A full stop sorts before a digit but after a plus.
    assert [name for _, name in taken(plan)] == ["written in London an hour later", "no date at all"]


async def test_the_cutoff_has_the_offset_of_its_own_day(make_place: Make, in_zone: Callable[[str], None]) -> None:
    """Thirty days before a summer's morning lies in winter, so that an hour is missing."""
    in_zone("Europe/Berlin")
    rows = [
        row("before", "conversation", "2026-03-11T10:59:59+01:00"),
        row("after", "conversation", "2026-03-11T11:00:00+01:00"),
    ]
    as_of = datetime(2026, 4, 10, 10, 0, tzinfo=UTC)
    assert [name for _, name in taken(await planned(make_place("0.8.4", rows), as_of))] == ["before"]


@pytest.mark.parametrize(
    ("order", "pinned", "gone"),
    [("value", False, "t1"), ("oldest", False, "t1"), ("value", True, "t3"), ("oldest", True, "t2")],
)
async def test_over_a_budget_the_least_goes_and_the_pinned_stay(
    make_place: Make, order: str, pinned: bool, gone: str
) -> None:
    values = (("t1", 0.5), ("t2", 0.9), ("t3", 0.5))
    rows = [
        row(key, "core", f"2026-03-0{at}", importance=value, pinned=int(pinned and key == "t1"))
        for at, (key, value) in enumerate(values, 1)
    ]
    plan = await planned(make_place("0.8.4", rows, core_max_rows=2, evict_order=order))
    assert taken(plan) == [("core budget", gone)]
    assert plan.report()["pruned_core_rows"] == 1


async def test_a_budget_counts_what_retention_left(make_place: Make) -> None:
    rows = [row(f"old{at}", "daily", OLD) for at in range(3)] + [row(f"new{at}", "daily", YOUNG) for at in range(3)]
    place = make_place("0.8.4", rows, daily_retention_days=30, daily_max_rows=2)
    assert taken(await planned(place)) == [
        *(("daily rows", f"old{at}") for at in range(3)),
        ("daily budget", "new0"),
    ]


async def test_bytes_are_characters_and_superseded_rows_do_not_count(make_place: Make) -> None:
    rows = [
        row("replaced", "core", "2026-03-01", content="x" * 100, superseded_by="id-b"),
        row("a", "core", "2026-03-02", content="éé"),
        row("b", "core", "2026-03-03", content="éééé"),
    ]
    place = make_place("0.8.4", rows, core_max_bytes=6)
    assert taken(await planned(place)) == []
    place.configure(core_max_bytes=5)
    assert taken(await planned(place)) == [("core budget", "a")]


ROW = st.fixed_dictionaries(
    {
        "category": st.sampled_from(["core", "daily", "conversation"]),
        "created_at": st.sampled_from(["2026-01-01", "2026-01-02", "2026-01-03", ""]),
        "updated_at": st.sampled_from(["2026-01-01", "2026-01-02", "2026-01-03"]),
        "content": st.text("aé", max_size=4),
        "importance": st.sampled_from([None, 0.1, 0.5]),
        "pinned": st.sampled_from([0, 0, 1]),
        "superseded_by": st.sampled_from([None, None, "id-x"]),
    }
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    rows=st.lists(ROW, max_size=12),
    budget=st.tuples(st.integers(0, 4), st.integers(0, 12), st.integers(0, 3)),
    cutoffs=st.dictionaries(st.sampled_from(["core", "daily"]), st.sampled_from(["2026-01-02", "2026-01-03"])),
    oldest=st.booleans(),
)
async def test_what_goes_is_what_zeroclaws_statements_delete(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[dict[str, Any]],
    budget: tuple[int, int, int],
    cutoffs: dict[str, str],
    oldest: bool,
) -> None:
    """Against a plain model: delete one by one, counting anew each time."""
    path = small_store.make(tmp_path_factory.mktemp("rows") / "brain.db", "G4", rows)
    retention = Retention(
        cutoffs,
        {"core": Budget(budget[0], budget[1]), "daily": Budget(budget[2])},
        order="oldest" if oldest else "value",
    )
    memory = SqliteMemory(path)
    await memory.open()
    try:
        found = {outdated.stamp.id for outdated in await require_database(memory).expired(retention)}
    finally:
        await memory.close()
    everything = [{"id": f"id-{at:03d}", **values} for at, values in enumerate(rows)]
    assert found == {found["id"] for found in everything} - {found["id"] for found in model(everything, retention)}


def model(rows: list[dict[str, Any]], retention: Retention) -> list[dict[str, Any]]:
    """What stays."""
    left = list(rows)
    for category, cutoff in retention.cutoffs.items():
        date = "created_at" if category == "core" else "updated_at"
        left = [r for r in left if r["category"] != category or r["pinned"] or not r[date] < cutoff]
    for category, budget in retention.budgets.items():

        def living() -> list[dict[str, Any]]:
            return [r for r in left if r["category"] == category and r["superseded_by"] is None]  # noqa: B023

        def is_over(bound: Budget) -> bool:
            rows_over = bound.rows and len(living()) > bound.rows
            return bool(rows_over or (bound.characters and sum(len(r["content"]) for r in living()) > bound.characters))

        while is_over(budget):
            going = [r for r in living() if not r["pinned"]]
            if not going:
                break
            first = min(going, key=lambda r: rank(r, retention.order))
            left.remove(first)
    return left


def rank(row: dict[str, Any], order: str) -> tuple[Any, ...]:
    value = (row["importance"] is not None, row["importance"] or 0.0) if order == "value" else ()
    return (*value, row["created_at"], row["id"])


async def test_a_store_that_hygiene_never_looks_at_is_told(make_place: Make) -> None:
    plan = await planned(make_place("0.8.4", []), backend="in_memory")
    assert plan.items == ()
    assert plan.problems == (
        "ZeroClaw's hygiene deletes rows of memory/brain.db alone: in the in-memory store memories stay forever.",
    )


@pytest.mark.parametrize(("configured", "options"), [("markdown", {}), ("sqlite", {"backend": "markdown"})])
async def test_rows_of_a_database_that_is_not_the_store_are_told(
    make_place: Make, configured: str, options: dict[str, str]
) -> None:
    """True as well where the configured backend is that database, and another store was chosen."""
    place = make_place("0.7.5", [row("talk", "conversation", OLD), row("talk2", "conversation", OLD)])
    place.configure(backend=configured)
    place.write("memory/2026-03-01.md", b"- **a**: b\n")
    plan = await planned(place, **options)
    assert [item.name for item in plan.items] == ["memory/2026-03-01.md"]
    assert plan.problems == (
        "ZeroClaw would also delete 2 rows of memory/brain.db, which is not the store open here; "
        "open it with --backend sqlite to clean them up by hand.",
    )


async def test_of_a_lone_database_only_the_rows_are_planned(tmp_path: Path) -> None:
    lone = small_store.make(tmp_path / "copy.db", "G4", [row("talk", "conversation", OLD)])
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "2020-01-01.md").write_text("x")
    async with opened_at(lone, "0.8.4") as library:
        plan = await plan_hygiene(library, NOW)
    assert taken(plan) == [("conversation rows", "talk")]
    assert plan.problems == ("This database is outside of any workspace, so only its rows are checked.",)


async def test_old_entries_of_the_audit_log_are_planned(make_place: Make) -> None:
    place = make_place("0.8.4")
    place.make_audit([OLD, YOUNG, "2026-02-18T11:59:59+00:00"])
    plan = await planned(place)
    assert [(item.rule, item.name, item.date) for item in plan.items] == [
        ("audit log", "store key0", OLD),
        ("audit log", "store key2", "2026-02-18T11:59:59+00:00"),
    ]
    place.version = "0.8.3"
    assert taken(await planned(place)) == []


async def test_an_audit_log_that_is_no_database_is_passed_over(make_place: Make) -> None:
    place = make_place("0.8.4", [row("talk", "conversation", OLD)])
    place.write("memory/audit.db", b"not a database at all, but long enough to be looked at" * 30)
    plan = await planned(place)
    assert taken(plan) == [("conversation rows", "talk")]
    assert any("audit log cannot be read" in problem for problem in plan.problems)
    assert plan.is_whole


async def test_looking_writes_nothing(make_place: Make) -> None:
    place = make_place("0.8.4", [row("talk", "conversation", OLD)])
    place.make_audit([OLD])
    before, entries = place.database.read_bytes(), place.entries()
    await planned(place)
    assert (place.database.read_bytes(), place.entries()) == (before, entries)
    with closing(sqlite3.connect(place.database)) as connection:
        assert connection.execute("SELECT count(*) FROM memories").fetchone() == (1,)
    assert not (place.config_dir / "zeroclaw-tui").exists()
