"""What the room looks like: a picture of each tab, and of the smallest size where the layout is another."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support.screens import NARROW
from support.settling import pressing
from why_samples import Kitchen

Snap = Callable[..., bool]
SIZE = (120, 30)


@pytest.mark.parametrize("size", [NARROW, SIZE], ids=["80x24", "120x30"])
def test_a_memory(snap_compare: Snap, kitchen: Kitchen, size: tuple[int, int]) -> None:
    """Where it stops and what helps."""
    assert snap_compare(kitchen.room("stages", "lunch_2026_03"), terminal_size=size, run_before=pressing())


@pytest.mark.parametrize("size", [NARROW, SIZE], ids=["80x24", "120x30"])
def test_one_enters_and_another_leaves(snap_compare: Snap, aged: Kitchen, size: tuple[int, int]) -> None:
    """What each setting was and is, and under a line what the threshold keeps out."""
    pressed = ("down", "down", *["left"] * 3, "down", "down", "left")
    assert snap_compare(aged.room("what_if", "lunch_2026_03"), terminal_size=size, run_before=pressing(*pressed))


def test_a_prompt(snap_compare: Snap, kitchen: Kitchen) -> None:
    """By the rule of the channels, which cuts what is long."""
    kitchen.meal("long_list", "What does she like to eat? " * 40 + "Dumplings.", (1.0, 0.0, 0.0, 0.0))
    assert snap_compare(kitchen.room("prompt"), terminal_size=SIZE, run_before=pressing())
