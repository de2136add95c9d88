"""The ways from the list to why, and back: keys, what the list does then, and where nothing can be explained."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest
from explain_samples import MESSAGE, Kitchen
from textual.pilot import Pilot
from tui_trash_samples import screen_text, settled, until
from zeroclaw_tui.tui.screens.filters import FiltersScreen

from zeroclaw_tui.config.install import OpenOptions
from zeroclaw_tui.tui.app import InspectorApp
from zeroclaw_tui.tui.loader import Pace
from zeroclaw_tui.tui.rooms.editor import EditorScreen
from zeroclaw_tui.tui.screens.choice import ChoiceScreen
from zeroclaw_tui.tui.screens.explain import ExplainScreen
from zeroclaw_tui.tui.screens.prompt import PromptScreen
from zeroclaw_tui.tui.screens.what_if import WhatIfScreen
from zeroclaw_tui.tui.widgets.memory_list import MemoryList

sys.path.insert(0, str(Path(__file__).parents[1] / "tui_backends"))
sys.path.insert(0, str(Path(__file__).parents[1] / "tui"))

from stores_samples import Known, Lucid, none

SCREENS = {"x": ExplainScreen, "w": WhatIfScreen, "P": PromptScreen}


def said(pilot: Pilot[Any]) -> list[str]:
    return [str(note.message) for note in pilot.app._notifications]


def browsing(kitchen: Kitchen) -> InspectorApp:
    """The whole inspector on the kitchen's database, with its embedder."""

    async def opened(*_: Any) -> Any:
        return await kitchen.open()

    options = OpenOptions(config_dir=kitchen.config_dir, profile="0.7.5")
    pace = Pace(debounce=0, poll=None, patience=30)
    return InspectorApp(options, clock=kitchen.clock, opener=opened, pace=pace)


async def at(pilot: Pilot[Any], key: str) -> None:
    """Put the cursor on the memory of a key."""
    rows = pilot.app.screen.query_one(MemoryList)
    async with asyncio.timeout(10):
        while rows.selected_entry is None or rows.selected_entry.key != key:
            await pilot.press("j")
            await pilot.pause()


@pytest.mark.parametrize("key", list(SCREENS))
async def test_the_message_of_the_search_bar_is_what_is_asked_about(kitchen: Kitchen, key: str) -> None:
    app = browsing(kitchen)
    async with app.run_test(size=(140, 40)) as pilot:
        await until(pilot, lambda: "memories" in screen_text(app))
        await pilot.press("slash", *"eat", "enter")
        await settled(pilot)
        await pilot.press(key)
        await until(pilot, lambda: isinstance(app.screen, SCREENS[key]))
        await settled(pilot)
        assert app.screen.request.query == "eat"
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.screen_stack[0])


async def test_any_row_can_be_asked_about_without_a_search(kitchen: Kitchen) -> None:
    app = browsing(kitchen)
    async with app.run_test(size=(140, 40)) as pilot:
        await until(pilot, lambda: "memories" in screen_text(app))
        await at(pilot, "timezone")
        await pilot.press("x")
        await until(pilot, lambda: "Why “timezone” is recalled, or not" in screen_text(app))
        for letter in MESSAGE:
            await pilot.press("space" if letter == " " else "question_mark" if letter == "?" else letter)
        await until(
            pilot, lambda: "“timezone” is not in the prompt for “what does she like to eat?”" in screen_text(app)
        )


async def test_the_list_follows_another_scoring_version(kitchen: Kitchen) -> None:
    app = browsing(kitchen)
    async with app.run_test(size=(140, 40)) as pilot:
        await until(pilot, lambda: "memories" in screen_text(app))
        await pilot.press("slash", *"eat", "enter")
        await settled(pilot)
        assert "scoring 0.7.5" in screen_text(app)
        await pilot.press("x", "p")
        await until(pilot, lambda: isinstance(app.screen, ChoiceScreen))
        await pilot.press("end", "enter")
        await settled(pilot)
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.screen_stack[0])
        await settled(pilot)
        assert "scoring 0.8.4" in screen_text(app).splitlines()[0]


@pytest.mark.parametrize(("key", "screen"), [("e", EditorScreen), ("F", FiltersScreen)])
async def test_what_a_stage_offers_to_do_in_the_list_is_done_there(
    kitchen: Kitchen, key: str, screen: type[Any]
) -> None:
    app = browsing(kitchen)
    async with app.run_test(size=(140, 40)) as pilot:
        await until(pilot, lambda: "memories" in screen_text(app))
        await at(pilot, "cutlery")
        await pilot.press("x")
        await until(pilot, lambda: isinstance(app.screen, ExplainScreen))
        await pilot.press("escape", "x")
        await until(pilot, lambda: isinstance(app.screen, ExplainScreen))
        await pilot.press("e", "a", "t", "enter")
        await settled(pilot)
        await pilot.press(key)
        await until(pilot, lambda: isinstance(app.screen, screen))


@pytest.mark.parametrize("key", ["x", "w", "P", "s"])
async def test_where_nothing_is_stored_each_key_says_so(tmp_path: Path, key: str) -> None:
    app = Known(tmp_path, {"none": none()}).app()
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        await settled(pilot)
        await pilot.press(key)
        await settled(pilot)
        assert said(pilot) == ['Nothing is stored, because memory.backend is "none".']


@pytest.mark.parametrize(("key", "words"), [("x", "gives no reasons"), ("s", "compared with others")])
async def test_a_row_of_the_lucid_program_says_why_it_cannot_be_explained(tmp_path: Path, key: str, words: str) -> None:
    store = Lucid()
    app = Known(tmp_path, {"lucid": store}).app()
    async with app.run_test(size=(140, 40), notifications=True) as pilot:
        await settled(pilot)
        await pilot.press("slash", *"deploy", "enter")
        await settled(pilot)
        await pilot.press("G", key)
        await settled(pilot)
        assert "from the lucid program" in said(pilot)[0]
        assert words in said(pilot)[0]
