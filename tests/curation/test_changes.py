"""Changes with conflicts (a key exists again, a store stops answering), and purge plans."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from journal_world import World
from support import small_store
from support.libraries import (
    Library,
    Outcome,
    PurgePlan,
    edit_memory,
    plan_purge,
    redo,
    remove_memories,
    restore,
    store_memory,
    superseded_sentence,
    undo,
)
from support.marks import plan_of_marked
from support.memories import Draft, Edit, NotReachable, Row, RowChange, RowVersion, UndoConflicts, Value
from support.opened import opened
from support.questions import MemoryFilter
from support.stores import row_with_id

from zeroclaw_tui.curation.traces.copies import contents_of, find_copies

MANY = 700


async def stored(world: World, key: str, content: str = "text") -> Row:
    outcome = await store_memory(world.library, Draft(key, content))
    assert outcome.row is not None
    return outcome.row


async def edited(world: World, row: Row, content: str) -> Row:
    outcome = await edit_memory(world.library, row.id, Edit({"content": content}), row.fingerprint)
    assert outcome.row is not None
    return outcome.row


async def deleted(world: World, *ids: str, verb: Any = "purge") -> Outcome:
    outcome = await remove_memories(world.library, await plan_of_marked(world.library, ids), verb)
    assert outcome.count == len(ids)
    return outcome


async def undone(world: World) -> str:
    """Undo and return the verb of the reversed action."""
    outcome = await undo(world.library)
    assert outcome.reversed_action.open == 0
    return outcome.reversed_action.verb


async def contents(world: World) -> list[Value]:
    return [row.values["content"] for row in (await world.rows()).values()]


async def test_a_memory_replaced_by_a_restore_is_a_separate_action(world):
    old = await stored(world, "lang", "old")
    await deleted(world, old.id)
    (number,) = await world.trash.numbers()
    new = await stored(world, "lang", "new")
    with pytest.raises(UndoConflicts, match=r"'lang' \(id .*the key exists again"):
        await restore(world.library, [number])
    assert await world.trash.numbers() == [number]
    assert [action.verb for action in await world.trash.actions()] == ["store", "purge", "store"]
    await restore(world.library, [number], on_conflict="overwrite")
    assert await contents(world) == ["old"]
    assert (await world.trash.actions())[0].summary == "replaced by restore of change 2"
    assert (await redo(world.library)).count == 1
    assert await undone(world) == "restore"
    assert await contents(world) == ["new"]
    await restore(world.library, [number], on_conflict="rename")
    assert sorted(str(row.values["key"]) for row in (await world.rows()).values()) == ["lang", "lang (restored)"]
    await redo(world.library, number=2)
    assert list(await world.rows()) == [new.id]


async def test_a_permanent_deletion_removes_every_byte_of_the_text(world):
    row = await stored(world, "lang", "a SECRETWORD to forget " + "SECRETWORD " * 3000)
    kept = await stored(world, "other", "this stays")
    await edited(world, row, "SECRETWORD two")
    await deleted(world, kept.id)
    assert b"SECRETWORD" in world.bytes_of_trash()
    plan = await plan_of_marked(world.library, [row.id])
    with closing(sqlite3.connect(world.trash.file)) as reader:
        reader.execute("SELECT count(*) FROM actions").fetchall()
        outcome = await remove_memories(world.library, plan, "forget", forever=True)
        assert (outcome.count, outcome.action) == (1, None)
        assert b"SECRETWORD" not in world.bytes_of_trash()
    assert b"this stays" in world.bytes_of_trash()
    assert [action.verb for action in await world.trash.actions()] == ["purge", "store"]
    assert await world.rows() == {}
    assert (await undo(world.library)).count == 1


async def test_a_store_that_stops_answering_reports_how_many_changes_can_be_undone(world):
    small_store.add(world.install.database, ({"content": f"text {number}"} for number in range(MANY)))

    def fail(done):
        raise NotReachable("The server does not answer.", hint="r asks again.")

    plan = await plan_purge(world.library, MemoryFilter())
    with pytest.raises(NotReachable) as caught:
        await remove_memories(world.library, plan, "purge", on_progress=fail)
    done = MANY - await world.library.memory.count()
    assert 0 < done < MANY
    assert caught.value.hint == f"r asks again. {done:,} were changed before that. Undo reverses them."
    (action,) = await world.later().actions()
    assert action.count == done
    assert (await undo(world.library)).count == done


async def test_a_plan_has_the_selected_memories_and_counts_superseded_ones_that_stay(open_rows):
    rows = [{"id": name, "superseded_by": "a" if name == "c" else None} for name in "abcd"]
    plan = await plan_purge(await open_rows(rows), MemoryFilter())
    assert [stamp.id for stamp in plan.versions] == ["a", "b", "d"]
    assert plan.as_json() == {"superseded_hidden": 1}
    assert superseded_sentence(plan.superseded_hidden).startswith("1 superseded memory is left out; --superseded")


def version(number: int, category: str, timestamp: str = "") -> RowVersion:
    return RowVersion(f"id{number}", "key", "", category, timestamp, size=1024)


def test_a_plan_summarises_categories_ages_and_size():
    """Ages are compared as times, not as text; invalid times are left out."""
    times = ("2026-03-02T01:00:00+05:00", "2026-03-01T22:00:00+00:00", "not a time")
    some = [version(number, "core", time) for number, time in enumerate(times)]
    others = [version(number, f"kind {number}") for number in range(3, 9)]
    categories, facts = PurgePlan((*some, *others)).sentences()
    assert categories == "core 3 · kind 3 1 · kind 4 1 · kind 5 1 · 3 of other categories (3)"
    assert facts == "oldest 2026-03-02 · newest 2026-03-01 · 9.0 KB"


# Markdown's ids are line positions: the trash must not confuse a line with an earlier one at the same position.


LINES = ["alpha one", "bravo two", "charlie three", "delta four"]


@pytest.fixture
async def library(tmp_path):
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "MEMORY.md").write_text("# Long-Term Memory\n\n" + "".join(f"- {line}\n" for line in LINES))
    async with opened({"HOME": str(tmp_path)}, backend="markdown", location=str(notes)) as library:
        yield library


async def _forget(library: Library, id: str, *, forever: bool = False) -> int | None:
    outcome = await remove_memories(library, await plan_of_marked(library, [id]), "forget", forever=forever)
    return outcome.action.number if outcome.action else None


async def _in_trash(library: Library) -> list[str]:
    rows, _ = await library.trash.listing()
    return [row.row.entry().content for row in rows]


async def test_deleting_a_line_permanently_keeps_an_earlier_one_with_its_number(library):
    """Earlier contents of the deleted line are removed too."""
    await _forget(library, "MEMORY:1")
    row = await row_with_id(library.memory, "MEMORY:1")
    await edit_memory(library, "MEMORY:1", Edit({"content": "charlie edited"}), row.fingerprint)
    await _forget(library, "MEMORY:1", forever=True)
    assert await _in_trash(library) == ["bravo two"]
    data = library.trash.file.read_bytes()
    assert b"charlie" not in data
    assert b"bravo two" in data


async def test_history_and_copies_of_a_line_are_not_mixed_with_other_lines(library):
    await _forget(library, "MEMORY:1")
    action = await _forget(library, "MEMORY:1")
    assert action is not None
    versions = await library.trash.history("MEMORY:1")
    assert [version.before.entry().content for version in versions if version.before] == ["charlie three"]
    copies = await find_copies(library, await contents_of(library, action))
    assert [copy.kind for copy in copies if copy.kind == "trash"] == []


def _notes(library: Library) -> Path:
    return Path(library.memory.about.location) / "MEMORY.md"


async def test_undo_restores_the_file_and_keeps_lines_appended_by_the_agent(library):
    notes = _notes(library)
    before = notes.read_bytes()
    outcome = await remove_memories(library, await plan_of_marked(library, ["MEMORY:0", "MEMORY:2"]), "purge")
    assert outcome.action.count == 2
    after = notes.read_bytes()
    notes.write_bytes(after + b"\n- **new**: by the agent\n")
    undone = await undo(library)
    assert undone.count == 2
    assert notes.read_bytes() == before + b"\n- **new**: by the agent\n"
    assert (await redo(library)).count == 2
    assert notes.read_bytes() == after + b"\n- **new**: by the agent\n"
    assert sorted(await _in_trash(library)) == ["alpha one", "charlie three"]


async def test_only_an_edit_of_the_same_line_is_a_conflict(library):
    notes = _notes(library)
    row = await row_with_id(library.memory, "MEMORY:1")
    outcome = await edit_memory(library, "MEMORY:1", Edit({"content": "bravo edited"}), row.fingerprint)
    assert outcome.action is not None
    notes.write_bytes(notes.read_bytes().replace(b"delta four", b"delta by hand").replace(b"- alpha one\n", b""))
    await undo(library)
    assert notes.read_text() == "# Long-Term Memory\n\n- bravo two\n- charlie three\n- delta by hand\n"
    await redo(library)
    notes.write_bytes(notes.read_bytes().replace(b"bravo edited", b"bravo by hand"))
    with pytest.raises(UndoConflicts, match="changed since"):
        await undo(library)
    await undo(library, on_conflict="overwrite")
    assert notes.read_text() == "# Long-Term Memory\n\n- bravo two\n- charlie three\n- delta by hand\n"


async def test_one_of_several_deleted_memories_is_restored_to_its_position(library):
    before = _notes(library).read_text()
    await remove_memories(library, await plan_of_marked(library, ["MEMORY:0", "MEMORY:1", "MEMORY:2"]), "purge")
    rows, _ = await library.trash.listing("bravo")
    await restore(library, [rows[0].number])
    assert _notes(library).read_text() == "# Long-Term Memory\n\n- bravo two\n- delta four\n"
    assert sorted(await _in_trash(library)) == ["alpha one", "charlie three"]
    await restore(library, await library.trash.numbers())
    assert _notes(library).read_text() == before


@pytest.mark.parametrize("restored", [(1,), (2,), (1, 2), (0, 1, 3)])
async def test_undo_does_not_duplicate_lines_that_were_restored_alone(library, restored):
    notes = _notes(library)
    notes.write_text(before := "# Long-Term Memory\n\n" + "\n".join(f"- {line}\n" for line in LINES))
    await remove_memories(library, await plan_of_marked(library, [f"MEMORY:{at}" for at in range(4)]), "purge")
    rows, _ = await library.trash.listing()
    await restore(library, [row.number for row in rows if row.row.id in [f"MEMORY:{at}" for at in restored]])
    await undo(library)
    assert [line for line in notes.read_text().split("\n") if line] == [line for line in before.split("\n") if line]


async def test_a_file_with_the_first_memory_is_gone_after_undo_redo_and_undo(library):
    notes = _notes(library)
    notes.unlink()
    await store_memory(library, Draft("lang", "Rust"))
    stored = notes.read_bytes()
    await undo(library)
    await redo(library)
    assert notes.read_bytes() == stored
    await undo(library)
    assert not notes.exists()


async def test_a_change_of_an_earlier_version_is_undone_line_by_line(library):
    """Earlier versions stored only the lines, with hashes of three neighbours on each side."""
    notes = _notes(library)
    before = notes.read_text()
    rows = [await row_with_id(library.memory, f"MEMORY:{number}") for number in range(4)]
    context = {"old_above": [_hash("alpha one"), _hash("")], "old_below": [_hash("charlie three"), ""]}
    action = await library.trash.begin("purge", "deleted two memories")
    bravo, delta = rows[1], rows[3]
    action.record(
        [
            RowChange(replace(bravo, values={**bravo.values, "file_context": json.dumps(context)}), None),
            RowChange(replace(delta, values={**delta.values, "file_context": "{}"}), None),
        ]
    )
    notes.write_text("# Long-Term Memory\n\n- alpha one\n- charlie three\n")
    await action.finish()
    await undo(library)
    assert notes.read_text() == before


def _hash(line: str) -> str:
    return hashlib.sha256(f"- {line}".encode() if line else b"").hexdigest()[:12]
