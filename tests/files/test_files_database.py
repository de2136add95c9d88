"""Read the raw bytes of files that may be open databases."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from zeroclaw_tui.files.database import raw_bytes


def _database(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE memories (content)")


def _notes(path: Path) -> None:
    path.write_text("# A heading\n\n- a note\n")


@pytest.mark.parametrize("write", [_database, _notes])
def test_repeatedly_replaced_files_leave_no_open_descriptor(tmp_path: Path, write: Callable[[Path], None]) -> None:
    path, other = tmp_path / "memory", tmp_path / "next"
    write(path)
    raw_bytes(path, 16)
    before = len(os.listdir("/dev/fd"))
    for _ in range(100):
        write(other)
        other.replace(path)
        assert raw_bytes(path, 16) == path.read_bytes()[:16]
    assert len(os.listdir("/dev/fd")) <= before
