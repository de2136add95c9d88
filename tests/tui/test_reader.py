"""The reader: the whole memory, its neighbours, what is done to it, and the way back to its row."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.inspector import running
from tui.samples import Inspector, SampleMemory, memory

from zeroclaw_tui.tui.rooms.editor import EditorScreen

LONG = "\n".join(f"Line {number} of a long memory." for number in range(1, 61))


@pytest.fixture
def inspector(tmp_path: Path) -> Inspector:
    """Four memories, one of them long, the newest first: last, long, second, first."""
    named = (("first", "One."), ("second", "Two."), ("long", LONG), ("last", "# Four"))
    entries = [memory(key, text, "core", 9 - at, at) for at, (key, text) in enumerate(named, 1)]
    return Inspector(tmp_path, SampleMemory(entries))


async def test_enter_reads_and_j_and_k_continue_and_escape_is_on_the_row_read_last(inspector: Inspector) -> None:
    async with running(inspector.app()) as screen:
        await screen.press("enter", shows=("Memory 1 of 4", "last core · created"), hides="4 memories")
        await screen.press("k", shows=("Memory 1 of 4", "last core"))
        await screen.press("j", shows=("Memory 2 of 4", "long core", "Line 12 of a long memory."))
        screen.hides("Line 60 of a long memory.")
        await screen.press("G", shows="Line 60 of a long memory.")
        await screen.press("j", shows=("Memory 3 of 4", "second core", "Two."))
        await screen.press("escape")
        assert screen.top is screen.browser
        assert "▌" in next(line for line in screen.text.splitlines() if "second" in line)


async def test_a_double_click_reads_too_and_the_scores_of_a_recall_are_under_the_text(inspector: Inspector) -> None:
    async with running(inspector.app()) as screen:
        await screen.pilot.click("#list", offset=(12, 4), times=2)
        await screen.settle()
        screen.shows("Memory 3 of 4", "second core")
        await screen.press("escape", "slash", "=long", "enter", "enter", "G")
        screen.shows("1 of 1", "final", "keyword: rank 1")


async def test_d_deletes_the_one_that_is_read_and_none_that_is_marked(inspector: Inspector) -> None:
    """When the last one no longer exists the list is there again."""
    async with running(inspector.app()) as screen:
        await screen.press("space", "space", "enter", shows=("Memory 3 of 4", "second core"))
        await screen.press("d", shows="Delete second?")
        await screen.press("y", shows=("Memory 3 of 3", "first core"))
        assert sorted(entry.key for entry in await inspector.store.list()) == ["first", "last", "long"]
        await screen.press("k", shows="● marked")
        for left in (3, 2, 1):
            screen.shows(f" of {left}")
            await screen.press("d", "y")
        screen.shows("No memories here.")
        assert await inspector.store.list() == []


async def test_its_commands_edit_show_changes_copy_and_undo(inspector: Inspector) -> None:
    async with running(inspector.app()) as screen:
        await screen.press("enter", "y")
        assert screen.app.clipboard == "# Four"
        await screen.press("e")
        assert isinstance(screen.top, EditorScreen)
        await screen.pilot.press(*" and five", "ctrl+s")
        await screen.until("Four and five")
        await screen.settle()
        await screen.press("h", shows=("1 change of last", "+ # Four and five"))
        await screen.press("escape", "u", shows=("Memory 1 of 4", "# Four"), hides="Four and five")
