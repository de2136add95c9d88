"""The probes of SQLite and Markdown stores read and never create anything."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from probing import make_answers, probed
from support.files import files_below
from support.other_user import as_nobody, shared_folder
from support.small_store import change, make

from zeroclaw_tui.onboard.probes import Finding

SQLITE = '[memory]\nbackend = "sqlite"\nauto_save = true\n'
MARKDOWN = '[memory]\nbackend = "markdown"\nauto_save = true\n'


def run_checked(folder: Path, subject: str) -> Finding:
    return probed(subject, make_answers(folder, SQLITE if subject == "sqlite" else MARKDOWN))


def brain(folder: Path) -> Path:
    path = folder / "workspace/memory/brain.db"
    path.parent.mkdir(parents=True)
    return path


def look_as_another_user(folder: Path, subject: str) -> Finding:
    """Run the probe as a user who owns nothing."""
    found: Finding = as_nobody(lambda: probed(subject, make_answers(folder)))
    return found


@pytest.fixture
def shared() -> Iterator[Path]:
    """A config dir that every user can reach."""
    with shared_folder() as folder:
        yield folder


def test_a_missing_database_is_not_created(tmp_path: Path) -> None:
    found = run_checked(tmp_path / "config", "sqlite")
    assert found.verdict == "good"
    assert found.sentence.endswith("brain.db will be created")
    assert os.listdir(tmp_path / "config") == ["config.toml"]


def test_a_probe_changes_no_byte(tmp_path: Path) -> None:
    make(brain(tmp_path / "config"), "G4", [{"key": "a"}])
    (tmp_path / "config/config.toml").write_text(SQLITE)
    before = files_below(tmp_path)
    assert run_checked(tmp_path / "config", "sqlite").verdict == "good"
    after = files_below(tmp_path)
    assert {name: after.get(name) for name in before} == before


def test_a_database_that_no_zeroclaw_can_open_is_bad(tmp_path: Path) -> None:
    path = make(brain(tmp_path / "config"), "G1", [{"key": "a"}])
    change(path, "DROP TABLE embedding_cache")
    change(path, "CREATE TABLE embedding_cache (content_hash TEXT PRIMARY KEY, embedding BLOB, created_at TEXT)")
    found = run_checked(tmp_path / "config", "sqlite")
    assert found.verdict == "bad"
    assert "no ZeroClaw version can open it" in found.sentence
    assert "auto_hydrate" in found.hint


@pytest.mark.parametrize("subject", ["sqlite", "markdown"])
def test_a_file_instead_of_a_folder_is_bad(tmp_path: Path, subject: str) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config/workspace").write_text("")
    found = run_checked(tmp_path / "config", subject)
    assert (found.verdict, found.exit_code) == ("bad", 3)
    assert found.sentence.endswith("workspace is not a directory.")


@pytest.mark.parametrize("subject", ["sqlite", "markdown"])
def test_a_folder_without_write_permission_is_bad(shared: Path, subject: str) -> None:
    (shared / "config.toml").write_text(SQLITE)
    (shared / "config.toml").chmod(0o644)
    (shared / "workspace").mkdir()
    (shared / "workspace").chmod(0o555)
    found = look_as_another_user(shared, subject)
    assert (found.verdict, found.exit_code) == ("bad", 3)
    assert "This user cannot" in found.sentence
    assert str(shared / "workspace") in found.sentence


def test_a_read_only_database_is_bad(shared: Path) -> None:
    path = make(brain(shared), "G4", [{"key": "a"}])
    (shared / "config.toml").write_text(SQLITE)
    for one in (shared / "config.toml", path):
        one.chmod(0o644)
    path.parent.chmod(0o777)
    found = look_as_another_user(shared, "sqlite")
    assert (found.verdict, found.exit_code) == ("bad", 3)
    assert found.sentence == f"You have no permission to write to {path}."
