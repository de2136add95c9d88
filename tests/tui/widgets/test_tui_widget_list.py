"""The list of memories, driven by keys and mouse."""

from __future__ import annotations

from array import array
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from textual.pilot import Pilot
from tui_widget_samples import NOW, WidgetApp, memories, memory, shown

from zeroclaw_tui.memory.query import NEWEST_STORED, MemoryFilter, Sort, SortField
from zeroclaw_tui.tui.format import Highlights
from zeroclaw_tui.tui.widgets.memory_list import MemoryList

MILLION = array("q", range(1_000_000))


@asynccontextmanager
async def listing(width: int = 80, height: int = 24) -> AsyncIterator[tuple[MemoryList, WidgetApp, Pilot[None]]]:
    """A focused list that shows nothing yet."""
    widget = MemoryList()
    app = WidgetApp(widget)
    async with app.run_test(size=(width, height)) as pilot:
        widget.set_look(sort=NEWEST_STORED, now=NOW, show_agent=False)
        widget.focus()
        await pilot.pause()
        yield widget, app, pilot


async def test_keys_move_the_cursor_and_stop_at_both_ends() -> None:
    async with listing() as (widget, _, pilot):
        widget.show_page(memories(100), 100)
        places = []
        for key in (
            "j",
            "down",
            "k",
            "up",
            "up",
            "G",
            "j",
            "g",
            "end",
            "home",
            "ctrl+d",
            "ctrl+u",
            "pagedown",
            "pageup",
        ):
            await pilot.press(key)
            places.append(widget.cursor)
        assert places == [1, 2, 1, 0, 0, 99, 99, 0, 99, 0, 11, 0, 22, 0]


async def test_every_key_can_be_bound_anew_and_says_what_it_does() -> None:
    bindings = MemoryList.BINDINGS
    assert {binding.id for binding in bindings} >= {"list.down", "list.up", "list.top", "list.bottom"}  # type: ignore[union-attr]
    assert all(binding.id and binding.tooltip for binding in bindings)  # type: ignore[union-attr]


async def test_the_cursor_row_stays_in_sight_under_a_fixed_heading() -> None:
    async with listing() as (widget, _, pilot):
        widget.show_page(memories(100), 100)
        heading = shown(widget)[0]
        await pilot.press("G")
        lines = shown(widget)
        assert lines[0] == heading
        assert "memory" in heading
        assert "key_99 " in lines[-1]
        assert lines[-1].startswith("▌")
        assert sum(line.startswith("▌") for line in lines) == 1


async def test_a_blurred_list_keeps_its_mark() -> None:
    async with listing() as (widget, app, pilot):
        widget.show_page(memories(3), 3)
        focused = widget.render_line(1)
        app.set_focus(None)
        await pilot.pause()
        blurred = widget.render_line(1)
        assert focused.text.startswith("▌")
        assert blurred.text == focused.text
        assert [segment.style for segment in blurred] != [segment.style for segment in focused]


async def test_browsing_shows_category_key_first_line_size_and_age_in_columns() -> None:
    async with listing(140) as (widget, _, pilot):
        widget.show_page(
            [
                memory(1, "Allergic to peanuts,\ncareful with satay", pinned=True, size=86),
                memory(2, "x", superseded_by="id-1", category="conversation", timestamp="bad", size=1229),
                memory(3, "", key="", timestamp="2026-11-21T21:59:59Z"),
            ],
            3,
        )
        await pilot.pause()
        lines = shown(widget)
        assert [line.split() for line in lines[:4]] == [
            ["category", "key", "memory", "size", "age"],
            [
                *["▌", "core", "key_1", "◆", "Allergic", "to", "peanuts,", "careful", "with", "satay"],
                "86",
                "B",
                "8",
                "mo",
            ],
            [*["conversation", "key_2", "→", "x"], "1.2", "KB", "?"],
            [*["core", "(empty", "key)", "(empty)"], "0", "B", "now"],
        ]
        assert lines[0].index("memory") == lines[1].index("Allergic") == lines[2].index("x ")


@pytest.mark.parametrize("width", [40, 60, 76, 80, 100, 140, 200])
async def test_every_line_is_as_wide_as_the_list_at_any_width(width: int) -> None:
    async with listing(width) as (widget, _, pilot):
        widget.set_look(sort=Sort(SortField.CATEGORY), now=NOW, show_agent=True)
        widget.show_page([memory(1, "今日は寿司を食べました。" * 9, key="k" * 300, agent="助手" * 20)], 5)
        await pilot.pause()
        assert {widget.render_line(y).cell_length for y in range(widget.size.height)} == {width}
        assert "memory" in shown(widget)[0]


async def test_agents_are_a_column_only_when_they_are_mixed() -> None:
    async with listing(140) as (widget, _, pilot):
        widget.show_page([memory(1, agent="ops-helper")], 1)
        await pilot.pause()
        assert "ops-helper" not in shown(widget)[1]
        widget.set_look(sort=NEWEST_STORED, now=NOW, show_agent=True)
        assert "ops-helper" in shown(widget)[1]
        assert "agent" in shown(widget)[0]


