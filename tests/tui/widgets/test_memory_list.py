"""The list of memories: pages of any length, and the ranked answer to a recall, driven by keys and mouse."""

from __future__ import annotations

from array import array
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from textual.pilot import Pilot
from tui_widget_samples import HOSTILE, NOW, WidgetApp, hybrid_recall, memories, memory, recalled, scored, shown

from zeroclaw_tui.memory.query import NEWEST_STORED, Sort, SortField
from zeroclaw_tui.memory.recall import RecallRequest, RecallResult, Stop
from zeroclaw_tui.tui.format import NO_HIGHLIGHTS
from zeroclaw_tui.tui.widgets.memory_list import MemoryList, threshold_line

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


async def _lines(recall: RecallResult, width: int) -> list[str]:
    async with listing(width, 12) as (widget, _, pilot):
        widget.show_results(recall)
        await pilot.pause()
        return [line.rstrip() for line in shown(widget)]


async def test_a_hybrid_recall_shows_parts_the_threshold_as_a_line_and_reasons_in_words() -> None:
    lines = await _lines(hybrid_recall(), 95)
    assert lines == [
        "     key    memory                                        final  vector         keyword",
        "▌ 1  key_1  What was said at 1                             0.86  ███████▎ 0.91  █████▉   0.74",
        "  2  key_2  What was said at 2                             0.61  █████▌   0.69  ███▎     0.41",
        "  3  key_3  What was said at 3                             0.44  ████▏    0.51  ██▎      0.28",
        "  4  key_4  What was said at 4                             0.41  ████     0.50  –",
        "            skipped: assistant reply",
        " ───── threshold 0.40: below is not injected ────────────────────────────────────────────────",
        "  5  key_5  What was said at 5                             0.31  ███▌     0.44  –",
        "  6  key_6  What was said at 6                             0.30  –              ████████ 1.00",
        "     key_7  What was said at 7                             0.20  –              –",
        "            withheld: exfil_curl",
        "",
    ]


async def test_in_a_narrow_list_bars_then_parts_and_then_the_key_give_way() -> None:
    both = scored(1, 0.9, vector_score=0.9, keyword_score=0.8, injected=True)
    found = recalled([replace(both, entry=memory(1, "She likes noodles and does not like tasting menus."))])
    seen = {width: await _lines(found, width) for width in (80, 60, 40)}
    assert [line.split() for line in (seen[80][0], seen[60][0], seen[40][0])] == [
        ["key", "memory", "final", "vector", "keyword"],
        ["key", "memory", "final"],
        ["memory", "final"],
    ]
    assert seen[80][1].split()[-3:] == ["0.90", "0.90", "0.80"]
    assert seen[40][1:3] == ["▌ 1  She likes noodles and does   0.90", "▌    not like tasting menus."]


async def test_the_bold_number_is_the_one_that_is_compared_with_the_threshold() -> None:
    """After decay or rerank the score before it is in front; one that rounds to the threshold has more digits."""
    results = [
        scored(1, 0.9, decayed=0.9, injected=True),
        scored(2, 0.7, decayed=0.6, injected=True),
        scored(3, 0.53, decayed=0.39996, stop=Stop("threshold", "decay", 0.39996, 0.40, 0.53)),
        scored(4, 0.5, reranked=0.2, stop=Stop("threshold", "", 0.20, 0.40)),
    ]
    async with listing(95, 16) as (widget, _, pilot):
        widget.show_results(recalled(results))
        await pilot.pause()
        lines = [line.rstrip() for line in shown(widget)]
        segments = [segment for y in range(12) for segment in widget.render_line(y)]
        bold = [one.text for one in segments if one.text[:2] == "0." and one.style and one.style.bold]
    ends = [line for line in lines if line.strip("▌ ")[:1] in ("1", "2", "3", "4")]
    assert [line[-13:].strip() for line in ends] == ["0.90", "0.70 → 0.60", "0.53 → 0.3999", "0.50 → 0.20"]
    assert bold == ["0.90", "0.60"]
    assert not any("decayed to" in line for line in lines)


async def test_the_same_query_again_keeps_the_cursor_and_another_starts_at_the_top() -> None:
    async with listing(95, 12) as (widget, _, pilot):
        widget.show_results(hybrid_recall())
        await pilot.press("j", "j")
        turned = hybrid_recall()
        widget.show_results(replace(turned, results=tuple(reversed(turned.results))))
        assert widget.selected_entry == memory(3)
        widget.show_results(replace(turned, request=RecallRequest("something else")))
        await pilot.pause()
        assert widget.selected_entry == memory(1)
        widget.show_page(memories(5))
        await pilot.pause()
        assert widget.selected_result is None
        assert "age" in shown(widget)[0]


@settings(deadline=None)
@given(st.lists(st.one_of(st.none(), st.floats(0, 1)), max_size=8), st.floats(0, 1))
def test_all_above_the_line_reach_the_threshold_and_none_below(scores: list[float | None], threshold: float) -> None:
    line = threshold_line([scored(rank, score) for rank, score in enumerate(scores, 1)], threshold)
    if line is not None:
        assert all(score is None or score >= threshold for score in scores[:line])
        assert all(score is not None and score < threshold for score in scores[line:])
        assert line < len(scores)


async def test_hostile_results_reach_the_screen_as_plain_text() -> None:
    hostile = replace(memory(1, HOSTILE, key=HOSTILE), agent=HOSTILE)
    results = [
        replace(scored(1, 0.5, stop=Stop("skip", HOSTILE)), entry=hostile),
        replace(scored(2, 0.1, withheld=HOSTILE), entry=hostile),
    ]
    for width in (60, 95, 140):
        for line in await _lines(recalled(results, withheld=(results[1],)), width):
            assert not [character for character in line if ord(character) < 32 or 127 <= ord(character) < 160]
            assert "\u202e" not in line
            assert "\ud800" not in line
