"""Hostile texts through the snapshot, its lossless copy and hydration."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st
from snapshot_samples import PIECES, rows_in
from support import small_store
from support.installs import make_install

from zeroclaw_tui.curation import changes
from zeroclaw_tui.curation.formats.snapshot import SIDE_CAR, load, read_snapshot
from zeroclaw_tui.curation.snapshot import compare, place_of, plan_hydrate, write_snapshot
from zeroclaw_tui.curation.transfer.imports import import_memories
from zeroclaw_tui.curation.transfer.target import Target

_any_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
_contents = st.lists(st.sampled_from(PIECES) | _any_text, min_size=0, max_size=4).map("\n".join)
_keys = (
    st.sampled_from(("k", "key 1", "other", "", "a`b", "two\nlines", "end`\n### 🔑 `more", "é", "\x00nul")) | _any_text
)
_rows = st.lists(st.tuples(_keys, _contents), min_size=1, max_size=5, unique_by=lambda row: row[0])


async def _there_and_back(folder: Path, rows: list[dict[str, Any]]) -> None:
    install = make_install(folder, "G1", rows)
    database = install.database
    before = rows_in(database)
    async with install.opened() as library:
        await write_snapshot(library)
        file = place_of(library.config)
        assert {difference.where for difference in await compare(library, load(file))} == {"same"}
        small_store.change(database, "DELETE FROM memories")
        await _hydrate(Target.of(library), file)
        assert sorted(rows_in(database)) == sorted(before)
        await changes.undo(library)
        assert rows_in(database) == []
    # Without the copy next to it comes back what ZeroClaw itself would read.
    file.with_name(SIDE_CAR).unlink()
    for name in ("brain.db", "brain.db-wal", "brain.db-shm"):
        (database.parent / name).unlink(missing_ok=True)
    target = await Target.at(install.config(), "0.1.7")
    await _hydrate(target, file)
    await target.close()
    read = {(found.key, found.values["content"]) for found in read_snapshot(file.read_bytes().decode()).rows}
    assert (set(rows_in(database, ("key", "content"))) if database.exists() else set()) == read


async def _hydrate(target: Target, file: Path) -> None:
    await import_memories(target, await plan_hydrate(target, file), "skip")


@settings(max_examples=5, deadline=None)
@example(rows=[("k", "---\n*Created: x*\n### 🔑 `other`\r\n\x00"), ("two\nlines", "`"), ("end`\n### 🔑 `more", " \n ")])
@example(rows=[("big", "0123456789abcde\n" * 16384)])
@given(rows=_rows)
def test_every_memory_is_restored_exactly_from_the_lossless_copy(rows):
    """Into a store in use and into a new one; and without that copy, what ZeroClaw's format leaves of it."""
    with tempfile.TemporaryDirectory() as folder:
        made = [
            {"key": key, "content": content, "session_id": None if at % 2 else "s"}
            for at, (key, content) in enumerate(rows)
        ]
        asyncio.run(_there_and_back(Path(folder) / "zc", made))
