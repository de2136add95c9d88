"""The room of changes as a person uses it: looking, undoing, redoing, restoring, deleting for good."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from changes_samples import NOW, Sample, chat_rows, hostile_rows, named_rows, row, row_id
from support.marks import plan_of_marked
from support.rooms import RoomApp
from support.screens import WIDE, said, screen_lines, screen_text, screen_words
from support.settling import press, running, settled

from zeroclaw_tui.backends.lookup import row_with_id
from zeroclaw_tui.curation import changes
from zeroclaw_tui.memory.change import Draft, Edit, RowChange
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.tui.rooms.changes import ChangesRoom
from zeroclaw_tui.tui.view import Pace

STILL = Pace(debounce=0.0, poll=None)


def room(sample: Sample, memory: MemoryEntry | None = None) -> RoomApp:
    async def made() -> ChangesRoom:
        return ChangesRoom(sample.library, sample.clock, STILL, memory)

    return RoomApp(made)


async def delete(sample: Sample, *ids: str, verb: Any = "forget") -> None:
    """Delete as the list does it."""
    await changes.remove_memories(sample.library, await plan_of_marked(sample.library, ids), verb)


async def edited(sample: Sample, id: str, **values: Any) -> None:
    stored = await row_with_id(sample.memory, id)
    assert stored is not None
    await changes.edit_memory(sample.library, id, Edit(values), stored.fingerprint)


async def busy(sample: Sample) -> None:
    """Twelve memories, one of them edited, all of them purged, and another one stored since, over three days."""
    sample.clock.moment = NOW - timedelta(days=3)
    for one in chat_rows(12):
        sample.memory.add(one.entry())
    await edited(sample, row_id(1000), content="Asked about bread.\nAnd butter.")
    sample.clock.moment = NOW - timedelta(days=1)
    await delete(sample, *[one.id for one in chat_rows(12)], verb="purge")
    sample.clock.moment = NOW - timedelta(hours=2)
    await changes.store_memory(sample.library, Draft("tz", "Timezone is EST"))
    sample.clock.moment = NOW


async def count(sample: Sample) -> int:
    return len(await sample.memory.list())


async def test_a_room_without_changes_says_what_would_fill_it(sample: Sample) -> None:
    async with running(room(sample)) as (app, pilot):
        assert "No changes yet. Edits (e), new memories (n) and deletions (d) appear here." in screen_words(app)
        await press(pilot, "u", "U", "enter", "t")
        assert "The trash is empty. Press d in the list of memories to delete one." in screen_words(app)
        await press(pilot, "escape", "escape")
    assert app.given == [False]
    assert not sample.trash.file.exists()


async def test_every_change_is_a_line_the_newest_first_and_a_purge_is_one(sample: Sample) -> None:
    await busy(sample)
    async with running(room(sample), WIDE) as (app, pilot):
        lines = [" ".join(line[:86].split()) for line in screen_lines(app)]
        assert lines[1] == "3 changes · newest first"
        assert [line for line in lines if "stored tz" in line or "deleted 12" in line or "edited" in line] == [
            "▌2 h stored tz 1",
            "1 d deleted 12 memories 12",
            "3 d edited user_msg_0000 (content) 1",
        ]
        await press(pilot, "j")
        assert "12 rows" in screen_words(app)
        assert "- user_msg_0003 Asked about topic 3." in screen_words(app)
        await press(pilot, "j")
        assert "- Asked about topic 0. + Asked about bread. + And butter." in screen_words(app)


async def test_u_undoes_exactly_the_change_under_the_cursor_and_capital_u_redoes_it(sample: Sample) -> None:
    await busy(sample)
    async with running(room(sample)) as (app, pilot):
        await press(pilot, "j", "u")
        assert "Undid: deleted 12 memories." in screen_words(app)
        assert await count(sample) == 13
        assert "deleted 12 memories 12 undone" in screen_words(app)
        await press(pilot, "u")
        assert "Already undone. Press U to redo." in said(pilot.app)
        assert await count(sample) == 13
        await press(pilot, "U")
        assert "Redid: deleted 12 memories." in screen_words(app)
        assert await count(sample) == 1
        await press(pilot, "U")
        assert "Not undone, so there is nothing to redo." in said(pilot.app)
        await press(pilot, "escape")
    assert app.given == [True]


async def test_enter_opens_the_rows_of_a_change_and_enter_restores_one(sample: Sample) -> None:
    """A double click opens it too."""
    await busy(sample)
    async with running(room(sample)) as (app, pilot):
        await pilot.click("#list", offset=(12, 2), times=2)
        await settled(pilot)
        assert "deleted 12 memories · yesterday 12:00" in screen_words(app)
        await press(pilot, "escape", "enter", "enter", "j", "enter")
        assert "Restored user_msg_0001." in screen_words(app)
        assert "deleted 12 memories · yesterday 12:00 · 2 of 12 undone" in screen_words(app)
        assert {one.key for one in await sample.memory.list()} == {"tz", "user_msg_0000", "user_msg_0001"}
        await press(pilot, "enter")
        assert "Only a deleted memory is restored by itself." in said(pilot.app)
        await press(pilot, "G", "u")
        assert "Undo the whole change: deleted 12 memories?" in screen_words(app)
        await press(pilot, "n", "escape")
        assert await count(sample) == 3
        assert "deleted 12 memories 12 2 of 12 undone" in screen_words(app)


async def test_the_trash_is_emptied_only_when_its_number_is_typed(sample: Sample) -> None:
    await busy(sample)
    async with running(room(sample)) as (app, pilot):
        for number, left in ("11", 12), ("12", 0):
            assert isinstance(app.screen, ChangesRoom)
            await app.screen.run_command("empty")
            await settled(pilot)
            await press(pilot, f"={number}", "enter", "escape")
            assert len(await sample.trash.numbers()) == left
        assert "12 memories are deleted permanently." in said(app)


@pytest.mark.parametrize(
    ("answer", "contents", "said"),
    [
        ("n", ["new"], ""),
        ("o", ["old"], "Restored fav_food."),
        ("b", ["new", "old"], "Restored fav_food. fav_food is now"),
    ],
    ids=["leave", "overwrite", "beside"],
)
async def test_a_key_that_exists_again_is_asked_about(
    sample: Sample, answer: str, contents: list[str], said: str
) -> None:
    await sample.deleted([row(1, "fav_food", "old")], timedelta(hours=1))
    await sample.memory.store("fav_food", "new", "core")
    async with running(room(sample)) as (app, pilot):
        await press(pilot, "t", "enter")
        words = screen_words(app)
        assert "fav_food cannot be restored as it was. Its key is in use again." in words
        assert "to restore fav_food old" in words
        assert "in the store fav_food new" in words
        await press(pilot, answer)
        assert said in screen_words(app)
        assert sorted(one.content for one in await sample.memory.list()) == contents
        await press(pilot, "escape", "escape")
    assert app.given == [bool(said)]


async def test_of_thousands_of_rows_the_first_are_there(sample: Sample) -> None:
    await sample.deleted(chat_rows(3000), timedelta(days=2), "purge", "deleted 3,000 memories")
    async with running(room(sample)) as (app, pilot):
        await press(pilot, "enter", "G")
        assert "the first 1,000" in screen_words(app)
        assert "user_msg_0999" in screen_words(app)
        await press(pilot, "escape", "t")
        assert "3,000 memories in the trash · the first 1,000" in screen_words(app)


async def test_what_writes_is_off_in_a_store_that_is_only_read(sample: Sample) -> None:
    await sample.deleted(named_rows(), timedelta(hours=1), "purge")
    sample.memory.why_not = {**sample.memory.why_not, "write": "It was opened with --read-only."}
    async with running(room(sample)) as (app, pilot):
        assert "It was opened with --read-only." in screen_words(app)
        await press(pilot, "u", "U", "t", "enter")
        assert [note.message for note in app._notifications] == ["It was opened with --read-only."] * 3
        assert await count(sample) == 0
        assert len(await sample.trash.numbers()) == 5


async def test_an_unreadable_trash_is_reported_and_r_tries_again(sample: Sample) -> None:
    await busy(sample)
    there = sample.trash.file.read_bytes()
    for file in sample.install.own_dir.glob("trash.db-*"):
        file.unlink()
    sample.trash.file.write_bytes(b"no database" * 1000)
    async with running(room(sample)) as (app, pilot):
        assert "✗" in screen_words(app)
        assert "trash.db" in screen_words(app)
        sample.trash.file.write_bytes(there)
        await press(pilot, "r")
        assert "✗" not in screen_words(app)
        assert "stored tz" in screen_words(app)


async def test_hostile_memories_steer_nothing(sample: Sample) -> None:
    await sample.deleted(hostile_rows(), timedelta(hours=1), "purge")
    before = row(1, "[/foo]", "a\x1b[31m [bold]b[/] \x07\n\u202ec\u202c", category="[/x]\x1b]0;t\x07")
    after = row(1, "[/foo]", "a\x9b2J \udc80 [@click=app.bell()]x[/]", category="core")
    await sample.journaled("edit", [RowChange(before, after)], timedelta(days=2), "edited [/foo]\x1b[31m")
    async with running(room(sample), WIDE) as (app, pilot):
        seen = screen_text(app)
        for keys in (("j",), ("enter",), ("escape", "k", "enter"), *[("j",)] * len(hostile_rows()), ("escape", "t")):
            await press(pilot, *keys)
            seen += screen_text(app)
        assert not {"\x1b", "\x07", "\x9b", "\u202e", "\udc80"} & set(seen)
        assert "- a␛[31m [bold]b[/] ␇" in seen
        assert "[@click=app.bell()]" in seen


async def lived(sample: Sample) -> MemoryEntry:
    """A memory that was stored by the agent, edited twice and deleted, over four days, as it was first."""
    sample.clock.moment = NOW - timedelta(days=5)
    await sample.memory.store("fav_food", "Likes ramen.\nAnd soup.", "core")
    (entry,) = await sample.memory.list()
    sample.clock.moment = NOW - timedelta(days=4)
    await edited(sample, entry.id, content="Likes soba.\nAnd soup.", category="daily")
    sample.clock.moment = NOW - timedelta(days=2)
    await edited(sample, entry.id, key="food")
    sample.clock.moment = NOW - timedelta(hours=3)
    await delete(sample, entry.id)
    sample.clock.moment = NOW
    return entry


async def test_of_one_memory_every_step_is_listed_with_its_lines_and_fields(sample: Sample) -> None:
    async with running(room(sample, await lived(sample)), WIDE) as (app, pilot):
        lines = [line[:80].split() for line in screen_lines(app)]
        assert ["▌3", "h", "-", "deleted", "food"] in [line[:5] for line in lines]
        assert ["2", "d", "~", "edited", "fav_food"] in [line[:5] for line in lines]
        assert "3 changes of fav_food" in screen_words(app)
        assert "only changes made with this program" in screen_words(app)
        await press(pilot, "G")
        words = screen_words(app)
        assert "category core → daily" in words
        assert "- Likes ramen. + Likes soba." in words
        assert "- And soup." not in words
        await press(pilot, "k")
        assert "key fav_food → food" in screen_words(app)
