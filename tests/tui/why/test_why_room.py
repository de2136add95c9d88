"""What the tabs share: the line of the message, the memory, the scoring, failures, and the ways in and out."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest
from support.rooms import RoomApp
from support.screens import WIDE, line, line_with, said, screen_text, screen_words
from support.settling import burst, click_text, press, running, settled, until
from tui_samples import lit_mode
from why_samples import MESSAGE, NOW, Kitchen

from zeroclaw_tui.config.locations import OpenOptions
from zeroclaw_tui.memory.errors import NotReachable
from zeroclaw_tui.tui.app import InspectorApp
from zeroclaw_tui.tui.rooms.why import WhyRoom
from zeroclaw_tui.tui.view import Pace

TABS = {
    "x": "“cutlery” is not in the prompt",
    "w": "settings not modified",
    "P": "3 memories are put before",
}


async def test_each_tab_is_a_key_and_a_click_away_with_message_and_memory(kitchen: Kitchen) -> None:
    """The message is typed once, and its text is selected; escape goes a step out at a time."""
    async with running(kitchen.room("prompt", "cutlery")) as (app, pilot):
        for key, words in TABS.items():
            # From the stages what-if would try the advice.
            await press(pilot, "P", key)
            assert words in screen_text(app)
            assert MESSAGE in line(app, 1)
        await press(pilot, "P")
        await click_text(pilot, "x stages")
        assert TABS["x"] in screen_text(app)
        await press(pilot, "slash", "=eat xwps", "enter")
        assert "for “eat xwps”" in screen_text(app)
        await press(pilot, "P")
        assert "put before “eat xwps”" in screen_text(app)
        await press(pilot, "slash", "right", "s", "down", "w")
        assert " ❯ eat xwpss" in screen_text(app)
        assert "settings not modified" in screen_text(app) or "Nothing is recalled" in screen_text(app)
        await press(pilot, "slash", "escape")
        assert app.given == []
        await press(pilot, "escape")
    assert app.given == [False]


async def test_the_list_opens_each_tab_with_its_message_and_follows_another_scoring_version(kitchen: Kitchen) -> None:
    """And what the room is left for."""
    async with running(browsing(kitchen), WIDE) as (app, pilot):
        await press(pilot, "slash", "=eat", "enter")
        assert "scoring 0.7.5" in screen_text(app)
        for key, words in {
            "x": "for “eat”",
            "w": "recalled · settings not modified",
            ":prompt": "before “eat”",
        }.items():
            await press(pilot, key)
            assert isinstance(app.screen, WhyRoom)
            assert words in screen_text(app)
            assert "❯ eat" in screen_text(app)
            await press(pilot, "escape")
            assert app.screen is app.screen_stack[0]
        await press(pilot, "x", "p", "end", "enter", "escape")
        assert "scoring 0.8.4" in line(app, 1)
    assert not said(app).startswith("Not here")


async def test_s_lists_what_is_similar(kitchen: Kitchen) -> None:
    """A message that is typed next is a recall again."""
    async with running(browsing(kitchen), WIDE) as (app, pilot):
        await press(pilot, "slash", "=cutlery", "tab", "enter", "s")
        assert lit_mode(app) == "similar"
        assert "Bought new chopsticks." in line(app, 2)
        assert "compared by rare words · This memory has no vector." in screen_words(app)
        await press(pilot, "d", "escape", "x")
        assert "For which message?" in screen_text(app)


async def test_what_begins_like_an_option_is_none_in_the_line_for_a_shell(kitchen: Kitchen) -> None:
    kitchen.meal("-v  x", "--eat", (1.0, 0.0, 0.0, 0.0))
    async with running(browsing(kitchen), WIDE) as (app, pilot):
        await press(pilot, "slash", "=--eat", "enter", "x", "question_mark", "=why this memory", "ctrl+y")
        assert re.fullmatch(r"zeroclaw memory explain --query=--eat --config-dir \S+ -- '-v  x'", app.clipboard)


async def test_keys_that_come_in_one_burst_go_where_they_were_meant_to(kitchen: Kitchen) -> None:
    async with running(kitchen.room("stages", "cutlery")) as (app, pilot):
        burst(app, "/allergic\rP")
        await until(pilot, lambda: "put before “allergic”" in screen_text(app))
        await settled(pilot)
        assert " ❯ allergic " in screen_text(app)


async def test_the_fingers_rest_before_the_store_is_asked(kitchen: Kitchen) -> None:
    kitchen.pace = Pace(debounce=600, poll=None, patience=30)
    async with running(kitchen.room("stages", "cutlery", "")) as (app, pilot):
        await press(pilot, "e", "a", "t")
        assert "For which message?" in screen_text(app)
        await press(pilot, "enter")
        assert "for “eat”" in screen_text(app)


async def test_a_late_answer_is_dropped(kitchen: Kitchen, monkeypatch: pytest.MonkeyPatch) -> None:
    async with running(kitchen.room("stages", "cutlery")) as (app, pilot):
        waits, evidence = asyncio.Event(), app.library.memory.search

        async def slowly(trial: Any, *more: Any, **named: Any) -> Any:
            if trial.request.query == "wok":
                await waits.wait()
            return await evidence(trial, *more, **named)

        monkeypatch.setattr(app.library.memory, "search", slowly)
        await pilot.press("slash", "w", "o", "k", "enter")
        await until(pilot, lambda: "❯ wok" in screen_text(app))
        await pilot.press("slash", *"chopsticks", "enter")
        await until(pilot, lambda: "for “chopsticks”" in screen_text(app))
        waits.set()
        await settled(pilot)
        assert "for “chopsticks”" in screen_text(app)


@pytest.mark.parametrize("tab", ["stages", "what_if", "prompt"])
async def test_a_failure_leaves_the_answer_on_the_screen_and_r_tries_again(
    kitchen: Kitchen, monkeypatch: pytest.MonkeyPatch, tab: Any
) -> None:
    async with running(kitchen.room(tab, "cutlery")) as (app, pilot):
        before = screen_text(app)
        with monkeypatch.context() as away:
            go_away(away, app)
            await press(pilot, "r")
            assert "✗ The store went away. Is it running? r to retry" in screen_words(app)
            assert before.splitlines()[3] in screen_text(app)
        await press(pilot, "r")
        assert screen_text(app) == before


def go_away(monkeypatch: pytest.MonkeyPatch, app: RoomApp) -> None:
    """From now on the store answers nothing."""

    async def fail(*_: Any, **__: Any) -> Any:
        raise NotReachable("The store went away.", hint="Is it running?")

    monkeypatch.setattr(app.library.memory, "search", fail)


async def test_a_failure_at_first_says_what_to_do(kitchen: Kitchen, monkeypatch: pytest.MonkeyPatch) -> None:
    async with running(kitchen.room("stages", "cutlery", "")) as (app, pilot):
        with monkeypatch.context() as away:
            go_away(away, app)
            await press(pilot, "e", "a", "t", "enter")
            assert "The store did not answer." in screen_text(app)
        await press(pilot, "r")
        assert "for “eat”" in screen_text(app)


async def test_another_scoring_version_applies_in_all_tabs_and_afterwards(kitchen: Kitchen) -> None:
    async with running(kitchen.room("prompt", "cutlery"), WIDE) as (app, pilot):
        await press(pilot, "p", "home", "enter")
        assert "scoring 0.1.7" in screen_text(app)
        assert "[/Memory context]" not in screen_text(app)
        await press(pilot, "w")
        assert "0.1.7" in line_with(app, "scoring profile")
        assert "settings not modified" in screen_text(app)
        await press(pilot, "escape")
    assert app.given == [True]


async def test_leaving_while_it_is_asked_leaves_nothing_behind(
    kitchen: Kitchen, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(kitchen.room("stages", "cutlery")) as (app, pilot):
        asked = asyncio.Event()

        async def never(*_: Any, **__: Any) -> Any:
            asked.set()
            await asyncio.Event().wait()

        monkeypatch.setattr(app.library.memory, "search", never)
        await pilot.press("r")
        await until(pilot, asked.is_set)
        await pilot.press("q")
        await until(pilot, lambda: app.given == [False])
        await settled(pilot)


def browsing(kitchen: Kitchen) -> InspectorApp:
    """The whole inspector on the kitchen's database, with its embedder."""

    class KitchenApp(InspectorApp):
        async def open_library(self, config: Any) -> Any:
            return await kitchen.open()

    options = OpenOptions(config_dir=kitchen.config_dir, profile="0.7.5")
    return KitchenApp(options, clock=lambda: NOW, pace=kitchen.pace)
