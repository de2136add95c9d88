"""`memory snapshot`: writing the file, comparing it, and what is said of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Command

NAME, SIDE_CAR = "MEMORY_SNAPSHOT.md", "MEMORY_SNAPSHOT.jsonl"
OTHERS_FILE = "# Notes of another program\n"
LOST = "the whole memory: it is blank, not UTF-8, or another one with the same key comes before it"


@pytest.fixture
def file(install: Path) -> Path:
    return install / "workspace" / NAME


def test_it_is_written_without_asking_and_undone(memory: Command, file: Path) -> None:
    done = memory("snapshot")
    assert done.code == 0
    assert "7 core memories" in done.out
    assert "### 🔑 `food_allergy`\n\nAllergic to peanuts\n" in file.read_text()
    assert file.with_name(SIDE_CAR).exists()
    undone = memory("undo", "--yes")
    assert undone.code == 0
    assert not file.exists()


def test_its_document_has_all_of_it(memory: Command, file: Path) -> None:
    planned = memory("snapshot", "--dry-run", "--json").json
    assert planned["dry_run"] is True
    assert planned["action"] is None
    assert planned["replaces"] is None
    written = memory("snapshot", "--json").json
    assert (written["verb"], written["count"], written["memories"]) == ("snapshot", 7, 7)
    assert written["file"] == str(file)
    assert written["beside"] == str(file.with_name(SIDE_CAR))
    assert written["action"] == 1
    assert written["lossy"] == [{"key": "", "lost": LOST}]
    again = memory("snapshot", "--json").json
    assert again["replaces"]["is_zeroclaws"] is True
    assert again["replaces"]["total"] == 7


def test_another_programs_file_is_refused_unless_it_may_be_replaced(memory: Command, file: Path) -> None:
    file.write_text(OTHERS_FILE)
    refused = memory("snapshot")
    assert refused.code == 1
    assert "another program wrote it" in refused.err
    assert file.read_text() == OTHERS_FILE
    assert memory("snapshot", "--replace-foreign").code == 0
    assert memory("undo", "--yes").code == 0
    assert file.read_text() == OTHERS_FILE


def test_the_difference_to_the_store_is_shown(memory: Command, file: Path) -> None:
    memory("snapshot")
    memory("edit", "lang", "--content", "User prefers Zig")
    memory("forget", "pet", "--yes")
    memory("store", "new", "Not in the file", "--category", "core")
    shown = memory("snapshot", "--diff")
    assert shown.code == 0
    assert "1 changed · 1 only in the store · 1 only in the file · 5 the same" in shown.out
    assert "User prefers Zig" in shown.out
    assert "User prefers Rust" in shown.out
    document = memory("snapshot", "--diff", "--json").json
    assert document["counts"] == {"changed": 1, "only here": 1, "only there": 1, "same": 5}
    told = {difference["key"]: difference for difference in document["differences"]}
    assert told["lang"]["here"]["content"] == "User prefers Zig"
    assert told["lang"]["there"]["content"] == "User prefers Rust"
    assert told["new"]["there"] is None
    assert "loses nothing" in document["notes"][0]


@pytest.mark.parametrize(
    ("content", "code", "told"),
    [(None, 1, "There is no file"), (OTHERS_FILE, 1, "not a snapshot of ZeroClaw's"), ("", 1, "It is empty")],
)
def test_a_file_that_is_none_is_one_sentence(
    memory: Command, file: Path, content: str | None, code: int, told: str
) -> None:
    if content is not None:
        file.write_text(content)
    answer = memory("snapshot", "--diff")
    assert answer.code == code
    assert told in answer.err
    assert answer.out == ""


def test_secrets_and_controls_in_texts_are_not_shown(memory: Command) -> None:
    memory("store", "key", "sk-abcdefghijklmnop1234 \x1b[31mred", "--category", "core", "--yes")
    memory("snapshot")
    memory("forget", "key", "--yes")
    shown = memory("snapshot", "--diff")
    assert "••••" in shown.out
    assert "abcdefghijklmnop1234" not in shown.out
    assert "\x1b" not in shown.out


PASSWORD = "correct7horse9battery"


def test_a_password_is_masked_wherever_a_change_is_reported(memory: Command) -> None:
    """Only the audit's own rules know `password: …` for a secret."""
    text = f"password: {PASSWORD}"
    memory("store", "first", text, "--category", "core")
    memory("store", text, "a text of its own", "--category", text)
    memory("snapshot", "--yes")
    told = [memory("forget", text, "--dry-run"), memory("audit", "--limit", "50")]
    told.append(memory("audit", "--only", "too-short", "--purge", "--dry-run"))
    memory("forget", "first", "--yes")
    told += [memory("undo", "--dry-run"), memory("snapshot", "--diff")]
    memory("forget", text, "--yes")
    told.append(memory("undo", "--dry-run"))
    assert [each.code for each in told] == [0] * len(told)
    assert not [each.out for each in told if PASSWORD in each.out]
    assert sum("••••" in each.out for each in told) >= 4
