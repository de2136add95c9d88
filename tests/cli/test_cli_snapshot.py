"""`memory snapshot`: writing the file, and what is said of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.commands import Command

NAME, SIDE_CAR = "MEMORY_SNAPSHOT.md", "MEMORY_SNAPSHOT.jsonl"


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


PASSWORD = "correct7horse9battery"


def test_a_password_is_masked_wherever_a_change_is_reported(memory: Command) -> None:
    """Only the audit's own rules know `password: …` for a secret."""
    text = f"password: {PASSWORD}"
    memory("store", "first", text, "--category", "core")
    memory("store", text, "a text of its own", "--category", text)
    memory("snapshot", "--yes")
    message = [memory("forget", text, "--dry-run"), memory("audit", "--limit", "50")]
    message.append(memory("audit", "--only", "too-short", "--purge", "--dry-run"))
    memory("forget", "first", "--yes")
    message += [memory("undo", "--dry-run")]
    memory("forget", text, "--yes")
    message.append(memory("undo", "--dry-run"))
    assert [each.code for each in message] == [0] * len(message)
    assert not [each.out for each in message if PASSWORD in each.out]
    assert sum("••••" in each.out for each in message) >= 3
