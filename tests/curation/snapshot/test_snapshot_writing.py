"""Writing the snapshot next to a store, comparing it, and taking that back."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest
from support import small_store
from support.installs import make_install

from zeroclaw_tui.curation import changes
from zeroclaw_tui.curation import snapshot as snapshots
from zeroclaw_tui.curation.formats.snapshot import NAME, SIDE_CAR, load, read_snapshot
from zeroclaw_tui.curation.snapshot import compare, place_of, plan_snapshot, write_snapshot
from zeroclaw_tui.memory.change import Conflicts
from zeroclaw_tui.memory.errors import Refused


async def test_memories_of_one_moment_are_in_the_order_sqlite_gives_zeroclaw(tmp_path):
    """ZeroClaw's own statement orders by the moment only, in descending text order."""
    moments = ("2026-03-01T10:00:00+00:00", "2026-03-01T09:59:59.999999999+00:00", "2026-03-01T10:00:00+01:00")
    rows = [{"key": f"k{at}", "content": f"c{at}", "updated_at": moments[at % 3]} for at in range(3000)]
    install = make_install(tmp_path / "zc", "G1", rows)
    async with install.opened() as library:
        await write_snapshot(library)
    with closing(sqlite3.connect(install.database)) as connection:
        found = connection.execute("SELECT key FROM memories WHERE category = 'core' ORDER BY updated_at DESC")
        assert [read.key for read in read_snapshot((install.root / NAME).read_text()).rows] == [key for (key,) in found]


async def test_a_snapshot_zeroclaw_wrote_since_stays_when_ours_is_undone(library):
    """ZeroClaw writes it again at each start."""
    file = place_of(library.config)
    await write_snapshot(library)
    file.write_text("### 🔑 `lang`\n\nwritten by the agent since\n")
    with pytest.raises(Conflicts, match=f"{NAME} changed since"):
        await changes.undo(library)
    await changes.undo(library, on_conflict="skip")
    assert "written by the agent since" in file.read_text()


async def test_without_core_memories_nothing_is_written(tmp_path):
    install = make_install(tmp_path / "zc", "G2", [{"category": "daily"}])
    install.write(NAME, "### 🔑 `k`\n\nan earlier snapshot\n")
    async with install.opened() as library:
        with pytest.raises(Refused, match="no core memories"):
            await write_snapshot(library)
    assert "an earlier snapshot" in (install.root / NAME).read_text()


async def test_a_lone_store_a_read_only_one_and_other_backends_are_refused(tmp_path):
    install = make_install(tmp_path / "zc", "G2", [{}])
    lone = small_store.make(tmp_path / "lone.db", "G2", [{}])
    async with install.opened(location=str(lone)) as library:
        with pytest.raises(Refused, match="lone store"):
            await plan_snapshot(library)
    async with install.opened(read_only=True) as library:
        assert (await plan_snapshot(library)).count == 1
        with pytest.raises(Refused, match="read-only"):
            await write_snapshot(library)
    async with install.opened(backend="markdown") as library:
        with pytest.raises(Refused, match="only for the backends sqlite and lucid"):
            await plan_snapshot(library)


async def test_too_many_vectors_are_left_out_with_a_note(library, monkeypatch):
    monkeypatch.setattr(snapshots, "MAX_VECTOR_BYTES", 4)
    assert not (await plan_snapshot(library)).has_vectors
    outcome = await write_snapshot(library)
    assert "reindex" in outcome.notes[0]
    assert all(row.values.get("embedding") is None for row in load(place_of(library.config)).rows)


@pytest.mark.parametrize("keeps_copy", [True, False])
async def test_right_after_it_was_written_store_and_snapshot_are_the_same(library, keeps_copy):
    """Also through ZeroClaw's format, which trims contents and makes entries of lines that look like them."""
    await write_snapshot(library)
    file = place_of(library.config)
    if not keeps_copy:
        file.with_name(SIDE_CAR).unlink()
    found = await compare(library, load(file))
    assert {difference.where for difference in found} == {"same"}
    assert (await plan_snapshot(library)).lossy == ("hard",)


async def test_a_contradicting_lossless_copy_is_not_used(library):
    await write_snapshot(library)
    file = place_of(library.config)
    file.write_text(file.read_text().replace("User prefers Rust", "User prefers Haskell"))
    loaded = load(file)
    assert "has other memories and is not used" in loaded.notes[0]
    assert "User prefers Haskell" in [row.values["content"] for row in loaded.rows]
    file.with_name(SIDE_CAR).write_bytes(b'{"zeroclaw_memories":1}\n{"broken')
    loaded = load(file)
    assert "is not used: Line 2 is not JSON" in loaded.notes[0]
