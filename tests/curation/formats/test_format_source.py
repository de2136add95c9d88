"""A source is read without trusting it: no links, no pipes, no decompression bombs."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import PurePosixPath

import pytest
from support.memories import NotFound, Unreadable, UsageError

from zeroclaw_tui.curation.formats import source as source_module
from zeroclaw_tui.curation.formats.source import Source, numbered_lines

FILE = PurePosixPath("a.json")


@pytest.fixture
def secret(tmp_path):
    """A file outside the source folder."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.json").write_text('{"key": "hidden"}')
    return outside / "secret.json"


@pytest.fixture
def folder(tmp_path):
    """The source folder."""
    named = tmp_path / "named"
    named.mkdir()
    return named


def test_links_pipes_and_secrets_are_skipped_and_reported(folder, secret):
    (folder / "a.json").symlink_to(secret)
    (folder / "notes").symlink_to(secret.parent)
    (folder / "b.json").hardlink_to(secret)
    os.mkfifo(folder / "c.json")
    (folder / ".env.local").touch()
    (folder / "d.json").touch()
    source = Source(folder)
    assert source.files == (PurePosixPath("d.json"),)
    assert source.unread == {
        "a.json": "it is a link",
        "notes": "it is a link",
        "b.json": "it has other names (hard links)",
        "c.json": "it is not a regular file",
        ".env.local": "it may contain secrets",
    }


@pytest.mark.parametrize("replace", ["link", "pipe"])
def test_a_file_replaced_by_a_link_or_pipe_is_not_followed(folder, secret, replace):
    (folder / "a.json").write_text("{}")
    source = Source(folder)
    assert source.files == (FILE,)
    (folder / "a.json").unlink()
    if replace == "link":
        (folder / "a.json").symlink_to(secret)
    else:
        os.mkfifo(folder / "a.json")
    with pytest.raises(Unreadable):
        source.document(FILE)


def test_only_the_given_path_itself_may_be_a_link(folder, secret):
    (folder / "a.json").symlink_to(secret)
    assert Source(folder / "a.json").document() == {"key": "hidden"}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[" * 200_000, "not readable JSON"),
        ('{"a": 1', r"not readable JSON \(line 1\)"),
        ("", "not readable JSON"),
        ("1" * 10_000, "not readable JSON"),
    ],
    ids=["deep", "cut", "empty", "digits"],
)
def test_invalid_json_is_refused(folder, text, reason):
    (folder / "a.json").write_text(text)
    with pytest.raises(UsageError, match=reason):
        Source(folder).document(FILE)


def test_sizes_and_depths_are_bounded(folder, monkeypatch):
    with (folder / "a.json").open("wb") as sparse:
        sparse.truncate(65 * 1024 * 1024)
    with pytest.raises(UsageError, match="is larger than"):
        Source(folder).text(FILE)
    folder.joinpath(*"bcdefghijklmnop").mkdir(parents=True)
    source = Source(folder)
    assert source.files == (FILE,)
    assert list(source.unread.values()) == ["it is too deep"]
    monkeypatch.setattr(source_module, "MAX_FILES", 5)
    with pytest.raises(UsageError, match="more than 5 files"):
        assert Source(folder).files
    monkeypatch.setattr(source_module, "MAX_LINE_SIZE", 5)
    (folder / "a.json").write_text("1234\n123456\n")
    with Source(folder).open(FILE) as reader, pytest.raises(UsageError, match="Line 2 is longer"):
        list(numbered_lines(reader))


def test_reading_a_database_does_not_drop_its_locks(folder):
    """POSIX drops all locks of a process on a file when it closes any descriptor of it."""
    path = folder / "a.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("CREATE TABLE notes (text TEXT)")
        connection.execute("BEGIN IMMEDIATE")
        assert Source(path).head().startswith(b"SQLite")
        assert Source(folder).head(PurePosixPath("a.db")).startswith(b"SQLite")
        writes = f"import sqlite3; sqlite3.connect({str(path)!r}, timeout=0).execute('BEGIN IMMEDIATE')"
        other = subprocess.run([sys.executable, "-c", writes], capture_output=True, text=True, check=False)
    assert "database is locked" in other.stderr


@pytest.mark.parametrize(("name", "kind"), [("none", NotFound), ("a\0b", Unreadable), ("loop", Unreadable)])
def test_a_source_that_cannot_be_opened_is_reported(folder, name, kind):
    (folder / "loop").symlink_to("loop")
    with pytest.raises(kind):
        Source(folder / name)
    os.mkfifo(folder / "pipe")
    with pytest.raises(UsageError, match="not a regular file"):
        Source(folder / "pipe")
