"""What every room does alike: the top line, an empty store, escape, the help, a narrow terminal, a read-only store."""

from __future__ import annotations

import html
import re
from pathlib import Path

import pytest
from support.inspector import Screen, running
from support.screens import WIDE
from tui.installs import MESSAGE, Kitchen
from tui.samples import Inspector, SampleMemory

NAMES = "1 Memories 2 Why 3 Upkeep 4 Changes 5 Live 6 Stores"
RECALLED = ("slash", "=eat", "enter")
SCREENS = {
    "memories": ((), "1 Memories", "No memories here."),
    "search": (("slash", "=eat"), "1 Memories", "The agent recalls nothing for"),
    "why": ((*RECALLED, "2"), "2 Why", "Nothing is recalled"),
    "what-if": ((*RECALLED, "w"), "2 Why", "Nothing is recalled"),
    "prompt": ((*RECALLED, ":prompt"), "2 Why", "Nothing is put before"),
    "upkeep": (("3",), "3 Upkeep", "This store has no memories yet."),
    "hygiene": ((":hygiene",), "3 Upkeep", ""),
    "health": ((":health",), "3 Upkeep", ""),
    "changes": (("4",), "4 Changes", "No changes yet. Edits (e), new memories (n) and deletions (d) appear here."),
    "trash": (("4", "t"), "4 Changes", "The trash is empty."),
    "live": (("5",), "5 Live", ""),
    "stores": (("6",), "6 Stores", "1 store configured"),
    "editor": (("n",), "1 Memories", "A new memory"),
}
"""The keys that open it, the name that is lit, and what it says of an empty store."""
DIALOGS = {
    "reader": ("enter",),
    "a question": ("d",),
    "a choice": ("o",),
    "the filters": ("F",),
    "a typed confirmation": ("asterisk", "d"),
    "the keys": ("question_mark",),
    "the palette": ("colon",),
}


def top_line(screen: Screen) -> str:
    """The first line, without blanks, of a picture of the screen, which shows what is below a dialog too."""
    pieces = re.findall(r'<text [^>]* y="([\d.]+)"[^>]*line-0[^>]*>(.*?)</text>', screen.app.export_screenshot())
    return "".join("".join(html.unescape(words) for _, words in pieces).split())


@pytest.mark.parametrize("name", [*SCREENS, *DIALOGS])
async def test_every_screen_shows_the_store_and_the_six_rooms(inspector: Inspector, name: str) -> None:
    """A narrow one shows the numbers, and the name of the current room."""
    keys, lit, _ = SCREENS[name] if name in SCREENS else (DIALOGS[name], "1 Memories", "")
    async with running(inspector.app()) as screen:
        await screen.press(*keys)
        shown = top_line(screen)
        assert shown.startswith("…/memory/brain.db")
        assert shown.endswith(NAMES.replace(" ", ""))
        await screen.pilot.resize_terminal(40, 24)
        await screen.settle()
        shown = top_line(screen)
        assert "brain.db" in shown
        assert shown.endswith("".join(lit.replace(" ", "") if at == lit[0] else at for at in "123456"))


@pytest.mark.parametrize("name", SCREENS)
async def test_every_room_says_that_a_store_is_empty_and_escape_leads_back(tmp_path: Path, name: str) -> None:
    keys, _, sentence = SCREENS[name]
    async with running(Inspector(tmp_path, SampleMemory()).app(), WIDE) as screen:
        await screen.press(*keys)
        screen.shows(sentence)
        await screen.press("escape", "escape", "escape")
        assert screen.top is screen.browser
        screen.shows("No memories here.", "ZeroClaw writes memories while you talk with it")


READ_ONLY = {
    "memories": ((), ("n", "e", "E", "d", "u")),
    "why": (("x", f"={MESSAGE}", "enter"), ("R", "e")),
    "what-if": (("x", f"={MESSAGE}", "enter", "w", "down", "down", "left"), ("W",)),
    "clean up": (("3",), ("d",)),
    "hygiene": ((":hygiene",), ("u", "U")),
    "changes": (("4",), ("u", "U")),
}


@pytest.mark.parametrize("name", READ_ONLY)
async def test_where_a_store_is_only_read_each_key_that_writes_says_so(tmp_path: Path, name: str) -> None:
    opening, keys = READ_ONLY[name]
    kitchen = Kitchen.of_meals(tmp_path)
    before, config = kitchen.rows(), kitchen.config_file.read_text()
    async with running(kitchen.app(read_only=True), WIDE) as screen:
        await screen.press(*opening)
        room = screen.top
        for key in keys:
            screen.app.clear_notifications()
            await screen.press(key)
            screen.says("read-only")
            assert screen.top is room
    assert (kitchen.rows(), kitchen.config_file.read_text()) == (before, config)
