"""A database that is not there is made from its snapshot, from the screen that says what is wrong."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from support.screens import NARROW, screen_words
from support.settling import until
from textual.pilot import Pilot
from upkeep_samples import Home

from zeroclaw_tui.config.locations import OpenOptions
from zeroclaw_tui.tui.app import InspectorApp
from zeroclaw_tui.tui.dialogs import Question
from zeroclaw_tui.tui.rooms.browser import BrowserRoom
from zeroclaw_tui.tui.rooms.stores import ErrorScreen
from zeroclaw_tui.tui.view import Pace


@pytest.fixture
def home(clean_environment: Path) -> Home:
    """A home without a snapshot so far."""
    return Home(clean_environment)


def inspector(home: Home, **options: Any) -> InspectorApp:
    home.root.joinpath("memory").mkdir(parents=True, exist_ok=True)
    home.config_dir.joinpath("config.toml").write_text('[memory]\nbackend = "sqlite"\n', encoding="utf-8")
    pace = Pace(debounce=0, poll=None, patience=0.01, stopwatch=lambda: 0.0)
    return InspectorApp(OpenOptions(config_dir=home.config_dir, **options), clock=home.clock, pace=pace)


async def shown(pilot: Pilot[Any], kind: type[Any]) -> None:
    await until(pilot, lambda: isinstance(pilot.app.screen, kind))
    await until(pilot, lambda: all(one.is_finished or one.group == "make-ask" for one in pilot.app.workers))
    await pilot.pause()


@pytest.mark.parametrize("is_there", [False, True], ids=["none", "empty"])
async def test_capital_s_makes_the_database_and_opens_it(home: Home, is_there: bool) -> None:
    home.write_snapshot()
    app = inspector(home)
    if is_there:
        home.config.database.touch()
    async with app.run_test(size=NARROW, notifications=True) as pilot:
        await shown(pilot, ErrorScreen)
        assert "Press S to create the database from it" in screen_words(app)
        await pilot.press("S")
        await shown(pilot, Question)
        assert "MEMORY_SNAPSHOT.md has 7 memories." in screen_words(app)
        await pilot.press("y")
        await shown(pilot, BrowserRoom)
        await until(pilot, lambda: "7 memories" in screen_words(app))
        assert "old_car" in screen_words(app)
    assert home.snapshot.exists()


@pytest.mark.parametrize("spoil", ["none", "damaged", "read_only"])
async def test_where_nothing_can_be_made_the_key_is_not_there(home: Home, spoil: str) -> None:
    app = inspector(home, read_only=spoil == "read_only")
    if spoil != "none":
        home.write_snapshot()
    if spoil == "damaged":
        await asyncio.to_thread(_write, home.config.database)
    async with app.run_test(size=NARROW) as pilot:
        await shown(pilot, ErrorScreen)
        assert "from the snapshot" not in screen_words(app)
        await pilot.press("S")
        await pilot.pause()
        assert isinstance(app.screen, ErrorScreen)


def _write(path: Path) -> None:
    path.write_text("no database\n" * 1000, encoding="utf-8")
