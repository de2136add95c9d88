"""Widgets alone in a terminal: lists, the detail of a memory, and their format of numbers, times and text."""

from __future__ import annotations

from array import array
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from support.memories import MemoryEntry
from support.questions import NEWEST_STORED, RecallRequest, RecallResult, ScoredEntry, Sort, SortField, Stop
from support.screens import screen_text, screen_words
from textual.app import App, ComposeResult
from textual.pilot import Pilot
from textual.widget import Widget
from tui.samples import NOW

from zeroclaw_tui.memory.text import fit
from zeroclaw_tui.tui.format import relative_age
from zeroclaw_tui.tui.themes import ZEROCLAW_DARK, own_variables
from zeroclaw_tui.tui.view import NO_HIGHLIGHTS, bar
from zeroclaw_tui.tui.widgets.detail import MAX_SHOWN, MemoryDetail, origin_parts, score_lines
from zeroclaw_tui.tui.widgets.memory_list import MemoryList, threshold_line
from zeroclaw_tui.tui.widgets.table_list import Column, TableList


def memory(number: int, content: str = "", **parts: Any) -> MemoryEntry:
    """Return a memory of eight months ago whose handle is its number."""
    text = content or f"What was said at {number}"
    plain = MemoryEntry(f"id-{number}", f"key_{number}", text, "core", "2026-03-02T09:14:12+00:00", handle=number)
    return replace(plain, size=len(text.encode()), **parts)


def scored(rank: int, score: float | None, **parts: Any) -> ScoredEntry:
    """Return a result whose memory has the rank as handle."""
    return ScoredEntry(memory(rank), rank, score, stage="hybrid")._replace(**parts)


def recalled(results: Sequence[ScoredEntry], profile: str = "0.6.2", **parts: Any) -> RecallResult:
    """Return a recall of these results with a threshold of 0.4."""
    request = RecallRequest("what does she like", as_of="2026-11-20T12:00:00+00:00")
    plain = (request, "sqlite", "brain.db", profile, "assumed", "hybrid", (0.7, 0.3), 0.4, "0..1", tuple(results))
    return replace(RecallResult(*plain, injected=sum(result.injected for result in results)), **parts)


def hybrid_recall() -> RecallResult:
    """Return three injected results, one skipped above the threshold, two below it, and one withheld."""
    first = scored(1, 0.86, vector_score=0.91, keyword_score=0.74, keyword_raw=4.31, vector_rank=1, keyword_rank=2)
    return recalled(
        [
            first._replace(injected=True),
            scored(2, 0.61, vector_score=0.69, keyword_score=0.41, injected=True),
            scored(3, 0.44, vector_score=0.51, keyword_score=0.28, injected=True),
            scored(4, 0.41, vector_score=0.5, stop=Stop("skip", "skipped: assistant reply")),
            scored(5, 0.31, vector_score=0.44, stop=Stop("threshold", "threshold 0.31 < 0.40")),
            scored(6, 0.3, keyword_score=1.0, stop=Stop("threshold", "threshold 0.30 < 0.40")),
        ],
        withheld=(scored(7, 0.2, withheld="exfil_curl", stop=Stop("scanner", "withheld: exfil_curl")),),
    )


class WidgetApp(App[None]):
    """An app with one widget that records the requested rows."""

    def __init__(self, widget: Widget) -> None:
        super().__init__()
        self.widget = widget
        self.wanted: list[MemoryList.RowsWanted] = []
        self.register_theme(ZEROCLAW_DARK)
        self.theme = ZEROCLAW_DARK.name

    def compose(self) -> ComposeResult:
        yield self.widget

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return own_variables(self.current_theme)

    def on_memory_list_rows_wanted(self, message: MemoryList.RowsWanted) -> None:
        self.wanted.append(message)


@asynccontextmanager
async def showing(widget: Any, width: int = 80, height: int = 24) -> AsyncIterator[tuple[WidgetApp, Pilot[None]]]:
    """Run an app with the widget, which has the focus."""
    app = WidgetApp(widget)
    async with app.run_test(size=(width, height)) as pilot:
        if isinstance(widget, MemoryList):
            widget.set_look(NEWEST_STORED, NOW, False, NO_HIGHLIGHTS)
        widget.focus()
        await pilot.pause()
        yield app, pilot


def lines_of(widget: Widget) -> list[str]:
    """Return the lines of a widget as painted now."""
    return [widget.render_line(y).text.rstrip() for y in range(widget.size.height)]


