"""The trash as a person uses it: looking, searching, marking, bringing back, letting go."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from support.marks import plan_of_marked
from support.small_store import blob, make
from textual.pilot import Pilot
from textual.widgets import OptionList
from tui_trash_samples import (
    NARROW,
    OTHER_STORE,
    WIDE,
    Sample,
    ScreenApp,
    chat_rows,
    entries_of,
    hostile_rows,
    named_rows,
    row,
    screen_text,
    screen_words,
    settled,
    until,
)
from zeroclaw_tui.tui.screens.trash import TrashScreen
from zeroclaw_tui.tui.screens.trash_dialogs import ClashScreen, LetGoScreen
from zeroclaw_tui.tui.widgets.trash_list import PAGE_ROWS, PAGES_KEPT, TrashList

from zeroclaw_tui.config.install import OpenOptions
from zeroclaw_tui.curation import changes
from zeroclaw_tui.curation.library import open_library
from zeroclaw_tui.curation.opening import configs_for
from zeroclaw_tui.curation.trash.trash import TrashRow
from zeroclaw_tui.memory.errors import Unreadable
from zeroclaw_tui.tui.screens import trash as trash_module


def trash_app(sample: Sample, debounce: float = 0) -> ScreenApp:
    return ScreenApp(lambda: TrashScreen(sample.library, sample.clock, debounce=debounce))


def trash_screen(app: ScreenApp) -> TrashScreen:
    found = app.screen_stack[1]
    assert isinstance(found, TrashScreen)
    return found


def keys_listed(app: ScreenApp) -> list[str]:
    """The keys of the rows in sight, as they stand in their column."""
    listed = trash_screen(app).query_one(TrashList)
    lines = screen_text(app).splitlines()[listed.region.y + 1 : listed.region.bottom]
    shown = [line[10:].split("  ")[0].strip() for line in lines]
    return [key for key in shown if key]


async def press(pilot: Pilot[Any], *keys: str) -> None:
    """Press keys one after the other, each once the one before is settled; what begins with "=" is typed at once."""
    for key in keys:
        await pilot.press(*(key[1:] if key.startswith("=") else [key]))
        await settled(pilot)


async def delete(sample: Sample, *ids: str) -> None:
    """Delete as the list does it."""
    await changes.remove_memories(sample.library, await plan_of_marked(sample.library, ids), "forget")


async def test_an_empty_trash_says_what_fills_it(sample: Sample) -> None:
    app = trash_app(sample)
    async with app.run_test(size=NARROW) as pilot:
        await settled(pilot)
        assert "Nothing was deleted here yet. d in the list moves memories here." in screen_words(app)
        await press(pilot, "r", "x", "space", "escape")
        assert app.given == [False]
    assert not sample.trash.file.exists()


async def test_the_title_tells_how_many_how_big_and_how_long(sample: Sample) -> None:
    await sample.fill(chat=300)
    await sample.deleted([row(900, "other", "elsewhere")], timedelta(days=1), store=OTHER_STORE)
    app = trash_app(sample)
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        title = screen_text(app).splitlines()[0]
        assert title.strip().startswith("314 memories in the trash, ")
        assert "kept 30 days or 500 MB · 1 of other stores" in title


async def test_rows_tell_when_what_how_big_and_until_when_the_newest_first(sample: Sample) -> None:
    await sample.fill(chat=20)
    app = trash_app(sample)
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        assert keys_listed(app)[:6] == ["food_allergy", "fav_food", "lunch_2026_11", "market", "cutlery", "blank"]
        listed = trash_screen(app).query_one(TrashList).region
        first = screen_text(app).splitlines()[listed.y + 1][: listed.width].split()
        assert first[:2] == ["▌5", "h"]
        assert first[-6:] == ["core", "1.2", "KB", "in", "29", "d"]


async def test_the_detail_has_the_whole_memory_its_vector_and_what_deleted_it(sample: Sample) -> None:
    await sample.fill(chat=20)
    app = trash_app(sample)
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        words = screen_words(app)
        assert "deleted 2026-11-20 07:00 (5 h)" in words
        assert "goes 2026-12-20 07:00 (in 29 d)" in words
        assert "session telegram_12345" in words
        assert "256-d vector" in words
        await press(pilot, "G")
        assert "purged 2026-10-31 12:00 (20 d)" in screen_words(app)
        assert "with 19 more" in screen_words(app)


async def test_thousands_of_rows_are_loaded_as_they_come_into_sight(sample: Sample) -> None:
    await sample.deleted(chat_rows(3000), timedelta(days=1), "purge")
    asked: list[int] = []
    listing = sample.trash.listing

    async def watched(*args: Any, **options: Any) -> tuple[list[TrashRow], int]:
        asked.append(options.get("limit", 200))
        return await listing(*args, **options)

    sample.trash.listing = watched  # type: ignore[method-assign]
    app = trash_app(sample)
    async with app.run_test(size=NARROW) as pilot:
        await settled(pilot)
        listed = trash_screen(app).query_one(TrashList)
        assert max(asked) <= PAGE_ROWS
        await press(pilot, "G")
        assert keys_listed(app)[-1] == "user_msg_0000"
        assert screen_words(app).count("user_msg_0000") == 2, "in the list and in the detail"
        for _ in range(2 * PAGES_KEPT):
            listed.action_move(PAGE_ROWS // -2)
            await settled(pilot)
        assert listed.row_count == 3000
        assert len(listed._pages) <= PAGES_KEPT
        await press(pilot, "g")
        assert keys_listed(app)[0] == "user_msg_2999"


async def test_search_narrows_the_list_and_leaving_it_shows_everything_again(sample: Sample) -> None:
    await sample.fill(chat=20)
    app = trash_app(sample)
    async with app.run_test(size=NARROW) as pilot:
        await settled(pilot)
        await press(pilot, "slash", "=eat")
        assert keys_listed(app) == ["fav_food", "lunch_2026_11", "market"]
        assert "3 found" in screen_words(app)
        await press(pilot, "z")
        assert "Nothing in the trash contains “eatz”." in screen_words(app)
        await press(pilot, "escape")
        assert keys_listed(app)[0] == "food_allergy"
        assert app.given == []
        await press(pilot, "escape")
        assert app.given == [False]


async def test_an_answer_to_an_old_search_is_dropped(sample: Sample) -> None:
    await sample.fill(chat=20)
    listing = sample.trash.listing
    gate = asyncio.Event()
    held: list[str] = []

    async def slow(contains: str = "", **options: Any) -> tuple[list[TrashRow], int]:
        answer = await listing(contains, **options)
        if contains == "p":
            held.append(contains)
            try:
                await gate.wait()
            except asyncio.CancelledError:
                # A thread cannot be cancelled: its answer comes all the same.
                await gate.wait()
        return answer

    sample.trash.listing = slow  # type: ignore[method-assign]
    app = trash_app(sample)
    async with app.run_test(size=NARROW) as pilot:
        await settled(pilot)
        screen = trash_screen(app)
        screen.search("p")
        await until(pilot, lambda: held)
        screen.search("peanuts")
        await until(pilot, lambda: keys_listed(app) == ["food_allergy"])
        gate.set()
        await settled(pilot)
        assert keys_listed(app) == ["food_allergy"]


async def test_typing_waits_for_the_fingers_to_rest(sample: Sample) -> None:
    await sample.fill(chat=20)
    app = trash_app(sample, debounce=3600)
    async with app.run_test(size=NARROW) as pilot:
        await settled(pilot)
        await press(pilot, "slash", "=peanuts")
        assert keys_listed(app)[:2] == ["food_allergy", "fav_food"]
        await press(pilot, "escape", "escape")
        assert app.given == [False]


async def test_the_row_comes_back_into_the_store(sample: Sample) -> None:
    for one in entries_of(named_rows()):
        sample.memory._hold(one)
    await delete(sample, named_rows()[0].id)
    app = trash_app(sample)
    async with app.run_test(size=NARROW, notifications=True) as pilot:
        await settled(pilot)
        await press(pilot, "enter")
        assert "food_allergy is back." in screen_words(app)
        found = await sample.memory.get("food_allergy")
        assert found is not None
        assert found.id == named_rows()[0].id
        assert "Nothing is in the trash any more." in screen_words(app)
        await press(pilot, "escape")
    assert app.given == [True]


async def test_marks_survive_a_search_and_all_of_them_come_back(sample: Sample) -> None:
    await sample.deleted(named_rows(), timedelta(hours=1), "purge")
    app = trash_app(sample)
    async with app.run_test(size=NARROW, notifications=True) as pilot:
        await settled(pilot)
        await press(pilot, "space", "slash", "=peanuts", "enter", "space")
        assert "2 marked" in screen_words(app)
        await press(pilot, "escape", "r")
        assert "2 memories are back." in screen_words(app)
        assert {one.key for one in await sample.memory.list()} == {"cutlery", "food_allergy"}
        assert "marked" not in screen_words(app)
        assert len(await sample.trash.numbers()) == 3


async def test_everything_found_is_marked_at_once_and_unmarked_again(sample: Sample) -> None:
    await sample.fill(chat=300)
    app = trash_app(sample)
    async with app.run_test(size=NARROW) as pilot:
        await settled(pilot)
        await press(pilot, "slash", "=eat", "enter", "asterisk")
        assert "3 marked" in screen_words(app)
        await press(pilot, "escape", "asterisk")
        assert "314 marked" in screen_words(app)
        await press(pilot, "backslash")
        assert "marked" not in screen_words(app)


@pytest.mark.parametrize(
    ("answer", "keys", "said"),
    [
        ([], {"fav_food": "new"}, ""),
        (["j"], {"fav_food": "old"}, "fav_food is back."),
        (["j", "j"], None, "fav_food is back: fav_food is now"),
    ],
    ids=["leave", "overwrite", "rename"],
)
async def test_a_key_that_exists_again_is_asked_about(
    sample: Sample, answer: list[str], keys: dict[str, str] | None, said: str
) -> None:
    await sample.deleted([row(1, "fav_food", "old")], timedelta(hours=1))
    await sample.memory.store("fav_food", "new", "core")
    app = trash_app(sample)
    async with app.run_test(size=NARROW, notifications=True) as pilot:
        await settled(pilot)
        await press(pilot, "r")
        assert isinstance(app.screen, ClashScreen)
        words = screen_words(app)
        assert "fav_food cannot simply come back. Its key exists again." in words
        assert "comes back fav_food old" in words
        assert "is there now fav_food new" in words
        assert app.screen.query_one(OptionList).highlighted == 0
        await press(pilot, *answer, "enter")
        assert said in screen_words(app)
        now = {one.key: one.content for one in await sample.memory.list()}
        if keys is not None:
            assert now == keys
        else:
            assert now["fav_food"] == "new"
            assert sorted(now.values()) == ["new", "old"]
        await press(pilot, "escape")
    assert app.given == [bool(said)]


async def test_undo_takes_a_restore_back(sample: Sample) -> None:
    await sample.memory.store("fav_food", "old", "core")
    await delete(sample, (await sample.memory.list())[0].id)
    app = trash_app(sample)
    async with app.run_test(size=NARROW, notifications=True) as pilot:
        await settled(pilot)
        await press(pilot, "r")
        assert await sample.memory.count() == 1
        await press(pilot, "u")
        assert "Taken back: restored fav_food." in screen_words(app)
        assert await sample.memory.count() == 0
        assert keys_listed(app) == ["fav_food"]


async def test_undo_without_anything_to_undo_says_so(sample: Sample) -> None:
    app = trash_app(sample)
    async with app.run_test(size=NARROW, notifications=True) as pilot:
        await settled(pilot)
        await press(pilot, "u")
        assert "There is nothing to undo." in screen_words(app)


async def test_one_memory_is_let_go_of_only_after_choosing_it(sample: Sample) -> None:
    await sample.deleted(named_rows(), timedelta(hours=1), "purge")
    app = trash_app(sample)
    async with app.run_test(size=NARROW, notifications=True) as pilot:
        await settled(pilot)
        await press(pilot, "x")
        assert isinstance(app.screen, LetGoScreen)
        await press(pilot, "enter")
        assert len(await sample.trash.numbers()) == 5
        await press(pilot, "x", "j", "enter")
        assert "1 memory is gone for ever." in screen_words(app)
        assert keys_listed(app) == ["market", "lunch_2026_11", "fav_food", "food_allergy"]
        assert b"chopsticks" not in sample.trash.file.read_bytes()


async def test_the_number_is_typed_from_eleven_on(sample: Sample) -> None:
    await sample.deleted(chat_rows(11), timedelta(hours=1), "purge")
    app = trash_app(sample)
    async with app.run_test(size=NARROW, notifications=True) as pilot:
        await settled(pilot)
        await press(pilot, "asterisk", "x", "j", "enter")
        assert "Type 11 to let go of the 11 marked:" in screen_words(app)
        await press(pilot, "1", "enter")
        assert "That is another number." in screen_words(app)
        assert len(await sample.trash.numbers()) == 11
        await press(pilot, "1", "enter")
        assert "11 memories are gone for ever." in screen_words(app)
        assert await sample.trash.numbers() == []


async def test_everything_goes_with_earlier_versions_and_other_stores_stay(sample: Sample) -> None:
    await sample.fill(chat=20)
    await sample.deleted([row(900, "other", "elsewhere")], timedelta(days=1), store=OTHER_STORE)
    app = trash_app(sample)
    async with app.run_test(size=NARROW, notifications=True) as pilot:
        await settled(pilot)
        await press(pilot, "x", "k", "enter", "3", "4", "enter")
        assert "34 memories are gone for ever." in screen_words(app)
        _, left = await sample.trash.listing(every_store=True)
        assert left == 1


async def test_rows_of_other_stores_are_shown_but_not_brought_back_here(sample: Sample) -> None:
    await sample.deleted([row(1, "fav_food", "old")], timedelta(hours=2))
    await sample.deleted([row(900, "other", "elsewhere")], timedelta(hours=1), store=OTHER_STORE)
    app = trash_app(sample)
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        await settled(pilot)
        assert keys_listed(app) == ["fav_food"]
        await press(pilot, "a")
        assert keys_listed(app) == ["other", "fav_food"]
        assert "y/brain.db" in screen_text(app)
        await press(pilot, "r")
        assert "It was deleted in /srv/zeroclaw/second/workspace/memory/brain.db" in screen_words(app)
        await press(pilot, "space")
        assert "marked" not in screen_words(app)
        assert await sample.memory.count() == 0
        await press(pilot, "a")
        assert keys_listed(app) == ["fav_food"]


async def test_in_a_real_database_a_row_comes_back_as_it_was(sample: Sample, tmp_path: Path) -> None:
    """Also its vector, its rowid and its place in the keyword index."""
    path = make(
        tmp_path / "brain.db",
        "G4",
        [{"id": "a", "key": "first", "content": "Likes ramen.", "embedding": blob(1, 0)}, {"id": "b", "key": "second"}],
    )
    library = await open_library(configs_for(OpenOptions(path=path))[0])
    before = await library.memory.stored("a")
    await changes.remove_memories(library, await plan_of_marked(library, ["a"]), "forget")
    app = ScreenApp(lambda: TrashScreen(library, sample.clock, debounce=0))
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        await settled(pilot)
        assert "2-d vector" in screen_words(app)
        assert await library.memory.stored("a") is None
        await press(pilot, "r")
        assert "first is back." in screen_words(app)
        assert await library.memory.stored("a") == before
        assert [found.entry.key for found in await library.memory.recall("ramen", 5)] == ["first"]
        await press(pilot, "escape")
    assert app.given == [True]
    await library.close()


async def test_what_writes_is_off_in_a_store_that_is_only_read(sample: Sample) -> None:
    await sample.deleted(named_rows(), timedelta(hours=1), "purge")
    sample.memory.read_only_because = "It was opened with --read-only."
    app = trash_app(sample)
    async with app.run_test(size=NARROW, notifications=True) as pilot:
        await settled(pilot)
        assert "It was opened with --read-only." in screen_words(app)
        await press(pilot, "r", "u", "x")
        assert [note.message for note in app._notifications] == ["It was opened with --read-only."] * 3
        assert app.screen is trash_screen(app)
        assert await sample.memory.count() == 0
        assert len(await sample.trash.numbers()) == 5


async def test_leaving_waits_for_what_is_being_written_and_escape_stops_it(
    sample: Sample, monkeypatch: pytest.MonkeyPatch
) -> None:
    await sample.deleted(named_rows(), timedelta(hours=1), "purge")
    steps: asyncio.Queue[None] = asyncio.Queue()
    begun = asyncio.Event()

    async def step_by_step(library: Any, numbers: Any, *, clash: str, advance: Any) -> changes.Outcome:
        begun.set()
        while advance(2):
            await steps.get()
        return changes.Outcome("restore", 2, cancelled=True)

    monkeypatch.setattr(trash_module.changes, "restore", step_by_step)
    app = trash_app(sample)
    async with app.run_test(size=NARROW, notifications=True) as pilot:
        await settled(pilot)
        await press(pilot, "asterisk")
        await pilot.press("r")
        await until(pilot, begun.is_set)
        await pilot.press("q")
        await until(pilot, lambda: "This is still" in screen_words(app))
        assert app.given == []
        await pilot.press("escape")
        steps.put_nowait(None)
        await settled(pilot)
        assert "2 memories are back. It was stopped before the rest." in screen_words(app)
        assert app.given == []


async def test_a_trash_that_cannot_be_read_is_told_and_tried_again(sample: Sample) -> None:
    await sample.fill(chat=20)
    listing = sample.trash.listing

    async def failing(*args: Any, **options: Any) -> tuple[list[TrashRow], int]:
        raise Unreadable("trash.db cannot be read.", hint="Look at its permissions.")

    sample.trash.listing = failing  # type: ignore[method-assign]
    app = trash_app(sample)
    async with app.run_test(size=NARROW) as pilot:
        await settled(pilot)
        assert "✗ trash.db cannot be read. Look at its permissions." in screen_words(app)
        sample.trash.listing = listing  # type: ignore[method-assign]
        await press(pilot, "ctrl+r")
        assert "cannot be read" not in screen_words(app)
        assert keys_listed(app)[0] == "food_allergy"


@pytest.mark.parametrize("number", range(len(hostile_rows())))
async def test_hostile_memories_steer_nothing(sample: Sample, number: int) -> None:
    await sample.deleted(hostile_rows(), timedelta(hours=1), "purge")
    app = trash_app(sample)
    async with app.run_test(size=NARROW, notifications=True) as pilot:
        await settled(pilot)
        await press(pilot, *["j"] * number)
        assert not {"\x1b", "\x07", "\x9b", "\u202e"} & set(screen_text(app))
        await press(pilot, "x", "escape", "h", "escape", "r")
        assert app.screen is trash_screen(app)
        assert not {"\x1b", "\x07", "\x9b", "\u202e"} & set(screen_text(app))
        assert await sample.memory.count() == 1


async def test_the_content_is_copied_as_it_is(sample: Sample) -> None:
    await sample.deleted(hostile_rows(), timedelta(hours=1), "purge")
    app = trash_app(sample)
    async with app.run_test(size=NARROW) as pilot:
        await settled(pilot)
        await press(pilot, "G", "y")
        assert app.clipboard == "[/foo] [bold]not bold[/] [@click=app.bell()]no link[/] ["


async def test_every_key_is_in_the_help(sample: Sample) -> None:
    app = trash_app(sample)
    async with app.run_test(size=(140, 60)) as pilot:
        await settled(pilot)
        await press(pilot, "question_mark")
        words = screen_words(app)
        for sentence in ("Look for a part of a key", "Take back the last action", "Show the other stores"):
            assert sentence in words
