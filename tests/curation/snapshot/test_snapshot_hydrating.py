"""Bringing memories of a snapshot into a store that is in use."""

from __future__ import annotations

from pathlib import Path

import pytest
from snapshot_samples import make_install, opened, rows_in
from support import small_store

from zeroclaw_tui.backends.lookup import entries_with_key, row_with_id
from zeroclaw_tui.curation import changes
from zeroclaw_tui.curation.formats.snapshot import SIDE_CAR
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.snapshot.hydrate import hydrate, plan_hydrate
from zeroclaw_tui.curation.snapshot.snapshot import place_of, write_snapshot
from zeroclaw_tui.curation.transfer.reconcile import OnClash
from zeroclaw_tui.memory.change import Conflicts, Edit
from zeroclaw_tui.memory.errors import NotFound, Refused

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


def _database(library: Library) -> Path:
    return library.config.database


async def _brought(library: Library, file: Path, on_conflict: OnClash = "skip") -> int:
    outcome = await hydrate(library, await plan_hydrate(library, file), on_conflict)
    return outcome.count


@pytest.fixture
def hand_made(tmp_path: Path) -> Path:
    file = tmp_path / "made.md"
    file.write_text(HAND_MADE)
    return file


async def test_new_ones_come_in_as_core_with_the_dates_of_the_file_as_the_plan_tells(
    library: Library, hand_made: Path
) -> None:
    """Where these are dates; else it is now, which is told."""
    plan = await plan_hydrate(library, hand_made)
    assert [found.key for found in plan.new] == ["tea"]
    assert [(there.content, here.content) for there, here in zip(plan.conflicts, plan.here, strict=True)] == [
        ("User prefers Haskell", "User prefers Rust")
    ]
    assert plan.same == 0
    assert "no id, session" in plan.notes[0]
    assert any("cannot be read" in note and "(1 memory)" in note for note in plan.notes)
    assert await _brought(library, hand_made) == 1
    (tea,) = await entries_with_key(library.memory, "tea")
    assert (tea.content, tea.category, tea.session_id) == ("Green tea at four", "core", None)
    assert tea.timestamp > "2026"
    again = await plan_hydrate(library, hand_made)
    assert (again.new, again.same) == ((), 1)
    assert not any("cannot be read" in note for note in again.notes)
    (lang,) = await entries_with_key(library.memory, "lang")
    assert lang.content == "User prefers Rust"
    found = await library.memory.recall("green tea", 3)
    assert [scored.entry.key for scored in found] == ["tea"]


async def test_a_conflict_is_overwritten_when_asked_and_keeps_what_the_file_does_not_say(
    library: Library, hand_made: Path
) -> None:
    before = await row_with_id(library.memory, "id-000")
    await _brought(library, hand_made, "overwrite")
    after = await row_with_id(library.memory, "id-000")
    assert before is not None
    assert after is not None
    changed = {name for name, value in after.values.items() if before.values[name] != value}
    assert changed == {"content", "created_at", "updated_at"}
    assert after.values["content"] == "User prefers Haskell"
    assert after.values["created_at"] == "2025-01-01T10:00:00+00:00"
    assert after.values["updated_at"] == "2025-01-02T10:00:00.123456789+01:00"
    assert after.handle == before.handle


@pytest.mark.parametrize("on_conflict", ["skip", "overwrite", "rename"])
async def test_one_undo_takes_all_of_it_back_and_doing_it_twice_adds_nothing(
    library: Library, hand_made: Path, on_conflict: OnClash
) -> None:
    before = rows_in(_database(library))
    await _brought(library, hand_made, on_conflict)
    first = rows_in(_database(library))
    assert first != before
    assert await _brought(library, hand_made, on_conflict) == 0
    assert rows_in(_database(library)) == first
    await changes.undo(library)
    assert rows_in(_database(library)) == before


