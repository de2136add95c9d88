"""The tests of the SQLite and Markdown places: looked at, never made."""

from __future__ import annotations

import multiprocessing
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from probing import make_answers, probed
from support.small_store import change, make

from zeroclaw_tui.onboard.probes import Finding

SQLITE = '[memory]\nbackend = "sqlite"\nauto_save = true\n'
MARKDOWN = '[memory]\nbackend = "markdown"\nauto_save = true\n'


def everything_below(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def look(folder: Path, subject: str) -> Finding:
    return probed(subject, make_answers(folder, SQLITE if subject == "sqlite" else MARKDOWN))


def brain(folder: Path) -> Path:
    path = folder / "workspace/memory/brain.db"
    path.parent.mkdir(parents=True)
    return path


def look_as_another_user(folder: Path, subject: str) -> Finding:
    """What a user sees who owns nothing here."""
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    process = context.Process(target=_looked, args=(folder, subject, queue))
    process.start()
    found: Finding = queue.get(timeout=60)
    process.join()
    return found


def _looked(folder: Path, subject: str, queue: Any) -> None:
    if os.getuid() == 0:
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
    queue.put(probed(subject, make_answers(folder)))


@pytest.fixture
def shared() -> Iterator[Path]:
    """A config dir that every user can reach."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


def test_a_database_that_is_not_there_yet_is_not_made(tmp_path: Path) -> None:
    found = look(tmp_path / "config", "sqlite")
    assert found.verdict == "good"
    assert found.sentence.endswith("brain.db will be created")
    assert found.facts[-1].endswith("free on its disk")
    assert os.listdir(tmp_path / "config") == ["config.toml"]


@pytest.mark.parametrize(
    ("generation", "version"),
    [("G1", "0.1.2 to 0.5.6"), ("G2", "0.5.7 to 0.7.5"), ("G3", "0.8.0 to 0.8.2"), ("G4", "0.8.3 and later")],
)
def test_a_database_is_reported_with_generation_and_count(tmp_path: Path, generation: str, version: str) -> None:
    make(brain(tmp_path / "config"), generation, [{"key": "a"}, {"key": "b"}])
    found = look(tmp_path / "config", "sqlite")
    assert (found.verdict, found.sentence) == ("good", "the database can be written")
    assert found.facts[:2] == ("holds 2 memories", f"tables of ZeroClaw {version}")


def test_looking_changes_no_byte(tmp_path: Path) -> None:
    make(brain(tmp_path / "config"), "G4", [{"key": "a"}])
    (tmp_path / "config/config.toml").write_text(SQLITE)
    before = everything_below(tmp_path)
    assert look(tmp_path / "config", "sqlite").verdict == "good"
    after = everything_below(tmp_path)
    assert {name: after.get(name) for name in before} == before


def test_a_database_no_zeroclaw_opens_again(tmp_path: Path) -> None:
    path = make(brain(tmp_path / "config"), "G1", [{"key": "a"}])
    change(path, "DROP TABLE embedding_cache")
    change(path, "CREATE TABLE embedding_cache (content_hash TEXT PRIMARY KEY, embedding BLOB, created_at TEXT)")
    found = look(tmp_path / "config", "sqlite")
    assert found.verdict == "bad"
    assert "no ZeroClaw version can open it" in found.sentence
    assert "auto_hydrate" in found.hint


@pytest.mark.parametrize("subject", ["sqlite", "markdown"])
def test_a_file_where_a_folder_should_be(tmp_path: Path, subject: str) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config/workspace").write_text("")
    found = look(tmp_path / "config", subject)
    assert (found.verdict, found.exit_code) == ("bad", 3)
    assert found.sentence.endswith("workspace is not a directory.")


@pytest.mark.parametrize("subject", ["sqlite", "markdown"])
def test_a_folder_this_user_may_not_write(shared: Path, subject: str) -> None:
    (shared / "config.toml").write_text(SQLITE)
    (shared / "config.toml").chmod(0o644)
    (shared / "workspace").mkdir()
    (shared / "workspace").chmod(0o555)
    found = look_as_another_user(shared, subject)
    assert (found.verdict, found.exit_code) == ("bad", 3)
    assert "This user cannot" in found.sentence
    assert str(shared / "workspace") in found.sentence


def test_a_database_this_user_may_only_read(shared: Path) -> None:
    path = make(brain(shared), "G4", [{"key": "a"}])
    (shared / "config.toml").write_text(SQLITE)
    for one in (shared / "config.toml", path):
        one.chmod(0o644)
    path.parent.chmod(0o777)
    found = look_as_another_user(shared, "sqlite")
    assert (found.verdict, found.exit_code) == ("bad", 3)
    assert found.sentence == f"You have no permission to write to {path}."


@pytest.mark.parametrize(
    ("free", "told"),
    [(99_000_000, "only 99 MB free on its disk"), (2_500_000_000, "2.5 GB free on its disk")],
)
def test_little_space_is_reported(tmp_path: Path, free: int, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    _with_file_system(monkeypatch, free=free)
    assert told in look(tmp_path / "config", "sqlite").facts


def _with_file_system(monkeypatch: pytest.MonkeyPatch, flags: int = 0, free: int = 10**9) -> None:
    """Mounting needs rights no test has, so the system's word for a mount is put in its mouth."""
    real = os.statvfs

    def answered(path: Any) -> os.statvfs_result:
        fields = list(real(path))
        fields[1], fields[4], fields[8] = 1000, free // 1000, flags
        return os.statvfs_result(fields)

    monkeypatch.setattr(os, "statvfs", answered)


def test_markdown_notes_are_counted(tmp_path: Path) -> None:
    root = tmp_path / "config/workspace"
    (root / "memory").mkdir(parents=True)
    (root / "MEMORY.md").write_text("# Long-Term Memory\n\n- **a**: b\n")
    found = look(tmp_path / "config", "markdown")
    assert found.verdict == "good"
    assert found.facts[0] == "holds 1 memory"


def test_notes_of_an_agent_count_from_0_8_0(tmp_path: Path) -> None:
    own = tmp_path / "config/agents/cleo/workspace"
    own.mkdir(parents=True)
    (own / "MEMORY.md").write_text("- **a**: b\n- **c**: d\n")
    (tmp_path / "config/data").mkdir()
    modern = 'schema_version = 3\n[memory]\nbackend = "markdown.default"\n'
    found = probed("markdown", make_answers(tmp_path / "config", modern))
    assert found.verdict == "good"
    assert found.facts[0] == "holds 2 memories"
