"""The list by how often memories were recalled, what never was, and the talk a memory came of."""

from __future__ import annotations

from typing import Any

from live_samples import NOW, SESSION, STILL, WIDE, Place, at, screen_words, some_turns
from support.chat_files import write_chat
from support.settling import settled
from textual.pilot import Pilot

from zeroclaw_tui.config.locations import OpenOptions
from zeroclaw_tui.tui.app import InspectorApp
from zeroclaw_tui.tui.rooms.browser import BrowserRoom
from zeroclaw_tui.tui.rooms.live import LiveRoom
from zeroclaw_tui.tui.rooms.reader import ConversationRoom
from zeroclaw_tui.tui.widgets.facets import FacetList


def inspector(place: Place) -> InspectorApp:
    return InspectorApp(OpenOptions(config_dir=place.config_dir, profile="0.8.4"), clock=lambda: NOW, pace=STILL)


async def press(pilot: Pilot[Any], *keys: str) -> None:
    """Press keys one after the other, each once the one before is settled."""
    for key in keys:
        await pilot.press(key)
        await settled(pilot)


async def keys(app: InspectorApp) -> list[str]:
    """The keys of the memories in their order."""
    browser = app.screen
    assert isinstance(browser, BrowserRoom)
    found = []
    for row in range(browser.rows.row_count):
        browser.rows.cursor = row
        entry = browser.rows.selected_entry
        assert entry is not None
        found.append(entry.key)
    return found


async def choose_most_recalled(pilot: Pilot[Any]) -> None:
    await press(pilot, "o")
    await pilot.press("end")
    await press(pilot, "enter")


async def test_o_orders_by_how_often_memories_were_recalled_and_turns_that_round(place: Place) -> None:
    place.write(some_turns())
    app = inspector(place)
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        await choose_most_recalled(pilot)
        assert "most recalled first" in screen_words(app)
        recalled = {"ferry", "dentist", "fav_food", "lang"}
        ordered = await keys(app)
        assert set(ordered[:4]) == recalled
        assert len(ordered) == 6
        await choose_most_recalled(pilot)
        assert "least recalled first" in screen_words(app)
        assert set((await keys(app))[2:]) == recalled


async def test_a_facet_narrows_to_what_was_never_recalled(place: Place) -> None:
    place.write(some_turns())
    app = inspector(place)
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        facets = app.screen.query_one(FacetList)
        assert "never recalled" in screen_words(app)
        facets.post_message(FacetList.Toggled("recalled", "never"))
        await settled(pilot)
        assert sorted(await keys(app)) == ["food_allergy", "tz"]
        assert "never recalled ✕" in screen_words(app)


async def test_without_a_recording_the_order_says_what_helps(place: Place) -> None:
    app = inspector(place)
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        await settled(pilot)
        assert "never recalled" not in screen_words(app)
        await choose_most_recalled(pilot)
        assert any("No turn is recorded" in str(note.message) for note in app._notifications)


async def test_t_opens_the_turns(place: Place) -> None:
    place.write(some_turns())
    app = inspector(place)
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        await press(pilot, "t")
        assert isinstance(app.screen, LiveRoom)
        await press(pilot, "q")
        assert isinstance(app.screen, BrowserRoom)


async def test_c_shows_where_a_memory_came_from_and_is_dimmed_where_nothing_is_kept(place: Place) -> None:
    app = inspector(place)
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        await settled(pilot)
        await press(pilot, "c")
        assert any("keeps no conversations" in str(note.message) for note in app._notifications)
        assert isinstance(app.screen, BrowserRoom)
    talk = [("user", "I see the dentist in the morning only", at(60 * 24 * 21)), ("assistant", "Noted.", at(30_000))]
    write_chat(place.data, SESSION, talk)
    app = inspector(place)
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        await press(pilot, "c")
        assert isinstance(app.screen, ConversationRoom)
        assert "I see the dentist in the morning only" in screen_words(app)
