"""Kill a copy before one of its system calls, and look at what is left.

    python tests/curation/transfer/copying_crash_points.py sqlite|markdown FOLDER [--points N]

Without --points every system call is tried. Ends with code 1 where the source changed, where doing it again does not
finish it or brings anything twice, or where undoing does not leave the target as it was.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

# Everything is imported before the first fork: what a child imports would count as its system calls.
import numpy as _numpy
from copying_world import EVERYTHING, install_in, opened, stored
from support import kill_points, killing
from support.small_store import blob, make

from zeroclaw_tui.backends.sqlite import store as _store
from zeroclaw_tui.curation import changes
from zeroclaw_tui.curation.transfer.copy import copy_memories, open_target

MEMORIES = 40
PLACES = {"sqlite": "new.db", "markdown": "notes"}


def make_place(folder: Path) -> None:
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
    """What the target holds, in any order."""
    if backend == "sqlite":
        return sorted(map(repr, stored(folder / "new.db")))
    files = (folder / "notes").rglob("*.md")
    return sorted(f"{file.name} {line}" for file in files for line in file.read_text().splitlines() if line[:2] == "- ")


async def act(folder: Path, backend: str) -> None:
    async with opened(folder) as library:
        target = await open_target(library, backend, str(folder / PLACES[backend]), "0.7.5", environ={})
        kill_points.mark()
        await copy_memories(library, target, EVERYTHING, "skip")
        kill_points.mark()
        await target.close()


async def check(folder: Path, backend: str, before: list[object], source: list[object], done: list[object]) -> None:
    assert stored(folder / "zc" / "workspace" / "memory" / "brain.db") == source, "the source changed"
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
    assert state(folder, backend) == before, "undoing did not leave what was there"


def main() -> int:
    given = killing.arguments(PLACES)
    # Always at one place: the trash knows a store by where it is.
    copy = given.folder / "copy"
    make_place(copy)
    before, source = state(copy, given.action), stored(copy / "zc" / "workspace" / "memory" / "brain.db")
    done: list[object] = []
    return killing.kill_at_points(
        given,
        copy,
        lambda: act(copy, given.action),
        lambda: check(copy, given.action, before, list(source), done),
        when_done=lambda: done.extend(state(copy, given.action)),
    )


if __name__ == "__main__":
    assert _store
    assert _numpy
    sys.exit(main())