async def test_a_narrow_list_shows_key_memory_and_age() -> None:
    async with listing(80) as (widget, _, pilot):
        widget.show_page([memory(1, agent="ops", category="conversation")], 1)
        widget.set_look(sort=NEWEST_STORED, now=NOW, show_agent=True)
        await pilot.pause()
        assert shown(widget)[0].split() == ["key", "memory", "age"]


async def test_the_heading_shows_what_the_list_is_ordered_by() -> None:
    async with listing(140) as (widget, _, pilot):
        widget.show_page([memory(1, updated_at="2026-11-20T22:00:00Z")], 1)
        await pilot.pause()
        assert not set("▾▴") & set(shown(widget)[0])
        widget.set_look(sort=Sort(SortField.KEY, False), now=NOW, show_agent=False)
        assert "key▴" in shown(widget)[0]
        widget.set_look(sort=Sort(SortField.CATEGORY), now=NOW, show_agent=False)
        assert "category▾" in shown(widget)[0]
        widget.set_look(sort=Sort(SortField.UPDATED), now=NOW, show_agent=False)
        assert "updated▾" in shown(widget)[0]
        assert " 1 d" in shown(widget)[1]


async def test_a_click_on_a_heading_asks_for_that_order() -> None:
    async with listing(140) as (widget, app, pilot):
        widget.show_page(memories(3), 3)
        await pilot.pause()
        heading = shown(widget)[0]
        for word in ("category", "key", "memory", "size", "age"):
            await pilot.click(MemoryList, offset=(heading.index(word) + 1, 0))
        await pilot.pause()
        assert [message.field for message in app.saw(MemoryList.SortWanted)] == [
            SortField.CATEGORY,
            SortField.KEY,
            SortField.CONTENT,
            SortField.SIZE,
            SortField.AGE,
        ]


async def test_a_click_selects_and_a_double_click_opens() -> None:
    async with listing() as (widget, app, pilot):
        widget.show_page(memories(10), 10)
        await pilot.pause()
        await pilot.click(MemoryList, offset=(5, 4))
        assert widget.cursor == 3
        assert app.saw(MemoryList.RowOpened) == []
        await pilot.double_click(MemoryList, offset=(5, 6))
        await pilot.press("j")
        assert widget.cursor == 6
        assert len(app.saw(MemoryList.RowOpened)) == 1
        await pilot.click(MemoryList, offset=(5, 20))
        assert widget.cursor == 6


async def test_the_wheel_scrolls_and_leaves_the_cursor_where_it_is() -> None:
    async with listing() as (widget, _, pilot):
        widget.show_page(memories(100), 100)
        await pilot.pause()
        await pilot._post_mouse_events([_wheel()], MemoryList, (5, 5))
        await pilot.pause()
        assert widget.scroll_offset.y > 0
        assert widget.cursor == 0
        await pilot.press("j")
        assert widget.scroll_offset.y <= 1


def _wheel() -> type:
    from textual.events import MouseScrollDown

    return MouseScrollDown


async def test_each_highlighted_memory_is_told_once() -> None:
    async with listing() as (widget, app, pilot):
        widget.show_page(memories(5), 5)
        await pilot.press("j", "j", "k")
        widget.show_order(range(5))
        await pilot.pause()
        assert [message.entry.handle for message in app.saw(MemoryList.RowHighlighted)] == [0, 1, 2, 1]
        assert widget.selected_entry == memory(1)
        assert widget.selected_result is None


async def test_a_memory_that_changed_under_the_cursor_is_told_again() -> None:
    async with listing() as (widget, app, pilot):
        widget.show_page(memories(3), 3)
        widget.put_rows([replace(memory(0), content="new words")])
        await pilot.pause()
        assert [message.entry.content for message in app.saw(MemoryList.RowHighlighted)][-1] == "new words"


async def test_first_rows_show_before_the_order_is_known_and_stay_when_it_comes() -> None:
    async with listing() as (widget, app, pilot):
        widget.show_page(memories(200), 12_431)
        await pilot.pause()
        assert widget.row_count == 12_431
        assert "key_0 " in shown(widget)[1]
        assert app.saw(MemoryList.RowsWanted) == []
        widget.show_order(array("q", range(12_431)))
        await pilot.pause()
        assert "key_0 " in shown(widget)[1]
        assert app.saw(MemoryList.RowsWanted) == []


async def test_the_cursor_stays_on_its_memory_when_the_order_changes() -> None:
    async with listing() as (widget, _, pilot):
        widget.show_page(memories(200), 200)
        widget.show_order(array("q", range(200)))
        for _ in range(50):
            widget.action_move(1)
        await pilot.pause()
        line = widget.cursor - widget.scroll_offset.y
        widget.show_order(array("q", [500, 501, 502, *range(200)]))
        await pilot.pause()
        assert widget.selected_entry == memory(50)
        assert widget.cursor == 53
        assert widget.cursor - widget.scroll_offset.y == line


