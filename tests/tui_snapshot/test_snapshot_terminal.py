"""The snapshot screen as a person meets it, in a real terminal."""

from __future__ import annotations

import asyncio
import sys

import pytest
from support.terminal import Terminal
from tui_snapshot_samples import HOSTILE_HERE, Home

from zeroclaw_tui.curation.snapshot.text import read_snapshot

INSPECTOR = [sys.executable, "-m", "zeroclaw_tui"]


@pytest.mark.parametrize("size", [(80, 24), (140, 40)], ids=["80x24", "140x40"])
async def test_compare_hydrate_take_back_and_write(home: Home, size: tuple[int, int]) -> None:
    """The whole way, each step seen before the next key; no memory reaches the terminal as an escape sequence."""
    home.there = (*home.there, *HOSTILE_HERE)
    home.write_snapshot()
    await home.opened()
    await home.close()
    home.config_dir.joinpath("config.toml").write_text('[memory]\nbackend = "sqlite"\n', encoding="utf-8")
    raw = await asyncio.to_thread(_walk, home, size)
    for sequence in (b"\x1b]52;c;aGk", b"\x1b]0;title", b"\xc2\x9b2J"):
        assert sequence not in raw
    written = read_snapshot(home.snapshot.read_text(encoding="utf-8"))
    assert {entry.key for entry in written.entries} == {key for key, _ in home.here}


def _walk(home: Home, size: tuple[int, int]) -> bytes:
    with Terminal([*INSPECTOR, str(home.config_dir)], columns=size[0], lines=size[1]) as screen:
        screen.wait_for("8 memories")
        screen.press("S")
        screen.wait_for("14 core memories", "only there 9", "changed 2")
        screen.press("*")
        screen.wait_for("11 picked")
        screen.press("h")
        screen.wait_for("Bring 11 memories into the store?", "9 new")
        screen.press("o")
        screen.wait_for("only there 0", "only here 2")
        screen.press("u")
        screen.wait_for("only there 9", "changed 2")
        screen.press("w")
        screen.wait_for("Write 7 memories to MEMORY_SNAPSHOT.md?")
        screen.press("y")
        screen.wait_for("Store and snapshot have the same 7 memories.")
        screen.press("escape")
        screen.wait_for("8 memories", "newest first")
        screen.press("q")
        assert screen.wait_exit() == 0
        return screen.raw
