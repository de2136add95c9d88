"""Only the owner may read files with memories; replaced files keep their mode and owner."""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from support.commands import Command

SOMEBODY = 1234


@pytest.fixture
def no_umask() -> Iterator[None]:
    """Set a umask of 0."""
    before = os.umask(0)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def modes_below(folder: Path) -> dict[str, int]:
    """Return the modes of all files below a folder."""
    return {str(path.relative_to(folder)): mode(path) for path in folder.rglob("*") if path.is_file()}


def test_new_files_with_memories_are_readable_only_by_their_owner(
    memory: Command, install: Path, tmp_path: Path, no_umask: None
) -> None:
    """Snapshots, copies to databases and notes, exports, backups and the trash are private."""
    made = tmp_path / "made"
    made.mkdir()
    assert memory("snapshot", "--yes").code == 0
    assert memory("copy", "--to", "sqlite", "--to-location", str(made / "db" / "other.db"), "--yes").code == 0
    assert memory("copy", "--to", "markdown", "--to-location", str(made / "notes"), "--yes").code == 0
    assert memory("export", str(made / "all.jsonl")).code == 0
    with closing(sqlite3.connect(made / "db" / "other.db")) as other:
        # Files that SQLite creates next to a database have its mode.
        other.execute("UPDATE memories SET category = 'daily'")
        found = modes_below(made) | modes_below(install / "zeroclaw-tui")
        found |= {name: mode(install / "workspace" / name) for name in ("MEMORY_SNAPSHOT.md", "MEMORY_SNAPSHOT.jsonl")}
    assert {"db/other.db", "db/other.db-wal", "db/other.db-shm", "all.jsonl", "notes/MEMORY.md", "trash.db"} <= set(
        found
    )
    assert {name: f"{bits:o}" for name, bits in found.items() if bits != 0o600} == {}
    assert [mode(made / name) for name in ("db", "notes")] == [0o700, 0o700]


def test_a_replaced_file_keeps_its_mode(memory: Command, install: Path, tmp_path: Path, no_umask: None) -> None:
    snapshot, exported, database = install / "workspace" / "MEMORY_SNAPSHOT.md", tmp_path / "a.csv", tmp_path / "a.db"
    assert memory("snapshot", "--yes").code == 0
    for path, bits in ((snapshot, 0o640), (exported, 0o664), (database, 0o660)):
        path.touch()
        path.chmod(bits)
    assert memory("store", "new", "something new").code == 0
    assert memory("snapshot", "--yes").code == 0
    assert b"something new" in snapshot.read_bytes()
    assert memory("export", str(exported), "--overwrite").code == 0
    assert memory("copy", "--to", "sqlite", "--to-location", str(database), "--yes").code == 0
    assert [mode(path) for path in (snapshot, exported, database)] == [0o640, 0o664, 0o660]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can create files of another user")
def test_files_that_root_creates_in_an_install_belong_to_its_user(
    memory: Command, install: Path, tmp_path: Path
) -> None:
    for path in (install, *install.rglob("*")):
        os.chown(path, SOMEBODY, SOMEBODY)
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    os.chown(theirs, SOMEBODY, SOMEBODY)
    assert memory("forget", "tz", "--yes").code == 0
    assert memory("snapshot", "--yes").code == 0
    assert memory("doctor", "--repair", "all", "--yes").code == 0
    assert memory("export", str(theirs / "all.jsonl")).code == 0
    assert memory("copy", "--to", "sqlite", "--to-location", str(theirs / "db" / "other.db"), "--yes").code == 0
    assert memory("copy", "--to", "markdown", "--to-location", str(theirs / "notes"), "--yes").code == 0
    made = [path for folder in (install, theirs) for path in (folder, *folder.rglob("*"))]
    assert theirs / "db" / "other.db" in made
    assert install / "zeroclaw-tui" / "trash.db" in made
    assert [str(path) for path in made if (path.stat().st_uid, path.stat().st_gid) != (SOMEBODY, SOMEBODY)] == []