async def test_the_cursor_keeps_its_place_when_its_memory_has_gone() -> None:
    async with listing() as (widget, _, pilot):
        widget.show_page(memories(10), 10)
        widget.cursor = 9
        widget.show_order(list(range(5)))
        await pilot.pause()
        assert widget.cursor == 4
        widget.clear_rows()
        await pilot.pause()
        assert (widget.row_count, widget.selected_entry) == (0, None)
        assert not "".join(shown(widget)).strip()


async def test_rows_about_to_be_seen_are_asked_for_once_and_in_one_go() -> None:
    async with listing() as (widget, app, pilot):
        widget.show_page(memories(200), 1_000_000)
        widget.show_order(MILLION)
        for _ in range(30):
            widget.action_move_pages(1)
        await pilot.pause()
        asked = [list(message.handles) for message in app.saw(MemoryList.RowsWanted)]
        assert len(asked) == 1
        seen = range(widget.scroll_offset.y, widget.scroll_offset.y + 23)
        assert asked[0][:23] == list(seen)
        assert len(asked[0]) <= 200
        await pilot.press("k", "k", "j")
        assert len(app.saw(MemoryList.RowsWanted)) == 1
        widget.put_rows(memories(len(asked[0]), min(asked[0])))
        await pilot.pause()
        assert f"key_{widget.cursor} " in "".join(shown(widget))
        assert widget.selected_entry == memory(widget.cursor)


async def test_every_row_passed_on_the_way_is_asked_for_exactly_once() -> None:
    async with listing() as (widget, app, pilot):
        widget.show_order(array("q", range(2000)))
        asked: list[int] = []
        for _ in range(40):
            widget.action_move(5)
            await pilot.pause()
            for message in app.saw(MemoryList.RowsWanted):
                widget.put_rows([memory(handle) for handle in message.handles])
                asked += message.handles
            app.seen.clear()
            assert widget.selected_entry == memory(widget.cursor)
        assert len(asked) == len(set(asked))
        assert set(range(201)) <= set(asked)
        assert len(asked) < 300


async def test_rows_lost_on_the_way_are_asked_for_again_once_a_newer_answer_came() -> None:
    async with listing() as (widget, app, pilot):
        widget.show_order(array("q", range(2000)))
        await pilot.pause()
        lost = list(app.saw(MemoryList.RowsWanted)[-1].handles)
        await pilot.press("G")
        widget.put_rows([memory(handle) for handle in app.saw(MemoryList.RowsWanted)[-1].handles])
        app.seen.clear()
        await pilot.press("g")
        assert list(app.saw(MemoryList.RowsWanted)[0].handles) == lost


async def test_another_theme_colours_the_rows_at_once() -> None:
    async with listing() as (widget, app, pilot):
        widget.show_page(memories(3), 3)
        await pilot.pause()
        dark = widget.render_line(2)
        for theme in ("zeroclaw-light", "nord", "ansi-dark"):
            app.theme = theme
            await pilot.pause()
            other = widget.render_line(2)
            assert other.text == dark.text
            assert [segment.style for segment in other] != [segment.style for segment in dark]
            dark = other


async def test_a_row_that_is_not_here_yet_shows_dots_and_is_told_when_it_arrives() -> None:
    async with listing() as (widget, app, pilot):
        widget.show_order(["a", "b"])
        await pilot.pause()
        assert shown(widget)[1].strip(" ▌") == "…"
        assert app.saw(MemoryList.RowHighlighted) == []
        assert [list(message.handles) for message in app.saw(MemoryList.RowsWanted)] == [["a", "b"]]
        widget.put_rows([memory(1, handle="a")])
        await pilot.pause()
        assert [message.entry.handle for message in app.saw(MemoryList.RowHighlighted)] == ["a"]
        assert "no longer there" in shown(widget)[2]


async def test_rows_are_asked_for_anew_when_another_program_has_written() -> None:
    async with listing() as (widget, app, pilot):
        widget.show_page(memories(3), 3)
        widget.show_order([0, 1, 2])
        await pilot.pause()
        assert app.saw(MemoryList.RowsWanted) == []
        widget.show_order([3, 0, 1, 2])
        await pilot.pause()
        assert "key_0" in shown(widget)[2]
        assert set(app.saw(MemoryList.RowsWanted)[0].handles) == {0, 1, 2, 3}


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


async def test_what_was_looked_for_is_lit_even_far_into_a_memory() -> None:
    async with listing() as (widget, _, pilot):
        widget.lights = Highlights.of(MemoryFilter(contains="PeaNuts"))
        widget.show_page([memory(1, "word " * 40 + "peanuts and satay"), memory(2, "今日はpeanuts")], 2)
        await pilot.pause()
        for line in (1, 2):
            lit = [segment for segment in widget.render_line(line) if segment.style and segment.style.underline]
            assert [segment.text for segment in lit] == ["peanuts"]
        assert "…" in shown(widget)[1]
