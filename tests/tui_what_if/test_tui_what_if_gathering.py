"""When the store is asked and when not, and stores that rank by a rule of their own."""

from __future__ import annotations

import asyncio
import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.settling import settled
from textual.pilot import Pilot
from what_if_samples import NARROW, WIDE, Kitchen, WhatIfApp, line_with, screen_text, screen_words, told, until

from zeroclaw_tui.curation import prompt
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.memory.errors import NotReachable
from zeroclaw_tui.scoring.settings import Trial
from zeroclaw_tui.tui.screens import what_if_listing
from zeroclaw_tui.tui.widgets.status_bar import Banner
from zeroclaw_tui.tui.widgets.trial_settings import TrialSettings

MARKDOWN = "# Memory\n\n- She does like to eat ramen.\n- The market opens at eight.\n- Her cat likes sushi.\n"


async def press(pilot: Pilot[Any], *keys: str) -> None:
    for key in keys:
        await pilot.press(key)
        await settled(pilot)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The profile of every trial the store was asked for."""
    profiles: list[str] = []
    gather = prompt.gather_evidence

    async def counted(library: Library, trial: Trial, *, whole_store: bool = False) -> prompt.GatheredEvidence:
        profiles.append(trial.profile.version)
        return await gather(library, trial, whole_store=whole_store)

    monkeypatch.setattr(what_if_listing, "gather_evidence", counted)
    return profiles


async def test_the_store_is_asked_once_however_much_is_tried(kitchen: Kitchen, asked: list[str]) -> None:
    app = WhatIfApp(kitchen)
    async with app.run_test(size=NARROW) as pilot:
        await settled(pilot)
        for _ in range(8):
            await press(pilot, "right", "down")
        assert len(app.what_if.tried.changed) == 8
        assert asked == ["0.7.5"]


async def test_a_profile_that_asks_otherwise_is_gathered_for_while_the_list_stays(
    tmp_path: Path, asked: list[str]
) -> None:
    """ZeroClaw <= 0.7.4 lets a double quote break the search; what it finds is another thing to ask."""
    app = WhatIfApp(Kitchen(tmp_path, vectors=False, profile="0.7.4"), 'a "ramen" plate')
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        before = screen_text(app)
        await press(pilot, "p")
        assert before.split("\n")[4][:60] in screen_text(app)
        await press(pilot, "end", "enter")
        assert asked == ["0.7.4", "0.8.4"]
        assert "0.7.4 → 0.8.4" in screen_words(app)
        assert "fav_food" in screen_words(app)
        await press(pilot, "z", "p", "escape")
        assert asked == ["0.7.4", "0.8.4"]


async def test_in_a_big_store_the_last_key_counts(kitchen: Kitchen, monkeypatch: pytest.MonkeyPatch) -> None:
    """What takes long is decided in a thread; what was wanted before is not shown after it."""
    monkeypatch.setattr(prompt, "DECIDED_AT_ONCE", 0)
    app = WhatIfApp(kitchen)
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        await press(pilot, "down", "down")
        for _ in range(8):
            app.what_if.action_step(1)
        for _ in range(11):
            app.what_if.action_step(-1)
        await settled(pilot)
        assert "0.40 → 0.25" in screen_words(app)
        assert "injected 3 → 4, 1 enters" in screen_words(app)
        assert app.what_if.comparison is not None
        assert app.what_if.comparison.after.threshold == 0.25


async def test_a_store_that_does_not_answer_is_told_and_asked_again(
    kitchen: Kitchen, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The trial stays; the banner goes with the answer."""
    app = WhatIfApp(kitchen)
    async with app.run_test(size=NARROW) as pilot:
        await settled(pilot)
        await press(pilot, "down", "down", "left")

        async def gone(*given: Any, **more: Any) -> Any:
            raise NotReachable("The store does not answer.")

        with monkeypatch.context() as away:
            away.setattr(what_if_listing, "gather_evidence", gone)
            await press(pilot, "r")
            assert "The store does not answer." in screen_words(app)
        await press(pilot, "r")
        assert not app.screen.query_one("#failure", Banner).display
        assert "0.40 → 0.35" in screen_words(app)


async def test_a_store_of_its_own_rule(tmp_path: Path, asked: list[str]) -> None:
    """Weights, mode and session do nothing and say so; threshold and limit work."""
    kitchen = Kitchen(tmp_path, vectors=False)
    (kitchen.config_dir / "workspace" / "MEMORY.md").write_text(MARKDOWN)
    app = WhatIfApp(kitchen, backend="markdown")
    async with app.run_test(size=NARROW) as pilot:
        await settled(pilot)
        assert "own rule" in line_with(app, "vector weight")
        assert "own rule" in line_with(app, "search mode")
        assert "no sessions" in line_with(app, "session")
        await press(pilot, "0", "full_stop", "9", "enter")
        assert "− leaves" in line_with(app, "ramen")
        await press(pilot, "z", "p", "end", "enter")
        assert "→ 0.8.4" in screen_words(app)
        assert "ramen" in screen_words(app)
        app.screen.query_one(TrialSettings).cursor = 0
        await press(pilot, "left")
        assert "ranks by a rule of its own" in told(app)
        assert asked == ["0.7.5", "0.8.4"]


async def test_the_copied_command_recalls_the_same(tmp_path: Path) -> None:
    """Run as it was copied, whatever characters the message has."""
    app = WhatIfApp(Kitchen(tmp_path, vectors=False), '-x "eat" $(she)')
    async with app.run_test(size=NARROW) as pilot:
        await settled(pilot)
        # The channels of this version let nothing decay, so that the moment of the command does not count.
        await press(pilot, "0", "full_stop", "5", "4", "enter", "up", "up", "up", "right", "y")
        await until(pilot, lambda: app.clipboard)
        comparison = app.what_if.comparison
        assert comparison is not None
        words = shlex.split(app.clipboard)
    assert words[:3] == ["zeroclaw", "memory", "recall"]
    code = "import sys; from zeroclaw_tui.cli.main import zeroclaw; sys.argv[0] = 'zeroclaw'; sys.exit(zeroclaw())"
    command = [sys.executable, "-c", code, *words[1:3], "--json", *words[3:]]
    done = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    recalled = json.loads(done.stdout)["results"]
    assert [(one["key"], one["injected"]) for one in recalled] == [
        (result.entry.key, result.injected) for result in comparison.after.results
    ]
