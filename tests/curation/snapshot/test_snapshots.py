"""Snapshots: written next to a store, compared with it, and imported into an existing or new one."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest
from snapshot_samples import real_snapshot, recorded_hydration, rows_in
from support import small_store
from support.installs import Install, make_install
from support.libraries import Outcome
from support.memories import InspectorError, Refused, UndoConflicts
from support.small_store import blob
from support.stores import entries_with_key

from zeroclaw_tui.curation import changes
from zeroclaw_tui.curation import snapshot as snapshots
from zeroclaw_tui.curation.formats.snapshot import NAME, SIDE_CAR, load, read_snapshot
from zeroclaw_tui.curation.snapshot import compare, place_of, plan_hydrate, plan_snapshot, write_snapshot
from zeroclaw_tui.curation.transfer.imports import import_memories
from zeroclaw_tui.curation.transfer.plan import Target

ROWS = (
    {"key": "lang", "content": "User prefers Rust", "updated_at": "2026-03-02T10:00:00.000000001+00:00"},
    {"key": "pet", "content": "Cat named Mio", "session_id": "tg_1", "embedding": blob(0.5, 0.25)},
    {"key": "hard", "content": "above\n---\n### 🔑 `bogus`\nbelow\r\nend "},
    {"key": "day", "content": "Met Ana", "category": "daily"},
    {"key": "old", "content": "User prefers C", "superseded_by": "lang", "importance": 0.9, "namespace": "work"},
)


@pytest.fixture
async def library(request, tmp_path):
    """Four core memories, one of them superseded, and one daily memory."""
    install = make_install(tmp_path / "zc", getattr(request, "param", "G4"), ROWS)
    async with install.opened() as library:
        yield library


async def test_memories_of_the_same_time_have_the_order_that_sqlite_gives_zeroclaw(tmp_path):
    """ZeroClaw's own statement orders by time only, in descending text order."""
    moments = ("2026-03-01T10:00:00+00:00", "2026-03-01T09:59:59.999999999+00:00", "2026-03-01T10:00:00+01:00")
    rows = [{"key": f"k{at}", "content": f"c{at}", "updated_at": moments[at % 3]} for at in range(3000)]
    install = make_install(tmp_path / "zc", "G1", rows)
    async with install.opened() as library:
        await write_snapshot(library)
    with closing(sqlite3.connect(install.database)) as connection:
        found = connection.execute("SELECT key FROM memories WHERE category = 'core' ORDER BY updated_at DESC")
        assert [read.key for read in read_snapshot((install.root / NAME).read_text()).rows] == [key for (key,) in found]


async def test_undo_keeps_a_snapshot_that_zeroclaw_wrote_later(library):
    """ZeroClaw rewrites the snapshot at each start."""
    file = place_of(library.config)
    await write_snapshot(library)
    file.write_text("### 🔑 `lang`\n\nwritten by the agent since\n")
    with pytest.raises(UndoConflicts, match=f"{NAME} changed since"):
        await changes.undo(library)
    await changes.undo(library, on_conflict="skip")
    assert "written by the agent since" in file.read_text()


async def test_a_snapshot_needs_core_memories_and_a_store_of_an_install(tmp_path):
    empty = make_install(tmp_path / "empty", "G2", [{"category": "daily"}])
    empty.write(NAME, "### 🔑 `k`\n\nan earlier snapshot\n")
    async with empty.opened() as library:
        with pytest.raises(Refused, match="no core memories"):
            await write_snapshot(library)
    assert "an earlier snapshot" in (empty.root / NAME).read_text()
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
        with pytest.raises(Refused, match="hydrates only"):
            await plan_hydrate(Target.of(library), install.root / NAME)


async def test_too_many_vectors_are_left_out_with_a_note(library, monkeypatch):
    monkeypatch.setattr(snapshots, "MAX_VECTOR_BYTES", 4)
    assert not (await plan_snapshot(library)).has_vectors
    outcome = await write_snapshot(library)
    assert "reindex" in outcome.notes[0]
    assert all(row.values.get("embedding") is None for row in load(place_of(library.config)).rows)


