"""What somebody names is read without trusting anything in it: no link, no pipe, no path of its own, no bomb."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path, PurePosixPath

import pytest
from format_sources import RMEM, database

from zeroclaw_tui.curation.formats import old_source as door
from zeroclaw_tui.curation.formats.old_source import Source
from zeroclaw_tui.memory.errors import InspectorError, NotFound, Unreadable, UsageError

FILE = PurePosixPath("a.json")


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    """A file that lies outside of what is named."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.json").write_text('{"key": "hidden"}')
    return outside / "secret.json"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """What is named."""
    named = tmp_path / "named"
    named.mkdir()
    return named


def test_links_to_files_and_folders_are_left_out_and_named(folder: Path, secret: Path) -> None:
    (folder / "a.json").symlink_to(secret)
    (folder / "notes").symlink_to(secret.parent)
    source = Source(folder)
    assert source.files() == ()
    assert source.unread == {"a.json": "a link", "notes": "a link"}
    with pytest.raises(Unreadable, match="is a link"):
        source.data(FILE)
    with pytest.raises(Unreadable):
        source.data(PurePosixPath("notes/secret.json"))


def test_a_link_that_takes_the_place_of_a_file_is_not_followed(folder: Path, secret: Path) -> None:
    (folder / "a.json").write_text("{}")
    source = Source(folder)
    assert source.files() == (FILE,)
    (folder / "a.json").unlink()
    (folder / "a.json").symlink_to(secret)
    with pytest.raises(Unreadable, match=r"a\.json is a link"):
        source.document(FILE)


def test_only_the_path_that_was_typed_may_be_a_link(folder: Path, secret: Path) -> None:
    (folder / "a.json").symlink_to(secret)
    source = Source(folder / "a.json")
    assert source.document(source.files()[0]) == {"key": "hidden"}


def test_a_pipe_neither_blocks_nor_is_read(folder: Path) -> None:
    os.mkfifo(folder / "a.json")
    source = Source(folder)
    assert source.files() == ()
    assert source.unread == {"a.json": "not a regular file"}
    with pytest.raises(Unreadable, match="not a regular file"):
        source.data(FILE)
    with pytest.raises(UsageError, match="not a regular file"):
        Source(folder / "a.json")


def test_a_hard_link_is_a_file_and_a_tilde_a_name_like_any_other(
    folder: Path, secret: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(secret.parent))
    (folder / "a.json").hardlink_to(secret)
    (folder / "~").mkdir()
    (folder / "~" / "a.json").write_text('{"key": "here"}')
    source = Source(folder)
    assert source.document(FILE) == {"key": "hidden"}
    assert source.linked == {"a.json"}
    assert source.files() == (FILE, PurePosixPath("~/a.json"))
    assert source.document(PurePosixPath("~/a.json")) == {"key": "here"}


@pytest.mark.parametrize("path", ["../outside/secret.json", "a/../../outside/secret.json", "/etc/passwd", ""])
def test_a_path_that_stands_in_data_leads_nowhere(folder: Path, secret: Path, path: str) -> None:
    (folder / "a").mkdir()
    with pytest.raises(Unreadable, match="is not in named"):
        Source(folder).data(PurePosixPath(path))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[" * 70 + "]" * 70, "nested too deep"),
        ("[" * 200_000, "nested too deep"),
        ('{"a": NaN}', "contains NaN, which is not a number"),
        ('{"a": -Infinity}', "contains -Infinity, which is not a number"),
        ('{"a": 1', r"not JSON \(line 1\)"),
        ("", "not JSON"),
        ("1" * 10_000, "not JSON"),
    ],
    ids=["deep", "deeper", "nan", "infinity", "cut", "empty", "digits"],
)
def test_json_that_is_none_is_refused_each_time_it_is_asked_for(folder: Path, text: str, told: str) -> None:
    (folder / "a.json").write_text(text)
    source = Source(folder)
    for _ in range(2):
        with pytest.raises(UsageError, match=told):
            source.document(FILE)


def test_a_number_that_is_too_large_alone_is_refused_in_our_own_words(folder: Path) -> None:
    (folder / "a.json").write_text("1" * 10_000)
    with pytest.raises(UsageError) as failure:
        Source(folder).document(FILE)
    assert failure.value.message == "a.json is not JSON of memories: it is one number, too large to be read."
    assert "set_int_max" not in str(failure.value)


def test_half_a_character_becomes_one_that_any_store_takes(folder: Path) -> None:
    (folder / "a.json").write_text(r'["\ud83d\ude00", "\ud800 x", {"\udfff": 1}]')
    assert Source(folder).document(FILE) == ["😀", "� x", {"�": 1}]


def test_a_file_larger_than_its_kind_may_be_is_refused(folder: Path) -> None:
    with (folder / "a.json").open("wb") as sparse:
        sparse.truncate(300 * 1024 * 1024)
    source = Source(folder)
    with pytest.raises(UsageError, match="larger than 64 MB"):
        source.document(FILE)
    with pytest.raises(UsageError, match="larger than 256 MB"):
        source.data(FILE)


