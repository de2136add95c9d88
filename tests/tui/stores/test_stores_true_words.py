"""What the screen says of a store is true: how recall ranks, why nothing was found."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from stores_samples import GONE, Away, Known, sqlite
from support.screens import WIDE, line, said, screen_text, screen_words
from support.settling import running, settled, until
from tui_samples import Inspector, browser, sample_memories

from zeroclaw_tui.backends.base import Memory
from zeroclaw_tui.backends.markdown.store import MarkdownMemory
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.tui.rooms.editor import EditorScreen

CORE = "# Memory\n\n- Likes ramen\n  and rust,\n  in this order.\n- Timezone is EST.\n- Runs on Sundays.\n"


@pytest.fixture
async def noted(tmp_path: Path) -> Known:
    """Notes of five lines."""
    (tmp_path / "MEMORY.md").write_text(CORE)
    store = MarkdownMemory(tmp_path)
    await store.open()
    return Known(tmp_path, {"markdown": store}, embeds=False)


async def test_marks_of_lines_that_moved_are_taken_away(noted: Known, tmp_path: Path) -> None:
    """A line's id is its place: after an undo above it another line is there, which nobody marked."""
    async with running(noted.app()) as (app, pilot):
        await pilot.press("d")
        await until(pilot, lambda: "Delete MEMORY:0?" in screen_text(app))
        await pilot.press("y")
        await until(pilot, lambda: "4 memories" in line(app, 2))
        await settled(pilot)
        await pilot.press("G", "space")
        await until(pilot, lambda: "● 1 marked" in screen_text(app))
        await settled(pilot)
        await pilot.press("u")
        await until(pilot, lambda: "5 memories" in line(app, 2))
        await settled(pilot)
        assert "marked" not in screen_text(app)
        assert (tmp_path / "MEMORY.md").read_text() == CORE


async def test_a_failed_search_does_not_show_the_count_of_the_one_before(tmp_path: Path) -> None:
    store = Away(sample_memories())
    async with running(Inspector(tmp_path, store).app(), WIDE) as (app, pilot):
        store.failure = GONE
        await pilot.press("slash", "tab", *"ramen")
        await until(pilot, lambda: "went away" in screen_text(app))
        await settled(pilot)
        assert "found" not in line(app, 2)
        store.failure = None
        await pilot.press("enter", "r")
        await until(pilot, lambda: "found" in line(app, 2))


async def test_a_store_that_opens_late_does_not_take_the_other_from_under_an_editor(tmp_path: Path) -> None:
    """What is typed in the meantime is saved into the store it was begun in."""
    opens = asyncio.Event()
    known = Slow(tmp_path, {"sqlite": sqlite(), "postgres": sqlite()}, opens)
    async with running(known.app(), WIDE) as (app, pilot):
        await pilot.press("6")
        await until(pilot, lambda: "2 answer" in screen_text(app))
        await pilot.press("j", "enter")
        await until(pilot, lambda: len(app.screen_stack) == 1)
        await pilot.press("n")
        await until(pilot, lambda: isinstance(app.screen, EditorScreen))
        await pilot.press(*"mine")
        opens.set()
        await until(pilot, lambda: "Press 6 to open it" in said(app))
        assert known.closed == ["postgres"]
        assert isinstance(app.screen, EditorScreen)
        assert "mine" in screen_words(app)


class Slow(Known):
    """Its second store opens when the test says so."""

    def __init__(self, folder: Path, memories: dict[str, Memory], opens: asyncio.Event) -> None:
        super().__init__(folder, memories)
        self._opens = opens

    async def open(self, config: Any) -> Library:
        if config.backend == "postgres":
            await self._opens.wait()
        return await super().open(config)


async def test_a_day_in_a_name_is_an_age(tmp_path: Path) -> None:
    """The facet leaves exactly what it counts; the detail says whose reading the day is."""
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "2026-03-07-roof.md").write_text("- mended\n- paid\n")
    (tmp_path / "MEMORY.md").write_text("- kept\n")
    store = MarkdownMemory(tmp_path)
    await store.open()
    async with running(Known(tmp_path, {"markdown": store}, embeds=False).app(), WIDE) as (app, pilot):
        browser(app).panes.look(browser(app).view.toggled("age", "older"))
        await until(pilot, lambda: "2 memories · older than 30 d" in screen_words(app))
        await until(pilot, lambda: "created 2026-03-07" in screen_words(app))
        assert "day from the file's name (ours)" in screen_words(app)
        assert "?" not in line(app, 3)
