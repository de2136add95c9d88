"""Which files are old, by which date, and what they are called in the archive."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hygiene_world import NOW, Place, row

from zeroclaw_tui.curation.hygiene.plan import HygienePlan, plan_hygiene
from zeroclaw_tui.memory.days import day_of_note, day_of_session

Make = Callable[..., Place]


async def planned(place: Place, as_of: datetime = NOW) -> HygienePlan:
    async with place.opened() as library:
        return await plan_hygiene(library, as_of)


def names(plan: HygienePlan) -> list[str]:
    return [item.name for item in plan.items]


@pytest.mark.parametrize(("version", "moves_long"), [("0.7.5", False), ("0.8.0", False), ("0.8.1", True)])
async def test_notes_go_by_the_date_in_their_name(make_place: Make, version: str, moves_long: bool) -> None:
    place = make_place(version)
    for name in ("2026-03-13", "2026-03-12", "notes", "2026-03-01_x", "2026-03-01-1442", "MEMORY", "2026-13-01"):
        place.write(f"memory/{name}.md", day="2020-01-01")
    place.write("memory/2026-03-01.txt")
    long = ["memory/2026-03-01-1442.md"] * moves_long
    plan = await planned(place)
    assert names(plan) == sorted([*long, "memory/2026-03-01_x.md", "memory/2026-03-12.md"])
    assert [item.date for item in plan.items][-1] == "2026-03-12"
    assert all(item.target == item.name.replace("memory/", "memory/archive/") for item in plan.items)


async def test_the_day_is_the_local_one(make_place: Make, in_zone: Callable[[str], None]) -> None:
    place = make_place("0.8.4")
    place.write("memory/2026-03-13.md")
    late = datetime(2026, 3, 20, 23, 0, tzinfo=UTC)
    assert names(await planned(place, late)) == []
    in_zone("Asia/Tokyo")
    assert names(await planned(place, late)) == ["memory/2026-03-13.md"]


@pytest.mark.parametrize("version", ["0.8.1", "0.8.2"])
async def test_sessions_go_by_name_else_by_their_last_change(make_place: Make, version: str) -> None:
    place = make_place(version, purge_after_days=0)
    for name in ("2026-03-12-chat.log", "2026-03-13-chat.log"):
        place.write(f"sessions/{name}", day="2020-01-01" if "13" in name else "2026-03-19")
    for name in ("old.jsonl", "old.jsonl.migrated", "noext", "é-name.log", "x.log"):
        place.write(f"sessions/{name}", day="2026-03-12")
    place.write("sessions/young.jsonl", day="2026-03-14")
    (place.root / "sessions" / "folder.jsonl").mkdir()
    plan = await planned(place)
    any_file = ["sessions/noext", "sessions/x.log", "sessions/é-name.log"] * (version == "0.8.1")
    old = ["sessions/2026-03-12-chat.log", "sessions/old.jsonl", "sessions/old.jsonl.migrated"]
    assert sorted(names(plan)) == sorted([*old, *any_file])
    by_name = {item.name: item.date for item in plan.items}
    assert by_name["sessions/old.jsonl"] == "2026-03-12T12:00:00+00:00"
    assert by_name["sessions/2026-03-12-chat.log"] == "2026-03-12"


async def test_the_database_of_sessions_is_told_apart_where_zeroclaw_archives_it(make_place: Make) -> None:
    place = make_place("0.8.1")
    place.write("sessions/sessions.db", day="2026-03-01")
    plan = await planned(place)
    assert names(plan) == ["sessions/sessions.db"]
    assert any("is the database of ZeroClaw's sessions" in problem for problem in plan.problems)


async def test_a_name_that_is_taken_gets_a_number_before_its_ending(make_place: Make) -> None:
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


async def test_what_is_archived_and_deleted_in_one_run_is_one_item(make_place: Make) -> None:
    place = make_place("0.8.4")
    place.write("memory/2026-01-01.md")
    place.write("memory/archive/2026-01-02.md")
    place.write("sessions/old.jsonl.migrated", day="2026-01-01")
    place.write("sessions/archive/old.jsonl.migrated", day="2026-03-19")
    plan = await planned(place)
    assert [(item.name, item.target, item.and_purged) for item in plan.items] == [
        ("memory/2026-01-01.md", "memory/archive/2026-01-01.md", True),
        # Under its name in the archive it is none of those that ZeroClaw deletes.
        ("sessions/old.jsonl.migrated", "sessions/archive/old.jsonl_1.migrated", False),
        ("memory/archive/2026-01-02.md", None, False),
    ]
    report = plan.report()
    assert (report["archived_memory_files"], report["purged_memory_archives"]) == (1, 2)
    assert (report["archived_session_files"], report["purged_session_archives"]) == (1, 0)


async def test_names_that_are_no_utf8_and_links_to_nothing_are_passed_over(make_place: Make) -> None:
    place = make_place("0.1.7")
    folder = place.root / "sessions"
    folder.mkdir()
    place.write(f"sessions/{os.fsdecode(b'2020-01-01-')}{os.fsdecode(bytes([255]))}.log")
    (folder / "2020-01-01-link").symlink_to("nowhere")
    assert names(await planned(place)) == []


async def test_a_folder_that_cannot_be_listed_is_a_problem_and_the_rest_is_planned(
    make_place: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = make_place("0.8.4", [row("a", "conversation", "2020")])
    place.write("memory/2026-03-01.md")
    place.write("sessions/2026-03-01.log")
    listed = os.listdir

    def forbidding(path: Path) -> list[str]:
        if Path(path).name == "sessions":
            raise PermissionError(13, "Permission denied")
        return listed(path)

    monkeypatch.setattr(os, "listdir", forbidding)
    plan = await planned(place)
    assert names(plan) == ["memory/2026-03-01.md", "a"]
    assert plan.problems == ("sessions/ cannot be read (Permission denied), and ZeroClaw's hygiene stops there too.",)
    assert not plan.is_whole


async def test_a_number_of_days_beyond_the_calendar_takes_nothing(make_place: Make) -> None:
    place = make_place("0.8.4", archive_after_days=4_294_967_295, conversation_retention_days=4_294_967_295)
    place.write("memory/2000-01-01.md")
    assert names(await planned(place)) == []


@pytest.mark.parametrize(
    ("name", "early", "late"),
    [
        ("2026-3-1.md", (2026, 3, 1), (2026, 3, 1)),
        ("2026-03-1.md", (2026, 3, 1), (2026, 3, 1)),
        ("26-03-01.md", (26, 3, 1), (26, 3, 1)),
        ("+2026-03-01.md", (2026, 3, 1), None),
        ("-5-03-01.md", (-5, 3, 1), (-5, 3, 1)),
        (" 2026- 3- 1.md", (2026, 3, 1), None),
        ("2026-02-30.md", None, None),
        ("2024-02-29.md", (2024, 2, 29), (2024, 2, 29)),
        ("2026-02-29.md", None, None),
        ("2026-03-01é.md", None, (2026, 3, 1)),
        ("2026-03-0é.md", None, None),
        ("99999-03-01.md", None, None),
        ("2026-03-01.MD", None, None),
        ("٢٠٢٦-03-01.md", None, None),
        ("_2026-03-01.md", None, None),
    ],
)
def test_a_date_is_read_as_leniently_as_zeroclaw_reads_it(
    name: str, early: tuple[int, int, int] | None, late: tuple[int, int, int] | None
) -> None:
    assert (day_of_note(name, reads_long=False), day_of_note(name, reads_long=True)) == (early, late)


def test_a_session_has_its_date_in_the_first_ten_bytes() -> None:
    assert day_of_session("2026-03-01") == (2026, 3, 1)
    assert day_of_session("2026-03-01junk") == (2026, 3, 1)
    assert day_of_session("2026-3-01é.log") == (2026, 3, 1)
    assert day_of_session("2026-3-1é.log") is None
    assert day_of_session("2026-3-1.log") is None
    assert day_of_session("2026-3-1") is None
