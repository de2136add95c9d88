"""Claude Code's own memory."""

from __future__ import annotations

from pathlib import Path

import pytest
from note_samples import WRITTEN, degree, read, sample, written

from zeroclaw_tui.curation.formats.detection import detect
from zeroclaw_tui.curation.formats.old_claude_code import ClaudeCodeMemory
from zeroclaw_tui.curation.formats.old_source import Source

CLAUDE = ClaudeCodeMemory()


def test_topics_of_both_forms_and_the_line_whose_file_is_missing(tmp_path: Path) -> None:
    found = read(CLAUDE, sample("claude_code", tmp_path))
    assert {key: (row.values["category"], row.values["content"]) for key, row in found.rows.items()} == {
        "claude_smoker": ("core", "Smoker — what the smoker burns"),
        "claude_feedback_answers": (
            "feedback",
            "Short answers please: Mila wants answers of three lines\n\nKeep answers short.",
        ),
        "claude_frame_change": ("project", "When frames are swapped\n\nFrames are swapped in April. See [[smoker]]."),
    }
    assert found.places["claude_smoker"] == "memory/MEMORY.md, line 2"
    assert {row.values["namespace"] for row in found.rows.values()} == {"claude_code"}
    topic = found.rows["claude_frame_change"].values
    assert topic["created_at"] == topic["updated_at"] == "2026-07-18T11:38:01.470Z"
    assert topic["session_id"] == "0b0e7c1e-0000-4000-8000-000000000002"
    assert found.rows["claude_smoker"].values["created_at"] == WRITTEN
    assert found.report.guessed_dates == 2
    assert found.report.left == {"CLAUDE.md": "instructions, not memories"}


def test_instructions_come_only_where_asked_and_lead_nowhere(tmp_path: Path) -> None:
    folder = sample("claude_code", tmp_path)
    (tmp_path / "secrets.md").write_text("the password")
    (folder / "CLAUDE.md").write_text("# Instructions\n\n- Run the tests\n\n@../secrets.md\n")
    asked = read(ClaudeCodeMemory().taking(frozenset({"instructions"})), folder)
    assert asked.of("Instructions").values["content"] == "Instructions\n- Run the tests\n@../secrets.md"
    assert not any("password" in content for content in asked.contents)


def test_every_project_has_its_namespace_and_no_neighbour_is_read(tmp_path: Path) -> None:
    for project, name in (("-home-mila-hive", "a"), ("-home-mila-bread", "b")):
        topic = f"---\nname: {name}\ndescription: b\ntype: user\n---\nBees\n"
        written(tmp_path / "projects" / project / "memory", MEMORY=f"- [A]({name}.md) — b\n", **{name: topic})
    written(tmp_path, agents__helper="---\nname: helper\ndescription: helps\ntype: user\n---\nYou help.\n")
    found = read(CLAUDE, tmp_path)
    assert {key: row.values["namespace"] for key, row in found.rows.items()} == {
        "claude_a": "home-mila-hive",
        "claude_b": "home-mila-bread",
    }


def test_plain_prose_is_read_by_section(tmp_path: Path) -> None:
    text = "# Hive\n\nMoved in May.\n\n## Frames\n- ten\n  - of wood\n- two spare\n"
    found = read(CLAUDE, written(tmp_path / ".claude" / "memory", MEMORY=text))
    assert found.contents == ["Hive\nMoved in May.", "Frames\n- ten\n  - of wood\n- two spare"]
    assert degree(CLAUDE, tmp_path / ".claude" / "memory") >= 0.5


def test_a_line_of_an_index_may_name_any_path_and_none_is_opened(tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("the password")
    folder = written(tmp_path / "memory", MEMORY="- [A](../secret.md) — one\n- [B](/etc/passwd.md)\n- [C](~/c.md): x\n")
    found = read(CLAUDE, folder)
    assert found.contents == ["A — one", "B", "C — x"]
    assert list(found.rows) == ["claude_secret", "claude_passwd", "claude_c"]


def test_an_index_alone_says_that_its_topics_are_missing(tmp_path: Path) -> None:
    index = sample("claude_code", tmp_path) / "memory" / "MEMORY.md"
    found = read(CLAUDE, index)
    assert found.contents == ["Frame change — when frames are swapped", "Smoker — what the smoker burns"]
    assert any("Name its directory" in note for note in found.report.notes)


def test_a_topic_comes_with_what_only_its_line_of_the_index_says(tmp_path: Path) -> None:
    front = "---\nname: {}\ndescription: {}\ntype: project\n---\n"
    folder = written(
        tmp_path / "memory",
        MEMORY=(
            "- [Swap in April](frames.md) — ten of them, and the old ones go to wax\n"
            "- [Wax](wax.md) — kept: COLD\n"
            "- [smoker.md](smoker.md) - burns\n  burlap\n"
            "- [Hives](hives.md) — two on the roof\n  - one leans\n"
            "- [Read me](README.md) — where to begin\n"
        ),
        frames=front.format("frames", "When frames are swapped") + "Ten frames.\n",
        wax=front.format("wax", "How wax is kept") + "It is kept cold, in the cellar.\n",
        smoker=front.format("smoker", "What it burns"),
        hives="",
        README="# Notes\n",
    )
    found = read(CLAUDE, folder)
    assert found.contents == [
        "Read me — where to begin",
        "- [Hives](hives.md) — two on the roof\n  - one leans",
        "When frames are swapped\n\nSwap in April — ten of them, and the old ones go to wax\n\nTen frames.",
        "two on the roof",
        "What it burns\n\nburns burlap",
        "How wax is kept\n\nIt is kept cold, in the cellar.",
    ]
    assert found.report.skipped == {"lines of the index that repeat their topic": 1}


def test_a_comment_alone_is_no_memory(tmp_path: Path) -> None:
    comment = "<!-- A line for each topic -->\n"
    found = read(CLAUDE, written(tmp_path / "memory", MEMORY=comment, plans=comment))
    assert not found.rows
    assert found.report.skipped == {"comments": 2}
    mixed = read(CLAUDE, written(tmp_path / "other" / "memory", MEMORY=f"{comment}\nMila keeps bees.\n"))
    assert mixed.contents == ["Mila keeps bees."]


@pytest.mark.parametrize("named", [".", "memory", "memory/MEMORY.md"])
def test_prose_in_memory_md_within_a_folder_memory_is_claude_codes(tmp_path: Path, named: str) -> None:
    written(tmp_path, memory__MEMORY="# Hive\n\nMoved in May.\n")
    assert detect(Source(tmp_path / named)).format.name == "claude"
    written(tmp_path, **{"memory/2026-03-01": "- Bees\n"})
    assert detect(Source(tmp_path)).format.name == "openclaw", "days are what OpenClaw keeps there"


def test_likeness_is_that_of_what_is_in_the_files(tmp_path: Path) -> None:
    folder = sample("claude_code", tmp_path)
    assert degree(CLAUDE, folder) > 0.9
    assert degree(CLAUDE, folder / "memory" / "frame-change.md") > 0.8
    assert degree(CLAUDE, sample("openclaw", tmp_path)) < 0.5
    notes = written(tmp_path / "notes", hive="---\ntype: Note\ntitle: Hive\n---\n\nBees\n")
    assert degree(CLAUDE, notes) == 0
    assert degree(CLAUDE, written(tmp_path / "readme", README="# A project\n\n- [Docs](docs.md)\n")) == 0
