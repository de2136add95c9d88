"""The trash: exact rows, durable, private, bounded, one action at a time, and recovered after a crash."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import stat
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from journal_world import Clock, install_at
from support.libraries import undo
from support.memories import Locked, NotFound, Row, RowChange, Unreadable
from support.opened import opened
from support.other_user import as_nobody, shared_folder
from support.stores import row_with_id

from zeroclaw_tui.curation import journal_file, journal_records
from zeroclaw_tui.curation.journal import Trash, store_name
from zeroclaw_tui.testing.tools import raises

STORE = "sqlite:/somewhere/brain.db"
DUMP = Path(__file__).parents[1] / "data" / "rmem" / "trash_0.2.0.sql"


def a_row(number: int, content: str = "text", **values: Any) -> Row:
    plain = {"id": f"id{number}", "key": f"key{number}", "content": content, "embedding": None}
    return Row(f"id{number}", plain | values, number)


@pytest.fixture
def install(tmp_path):
    return install_at(tmp_path)


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def trash(install, clock):
    return Trash(install, STORE, clock)


async def journaled(trash: Trash, *changes: RowChange, verb: Any = "purge") -> int:
    action = await trash.begin(verb, "deleted")
    action.record(changes)
    assert await action.finish() is not None
    return action.number


def deletion(number: int, content: str = "text", **values: Any) -> RowChange:
    return RowChange(a_row(number, content, **values), None)


_VALUES = st.one_of(
    st.none(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False),
    st.text(),
    st.binary(max_size=60),
    st.binary(max_size=20).map(lambda data: data.decode("utf-8", "surrogateescape")),
)
_ROWS = st.builds(
    Row,
    id=st.text(min_size=1),
    values=st.dictionaries(
        st.sampled_from(["id", "key", "content", "embedding", "importance", "a column of a plug-in", "größe"]), _VALUES
    ),
    handle=st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1), st.text()),
    agent=st.one_of(st.none(), st.text()),
    table=st.sampled_from(["memories", "agents", "embedding_cache"]),
)


def _typed(row: Row | None) -> object:
    """Return all values of a row with their types, since True == 1 == 1.0."""
    if row is None:
        return None
    return row, [(name, type(value), repr(value)) for name, value in row.values.items()], type(row.handle)


@settings(max_examples=20, deadline=None)
@given(rows=st.lists(_ROWS, min_size=1, max_size=4))
def test_every_row_is_read_back_exactly(rows):
    with tempfile.TemporaryDirectory() as folder:
        trash = Trash(install_at(Path(folder)), STORE, Clock())

        async def keep_and_read():
            number = await journaled(trash, *(RowChange(row, None) for row in rows))
            return list(trash.changes_to_reverse(await trash.numbers_to_reverse(number, "undo")))

        back = asyncio.run(keep_and_read())
        assert [_typed(change.before) for change in reversed(back)] == [_typed(row) for row in rows]


async def test_reading_a_missing_trash_does_not_create_it(trash, install):
    assert await trash.last() is None
    assert await trash.actions() == []
    assert await trash.listing() == ([], 0)
    assert await trash.numbers("x") == []
    assert await trash.history("id1") == []
    assert (await trash.usage())["rows"] == 0
    assert await trash.empty() == 0
    assert list(trash.changes_to_reverse([1])) == []
    with pytest.raises(NotFound):
        await trash.action(1)
    assert not install.own_dir.exists()


async def test_only_the_owner_can_read_the_trash_even_during_a_write(trash, install):
    """The permissions of a file that others could read are corrected."""
    old = os.umask(0)
    try:
        action = await trash.begin("purge", "deleted")
        action.record([deletion(1)])
        files = {file.name: stat.S_IMODE(file.stat().st_mode) for file in install.own_dir.iterdir()}
        await action.finish()
        await trash.listing()
    finally:
        os.umask(old)
    assert files == dict.fromkeys(("trash.db", "trash.db-wal", "trash.db-shm", "trash.lock"), 0o600)
    assert stat.S_IMODE(install.own_dir.stat().st_mode) == 0o700
    assert {stat.S_IMODE(file.stat().st_mode) for file in install.own_dir.iterdir()} == {0o600}
    install.own_dir.chmod(0o755)
    trash.file.chmod(0o644)
    await journaled(trash, deletion(2))
    assert stat.S_IMODE(trash.file.stat().st_mode) == 0o600
    assert stat.S_IMODE(install.own_dir.stat().st_mode) == 0o700


async def test_expired_actions_are_deleted_when_a_new_one_ends(trash, clock):
    await journaled(trash, deletion(1))
    clock.pass_days(20)
    await journaled(trash, deletion(2))
    clock.pass_days(15)
    assert (await trash.listing())[1] == 2
    await journaled(trash, deletion(3))
    assert [row.row.id for row in (await trash.listing())[0]] == ["id3", "id2"]
    assert len(await trash.actions()) == 2
    clock.pass_days(365)
    await journaled(trash, deletion(4))
    clock.pass_days(-330)
    await journaled(trash, deletion(5))
    ids = [row.row.id for row in (await trash.listing())[0]]
    assert ids == ["id5", "id4"], "changes from before the clock was ahead had expired by then"
    clock.pass_days(35)
    await journaled(trash, deletion(6))
    assert (await trash.listing())[1] == 3, "while the clock is behind the newest change, nothing is deleted by age"


async def test_deleted_memories_are_found_by_text_and_store_ignoring_case(trash, install, clock):
    await journaled(trash, *(deletion(number, f"Note {number} about Größe") for number in range(12)))
    await journaled(trash, RowChange(a_row(71, "one"), a_row(71, "two")), verb="edit")
    counts = {text: (await trash.listing(text))[1] for text in ("NOTE 1", "GRÖSSE", "KEY11", "100%_")}
    assert counts == {"NOTE 1": 3, "GRÖSSE": 12, "KEY11": 1, "100%_": 0}
    other = Trash(install, "sqlite:/another/brain.db", clock)
    assert await other.listing() == ([], 0)


async def test_the_trash_file_stays_within_its_size_limit(trash, monkeypatch):
    """With many small memories: the overhead of the tables counts, and dropped memories free disk space."""
    monkeypatch.setattr(journal_records, "TRASH_BYTES", 1024 * 1024)
    for at in range(0, 6000, 500):
        await journaled(trash, *(deletion(number, f"text {number}") for number in range(at, at + 500)))
    usage = await trash.usage()
    assert usage["bytes"] < 1.2 * 1024 * 1024
    assert 500 < usage["rows"] < 6000
    newest, _ = await trash.listing(limit=1)
    assert newest[0].row.entry().content == "text 5999"


async def test_an_action_larger_than_the_limit_is_kept_whole(trash, monkeypatch):
    await journaled(trash, deletion(99))
    monkeypatch.setattr(journal_records, "TRASH_BYTES", 1024 * 1024)
    action = await trash.begin("purge", "deleted")
    for at in range(5):
        action.record([deletion(at, embedding=b"\1" * 400_000)])
    await action.finish()
    assert [row.row.id for row in (await trash.listing())[0]] == [f"id{at}" for at in range(4, -1, -1)]


async def test_two_inspectors_cannot_change_an_install_at_once(trash, install, clock, monkeypatch):
    """The second waits for the first, but not forever. An action without changes is removed."""
    other = Trash(install, "markdown:/elsewhere", clock)
    first = await trash.begin("purge", "deleted")
    with monkeypatch.context() as patched:
        patched.setattr(journal_file, "LOCK_SECONDS", 0.1)
        with pytest.raises(Locked, match="changing this install"):
            await other.begin("edit", "edited")
    waiting = asyncio.create_task(other.begin("edit", "edited"))
    first.record([deletion(1)])
    await first.finish()
    second = await waiting
    assert second.number == first.number + 1
    assert await second.finish() is None
    assert await other.actions() == []
    with pytest.raises(NotFound):
        await trash.action(second.number)


async def test_emptying_the_trash_shrinks_the_file_and_keeps_other_stores(trash, install, clock):
    other = Trash(install, "markdown:/elsewhere", clock)
    await journaled(other, deletion(1, "of another store"))
    await journaled(trash, *(deletion(at, "SECRETWORD", embedding=b"\1" * 30_000) for at in range(100)))
    assert (await trash.usage())["bytes"] > 3_000_000
    assert await trash.empty() == 100
    assert (await trash.usage())["bytes"] < 200_000
    assert b"SECRETWORD" not in b"".join(file.read_bytes() for file in install.own_dir.iterdir())
    assert (await trash.listing())[1] == 0
    assert await trash.last() is None
    assert (await other.listing())[1] == 1


async def test_the_trash_in_a_read_only_folder_can_be_read_but_not_changed():
    async def look():
        trash = Trash(install, STORE, Clock())
        listed = [row.row.id for row in (await trash.listing())[0]]
        return listed, (await raises(trash.begin("purge", "deleted"), Unreadable)).message

    with shared_folder() as folder:
        install = install_at(folder)
        await journaled(Trash(install, STORE, Clock()), deletion(1))
        for file in install.own_dir.iterdir():
            file.chmod(0o444)
        install.own_dir.chmod(0o555)
        listed, message = as_nobody(lambda: asyncio.run(look()))
        install.own_dir.chmod(0o700)
    assert listed == ["id1"]
    assert "cannot be written" in message


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (
            lambda file: file.write_bytes(b"no database, but long enough to be taken for one" * 100),
            r"damaged.*sqlite3 trash\.db \.recover.*earlier changes cannot be undone",
        ),
        (lambda file: _run(file, "PRAGMA user_version = 99"), "another version"),
        (lambda file: _run(file, "PRAGMA user_version = 0"), "not this program's trash"),
    ],
)
async def test_a_foreign_or_broken_trash_file_is_reported(trash, spoil, message):
    await journaled(trash, deletion(1))
    spoil(trash.file)
    for use in (trash.listing, trash.last, trash.empty, lambda: trash.begin("purge", "deleted")):
        with pytest.raises(Unreadable, match=message):
            await use()
    trash.file.unlink()
    await journaled(trash, deletion(2))


def _run(file: Path, statement: str) -> None:
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute(statement)


def test_stores_are_identified_by_their_real_path(tmp_path):
    real = tmp_path / "real.db"
    real.touch()
    (tmp_path / "link.db").symlink_to(real)
    assert store_name("sqlite", str(tmp_path / "link.db")) == f"sqlite:{real}"
    assert store_name("sqlite", str(tmp_path / "link.db"), tmp_path) == f"sqlite:{real.relative_to(tmp_path.resolve())}"
    assert store_name("sqlite", str(tmp_path / "link.db"), tmp_path / "elsewhere") == f"sqlite:{real}"
    assert store_name("postgres", "postgresql://host/db") == "postgres:postgresql://host/db"
    assert store_name("in-memory", "this process") == "in-memory:this process"
    store_name("sqlite", os.fsdecode(os.fsencode(tmp_path) + b"/\xff.db")).encode()


# The trash of an earlier version is converted once, completely or not at all; its backup is kept for some days.


@contextmanager
def old_trash(file: Path) -> Iterator[sqlite3.Connection]:
    """Open a trash of version 0.2.0 with a deletion and an edit, for changes."""
    is_new = not file.exists()
    file.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(file)) as connection, connection:
        if is_new:
            connection.executescript(DUMP.read_text())
        yield connection


@pytest.fixture
def converted(install, clock):
    trash = Trash(install, "rmem:rustmem.db", clock)
    with old_trash(trash.file):
        return trash


async def test_an_old_trash_is_converted_and_emptying_it_removes_its_backup(converted):
    assert [(one.verb, one.count, one.open) for one in await converted.actions()] == [("edit", 1, 1), ("forget", 1, 1)]
    ((row,), _) = await converted.listing()
    assert row.row.entry().content == "Mila keeps bees on the roof"
    backup = converted.file.with_name(journal_file.BACKUP)
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600
    assert await converted.empty() == 1
    assert not backup.exists()


async def test_conversion_keeps_undone_actions_undone_and_drops_the_undo_itself(converted):
    with old_trash(converted.file) as connection:
        connection.execute(
            "INSERT INTO actions VALUES (3, 1, 'undo', '2026-11-28T15:00:00+00:00', 0, 'undid', 'done', 1)"
        )
        connection.execute(
            "INSERT INTO kept (action, store, table_name, id, deleted, reverses, size, after)"
            " SELECT 3, 1, table_name, id, 0, 1, size, before FROM kept WHERE number = 1"
        )
    assert [(one.number, one.open) for one in await converted.actions()] == [(2, 1), (1, 0)]
    assert await converted.numbers() == []
    last = await converted.last()
    assert last.number == 2
    assert await converted.numbers_to_reverse(1, "redo") == [1]
    (change,) = converted.changes_to_reverse([1])
    assert change.after.entry().content == "Mila keeps bees on the roof"


async def test_a_line_deleted_from_notes_by_an_earlier_version_can_be_restored(tmp_path):
    notes = tmp_path / "notes"
    notes.mkdir()
    file = notes / "MEMORY.md"
    file.write_text("# Long-Term Memory\n\n- alpha one\n- bravo two\n")
    async with opened({"HOME": str(tmp_path)}, backend="markdown", location=str(notes)) as library:
        row = await row_with_id(library.memory, "MEMORY:1")
        raw, values = b"", []
        for name, value in row.values.items():
            values.append([name, ["bytes", len(raw), len(value)] if isinstance(value, bytes) else value])
            raw += value if isinstance(value, bytes) else b""
        packed = json.dumps([row.id, row.handle, row.agent, row.table, values])
        with old_trash(library.trash.file) as connection:
            connection.execute("UPDATE stores SET name = ?", [library.trash.store])
            connection.execute("DELETE FROM kept WHERE number = 2")
            connection.execute("UPDATE blobs SET before = ?", [raw])
            connection.execute("UPDATE kept SET id = ?, before = ? WHERE number = 1", [row.id, packed])
        file.write_text("# Long-Term Memory\n\n- alpha one\n")
        assert (await undo(library)).count == 1
    assert file.read_text() == "# Long-Term Memory\n\n- alpha one\n- bravo two\n"


async def test_a_failed_conversion_is_reported_and_changes_nothing(converted):
    with old_trash(converted.file) as connection:
        connection.execute("UPDATE kept SET before = '[damaged' WHERE number = 2")
    for use in (converted.listing, converted.last, converted.empty, lambda: converted.begin("purge", "deleted")):
        with pytest.raises(Unreadable, match="cannot be converted: change 2 is damaged"):
            await use()
    with old_trash(converted.file) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (1,)
        assert connection.execute("SELECT count(*) FROM kept").fetchone() == (2,)
        connection.execute("DELETE FROM kept WHERE number = 2")
    assert [action.verb for action in await converted.actions()] == ["forget"]


async def test_the_expired_backup_is_deleted_when_a_change_ends(converted, clock):
    await converted.actions()
    backup = converted.file.with_name(journal_file.BACKUP)
    os.utime(backup, (clock().timestamp(), clock().timestamp()))
    for days, is_left in ((journal_file.BACKUP_DAYS - 1, True), (2, False)):
        clock.pass_days(days)
        action = await converted.begin("purge", "deleted")
        action.record([RowChange(Row("1", {"key": "key", "content": "text"}), None)])
        await action.finish()
        assert backup.exists() == is_left
