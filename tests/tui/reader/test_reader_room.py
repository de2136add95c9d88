"""The reader: the whole memory, its neighbours, what is done to it, and the way back to its row."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.screens import screen_text, screen_words
from support.settling import press, running, settled, until
from tui.tui_samples import Inspector, SampleMemory, browser, memory

from zeroclaw_tui.tui.rooms.editor import EditorScreen
from zeroclaw_tui.tui.rooms.reader import ReaderRoom

LONG = "\n".join(f"Line {number} of a long memory." for number in range(1, 61))


@pytest.fixture
def inspector(tmp_path: Path) -> Inspector:
    """Four memories, one of them long, the newest first: last, long, second, first."""
    named = (("first", "One."), ("second", "Two."), ("long", LONG), ("last", "# Four"))
    entries = [memory(key, text, "core", 9 - at, at) for at, (key, text) in enumerate(named, 1)]
    return Inspector(tmp_path, SampleMemory(entries))


async def test_enter_reads_and_j_and_k_continue_and_escape_is_on_the_row_read_last(inspector: Inspector) -> None:
    async with running(inspector.app()) as (app, pilot):
        await press(pilot, "enter")
        assert isinstance(app.screen, ReaderRoom)
        assert "1 of 4 last core · created" in screen_words(app)
        await press(pilot, "k")
        assert "1 of 4 last" in screen_words(app)
        await press(pilot, "j")
        assert "2 of 4 long" in screen_words(app)
        assert "Line 12 of a long memory." in screen_words(app)
        assert "Line 60 of a long memory." not in screen_words(app)
        await press(pilot, "G")
        assert "Line 60 of a long memory." in screen_words(app)
        await press(pilot, "j")
        assert "3 of 4 second" in screen_words(app)
        assert "Two." in screen_words(app)
        await press(pilot, "escape")
        assert app.screen is browser(app)
        assert "▌" in next(line for line in screen_text(app).splitlines() if "second" in line)


async def test_a_double_click_reads_too_and_the_scores_of_a_recall_are_under_the_text(inspector: Inspector) -> None:
    async with running(inspector.app()) as (app, pilot):
        await pilot.click("#list", offset=(12, 4), times=2)
        await settled(pilot)
        assert "3 of 4 second" in screen_words(app)
        await press(pilot, "escape", "slash", "=long", "enter", "enter", "G")
        assert isinstance(app.screen, ReaderRoom)
        assert "final" in screen_words(app)
        assert "keyword: rank 1" in screen_words(app)


async def test_d_deletes_the_one_that_is_read_and_none_that_is_marked(inspector: Inspector) -> None:
    """When the last one no longer exists the list is there again."""
    async with running(inspector.app()) as (app, pilot):
        await press(pilot, "space", "space", "enter")
        assert "3 of 4 second" in screen_words(app)
        await press(pilot, "d")
        assert "Delete second?" in screen_words(app)
        await press(pilot, "y")
        assert "3 of 3 first" in screen_words(app)
        assert sorted(entry.key for entry in await inspector.store.list()) == ["first", "last", "long"]
        await press(pilot, "k")
        assert "● marked" in screen_words(app)
        for _ in range(3):
            assert isinstance(app.screen, ReaderRoom)
            await press(pilot, "d", "y")
        assert app.screen is browser(app)
        assert await inspector.store.list() == []


async def test_its_commands_edit_show_changes_and_copy(inspector: Inspector) -> None:
    async with running(inspector.app()) as (app, pilot):
        await press(pilot, "enter", "y")
        assert app.clipboard == "# Four"
        await press(pilot, "e")
        assert isinstance(app.screen, EditorScreen)
        await pilot.press(*" and five", "ctrl+s")
        await until(pilot, lambda: "Four and five" in screen_text(app))
        await settled(pilot)
        await press(pilot, "h")
        assert "1 change of last" in screen_words(app)
        assert "+ # Four and five" in screen_words(app)
        await press(pilot, "escape")
        assert isinstance(app.screen, ReaderRoom)
