"""The inspector on a plug-in that has nothing but the verbs of ZeroClaw's trait."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from support import settling
from support.screens import screen_words
from support.settling import press, until
from textual.pilot import Pilot
from tui.samples import STILL

from zeroclaw_tui.config.locations import OpenOptions
from zeroclaw_tui.tui.app import InspectorApp


@pytest.fixture(autouse=True)
def still_terminal(monkeypatch):
    settling.still_terminal(monkeypatch)


@asynccontextmanager
async def opened(box: Path, shoe_box: Path) -> AsyncIterator[Pilot[Any]]:
    app = InspectorApp(OpenOptions(config_dir=shoe_box), clock=lambda: datetime(2026, 1, 9, tzinfo=UTC), pace=STILL)
    async with app.run_test(size=(120, 36), notifications=True) as pilot:
        await shown(pilot, "3 memories", "lang")
        yield pilot


def words(pilot: Pilot[Any]) -> str:
    """The screen and what the notifications say."""
    notes = " ".join(str(note.message) for note in pilot.app._notifications)
    return f"{screen_words(pilot.app)} {' '.join(notes.split())}"


async def shown(pilot: Pilot[Any], *wanted: str) -> None:
    await until(pilot, lambda: all(text in words(pilot) for text in wanted))


SCREENS = {
    "3": "too short",
    ":hygiene": "Nothing to archive or delete",
    ":health": "shoe-box store answers",
    "4": "hange",
    ":snapshot": "only for SQLite and Lucid",
    "6": "configured:",
    "question_mark": "Search the memories",
}
"""By the key that opens each, what it says."""


async def test_every_screen_opens_or_says_why_not(box, shoe_box):
    async with opened(box, shoe_box) as pilot:
        for key, said in SCREENS.items():
            await press(pilot, key)
            await shown(pilot, said)
            assert "Internal error" not in words(pilot)
            await pilot.press("escape")
            await shown(pilot, "3 memories", "last stored first")
