"""What all tabs share: hostile memories, a read-only store, the smallest terminal, shell lines, and the changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from support.rooms import RoomApp
from support.screens import WIDE
from support.settling import press, running
from upkeep_samples import HOSTILE, SECRET, Home, Workspace, chat, clean_up_app

from zeroclaw_tui.config.memory_config import MemoryConfig
from zeroclaw_tui.tui.rooms.upkeep import Tab

NAMES = (HOSTILE, "宽字符" * 9, "k" * 3000, "line\nfeed\ttab", "")


def hostile_clean_up(folder: Path) -> RoomApp:
    rows = [{"key": f"{name}{at}", "content": HOSTILE, "category": name} for name in NAMES for at in "ab"]
    return clean_up_app(folder, rows)


def hostile_workspace(folder: Path, tab: Tab) -> RoomApp:
    files = {f"memory/2026-11-01_{at}{name[:50]}.md": "x" for at, name in enumerate(NAMES) if "\0" not in name}
    rows = [chat(at, 40, key=name, session_id=name) for at, name in enumerate(NAMES)]
    return Workspace(folder, rows=rows, files=files).app(tab)


def hostile_snapshot(folder: Path) -> RoomApp:
    home = Home(folder)
    home.there = (*((f"{name}{at}", name) for at, name in enumerate(NAMES)), ("secret", f"The key is {SECRET}"))
    home.write_snapshot()
    return home.app()


@pytest.mark.parametrize(
    "make",
    [
        hostile_clean_up,
        lambda folder: hostile_workspace(folder, "hygiene"),
        lambda folder: hostile_workspace(folder, "health"),
        hostile_snapshot,
    ],
    ids=["clean up", "hygiene", "health", "snapshot"],
)
async def test_hostile_memories_reach_no_terminal(clean_environment: Path, make: Callable[[Path], RoomApp]) -> None:
    async with running(make(clean_environment), WIDE) as (app, pilot):
        for key in ("j", "tab", "j", "j", "j", "j", "j"):
            shown = "".join(app.lines)
            assert not any(sign in shown for sign in "\x1b\x07\x9b\u202e")
            assert SECRET[8:] not in shown
            await press(pilot, key)


async def test_a_read_only_store_is_checked_and_says_why_keys_are_dimmed(workspace: Workspace, home: Home) -> None:
    files = workspace.files()
    async with running(workspace.app(read_only=True), WIDE) as (app, pilot):
        await press(pilot, "enter", "u", "A", "d", "U")
        assert app.message.count("The store was opened read-only") == 4
        assert workspace.files() == files
    home.config = MemoryConfig(home.config.install, read_only=True)
    old = home.snapshot.read_bytes()
    async with running(home.app(), WIDE) as (app, pilot):
        await press(pilot, "W", "enter")
        assert app.message.count("read-only") >= 2
        assert "2 changed" in app.words
    assert home.snapshot.read_bytes() == old


@pytest.mark.parametrize(("tab", "keys"), [("clean_up", ("tab",)), ("hygiene", ()), ("health", ()), ("snapshot", ())])
async def test_in_the_smallest_terminal_the_row_under_the_cursor_is_in_sight(
    tmp_path: Path, home: Home, tab: Tab, keys: Sequence[str]
) -> None:
    rows = [{"key": f"note_{at}", "content": f"ok {at}"} for at in range(3)]
    app = Workspace(tmp_path / "small", rows=rows).app(tab) if tab != "snapshot" else home.app()
    if tab == "hygiene":
        app = Workspace(tmp_path / "hygiene").app(tab)

    def row_under_cursor() -> str:
        found = [line for line in app.lines if line.startswith(("▌", "◉"))]
        assert found, "\n".join(app.lines)
        return found[-1]

    async with running(app, (40, 12)) as (_, pilot):
        await press(pilot, *keys)
        first = row_under_cursor()
        await press(pilot, "j")
        assert row_under_cursor() != first


@pytest.mark.parametrize(
    ("tab", "typed", "line"),
    [
        ("clean_up", "delete marked", "zeroclaw memory audit --purge --only too-short --"),
        ("hygiene", "run now", "zeroclaw memory hygiene --config-dir "),
        ("health", "repair this", "zeroclaw memory doctor --repair FINDING --config-dir "),
    ],
)
async def test_the_shell_line_of_a_command_is_copied(tmp_path: Path, tab: Tab, typed: str, line: str) -> None:
    rows = [{"key": f"note_{at}", "content": f"ok {at}"} for at in range(3)]
    async with running(Workspace(tmp_path, rows=rows).app(tab), WIDE) as (app, pilot):
        await press(pilot, "question_mark", f"={typed}", "ctrl+y")
        assert app.clipboard.startswith(line)
