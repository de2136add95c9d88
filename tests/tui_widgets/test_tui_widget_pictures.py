"""Pictures of the two big widgets side by side, as a person sees them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.pilot import Pilot
from tui_widget_samples import HOSTILE, NOW, WidgetApp, hybrid_recall, memory

from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.query import Sort, SortField
from zeroclaw_tui.memory.recall import RecallResult
from zeroclaw_tui.tui.widgets.detail import MemoryDetail
from zeroclaw_tui.tui.widgets.memory_list import MemoryList

PEANUTS = "Allergic to peanuts, careful with satay and mole. Carries an antihistamine."


class _Panes(WidgetApp):
    """List and detail, side by side when it is wide, one under the other when it is not."""

    CSS = """
    MemoryDetail { width: 46; }
    .narrow MemoryDetail { width: 1fr; height: 5; border-top: solid $border-blurred; }
    """

    def __init__(self, *, is_wide: bool, theme: str = "zeroclaw-dark") -> None:
        self.list, self.detail = MemoryList(), MemoryDetail()
        self.is_wide = is_wide
        panes = Horizontal if is_wide else Vertical
        super().__init__(panes(self.list, self.detail, classes="" if is_wide else "narrow"), theme)

    def compose(self) -> ComposeResult:
        yield self.widget


def _memories() -> list[MemoryEntry]:
    return [
        memory(1, "Likes ramen and rust coloured plates", key="fav_food"),
        memory(2, PEANUTS, key="food_allergy", pinned=True, session_id="telegram_12345", embedding_dimensions=1536),
        memory(3, "Timezone was EST", key="tz", superseded_by="id-4"),
        memory(4, "今日は寿司を食べました。とても美味しかったです。", key="昼ごはん", category="daily"),
        memory(5, HOSTILE, key="[/foo]", category="conversation", timestamp="bad"),
        memory(6, "", key="", size=0, timestamp="2026-11-21T21:59:59Z"),
        memory(7, "A key of three hundred characters", key="k" * 300, timestamp="2026-11-21T19:00:00Z"),
    ]


def _browsing(app: _Panes) -> Callable[[Pilot[None]], object]:
    async def show(pilot: Pilot[None]) -> None:
        app.list.set_look(sort=Sort(SortField.AGE, False), now=NOW, show_agent=False)
        app.detail.now = NOW
        app.list.show_page(_memories(), 7)
        app.list.show_order([*range(1, 8), *range(100, 400)])
        app.list.focus()
        await pilot.press("j")
        app.detail.show(_memories()[1], None, None)
        await pilot.pause()

    return show


def _recalling(app: _Panes) -> Callable[[Pilot[None]], object]:
    async def show(pilot: Pilot[None]) -> None:
        recall = _food_recall()
        app.detail.now = NOW
        app.list.show_results(recall)
        app.list.focus()
        app.detail.show(recall.results[0].entry, recall.results[0], recall, norm=1.0)
        await pilot.pause()

    return show


def _food_recall() -> RecallResult:
    recall = hybrid_recall()
    entries = [_memories()[1], _memories()[0], *_memories()[2:]]
    results = [replace(result, entry=entry) for result, entry in zip(recall.results, entries, strict=False)]
    return replace(recall, results=tuple(results))


def test_browsing_in_a_small_terminal(snap_compare: Callable[..., bool]) -> None:
    """Aligned columns, the second row marked, dots for rows still to come, the pane below with head and content."""
    app = _Panes(is_wide=False)
    assert snap_compare(app, run_before=_browsing(app), terminal_size=(80, 20))


def test_a_recall_in_a_wide_terminal(snap_compare: Callable[..., bool]) -> None:
    """Cyan and yellow bars, the threshold's line, dim rows with reasons, the formula with its numbers at the right."""
    app = _Panes(is_wide=True)
    assert snap_compare(app, run_before=_recalling(app), terminal_size=(140, 20))


def test_a_recall_in_the_light_theme_in_a_small_terminal(snap_compare: Callable[..., bool]) -> None:
    """Dark text on warm white, both bars beside short memories, the reasons at the right edge."""
    app = _Panes(is_wide=False, theme="zeroclaw-light")
    assert snap_compare(app, run_before=_recalling(app), terminal_size=(80, 20))


def test_a_recall_in_the_terminals_own_colours(snap_compare: Callable[..., bool]) -> None:
    """The same with nothing but the sixteen colours: marks, words and the line carry all meaning."""
    app = _Panes(is_wide=True, theme="ansi-dark")
    assert snap_compare(app, run_before=_recalling(app), terminal_size=(140, 20))
