"""What the snapshot screen looks like, at the smallest size that is whole and at one that is comfortable."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from textual.pilot import Pilot
from tui_snapshot_samples import HOSTILE_HERE, Home
from tui_trash_samples import NARROW, WIDE, settled

from zeroclaw_tui.config.memory_config import MemoryConfig

Snap = Callable[..., bool]
BOTH = pytest.mark.parametrize("size", [NARROW, WIDE], ids=["80x24", "140x40"])


def keys(*pressed: str) -> Callable[[Pilot[Any]], Awaitable[None]]:
    async def press(pilot: Pilot[Any]) -> None:
        await settled(pilot)
        for key in pressed:
            await pilot.press(*(key[1:] if key.startswith("=") else [key]))
            await settled(pilot)

    return press


@BOTH
@pytest.mark.parametrize(
    "pressed",
    [
        ("j",),
        ("asterisk", "j", "j", "j"),
        ("f", "f", "f", "f"),
        ("f", "f", "f", "f", "f", "f"),
        ("asterisk", "h"),
        ("j", "j", "j", "j", "h"),
        ("w",),
        ("o", "=~/backup.md"),
        ("o", "enter"),
        ("question_mark",),
    ],
    ids=["changed", "picked", "same", "here", "hydrate", "one", "write", "open", "no_path", "keys"],
)
def test_the_differences(home: Home, snap_compare: Snap, size: tuple[int, int], pressed: tuple[str, ...]) -> None:
    """Kinds with their counts, rows with a glyph, the lines that differ; questions over a dimmed list."""
    home.write_snapshot()
    assert snap_compare(home.app(), terminal_size=size, run_before=keys(*pressed))


@pytest.mark.parametrize("at", range(len(HOSTILE_HERE)))
def test_hostile_memories(home: Home, snap_compare: Snap, at: int) -> None:
    """Every column stays in its place; nothing is styled, nothing reaches the terminal, secrets are masked."""
    home.here = HOSTILE_HERE
    home.there = tuple((key, f"{content} (old)") for key, content in HOSTILE_HERE)
    home.write_snapshot()
    assert snap_compare(home.app(), terminal_size=NARROW, run_before=keys(*["j"] * at))


@pytest.mark.parametrize("pressed", [("asterisk", "h"), ("w",)], ids=["hydrate", "write"])
def test_hostile_questions(home: Home, snap_compare: Snap, pressed: tuple[str, ...]) -> None:
    """The questions keep their shape whatever the keys are."""
    home.here = tuple((key, f"{content}\n---\n*Created: now\nmore") for key, content in HOSTILE_HERE)
    home.there = HOSTILE_HERE
    home.write_snapshot()
    assert snap_compare(home.app(), terminal_size=NARROW, run_before=keys(*pressed))


def test_store_and_snapshot_are_the_same(home: Home, snap_compare: Snap) -> None:
    """Says so, and which key shows them."""
    home.here = home.there
    home.write_snapshot()
    assert snap_compare(home.app(), terminal_size=NARROW, run_before=keys())


def test_no_snapshot_yet(home: Home, snap_compare: Snap) -> None:
    """Says what would fill it, and which key does."""
    assert snap_compare(home.app(), terminal_size=NARROW, run_before=keys())


@pytest.mark.parametrize("pressed", [(), ("w", "y")], ids=["shown", "replaced"])
def test_another_programs_file(home: Home, snap_compare: Snap, pressed: tuple[str, ...]) -> None:
    """It is recognised and said; replacing it has a question of its own."""
    home.root.mkdir(parents=True)
    home.snapshot.write_text("# My notes\n\n[/foo] \x1b[31m nothing of ZeroClaw's\n", encoding="utf-8")
    assert snap_compare(home.app(), terminal_size=NARROW, run_before=keys(*pressed))


def test_a_lone_store_has_none(home: Home, snap_compare: Snap) -> None:
    """Another file can be opened all the same."""
    home.config = MemoryConfig(home.config.install, location=str(home.config.database))
    assert snap_compare(home.app(), terminal_size=NARROW, run_before=keys())


def test_a_lossless_copy_that_contradicts(home: Home, snap_compare: Snap) -> None:
    """It is said that it is not used."""
    home.write_snapshot()
    home.side_car.write_text('{"not": "ours"}\n', encoding="utf-8")
    assert snap_compare(home.app(), terminal_size=NARROW, run_before=keys())


def test_a_store_that_is_only_read(home: Home, snap_compare: Snap) -> None:
    """What writes is dimmed, and a line says why."""
    home.config = MemoryConfig(home.config.install, read_only=True)
    home.write_snapshot()
    assert snap_compare(home.app(), terminal_size=NARROW, run_before=keys("j"))
