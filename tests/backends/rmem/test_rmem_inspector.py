"""R-Mem's database in the inspector, opened by its path."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from support import settling
from support.rmem_file import BEES, mila
from support.screens import said, screen_text
from support.settling import settled

from zeroclaw_tui.config.locations import OpenOptions
from zeroclaw_tui.memory.query import MemoryFilter, Superseded
from zeroclaw_tui.tui.app import InspectorApp
from zeroclaw_tui.tui.rooms.browser import BrowserRoom
from zeroclaw_tui.tui.view import Pace
from zeroclaw_tui.tui.widgets.memory_list import MemoryList

NOW = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)
STILL = Pace(debounce=0.0, poll=None, stopwatch=lambda: 0.0)


@pytest.fixture(autouse=True)
def still_terminal(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    settling.still_terminal(monkeypatch)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "own"))


async def test_it_is_browsed_and_recalled(tmp_path: Path) -> None:
    """The header names whose store it is; recall shows sources; a deleted text is shown with its history."""
    file = mila(tmp_path / "rustmem.db")
    file.delete(BEES)
    before = file.everything()
    app = InspectorApp(OpenOptions(path=file.path), clock=lambda: NOW, pace=STILL)
    async with app.run_test(size=(150, 40)) as pilot:
        await settled(pilot)
        screen = app.screen_stack[0]
        assert isinstance(screen, BrowserRoom)
        rows = screen.query_one(MemoryList)
        shown = screen_text(app)
        assert "rmem (ZeroClaw would use markdown)" in shown
        assert "Mila prefers rye bread" in shown
        assert "Mila keeps bees on the roof" not in shown
        await pilot.press("slash", *"honey", "enter")
        await settled(pilot)
        assert "Mila sells Honey" in screen_text(app)
        assert "threshold" not in screen_text(app)
        await pilot.press("slash", "ctrl+u", *"rye", "enter")
        await settled(pilot)
        assert "no score: R-Mem ranks nothing" in screen_text(app)
        await pilot.press("escape")
        await settled(pilot)
        screen.panes.look(replace(screen.view, query="", filter=MemoryFilter(superseded=Superseded.ONLY)))
        await settled(pilot)
        while rows.selected_entry is not None and rows.selected_entry.kind != "archive:deleted":
            await pilot.press("down")
            await settled(pilot)
        await pilot.press("d")
        await settled(pilot)
        assert "R-Mem databases are read-only here" in said(app)
        await pilot.press("h")
        await settled(pilot)
        told = screen_text(app)
        assert "`zeroclaw memory get` shows what the store itself recorded." in told
    assert file.everything() == before
