"""Kill an erasure before one of its writes, and check what is left.

    python tests/crash/erase_crash_points.py erase FOLDER [--points N]

Without --points every write is tried. Exits with code 1 if a memory without the text is missing or changed,
SQLite finds damage, or a second erasure leaves a byte of the text.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "curation" / "traces"))

import erase_samples
from crash_points import with_library
from erase_samples import OTHERS, STAYING, TEXT, Layout, bytes_left, rows, words_left
from support import kill_points, killing

# Everything is imported before the first fork: imports in a child would count as its system calls.
from zeroclaw_tui.backends.sqlite import store as _store
from zeroclaw_tui.curation import changes
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.outcome import plan_purge
from zeroclaw_tui.curation.traces.erase import erase_texts, plan_erase
from zeroclaw_tui.curation.traces.matcher import TextMatcher
from zeroclaw_tui.memory.query import MemoryFilter

RESULT = "nothing else lost, none left when done again"
LAYOUT = Layout(state="in the log")


async def delete_one(library: Library) -> None:
    """Put one memory with the text into the trash first."""
    plan = await plan_purge(library, MemoryFilter(contains="a key"))
    await changes.remove_memories(library, plan, "purge")


async def do_erase(library: Library) -> None:
    plan = await plan_erase(library, TextMatcher([TEXT]))
    kill_points.mark()
    await erase_texts(library, plan)
    kill_points.mark()


async def check_erase(library: Library, folder: Path) -> None:
    """Check that every other memory is unchanged and that a second erasure completes the work."""
    contents = contents_of(folder)
    assert [content for content in contents if content in OTHERS] == list(OTHERS), "another memory is missing"
    plan = await plan_erase(library, TextMatcher([TEXT]))
    report = await erase_texts(library, plan)
    left = {one.place for one in report.left}
    kinds = {one.kind for one in report.left}
    assert kinds == STAYING, report.sentences()
    assert contents_of(folder) == list(OTHERS), "the second erasure removed too much or too little"
    still = {str(folder / hit.rpartition(": ")[0]) for hit in bytes_left(folder)} | set(words_left(folder))
    assert still <= left, "bytes or words of the text are left in unreported places"


def contents_of(folder: Path) -> list[str]:
    return rows(folder / "data" / "memory" / "brain.db", "SELECT content FROM memories ORDER BY rowid")


def main() -> int:
    given = killing.arguments(["erase"])
    place = given.folder / "copy"
    erase_samples.plant(place, LAYOUT)
    killing.in_child(lambda: with_library(place, delete_one))
    return killing.kill_at_points(
        given,
        place,
        lambda: with_library(place, do_erase),
        lambda: with_library(place, lambda library: check_erase(library, place)),
        holds=RESULT,
    )


if __name__ == "__main__":
    assert _store
    sys.exit(main())
