"""What hygiene looks like, at the smallest size that is whole and at one that is comfortable."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from hygiene_samples import (
    CONFIG,
    FILES,
    HOSTILE_FILES,
    HOSTILE_KEYS,
    NARROW,
    WIDE,
    HygieneApp,
    Workspace,
    chat,
)
from support.settling import settled
from textual.pilot import Pilot

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
        ("j", "space", "j"),
        ("tab", "j"),
        ("right", "right", "right"),
        ("left",),
        ("enter",),
        ("c", "j"),
        ("c", "j", "enter", "=2", "enter", "s"),
        ("question_mark",),
    ],
    ids=["plan", "left_out", "rule", "preview", "past", "question", "rules", "review", "keys"],
)
def test_hygiene(workspace: Workspace, snap_compare: Snap, size: tuple[int, int], pressed: tuple[str, ...]) -> None:
    """Facts, rules, things in columns, dialogs over a dimmed list."""
    assert snap_compare(HygieneApp(workspace), terminal_size=size, run_before=keys(*pressed))


@pytest.mark.parametrize("at", [0, 3, 6, 9])
def test_hostile_names(tmp_path: Path, snap_compare: Snap, at: int) -> None:
    """Every column stays in its place; nothing is styled, nothing reaches the terminal, keys are masked."""
    rows = [chat(number, 40, key=key, content=key) for number, key in enumerate(HOSTILE_KEYS)]
    workspace = Workspace(tmp_path, files=HOSTILE_FILES, rows=rows)
    assert snap_compare(HygieneApp(workspace), terminal_size=NARROW, run_before=keys(*["j"] * at))


def test_nothing_to_do(tmp_path: Path, snap_compare: Snap) -> None:
    """It says what would fill the list, and which key shows more."""
    workspace = Workspace(tmp_path, files={}, rows=[chat(1, 3)], state=None)
    assert snap_compare(HygieneApp(workspace), terminal_size=NARROW, run_before=keys())


def test_switched_off(tmp_path: Path, snap_compare: Snap) -> None:
    """It says that ZeroClaw does nothing by itself."""
    workspace = Workspace(tmp_path, config=f"{CONFIG}hygiene_enabled = false\n")
    assert snap_compare(HygieneApp(workspace), terminal_size=NARROW, run_before=keys())


@pytest.mark.parametrize(
    "state", ['{"last_run_at": 3', '{"last_run_at": "2031-01-01T00:00:00+00:00"}'], ids=["broken", "to_come"]
)
def test_a_state_file_that_is_wrong(tmp_path: Path, snap_compare: Snap, state: str) -> None:
    """One sentence about it; the plan is there all the same."""
    workspace = Workspace(tmp_path, state=state)
    assert snap_compare(HygieneApp(workspace), terminal_size=NARROW, run_before=keys())


def test_only_read(workspace: Workspace, snap_compare: Snap) -> None:
    """What writes is dimmed, and a pressed key says why."""
    assert snap_compare(HygieneApp(workspace, read_only=True), terminal_size=NARROW, run_before=keys("enter"))


def test_many(tmp_path: Path, snap_compare: Snap) -> None:
    """Thousands of rows scroll, and numbers stay aligned."""
    workspace = Workspace(tmp_path, files=FILES, rows=[chat(number, 31 + number % 90) for number in range(1500)])
    assert snap_compare(HygieneApp(workspace), terminal_size=NARROW, run_before=keys("G"))
