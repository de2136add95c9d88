"""What the page of statistics looks like, at the smallest size that is whole and at one that is comfortable."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from stats_samples import NARROW, WIDE, StatsApp, app_of, entry, hostile, library_of, settled, usual
from textual.pilot import Pilot

from zeroclaw_tui.backends.in_memory import InMemory
from zeroclaw_tui.backends.none import NoneMemory

Snap = Callable[..., bool]
BOTH = pytest.mark.parametrize("size", [NARROW, WIDE], ids=["80x24", "140x40"])


def keys(*pressed: str) -> Callable[[Pilot[Any]], Any]:
    async def press(pilot: Pilot[Any]) -> None:
        await settled(pilot)
        for key in pressed:
            await pilot.press(key)
            await settled(pilot)

    return press


@BOTH
@pytest.mark.parametrize("pressed", [(), ("G",), ("question_mark",)], ids=["top", "end", "keys"])
def test_a_store_that_grew(tmp_path: Path, snap_compare: Snap, size: tuple[int, int], pressed: tuple[str, ...]) -> None:
    """Growth over the whole width, bars in columns, one below or beside the other."""
    assert snap_compare(app_of(usual(), tmp_path), terminal_size=size, run_before=keys(*pressed))


@pytest.mark.parametrize("pressed", [(), ("G",)], ids=["top", "end"])
def test_hostile_names(tmp_path: Path, snap_compare: Snap, pressed: tuple[str, ...]) -> None:
    """Every column stays in its place; nothing is styled, nothing reaches the terminal, secrets are masked."""
    assert snap_compare(app_of(hostile(), tmp_path), terminal_size=NARROW, run_before=keys(*pressed))


def test_one_memory(tmp_path: Path, snap_compare: Snap) -> None:
    """One day draws no curve, and a sentence says so."""
    assert snap_compare(app_of([entry(1, "only", "core", 3, 40)], tmp_path), terminal_size=NARROW, run_before=keys())


def test_no_dates(tmp_path: Path, snap_compare: Snap) -> None:
    """Where no date can be read, a sentence stands in the place of the curve."""
    entries = [entry(at, f"k{at}", "core", 0, 40, timestamp="soon") for at in range(3)]
    assert snap_compare(app_of(entries, tmp_path, InMemory), terminal_size=NARROW, run_before=keys())


@pytest.mark.parametrize("memory", [InMemory(), NoneMemory()], ids=["empty", "none"])
def test_nothing_to_count(tmp_path: Path, snap_compare: Snap, memory: InMemory | NoneMemory) -> None:
    """Says what would fill the page."""
    assert snap_compare(StatsApp(library_of(memory, tmp_path)), terminal_size=NARROW, run_before=keys())
