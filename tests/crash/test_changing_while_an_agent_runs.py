"""Edits and purges while an agent writes a hundred rows per second: no write is lost on either side, nothing locks."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support import small_store
from support.libraries import Library, plan_purge
from support.memories import Draft, Edit, EditConflict
from support.opened import opened
from support.questions import MemoryFilter, Superseded
from support.stores import row_with_id

from zeroclaw_tui.curation import changes
from zeroclaw_tui.testing.tools import entries_of

WRITER = Path(__file__).with_name("agent_writer.py")
COUNTER = "id-counter"
OURS = "ours"


class Agent:
    """The writing process and its committed writes so far."""

    def __init__(self, database: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(WRITER), str(database)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def stop(self) -> tuple[dict[str, str], int]:
        """Stop the agent; return the last content of each of its keys, and its number of increments."""
        message, failed = self._process.communicate()
        assert message.endswith("done\n"), failed
        words = [line.split(" ", 2) for line in message.splitlines()]
        return {
            key: content for what, key, content in (w for w in words if len(w) == 3) if what == "row"
        }, message.count("count\n")


async def _count_up(library: Library) -> None:
    """Increment the shared counter; on a conflict, read it again and retry."""
    while True:
        row = await row_with_id(library.memory, COUNTER)
        assert row is not None
        more = Edit({"content": str(int(str(row.values["content"])) + 1)})
        try:
            await changes.edit_memory(library, COUNTER, more, row.fingerprint)
        except EditConflict:
            continue
        return


async def _work(library: Library, seconds: float) -> int:
    """Count, store, edit, purge our and the agent's rows, undo; return our number of increments."""
    until, rounds = time.monotonic() + seconds, 0
    while time.monotonic() < until or rounds < 3:
        await _count_up(library)
        for at in range(5):
            await changes.store_memory(library, Draft(f"{OURS}-{rounds}-{at}", f"round {rounds}", OURS))
        await changes.remove_memories(
            library, await plan_purge(library, MemoryFilter(contains=f"{OURS}-{rounds}-")), "purge"
        )
        await changes.undo(library)
        if rounds % 10 == 5:
            await changes.remove_memories(library, await plan_purge(library, MemoryFilter(contains="agent-1")), "purge")
        rounds += 1
    return rounds


async def _both_sides(folder: Path, seconds: float) -> None:
    database = folder / "data" / "memory" / "brain.db"
    database.parent.mkdir(parents=True)
    (folder / "config.toml").write_text('schema_version = 3\n[memory]\nbackend = "sqlite"\n')
    rows = [{"id": COUNTER, "key": "shared-counter", "content": "0"}, *({"content": f"text {at}"} for at in range(300))]
    small_store.make(database, "G4", rows)
    async with opened({"HOME": str(folder)}, config_dir=folder) as library:
        agent = Agent(database)
        try:
            ours = await _work(library, seconds)
        finally:
            written, theirs = await asyncio.to_thread(agent.stop)
        here = {
            entry.key: entry for entry in (await entries_of(library.memory, MemoryFilter(superseded=Superseded.SHOW)))
        }
        trashed, _ = await library.trash.listing(limit=1_000_000)
    purged = {(found.row.entry().key, found.row.entry().content) for found in trashed}
    assert here["shared-counter"].content == str(ours + theirs)
    assert [key for key, last in written.items() if not _is_stored(key, last, here, purged)] == []
    assert sum(key.startswith(OURS) for key in here) == ours * 5
    assert written


def _is_stored(key: str, last: str, here: dict, purged: set[tuple[str, str]]) -> bool:
    return (key in here and here[key].content == last) or (key not in here and (key, last) in purged)


async def test_no_write_is_lost_on_either_side_within_a_few_seconds(tmp_path: Path) -> None:
    """The shared counter has every increment, and the agent's last contents are all in the store or the trash."""
    await _both_sides(tmp_path / "install", 3)


@pytest.mark.slow
async def test_no_write_is_lost_on_either_side_within_two_minutes(tmp_path: Path) -> None:
    """Long enough for the agent's rows to be purged several times."""
    await _both_sides(tmp_path / "install", 120)
