"""The rerank stage tried on the screen, whose turn it is, and a value that an explanation has proved."""

from __future__ import annotations

from typing import Any

from support.settling import settled
from textual.pilot import Pilot
from what_if_samples import WIDE, Kitchen, WhatIfApp, line_with, screen_text, screen_words, until

from zeroclaw_tui.tui.screens.explain import ExplainScreen
from zeroclaw_tui.tui.screens.what_if import WhatIfScreen
from zeroclaw_tui.tui.widgets.compared_rows import ComparedRows
from zeroclaw_tui.tui.widgets.trial_settings import TrialSettings


async def press(pilot: Pilot[Any], *keys: str) -> None:
    for key in keys:
        await pilot.press(key)
        await settled(pilot)


async def choose(pilot: Pilot[Any], name: str) -> None:
    """Move to the setting of this name."""
    for _ in range(20):
        if pilot.app.screen.setting.name == name:  # type: ignore[attr-defined]
            return
        await press(pilot, "down")
    raise AssertionError(f"there is no setting {name}")


async def test_rerank_recalls_a_pool_and_says_who_enters_and_what_it_made_of_the_rest(kitchen: Kitchen) -> None:
    app = WhatIfApp(kitchen)
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        await choose(pilot, "scoring profile")
        while app.what_if.tried.now.profile.version != "0.8.4":
            await press(pilot, "right")
        await choose(pilot, "rerank")
        await press(pilot, "right")
        assert "off → on" in line_with(app, "rerank ")
        assert app.what_if.tried.now.settings.rerank.enabled
        before = screen_text(app)
        await choose(pilot, "importance")
        await press(pilot, *["right"] * 12)
        assert "0.20 → 0.80" in line_with(app, "importance")
        assert screen_text(app) != before
        assert "rerank" in screen_words(app)


async def test_an_old_version_has_no_rerank_and_says_since_when(kitchen: Kitchen) -> None:
    app = WhatIfApp(kitchen)
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        await choose(pilot, "scoring profile")
        while app.what_if.tried.now.profile.version >= "0.8.4":
            await press(pilot, "left")
        assert "since 0.8.4" in line_with(app, "rerank ")


async def test_what_if_opens_with_the_value_that_the_explanation_has_proved(kitchen: Kitchen) -> None:
    app = WhatIfApp(kitchen)
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        rows = app.screen.query_one(ComparedRows)
        await press(pilot, "tab")
        while rows.selected is None or rows.selected.key != "lunch_2026_03":
            await press(pilot, "j")
        await press(pilot, "x")
        await until(
            pilot, lambda: isinstance(app.screen, ExplainScreen) and "puts it in the prompt" in screen_words(app)
        )
        advised = line_with(app, "puts it in the prompt")
        assert "a threshold of 0.3" in advised
        await press(pilot, "w")
        await until(pilot, lambda: isinstance(app.screen, WhatIfScreen))
        await until(pilot, lambda: "1 enters" in screen_words(app))
        assert app.screen.query_one(TrialSettings).cursor == 2
        assert "+ enters" in line_with(app, "lunch_2026_03")
