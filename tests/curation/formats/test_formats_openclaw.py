"""OpenClaw's workspaces."""

from __future__ import annotations

from pathlib import Path

import pytest
from note_samples import DATA, WRITTEN, degree, read, sample, written

from zeroclaw_tui.curation.formats.old_openclaw import OpenClawWorkspace
from zeroclaw_tui.curation.formats.old_source import Report, Source

OPENCLAW = OpenClawWorkspace()


def test_a_workspace_becomes_one_memory_a_block(tmp_path: Path) -> None:
    found = read(OPENCLAW, sample("openclaw", tmp_path))
    assert {key: row.values["content"] for key, row in found.rows.items()} == {
        "openclaw_memory_timezone_0f45e002": "**timezone**: Europe/Riga",
        "openclaw_memory_home_1b088809": "Mila keeps bees",
        "openclaw_user_name_42b0cdbc": "**Name:** Mila",
        "openclaw_2026_03_01_0715_conversation_summary_4a6e85e8": "user: How many frames?\nassistant: Ten.",
        "openclaw_2026_03_01_hive_plan_70956f0d": "The stand goes behind the shed",
        "openclaw_2026_03_01_8579d6eb": "Ordered new hive frames",
        "openclaw_2026_03_01_048cd54c": "To open the hive:\n\n```sh\n# smoke first\n\nopen hive\n```",
        "openclaw_2026_03_01_31612c67": "| frame | age |\n|---|---|\n| 1 | 2 |",
    }
    assert found.places["openclaw_2026_03_01_31612c67"] == "memory/2026-03-01.md, line 13"
    assert found.report.left == {"memory/dreaming": "made by OpenClaw while it dreams"}
    assert found.report.skipped == {"empty": 2}
    # A dump is a conversation with its session and time.
    said = found.of("user: How many").values
    assert said["category"] == "conversation"
    assert said["session_id"] == "0b0e7c1e-0000-4000-8000-000000000001"
    assert said["created_at"] == "2026-03-01T07:15:20+00:00"
    assert found.report.lost == {"session key": 1, "source of the session": 1}
    # Dates are those of the names, and guessed only without.
    assert found.of("The stand").values["created_at"] == "2026-03-01T00:00:00+00:00"
    assert found.of("The stand").values["category"] == "daily"
    assert found.of("Mila keeps").values["created_at"] == WRITTEN
    assert found.of("Mila keeps").values["category"] == "core"
    assert found.report.guessed_dates == 3


@pytest.mark.parametrize("lead", ["**Tasks done:**", "**Tasks done**:", "Tasks done:", "**Tasks done：**"])
def test_what_introduces_a_list_stands_before_each_item_and_names_it(tmp_path: Path, lead: str) -> None:
    text = f"# Notes\n\n{lead}\n- Frames ordered\n- **Wax**: melted\n  - twice\n\nThe bees are calm.\n"
    found = read(OPENCLAW, written(tmp_path, MEMORY=text))
    assert found.contents == [
        f"{lead}\n\nFrames ordered",
        f"{lead}\n\n**Wax**: melted\n- twice",
        "The bees are calm.",
    ]
    names = [key.rpartition("_")[0] for key in found.rows]
    assert names == ["openclaw_memory_tasks_done", "openclaw_memory_wax", "openclaw_memory_notes"]
    assert found.report.skipped == {}
    grown = read(OPENCLAW, written(tmp_path, MEMORY=text.replace("- Frames", "- Smoker cleaned\n- Frames")))
    assert grown.rows.keys() > found.rows.keys(), "what was there keeps its key when the list grows"


@pytest.mark.parametrize("lead", ["**Open the hive so:**", "**Open the hive so**:", "Open the hive so:"])
def test_what_introduces_a_fence_is_one_memory_with_it(tmp_path: Path, lead: str) -> None:
    found = read(OPENCLAW, written(tmp_path, MEMORY=f"{lead}\n```sh\nopen hive\n```\n- Bees\n"))
    assert found.contents == [f"{lead}\n\n```sh\nopen hive\n```", "Bees"]


def test_what_introduces_nothing_or_is_long_is_a_memory_of_its_own(tmp_path: Path) -> None:
    long = "The stand behind the shed leans. " * 9 + "So:"
    text = f"# Notes\n\n{long}\n- Bricks bought\n\n## Later\n\n**Who comes along:**\n\n## Now\n- Bees\n\n**Plans:**\n"
    found = read(OPENCLAW, written(tmp_path, MEMORY=text))
    assert found.contents == [long, "Bricks bought", "**Who comes along:**", "Bees", "**Plans:**"]
    assert found.report.skipped == {}


def test_the_same_words_under_two_introductions_are_two_memories(tmp_path: Path) -> None:
    found = read(OPENCLAW, written(tmp_path, MEMORY="**Blocked:**\n- Nothing\n\n**At risk:**\n- Nothing\n"))
    assert found.contents == ["**Blocked:**\n\nNothing", "**At risk:**\n\nNothing"]


