"""basic-memory's notes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from note_samples import WRITTEN, degree, read, sample, written

from zeroclaw_tui.curation.formats.basic_memory import BasicMemory
from zeroclaw_tui.curation.formats.foreign import digest

BASIC = BasicMemory()


def test_observations_relations_and_the_prose_that_remains_and_nothing_of_what_lies_beside(tmp_path: Path) -> None:
    folder = written(sample("basic_memory", tmp_path), AGENTS="- [rule] Run the tests\n")
    (folder / "memory.db").write_bytes(b"x")
    found = read(BASIC, folder)
    assert [(row.values["category"], row.values["content"]) for row in found.rows.values()] == [
        ("fact", "Hive Care: Frames are changed in April #bees (from the club)\n\nTags: home"),
        ("note", "Hive Care: Sugar comes from Riga #food\n\nTags: bees, home"),
        ("relation", "Hive Care requires [[Smoker]]\n\nTags: bees, home"),
        ("relation", 'Hive Care "is kept by" [[Mila]] (since 2020)\n\nTags: bees, home'),
        (
            "core",
            "# Hive Care\n## Observations\n- [ ] Buy sugar\n\n- [00:00:11] the queen sings\n\n"
            "> - [fact] A quotation is none\n\n## Relations\nSee [[Honey stall]].\n\nTags: bees, home",
        ),
    ]
    assert list(found.rows)[-1] == "bm_home_hive_care"
    assert found.report.lost == {"mood": 1}
    assert found.report.left == {"AGENTS.md": "instructions, not memories", "memory.db": "made from the notes"}


def test_dates_are_those_of_the_front_matter_or_of_the_file(tmp_path: Path) -> None:
    text = "---\npermalink: {}\n{}---\n- [fact] Bees\n"
    written(
        tmp_path,
        both=text.format("a", "created: 2026-03-01\nmodified: 2026-03-02T10:00:00+02:00\n"),
        changed=text.format("b", "modified: 2026-03-02T10:00:00+02:00\n"),
    )
    found = read(BASIC, tmp_path)
    assert [(row.values["created_at"], row.values["updated_at"]) for row in found.rows.values()] == [
        ("2026-03-01T00:00:00+00:00", "2026-03-02T10:00:00+02:00"),
        ("2026-03-02T10:00:00+02:00", "2026-03-02T10:00:00+02:00"),
    ]
    assert found.report.guessed_dates == 0


def test_the_key_of_a_long_permalink_tells_its_end_and_no_two_are_alike(tmp_path: Path) -> None:
    text = "---\ntitle: Frames\npermalink: {}\n---\n- [fact] {}\n\nWax\n"
    old, new = (
        "garden/behind-the-old-house/all-the-bees/hives/frames",
        "garden/behind-the-new-house/all-the-bees/hives/frames",
    )
    last = "garden/how-the-frames-of-the-hives-behind-the-house-are-changed"
    links = {"a": old, "b": new, "c": last}
    found = read(BASIC, written(tmp_path, **{name: text.format(link, name) for name, link in links.items()}))
    assert list(found.rows) == [
        f"bm_all_the_bees_hives_frames_{digest('Frames: a')}",
        f"bm_all_the_bees_hives_frames_{digest(old)}",
        f"bm_all_the_bees_hives_frames_{digest('Frames: b')}",
        f"bm_all_the_bees_hives_frames_{digest(new)}",
        f"bm_how_the_frames_of_the_hives_behind_the_h_{digest('Frames: c')}",
        f"bm_how_the_frames_of_the_hives_behind_the_h_{digest(last)}",
    ]


def test_a_note_without_front_matter_has_the_name_and_the_time_of_its_file(tmp_path: Path) -> None:
    folder = sample("basic_memory", tmp_path)
    note = folder / "home" / "hive-care.md"
    note.write_text(note.read_text().partition("---\n\n")[2])
    os.utime(note, (1_780_000_000, 1_780_000_000))
    found = read(BASIC, folder)
    assert found.of("hive-care: Frames").values["created_at"] == WRITTEN
    assert found.report.guessed_dates == 5


@pytest.mark.parametrize(
    "item",
    ["[ ] Buy sugar", "[x] Bought", "[-] Given up", "[00:00:11] sings", "[a](b.md)", "[[Smoker]]", "[!] Careful"],
)
def test_items_that_only_look_like_observations_stay_prose(tmp_path: Path, item: str) -> None:
    found = read(BASIC, written(tmp_path, hive=f"- {item}\n"))
    assert found.contents == [f"hive\n\n- {item}"]


def test_a_heading_without_anything_below_it_is_no_memory(tmp_path: Path) -> None:
    found = read(BASIC, written(tmp_path, hive="# Hive\n\n## Facts\n- [fact] Bees\n\n## More\nWax\n", none="\n"))
    assert found.contents == ["hive: Bees", "hive\n\n# Hive\n## More\nWax"]
    assert found.report.skipped == {"empty": 1}


def test_likeness_is_that_of_permalinks_or_of_observations_and_links(tmp_path: Path) -> None:
    assert degree(BASIC, sample("basic_memory", tmp_path)) > 0.9
    assert degree(BASIC, written(tmp_path / "plain", a="- [fact] Bees\n- requires [[Smoker]]\n")) >= 0.5
    assert degree(BASIC, written(tmp_path / "tasks", a="- [ ] Bees\n- [x] Wax\n[[Smoker]]\n")) == 0
    site = "---\ntitle: A page\ntype: page\npermalink: /bees/\n---\nBees\n"
    assert degree(BASIC, written(tmp_path / "site", page=site)) == 0
    assert degree(BASIC, sample("openclaw", tmp_path)) == 0
    changes = "# Changes\n" + "- Fixed a bug\n" * 20 + "- [security] Wax [[Smoker]]\n"
    assert degree(BASIC, written(tmp_path / "changes", CHANGELOG=changes)) == 0
