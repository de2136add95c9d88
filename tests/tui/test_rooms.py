"""Behaviour of every room: the top line, an empty store, escape, the help, a narrow terminal, a read-only store."""

from __future__ import annotations

import html
import re
from pathlib import Path

from support.inspector import Screen, running
from support.screens import WIDE
from tui.installs import MESSAGE, SECRET, chat, food_install, meal, old_install, write_snapshot
from tui.samples import HOSTILE, Inspector, SampleMemory

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
"""The keys that open each room, its highlighted name, and its text for an empty store."""
DIALOGS = {
    "reader": (("enter",), "1 Memories"),
    "a question": (("d",), "1 Memories"),
    "a choice": (("o",), "1 Memories"),
    "the filters": (("F",), "1 Memories"),
    "a typed confirmation": (("asterisk", "d"), "1 Memories"),
    "the keys": (("question_mark",), "1 Memories"),
    "the palette": (("colon",), "1 Memories"),
}


def top_line(screen: Screen) -> str:
    """Return the first line, without blanks, of a picture of the screen, which includes what is below a dialog."""
    pieces = re.findall(r'<text [^>]* y="([\d.]+)"[^>]*line-0[^>]*>(.*?)</text>', screen.app.export_screenshot())
    return "".join("".join(html.unescape(words) for _, words in pieces).split())


async def back(screen: Screen) -> None:
    """Return to the initial list from any screen."""
    await screen.press(*["escape"] * 4)
    assert screen.top is screen.browser


async def test_every_screen_shows_the_store_and_the_six_rooms(inspector: Inspector) -> None:
    """A narrow terminal shows the numbers and the name of the current room."""
    async with running(inspector.app()) as screen:
        for keys, lit in [*((keys, lit) for keys, lit, _ in SCREENS.values()), *DIALOGS.values()]:
            await screen.press(*keys)
            shown = top_line(screen)
            assert shown.startswith("…/memory/brain.db")
            assert shown.endswith(NAMES.replace(" ", ""))
            await screen.pilot.resize_terminal(40, 24)
            await screen.settle()
            shown = top_line(screen)
            assert "brain.db" in shown
            assert shown.endswith("".join(lit.replace(" ", "") if at == lit[0] else at for at in "123456"))
            await screen.pilot.resize_terminal(80, 24)
            await back(screen)


async def test_every_room_says_that_a_store_is_empty_and_escape_returns(tmp_path: Path) -> None:
    async with running(Inspector(tmp_path, SampleMemory()).app(), WIDE) as screen:
        for keys, _, sentence in SCREENS.values():
            await screen.press(*keys, shows=sentence)
            await back(screen)
            screen.shows("No memories here.", "ZeroClaw writes memories while you talk with it")


READ_ONLY = {
    "memories": ((), ("n", "e", "E", "d", "u")),
    "why": (("x", f"={MESSAGE}", "enter"), ("R", "e")),
    "what-if": (("x", f"={MESSAGE}", "enter", "w", "down", "down", "left"), ("W",)),
    "clean up": (("3",), ("d",)),
    "hygiene": ((":hygiene",), ("u", "U")),
    "changes": (("4",), ("u", "U")),
}


async def test_each_writing_key_says_that_a_store_is_read_only(tmp_path: Path) -> None:
    kitchen = food_install(tmp_path)
    before, config = kitchen.rows(), kitchen.config_file.read_text()
    async with running(kitchen.app(read_only=True), WIDE) as screen:
        for opening, keys in READ_ONLY.values():
            await screen.press(*opening)
            room = screen.top
            for key in keys:
                screen.app.clear_notifications()
                await screen.press(key, says="read-only")
                assert screen.top is room
            await back(screen)
    assert (kitchen.rows(), kitchen.config_file.read_text()) == (before, config)


HOSTILE_NAMES = (HOSTILE[1][1], "宽字符" * 9, "k" * 3000, "line\nfeed\ttab", "")


async def test_no_room_sends_control_characters_to_the_terminal(clean_environment: Path) -> None:
    """Memories, files, a snapshot and changes, with the cursor on each row and in its detail."""
    texts = [(key, content) for key, content, *_ in HOSTILE if "\udc80" not in key]
    texts += [(f"{name}{at}", HOSTILE[1][1]) for name in HOSTILE_NAMES for at in "ab"]
    rows = [meal(key, content, category=key) for key, content in texts]
    rows += [
        meal("secret", f"The key is {SECRET}"),
        *(chat(at, 40, key=f"{name}c") for at, name in enumerate(HOSTILE_NAMES)),
    ]
    files = {f"memory/2026-11-01_{at}{name[:50]}.md": "x" for at, name in enumerate(HOSTILE_NAMES) if "\0" not in name}
    install = old_install(clean_environment, rows, files)
    write_snapshot(install, {f"{name}{at}": name for at, name in enumerate(HOSTILE_NAMES)} | {"secret": f"{SECRET}!"})
    rooms = [keys for name, (keys, *_) in SCREENS.items() if name != "editor"]
    async with running(install.app(), WIDE) as screen:
        # Two changes with hostile rows, one and many.
        await screen.press("d", "y", "j", "space", "j", "space", "d", "y")
        for keys in (*rooms, (":snapshot",), ("4", "j", "enter")):
            await screen.press(*keys)
            for key in ("j", "tab", "j", "shift+tab", "j", "j", "j", "y"):
                await screen.press(key, hides=SECRET[8:])
                assert not {"\x1b", "\x07", "\x9b", "\r", "\u202e"} & {*screen.text}
            await back(screen)
