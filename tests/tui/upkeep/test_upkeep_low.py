"""In the smallest terminal the row under the cursor is in sight in every tab."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from support.settling import press, running
from upkeep_samples import Home, RoomApp, Workspace, clean_up_app

from zeroclaw_tui.tui.rooms.upkeep import Tab

SMALLEST = (40, 12)


def row_in_hand(app: RoomApp) -> str:
    """The row of a list that the cursor stands on."""
    found = [line for line in app.lines if line.startswith(("▌", "◉"))]
    assert found, "\n".join(app.lines)
    return found[-1]


async def go_through(app: RoomApp, keys: Sequence[str] = ()) -> None:
    async with running(app, SMALLEST) as (_, pilot):
        await press(pilot, *keys)
        first = row_in_hand(app)
        await press(pilot, "j")
        assert row_in_hand(app) != first


@pytest.mark.parametrize(("tab", "keys"), [("hygiene", ()), ("health", ()), ("health", ("I",))])
async def test_hygiene_health_and_numbers(workspace: Workspace, tab: Tab, keys: Sequence[str]) -> None:
    await go_through(workspace.app(tab), keys)


async def test_snapshot(home: Home) -> None:
    await go_through(home.app())


async def test_memories_of_a_kind_of_pollution(workspace: Workspace) -> None:
    rows = [{"key": f"note_{at}", "content": f"ok {at}"} for at in range(3)]
    await go_through(clean_up_app(workspace.root / "polluted", rows), ("tab",))
