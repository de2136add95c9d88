"""Kill hygiene by hand, or its undo, before one of its system calls, and look at what is left.

    python tests/crash/hygiene_crash_points.py hygiene|undo FOLDER [--points N]

Without --points every system call is tried. Ends with code 1 at the first memory, file or audit entry that is neither
in its place nor in the trash, or where doing it again does not finish it.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import crash_points
from crash_points import rows_of, with_library
from support import kill_points, killing, left_texts, small_store

from zeroclaw_tui.curation import changes
from zeroclaw_tui.curation.hygiene import plan_hygiene, run_hygiene
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.memory.change import FILE, OTHER_ROW, RowChange

ROWS = 24
OLD, YOUNG = "2020-01-01T00:00:00+00:00", "2999-01-01T00:00:00+00:00"
STATE = "state/memory_hygiene_state.json"
MOVED = {f"memory/2020-01-0{day}.md": f"memory/archive/2020-01-0{day}.md" for day in (1, 2)}
Files = dict[str, tuple[bytes, int, int]]
Before = tuple[crash_points.Rows, Files, list[Any]]


def make_install(folder: Path) -> None:
    """Old rows and young ones, files to archive, files to delete, an audit log, and a state of an earlier run."""
    memory = folder / "data" / "memory"
    memory.mkdir(parents=True)
    settings = '[memory]\nbackend = "sqlite"\npurge_after_days = 0\n'
    (folder / "config.toml").write_text(f"schema_version = 3\n{settings}")
    rows = [
        {"category": "conversation", "content": f"talk {at}", "updated_at": YOUNG if at % 4 == 0 else OLD}
        for at in range(ROWS)
    ]
    small_store.make(memory / "brain.db", "G4", rows)
    for name in (*MOVED, "memory/notes.md", STATE):
        file = folder / "data" / name
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(f"what {name} says\n".encode())
        file.chmod(0o640)
        os.utime(file, ns=(10**18 + 7, 10**18 + 7))
    with closing(sqlite3.connect(memory / "audit.db")) as connection, connection:
        connection.execute(left_texts.AUDIT)
        connection.executemany(
            "INSERT INTO memory_audit (operation, timestamp) VALUES ('store', ?)", [(OLD,), (OLD,), (YOUNG,)]
        )


def also_purging(folder: Path) -> None:
    """From now on files are deleted as well: both that would only be archived, and one that is in the archive."""
    config = folder / "config.toml"
    config.write_text(config.read_text().replace("purge_after_days = 0", "purge_after_days = 30"))


def files_of(folder: Path) -> Files:
    """Every file but databases and what a killed write left half written."""
    root = folder / "data"
    paths = [path for path in root.rglob("*") if path.is_file() and not path.name.endswith(".tmp")]
    found = {str(path.relative_to(root)): path for path in paths if ".db" not in path.name}
    return {
        name: (path.read_bytes(), path.stat().st_mode & 0o7777, path.stat().st_mtime_ns) for name, path in found.items()
    }


def entries_of(folder: Path) -> list[Any]:
    with closing(sqlite3.connect(folder / "data" / "memory" / "audit.db")) as connection:
        return connection.execute("SELECT * FROM memory_audit ORDER BY id").fetchall()


def everything(folder: Path) -> Before:
    return rows_of(folder), files_of(folder), entries_of(folder)


async def do_hygiene(library: Library) -> None:
    plan = await plan_hygiene(library, library.trash.now())
    kill_points.mark()
    await run_hygiene(library, plan)
    kill_points.mark()


ACTIONS: dict[str, crash_points.Work] = {"hygiene": do_hygiene, "undo": crash_points.do_undo}


async def kept_now(library: Library) -> list[RowChange]:
    """All that is not undone, of every action."""
    return [
        change
        for action in await library.trash.actions()
        if action.verb == "hygiene"
        for change in library.trash.changes_to_turn(await library.trash.numbers_to_turn(action.number, "undo"))
    ]


def crash_root(folder: Path) -> Path:
    return folder.resolve()


async def check_one_place(library: Library, folder: Path, before: Before) -> None:
    """Each memory, file and entry is in its place or in the trash, never in both or neither."""
    rows, files, entries = before
    await crash_points.check_one_place(library, folder, rows)
    kept, here = await kept_now(library), files_of(folder)
    in_trash = {change.row.id for change in kept if change.row.table == FILE and change.before and not change.after}
    root = f"{crash_root(folder)}/data"
    for name, stored in files.items():
        if name == STATE:
            continue
        is_away = f"{root}/{name}" in in_trash
        assert (name in here) != is_away, f"{name} is in {'both' if is_away else 'neither'}"
        place = MOVED.get(name, "") if is_away else name
        has_bytes = any("bytes" in change.row.values for change in kept if change.row.id == f"{root}/{name}")
        assert has_bytes or here.get(place) == stored, f"{name} is not what it was"
    numbers = {entry[0] for entry in entries_of(folder)}
    gone = {change.row.handle for change in kept if change.row.table == OTHER_ROW}
    assert numbers | gone == {entry[0] for entry in entries}, "an audit entry is in neither place"
    assert not numbers & gone, "an audit entry is in both places"


def check(folder: Path, name: str, before: Before) -> Callable[[], None]:
    async def all_checks(library: Library) -> None:
        await check_one_place(library, folder, before)
        if name == "hygiene":
            await run_hygiene(library, await plan_hygiene(library, library.trash.now()))
            assert not (await plan_hygiene(library, library.trash.now())).items, "done again it did not finish"
            await check_one_place(library, folder, before)
        for _ in range(4):
            if await library.trash.last() is None:
                break
            await changes.undo(library)
        assert everything(folder) == before, "undoing did not bring everything back"

    return lambda: asyncio.run(with_library(folder, all_checks))


def main() -> int:
    given = killing.arguments(ACTIONS, "--purging")
    place = given.folder / "copy"
    make_install(place)
    if given.purging:
        also_purging(place)
    before = everything(place)
    crash_points.ACTIONS.update(ACTIONS)
    if given.action == "undo":
        killing.in_child(crash_points.act(place, "hygiene"))
    return killing.kill_at_points(
        given.action,
        place,
        given.points,
        crash_points.act(place, given.action),
        check(place, given.action, before),
        holds="everything whole",
    )


if __name__ == "__main__":
    sys.exit(main())
