"""The rules of each version, the files and rows that they select, and the names of files in the archive."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Any

import pytest
from hygiene_world import NOW, Place, place_at, row
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support import small_store
from support.opened import opened_at, opened_memory
from support.stores import SqliteMemory, require_database

from zeroclaw_tui.backends.health import Budget, Retention
from zeroclaw_tui.curation.hygiene import HygienePlan, plan_hygiene
from zeroclaw_tui.curation.hygiene_rules import HygieneRules, rules_for
from zeroclaw_tui.memory.days import day_of_note, day_of_session

OLD, YOUNG = "2026-01-01T00:00:00+00:00", "2026-03-19T00:00:00+00:00"


async def planned(place: Place, as_of: datetime = NOW, **options: Any) -> HygienePlan:
    async with place.opened_now(**options) as library:
        return await plan_hygiene(library, as_of)


def names(plan: HygienePlan) -> list[str]:
    return [item.name for item in plan.items]


def rules_and_names(plan: HygienePlan) -> list[tuple[str, str]]:
    return [(item.rule, item.name) for item in plan.items]


@pytest.mark.parametrize(("version", "moves_long"), [("0.7.5", False), ("0.8.0", False), ("0.8.1", True)])
async def test_notes_are_selected_by_the_date_in_their_name(make_place, version, moves_long):
    place = make_place(version)
    for name in ("2026-03-13", "2026-03-12", "notes", "2026-03-01_x", "2026-03-01-1442", "MEMORY", "2026-13-01"):
        place.write(f"memory/{name}.md", day="2020-01-01")
    place.write("memory/2026-03-01.txt")
    long = ["memory/2026-03-01-1442.md"] * moves_long
    plan = await planned(place)
    assert names(plan) == sorted([*long, "memory/2026-03-01_x.md", "memory/2026-03-12.md"])
    assert plan.items[-1].date == "2026-03-12"
    assert all(item.target == item.name.replace("memory/", "memory/archive/") for item in plan.items)


async def test_hygiene_uses_the_local_day(make_place, in_zone):
    place = make_place("0.8.4")
    place.write("memory/2026-03-13.md")
    late = datetime(2026, 3, 20, 23, 0, tzinfo=UTC)
    assert names(await planned(place, late)) == []
    in_zone("Asia/Tokyo")
    assert names(await planned(place, late)) == ["memory/2026-03-13.md"]


@pytest.mark.parametrize("version", ["0.8.1", "0.8.2"])
async def test_sessions_are_selected_by_name_or_else_by_modification_time(make_place, version):
    place = make_place(version, purge_after_days=0)
    for name in ("2026-03-12-chat.log", "2026-03-13-chat.log"):
        place.write(f"sessions/{name}", day="2020-01-01" if "13" in name else "2026-03-19")
    for name in ("old.jsonl", "old.jsonl.migrated", "noext", "x.log"):
        place.write(f"sessions/{name}", day="2026-03-12")
    place.write("sessions/young.jsonl", day="2026-03-14")
    (place.root / "sessions" / "folder.jsonl").mkdir()
    plan = await planned(place)
    any_file = ["sessions/noext", "sessions/x.log"] * (version == "0.8.1")
    old = ["sessions/2026-03-12-chat.log", "sessions/old.jsonl", "sessions/old.jsonl.migrated"]
    assert sorted(names(plan)) == sorted([*old, *any_file])
    dates = {item.name: item.date for item in plan.items}
    assert dates["sessions/old.jsonl"] == "2026-03-12T12:00:00+00:00"
    assert dates["sessions/2026-03-12-chat.log"] == "2026-03-12"


async def test_a_taken_archive_name_gets_a_number_before_its_suffix(make_place):
    place = make_place("0.8.4", purge_after_days=0)
    for name in ("2026-03-01.md", "2026-03-01_1.md", "2026-03-02_1.md", "2026-03-02.md"):
        place.write(f"memory/{name}")
    for name in ("2026-03-01.md", "2026-03-02.md"):
        place.write(f"memory/archive/{name}")
    place.write("sessions/2026-03-01-a", day="2026-03-01")
    (place.root / "sessions" / "archive" / "2026-03-01-a").mkdir(parents=True)
    targets = {item.name: item.target for item in (await planned(place)).items}
    assert targets == {
        "memory/2026-03-01.md": "memory/archive/2026-03-01_1.md",
        "memory/2026-03-01_1.md": "memory/archive/2026-03-01_1_1.md",
        "memory/2026-03-02.md": "memory/archive/2026-03-02_1.md",
        "memory/2026-03-02_1.md": "memory/archive/2026-03-02_1_1.md",
        "sessions/2026-03-01-a": "sessions/archive/2026-03-01-a_1",
    }


async def test_a_file_that_is_archived_and_deleted_in_one_run_is_one_item(make_place):
    place = make_place("0.8.4")
    place.write("memory/2026-01-01.md")
    place.write("memory/archive/2026-01-02.md")
    place.write("sessions/old.jsonl.migrated", day="2026-01-01")
    place.write("sessions/archive/old.jsonl.migrated", day="2026-03-19")
    plan = await planned(place)
    assert [(item.name, item.effect_text()) for item in plan.items] == [
        ("memory/2026-01-01.md", "→ archive/2026-01-01.md, then deleted"),
        # ZeroClaw does not delete a file with the same name in the archive.
        ("sessions/old.jsonl.migrated", "→ archive/old.jsonl_1.migrated"),
        ("memory/archive/2026-01-02.md", "deleted"),
    ]
    assert plan.sentences() == ("1 file archived", "2 files deleted")
    report = plan.report()
    assert (report["archived_memory_files"], report["purged_memory_archives"]) == (1, 2)
    assert (report["archived_session_files"], report["purged_session_archives"]) == (1, 0)


@pytest.mark.parametrize(
    ("name", "early", "late"),
    [
        ("2026-3-1.md", date(2026, 3, 1), date(2026, 3, 1)),
        (" 2026- 3- 1.md", date(2026, 3, 1), None),
        ("2026-02-30.md", None, None),
        ("2026-03-01é.md", None, date(2026, 3, 1)),
        ("2026-03-0é.md", None, None),
        ("99999-03-01.md", None, None),
        ("٢٠٢٦-03-01.md", None, None),
    ],
)
def test_dates_are_parsed_as_leniently_as_by_zeroclaw(name, early, late):
    assert (day_of_note(name, reads_long=False), day_of_note(name, reads_long=True)) == (early, late)


def test_the_date_of_a_session_is_the_first_ten_bytes_of_its_name():
    assert day_of_session("2026-03-01junk") == date(2026, 3, 1)
    assert day_of_session("2026-3-01é.log") == date(2026, 3, 1)
    assert day_of_session("2026-3-1é.log") is None
    assert day_of_session("2026-3-1.log") is None


async def test_each_category_is_selected_by_its_own_date(make_place, tmp_path):
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
    assert rules_and_names(plan) == [("conversation rows", "talk"), ("daily rows", "day"), ("core rows", "fact")]
    fact = plan.items[2]
    assert (fact.date, fact.size, fact.excerpt) == (OLD, len("what it says"), "what it says")
    assert plan.report()["pruned_core_rows"] == 1
    earlier = place_at(tmp_path / "earlier", "0.8.0", rows, daily_retention_days=30, core_retention_days=30)
    assert rules_and_names(await planned(earlier)) == [("conversation rows", "talk")]


async def test_times_are_compared_as_text_whatever_their_offset(make_place, in_zone):
    """The cutoff is 2026-02-18T21:00:00+09:00 in Tokyo, which is noon in London."""
    in_zone("Asia/Tokyo")
    rows = [
        row("written in London an hour later", "conversation", "2026-02-18T13:00:00+00:00"),
        row("written in Tokyo an hour later", "conversation", "2026-02-18T22:00:00+09:00"),
        row("written in Tokyo at that second", "conversation", "2026-02-18T21:00:00.5+09:00"),
        row("no date at all", "conversation", ""),
    ]
    plan = await planned(make_place("0.8.4", rows))
    # A full stop sorts before a digit but after a plus.
    assert names(plan) == ["written in London an hour later", "no date at all"]


async def test_the_cutoff_has_the_utc_offset_of_its_own_day(make_place, in_zone):
    """Thirty days before this summer day it was winter time, one hour apart."""
    in_zone("Europe/Berlin")
    rows = [
        row("before", "conversation", "2026-03-11T10:59:59+01:00"),
        row("after", "conversation", "2026-03-11T11:00:00+01:00"),
    ]
    as_of = datetime(2026, 4, 10, 10, 0, tzinfo=UTC)
    assert names(await planned(make_place("0.8.4", rows), as_of)) == ["before"]


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
async def test_the_plan_has_the_rows_that_zeroclaw_would_delete(tmp_path_factory, rows, budget, cutoffs, oldest):
    """The plan is compared with a simple model that deletes one row at a time and counts again."""
    path = small_store.make(tmp_path_factory.mktemp("rows") / "brain.db", "G4", rows)
    budgets = {"core": Budget(budget[0], budget[1]), "daily": Budget(budget[2])}
    retention = Retention(cutoffs, budgets, order="oldest" if oldest else "value")
    async with opened_memory(SqliteMemory(path)) as memory:
        found = {row.version.id for row in await require_database(memory).expired(retention)}
    everything = [{"id": f"id-{at:03d}", **values} for at, values in enumerate(rows)]
    assert found == {found["id"] for found in everything} - {found["id"] for found in rows_left(everything, retention)}


def rows_left(rows: list[dict[str, Any]], retention: Retention) -> list[dict[str, Any]]:
    """Return the rows that stay."""
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
            deletable = [r for r in living() if not r["pinned"]]
            if not deletable:
                break
            left.remove(min(deletable, key=lambda r: rank(r, retention.order)))
    return left


def rank(row: dict[str, Any], order: str) -> tuple[Any, ...]:
    value = (row["importance"] is not None, row["importance"] or 0.0) if order == "value" else ()
    return (*value, row["created_at"], row["id"])


async def test_without_an_install_only_rows_are_planned(tmp_path):
    lone = small_store.make(tmp_path / "copy.db", "G4", [row("talk", "conversation", OLD)])
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "2020-01-01.md").write_text("x")
    async with opened_at(lone, "0.8.4") as library:
        plan = await plan_hygiene(library, NOW)
    assert rules_and_names(plan) == [("conversation rows", "talk")]
    assert plan.problems == ("This database is outside of any workspace, so only its rows are checked.",)


async def test_old_entries_of_the_audit_log_are_planned(make_place):
    place = make_place("0.8.4")
    place.make_audit([OLD, YOUNG, "2026-02-18T11:59:59+00:00"])
    plan = await planned(place)
    assert [(item.rule, item.name, item.date) for item in plan.items] == [
        ("audit log", "store key0", OLD),
        ("audit log", "store key2", "2026-02-18T11:59:59+00:00"),
    ]
    assert names(await planned(replace(place, version="0.8.3"))) == []


async def test_an_audit_log_that_is_no_database_is_a_problem(make_place):
    place = make_place("0.8.4", [row("talk", "conversation", OLD)])
    place.write("memory/audit.db", b"not a database at all, but long enough to be looked at" * 30)
    plan = await planned(place)
    assert names(plan) == ["talk"]
    assert "audit log cannot be read" in plan.problems[0]


FILES = ["archive memory files", "archive session files", "purge memory archives", "purge session archives"]
ROWS = ["daily rows", "core rows"]
BUDGETS = ["core budget", "daily budget"]


async def rules(place: Place) -> HygieneRules:
    async with place.opened_now() as library:
        return rules_for(library.config, place.version)


@pytest.mark.parametrize(
    ("version", "later"),
    [
        ("0.1.7", []),
        ("0.5.6", []),
        ("0.8.0", []),
        ("0.8.1", ROWS),
        ("0.8.2", ROWS),
        ("0.8.3", [*ROWS, *BUDGETS]),
        ("0.8.4", [*ROWS, *BUDGETS, "audit log"]),
    ],
)
async def test_a_version_has_its_own_rules(make_place, version, later):
    found = await rules(make_place(version))
    assert [rule.name for rule in found.rules] == [*FILES, "conversation rows", *later]
    assert found.reads_long_dates == (version >= "0.8.1")
    assert found.archives_any_session_file == (version < "0.8.2")
    assert found.spares_pinned == (version >= "0.8.3")


async def test_the_default_rules_are_described_in_words(make_place):
    found = await rules(make_place("0.8.4"))
    assert [rule.sentence for rule in found.rules] == [
        "daily files older than 7 days are archived",
        "session files older than 7 days are archived",
        "archived daily files older than 30 days are deleted",
        "archived session files older than 30 days are deleted",
        "conversation rows older than 30 days are deleted",
        "daily rows are never deleted",
        "core rows are never deleted",
        "core rows have no limit",
        "daily rows have no limit",
        "entries of the audit log older than 30 days are deleted",
    ]
    assert [rule.is_on for rule in found.rules] == [True] * 5 + [False] * 4 + [True]


@pytest.mark.parametrize(
    ("version", "days"),
    [("0.5.6", (9, None, None)), ("0.5.7", (3, None, None)), ("0.8.0", (3, None, None)), ("0.8.1", (3, 4, 0))],
)
async def test_the_policy_wins_in_the_versions_that_read_it(make_place, version, days):
    place = make_place(version, conversation_retention_days=9, daily_retention_days=9, core_retention_days=9)
    with (place.config_dir / "config.toml").open("a") as config:
        config.write("[memory.policy.retention_days_by_category]\nconversation = 3\ndaily = 4\ncore = 0\n")
    found = await rules(place)
    chosen = [found.rule(name) for name in ("conversation rows", "daily rows", "core rows")]
    assert tuple(None if rule is None else rule.days for rule in chosen) == days
