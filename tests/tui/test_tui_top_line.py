"""The top line: the store and the six rooms, on every screen."""

from __future__ import annotations

import html
import re
from typing import Any

import pytest
from support.settling import press, running
from textual.app import App
from tui_samples import Inspector

ROOMS = "1 Memories 2 Why 3 Upkeep 4 Changes 5 Live 6 Stores"
SCREENS = {
    "memories": (),
    "search": ("slash", "=eat"),
    "why": ("slash", "=eat", "enter", "2"),
    "what-if": ("slash", "=eat", "enter", "w"),
    "prompt": ("slash", "=eat", "enter", ":prompt"),
    "upkeep": ("3",),
    "health": (":health",),
    "changes": ("4",),
    "live": ("5",),
    "stores": ("6",),
    "reader": ("enter",),
    "editor": ("n",),
    "a question": ("d",),
    "a choice": ("o",),
    "the filters": ("F",),
    "a typed confirmation": ("asterisk", "d"),
    "the changes of a memory": ("h",),
    "copies": (":copies",),
    "export": (":export",),
    "notices": (":notices",),
    "the keys": ("question_mark",),
    "the palette": ("colon",),
}
LIT = {"why": "2 Why", "what-if": "2 Why", "prompt": "2 Why", "upkeep": "3 Upkeep", "health": "3 Upkeep",
       "changes": "4 Changes", "live": "5 Live", "stores": "6 Stores"}  # fmt: skip


def top_line(app: App[Any]) -> str:
    """The first line, without blanks, of a picture of the screen, which shows what is below a dialog too."""
    pieces = re.findall(r'<text [^>]* y="([\d.]+)"[^>]*line-0[^>]*>(.*?)</text>', app.export_screenshot())
    return "".join("".join(html.unescape(words) for _, words in pieces).split())


@pytest.mark.parametrize("name", list(SCREENS))
async def test_every_screen_shows_the_store_and_the_six_rooms(inspector: Inspector, name: str) -> None:
    async with running(inspector.app()) as (app, pilot):
        await press(pilot, *SCREENS[name])
        shown = top_line(app)
        assert shown.startswith("…/memory/brain.db")
        assert shown.endswith(ROOMS.replace(" ", ""))


@pytest.mark.parametrize("name", ["memories", "why", "upkeep", "changes", "live", "stores", "editor", "a question"])
async def test_a_narrow_screen_shows_the_numbers_and_the_name_of_the_current_room(
    inspector: Inspector, name: str
) -> None:
    async with running(inspector.app(), (40, 24)) as (app, pilot):
        await press(pilot, *SCREENS[name])
        shown = top_line(app)
        current = LIT.get(name, "1 Memories")
        numbers = "".join(current.replace(" ", "") if number == current[0] else number for number in "123456")
        assert "brain.db" in shown
        assert shown.endswith(numbers)
