"""`s` lists what is near a memory, ctrl+f what is near a text: by vectors or by rare words, and it says which."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from tui_samples import (
    NARROW,
    WIDE,
    Inspector,
    SampleMemory,
    browser,
    hostile_memories,
    memory,
    sample_memories,
    screen_words,
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


async def test_s_lists_what_shares_rare_words_and_says_why_not_by_vectors(inspector: Inspector) -> None:
    app = inspector.app()
    async with app.run_test(size=WIDE) as pilot:
        await to_market(pilot)
        assert browser(app).view.mode is Mode.SIMILAR
        keys = shown_keys(app)
        assert "market" not in keys
        assert keys[0] == "fav_food"
        words = screen_words(app)
        assert "near to market" in words
        assert "compared by rare words · This memory has no vector." in words
        assert "both have eat" in words


async def test_s_by_vectors_shows_cosines_and_no_threshold() -> None:
    inspector = Inspector(Path("/srv/zeroclaw"), NearMemory(sample_memories()))
    app = inspector.app()
    async with app.run_test(size=WIDE) as pilot:
        await to_market(pilot)
        words = screen_words(app)
        assert "near 0.95: cosine of vectors" in words
        assert "below is not injected" not in words
        assert "compared by their vectors" in words


async def test_esc_goes_back_to_the_list_and_recall(inspector: Inspector) -> None:
    app = inspector.app()
    async with app.run_test(size=WIDE) as pilot:
        await to_market(pilot)
        await pilot.press("escape")
        await settled(pilot)
        assert browser(app).view.mode is Mode.RECALL
        assert browser(app).panes.recalled is None
        assert "245 memories" in screen_words(app)


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
        assert browser(app).view.similar_to is None


async def test_s_on_a_neighbour_goes_on_from_there(inspector: Inspector) -> None:
    app = inspector.app()
    async with app.run_test(size=WIDE) as pilot:
        await to_market(pilot)
        await pilot.press("s")
        await settled(pilot)
        assert "near to fav_food" in screen_words(app)


async def test_nothing_near_says_so_and_esc_leaves() -> None:
    inspector = Inspector(Path("/srv/zeroclaw"), SampleMemory([memory("one", "Alone in the world", "core", 1, 1)]))
    app = inspector.app()
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        await pilot.press("s")
        await settled(pilot)
        assert "Nothing is near to it." in screen_words(app)
        await pilot.press("escape")
        await settled(pilot)
        assert "Alone in the world" in screen_words(app)


@BOTH
def test_similar_by_words(snap_compare: Snap, size: tuple[int, int]) -> None:
    """The bar names the memory; words in common stand in the detail, and the line below says by what it compared."""
    assert snap_compare(Inspector(Path("/srv/zeroclaw")).app(), terminal_size=size, run_before=to_market)


def test_similar_by_vectors_with_hostile_neighbours(snap_compare: Snap) -> None:
    inspector = Inspector(Path("/srv/zeroclaw"), NearMemory(hostile_memories()))

    async def near(pilot: Pilot[Any]) -> None:
        await settled(pilot)
        await pilot.press("s")
        await settled(pilot)

    assert snap_compare(inspector.app(), terminal_size=NARROW, run_before=near)
