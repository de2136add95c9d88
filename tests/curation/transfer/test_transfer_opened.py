"""A file or folder of another tool that somebody opens, not imports: looked at, or told what brings it in."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest
from support import settling
from support.settling import settled
from support.warm_start import run_memory

from zeroclaw_tui.config.locations import OpenOptions
from zeroclaw_tui.tui.app import InspectorApp
from zeroclaw_tui.tui.loader import Pace

DATA = Path(__file__).parents[2] / "data" / "formats"
NOW = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)
STILL = Pace(debounce=0.0, poll=None, stopwatch=lambda: 0.0)


@pytest.mark.parametrize(
    ("name", "looks"),
    [
        ("mem0.json", "looks like mem0"),
        ("server_memory.jsonl", "looks like the MCP server “memory”"),
    ],
)
def test_what_is_no_store_is_told_with_the_command_that_brings_it_in(name: str, looks: str) -> None:
    told = run_memory("list", "--location", str(DATA / name))
    assert told.returncode == 3
    assert f"{name} cannot be opened as a store. It {looks}" in told.stderr
    assert f"`zeroclaw memory import {DATA / name}` brings the memories into your agent's memory." in told.stderr


def test_an_export_of_ours_is_told_with_the_command_that_brings_it_in(tmp_path: Path) -> None:
    (tmp_path / "export.jsonl").write_text('{"key": "k", "content": "c"}\n')
    told = run_memory("list", "--location", str(tmp_path / "export.jsonl"))
    assert "export.jsonl cannot be opened as a store. It looks like an export in JSON Lines." in told.stderr


def test_what_has_no_known_format_is_said_to_be_no_store(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("hello\n" * 100)
    told = run_memory("list", "--location", str(tmp_path / "notes.txt"))
    assert "notes.txt is not a SQLite database." in told.stderr
    near = tmp_path / "MEMORY.txt"
    near.write_text("- [Frames](frames.md) — when\n")
    assert "is not a SQLite database" in run_memory("list", "--location", str(near)).stderr


@pytest.mark.parametrize(("name", "title"), [("openclaw", "OpenClaw"), ("claude_code", "Claude Code")])
def test_notes_of_another_tool_are_listed_and_not_written(name: str, title: str, tmp_path: Path) -> None:
    folder = tmp_path / name
    shutil.copytree(DATA / name, folder)
    (tmp_path / "outside.md").write_text("- of somebody else\n")
    (folder / "memory" / "link.md").symlink_to(tmp_path / "outside.md")
    listed = run_memory("list", "--location", str(folder))
    assert listed.returncode == 0
    assert "memory/link.md is a link, which is not followed." in listed.stderr
    assert "of somebody else" not in listed.stdout
    assert "description:" not in listed.stdout
    assert f"`zeroclaw memory import {folder}` brings them into your agent's memory." in listed.stderr
    refused = run_memory("store", "k", "v", "--yes", "--location", str(folder))
    assert refused.returncode == 1
    assert f"These notes look like those of {title}" in refused.stderr
    (folder / "memory" / "link.md").unlink()
    # Who says that they are an agent's notes is believed.
    assert run_memory("store", "k", "v", "--yes", "--location", str(folder), "--backend", "markdown").returncode == 0


def test_notes_that_only_have_the_names_of_another_tools_are_written(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    (tmp_path / "MEMORY.md").write_text("# Mila\n\n- Keeps bees\n")
    (tmp_path / "memory" / "2026-03-01.md").write_text("- Ordered frames\n")
    stored = run_memory("store", "k", "v", "--yes", "--location", str(tmp_path))
    assert stored.returncode == 0, stored.stderr


async def test_the_inspector_looks_at_them_and_names_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settling.still_terminal(monkeypatch)
    monkeypatch.setenv("HOME", str(tmp_path))
    folder = tmp_path / "claw"
    shutil.copytree(DATA / "openclaw", folder)
    app = InspectorApp(OpenOptions(path=folder), clock=lambda: NOW, pace=STILL)
    async with app.run_test(size=(150, 40)) as pilot:
        await settled(pilot)
        assert "Mila keeps bees" in _shown(app)
        assert "1 notice  read-only" in _shown(app)
        await app.screen.run_action("notices")
        await settled(pilot)
        assert "look like those of OpenClaw" in _shown(app)
        assert "zeroclaw memory import" in _shown(app)


async def test_the_inspector_names_the_command_where_there_is_nothing_to_look_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settling.still_terminal(monkeypatch)
    monkeypatch.setenv("HOME", str(tmp_path))
    app = InspectorApp(OpenOptions(path=DATA / "mem0.json"), clock=lambda: NOW, pace=STILL)
    async with app.run_test(size=(150, 40)) as pilot:
        await settled(pilot)
        assert "looks like mem0" in _shown(app)
        assert "zeroclaw memory import" in _shown(app)


def _shown(app: InspectorApp) -> str:
    strips = app.screen._compositor.render_strips(app.size)
    return "\n".join("".join(segment.text for segment in strip) for strip in strips)
