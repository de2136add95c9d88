"""Kill an import, a merge, a cleaning, hygiene or its undo before one of its writes, and check what is left.

    python tests/crash/upkeep_crash_points.py skip|overwrite|rename|merge|clean|hygiene|undo FOLDER [--points N]

Without --points every write is tried. Exits with code 1 if a memory is lost, a second run does not finish
the work, or undo does not restore the exact rows.
"""

from __future__ import annotations

import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

# Everything is imported before the first fork: imports in a child would count as its system calls.
import numpy as _numpy
from support import kill_points, killing
from support.upkeep_place import CLASHES, Place, Step, do, make_place

from zeroclaw_tui.backends.sqlite import store as _store
from zeroclaw_tui.curation import changes

ACTIONS: dict[str, Step] = {
    **{on_conflict: ("import", at) for at, on_conflict in enumerate(CLASHES)},
    "merge": ("merge", 0),
    "clean": ("clean", 0),
    "hygiene": ("hygiene", 0),
    "undo": ("hygiene", 0),
}
MEMORIES = 30
Texts = dict[str, tuple[str, str]]


def texts(place: Place) -> Texts:
    """Return content and category by key."""
    with closing(sqlite3.connect(place.database)) as connection:
        return {row[0]: row[1:] for row in connection.execute("SELECT key, content, category FROM memories")}


async def act(place: Place, action: str) -> None:
    library = await place.opened()
    kill_points.mark()
    await (changes.undo(library) if action == "undo" else do(library, place, ACTIONS[action]))
    kill_points.mark()
    await library.close()


async def check(place: Place, action: str, before: dict[str, Any], here: Texts, done: Texts) -> None:
    library = await place.opened()
    try:
        await library.trash.recover(library.memory)
        place.state()
        for key, text in texts(place).items():
            assert text in (here.get(key), done.get(key)), f"{key} is neither old nor new"
        assert here.keys() & done.keys() <= texts(place).keys(), "a memory that must always stay is missing"
        if action != "undo":
            await do(library, place, ACTIONS[action])
            assert texts(place) == done, "a second run did not finish"
        for _ in range(3):
            if await library.trash.last() is not None:
                await changes.undo(library)
    finally:
        await library.close()
    assert place.state() == before, "undo did not restore everything"


def main() -> int:
    given = killing.arguments(ACTIONS)
    # Always the same folder: the trash identifies a store by its path.
    copy = given.folder / "copy"
    place = make_place(copy, MEMORIES)
    before = place.state()
    if given.action == "undo":
        killing.in_child(lambda: act(place, "hygiene"))
    here, done = texts(place), Texts()
    return killing.kill_at_points(
        given,
        copy,
        lambda: act(place, given.action),
        lambda: check(place, given.action, before, here, done),
        when_done=lambda: done.update(texts(place)),
    )


if __name__ == "__main__":
    assert _store
    assert _numpy
    sys.exit(main())