async def test_store_and_snapshot_compare_equal_without_the_lossless_copy(library):
    """ZeroClaw's format trims contents and reads lines that look like entries as entries."""
    await write_snapshot(library)
    file = place_of(library.config)
    file.with_name(SIDE_CAR).unlink()
    found = await compare(library, load(file))
    assert {difference.where for difference in found} == {"same"}
    assert (await plan_snapshot(library)).lossy == ("hard",)


async def test_a_contradicting_lossless_copy_is_not_used(library):
    await write_snapshot(library)
    file = place_of(library.config)
    file.write_text(file.read_text().replace("User prefers Rust", "User prefers Haskell"))
    loaded = load(file)
    assert "is not used: It has other memories" in loaded.notes[0]
    assert "User prefers Haskell" in [row.values["content"] for row in loaded.rows]
    file.with_name(SIDE_CAR).write_bytes(b'{"zeroclaw_memories":1}\n{"broken')
    loaded = load(file)
    assert "is not used: Line 2 is not JSON" in loaded.notes[0]


# Importing


HAND_MADE = """# 🧠 ZeroClaw Memory Snapshot

### 🔑 `lang`

User prefers Haskell

*Created: 2025-01-01T10:00:00Z | Updated: 2025-01-02T10:00:00.123456789+01:00*

---

### 🔑 `tea`

Green tea at four

*Created: 2025-01-15 | Updated: yesterday*

---
"""


async def _made(install: Install, version: str | None = None) -> Outcome:
    """Create the database of an install from the snapshot in its folder."""
    target = await Target.at(install.config(), version)
    try:
        return await import_memories(target, await plan_hydrate(target, place_of(install.config())), "skip")
    finally:
        await target.close()


@pytest.fixture
def hand_made(tmp_path):
    file = tmp_path / "made.md"
    file.write_text(HAND_MADE)
    return file


async def test_imported_memories_are_core_with_the_dates_of_the_file(library, hand_made):
    plan = await plan_hydrate(Target.of(library), hand_made)
    assert (plan.new, plan.same, plan.taken, plan.samples) == (1, 0, 1, ("lang",))
    assert any("no id, session" in note for note in plan.notes)
    assert any("times that cannot be read (1)" in note for note in plan.notes)
    assert (await import_memories(Target.of(library), plan, "skip")).count == 1
    (tea,) = await entries_with_key(library.memory, "tea")
    assert (tea.content, tea.category, tea.timestamp[:10]) == ("Green tea at four", "core", "2025-01-15")
    (lang,) = await entries_with_key(library.memory, "lang")
    assert lang.content == "User prefers Rust"
    assert [scored.entry.key for scored in await library.memory.recall("green tea", 3)] == ["tea"]


async def test_a_real_snapshot_becomes_a_store_with_the_memories_zeroclaw_hydrates(tmp_path):
    """Unlike ZeroClaw's, the store opens, with the dates of the file and a complete keyword index."""
    install = make_install(tmp_path / "zc", None)
    file = install.write(NAME, real_snapshot("0.1.7"))
    assert (await _made(install, "0.1.7")).count == 679
    assert sorted(rows_in(install.database, ("key", "content"))) == sorted(recorded_hydration("0.1.7", tmp_path))
    dates = {(found.key, found.values["created_at"], found.values["updated_at"]) for found in load(file).rows}
    assert set(rows_in(install.database, ("key", "created_at", "updated_at"))) == dates
    async with install.opened() as library:
        again = await plan_hydrate(Target.of(library), file)
        assert (again.new, again.same, again.taken) == (0, 679, 0)
        await changes.undo(library)
        assert await library.memory.count() == 0


async def test_a_log_without_its_database_is_left_unchanged(tmp_path):
    install = make_install(tmp_path / "zc", None)
    install.write(NAME, HAND_MADE)
    log = install.write("memory/brain.db-wal", b"writes")
    with pytest.raises(InspectorError):
        await _made(install)
    assert [path.name for path in log.parent.iterdir()] == ["brain.db-wal"]
