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