def test_a_comment_alone_is_no_memory(tmp_path: Path) -> None:
    found = read(OPENCLAW, written(tmp_path, MEMORY="# Notes\n\n<!-- one line each -->\n- Bees <!-- two hives -->\n"))
    assert found.contents == ["Bees <!-- two hives -->"]
    assert found.report.skipped == {"comments": 1}


def test_a_heading_that_is_a_day_dates_what_stands_below(tmp_path: Path) -> None:
    found = read(OPENCLAW, written(tmp_path, MEMORY="# Memory\n\n## 2026-02-03 Hive\n- Moved it\n"))
    assert found.of("Moved").values["created_at"] == "2026-02-03T00:00:00+00:00"
    assert found.report.guessed_dates == 0


@pytest.mark.parametrize(
    ("name", "category", "created"),
    [
        ("2026-03-01", "daily", "2026-03-01T00:00:00+00:00"),
        ("2026-03-01-hive-plan", "daily", "2026-03-01T00:00:00+00:00"),
        ("2026-03-01-养蜂", "daily", "2026-03-01T00:00:00+00:00"),
        ("2026-03-01-2359", "conversation", "2026-03-01T23:59:00+00:00"),
        ("2026-03-01-2460", "daily", "2026-03-01T00:00:00+00:00"),
        ("archive/2026-03-01", "daily", "2026-03-01T00:00:00+00:00"),
    ],
)
def test_real_names_of_days(tmp_path: Path, name: str, category: str, created: str) -> None:
    found = read(OPENCLAW, written(tmp_path, **{f"memory/{name}": "- Bees\n"}))
    assert found.of("Bees").values["category"] == category
    assert found.of("Bees").values["created_at"] == created


def test_every_agent_has_its_own_workspace(tmp_path: Path) -> None:
    written(tmp_path / "workspace", MEMORY="- Bees\n")
    written(tmp_path / "workspace-helper", memory__x="- Bees\n", MEMORY="- Bees\n")
    (tmp_path / "openclaw.json").write_text('{"token": "secret"}')
    rows = [row for _, row in OPENCLAW.memories(Source(tmp_path), Report())]
    assert sorted(str(row.agent) for row in rows) == ["None", "helper", "helper"]


def test_what_openclaw_wrote_looks_more_like_it_than_a_workspace_of_zeroclaws(tmp_path: Path) -> None:
    plain = written(tmp_path / "plain", MEMORY="# Memory\n\n- Bees\n", memory__x="")
    assert degree(OPENCLAW, sample("openclaw", tmp_path)) > 0.85
    assert 0 < degree(OPENCLAW, DATA / "markdown") < 0.5 <= degree(OPENCLAW, plain)


def test_a_seeded_memory_md_beside_zeroclaws_own_days_is_still_zeroclaws(tmp_path: Path) -> None:
    days = "# Daily Log — 2026-03-01\n\n- **k**: v\n"
    folder = written(tmp_path, MEMORY="# MEMORY.md\n\n## Facts\n- none yet\n", USER="# USER\n- Mila\n")
    written(folder, **{"memory/2026-03-01": days})
    assert 0 < degree(OPENCLAW, folder) < 0.5


def test_own_files_of_zeroclaw_and_of_this_program_are_no_notes(tmp_path: Path) -> None:
    export = "# ZeroClaw memories\n\nExported.\n\n## k\n\n~~~ {}\nBees\n~~~\n"
    snapshot = (DATA / "snapshots" / "zeroclaw_0.8.4.md").read_text(encoding="utf-8")
    for number, text in enumerate((export, snapshot)):
        folder = written(tmp_path / str(number), MEMORY=text)
        assert degree(OPENCLAW, folder) == 0
        assert degree(OPENCLAW, folder / "MEMORY.md") == 0
        assert read(OPENCLAW, folder).report.left == {"MEMORY.md": "written by ZeroClaw or for it"}


def test_what_lies_among_the_notes_and_is_no_markdown_is_named(tmp_path: Path) -> None:
    folder = sample("openclaw", tmp_path)
    (folder / "memory" / "plans").mkdir()
    (folder / "memory" / "plans" / "frames.json").write_text("{}")
    (folder / "memory" / ".cache").mkdir()
    (folder / "memory" / ".cache" / "state.json").write_text("{}")
    (folder / "picture.png").write_bytes(b"x")
    (folder / "memory" / "main.sqlite").write_bytes(b"SQLite format 3\0")
    assert read(OPENCLAW, folder).report.left == {
        "memory/dreaming": "made by OpenClaw while it dreams",
        "memory/.cache": "hidden",
        "memory/plans/frames.json": "no Markdown",
        "memory/main.sqlite": "no Markdown",
    }


def test_instructions_are_named_and_come_where_asked(tmp_path: Path) -> None:
    folder = sample("openclaw", tmp_path)
    (folder / "SOUL.md").write_text("Be kind to bees.\n")
    assert read(OPENCLAW, folder).report.left["SOUL.md"] == "instructions, not memories"
    asked = read(OpenClawWorkspace().taking(frozenset({"instructions"})), folder)
    assert asked.of("Be kind").values["category"] == "core"
