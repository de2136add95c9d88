"""The inspector shows Lucid's own memories like any other, and no key changes them."""

from __future__ import annotations

from datetime import UTC, datetime

from support import settling
from support.inspector import running
from support.lucid_program import write_program
from support.places import OpenOptions
from support.screens import WIDE
from support.small_store import make
from support.whole_store import everything

from zeroclaw_tui.tui.app import InspectorApp
from zeroclaw_tui.tui.view import Pace
from zeroclaw_tui.tui.widgets.memory_list import RankedRow

NOW = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)
STILL = Pace(debounce=0.0, poll=None, stopwatch=lambda: 0.0)
CONFIG = 'default_temperature = 0.7\n[memory]\nbackend = "lucid"\nauto_save = true\n'
ROWS = [{"key": "tea", "content": "Likes green tea"}, {"key": "cup", "content": "The blue cup"}]


async def test_keys_that_change_memories_say_why_they_cannot(tmp_path, monkeypatch):
    """No dialog opens, and only rows of the database can be marked."""
    settling.still_terminal(monkeypatch)
    memory_folder = tmp_path / "install" / "workspace" / "memory"
    memory_folder.mkdir(parents=True)
    (tmp_path / "install" / "config.toml").write_text(CONFIG)
    database = make(memory_folder / "brain.db", "G2", ROWS)
    program = write_program(tmp_path / "bin", memories=[("decision", "lang: \x1b[31mtea"), ("Visual", "a pot of tea")])
    monkeypatch.setenv("ZEROCLAW_LUCID_CMD", str(program.path))
    monkeypatch.setenv("ZEROCLAW_LUCID_RECALL_TIMEOUT_MS", "60000")
    before = everything(database)
    app = InspectorApp(OpenOptions(config_dir=tmp_path / "install"), clock=lambda: NOW, pace=STILL)
    async with running(app, WIDE) as screen:
        await screen.press("slash", *"tea", "enter", "down")
        assert screen.rows.selected_entry.id == "lucid:0"
        for key in ("e", "E", "d", "space"):
            app.clear_notifications()
            await screen.press(key)
            # A sentence is not repeated while it is shown.
            screen.says("cannot be changed here")
            assert screen.top is screen.browser
            assert len(screen.rows.marked) == 0
        await screen.press("asterisk")
        ranked = [row for row in screen.rows.rows if isinstance(row, RankedRow)]
        assert [row.result.entry.key for row in ranked if screen.rows.has_mark(row)] == ["tea"]
    assert everything(database) == before