@pytest.mark.parametrize("keeps_copy", [True, False])
async def test_a_store_has_all_of_its_own_snapshot(library: Library, keeps_copy: bool) -> None:
    """Also of what ZeroClaw's format trims, and of lines in it that look like entries."""
    await write_snapshot(library)
    if not keeps_copy:
        place_of(library.config).with_name(SIDE_CAR).unlink()
    plan = await plan_hydrate(library, place_of(library.config))
    assert (plan.new, plan.conflicts) == ((), ())
    assert plan.same >= 4


@pytest.mark.parametrize("library", ["G2", "G4"], indirect=True)
async def test_lost_memories_come_back_out_of_the_copy_with_everything(library: Library) -> None:
    """Times, session, namespace, importance, what replaced them, vector and id."""
    await write_snapshot(library)
    before = rows_in(_database(library))
    small_store.change(_database(library), "DELETE FROM memories WHERE category = 'core'")
    assert await _brought(library, place_of(library.config)) == 4
    assert rows_in(_database(library)) == before


async def test_an_id_that_is_taken_by_now_is_given_anew(library: Library) -> None:
    await write_snapshot(library)
    row = await row_with_id(library.memory, "id-001")
    assert row is not None
    await changes.edit_memory(library, "id-001", Edit({"key": "cat"}), row.fingerprint)
    plan = await plan_hydrate(library, place_of(library.config))
    assert [found.key for found in plan.new] == ["pet"]
    await hydrate(library, plan, "skip")
    assert {entry.id for entry in await entries_with_key(library.memory, "cat")} == {"id-001"}
    (pet,) = await entries_with_key(library.memory, "pet")
    assert pet.id != "id-001"


async def test_only_the_keys_picked_come_in(library: Library, hand_made: Path) -> None:
    plan = await plan_hydrate(library, hand_made, ["lang"])
    assert (len(plan.new), len(plan.conflicts)) == (0, 1)
    with pytest.raises(NotFound, match="'nothing'"):
        await plan_hydrate(library, hand_made, ["nothing"])


async def test_a_memory_changed_since_the_plan_is_not_overwritten(library: Library, hand_made: Path) -> None:
    plan = await plan_hydrate(library, hand_made, ["tea"])
    await _brought(library, hand_made)
    before = rows_in(_database(library))
    with pytest.raises(Conflicts):
        await hydrate(library, plan, "skip")
    assert rows_in(_database(library)) == before


async def test_what_an_older_schema_cannot_hold_is_said(library: Library, tmp_path: Path) -> None:
    await write_snapshot(library)
    make_install(tmp_path / "old", "G1", [])
    old = await opened(tmp_path / "old")
    plan = await plan_hydrate(old, place_of(library.config))
    told = " ".join(plan.notes)
    assert "namespace" in told
    assert "superseded_by" in told
    assert "pinned" not in told
    assert (await hydrate(old, plan, "skip")).count == 4
    (pet,) = await entries_with_key(old.memory, "pet")
    assert (pet.session_id, pet.embedding_dimensions) == ("tg_1", 2)
    await old.close()


async def test_vectors_of_another_model_are_left_out(library: Library, tmp_path: Path) -> None:
    await write_snapshot(library)
    root = make_install(tmp_path / "other", "G2", [])
    config = root.parent / "config.toml"
    config.write_text(
        f"{config.read_text()}embedding_provider = 'custom:http://127.0.0.1:1'\nembedding_dimensions = 3\n"
    )
    other = await opened(tmp_path / "other")
    plan = await plan_hydrate(other, place_of(library.config))
    assert any("do not fit" in note for note in plan.notes)
    await hydrate(other, plan, "skip")
    (pet,) = await entries_with_key(other.memory, "pet")
    assert pet.embedding_dimensions is None
    await other.close()


