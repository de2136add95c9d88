"""Kill a purge, an edit or an undo before one of its writes, and check what is left.

    python tests/crash/crash_points.py purge|edit|undo FOLDER [--points N]

Without --points every write is tried. Exits with code 1 if a memory is neither in the store nor in the
trash, if SQLite finds damage, or if a second run does not finish the work.
"""

from __future__ import annotations

import sqlite3
import struct
import sys
from collections.abc import Callable, Coroutine
from contextlib import closing
from pathlib import Path
from typing import Any

from zeroclaw_tui.backends.lookup import row_with_id

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support import kill_points, killing, small_store
from support.opened import opened

# Everything is imported before the first fork: imports in a child would count as its system calls.
from zeroclaw_tui.backends.sqlite import store as _store
from zeroclaw_tui.curation import changes
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.outcome import plan_purge
from zeroclaw_tui.memory.change import Edit
from zeroclaw_tui.memory.query import MemoryFilter

ROWS = 140
PURGED = MemoryFilter(category=("daily",))
EDITED = "id-007"
NEW_TEXT = "what it says after the edit"
Rows = dict[str, tuple[Any, ...]]
Work = Callable[[Library], Coroutine[Any, Any, None]]


def make_install(folder: Path, count: int = ROWS) -> None:
    database = folder / "data" / "memory" / "brain.db"
    database.parent.mkdir(parents=True)
    (folder / "config.toml").write_text('schema_version = 3\n[memory]\nbackend = "sqlite"\n')
    rows = [
        {
            "content": f"memory {at} about the crossing " + "and the harbour " * (at % 7),
            "category": "daily" if at % 10 else "core",
            "embedding": struct.pack("<8f", *(at + part for part in range(8))),
        }
        for at in range(count)
    ]
    small_store.make(database, "G4", rows)


def rows_of(folder: Path) -> Rows:
    """Return every row with its rowid, by id, after SQLite's own checks."""
    with closing(sqlite3.connect(folder / "data" / "memory" / "brain.db")) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        connection.execute("INSERT INTO memories_fts(memories_fts, rank) VALUES ('integrity-check', 1)")
        found = connection.execute("SELECT id, rowid, * FROM memories").fetchall()
        connection.rollback()
    return {row[0]: row[1:] for row in found}


async def with_library(folder: Path, work: Work) -> None:
    async with opened({"HOME": str(folder)}, config_dir=folder) as library:
        await work(library)


async def do_purge(library: Library) -> None:
    plan = await plan_purge(library, PURGED)
    kill_points.mark()
    await changes.remove_memories(library, plan, "purge")
    kill_points.mark()


async def do_edit(library: Library) -> None:
    row = await row_with_id(library.memory, EDITED)
    assert row is not None
    kill_points.mark()
    await changes.edit_memory(library, EDITED, Edit({"content": NEW_TEXT}), row.fingerprint)
    kill_points.mark()


async def do_undo(library: Library) -> None:
    kill_points.mark()
    await changes.undo(library)
    kill_points.mark()


ACTIONS: dict[str, Work] = {"purge": do_purge, "edit": do_edit, "undo": do_undo}


async def check_purge(library: Library, folder: Path, before: Rows) -> None:
    """Check that each memory is in exactly one place, that a second purge removes all, and that undo restores all."""
    await check_one_place(library, folder, before)
    await changes.remove_memories(library, await plan_purge(library, PURGED), "purge")
    assert {row[4] for row in rows_of(folder).values()} == {"core"}, "the second purge did not finish"
    await check_one_place(library, folder, before)


async def check_edit(library: Library, folder: Path, before: Rows) -> None:
    """Check for the old text, or the new one with its undo."""
    row = await row_with_id(library.memory, EDITED)
    assert row is not None
    await library.trash.recover(library.memory)
    last = await library.trash.last()
    is_new = row.values["content"] == NEW_TEXT
    assert is_new or rows_of(folder) == before, "the edit is incomplete"
    assert is_new == (last is not None), "an edit without its undo, or an undo without its edit"
    if not is_new:
        await changes.edit_memory(library, EDITED, Edit({"content": NEW_TEXT}), row.fingerprint)
        assert rows_of(folder)[EDITED][3] == NEW_TEXT, "the second edit did not finish"


async def check_undo(library: Library, folder: Path, before: Rows) -> None:
    """Check that each memory is in exactly one place."""
    await check_one_place(library, folder, before)


CHECKS = {"purge": check_purge, "edit": check_edit, "undo": check_undo}


async def check_one_place(library: Library, folder: Path, before: Rows) -> None:
    await library.trash.recover(library.memory)
    here = rows_of(folder)
    listed, total = await library.trash.listing(limit=10 * ROWS)
    in_trash = {found.row.id: found.row for found in listed}
    assert len(in_trash) == total, "a memory is in the trash twice"
    for name, row in before.items():
        assert (name in here) != (name in in_trash), f"{name} is in {'both' if name in here else 'neither'}"
        kept = here[name] if name in here else (in_trash[name].handle, *in_trash[name].values.values())
        assert kept == row, f"{name} has changed"


async def check_all_back(library: Library, folder: Path, before: Rows) -> None:
    """Check that undoing everything restores the original rows."""
    for _ in range(5):
        if await library.trash.last() is None:
            break
        await changes.undo(library)
    assert rows_of(folder) == before, "undo did not restore everything"


async def check(library: Library, folder: Path, name: str, before: Rows) -> None:
    await CHECKS[name](library, folder, before)
    await check_all_back(library, folder, before)


def main() -> int:
    given = killing.arguments(ACTIONS)
    # Always the same folder: the trash identifies a store by its path.
    place = given.folder / "copy"
    make_install(place)
    before = rows_of(place)
    if given.action == "undo":
        killing.in_child(lambda: with_library(place, do_purge))
    return killing.kill_at_points(
        given,
        place,
        lambda: with_library(place, ACTIONS[given.action]),
        lambda: with_library(place, lambda library: check(library, place, given.action, before)),
    )


if __name__ == "__main__":
    assert _store
    sys.exit(main())
