"""The list by how often memories were recalled, what never was, and the talk a memory came of."""

from __future__ import annotations

from typing import Any

from live_samples import NOW, SESSION, STILL, Place, at, some_turns
from support.chat_files import write_chat
from support.screens import WIDE, said, screen_words
from support.settling import press, running, settled
from textual.pilot import Pilot

from zeroclaw_tui.config.locations import OpenOptions
from zeroclaw_tui.tui.app import InspectorApp
from zeroclaw_tui.tui.rooms.browser import BrowserRoom
from zeroclaw_tui.tui.rooms.live import LiveRoom
from zeroclaw_tui.tui.rooms.reader import ConversationRoom
from zeroclaw_tui.tui.widgets.facets import FacetList


def inspector(place: Place) -> InspectorApp:
    return InspectorApp(OpenOptions(config_dir=place.config_dir, profile="0.8.4"), clock=lambda: NOW, pace=STILL)


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


async def test_the_list_is_ordered_and_narrowed_by_how_often_memories_were_recalled(place: Place) -> None:
    """`t` opens the turns that say so, and `c` the talk a memory came of."""
    place.write(some_turns())
    talk = [("user", "I see the dentist in the morning only", at(60 * 24 * 21)), ("assistant", "Noted.", at(30_000))]
    write_chat(place.data, SESSION, talk)
    async with running(inspector(place), WIDE) as (app, pilot):
        await press(pilot, ":conversation")
        assert isinstance(app.screen, ConversationRoom)
        assert "I see the dentist in the morning only" in screen_words(app)
        await press(pilot, "escape")
        await choose_most_recalled(pilot)
        assert "most recalled first" in screen_words(app)
        recalled = {"ferry", "dentist", "fav_food", "lang"}
        ordered = await keys(app)
        assert set(ordered[:4]) == recalled
        assert len(ordered) == 6
        await press(pilot, "o")
        assert "● most recalled first again: reversed" in screen_words(app)
        assert "last stored first" in screen_words(app)
        await press(pilot, "escape")
        await choose_most_recalled(pilot)
        assert "least recalled first" in screen_words(app)
        assert set((await keys(app))[2:]) == recalled
        assert "never recalled" in screen_words(app)
        app.screen.query_one(FacetList).post_message(FacetList.Toggled("recalled", "never"))
        await settled(pilot)
        assert sorted(await keys(app)) == ["food_allergy", "tz"]
        assert "never recalled ✕" in screen_words(app)
        await press(pilot, "5")
        assert isinstance(app.screen, LiveRoom)
        await press(pilot, "q")
        assert isinstance(app.screen, BrowserRoom)


async def test_without_a_recording_the_order_says_what_helps_and_no_talk_is_shown(place: Place) -> None:
    async with running(inspector(place), WIDE) as (app, pilot):
        assert "never recalled" not in screen_words(app)
        await choose_most_recalled(pilot)
        assert "No turns are recorded" in said(app)
        await press(pilot, ":conversation")
        assert "There are no conversations" in said(app)
        assert isinstance(app.screen, BrowserRoom)
