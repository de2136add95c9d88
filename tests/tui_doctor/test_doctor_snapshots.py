"""What the doctor looks like, at the smallest size that is whole and at one that is comfortable."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest
from doctor_samples import FINE, HEALTHY, HOSTILE, PLAN, REPORT, Doctor
from textual.pilot import Pilot
from tui_trash_samples import NARROW, WIDE, settled

from zeroclaw_tui.curation.doctor.database import DoctorReport
from zeroclaw_tui.memory.errors import Unreadable

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
    [(), ("j", "j"), ("j", "j", "j", "j"), ("G",), ("enter",), ("j", "j", "enter"), ("question_mark",)],
    ids=["serious", "vectors", "by_hand", "fine", "asked", "vectors_asked", "keys"],
)
def test_what_was_found(doctor: Doctor, snap_compare: Snap, size: tuple[int, int], pressed: tuple[str, ...]) -> None:
    """The serious first, what it means and its repair beside or below; questions over a dimmed list."""
    assert snap_compare(doctor.app(), terminal_size=size, run_before=keys(*pressed))


@pytest.mark.parametrize("pressed", [(), ("enter",)], ids=["shown", "asked"])
def test_hostile_findings(doctor: Doctor, snap_compare: Snap, pressed: tuple[str, ...]) -> None:
    """Nothing is styled, nothing reaches the terminal, secrets are masked."""
    doctor.reports = [DoctorReport((HOSTILE, *FINE), False, (HOSTILE.title,))]
    assert snap_compare(doctor.app(), terminal_size=NARROW, run_before=keys(*pressed))


def test_a_hostile_model(doctor: Doctor, snap_compare: Snap) -> None:
    """The question keeps its shape whatever a model is called."""
    doctor.plan = replace(PLAN, model="[/foo]\x1b[31m宽" + "m" * 5000, cost=None)
    assert snap_compare(doctor.app(), terminal_size=NARROW, run_before=keys("j", "j", "enter"))


def test_nothing_is_wrong(doctor: Doctor, snap_compare: Snap) -> None:
    """What was looked at is listed all the same."""
    doctor.reports = [HEALTHY]
    assert snap_compare(doctor.app(), terminal_size=NARROW, run_before=keys("x"))


def test_a_store_that_is_only_read(doctor: Doctor, snap_compare: Snap) -> None:
    """What would be repaired is shown, the key is dimmed."""
    doctor.sample.memory.read_only_because = "It was opened with --read-only."
    assert snap_compare(doctor.app(), terminal_size=NARROW, run_before=keys())


@pytest.mark.parametrize("first", [True, False], ids=["at_first", "later"])
def test_looking_failed(doctor: Doctor, snap_compare: Snap, first: bool) -> None:
    """One sentence and the key that tries again; what was found before stays."""
    failure = Unreadable("brain.db cannot be read.", hint="See who may read it.")
    doctor.reports = [failure] if first else [REPORT, failure]
    assert snap_compare(doctor.app(), terminal_size=NARROW, run_before=keys(*(() if first else "r")))
