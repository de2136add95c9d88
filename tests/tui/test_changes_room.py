"""The room of changes: looking, undoing, redoing, restoring, deleting for good; copies and erasing."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from support.inspector import RoomApp, running
from support.marks import plan_of_marked
from support.screens import WIDE
from textual.widgets import Input
from tui.samples import NOW, STILL, DiskInstall, Trashed, chat_rows, hostile_memories, row

from zeroclaw_tui.backends.lookup import row_with_id
from zeroclaw_tui.curation import changes
from zeroclaw_tui.curation.changes import undo
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.traces.copies import find_copies
from zeroclaw_tui.curation.traces.search import TextPlace
from zeroclaw_tui.memory.change import Draft, Edit, Row, RowChange
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.tui.rooms.changes import ChangesRoom
from zeroclaw_tui.tui.rooms.copies import clean, erase


@pytest.fixture
def sample(tmp_path: Path) -> Trashed:
    return Trashed(tmp_path)


async def delete(sample: Trashed, *ids: str, verb: Any = "forget") -> None:
    """Delete as the list does it."""
    await changes.remove_memories(sample.library, await plan_of_marked(sample.library, ids), verb)


async def edited(sample: Trashed, id: str, **values: Any) -> None:
    stored = await row_with_id(sample.memory, id)
    await changes.edit_memory(sample.library, id, Edit(values), stored.fingerprint)


async def busy(sample: Trashed) -> None:
    """Twelve memories, one of them edited, all of them purged, and another one stored since, over three days."""
    sample.moment = NOW - timedelta(days=3)
    for one in chat_rows(12):
        sample.memory.add(one.entry())
    await edited(sample, chat_rows(1)[0].id, content="Asked about bread.\nAnd butter.")
    sample.moment = NOW - timedelta(days=1)
    await delete(sample, *[one.id for one in chat_rows(12)], verb="purge")
    sample.moment = NOW - timedelta(hours=2)
    await changes.store_memory(sample.library, Draft("tz", "Timezone is EST"))
    sample.moment = NOW


async def count(sample: Trashed) -> int:
    return len(await sample.memory.list())


async def test_every_change_is_a_line_the_newest_first_and_a_purge_is_one(sample: Trashed) -> None:
    await busy(sample)
    async with running(sample.room(), WIDE) as screen:
        lines = [" ".join(line[:86].split()) for line in screen.lines]
        assert lines[1] == "3 changes · newest first"
        assert [line for line in lines if "stored tz" in line or "deleted 12" in line or "edited" in line] == [
            "▌2 h stored tz 1",
            "1 d deleted 12 memories 12",
            "3 d edited user_msg_0000 (content) 1",
        ]
        await screen.press("j")
        screen.shows("12 rows", "- user_msg_0003 Asked about topic 3.")
        await screen.press("j")
        screen.shows("- Asked about topic 0. + Asked about bread. + And butter.")


async def test_u_undoes_exactly_the_change_under_the_cursor_and_capital_u_redoes_it(sample: Trashed) -> None:
    await busy(sample)
    async with running(sample.room()) as screen:
        await screen.press("j", "u")
        screen.shows("Undid: deleted 12 memories.")
        assert await count(sample) == 13
        screen.shows("deleted 12 memories 12 undone")
        await screen.press("u")
        screen.says("Already undone. Press U to redo.")
        assert await count(sample) == 13
        await screen.press("U")
        screen.shows("Redid: deleted 12 memories.")
        assert await count(sample) == 1
        await screen.press("U")
        screen.says("Not undone, so there is nothing to redo.")
        await screen.press("escape")
    assert screen.app.given == [True]


async def test_enter_opens_the_rows_of_a_change_and_enter_restores_one(sample: Trashed) -> None:
    """A double click opens it too."""
    await busy(sample)
    async with running(sample.room()) as screen:
        await screen.pilot.click("#list", offset=(12, 2), times=2)
        await screen.settle()
        screen.shows("deleted 12 memories · yesterday 12:00")
        await screen.press("escape", "enter", "enter", "j", "enter")
        screen.shows("Restored user_msg_0001.", "deleted 12 memories · yesterday 12:00 · 2 of 12 undone")
        assert {one.key for one in await sample.memory.list()} == {"tz", "user_msg_0000", "user_msg_0001"}
        await screen.press("enter")
        screen.says("Only a deleted memory is restored by itself.")
        await screen.press("G", "u")
        screen.shows("Undo the whole change: deleted 12 memories?")
        await screen.press("n", "escape")
        assert await count(sample) == 3
        screen.shows("deleted 12 memories 12 2 of 12 undone")


async def test_the_trash_is_emptied_only_when_its_number_is_typed(sample: Trashed) -> None:
    await busy(sample)
    async with running(sample.room()) as screen:
        for number, left in ("11", 12), ("12", 0):
            assert isinstance(screen.top, ChangesRoom)
            await screen.top.run_command("empty")
            await screen.settle()
            await screen.press(f"={number}", "enter", "escape")
            assert len(await sample.trash.numbers()) == left
        screen.says("12 memories are deleted permanently.")


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
    sample: Trashed, answer: str, contents: list[str], said: str
) -> None:
    await sample.deleted([row(1, "fav_food", "old")], timedelta(hours=1))
    await sample.memory.store("fav_food", "new", "core")
    async with running(sample.room()) as screen:
        await screen.press("t", "enter")
        screen.shows("fav_food cannot be restored as it was. Its key is in use again.", "to restore fav_food old")
        screen.shows("in the store fav_food new")
        await screen.press(answer)
        screen.shows(said)
        assert sorted(one.content for one in await sample.memory.list()) == contents
        await screen.press("escape", "escape")
    assert screen.app.given == [bool(said)]


async def test_of_thousands_of_rows_the_first_are_there(sample: Trashed) -> None:
    await sample.deleted(chat_rows(3000), timedelta(days=2), "purge", "deleted 3,000 memories")
    async with running(sample.room()) as screen:
        await screen.press("enter", "G")
        screen.shows("the first 1,000", "user_msg_0999")
        await screen.press("escape", "t")
        screen.shows("3,000 memories in the trash · the first 1,000")


async def test_an_unreadable_trash_is_reported_and_r_tries_again(sample: Trashed) -> None:
    await busy(sample)
    there = sample.trash.file.read_bytes()
    for file in sample.library.config.install.own_dir.glob("trash.db-*"):
        file.unlink()
    sample.trash.file.write_bytes(b"no database" * 1000)
    async with running(sample.room()) as screen:
        screen.shows("✗", "trash.db")
        sample.trash.file.write_bytes(there)
        await screen.press("r")
        screen.hides("✗")
        screen.shows("stored tz")


async def test_hostile_memories_steer_nothing(sample: Trashed) -> None:
    await sample.deleted([Row.of(one) for one in hostile_memories()], timedelta(hours=1), "purge")
    before = row(1, "[/foo]", "a\x1b[31m [bold]b[/] \x07\n\u202ec\u202c", category="[/x]\x1b]0;t\x07")
    after = row(1, "[/foo]", "a\x9b2J \udc80 [@click=app.bell()]x[/]", category="core")
    await sample.journaled("edit", [RowChange(before, after)], timedelta(days=2), "edited [/foo]\x1b[31m")
    async with running(sample.room(), WIDE) as screen:
        seen = screen.text
        for keys in (
            ("j",),
            ("enter",),
            ("escape", "k", "enter"),
            *[("j",)] * 10,
            ("escape", "t"),
        ):
            await screen.press(*keys)
            seen += screen.text
        assert not {"\x1b", "\x07", "\x9b", "\u202e", "\udc80"} & set(seen)
        assert "- a␛[31m [bold]b[/] ␇" in seen
        assert "[@click=app.bell()]" in seen


async def lived(sample: Trashed) -> MemoryEntry:
    """A memory that was stored by the agent, edited twice and deleted, over four days, as it was first."""
    sample.moment = NOW - timedelta(days=5)
    await sample.memory.store("fav_food", "Likes ramen.\nAnd soup.", "core")
    (entry,) = await sample.memory.list()
    sample.moment = NOW - timedelta(days=4)
    await edited(sample, entry.id, content="Likes soba.\nAnd soup.", category="daily")
    sample.moment = NOW - timedelta(days=2)
    await edited(sample, entry.id, key="food")
    sample.moment = NOW - timedelta(hours=3)
    await delete(sample, entry.id)
    sample.moment = NOW
    return entry


async def test_of_one_memory_every_step_is_listed_with_its_lines_and_fields(sample: Trashed) -> None:
    async with running(sample.room(await lived(sample)), WIDE) as screen:
        lines = [line[:80].split() for line in screen.lines]
        assert ["▌3", "h", "-", "deleted", "food"] in [line[:5] for line in lines]
        assert ["2", "d", "~", "edited", "fav_food"] in [line[:5] for line in lines]
        screen.shows("3 changes of fav_food", "only changes made with this program")
        await screen.press("G")
        screen.shows("category core → daily", "- Likes ramen. + Likes soba.")
        screen.hides("- And soup.")
        await screen.press("k")
        screen.shows("key fav_food → food")


TEXT = "Likes ramen and rust coloured plates to eat from."
FIXED = TextPlace("backup", "/srv/[/foo]\x1b[31m.bak", None, False, "A backup that [bold]changes[/] is\x07 none.")


def cleaning(sample: Trashed, copies: Sequence[TextPlace]) -> RoomApp:
    return RoomApp(work=lambda app: clean(app, sample.library, copies, STILL.patience))


def bytes_of(file: Path) -> bytes:
    return file.read_bytes()


@pytest.fixture
def archived(tmp_path: Path) -> Path:
    """An archived day that holds the text."""
    archive = tmp_path / ".zeroclaw" / "workspace" / "memory" / "archive"
    archive.mkdir(parents=True)
    file = archive / "2026-10-01.md"
    file.write_text(f"# Daily Log\n\n- {TEXT}\n- Something else.\n")
    return file


@pytest.fixture
async def found(tmp_path: Path, archived: Path) -> tuple[Trashed, list[TextPlace]]:
    """A library whose folders are real, and the copies found there."""
    sample = Trashed(tmp_path)
    copies = await find_copies(sample.library, [TEXT])
    assert [(one.kind, one.place, one.count, one.can_clean) for one in copies] == [("archive", str(archived), 1, True)]
    return sample, copies


async def test_what_can_be_cleaned_is_cleaned_after_a_yes(
    found: tuple[Trashed, list[TextPlace]], archived: Path
) -> None:
    sample, copies = found
    before = bytes_of(archived)
    async with running(cleaning(sample, [FIXED, *copies]), WIDE) as screen:
        screen.shows("The text is still in 2 places", "A backup that [bold]changes[/] is␇ none.")
        assert not {"\x1b", "\x07"} & set(screen.text)
        await screen.press("enter")
    assert screen.app.given == [None]
    assert bytes_of(archived) == before
    async with running(cleaning(sample, [FIXED, *copies]), WIDE) as screen:
        await screen.press("y")
        assert "ramen" not in bytes_of(archived).decode()
        assert "Something else." in bytes_of(archived).decode()
    assert screen.app.given == ["✓ Cleaned 1 copy. · u reverses that."]
    await undo(sample.library)
    assert bytes_of(archived) == before


async def test_where_nothing_can_be_cleaned_there_is_no_question(
    found: tuple[Trashed, list[TextPlace]], archived: Path
) -> None:
    """Nothing was found, or the store is only read."""
    sample, copies = found
    async with running(cleaning(sample, [])) as screen:
        screen.shows("No other copies were found.")
        await screen.press("y", "escape")
    sample.memory.why_not = {**sample.memory.why_not, "write": "It was opened with --read-only."}
    async with running(cleaning(sample, copies), WIDE) as screen:
        screen.shows("It was opened with --read-only.")
        await screen.press("y", "enter")
    assert screen.app.given == [None]
    assert "ramen" in bytes_of(archived).decode()


MET = MemoryEntry("id-000", "met", "I met Zebediah Q at the [bold]pier[/]", "core", "")
OTHER = MemoryEntry("id-001", "key1", "Prefers Rust for tools", "core", "")


@pytest.fixture
async def library(tmp_path: Path) -> AsyncIterator[Library]:
    """A store of two memories, and a prompt file that holds the content of one."""
    rows = [{"key": MET.key, "content": MET.content}, {"content": OTHER.content}, {"content": "Zebediah Q rang"}]
    install = DiskInstall(tmp_path, rows, generation="G4")
    install.write("USER.md", MET.content)
    opened = await install.open()
    yield opened
    await opened.close()


def erasing(library: Library, marked: Sequence[MemoryEntry], here: MemoryEntry | None = None) -> RoomApp:
    """Erases, next to marked memories or not."""
    return RoomApp(work=lambda app: erase(app, library, marked, STILL.patience, here=here))


async def contents(library: Library) -> list[str]:
    return sorted(entry.content for entry in await library.memory.list())


async def test_marked_memories_and_a_text_are_erased_after_the_word_is_typed(library: Library) -> None:
    async with running(erasing(library, [MET])) as screen:
        screen.shows("Erase 1 memory and its text from the whole install")
        screen.top.query_one(Input).value = "zebediah q"
        await screen.press("enter")
        screen.shows(
            "Found in 2 places; to be erased: 2", "2 memories will be deleted: met, key2", "This cannot be undone"
        )
        await screen.press("=no", "enter")
        screen.shows("The word does not match.")
        assert len(await contents(library)) == 3
        screen.top.query_one(Input).value = "erase"
        await screen.press("enter")
        screen.shows("Nothing is left")
        assert "zebediah" not in screen.words.lower()
        await screen.press("escape")
    report = screen.app.given[0]
    assert report.is_complete
    assert await contents(library) == [OTHER.content]


async def test_without_marks_the_current_memory_is_erased_if_no_text_is_typed(library: Library) -> None:
    async with running(erasing(library, [], OTHER)) as screen:
        screen.shows("Erase a text from the whole install", "empty to erase the memory key1 and its text")
        screen.top.query_one(Input).value = "Zebediah Q"
        await screen.press("enter")
        screen.shows("2 memories will be deleted: met, key2")
        await screen.press("escape")
    async with running(erasing(library, [], OTHER)) as screen:
        await screen.press("enter")
        screen.shows("1 memory will be deleted: key1")
        await screen.press("escape")


async def test_cancelling_any_step_changes_nothing(library: Library) -> None:
    async with running(erasing(library, []), WIDE) as screen:
        await screen.press("enter")
        screen.shows("There is no text to erase.")
        screen.top.query_one(Input).value = "ZEBEDIAH Q"
        await screen.press("enter")
        screen.shows("Type erase to erase.")
        await screen.press("escape")
        screen.hides("Type erase")
    assert screen.app.given == [None]
    async with running(erasing(library, [])) as screen:
        screen.top.query_one(Input).value = "nobody has this"
        await screen.press("enter")
        screen.shows("Found nowhere; searched")
        screen.hides("Type erase")
    assert len(await contents(library)) == 3