async def test_an_agents_memories_go_back_to_that_agent(agents: Library) -> None:
    await write_snapshot(agents)
    before = rows_in(_database(agents))
    small_store.change(_database(agents), "DELETE FROM memories WHERE key = 'lang'")
    plan = await plan_hydrate(agents, place_of(agents.config))
    assert {(found.agent, found.content) for found in plan.new} == {
        ("default", "Rust, says default"), ("writer", "Rust, says writer"),
    }  # fmt: skip
    await hydrate(agents, plan, "skip")
    assert rows_in(_database(agents)) == before


async def test_the_owner_can_be_named_and_has_to_be_known(agents: Library, hand_made: Path) -> None:
    plan = await plan_hydrate(agents, hand_made, agent="writer")
    assert [here.content for here in plan.here] == ["Rust, says writer"]
    await hydrate(agents, plan, "overwrite")
    owners = {(entry.agent, entry.content) for entry in await entries_with_key(agents.memory, "lang")}
    assert owners == {("default", "Rust, says default"), ("writer", "User prefers Haskell")}
    assert {entry.agent for entry in await entries_with_key(agents.memory, "tea")} == {"writer"}
    with pytest.raises(Refused, match="no agent 'nobody'"):
        await plan_hydrate(agents, hand_made, agent="nobody")


async def test_sessions_are_stored_as_zeroclaw_from_0_8_on_stores_them(agents: Library, tmp_path: Path) -> None:
    export = tmp_path / "export.jsonl"
    export.write_text('{"key": "k", "content": "c", "session_id": "tg/1 x"}\n')
    await _brought(agents, export)
    (found,) = await entries_with_key(agents.memory, "k")
    assert found.session_id == "tg_1_x"


async def test_a_store_that_is_not_sqlite_is_refused(tmp_path: Path, hand_made: Path) -> None:
    make_install(tmp_path / "zc", "G2", [])
    notes = await opened(tmp_path / "zc", backend="markdown")
    with pytest.raises(Refused, match="hydrates only SQLite"):
        await plan_hydrate(notes, hand_made)
    await notes.close()


async def test_what_another_program_changes_while_it_comes_in_is_said(library: Library, hand_made: Path) -> None:
    """The store is read again when all is written."""
    plan = await plan_hydrate(library, hand_made)

    def agent_writes(done: int) -> bool:
        if done == 1:
            small_store.change(_database(library), "UPDATE memories SET content = 'of the agent' WHERE key = 'tea'")
        return True

    outcome = await hydrate(library, plan, "skip", agent_writes)
    assert outcome.count == 1
    assert any("1 memory is not found" in note and "tea" in note for note in outcome.notes)


async def test_of_several_with_one_key_in_a_file_the_first_comes_in(library: Library, tmp_path: Path) -> None:
    """And how many are left out is said, of whatever kind the file is."""
    export, edited = tmp_path / "export.jsonl", tmp_path / "edited.md"
    export.write_text('{"key": "k", "content": "first"}\n{"key": "k", "content": "second", "agent": "x"}\n')
    edited.write_text("### 🔑 `k`\n\nfirst\n\n---\n\n### 🔑 `k`\n\nsecond\n")
    for file in (edited, export):
        plan = await plan_hydrate(library, file)
        assert [found.content for found in plan.new] == ["first"]
        assert any("the first is taken: 1 left out" in note for note in plan.notes)
    assert (await hydrate(library, plan, "skip")).count == 1


async def test_whose_memory_is_meant_is_said_where_several_agents_have_its_key(agents: Library, tmp_path: Path) -> None:
    (edited := tmp_path / "edited.md").write_text("### 🔑 `lang`\n\nGo\n\n---\n\n### 🔑 `pen`\n\nRed ink\n")
    plan = await plan_hydrate(agents, edited)
    assert [here.agent for here in plan.here] == ["default", "default"]
    (told,) = [note for note in plan.notes if note.startswith("Several agents")]
    assert "have lang," in told
    assert "that of default" in told
    plan = await plan_hydrate(agents, edited, agent="writer")
    assert not any(note.startswith("Several agents") for note in plan.notes)
