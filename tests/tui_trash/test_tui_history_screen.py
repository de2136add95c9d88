"""The history of one memory: every step told, its difference shown, and what was before brought back."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from support.marks import plan_of_marked
from textual.pilot import Pilot
from tui_trash_samples import (
    NARROW,
    NOW,
    WIDE,
    Sample,
    ScreenApp,
    row,
    row_id,
    screen_text,
    screen_words,
    settled,
)

from zeroclaw_tui.curation import changes
from zeroclaw_tui.memory.change import Edit, RowChange
from zeroclaw_tui.tui.screens.history import HistoryScreen


def history_app(sample: Sample, id: str, key: str = "fav_food") -> ScreenApp:
    return ScreenApp(lambda: HistoryScreen(sample.library, id, key, sample.clock))


async def press(pilot: Pilot[Any], *keys: str) -> None:
    for key in keys:
        await pilot.press(key)
        await settled(pilot)


async def edited(sample: Sample, id: str, **values: Any) -> None:
    stored = await sample.memory.stored(id)
    assert stored is not None
    await changes.edit_memory(sample.library, id, Edit(values), stored.fingerprint)


async def lived(sample: Sample) -> str:
    """A memory that was stored by the agent, edited twice and deleted, over four days; gives its id."""
    sample.clock.moment = NOW - timedelta(days=5)
    await sample.memory.store("fav_food", "Likes ramen.\nAnd soup.", "core")
    (entry,) = await sample.memory.list()
    sample.clock.moment = NOW - timedelta(days=4)
    await edited(sample, entry.id, content="Likes soba.\nAnd soup.", category="daily")
    sample.clock.moment = NOW - timedelta(days=2)
    await edited(sample, entry.id, key="food")
    sample.clock.moment = NOW - timedelta(hours=3)
    await changes.remove_memories(sample.library, await plan_of_marked(sample.library, [entry.id]), "forget")
    sample.clock.moment = NOW
    return entry.id


async def test_without_changes_it_says_so_and_whose_changes_are_not_in_it(sample: Sample) -> None:
    app = history_app(sample, row_id(1))
    async with app.run_test(size=NARROW) as pilot:
        await settled(pilot)
        assert "Nothing was changed here through this program." in screen_words(app)
        assert "What the agent itself changed is not in here." in screen_words(app)
        await press(pilot, "r", "escape")
    assert app.given == [False]


async def test_every_step_is_listed_the_newest_first(sample: Sample) -> None:
    memory_id = await lived(sample)
    app = history_app(sample, memory_id)
    async with app.run_test(size=NARROW) as pilot:
        await settled(pilot)
        lines = [line.split() for line in screen_text(app).splitlines()]
        assert ["▌3", "h", "-", "deleted"] in lines
        assert ["2", "d", "~", "edited", "key"] in lines
        assert ["4", "d", "~", "edited", "content,", "category"] in lines
        assert "3 changes of fav_food" in screen_words(app)


async def test_a_step_shows_the_lines_and_fields_that_changed(sample: Sample) -> None:
    memory_id = await lived(sample)
    app = history_app(sample, memory_id)
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        await press(pilot, "G")
        words = screen_words(app)
        assert "category core → daily" in words
        assert "- Likes ramen." in words
        assert "+ Likes soba." in words
        assert "And soup." in words
        assert "- And soup." not in words
        await press(pilot, "k")
        assert "key fav_food → food" in screen_words(app)
        assert "Likes" not in screen_words(app)
        await press(pilot, "k")
        assert "- Likes soba." in screen_words(app)
        assert "- And soup." in screen_words(app)


async def test_what_became_of_the_vector_is_told(sample: Sample) -> None:
    before, after = row(1, "tz", "EST", embedding=bytes(1024)), row(1, "tz", "CET")
    anew = row(1, "tz", "CET", embedding=bytes(2048))
    await sample.kept("edit", [RowChange(before, after)], timedelta(days=2))
    await sample.kept("edit", [RowChange(after, anew)], timedelta(days=1))
    app = history_app(sample, row_id(1), "tz")
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        assert "vector made, 512 dimensions" in screen_words(app)
        await press(pilot, "j")
        assert "vector dropped: it belonged to the old content" in screen_words(app)


async def test_an_older_version_of_a_memory_comes_back_as_an_edit_of_today(sample: Sample) -> None:
    await sample.memory.store("fav_food", "Likes ramen.", "core")
    (entry,) = await sample.memory.list()
    await edited(sample, entry.id, content="Likes soba.", category="daily")
    await edited(sample, entry.id, content="Likes udon.")
    app = history_app(sample, entry.id)
    async with app.run_test(size=NARROW, notifications=True) as pilot:
        await settled(pilot)
        await press(pilot, "j", "r")
        now = await sample.memory.get("fav_food")
        assert now is not None
        assert (now.id, now.content, now.category) == (entry.id, "Likes ramen.", "core")
        assert "fav_food is again as it was" in screen_words(app)
        assert "3 changes of fav_food" in screen_words(app)
        await press(pilot, "escape")
    assert app.given == [True]
    await changes.undo(sample.library)
    taken_back = await sample.memory.get("fav_food")
    assert taken_back is not None
    assert taken_back.content == "Likes udon."


async def test_a_deleted_memory_comes_back_as_it_was_before_any_step(sample: Sample) -> None:
    memory_id = await lived(sample)
    app = history_app(sample, memory_id)
    async with app.run_test(size=NARROW, notifications=True) as pilot:
        await settled(pilot)
        await press(pilot, "G", "enter")
        now = await sample.memory.with_id(memory_id)
        assert now is not None
        assert (now.key, now.content, now.category) == ("fav_food", "Likes ramen.\nAnd soup.", "core")
        assert await sample.trash.numbers() == []
        await press(pilot, "escape")
    assert app.given == [True]


async def test_a_version_that_is_there_already_changes_nothing(sample: Sample) -> None:
    await sample.memory.store("fav_food", "Likes ramen.", "core")
    (entry,) = await sample.memory.list()
    await edited(sample, entry.id, content="Likes soba.")
    await edited(sample, entry.id, content="Likes ramen.")
    app = history_app(sample, entry.id)
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        await settled(pilot)
        await press(pilot, "G", "r")
        assert "already." in screen_words(app)
        assert "2 changes" in screen_words(app)
        await press(pilot, "escape")
    assert app.given == [False]


async def test_what_is_neither_in_the_store_nor_in_the_trash_is_told(sample: Sample) -> None:
    await sample.kept("edit", [RowChange(row(1, "tz", "EST"), row(1, "tz", "CET"))], timedelta(days=2))
    app = history_app(sample, row_id(1), "tz")
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        await settled(pilot)
        await press(pilot, "r")
        assert "neither in the store nor in the trash" in screen_words(app)
        await press(pilot, "escape")
    assert app.given == [False]


async def test_nothing_is_brought_back_into_a_store_that_is_only_read(sample: Sample) -> None:
    memory_id = await lived(sample)
    sample.memory.read_only_because = "It was opened with --read-only."
    app = history_app(sample, memory_id)
    async with app.run_test(size=NARROW) as pilot:
        await settled(pilot)
        assert "It was opened with --read-only." in screen_words(app)
        await press(pilot, "r")
        assert await sample.memory.count() == 0


async def test_hostile_text_in_a_difference_steers_nothing(sample: Sample) -> None:
    before = row(1, "[/foo]", "a\x1b[31m [bold]b[/] \x07\n\u202ec\u202c", category="[/x]\x1b]0;t\x07")
    after = row(1, "[/foo]", "a\x9b2J \udc80 [@click=app.bell()]x[/]", category="core")
    await sample.kept("edit", [RowChange(before, after)], timedelta(days=2))
    app = history_app(sample, row_id(1), "[/foo]")
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        text = screen_text(app)
        assert not {"\x1b", "\x07", "\x9b", "\u202e", "\udc80"} & set(text)
        assert "- a␛[31m [bold]b[/] ␇" in text
        assert "[@click=app.bell()]x[/]" in text
