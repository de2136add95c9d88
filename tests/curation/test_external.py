"""Changes to files and to rows of other databases are journaled and can be undone."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from support.memories import Refused, Row, RowChange

from zeroclaw_tui.curation.external import apply, database_row, file_row, link_target, move, read_file
from zeroclaw_tui.testing.tools import JournalRecorder


def inverse_changes(journal: JournalRecorder) -> list[RowChange]:
    return [RowChange(change.after, change.before) for change in reversed(journal.changes)]


def present(path: Path) -> Row:
    """Return the row of an existing file."""
    row = read_file(path)
    assert row is not None
    return row


async def test_a_dry_run_writes_nothing(tmp_path):
    path = tmp_path / "note.md"
    path.write_bytes(b"old")
    change = RowChange(file_row(path, b"old"), file_row(path, b"new"))
    assert (await apply([change], None, dry_run=True)).written == 1
    assert path.read_bytes() == b"old"
    assert (await apply([change], None)).written == 1
    assert path.read_bytes() == b"new"


@pytest.mark.parametrize(("overwrite", "written", "data"), [(False, 1, b"theirs"), (True, 2, b"ours")])
async def test_a_file_written_by_another_program_is_a_conflict(tmp_path, overwrite, written, data):
    path, other = tmp_path / "note.md", tmp_path / "other.md"
    path.write_bytes(b"theirs")
    journal = JournalRecorder()
    changes = [RowChange(None, file_row(other, b"new")), RowChange(file_row(path, b"old"), file_row(path, b"ours"))]
    result = await apply(changes, journal, overwrite=overwrite)
    assert (result.written, path.read_bytes(), other.exists()) == (written, data, True)
    assert (result.conflict_count, result.conflicts[0].reason, len(journal.changes)) == (1, "changed", written)
    if overwrite:
        await apply(inverse_changes(journal), None)
        assert path.read_bytes() == b"theirs"


async def test_a_file_whose_content_is_not_in_the_trash_is_skipped_with_a_reason(tmp_path):
    path = tmp_path / "note.md"
    row = Row(str(path), {"path": str(path), "sha256": "ab"}, table="file")
    result = await apply([RowChange(None, row)], None)
    assert (result.written, result.skipped, path.exists()) == (0, [str(path)], False)
    assert "does not have its content" in result.notes[0]


async def test_a_move_to_an_existing_name_leaves_the_file_in_place(tmp_path):
    source, target = tmp_path / "a.md", tmp_path / "b.md"
    source.write_bytes(b"a")
    target.write_bytes(b"b")
    journal = JournalRecorder()
    result = await apply(move(present(source), target), journal)
    assert (source.read_bytes(), target.read_bytes()) == (b"a", b"b")
    assert (result.written, set(result.skipped), journal.changes) == (0, {str(source), str(target)}, [])


async def test_links_are_not_replaced_but_can_be_written_through(tmp_path):
    real, link = tmp_path / "real.md", tmp_path / "link.md"
    real.write_bytes(b"old")
    link.symlink_to(real)
    with pytest.raises(Refused, match="is a link and was left alone"):
        read_file(link)
    skipped = await apply([RowChange(file_row(link, b"old"), None)], JournalRecorder())
    assert (skipped.skipped, len(skipped.notes), link.is_symlink()) == ([str(link)], 1, True)
    target = link_target(link)
    await apply([RowChange(present(target), file_row(target, b"new"))], None)
    assert (real.read_bytes(), link.is_symlink()) == (b"new", True)


# Rows of other databases


def make_sessions(path: Path) -> Row:
    """Create a small sessions.db and return a row of it."""
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript("CREATE TABLE messages (content TEXT); INSERT INTO messages VALUES ('my secret')")
    return database_row(path, "messages", 1, {"content": "my secret"})


def rows_in(path: Path, table: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(f"SELECT * FROM {table} ORDER BY rowid").fetchall()


async def test_a_changed_text_in_another_database_leaves_no_old_bytes(tmp_path):
    path = tmp_path / "sessions.db"
    row, journal = make_sessions(path), JournalRecorder()
    cleaned = replace(row, values={**row.values, "content": "my [removed]"})
    assert (await apply([RowChange(row, cleaned)], journal)).written == 1
    assert rows_in(path, "messages") == [("my [removed]",)]
    changed = await apply([RowChange(row, None)], journal)
    assert (changed.written, changed.conflicts[0].reason) == (0, "changed")
    await apply(inverse_changes(journal), None)
    assert rows_in(path, "messages") == [("my secret",)]


async def test_rows_of_a_deleted_database_need_no_undo(tmp_path):
    path = tmp_path / "sessions.db"
    row, journal = make_sessions(path), JournalRecorder()
    await apply([RowChange(row, None)], journal)
    assert rows_in(path, "messages") == []
    path.unlink()
    result = await apply(inverse_changes(journal), None)
    assert (result.conflict_count, result.already) == (0, [row.id])
    assert "no longer exists" in result.notes[0]
