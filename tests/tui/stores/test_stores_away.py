"""A store that goes away: what is on the screen stays, one banner says so, and nothing typed is lost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from stores_samples import GONE, Away, Known, notes, said
from support.settling import settled
from textual.pilot import Pilot
from textual.widgets import TextArea
from tui_samples import NARROW, WIDE, Inspector, browser, paced, sample_memories, screen_text, screen_words, until

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
    app = inspector.app()
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        rows = browser(app).query_one(MemoryList)
        store.failure = GONE
        await pilot.press("r")
        await until(pilot, lambda: BANNER in screen_words(app))
        assert rows.row_count == 245
        assert "food_allergy" in screen_text(app)
        await pilot.press("slash", *"ramen")
        await settled(pilot)
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
        assert said(pilot) == []
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
    app = inspector.app()
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        await settled(pilot)
        store.failure = GONE
        for key in ("e", "d", "asterisk", "space", "u", "C", "y", "r", "e"):
            await pilot.press(key)
            await settled(pilot)
        assert [words for words in said(pilot) if "went away" in words] == []
        assert screen_text(app).count("went away") == 1
        assert browser(app).query_one(MemoryList).row_count == 245


async def test_what_is_typed_in_the_editor_stays_and_saves_later(inspector: Inspector, store: Away) -> None:
    app = inspector.app()
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        await pilot.press("j", "j", "e")
        await until(pilot, lambda: isinstance(app.screen, EditorScreen))
        await settled_but_editing(pilot)
        area = app.screen.query_one(TextArea)
        area.focus()
        area.text = "Typed with care."
        store.failure = GONE
        await pilot.press("ctrl+s")
        await until(pilot, lambda: "went away" in screen_text(app))
        assert isinstance(app.screen, EditorScreen)
        assert area.text == "Typed with care."
        store.failure = None
        await pilot.press("ctrl+s")
        await until(pilot, lambda: app.screen is browser(app))
        await settled(pilot)
        assert any(entry.content == "Typed with care." for entry in store._by_key.values())


async def test_the_same_notice_is_not_stacked(tmp_path: Path) -> None:
    app = Known(tmp_path, {"markdown": notes()}).app()
    async with app.run_test(size=NARROW, notifications=True) as pilot:
        await settled(pilot)
        await pilot.press("R", "R", "R")
        await settled(pilot)
        assert len(said(pilot)) == 1


async def settled_but_editing(pilot: Pilot[Any]) -> None:
    await until(pilot, lambda: all(one.is_finished or one.group == "change" for one in pilot.app.workers))
