"""The list of memories, driven by keys and mouse."""

from __future__ import annotations

from array import array
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from textual.pilot import Pilot
from tui_widget_samples import NOW, WidgetApp, memories, memory, shown

from zeroclaw_tui.memory.query import NEWEST_STORED, Sort, SortField
from zeroclaw_tui.tui.format import NO_HIGHLIGHTS
from zeroclaw_tui.tui.widgets.memory_list import MemoryList

MILLION = array("q", range(1_000_000))


@asynccontextmanager
async def listing(width: int = 80, height: int = 24) -> AsyncIterator[tuple[MemoryList, WidgetApp, Pilot[None]]]:
    """A focused list that shows nothing yet."""
    widget = MemoryList()
    app = WidgetApp(widget)
    async with app.run_test(size=(width, height)) as pilot:
        widget.set_look(NEWEST_STORED, NOW, False, NO_HIGHLIGHTS)
        widget.focus()
        await pilot.pause()
        yield widget, app, pilot


async def test_a_wide_window_shows_category_key_first_line_size_and_age_in_columns() -> None:
    async with listing(140) as (widget, _, pilot):
        widget.show_page(
            [
                memory(1, "Allergic to peanuts,\ncareful with satay", pinned=True, size=86),
                memory(2, "x", superseded_by="id-1", category="conversation", timestamp="bad", size=1229),
                memory(3, "", key="", timestamp="2026-11-21T21:59:59Z"),
            ]
        )
        await pilot.pause()
        lines = shown(widget)
        assert [" ".join(line.split()) for line in lines[:4]] == [
            "category key memory size age",
            "▌core key_1 ◆ Allergic to peanuts, careful with satay 86 B 8 mo",
            "conversation key_2 → x 1.2 KB ?",
            "core (empty key) (empty) 0 B now",
        ]
        assert lines[0].index("memory") == lines[1].index("Allergic") == lines[2].index("x ")


@pytest.mark.parametrize("width", [40, 60, 76, 80, 100, 140, 200])
async def test_every_line_is_as_wide_as_the_list_at_any_width(width: int) -> None:
    async with listing(width) as (widget, _, pilot):
        widget.set_look(Sort(SortField.CATEGORY), NOW, True, NO_HIGHLIGHTS)
        widget.show_page([memory(1, "今日は寿司を食べました。" * 9, key="k" * 300, agent="助手" * 20)])
        await pilot.pause()
        assert {widget.render_line(y).cell_length for y in range(widget.size.height)} == {width}
        assert "memory" in shown(widget)[0]


async def test_the_cursor_stays_on_its_memory_or_else_on_its_place() -> None:
    async with listing() as (widget, _, pilot):
        widget.show_page(memories(200))
        widget.show_order(array("q", range(200)))
        widget.action_move(50)
        await pilot.pause()
        line = widget.cursor - widget.scroll_offset.y
        widget.show_order(array("q", [500, 501, 502, *range(200)]))
        await pilot.pause()
        assert (widget.selected_entry, widget.cursor) == (memory(50), 53)
        assert widget.cursor - widget.scroll_offset.y == line
        widget.show_order(list(range(5)))
        await pilot.pause()
        assert widget.cursor == 4
        widget.show_page(())
        await pilot.pause()
        assert (widget.row_count, widget.selected_entry) == (0, None)
        assert not "".join(shown(widget)).strip()


async def test_the_end_of_a_million_rows_is_one_key_away_and_the_scrollbar_reaches_its_middle() -> None:
    async with listing() as (widget, app, pilot):
        widget.show_order(MILLION)
        await pilot.pause()
        await pilot.press("G")
        await pilot.pause()
        assert widget.cursor == 999_999
        assert 999_999 in app.saw(MemoryList.RowsWanted)[-1].handles
        bar = widget.vertical_scrollbar
        await pilot.mouse_down(bar, offset=(0, 23))
        await pilot.pause()
        await pilot.hover(bar, offset=(0, 12))
        await pilot.mouse_up(bar, offset=(0, 12))
        await pilot.pause()
        assert 300_000 < widget.scroll_offset.y < 700_000
        assert widget.scroll_offset.y in app.saw(MemoryList.RowsWanted)[-1].handles
