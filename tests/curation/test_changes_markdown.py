"""Markdown's ids are places in a file: the trash must never take one line for another that stood there before."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import pytest
from support.marks import plan_of_marked
from support.opened import opened

from zeroclaw_tui.backends.lookup import row_with_id
from zeroclaw_tui.curation.changes import edit_memory, redo, remove_memories, restore, undo
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.traces.copies import contents_of, find_copies
from zeroclaw_tui.memory.change import Conflicts, Edit, RowChange

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


async def test_deleting_one_line_permanently_spares_another_that_had_its_number(library):
    """What grew into that very line goes with it."""
    await _forget(library, "MEMORY:1")
    row = await row_with_id(library.memory, "MEMORY:1")
    await edit_memory(library, "MEMORY:1", Edit({"content": "charlie edited"}), row.fingerprint)
    await _forget(library, "MEMORY:1", forever=True)
    assert await _in_trash(library) == ["bravo two"]
    data = library.trash.file.read_bytes()
    assert b"charlie" not in data
    assert b"bravo two" in data


async def test_the_history_and_the_copies_of_a_line_are_its_own(library):
    await _forget(library, "MEMORY:1")
    action = await _forget(library, "MEMORY:1")
    assert action is not None
    versions = await library.trash.history("MEMORY:1")
    assert [version.before.entry().content for version in versions if version.before] == ["charlie three"]
    copies = await find_copies(library, await contents_of(library, action))
    assert [copy.kind for copy in copies if copy.kind == "trash"] == []


def _notes(library: Library) -> Path:
    return Path(library.memory.about.location) / "MEMORY.md"


async def test_an_undo_brings_back_the_file_and_keeps_what_the_agent_appended(library):
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


async def test_an_edit_elsewhere_is_no_conflict_and_one_of_the_same_line_is(library):
    notes = _notes(library)
    row = await row_with_id(library.memory, "MEMORY:1")
    outcome = await edit_memory(library, "MEMORY:1", Edit({"content": "bravo edited"}), row.fingerprint)
    assert outcome.action is not None
    notes.write_bytes(notes.read_bytes().replace(b"delta four", b"delta by hand").replace(b"- alpha one\n", b""))
    await undo(library)
    assert notes.read_text() == "# Long-Term Memory\n\n- bravo two\n- charlie three\n- delta by hand\n"
    await redo(library)
    notes.write_bytes(notes.read_bytes().replace(b"bravo edited", b"bravo by hand"))
    with pytest.raises(Conflicts, match="changed since"):
        await undo(library)
    await undo(library, on_conflict="overwrite")
    assert notes.read_text() == "# Long-Term Memory\n\n- bravo two\n- charlie three\n- delta by hand\n"


async def test_one_of_several_deleted_memories_is_restored_to_its_place(library):
    before = _notes(library).read_text()
    await remove_memories(library, await plan_of_marked(library, ["MEMORY:0", "MEMORY:1", "MEMORY:2"]), "purge")
    rows, _ = await library.trash.listing("bravo")
    await restore(library, [rows[0].number])
    assert _notes(library).read_text() == "# Long-Term Memory\n\n- bravo two\n- delta four\n"
    assert sorted(await _in_trash(library)) == ["alpha one", "charlie three"]
    await restore(library, await library.trash.numbers())
    assert _notes(library).read_text() == before


async def test_a_change_of_an_earlier_version_is_undone_line_by_line(library):
    """Earlier versions kept the lines alone, with hashes of three neighbours on each side."""
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
