"""`s` lists what is near a memory, ctrl+f what is near a text: by vectors or by rare words, and it says which."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from textual.pilot import Pilot
from tui_samples import (
    NARROW,
    WIDE,
    Inspector,
    SampleMemory,
    browser,
    settled,
)

from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.query import MemoryFilter
from zeroclaw_tui.scoring.evidence import Neighbour
from zeroclaw_tui.tui.app import InspectorApp
from zeroclaw_tui.tui.view import Mode

Snap = Callable[..., bool]
BOTH = pytest.mark.parametrize("size", [NARROW, WIDE], ids=["80x24", "140x40"])


class NearMemory(SampleMemory):
    """Every row has a vector, and the later stored of two rows is the nearer one."""

    async def nearest(self, entry: MemoryEntry | None, vector: Any, limit: int) -> tuple[list[Neighbour], int] | None:
        rows = sorted(await self.entries(MemoryFilter()), key=lambda row: -int(row.handle))
        return [Neighbour(row.handle, 0.95 - at / 20) for at, row in enumerate(rows[:12])], len(rows)


def shown_keys(app: InspectorApp) -> list[str]:
    recalled = browser(app).panes.recalled
    assert recalled is not None
    return [result.entry.key for result in recalled.results]


async def to_market(pilot: Pilot[Any]) -> None:
    await settled(pilot)
    await pilot.press(*"jjj", "s")
    await settled(pilot)


async def test_a_text_typed_in_the_mode_similar_is_compared(inspector: Inspector) -> None:
    app = inspector.app()
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        await pilot.press("slash")
        while browser(app).view.mode is not Mode.SIMILAR:
            await pilot.press("ctrl+f")
        await pilot.press(*"chopsticks or a wok", "enter")
        await settled(pilot)
        assert shown_keys(app)[0] == "cutlery"
        await pilot.press("slash", *" x")
        await settled(pilot)
