"""The trash of an earlier version is converted once, whole or not at all; its backup stays for a while."""

from __future__ import annotations

import json
import os
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from journal_world import Clock, install_at
from support.opened import opened

from zeroclaw_tui.backends.lookup import row_with_id
from zeroclaw_tui.curation.changes import undo
from zeroclaw_tui.curation.journal import Trash
from zeroclaw_tui.curation.old_trash import BACKUP, BACKUP_DAYS
from zeroclaw_tui.memory.change import Row, RowChange
from zeroclaw_tui.memory.errors import Unreadable

DUMP = Path(__file__).parents[1] / "data" / "rmem" / "trash_0.2.0.sql"


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def trash(tmp_path, clock):
    trash = Trash(install_at(tmp_path), "rmem:rustmem.db", clock)
    with old_trash(trash.file):
        return trash


@contextmanager
def old_trash(file: Path) -> Iterator[sqlite3.Connection]:
    """The trash of version 0.2.0 with a deletion and an edit, to be changed."""
    is_new = not file.exists()
    file.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(file)) as connection, connection:
        if is_new:
            connection.executescript(DUMP.read_text())
        yield connection


async def test_an_old_trash_is_converted_and_its_backup_leaves_with_the_trash(trash):
    assert [(one.verb, one.count, one.open) for one in await trash.actions()] == [("edit", 1, 1), ("forget", 1, 1)]
    ((row,), _) = await trash.listing()
    assert row.row.entry().content == "Mila keeps bees on the roof"
    backup = trash.file.with_name(BACKUP)
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600
    assert await trash.empty() == 1
    assert not backup.exists()


async def test_what_was_undone_stays_undone_and_the_undo_itself_goes(trash):
    with old_trash(trash.file) as connection:
        connection.execute(
            "INSERT INTO actions VALUES (3, 1, 'undo', '2026-11-28T15:00:00+00:00', 0, 'undid', 'done', 1)"
        )
        connection.execute(
            "INSERT INTO kept (action, store, table_name, id, deleted, reverses, size, after)"
            " SELECT 3, 1, table_name, id, 0, 1, size, before FROM kept WHERE number = 1"
        )
    assert [(one.number, one.open) for one in await trash.actions()] == [(2, 1), (1, 0)]
    assert await trash.numbers() == []
    last = await trash.last()
    assert last.number == 2
    assert await trash.numbers_to_turn(1, "redo") == [1]
    (change,) = trash.changes_to_turn([1])
    assert change.after.entry().content == "Mila keeps bees on the roof"


async def test_a_line_deleted_from_notes_by_an_earlier_version_comes_back(tmp_path):
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


async def test_a_conversion_that_fails_changes_nothing_and_says_so(trash):
    with old_trash(trash.file) as connection:
        connection.execute("UPDATE kept SET before = '[damaged' WHERE number = 2")
    for use in (trash.listing, trash.last, trash.empty, lambda: trash.begin("purge", "deleted")):
        with pytest.raises(Unreadable, match="cannot be converted: change 2 is damaged"):
            await use()
    with old_trash(trash.file) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (1,)
        assert connection.execute("SELECT count(*) FROM kept").fetchone() == (2,)
        connection.execute("DELETE FROM kept WHERE number = 2")
    assert [action.verb for action in await trash.actions()] == ["forget"]


async def test_the_backup_goes_after_its_days_as_a_change_ends(trash, clock):
    await trash.actions()
    backup = trash.file.with_name(BACKUP)
    os.utime(backup, (clock().timestamp(), clock().timestamp()))
    for days, is_left in ((BACKUP_DAYS - 1, True), (2, False)):
        clock.pass_days(days)
        action = await trash.begin("purge", "deleted")
        action.record([RowChange(Row("1", {"key": "key", "content": "text"}), None)])
        await action.finish()
        assert backup.exists() == is_left
