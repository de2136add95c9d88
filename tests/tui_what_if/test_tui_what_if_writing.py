"""`W`: what changes in config.toml is shown, asked about, and written with a backup; everything else stays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from support.settling import settled
from textual.pilot import Pilot
from what_if_samples import CONFIG, NARROW, WIDE, Kitchen, WhatIfApp, line_with, screen_words, told

from zeroclaw_tui.tui.screens.hygiene_rules import RuleReviewScreen


async def press(pilot: Pilot[Any], *keys: str) -> None:
    for key in keys:
        await pilot.press(key)
        await settled(pilot)


async def test_it_shows_the_difference_and_writes_it(kitchen: Kitchen) -> None:
    """Comments stay, the backup is the file of before, and the library scores by what was written."""
    app = WhatIfApp(kitchen)
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        await press(pilot, "down", "down", *["left"] * 3, "W")
        assert isinstance(app.screen, RuleReviewScreen)
        words = screen_words(app)
        assert "- min_relevance_score = 0.4" in words
        assert "+ min_relevance_score = 0.25" in words
        assert "injected 3 → 4" in words
        await press(pilot, "y")
        assert kitchen.config_file.read_text() == CONFIG.replace("score = 0.4", "score = 0.25")
        assert app.library is not None
        assert app.library.settings.threshold == 0.25
        assert "nothing is changed yet" in screen_words(app)
        assert "0.25" in line_with(app, "threshold")
        assert "kept as a backup" in told(app)
        await press(pilot, "escape")
        assert app.given == [True]
    assert [path.read_text() for path in kitchen.config_dir.rglob("backups/*")] == [CONFIG]


async def test_leaving_the_question_writes_nothing(kitchen: Kitchen) -> None:
    app = WhatIfApp(kitchen)
    async with app.run_test(size=NARROW) as pilot:
        await settled(pilot)
        for answer in ("n", "b", "escape", "enter"):
            await press(pilot, "down", "left", "W", answer)
            assert app.screen is app.what_if
        assert app.what_if.tried.changed
        await press(pilot, "escape")
        assert app.given == [False]
    assert kitchen.config_file.read_text() == CONFIG


async def test_what_config_does_not_hold_is_said_and_stays_a_trial(kitchen: Kitchen) -> None:
    app = WhatIfApp(kitchen)
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        await press(pilot, "down", "down", "left", "down", "down", "right", "W")
        assert "The limit is not written" in screen_words(app)
        await press(pilot, "y")
        assert "5 → 6" in screen_words(app)
        assert [setting.name for setting in app.what_if.tried.changed] == ["limit"]


async def test_nothing_to_write_is_said(kitchen: Kitchen) -> None:
    app = WhatIfApp(kitchen)
    async with app.run_test(size=NARROW) as pilot:
        await settled(pilot)
        await press(pilot, "W")
        assert "There is nothing to write" in told(app)
        assert app.screen is app.what_if


async def test_a_value_zeroclaw_does_not_take_is_refused(tmp_path: Path) -> None:
    kitchen = Kitchen(tmp_path, profile="0.8.4")
    app = WhatIfApp(kitchen)
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        await press(pilot, "down", "down", "3", "enter", "W")
        assert "must be a number from 0 to 1" in told(app)
    assert kitchen.config_file.read_text() == CONFIG


async def test_with_read_only_it_is_dimmed_and_says_why(kitchen: Kitchen) -> None:
    app = WhatIfApp(kitchen, read_only=True)
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        await press(pilot, "down", "down", "left", "W")
        assert app.screen is app.what_if
        assert "ead-only" in told(app)
    assert kitchen.config_file.read_text() == CONFIG


async def test_a_file_that_changed_meanwhile_is_not_overwritten(kitchen: Kitchen) -> None:
    app = WhatIfApp(kitchen)
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        await press(pilot, "down", "down", "left", "W")
        kitchen.config_file.write_text(CONFIG + "# another hand\n")
        await press(pilot, "y")
        assert "changed" in told(app)
        assert app.what_if.tried.changed
    assert kitchen.config_file.read_text() == CONFIG + "# another hand\n"
