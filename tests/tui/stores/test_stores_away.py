"""A store that goes away: what is on the screen stays, one banner says so, and nothing typed is lost."""

from __future__ import annotations

from pathlib import Path

import pytest
from stores_samples import GONE, Away
from support.screens import NARROW, WIDE, said, screen_text, screen_words
from support.settling import press, running, settled, until
from textual.widgets import TextArea
from tui_samples import Inspector, browser, entries_in, paced, sample_memories

from zeroclaw_tui.tui.rooms.editor import EditorScreen
from zeroclaw_tui.tui.widgets.lines import SearchBar
from zeroclaw_tui.tui.widgets.memory_list import MemoryList

BANNER = "✗ The server at db:5432 went away. Start it again, then r."


@pytest.fixture
def store() -> Away:
    return Away(sample_memories())


@pytest.fixture
def inspector(tmp_path: Path, store: Away) -> Inspector:
    return Inspector(tmp_path, store)


async def test_rows_and_search_text_stay_and_r_brings_it_back(inspector: Inspector, store: Away) -> None:
    async with running(inspector.app(), WIDE) as (app, pilot):
        rows = browser(app).query_one(MemoryList)
        store.failure = GONE
        await pilot.press("r")
        await until(pilot, lambda: BANNER in screen_words(app))
        assert rows.row_count == 245
        assert "food_allergy" in screen_text(app)
        await press(pilot, "slash", "=ramen")
        assert browser(app).query_one(SearchBar).input.value == "ramen"
        store.failure = None
        await pilot.press("enter", "r")
        await until(pilot, lambda: "✗ The server" not in screen_text(app))
        await settled(pilot)
        assert "fav_food" in screen_text(app)
        assert browser(app).query_one(SearchBar).input.value == "ramen"


async def test_it_comes_back_by_itself_when_a_poll_is_answered(tmp_path: Path, store: Away) -> None:
    app = Inspector(tmp_path, store).app(pace=paced(poll=0.02))
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        await until(pilot, lambda: "245 memories" in screen_text(app))
        store.failure = GONE
        await until(pilot, lambda: BANNER in screen_words(app))
        await until(pilot, lambda: store.asked_in_vain > 5)
        assert screen_text(app).count("went away") == 1
        assert said(app) == ""
        store.failure = None
        await until(pilot, lambda: "went away" not in screen_text(app))


async def test_a_listing_that_never_came_says_so_and_comes_later(inspector: Inspector, store: Away) -> None:
    store.failure = GONE
    app = inspector.app()
    async with app.run_test(size=NARROW) as pilot:
        await until(pilot, lambda: "The store does not answer." in screen_text(app))
        assert "Opening" not in screen_text(app)
        store.failure = None
        await pilot.press("r")
        await until(pilot, lambda: "food_allergy" in screen_text(app))


async def test_every_key_that_asks_the_store_fails_into_the_one_banner(inspector: Inspector, store: Away) -> None:
    async with running(inspector.app(), WIDE) as (app, pilot):
        store.failure = GONE
        await press(pilot, "e", "d", "asterisk", "space", "u", "C", "y", "r", "e")
        assert "went away" not in said(app)
        assert screen_text(app).count("went away") == 1
        assert browser(app).query_one(MemoryList).row_count == 245


async def test_what_is_typed_in_the_editor_stays_and_saves_later(inspector: Inspector, store: Away) -> None:
    async with running(inspector.app(), WIDE) as (app, pilot):
        await press(pilot, "j", "j", "e")
        assert isinstance(app.screen, EditorScreen)
        area = app.screen.query_one(TextArea)
        area.focus()
        area.text = "Typed with care."
        store.failure = GONE
        await press(pilot, "ctrl+s")
        assert "went away" in screen_text(app)
        assert isinstance(app.screen, EditorScreen)
        assert area.text == "Typed with care."
        store.failure = None
        await press(pilot, "ctrl+s")
        assert app.screen is browser(app)
        assert any(entry.content == "Typed with care." for entry in entries_in(store))