async def test_a_list_shows_its_columns_and_fills_any_width() -> None:
    rows = MemoryList()
    async with showing(rows, 140) as (_, pilot):
        rows.show_page(
            [
                memory(1, "Allergic to peanuts,\ncareful with satay", pinned=True),
                memory(2, "x" * 1229, superseded_by="id-1", category="conversation", timestamp="bad"),
                replace(memory(3, key="", timestamp="2026-11-20T11:59:59Z"), content="", size=0),
            ]
        )
        await pilot.pause()
        heading, *lines = [" ".join(line.split()) for line in lines_of(rows)[:4]]
        assert heading == "category key memory size age"
        assert lines[0] == "▌core key_1 ◆ Allergic to peanuts, careful with satay 39 B 8 mo"
        assert lines[1].startswith("conversation key_2 → xxx")
        assert lines[1].endswith("… 1.2 KB ?")
        assert lines[2] == "core (empty key) (empty) 0 B now"
        rows.set_look(Sort(SortField.CATEGORY), NOW, True, NO_HIGHLIGHTS)
        rows.show_page([memory(1, "今日は寿司を食べました。" * 9, key="k" * 300, agent="助手" * 20)])
        for width in (40, 60, 76, 80, 100, 140, 200):
            await pilot.resize_terminal(width, 24)
            await pilot.pause()
            assert {rows.render_line(y).cell_length for y in range(rows.size.height)} == {width}
            assert "memory" in lines_of(rows)[0]


async def test_the_cursor_stays_on_its_memory_or_else_at_its_position() -> None:
    rows = MemoryList()
    async with showing(rows) as (_, pilot):
        rows.show_page([memory(number) for number in range(200)])
        rows.show_order(array("q", range(200)))
        rows.action_move(50)
        await pilot.pause()
        line = rows.cursor - rows.scroll_offset.y
        rows.show_order(array("q", [500, 501, 502, *range(200)]))
        await pilot.pause()
        assert (rows.selected_entry, rows.cursor) == (memory(50), 53)
        assert rows.cursor - rows.scroll_offset.y == line
        rows.show_order(list(range(5)))
        await pilot.pause()
        assert rows.cursor == 4
        # The same query keeps the selected memory; another one starts at the top.
        found = hybrid_recall()
        rows.show_results(found)
        await pilot.press("g", "j", "j")
        rows.show_results(replace(found, results=tuple(reversed(found.results))))
        assert rows.selected_entry == memory(3)
        rows.show_results(replace(found, request=RecallRequest("something else")))
        await pilot.pause()
        assert rows.selected_entry == memory(1)
        rows.show_page(())
        await pilot.pause()
        assert (rows.row_count, rows.selected_entry, rows.selected_result) == (0, None, None)
        assert not "".join(lines_of(rows)).strip()


async def test_key_and_scrollbar_reach_the_end_and_middle_of_a_million_rows() -> None:
    rows = MemoryList()
    async with showing(rows) as (app, pilot):
        rows.show_order(array("q", range(1_000_000)))
        await pilot.pause()
        await pilot.press("G")
        await pilot.pause()
        assert rows.cursor == 999_999
        assert 999_999 in app.wanted[-1].handles
        bar = rows.vertical_scrollbar
        await pilot.mouse_down(bar, offset=(0, 23))
        await pilot.pause()
        await pilot.hover(bar, offset=(0, 12))
        await pilot.mouse_up(bar, offset=(0, 12))
        await pilot.pause()
        assert 300_000 < rows.scroll_offset.y < 700_000
        assert rows.scroll_offset.y in app.wanted[-1].handles


