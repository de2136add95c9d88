"""Lucid's own memories in the inspector: they are read as any other, and nothing there changes them."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
from support import settling
from support.lucid_program import write_program
from support.settling import settled
from support.small_store import make
from textual.pilot import Pilot

from zeroclaw_tui.config.locations import OpenOptions
from zeroclaw_tui.tui.app import InspectorApp
from zeroclaw_tui.tui.rooms.browser import BrowserRoom
from zeroclaw_tui.tui.view import Pace
from zeroclaw_tui.tui.widgets.memory_list import MemoryList
from zeroclaw_tui.tui.widgets.rows import RankedRow

NOW = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)
STILL = Pace(debounce=0.0, poll=None, stopwatch=lambda: 0.0)
CONFIG = 'default_temperature = 0.7\n[memory]\nbackend = "lucid"\nauto_save = true\n'
ROWS = [{"key": "tea", "content": "Likes green tea"}, {"key": "cup", "content": "The blue cup"}]


@pytest.fixture(autouse=True)
def still_terminal(monkeypatch):
    settling.still_terminal(monkeypatch)


@pytest.fixture
def program(tmp_path, monkeypatch):
    """An install on lucid, and the stand-in on PATH as the command of its environment."""
    folder = tmp_path / "install"
    (folder / "workspace" / "memory").mkdir(parents=True)
    (folder / "config.toml").write_text(CONFIG)
    make(folder / "workspace" / "memory" / "brain.db", "G2", ROWS)
    memories = [("decision", "lang: \x1b[31mprefers tea"), ("Visual, image", "a pot of tea")]
    program = write_program(tmp_path / "bin", memories=memories)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("ZEROCLAW_LUCID_CMD", str(program.path))
    monkeypatch.setenv("ZEROCLAW_LUCID_RECALL_TIMEOUT_MS", "60000")
    return program


def app_on(folder: Path) -> InspectorApp:
    return InspectorApp(OpenOptions(config_dir=folder / "install"), clock=lambda: NOW, pace=STILL)


def database_rows(folder: Path) -> list[tuple[object, ...]]:
    path = folder / "install" / "workspace" / "memory" / "brain.db"
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        return connection.execute("SELECT * FROM memories ORDER BY rowid").fetchall()


def said(pilot: Pilot[None]) -> str:
    return " ".join(str(notification.message) for notification in pilot.app._notifications)


async def recall_tea(pilot: Pilot[None]) -> MemoryList:
    """Ask for tea, and put the cursor on the first of lucid's rows."""
    await settled(pilot)
    screen = pilot.app.screen_stack[0]
    assert isinstance(screen, BrowserRoom)
    await pilot.press("slash", *"tea", "enter")
    await settled(pilot)
    await pilot.press("down")
    await settled(pilot)
    rows = screen.query_one(MemoryList)
    entry = rows.selected_entry
    assert entry.id == "lucid:0"
    return rows


async def test_keys_that_change_say_why_they_do_not(tmp_path, program):
    """One sentence says it; no dialog opens, no mark stays but on the database's own rows, and that is as it was."""
    before = database_rows(tmp_path)
    app = app_on(tmp_path)
    async with app.run_test(size=(140, 40)) as pilot:
        rows = await recall_tea(pilot)
        for key, sentence in (
            ("e", "cannot be changed here"),
            ("E", "cannot be changed here"),
            ("d", "cannot be changed here"),
            ("space", "cannot be changed here"),
        ):
            await pilot.press(key)
            await settled(pilot)
            # The same sentence is not put up twice.
            assert sentence in said(pilot), key
            assert isinstance(app.screen, BrowserRoom)
            assert len(rows.marked) == 0
        await pilot.press("asterisk")
        await settled(pilot)
        marked = [row.result.entry.key for row in rows.rows if isinstance(row, RankedRow) and rows.has_mark(row)]
        assert marked == ["tea"]
    assert database_rows(tmp_path) == before
