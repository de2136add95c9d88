"""The inspector works on a plug-in that has only the methods of ZeroClaw's trait."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from support import settling
from support.inspector import running
from support.places import OpenOptions
from tui.samples import STILL

from zeroclaw_tui.tui.app import InspectorApp

SCREENS = {
    "3": "too short", ":hygiene": "Nothing to archive or delete", ":health": "shoe-box store answers", "4": "hange",
    ":snapshot": "only for SQLite and Lucid", "6": "configured:", "question_mark": "Search the memories",
}  # fmt: skip
"""The text on each screen, by the key that opens it."""


@pytest.mark.usefixtures("box")
async def test_every_screen_opens_or_says_why_not(shoe_box, monkeypatch):
    settling.still_terminal(monkeypatch)
    app = InspectorApp(OpenOptions(config_dir=shoe_box), clock=lambda: datetime(2026, 1, 9, tzinfo=UTC), pace=STILL)
    async with running(app, (120, 36)) as screen:
        await screen.until("3 memories", "lang")
        for key, expected in SCREENS.items():
            await screen.press(key)
            await screen.until(lambda text=expected: text in " ".join(f"{screen.words} {screen.notifications}".split()))
            assert "Internal error" not in screen.words + screen.notifications
            await screen.press("escape")
            await screen.until("3 memories", "last stored first")