def test_a_folder_of_too_many_files_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(door, "MOST_FILES", 5)
    for number in range(6):
        (folder / f"{number}.md").touch()
    with pytest.raises(UsageError, match="more than 5 files"):
        Source(folder).files()


def test_folders_in_folders_end_somewhere(folder: Path) -> None:
    deep = folder.joinpath(*"abcdefghijklmnop")
    deep.mkdir(parents=True)
    (deep / "a.md").touch()
    source = Source(folder)
    assert source.files() == ()
    assert list(source.unread.values()) == ["too deep"]


def test_a_database_that_was_cut_off_is_said_to_be_so(folder: Path) -> None:
    path = database(folder / "a.db", RMEM)
    path.write_bytes(path.read_bytes()[:-87])
    source = Source(folder)
    with pytest.raises(Unreadable, match="is cut off"):
        source.columns(PurePosixPath("a.db"), "memories")


@pytest.mark.parametrize("name", ["notes", "text"])
def test_a_database_with_broken_names_is_none_of_zeroclaw(folder: Path, name: str) -> None:
    path = database(folder / "a.db", "CREATE TABLE notes (text TEXT);")
    path.write_bytes(path.read_bytes().replace(name.encode(), b"\x80" * len(name)))
    assert Source(path).columns(PurePosixPath("a.db"), "memories") == frozenset()


@pytest.mark.parametrize("beside", ["a.db-wal", "a.db-journal", "a.db-shm"])
def test_sqlite_follows_no_link_beside_a_database(folder: Path, secret: Path, beside: str) -> None:
    database(folder / "a.db", RMEM)
    (folder / beside).symlink_to(secret)
    with pytest.raises(Unreadable, match=f"{beside} is not a regular file"):
        Source(folder).columns(PurePosixPath("a.db"), "memories")


def test_what_lies_in_the_log_of_an_open_database_is_read(folder: Path) -> None:
    with closing(sqlite3.connect(folder / "a.db")) as other:
        other.execute("PRAGMA journal_mode = WAL")
        other.executescript("CREATE TABLE notes (text TEXT)")
        source = Source(folder)
        assert source.columns(PurePosixPath("a.db"), "notes") == {"text"}


def test_a_connection_keeps_its_locks_while_the_same_file_is_read(folder: Path) -> None:
    """POSIX drops all locks of a process on a file when it closes any descriptor of it."""
    path = database(folder / "a.db", "CREATE TABLE notes (text TEXT);")
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        for named in (path, folder):
            source = Source(named)
            assert source.is_database(source.files()[0])
            assert source.data(source.files()[0]).startswith(b"SQLite")
        writes = f"import sqlite3; sqlite3.connect({str(path)!r}, timeout=0).execute('BEGIN IMMEDIATE')"
        other = subprocess.run([sys.executable, "-c", writes], capture_output=True, text=True, check=False)
    assert "database is locked" in other.stderr


def test_views_and_virtual_tables_count_as_not_there(folder: Path) -> None:
    script = """CREATE TABLE notes (text TEXT); CREATE VIEW memories AS SELECT text FROM notes;
    CREATE VIRTUAL TABLE found USING fts5(text);"""
    source = Source(database(folder / "a.db", script))
    (file,) = source.files()
    assert source.columns(file, "memories") == source.columns(file, "found") == frozenset()
    assert source.columns(file, "notes") == {"text"}


def test_reading_a_database_does_not_count_as_a_change_of_it(folder: Path) -> None:
    path = database(folder / "a.db", "CREATE TABLE notes (text TEXT);")
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
    before = Source(folder).state()
    Source(folder).columns(PurePosixPath("a.db"), "notes")
    assert Source(folder).state() == before
    with closing(sqlite3.connect(path)) as other:
        other.execute("INSERT INTO notes VALUES ('new')")
        other.commit()
        assert Source(folder).state() != before


@pytest.mark.parametrize("name", ["none", "a\0b", "loop"])
def test_what_is_not_there_is_said_in_a_sentence(folder: Path, name: str) -> None:
    (folder / "loop").symlink_to(folder / "loop")
    with pytest.raises((NotFound, Unreadable)):
        Source(folder / name)


def test_a_file_that_went_meanwhile_is_said_to_be_so(folder: Path) -> None:
    (folder / "a.json").write_text(json.dumps([]))
    source = Source(folder)
    assert source.files() == (FILE,)
    (folder / "a.json").unlink()
    with pytest.raises(InspectorError, match="cannot be read"):
        source.document(FILE)
    with pytest.raises(InspectorError, match="cannot be read"):
        source.modified(FILE)


@pytest.mark.parametrize(
    "name",
    ["openclaw.json", "auth.json", "config.json", "settings.json", "auth_profile_x.json", ".env", "rustmem.toml"],
)
def test_what_tools_keep_secrets_in_is_named_and_not_opened(tmp_path: Path, name: str) -> None:
    (tmp_path / "note.md").write_text("- Bees\n")
    (tmp_path / name).write_text('{"token": "secret"}')
    source = Source(tmp_path)
    assert source.files() == (PurePosixPath("note.md"),)
    assert source.unread == {name: "it may hold secrets"}
    assert Source(tmp_path / name).files() == (PurePosixPath(name),), "what was named is read"
