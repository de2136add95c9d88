"""Importing a snapshot into a store, which is made first where there is none, and comparing the two."""

from __future__ import annotations

import pytest
from snapshot_samples import real_snapshot, really_hydrated, rows_in
from support.installs import Install, make_install

from zeroclaw_tui.backends.lookup import entries_with_key
from zeroclaw_tui.curation import changes
from zeroclaw_tui.curation.formats.snapshot import NAME, load
from zeroclaw_tui.curation.outcome import Outcome
from zeroclaw_tui.curation.snapshot import place_of, plan_hydrate
from zeroclaw_tui.curation.transfer.imports import import_memories
from zeroclaw_tui.curation.transfer.target import Target
from zeroclaw_tui.memory.errors import InspectorError, Refused

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
    """The database of an install without one, made of the snapshot in its place."""
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


async def test_new_memories_become_core_with_the_dates_of_the_file(library, hand_made):
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


async def test_a_store_that_is_not_sqlite_is_refused(tmp_path, hand_made):
    async with make_install(tmp_path / "zc", "G2").opened(backend="markdown") as notes:
        with pytest.raises(Refused, match="hydrates only"):
            await plan_hydrate(Target.of(notes), hand_made)


async def test_a_real_snapshot_becomes_a_store_of_what_zeroclaw_hydrates(tmp_path):
    """But one that opens, with the dates of the file, and with a keyword index in step."""
    install = make_install(tmp_path / "zc", None)
    file = install.write(NAME, real_snapshot("0.1.7"))
    assert (await _made(install, "0.1.7")).count == 679
    assert sorted(rows_in(install.database, ("key", "content"))) == sorted(really_hydrated("0.1.7"))
    dates = {(found.key, found.values["created_at"], found.values["updated_at"]) for found in load(file).rows}
    assert set(rows_in(install.database, ("key", "created_at", "updated_at"))) == dates
    async with install.opened() as library:
        again = await plan_hydrate(Target.of(library), file)
        assert (again.new, again.same, again.taken) == (0, 679, 0)
        await changes.undo(library)
        assert await library.memory.count() == 0


async def test_a_log_without_its_database_is_not_touched(tmp_path):
    install = make_install(tmp_path / "zc", None)
    install.write(NAME, HAND_MADE)
    log = install.write("memory/brain.db-wal", b"writes")
    with pytest.raises(InspectorError):
        await _made(install)
    assert [path.name for path in log.parent.iterdir()] == ["brain.db-wal"]
