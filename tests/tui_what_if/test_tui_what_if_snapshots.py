"""What what-if looks like, at the smallest size that is whole and at one that is comfortable."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from support.settling import settled
from textual.pilot import Pilot
from what_if_samples import HOSTILE, NARROW, WIDE, Kitchen, WhatIfApp

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
        (),
        ("down", "=8", "up", "shift+left"),
        ("down", "down", *["left"] * 3, "tab", "j"),
        ("down", "down", "down", "down", "2"),
        ("shift+left", "shift+left", "shift+left"),
        ("up", "up", "up", "right", "shift+right"),
        ("p",),
        ("down", "down", "left", "left", "down", "down", "right", "W"),
        ("question_mark",),
    ],
    ids=["as_it_is", "one_in_one_out", "threshold", "limit", "complaint", "session", "profiles", "review", "keys"],
)
def test_what_if(kitchen: Kitchen, snap_compare: Snap, size: tuple[int, int], pressed: tuple[str, ...]) -> None:
    """Settings aligned, marks with words, the threshold as a line, dialogs over a dimmed list."""
    assert snap_compare(WhatIfApp(kitchen), terminal_size=size, run_before=keys(*pressed))


@pytest.mark.parametrize("profile", ["0.7.5", "0.8.4"])
def test_keyword_only(tmp_path: Path, snap_compare: Snap, profile: str) -> None:
    """No vector column, weights dimmed with the reason."""
    kitchen = Kitchen(tmp_path, vectors=False, profile=profile)
    run_before = keys("=0.8", "enter")
    assert snap_compare(WhatIfApp(kitchen), terminal_size=NARROW, run_before=run_before)


def test_no_message(kitchen: Kitchen, snap_compare: Snap) -> None:
    """It asks for one, and the settings are there already."""
    assert snap_compare(WhatIfApp(kitchen, ""), terminal_size=NARROW, run_before=keys())


def test_nothing_recalled(tmp_path: Path, snap_compare: Snap) -> None:
    """It says that no setting finds what the search does not find."""
    app = WhatIfApp(Kitchen(tmp_path, vectors=False), "zeppelin")
    assert snap_compare(app, terminal_size=NARROW, run_before=keys())


def test_hostile(tmp_path: Path, snap_compare: Snap) -> None:
    """Columns stay in their place; nothing is styled, nothing reaches the terminal."""
    kitchen = Kitchen(tmp_path, rows=HOSTILE)
    run_before = keys("down", "down", "=0.8", "enter", *["down"] * 4, "right")
    assert snap_compare(WhatIfApp(kitchen, "eat"), terminal_size=NARROW, run_before=run_before)
