"""Little room and odd numbers: the list stays in sight, sentences are whole, and what is no number is no change."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.settling import settled
from what_if_samples import CONFIG, NARROW, WIDE, Kitchen, WhatIfApp, line_with, screen_text, screen_words

from zeroclaw_tui.tui.widgets.compared_rows import ComparedRows
from zeroclaw_tui.tui.widgets.trial_settings import TrialSettings

LOW = (60, 15)


async def test_in_a_low_terminal_settings_and_list_are_both_in_sight(kitchen: Kitchen) -> None:
    app = WhatIfApp(kitchen)
    async with app.run_test(size=LOW) as pilot:
        await settled(pilot)
        for name in ("vector weight", "threshold", "limit", "injection rule", "vector weight"):
            while app.what_if.setting.name != name:
                await pilot.press("down")
                await settled(pilot)
            assert any(line.startswith(f"▌{name}") for line in screen_text(app).split("\n"))
            assert app.screen.query_one(ComparedRows).size.height >= 3
            assert "✓ stays" in screen_text(app)


async def test_a_click_means_the_setting_that_is_seen_there(kitchen: Kitchen) -> None:
    app = WhatIfApp(kitchen)
    async with app.run_test(size=LOW) as pilot:
        await settled(pilot)
        settings = app.screen.query_one(TrialSettings)
        settings.cursor = 4
        await settled(pilot)
        shown = [line.strip("▌ ").split("  ")[0] for line in screen_text(app).split("\n")]
        await pilot.click(settings, offset=(3, 2))
        await settled(pilot)
        assert app.what_if.setting.name == shown[settings.region.y + 2] == "scoring profile"


async def test_a_weight_that_is_no_number_is_not_told_as_changed(tmp_path: Path) -> None:
    app = WhatIfApp(Kitchen(tmp_path, config=CONFIG + "vector_weight = nan\n"))
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        assert "nothing is changed yet" in screen_words(app)
        assert "→" not in line_with(app, "vector weight")


@pytest.mark.parametrize("size", [NARROW, WIDE], ids=["80x24", "140x40"])
async def test_what_is_wrong_with_the_settings_is_said_to_its_end(tmp_path: Path, size: tuple[int, int]) -> None:
    """Without vectors, and with the rules of a version that would migrate the file, there are two long sentences."""
    app = WhatIfApp(Kitchen(tmp_path, vectors=False))
    async with app.run_test(size=size) as pilot:
        await settled(pilot)
        while app.what_if.setting.name != "scoring profile":
            await pilot.press("down")
        await pilot.press("right")
        await settled(pilot)
        (*_, last) = str(app.screen.query_one("#complaints").render()).split()
        assert last in " ".join(screen_text(app).split())
        complaints = app.screen.query_one("#complaints")
        assert complaints.size.height == complaints.virtual_size.height
