"""Hygiene of a user who may not write everywhere."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hygiene_world import STATE, Place, place_at, row
from support.config_folder import NOBODY, in_child

from zeroclaw_tui.curation.changes import undo
from zeroclaw_tui.curation.hygiene.plan import plan_hygiene, run_hygiene

OLD = "2026-01-01T00:00:00+00:00"


@pytest.fixture
def shared() -> Iterator[Path]:
    """A folder that every user can reach."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o777)
        yield Path(name)


def _as_another_user(place: Place, queue: Any) -> None:
    async def looked() -> None:
        async with place.opened() as library:
            await plan_hygiene(library, place.now)

    async def ran() -> tuple[Any, ...]:
        async with place.opened() as library:
            outcome = await run_hygiene(library, await plan_hygiene(library, place.now))
            done = outcome.count, outcome.notes, sorted(place.tree()), place.keys()
            await undo(library)
            return done

    # Whatever is imported on use is imported as a user who may read it.
    asyncio.run(looked())
    in_child(lambda: asyncio.run(ran()), queue)


def test_an_archive_that_may_not_be_written_costs_its_files_and_the_rest_is_done(shared: Path) -> None:
    place = place_at(shared, "0.8.4", [row("talk", "conversation", OLD)])
    for name in ("memory/2026-03-01.md", "memory/2026-03-02.md", "sessions/2026-03-01.log"):
        place.write(name)
    archive = place.write("memory/archive/2026-01-01.md").parent
    for path in [shared, *shared.rglob("*")]:
        os.chown(path, NOBODY, NOBODY)
    archive.chmod(0o555)
    os.chown(archive, os.getuid(), os.getgid())
    before, rows = place.tree(), place.rows()
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    child = context.Process(target=_as_another_user, args=(place, queue))
    child.start()
    count, notes, left, keys = queue.get(timeout=60)
    child.join()
    assert (count, keys) == (2, [])
    assert left == [
        "memory/2026-03-01.md",
        "memory/2026-03-02.md",
        "memory/archive/2026-01-01.md",
        "sessions/archive/2026-03-01.log",
    ]
    assert len(notes) == 4
    assert all("Permission denied" in note for note in notes[:3])
    assert STATE.split("/")[1] in notes[3]
    assert (place.tree(), place.rows()) == (before, rows)