async def test_a_hybrid_recall_shows_partial_scores_a_threshold_line_and_reasons() -> None:
    rows = MemoryList()
    async with showing(rows, 95, 12) as (_, pilot):
        rows.show_results(hybrid_recall())
        await pilot.pause()
        assert lines_of(rows) == [
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
        await pilot.resize_terminal(60, 12)
        await pilot.pause()
        assert lines_of(rows)[0].split() == ["key", "memory", "final"]


async def test_the_bold_number_of_a_row_is_the_score_compared_with_the_threshold() -> None:
    """After decay or rerank the earlier score is first; a score that rounds to the threshold has more digits."""
    results = [
        scored(1, 0.9, decayed=0.9, injected=True),
        scored(2, 0.7, decayed=0.6, injected=True),
        scored(3, 0.53, decayed=0.39996, stop=Stop("threshold", "threshold 0.39996 < 0.40000 after decay from 0.53")),
        scored(4, 0.5, reranked=0.2, stop=Stop("threshold", "threshold 0.20 < 0.40")),
    ]
    rows = MemoryList()
    async with showing(rows, 95, 16) as (_, pilot):
        rows.show_results(recalled(results))
        await pilot.pause()
        lines = [line for line in lines_of(rows) if "What was said" in line]
        segments = [segment for y in range(12) for segment in rows.render_line(y)]
    assert [line[-14:].strip() for line in lines] == ["0.90", "0.70 → 0.60", "0.53 → 0.39996", "0.50 → 0.20"]
    assert [one.text for one in segments if one.text[:2] == "0." and one.style and one.style.bold] == ["0.90", "0.60"]


@settings(deadline=None)
@given(st.lists(st.one_of(st.none(), st.floats(0, 1)), max_size=8), st.floats(0, 1))
def test_the_threshold_line_separates_scores_exactly(scores: list[float | None], threshold: float) -> None:
    line = threshold_line([scored(rank, score) for rank, score in enumerate(scores, 1)], threshold)
    if line is not None:
        assert all(score is None or score >= threshold for score in scores[:line])
        assert all(score is not None and score < threshold for score in scores[line:])
        assert line < len(scores)


async def test_the_detail_shows_exactly_the_fields_of_a_memory() -> None:
    detail = MemoryDetail()
    parts = {"session_id": "telegram_12345", "agent": "main", "namespace": "home", "kind": "semantic:fact"}
    numbers = {"importance": 0.7, "pinned": True, "embedding_dimensions": 1536, "superseded_by": "id-9"}
    text = "Allergic to peanuts.\n\n  - satay\n  - mole"
    facts = (
        "key_1 core · created 2026-03-02 09:14 (8 mo)", "updated 2026-04-01 10:00", "session telegram_12345",
        "agent main", "1536-d vector · 40 B", "◆ pinned", "importance 0.70", "kind semantic:fact",
        "→ superseded by id-9", "id id-1",
    )  # fmt: skip
    async with showing(detail, 60) as (app, pilot):
        detail.now = NOW
        detail.show(memory(1, text, updated_at="2026-04-01T10:00:00Z", **parts, **numbers), None, None)
        await pilot.pause()
        for words in facts:
            assert words in screen_words(app)
        assert "\n   - satay" in "\n".join(line.rstrip() for line in screen_text(app).split("\n"))
        detail.show(memory(2, "plain"), None, None)
        await pilot.pause()
        for word in ("vector", "session", "agent", "pinned", "importance", "kind", "superseded", "final"):
            assert word not in screen_words(app)
        # Only the beginning of a huge memory is shown; the whole text of an excerpt keeps the scroll position.
        content = "今日は " * 700_000
        detail.show(memory(3, content), None, None)
        await pilot.pause()
        await pilot.press("G")
        await pilot.pause()
        assert f"{len(content) - MAX_SHOWN:,} more characters" in screen_words(app)
        detail.show(memory(4, "line\n" * 50, is_excerpt=True), None, None)
        await pilot.press("j", "j", "j")
        assert detail.scroll_offset.y == 3
        detail.show(memory(4, "line\n" * 80), None, None)
        await pilot.pause()
        assert detail.scroll_offset.y == 3
        detail.show(memory(5, "line\n" * 80), None, None)
        await pilot.pause()
        assert detail.scroll_offset.y == 0


def sentences(result: ScoredEntry, recall: RecallResult | None = None) -> list[str]:
    """Return the sentences of the detail about a score."""
    return ["".join(text for text, _ in line) for line in score_lines(result, recall or recalled([result]))]


def test_the_detail_shows_the_numbers_of_its_result() -> None:
    recall = hybrid_recall()
    assert sentences(recall.results[0], recall) == [
        "final 0.86; x shows how it was made",
        "keyword: rank 2, bm25 4.31, 0.74 of the best",
        "vector: rank 1, cosine 0.91",
        "✓ injected as entry 1 of 3",
    ]
    assert sentences(recall.results[3], recall)[-1] == "✗ not injected: skipped: assistant reply"
    assert sentences(recall.results[5], recall) == [
        "final 0.30; x shows how it was made",
        "keyword: 1.00 of the best",
        "✗ not injected: threshold 0.30 < 0.40",
    ]
    assert "✗ withheld from the agent: exfil_curl" in sentences(recall.withheld[0], recall)


def test_rule_decay_and_time_are_named_only_if_not_the_default() -> None:
    for stage, score, words in (("like", 1.0, "final 1.00: by the rule of like (0..1)"), ("recent", None, "no score")):
        other = scored(1, score, stage=stage)
        assert sentences(other, recalled([other], "0.7.5", mode=stage))[0] == words
    for decayed in (0.4, 0.8):
        result = scored(1, 0.8, decayed=decayed, vector_score=0.8)
        assert ("after decay 0.40" in sentences(result, recalled([result], "0.8.4"))) == (decayed == 0.4)
        assert any("decay" in line for line in sentences(result, recalled([result], "0.8.4"))) == (decayed == 0.4)
    for timestamp, words in (("MEMORY", "MEMORY"), ("", "no date")):
        assert origin_parts(memory(1, timestamp=timestamp), None)[1] == words


COLUMNS: tuple[Column[tuple[str, int]], ...] = (
    Column("thing", lambda thing: thing[0]),
    Column("count", lambda thing: f"{thing[1]:,}", width=7, right=True, look="muted"),
    Column("about", lambda thing: "x" * thing[1], flex=True),
    Column("only wide", lambda thing: "yes", hidden_below=70),
)


async def test_keys_move_in_a_list_of_items_and_its_row_is_kept() -> None:
    things = [(f"thing {number}", number) for number in range(100)]
    table = TableList(COLUMNS, things, key=lambda thing: thing[0], empty="Nothing was found. [b]r[/b] looks again.")
    async with showing(table, 60, 21) as (_, pilot):
        places = []
        for key in ("j", "down", "k", "G", "j", "g", "end", "home", "k", "ctrl+d", "ctrl+u", "pagedown", "pageup"):
            await pilot.press(key)
            places.append(table.cursor)
        assert places == [1, 2, 1, 99, 99, 0, 99, 0, 0, 10, 0, 19, 0]
        await pilot.press("j", "j")
        table.set_rows([("new", 0), *things])
        assert table.selected == ("thing 2", 2)
        table.set_rows(things[:2])
        assert table.selected == ("thing 1", 1)
        table.set_rows([("ham", 7), ("a longer name", 1200)], cursor=1)
        await pilot.resize_terminal(68, 21)
        await pilot.pause()
        assert lines_of(table)[:2] == [" thing            count  about", " ham                  7  xxxxxxx"]
        assert lines_of(table)[2].startswith("▌a longer name    1,200  xxxx")
        assert lines_of(table)[2].endswith("x…")
        await pilot.resize_terminal(80, 21)
        await pilot.pause()
        assert lines_of(table)[0].split() == ["thing", "count", "about", "only", "wide"]
        table.set_rows([])
        await pilot.press("j", "G", "ctrl+d")
        assert (table.selected, lines_of(table)[0]) == (None, "  Nothing was found. [b]r[/b] looks again.")


EVENING = datetime(2026, 11, 21, 22, 0, tzinfo=UTC)
AWKWARD = st.text(
    st.one_of(st.characters(), st.sampled_from("a 今日é\u0301\u200d\ufe0f👩👧☕🇫🇷ﷺ\u200b\u1100\u0e33")), max_size=60
)


@pytest.mark.parametrize(
    ("timestamp", "age"),
    [
        ("2026-11-21T21:59:30+00:00", "now"),
        ("2026-11-21T21:55:00Z", "5 min"),
        ("2026-11-21T19:00:00.123456789+00:00", "2 h"),
        ("2026-10-23T22:00:00Z", "29 d"),
        ("2026-03-02T09:14:12Z", "8 mo"),
        ("2024-01-01T00:00:00Z", "2 y"),
        ("2026-11-24T23:00:00Z", "in 3 d"),
        ("2026-11-21T23:30:00+02:00", "30 min"),
        ("yesterday", "?"),
    ],
)
def test_an_age_has_one_unit(timestamp: str, age: str) -> None:
    assert relative_age(timestamp, EVENING) == age


@settings(deadline=None)
@given(AWKWARD, AWKWARD, st.integers(1, 40))
def test_fitted_columns_stay_aligned_side_by_side(left: str, right: str, cells: int) -> None:
    """A joiner at the end of one column must not remove a cell of the next."""
    columns = fit(left, cells), fit(right, cells, "right")
    assert cell_len("│".join(columns)) == cells + 1 + cell_len(columns[1]) == 2 * cells + 1


def test_cut_text_ends_with_an_ellipsis_after_a_whole_character() -> None:
    assert fit("Allergic to peanuts", 9) == "Allergic…"
    assert fit("今日は寿司", 6) == "今日… "
    assert fit("37 B", 6, "right") == "  37 B"
    assert fit("x" * 5_000_000, 4) == "xxx…"


def test_a_bar_is_drawn_in_eighths() -> None:
    for value, drawn in ((1.0, "████"), (0.5, "██  "), (0.0, "    "), (0.0001, "▏   "), (7.0, "████")):
        assert bar(value, 4) == drawn
    assert bar(None, 4) == bar(float("nan"), 4) == "–   "
