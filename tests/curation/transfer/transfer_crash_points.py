"""Kill a copy, a snapshot or the creation of a store before one of its writes, and check what is left.

    python tests/curation/transfer/transfer_crash_points.py sqlite|markdown|snapshot|make FOLDER [--points N]

Without --points every write is tried. Exits with code 1 if a source changed, a file is incomplete, a second run
does not finish the work or duplicates something, or undo does not restore the state before.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "snapshot"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

# Everything is imported before the first fork: imports in a child would count as its system calls.
import numpy as _numpy
from copying_world import EVERYTHING, install_in, opened, stored
from snapshot_samples import rows_in
from support import kill_points, killing
from support.installs import Install, make_install
from support.small_store import blob, make

from zeroclaw_tui.backends.sqlite import store as _store
from zeroclaw_tui.curation import changes
from zeroclaw_tui.curation.formats.snapshot import NAME, SIDE_CAR, Snapshot, load
from zeroclaw_tui.curation.snapshot import place_of, plan_hydrate, write_snapshot
from zeroclaw_tui.curation.transfer.copy import copy_memories, open_target
from zeroclaw_tui.curation.transfer.imports import import_memories
from zeroclaw_tui.curation.transfer.plan import Target
from zeroclaw_tui.files.disk import file_size

MEMORIES = 40
PLACES = {"sqlite": "new.db", "markdown": "notes"}
ROWS = [{"key": f"k{at}", "content": f"memory {at}\n---\n{'word ' * (at % 50)}"} for at in range(60)]
EARLIER = b"### \xf0\x9f\x94\x91 `earlier`\n\nan earlier snapshot\n"


# Copies


def prepare_copy(folder: Path) -> None:
    rows = [
        {
            "key": f"key{at}",
            "content": f"a memory of the harbour {at}",
            "category": ("core", "daily")[at % 2],
            "embedding": blob(1, at),
        }
        for at in range(MEMORIES)
    ]
    install_in(folder, rows)
    make(folder / "new.db", "G2", [{"id": "theirs", "key": "theirs", "content": "was there"}])
    (folder / "notes").mkdir()
    (folder / "notes" / "MEMORY.md").write_text("- was there\n")


def state(folder: Path, backend: str) -> list[object]:
    """Return the content of the target, in any order."""
    if backend == "sqlite":
        return sorted(map(repr, stored(folder / "new.db")))
    files = (folder / "notes").rglob("*.md")
    return sorted(f"{file.name} {line}" for file in files for line in file.read_text().splitlines() if line[:2] == "- ")


def source_of(folder: Path) -> list[object]:
    return list(stored(folder / "zc" / "workspace" / "memory" / "brain.db"))


async def copy(folder: Path, backend: str) -> None:
    async with opened(folder) as library:
        target = await open_target(library, backend, str(folder / PLACES[backend]), "0.7.5", environ={})
        kill_points.mark()
        await copy_memories(library, target, EVERYTHING, "skip")
        kill_points.mark()
        await target.close()


async def check_copied(
    folder: Path, backend: str, before: list[object], source: list[object], done: list[object]
) -> None:
    assert source_of(folder) == source, "the source changed"
    async with opened(folder) as library:
        target = await open_target(library, backend, str(folder / PLACES[backend]), "0.7.5", environ={})
        outcome = await copy_memories(library, target, EVERYTHING, "skip")
        assert (outcome.verified, outcome.differs, outcome.left) == (MEMORIES, 0, 0), outcome
        assert state(folder, backend) == done, "doing it again did not finish it"
        assert target.library is not None
        for _ in range(3):
            if await target.library.trash.last() is not None:
                await changes.undo(target.library)
        await target.close()
    assert state(folder, backend) == before, "undo did not restore the state before"


# Snapshots


def prepare_snapshot(folder: Path, action: str) -> None:
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


async def make_store(install: Install) -> None:
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
    """Check for the whole old or new file, a lossless copy used only if it agrees, and an undo that restores."""
    async with install.opened() as library:
        file = place_of(library.config)
        is_old = file.read_bytes() == EARLIER
        loaded = load(file)
        assert len(loaded.rows) == (1 if is_old else len(ROWS)), "incomplete snapshot"
        assert loses_nothing(loaded) != is_old, "the lossless copy was not recognised"
        await library.trash.recover(library.memory)
        while await library.trash.last() is not None:
            await changes.undo(library)
        assert file.read_bytes() == EARLIER, "the earlier snapshot is lost"
        assert not file.with_name(SIDE_CAR).exists(), "an undo left the lossless copy"
        await write_snapshot(library)
        assert loses_nothing(load(file)), "doing it again did not finish it"


async def check_made(install: Install) -> None:
    """Check for no, an empty or a complete database, and that a second run completes it."""
    if file_size(install.database):
        assert len(rows_in(install.database)) in (0, len(ROWS)), "incomplete database"
    await make_store(install)
    assert len(rows_in(install.database)) == len(ROWS), "doing it again did not finish it"


SNAPSHOTS = {"snapshot": (write, check_written), "make": (make_store, check_made)}


def main() -> int:
    given = killing.arguments([*PLACES, *SNAPSHOTS])
    # Always the same folder: the trash identifies a store by its path.
    place, name = given.folder / "copy", given.action
    if name in PLACES:
        prepare_copy(place)
        done: list[object] = []
        act = partial(copy, place, name)
        check = partial(check_copied, place, name, state(place, name), source_of(place), done)
        return killing.kill_at_points(given, place, act, check, when_done=lambda: done.extend(state(place, name)))
    prepare_snapshot(place, name)
    act, check = (partial(work, Install(place, place / "workspace")) for work in SNAPSHOTS[name])
    return killing.kill_at_points(given, place, act, check)


if __name__ == "__main__":
    assert _store
    assert _numpy
    sys.exit(main())
