"""The list of memories as the answer to a recall."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st
from tui_widget_samples import HOSTILE, WidgetApp, hybrid_recall, memories, memory, recalled, scored, shown

from zeroclaw_tui.memory.recall import RecallRequest, RecallResult, Stop
from zeroclaw_tui.tui.widgets.memory_list import MemoryList, threshold_line


async def _lines(recall: RecallResult, width: int) -> list[str]:
    widget = MemoryList()
    async with WidgetApp(widget).run_test(size=(width, 12)) as pilot:
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
    widget = MemoryList()
    async with WidgetApp(widget).run_test(size=(95, 16)) as pilot:
        widget.show_results(recalled(results))
        await pilot.pause()
        lines = [line.rstrip() for line in shown(widget)]
        bold = [segment.text for y in range(12) for segment in widget.render_line(y) if segment.text in NUMBERS
                and segment.style and segment.style.bold]  # fmt: skip
    ends = [line for line in lines if line.strip("▌ ")[:1] in ("1", "2", "3", "4")]
    assert [line[-13:].strip() for line in ends] == ["0.90", "0.70 → 0.60", "0.53 → 0.3999", "0.50 → 0.20"]
    assert bold == ["0.90", "0.60"]
    assert not any("decayed to" in line for line in lines)


NUMBERS = ("0.90", "0.60", "0.70", "0.53", "0.3999", "0.20", "0.50")


async def test_the_same_query_again_keeps_the_cursor_and_another_starts_at_the_top() -> None:
    widget = MemoryList()
    async with WidgetApp(widget).run_test(size=(95, 12)) as pilot:
        widget.focus()
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
