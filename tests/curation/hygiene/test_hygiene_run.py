"""Running hygiene by hand, and taking it back."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from hygiene_world import NOW, STATE, Place, row
from support.racing import after_recording

from zeroclaw_tui.backends.lookup import row_with_id
from zeroclaw_tui.curation import external
from zeroclaw_tui.curation.changes import edit_memory, foresee, redo, undo
from zeroclaw_tui.curation.hygiene.plan import HygienePlan, plan_hygiene, run_hygiene
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.memory.change import ApplyResult, Conflicts, Edit
from zeroclaw_tui.memory.errors import Refused, UsageError

Make = Callable[..., Place]
OLD = "2026-01-01T00:00:00+00:00"
ROWS = [row("talk", "conversation", OLD), row("talk2", "conversation", OLD), row("fact", "core", OLD)]


@pytest.fixture
def place(make_place: Make) -> Place:
    """Two old rows, a note to archive, one to delete, a session of each kind, two old audit entries of three."""
    made = make_place("0.8.4", ROWS)
    made.write("memory/2026-03-01.md", b"to be archived\n", day="2026-03-02", mode=0o640)
    made.write("memory/archive/2026-01-01.md", b"to be deleted\n", day="2026-01-02", mode=0o600)
    made.write("memory/2026-01-03.md", b"both\n", day="2026-01-03", mode=0o444)
    made.write("sessions/old.jsonl", b"{}\n", day="2026-03-05")
    made.write("memory/notes.md", b"stays\n")
    made.make_audit([OLD, "2026-03-19T00:00:00+00:00", OLD])
    return made


async def plan_of(library: Library) -> HygienePlan:
    return await plan_hygiene(library, NOW)


def report(place: Place) -> dict[str, int]:
    counts: dict[str, int] = json.loads((place.root / STATE).read_bytes())["last_report"]
    return counts


async def test_everything_goes_and_everything_comes_back(place: Place) -> None:
    before, rows, entries = place.tree(), place.rows(), place.entries()
    async with place.opened() as library:
        outcome = await run_hygiene(library, await plan_of(library))
        assert (outcome.count, outcome.notes, outcome.cancelled) == (8, (), False)
        assert outcome.action is not None
        assert (outcome.action.verb, outcome.action.summary) == (
            "hygiene",
            "hygiene: 2 memories, 4 files, 2 audit entries",
        )
        here = place.tree()
        assert sorted(here) == sorted(
            ["memory/archive/2026-03-01.md", "sessions/archive/old.jsonl", "memory/notes.md", STATE]
        )
        assert here["memory/archive/2026-03-01.md"] == before["memory/2026-03-01.md"]
        assert place.keys() == ["fact"]
        assert [entry[0] for entry in place.entries()] == [2]
        assert list(report(place).values()) == [2, 1, 2, 0, 2, 0, 0]
        listed, _ = await library.trash.listing()
        assert {found.row.id for found in listed} == {"id-talk", "id-talk2"}
        assert stat.S_IMODE(os.stat(library.trash.file).st_mode) == 0o600
        again = await plan_of(library)
        assert again.items == ()
        assert again.state.by_us
        undone = await undo(library)
        assert (undone.count, undone.notes) == (8, ())
        assert await library.trash.last() is None
        assert not (await plan_of(library)).state.by_us
        assert (place.tree(), place.rows(), place.entries()) == (before, rows, entries)
        assert (await redo(library)).count == 8
        redone = place.tree()
        assert {name: facts[0] for name, facts in redone.items()} == {name: facts[0] for name, facts in here.items()}
        assert (await undo(library)).count == 8
    assert (place.tree(), place.rows(), place.entries()) == (before, rows, entries)


async def test_an_earlier_state_file_comes_back_with_its_time_and_mode(place: Place) -> None:
    place.write(STATE, b"{}", day="2026-03-01", mode=0o600)
    before = place.tree()
    async with place.opened() as library:
        await run_hygiene(library, await plan_of(library))
        assert report(place)["pruned_conversation_rows"] == 2
        await undo(library)
    assert place.tree() == before


async def test_what_is_left_out_stays_and_is_not_counted(place: Place) -> None:
    without = {"row:id-talk", "file:memory/2026-03-01.md", "file:memory/2026-01-03.md", "audit:1"}
    async with place.opened() as library:
        outcome = await run_hygiene(library, await plan_of(library), without=without)
    assert outcome.count == 4
    assert place.keys() == ["talk", "fact"]
    assert {"memory/2026-03-01.md", "memory/2026-01-03.md"} < place.tree().keys()
    assert [entry[0] for entry in place.entries()] == [1, 2]
    assert list(report(place).values()) == [0, 1, 1, 0, 1, 0, 0]


async def test_with_nothing_to_do_only_the_moment_is_noted_and_can_be_undone(make_place: Make) -> None:
    place = make_place("0.1.7")
    async with place.opened() as library:
        outcome = await run_hygiene(library, await plan_of(library))
        assert outcome.count == 0
        assert outcome.action is not None
        assert json.loads((place.root / STATE).read_bytes())["last_run_at"].startswith("2026-03-20T12:00:00")
        await undo(library)
    assert not (place.root / STATE).exists()


async def test_a_moment_to_come_and_a_read_only_store_can_only_be_looked_at(place: Place) -> None:
    async with place.opened(read_only=True) as library:
        plan = await plan_of(library)
        with pytest.raises(Refused):
            await run_hygiene(library, plan)
    async with place.opened() as library:
        plan = await plan_hygiene(library, NOW + timedelta(days=1))
        assert plan.items
        with pytest.raises(UsageError, match="as of now"):
            await run_hygiene(library, plan)
    assert place.keys() == ["talk", "talk2", "fact"]
    assert not (place.root / STATE).exists()


async def test_what_vanished_or_changed_since_is_told_and_the_rest_goes_on(place: Place) -> None:
    async with place.opened() as library:
        plan = await plan_of(library)
        (place.root / "memory" / "2026-03-01.md").unlink()
        place.write("sessions/old.jsonl", b"written again\n", day="2026-03-19")
        changed = await row_with_id(library.memory, "id-talk")
        assert changed is not None
        await edit_memory(library, "id-talk", Edit({"content": "something new"}), changed.fingerprint)
        outcome = await run_hygiene(library, plan)
    assert outcome.gone == ("file:memory/2026-03-01.md",)
    assert set(outcome.changed) == {"file:sessions/old.jsonl", "row:id-talk"}
    assert "memory/2026-03-01.md no longer exists." in outcome.notes
    assert "talk changed after the plan was made and was left alone." in outcome.notes
    assert "memory_hygiene_state.json was not written" in outcome.notes[-1]
    assert outcome.count == 5
    assert place.keys() == ["talk", "fact"]
    assert not (place.root / STATE).exists()


async def test_what_vanished_alone_does_not_keep_the_state_from_being_written(place: Place) -> None:
    async with place.opened() as library:
        plan = await plan_of(library)
        (place.root / "memory" / "2026-03-01.md").unlink()
        outcome = await run_hygiene(library, plan)
    assert (outcome.count, len(outcome.gone)) == (7, 1)
    assert report(place)["archived_memory_files"] == 1


async def test_a_name_taken_in_the_archive_since_the_plan_is_gone_around(place: Place) -> None:
    async with place.opened() as library:
        plan = await plan_of(library)
        place.write("memory/archive/2026-03-01.md", b"theirs\n")
        await run_hygiene(library, plan)
    assert place.tree()["memory/archive/2026-03-01_1.md"][0] == b"to be archived\n"
    assert place.tree()["memory/archive/2026-03-01.md"][0] == b"theirs\n"


async def test_a_file_that_changes_while_it_is_archived_stays_and_its_old_content_is_in_the_archive(
    make_place: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = make_place("0.8.4")
    note = place.write("memory/2026-03-01.md", b"a\n")
    async with place.opened() as library:
        plan = await plan_of(library)
        with monkeypatch.context() as patched:
            after_recording(patched, lambda: note.write_bytes(b"a\nappended\n"))
            outcome = await run_hygiene(library, plan)
        assert (outcome.count, outcome.changed) == (0, ("file:memory/2026-03-01.md",))
        assert {name: data for name, (data, _, _) in place.tree().items()} == {
            "memory/2026-03-01.md": b"a\nappended\n", "memory/archive/2026-03-01.md": b"a\n",
        }  # fmt: skip
        await undo(library)
    assert place.tree().keys() == {"memory/2026-03-01.md"}


async def test_an_archive_folder_that_takes_no_files_costs_its_files_only(place: Place) -> None:
    """A plain file in place of the folder, since the tests may run as root."""
    (place.root / "sessions" / "archive").write_bytes(b"")
    async with place.opened() as library:
        outcome = await run_hygiene(library, await plan_of(library))
        assert outcome.count == 7
        assert any("sessions/old.jsonl was left" in note and "cannot be written" in note for note in outcome.notes)
        assert "tries the rest" in outcome.notes[-1]
        assert not (place.root / STATE).exists()
        await undo(library)
    assert place.keys() == ["talk", "talk2", "fact"]
    assert (place.root / "sessions" / "old.jsonl").read_bytes() == b"{}\n"


async def test_a_file_too_large_to_be_kept_stays(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(external, "LARGEST_FILE", 13)
    async with place.opened() as library:
        outcome = await run_hygiene(library, await plan_of(library))
    assert any("memory/archive/2026-01-01.md was left" in note and "too large" in note for note in outcome.notes)
    assert {"memory/2026-03-01.md", "memory/archive/2026-01-01.md"} < place.tree().keys()


async def test_a_link_is_left_alone(place: Place) -> None:
    (place.root / "memory" / "2026-02-01.md").symlink_to("notes.md")
    async with place.opened() as library:
        outcome = await run_hygiene(library, await plan_of(library))
    assert any("2026-02-01.md was left" in note and "is a link" in note for note in outcome.notes)
    assert (place.root / "memory" / "2026-02-01.md").is_symlink()


@pytest.mark.parametrize("after", [1, 4, 6])
async def test_a_run_that_is_stopped_can_be_undone_and_finished(place: Place, after: int) -> None:
    before, rows, entries = place.tree(), place.rows(), place.entries()
    async with place.opened() as library:
        outcome = await run_hygiene(library, await plan_of(library), on_progress=lambda done: done < after)
        assert outcome.cancelled
        assert 0 < outcome.count < 8
        assert "since the run was stopped" in outcome.notes[-1]
        assert not (place.root / STATE).exists()
        await undo(library)
        assert (place.tree(), place.rows(), place.entries()) == (before, rows, entries)
        await run_hygiene(library, await plan_of(library), on_progress=lambda done: done < after)
        await run_hygiene(library, await plan_of(library))
        assert (await plan_of(library)).items == ()


async def _foreseen(library: Library) -> ApplyResult:
    """What an undo of the last change is said to do."""
    last = await library.trash.last()
    assert last is not None
    return await foresee(library, await library.trash.numbers_to_turn(last.number, "undo"))


async def test_undo_leaves_a_state_that_zeroclaw_wrote_since(place: Place) -> None:
    before = place.tree()
    async with place.opened() as library:
        await run_hygiene(library, await plan_of(library))
        (place.root / STATE).write_bytes(b"theirs")
        foreseen = await _foreseen(library)
        undone = await undo(library)
    assert "Another program has written" in undone.notes[0]
    assert (foreseen.notes, foreseen.conflict_count) == (undone.notes, 0)
    here = place.tree()
    assert here.pop(STATE)[0] == b"theirs"
    assert here == before


async def test_undo_of_a_move_whose_name_is_taken_refuses_then_replaces_or_goes_beside(place: Place) -> None:
    async with place.opened() as library:
        await run_hygiene(library, await plan_of(library))
        place.write("memory/2026-03-01.md", b"written since\n")
        foreseen = await _foreseen(library)
        (found,) = foreseen.conflicts
        assert (foreseen.written, foreseen.conflict_count, "2026-03-01.md" in found.words) == (0, 1, True)
        with pytest.raises(Conflicts, match=r"2026-03-01\.md"):
            await undo(library)
        assert place.keys() == ["fact"], "a refusal did half of it"
        undone = await undo(library, on_conflict="rename")
    assert any("next to it as 2026-03-01.md.restored-1" in note for note in undone.notes)
    here = place.tree()
    assert here["memory/2026-03-01.md"][0] == b"written since\n"
    assert here["memory/2026-03-01.md.restored-1"][0] == b"to be archived\n"


async def test_undo_of_a_move_over_what_took_its_name_keeps_that_first(place: Place) -> None:
    async with place.opened() as library:
        await run_hygiene(library, await plan_of(library))
        place.write("memory/2026-03-01.md", b"written since\n")
        await undo(library, on_conflict="overwrite")
        assert place.tree()["memory/2026-03-01.md"][0] == b"to be archived\n"
        assert (await undo(library)).count == 1
    assert place.tree()["memory/2026-03-01.md"][0] == b"written since\n"


@pytest.mark.parametrize("on_conflict", ["skip", "rename"])
async def test_undo_of_a_move_leaves_a_file_that_was_edited_in_the_archive(place: Place, on_conflict: Any) -> None:
    async with place.opened() as library:
        await run_hygiene(library, await plan_of(library))
        place.write("memory/archive/2026-03-01.md", b"edited in the archive\n")
        with pytest.raises(Conflicts):
            await undo(library)
        undone = await undo(library, on_conflict=on_conflict)
    assert place.tree()["memory/2026-03-01.md"][0] == b"to be archived\n"
    assert place.tree()["memory/archive/2026-03-01.md"][0] == b"edited in the archive\n"
    assert any("archive/2026-03-01.md changed since. It was skipped." in note for note in undone.notes)


async def test_undo_of_a_move_restores_a_file_that_is_gone_from_the_archive(place: Place) -> None:
    async with place.opened() as library:
        await run_hygiene(library, await plan_of(library))
        (place.root / "memory" / "archive" / "2026-03-01.md").unlink()
        await undo(library)
    assert place.tree()["memory/2026-03-01.md"][0] == b"to be archived\n"


async def test_undo_where_the_audit_log_is_gone_says_so(place: Place) -> None:
    async with place.opened() as library:
        await run_hygiene(library, await plan_of(library))
        for file in (place.root / "memory").glob("audit.db*"):
            file.unlink()
        foreseen = await _foreseen(library)
        undone = await undo(library)
    assert any("audit.db no longer exists" in note for note in undone.notes)
    assert foreseen.notes == undone.notes
    assert not (place.root / "memory" / "audit.db").exists()


async def test_a_run_after_other_changes_is_undone_one_by_one(place: Place) -> None:
    before, rows = place.tree(), place.rows()
    async with place.opened() as library:
        fact = await row_with_id(library.memory, "id-fact")
        assert fact is not None
        await run_hygiene(library, await plan_of(library))
        await edit_memory(library, "id-fact", Edit({"content": "new"}), fact.fingerprint)
        await undo(library)
        await undo(library)
    assert (place.tree(), place.rows()) == (before, rows)


async def test_files_are_cared_for_whatever_the_backend(make_place: Make) -> None:
    place = make_place("0.7.5", backend="markdown")
    place.write("memory/2026-03-01.md", b"- **a**: b\n", day="2026-03-01")
    before = place.tree()
    async with place.opened() as library:
        outcome = await run_hygiene(library, await plan_of(library))
        assert (outcome.count, outcome.notes) == (1, ())
        assert set(place.tree()) == {"memory/archive/2026-03-01.md", STATE}
        await undo(library)
    assert place.tree() == before
