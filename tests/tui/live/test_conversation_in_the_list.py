"""The conversation that a memory of the list came of."""

from __future__ import annotations

from live_samples import NOW, SESSION, STILL, Place, at, some_turns
from support.chat_files import write_chat
from support.screens import WIDE, said, screen_words
from support.settling import press, running

from zeroclaw_tui.config.locations import OpenOptions
from zeroclaw_tui.tui.app import InspectorApp
from zeroclaw_tui.tui.rooms.browser import BrowserRoom
from zeroclaw_tui.tui.rooms.reader import ConversationRoom


def inspector(place: Place) -> InspectorApp:
    return InspectorApp(OpenOptions(config_dir=place.config_dir, profile="0.8.4"), clock=lambda: NOW, pace=STILL)


async def test_a_memory_shows_the_conversation_it_came_from(place: Place) -> None:
    place.write(some_turns())
    talk = [("user", "I see the dentist in the morning only", at(60 * 24 * 21)), ("assistant", "Noted.", at(30_000))]
    write_chat(place.data, SESSION, talk)
    async with running(inspector(place), WIDE) as (app, pilot):
        await press(pilot, ":conversation")
        assert isinstance(app.screen, ConversationRoom)
        assert "I see the dentist in the morning only" in screen_words(app)
        await press(pilot, "escape")
        assert isinstance(app.screen, BrowserRoom)


async def test_without_a_chat_file_the_command_says_so(place: Place) -> None:
    async with running(inspector(place), WIDE) as (app, pilot):
        await press(pilot, ":conversation")
        assert "There are no conversations" in said(app)
        assert isinstance(app.screen, BrowserRoom)
