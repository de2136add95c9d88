"""Writing: first the database, then the program; the memory is stored whatever the program does."""

from __future__ import annotations

import pytest
from support.lucid_program import write_program, write_saying
from support.memories import Draft, Refused
from support.questions import ROWS, Query
from support.recalls import recalled
from support.stores import entry_with_id, row_with_id, sentences, versions_at

from zeroclaw_tui.testing.tools import JournalRecorder, create, delete, edit, undo

KEEPS = "Lucid keeps its own copy: its program has no command to delete."
CONTEXT = "<lucid-context>\n- [decision] theirs\n</lucid-context>\n"


@pytest.mark.parametrize(
    ("category", "kind"),
    [("core", "decision"), ("Daily", "context"), ("conversation", "conversation"), ("recipes", "learning")],
)
async def test_a_new_memory_is_passed_to_lucid(bridge, tmp_path, category, kind):
    """It is passed after it is stored, as one argument, with lucid's own type."""
    program = write_program(tmp_path / "bin")
    memory = await bridge(program)
    written = await create(memory, Draft("tea", "green = good\n'x' $HOME", category))
    assert written.notes == []
    assert program.calls == [
        ["store", "tea: green = good\n'x' $HOME", f"--type={kind}", f"--project={tmp_path}/workspace"]
    ]
    assert program.contents == ["tea: green = good\n'x' $HOME"]


@pytest.mark.parametrize("mode", ["failing", "missing"])
async def test_a_failing_program_adds_a_note_and_the_memory_is_stored(bridge, tmp_path, mode):
    """A failure while storing causes no pause: lucid runs again, as in ZeroClaw."""
    program = write_program(tmp_path / "bin", "failing") if mode == "failing" else None
    memory = await bridge(program)
    for number in range(2):
        written = await create(memory, Draft(f"tea{number}", "green"))
        assert written.notes[0].startswith("Stored here, but not in lucid: ")
    assert await memory.count() == 2
    assert program is None or len(program.calls) == 2


async def test_notes_name_the_changes_that_lucid_does_not_receive(bridge, tmp_path):
    """The note appears before an edit or deletion is confirmed and in the notice; undo does not run lucid either."""
    program = write_program(tmp_path / "bin")
    memory = await bridge(program, [{"key": "tea", "content": "green"}])
    (stamp,) = await versions_at(memory, [1])
    row = await row_with_id(memory, stamp.id)
    edited = await edit(memory, row, {"content": "black"})
    assert edited.notes == [KEEPS]
    journal = JournalRecorder()
    removal = await delete(memory, await versions_at(memory, [1]), journal)
    assert (removal.written, removal.notes) == (1, [KEEPS])
    assert (await delete(memory, [stamp])).notes == []
    reversal = await undo(memory, journal.changes)
    assert reversal.done == 1
    assert any(
        "deletions, edits, undo, imports and copies are not passed on" in notice
        for notice in sentences(memory.about.notices)
    )
    assert memory.why_not["zeroclaw_forget"] == KEEPS
    assert program.calls == []


async def test_lucids_own_memories_cannot_be_changed(bridge, tmp_path):
    """Marking them is refused with the reason; rows of the database can be marked."""
    memory = await bridge(write_saying(tmp_path / "bin", CONTEXT), [{"key": "tea", "content": "theirs not"}])
    found = await recalled(memory, "tea", "0.7.5")
    local, lucid = (row.entry for row in found.entries)
    with pytest.raises(Refused, match=r"lucid's own.*no command"):
        await versions_at(memory, [lucid.handle])
    assert [stamp.id for stamp in await versions_at(memory, [lucid.handle, local.handle])] == [local.id]
    assert [row.id for row in (await memory.rows(Query(ROWS, handles=[lucid.handle, local.handle])))] == [local.id]
    assert await entry_with_id(memory, lucid.id) is None
