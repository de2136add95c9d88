"""What the room of turns looks like: a turn that is not as predicted, with the difference."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from live_samples import Place, live_app, some_turns
from support.screens import NARROW
from support.settling import pressing

Snap = Callable[..., bool]


@pytest.mark.parametrize("size", [(120, 30), NARROW], ids=["wide", "narrow"])
def test_live(place: Place, snap_compare: Snap, size: tuple[int, int]) -> None:
    """Marks, columns and times aligned; what was sent and not predicted is red, next to or below the list."""
    place.write(some_turns())
    assert snap_compare(live_app(place), terminal_size=size, run_before=pressing("k"))
