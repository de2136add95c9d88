"""Kill the writing of a snapshot, or the making of a store, before one of its system calls, and look at what is left.

    python tests/curation/snapshot/snapshot_crash_points.py snapshot|make FOLDER [--points N]

Without --points every system call is tried. Ends with code 1 where a file is half of anything, where what was there is
lost, or where doing it again does not finish it.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

# Everything is imported before the first fork: what a child imports would count as its system calls.
from snapshot_samples import rows_in
from support import kill_points, killing
from support.installs import Install, make_install

from zeroclaw_tui.backends.sqlite import store as _store
from zeroclaw_tui.curation import changes
from zeroclaw_tui.curation.formats.snapshot import NAME, SIDE_CAR, Snapshot, load
from zeroclaw_tui.curation.snapshot import place_of, plan_hydrate, write_snapshot
from zeroclaw_tui.curation.transfer.imports import import_memories
from zeroclaw_tui.curation.transfer.target import Target
from zeroclaw_tui.files.disk import file_size

ROWS = [{"key": f"k{at}", "content": f"memory {at}\n---\n{'word ' * (at % 50)}"} for at in range(60)]
EARLIER = b"### \xf0\x9f\x94\x91 `earlier`\n\nan earlier snapshot\n"


def prepare(folder: Path, action: str) -> None:
    if action == "snapshot":
        make_install(folder, "G2", ROWS).write(NAME, EARLIER)
        return
    entries = "".join(f"### 🔑 `{row['key']}`\n\n{row['content']}\n\n" for row in ROWS)
    make_install(folder, None).write(NAME, entries)


async def write(install: Install) -> None:
    async with install.opened() as library:
        kill_points.mark()
        await write_snapshot(library)
        kill_points.mark()


async def make(install: Install) -> None:
    config = install.config()
    target = await Target.at(config, "0.1.7")
    plan = await plan_hydrate(target, config.install.root / NAME)
    kill_points.mark()
    await import_memories(target, plan, "skip")
    kill_points.mark()
    await target.close()


def loses_nothing(snapshot: Snapshot) -> bool:
    return any("loses nothing" in note for note in snapshot.notes)


async def check_written(install: Install) -> None:
    """The old file or the new one, whole; the copy next to it is used only where it says the same; an undo restores."""
    async with install.opened() as library:
        file = place_of(library.config)
        is_old = file.read_bytes() == EARLIER
        loaded = load(file)
        assert len(loaded.rows) == (1 if is_old else len(ROWS)), "half a snapshot"
        assert loses_nothing(loaded) != is_old, "the copy beside is not taken for what it is"
        await library.trash.recover(library.memory)
        while await library.trash.last() is not None:
            await changes.undo(library)
        assert file.read_bytes() == EARLIER, "the earlier snapshot is lost"
        assert not file.with_name(SIDE_CAR).exists(), "an undo left the copy beside"
        await write_snapshot(library)
        assert loses_nothing(load(file)), "doing it again did not finish it"


async def check_made(install: Install) -> None:
    """No database, an empty one, or a whole one; doing it again finishes it."""
    config = install.config()
    if file_size(config.database):
        assert len(rows_in(config.database)) in (0, len(ROWS)), "half a database"
    await make(install)
    assert len(rows_in(config.database)) == len(ROWS), "doing it again did not finish it"


ACTIONS = {"snapshot": (write, check_written), "make": (make, check_made)}


def main() -> int:
    given = killing.arguments(ACTIONS)
    place = given.folder / "copy"
    act, check = (partial(work, Install(place, place / "workspace")) for work in ACTIONS[given.action])
    prepare(place, given.action)
    return killing.kill_at_points(given, place, act, check, holds="every file whole")


if __name__ == "__main__":
    assert _store
    sys.exit(main())
