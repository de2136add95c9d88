"""The inspector on a plug-in that has nothing but the verbs of ZeroClaw's trait."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from plugin_samples import ROWS
from support import settling
from support.screens import screen_words
from support.settling import click_text, press, until
from textual.pilot import Pilot
from tui_samples import STILL

from zeroclaw_tui.config.locations import OpenOptions
from zeroclaw_tui.tui.app import InspectorApp


@pytest.fixture(autouse=True)
def still_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    settling.still_terminal(monkeypatch)


@asynccontextmanager
async def opened(box: Path, shoe_box: Path) -> AsyncIterator[Pilot[Any]]:
    app = InspectorApp(OpenOptions(config_dir=shoe_box), clock=lambda: datetime(2026, 1, 9, tzinfo=UTC), pace=STILL)
    async with app.run_test(size=(120, 36), notifications=True) as pilot:
        await shown(pilot, "3 memories", "lang")
        yield pilot


def contents(box: Path) -> dict[str, str]:
    return {key: row["content"] for key, row in json.loads(box.read_text("utf-8")).items()}


def words(pilot: Pilot[Any]) -> str:
    """The screen and what the notifications say."""
    notes = " ".join(str(note.message) for note in pilot.app._notifications)
    return f"{screen_words(pilot.app)} {' '.join(notes.split())}"


async def shown(pilot: Pilot[Any], *wanted: str) -> None:
    await until(pilot, lambda: all(text in words(pilot) for text in wanted))


async def test_a_memory_is_edited_deleted_and_brought_back(box: Path, shoe_box: Path) -> None:
    async with opened(box, shoe_box) as pilot:
        await shown(pilot, "shoe-box", "ZeroClaw would use markdown")
        await pilot.press("d")
        await shown(pilot, "Delete")
        await pilot.press("y")
        await shown(pilot, "2 memories")
        assert len(contents(box)) == 2
        await pilot.press("u")
        await shown(pilot, "3 memories")
        assert contents(box) == {key: row[0] for key, row in ROWS.items()}
        await pilot.press("e")
        await shown(pilot, "This store has no pins.")
        await click_text(pilot, "Allergic", "#content")
        await pilot.press("x", "ctrl+s")
        await until(pilot, lambda: contents(box)["food"] != ROWS["food"][0])
        assert contents(box) == {"lang": ROWS["lang"][0], "food": "xAllergic to peanuts", "chat": ROWS["chat"][0]}


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


async def test_every_screen_opens_or_says_why_not(box: Path, shoe_box: Path) -> None:
    async with opened(box, shoe_box) as pilot:
        for key, said in SCREENS.items():
            await press(pilot, key)
            await shown(pilot, said)
            assert "Internal error" not in words(pilot)
            await pilot.press("escape")
            await shown(pilot, "3 memories", "last stored first")
