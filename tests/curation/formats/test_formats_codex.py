"""Codex: MEMORY.md by its sections, and each conversation from its Markdown or its database."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from format_sources import CODEX, DATA, database, read, value

from zeroclaw_tui.curation.formats.codex import Codex
from zeroclaw_tui.curation.formats.detection import detect
from zeroclaw_tui.curation.formats.source import Source
from zeroclaw_tui.memory.errors import UsageError

THREAD = "0199a213-81c0-7800-8aa1-bbab2a035a53"


def test_each_section_and_each_conversation_is_a_memory() -> None:
    rows, report = read(DATA / "codex")
    assert [row.values["content"] for row in rows.values()] == [
        "Hive\n\n- Run the tests before each commit",
        "Hive › Frames\n\n```\n# no heading\n```",
        "Shop\n\nOpens on Saturday.",
        f"thread_id: {THREAD}\nupdated_at: 2026-04-01T08:30:00+00:00\n\nThe swap of frames was planned for April.",
    ]
    assert value(rows["codex_0199a21381c0"], "session_id", "created_at", "category") == (
        THREAD,
        "2026-04-01T08:30:00+00:00",
        "summary",
    )
    assert (report.guessed_dates, list(report.left)) == (3, ["raw_memories.md"])


def test_the_database_gives_a_summary_or_else_the_raw_memory(tmp_path: Path) -> None:
    rows, report = read(database(tmp_path / "memories_1.sqlite", CODEX))
    assert [value(row, "content", "created_at") for row in rows.values()] == [
        ("The swap was planned.", "2026-04-01T08:30:00+00:00"),
        ("only raw", "2026-04-01T08:31:40+00:00"),
    ]
    assert (report.skipped, report.lost) == ({"empty": 1}, {"raw memory": 1, "usage": 1})
    assert "codex_0199a21381c0" in rows, "as from the Markdown"


def test_beside_the_markdown_the_database_is_named_and_not_read(tmp_path: Path) -> None:
    shutil.copytree(DATA / "codex", tmp_path / "memories")
    database(tmp_path / "memories_1.sqlite", CODEX)
    rows, report = read(tmp_path)
    assert len(rows) == 4
    assert "memories_1.sqlite" in report.left


def test_a_lone_memory_in_its_place_is_only_what_comes_nearest(tmp_path: Path) -> None:
    (tmp_path / "memories").mkdir()
    shutil.copy(DATA / "codex" / "MEMORY.md", tmp_path / "memories")
    with pytest.raises(UsageError, match="comes nearest to Codex"):
        detect(Source(tmp_path))
    for named in (tmp_path, tmp_path / "memories" / "MEMORY.md"):
        rows, _ = read(named, Codex())
        assert len(rows) == 3


def test_a_few_broken_bytes_cost_no_more_than_themselves_and_are_told_with_their_lines(tmp_path: Path) -> None:
    folder = tmp_path / "memories"
    shutil.copytree(DATA / "codex", folder)
    (folder / "MEMORY.md").write_bytes(b"# Hive\n\nFrames are changed in M\xe4rz, by\nMila and J\xfcrg.\n")
    (folder / "rollout_summaries" / "odd.md").write_text("Wax", encoding="utf-16")
    rows, report = read(folder)
    assert [row.values["content"] for row in rows.values()] == [
        "Hive\n\nFrames are changed in M\ufffdrz, by\nMila and J\ufffdrg.",
        f"thread_id: {THREAD}\nupdated_at: 2026-04-01T08:30:00+00:00\n\nThe swap of frames was planned for April.",
    ]
    assert "Bytes that are no UTF-8 are read as \ufffd: MEMORY.md (lines 3, 4)." in report.notes
    assert report.left["rollout_summaries/odd.md"] == "rollout_summaries/odd.md is not UTF-8."
    assert list(read(folder)[0]) == list(rows), "the same again"


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "MEMORY.md").write_text("# Hive\n\nFrames\n", encoding="utf-16")
    with pytest.raises(UsageError, match=r"MEMORY\.md is not UTF-8"):
        read(tmp_path / "MEMORY.md", Codex())


@pytest.mark.parametrize("named", ["", ".codex", ".codex/memories", ".codex/memories/MEMORY.md"])
def test_a_lone_memory_in_its_own_place_is_known_wherever_it_is_named_from(tmp_path: Path, named: str) -> None:
    folder = tmp_path / "hive" / ".codex" / "memories"
    folder.mkdir(parents=True)
    (tmp_path / "hive" / "README.md").write_text("# Hive\n")
    (folder / "MEMORY.md").write_text("# Hive\n\nFrames are changed in April.\n")
    found = detect(Source(tmp_path / "hive" / named))
    assert (found.format.name, ".codex/memories" in found.why) == ("codex", True)
    rows, report = read(tmp_path / "hive" / named)
    assert [row.values["content"] for row in rows.values()] == ["Hive\n\nFrames are changed in April."]
    assert not report.left


def test_a_task_group_is_known_anywhere_and_a_task_is_one_memory_with_what_leads_to_it(tmp_path: Path) -> None:
    (tmp_path / "MEMORY.md").write_text(
        "# Task Group: Hive\nscope: how frames are changed\n\n## Task 1: Order frames\n\n### rollout_summary_files\n\n"
        "- rollout_summaries/a.md (ordered ten)\n\n### keywords\n\n- wax, Riga\n\n## User preferences\n\n- ten a year\n"
    )
    for named in (tmp_path, tmp_path / "MEMORY.md"):
        assert detect(Source(named)).format.name == "codex"
        rows, _ = read(named)
        assert [row.values["content"] for row in rows.values()] == [
            "Task Group: Hive\n\nscope: how frames are changed",
            "Task Group: Hive › Task 1: Order frames\n\n### rollout_summary_files\n\n"
            "- rollout_summaries/a.md (ordered ten)\n\n### keywords\n\n- wax, Riga",
            "Task Group: Hive › User preferences\n\n- ten a year",
        ]


def test_what_else_lies_in_its_folder_is_named(tmp_path: Path) -> None:
    folder = tmp_path / ".codex" / "memories"
    shutil.copytree(DATA / "codex", folder)
    for name in ("phase2_workspace_diff.md", "extensions/ad_hoc/instructions.md", "skills/wax/SKILL.md", "x/y.md"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("# Wax\n")
    rows, report = read(tmp_path)
    assert len(rows) == 4
    assert {name.removeprefix(".codex/memories/"): why for name, why in report.left.items()} == {
        "raw_memories.md": "made of the conversations",
        "phase2_workspace_diff.md": "a list of what changed in the others",
        "extensions/ad_hoc/instructions.md": "instructions, not memories",
        "skills/wax/SKILL.md": "a skill, not a memory",
        "x/y.md": "no file that Codex keeps memories in",
    }


def test_one_conversation_can_be_named_alone_and_what_is_made_of_them_leads_to_their_folder(tmp_path: Path) -> None:
    folder = tmp_path / ".codex" / "memories"
    shutil.copytree(DATA / "codex", folder)
    (summary,) = (folder / "rollout_summaries").iterdir()
    assert list(read(summary)[0]) == ["codex_0199a21381c0"]
    with pytest.raises(UsageError, match="made of the conversations that lie beside it, so name their folder"):
        detect(Source(folder / "raw_memories.md"))


def test_a_folder_without_its_memories_says_what_to_name(tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text("wax")
    with pytest.raises(UsageError, match="holds nothing that Codex would have written") as failure:
        read(tmp_path, Codex())
    assert failure.value.hint == "Name the file or folder in which Codex keeps its memories."
