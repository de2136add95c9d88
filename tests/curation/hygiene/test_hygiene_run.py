"""Hygiene runs and their undo."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sqlite3
import stat
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest
from hygiene_world import NOW, STATE, Place, row
from support.libraries import Library, Outcome, edit_memory, preview_undo, redo, undo
from support.memories import Edit, Refused, UndoConflicts, UsageError
from support.stores import row_with_id

from zeroclaw_tui.curation.hygiene import HygienePlan, plan_hygiene, run_hygiene

OLD = "2026-01-01T00:00:00+00:00"
OLD_TRASH = Path(__file__).parents[2] / "data" / "rmem" / "trash_0.2.0.sql"
ROWS = [row("talk", "conversation", OLD), row("talk2", "conversation", OLD), row("fact", "core", OLD)]


@pytest.fixture
def place(make_place):
    """Two old rows, notes to archive, to delete and for both, a session, and three audit entries, two of them old."""
    made = make_place("0.8.4", ROWS)
    made.write("memory/2026-03-01.md", b"to be archived\n", day="2026-03-02", mode=0o640)
    made.write("memory/archive/2026-01-01.md", b"to be deleted\n", day="2026-01-02", mode=0o600)
    made.write("memory/2026-01-03.md", b"both\n", day="2026-01-03", mode=0o444)
    made.write("sessions/old.jsonl", b"{}\n", day="2026-03-05")
    made.write("memory/notes.md", b"stays\n")
    made.make_audit([OLD, "2026-03-19T00:00:00+00:00", OLD])
    return made


async def plan_now(library: Library) -> HygienePlan:
    return await plan_hygiene(library, NOW)


async def run_now(library: Library) -> Outcome:
    return await run_hygiene(library, await plan_now(library))


def report(place: Place) -> dict[str, int]:
    counts: dict[str, int] = json.loads((place.root / STATE).read_bytes())["last_report"]
    return counts


def contents(place: Place) -> dict[str, bytes]:
    return {name: data for name, (data, _, _) in place.tree().items()}


async def test_a_run_can_be_undone_and_redone(place):
    before, rows, entries = place.tree(), place.rows(), place.entries()
    async with place.opened_now() as library:
        outcome = await run_now(library)
        assert (outcome.count, outcome.notes, outcome.cancelled) == (8, (), False)
        done = "2 files archived, 2 files deleted, 2 rows to the trash, 2 entries of the audit log deleted"
        assert outcome.action.summary == f"hygiene: {done}"
        after = place.tree()
        assert sorted(after) == ["memory/archive/2026-03-01.md", "memory/notes.md", "sessions/archive/old.jsonl", STATE]
        assert after["memory/archive/2026-03-01.md"] == before["memory/2026-03-01.md"]
        assert (place.keys(), [entry[0] for entry in place.entries()]) == (["fact"], [2])
        assert list(report(place).values()) == [2, 1, 2, 0, 2, 0, 0]
        assert stat.S_IMODE(os.stat(library.trash.file).st_mode) == 0o600
        again = await plan_now(library)
        assert again.items == ()
        undone = await undo(library)
        assert (undone.count, len(undone.notes)) == (8, 1)
        assert "runs the same hygiene when it is due again" in undone.notes[0]
        before[STATE] = after[STATE]
        assert (place.tree(), place.rows(), place.entries()) == (before, rows, entries)
        assert (await redo(library)).count == 8
        assert contents(place) == {name: data for name, (data, _, _) in after.items()}
        assert (await undo(library)).count == 8
    assert (place.tree(), place.rows(), place.entries()) == (before, rows, entries)


async def test_a_run_without_work_writes_only_its_time(make_place):
    place = make_place("0.1.7")
    async with place.opened_now() as library:
        outcome = await run_now(library)
        assert (outcome.count, outcome.action, await library.trash.last()) == (0, None, None)
    assert json.loads((place.root / STATE).read_bytes())["last_run_at"].startswith("2026-03-20T12:00:00")


async def test_a_plan_for_the_future_and_a_read_only_store_are_refused(place):
    async with place.opened_now(read_only=True) as library:
        with pytest.raises(Refused):
            await run_now(library)
    async with place.opened_now() as library:
        plan = await plan_hygiene(library, NOW + timedelta(days=1))
        with pytest.raises(UsageError, match="as of now"):
            await run_hygiene(library, plan)
    assert place.keys() == ["talk", "talk2", "fact"]
    assert not (place.root / STATE).exists()


async def test_missing_and_changed_items_are_noted_and_the_others_done(place):
    async with place.opened_now() as library:
        plan = await plan_now(library)
        (place.root / "memory" / "2026-03-01.md").unlink()
        place.write("sessions/old.jsonl", b"written again\n", day="2026-03-19")
        changed = await row_with_id(library.memory, "id-talk")
        await edit_memory(library, "id-talk", Edit({"content": "something new"}), changed.fingerprint)
        outcome = await run_hygiene(library, plan)
    assert outcome.missing == ("file:memory/2026-03-01.md",)
    assert set(outcome.changed) == {"file:sessions/old.jsonl", "row:id-talk"}
    assert "memory/2026-03-01.md no longer exists." in outcome.notes
    assert "talk was left alone: it changed since the plan, or cannot be changed." in outcome.notes
    assert "memory_hygiene_state.json was not written" in outcome.notes[-1]
    assert (outcome.count, place.keys()) == (5, ["talk", "fact"])
    assert not (place.root / STATE).exists()


@pytest.mark.parametrize("after", [1, 4, 6])
async def test_a_stopped_run_can_be_undone_and_finished(place, after):
    before, rows, entries = place.tree(), place.rows(), place.entries()
    async with place.opened_now() as library:
        outcome = await run_hygiene(library, await plan_now(library), on_progress=lambda done: done < after)
        assert (outcome.cancelled, 0 < outcome.count < 8) == (True, True)
        assert "was not written" in outcome.notes[-1]
        assert not (place.root / STATE).exists()
        await undo(library)
        assert (place.tree(), place.rows(), place.entries()) == (before, rows, entries)
        await run_hygiene(library, await plan_now(library), on_progress=lambda done: done < after)
        await run_now(library)
        assert (await plan_now(library)).items == ()


async def test_a_conflicting_file_stops_an_undo_until_the_user_decides(place):
    """One file was rewritten, one edited in the archive, ZeroClaw ran again, and the config dir was moved."""
    async with place.opened_now() as library:
        await run_now(library)
    (place.root / STATE).write_bytes(b"theirs")
    moved = Place.of(place.config_dir.with_name("moved"), place.version)
    shutil.move(place.config_dir, moved.config_dir)
    moved.write("memory/2026-03-01.md", b"written since\n")
    moved.write("sessions/archive/old.jsonl", b"edited in the archive\n")
    async with moved.opened_now() as library:
        last = await library.trash.last()
        preview = await preview_undo(library, await library.trash.numbers_to_reverse(last.number, "undo"))
        assert (preview.written, preview.conflict_count) == (0, 2)
        with pytest.raises(UndoConflicts, match="changed since"):
            await undo(library)
        assert moved.keys() == ["fact"], "a refused undo changed something"
        undone = await undo(library, on_conflict="skip")
        assert any("archive/old.jsonl changed since. It was skipped." in note for note in undone.notes)
        assert moved.keys() == ["talk", "talk2", "fact"]
        assert contents(moved)["memory/2026-03-01.md"] == b"written since\n"
        assert contents(moved)["sessions/old.jsonl"] == b"{}\n"
        moved.write("memory/2026-01-03.md", b"written since\n")
        await redo(library, on_conflict="overwrite")
        assert "memory/2026-01-03.md" not in contents(moved)
        await undo(library)
    assert contents(moved)["memory/2026-01-03.md"] == b"written since\n"
    assert contents(moved)["sessions/archive/old.jsonl"] == b"edited in the archive\n"
    assert contents(moved)[STATE] == b"theirs"


async def test_a_file_that_cannot_be_archived_is_noted_and_the_others_done(place):
    link = place.root / "memory" / "2026-03-01.md"
    link.unlink()
    link.symlink_to("notes.md")
    async with place.opened_now() as library:
        outcome = await run_now(library)
    assert (outcome.count, outcome.changed, outcome.missing) == (7, (), ())
    assert "memory/2026-03-01.md is a link and was left alone." in outcome.notes[0]
    assert "memory_hygiene_state.json was not written" in outcome.notes[-1]
    assert (link.is_symlink(), place.keys()) == (True, ["fact"])


async def test_a_run_of_version_0_2_can_be_undone(make_place):
    """Its trash stored only the digest of an archived file; the bytes are read from the archive."""
    place = make_place("0.7.5")
    archived = place.write("memory/archive/2026-03-01.md", b"archived by 0.2\n")
    digest = hashlib.sha256(archived.read_bytes()).hexdigest()
    old, new = (f"workspace/memory/{name}" for name in ("2026-03-01.md", "archive/2026-03-01.md"))
    source = [old, None, None, "file", [["path", old], ["sha256", digest], ["mode", 0o640], ["moved_to", new]]]
    target = [new, None, None, "file", [["path", new], ["sha256", digest], ["moved_from", old]]]
    trash = place.config_dir / "zeroclaw-tui" / "trash.db"
    trash.parent.mkdir()
    with closing(sqlite3.connect(trash)) as connection:
        connection.executescript(OLD_TRASH.read_text())
        connection.execute("UPDATE stores SET name = 'sqlite:workspace/memory/brain.db'")
        connection.execute("UPDATE actions SET verb = 'hygiene' WHERE number = 2")
        connection.execute("DELETE FROM kept")
        connection.executemany(
            "INSERT INTO kept (action, store, table_name, id, deleted, size, before, after)"
            " VALUES (2, 1, 'file', ?, 0, 9, ?, ?)",
            [(old, json.dumps(source), None), (new, None, json.dumps(target))],
        )
        connection.commit()
    async with place.opened_now() as library:
        assert (await undo(library)).count == 1
    assert contents(place) == {"memory/2026-03-01.md": b"archived by 0.2\n"}
    assert stat.S_IMODE((place.root / "memory" / "2026-03-01.md").stat().st_mode) == 0o640
