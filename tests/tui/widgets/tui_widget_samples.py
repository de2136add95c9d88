"""Memories, recalls and a bare app for the widget tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from textual.app import App, ComposeResult
from textual.message import Message
from textual.widget import Widget

from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.recall import RecallRequest, RecallResult, ScoredEntry, Stop
from zeroclaw_tui.tui.themes import ZEROCLAW_DARK, own_variables
from zeroclaw_tui.tui.widgets.memory_list import MemoryList
from zeroclaw_tui.tui.widgets.table_list import TableList

NOW = datetime(2026, 11, 21, 22, 0, tzinfo=UTC)
HOSTILE = "[bold]hi[/] [/foo] [@click=app.bell()]x[/] \x1b]0;owned\x07\x1b[31m \x9b1m \u202eevil\u202c \x00 \ud800 end"


def memory(number: int, content: str | None = None, **parts: Any) -> MemoryEntry:
    """A memory whose handle is its number."""
    text = f"What was said at {number}" if content is None else content
    plain = MemoryEntry(
        id=f"id-{number}",
        key=f"key_{number}",
        content=text,
        category="core",
        timestamp="2026-03-02T09:14:12.123456789+00:00",
        handle=number,
        size=len(text.encode("utf-8", "surrogatepass")),
    )
    return replace(plain, **parts)


def memories(count: int, start: int = 0) -> list[MemoryEntry]:
    """So many memories in order."""
    return [memory(number) for number in range(start, start + count)]


def scored(rank: int, score: float | None, **parts: Any) -> ScoredEntry:
    """A result whose memory has its rank as handle."""
    return replace(ScoredEntry(memory(rank), rank, score, stage="hybrid"), **parts)


def recalled(results: Sequence[ScoredEntry], **parts: Any) -> RecallResult:
    """A recall of these results, by the rules up to 0.6.2 unless said otherwise."""
    plain = RecallResult(
        request=RecallRequest("what does she like", as_of="2026-11-21T22:00:00+00:00"),
        backend="sqlite",
        location="brain.db",
        profile="0.6.2",
        profile_source="assumed",
        mode="hybrid",
        weights=(0.7, 0.3),
        threshold=0.4,
        scale="0..1",
        results=tuple(results),
    )
    return replace(plain, **parts)


def hybrid_recall() -> RecallResult:
    """Three injected, one skipped above the threshold, two below it, one withheld."""
    return recalled(
        [
            scored(
                1,
                0.86,
                vector_score=0.91,
                keyword_score=0.74,
                keyword_raw=4.31,
                vector_rank=1,
                keyword_rank=2,
                injected=True,
            ),
            scored(2, 0.61, vector_score=0.69, keyword_score=0.41, injected=True),
            scored(3, 0.44, vector_score=0.51, keyword_score=0.28, injected=True),
            scored(4, 0.41, vector_score=0.5, stop=Stop("skip", "assistant reply")),
            scored(5, 0.31, vector_score=0.44, stop=Stop("threshold", "", 0.31, 0.40)),
            scored(6, 0.3, keyword_score=1.0, stop=Stop("threshold", "", 0.30, 0.40)),
        ],
        withheld=(scored(7, 0.2, withheld="exfil_curl", stop=Stop("scanner", "exfil_curl")),),
    )


class WidgetApp(App[None]):
    """An app of one widget that notes which messages reach it."""

    def __init__(self, widget: Widget) -> None:
        super().__init__()
        self.widget = widget
        self.seen: list[Message] = []
        self.register_theme(ZEROCLAW_DARK)
        self.theme = ZEROCLAW_DARK.name

    def compose(self) -> ComposeResult:
        yield self.widget

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return own_variables(self.current_theme)

    def on_memory_list_rows_wanted(self, message: MemoryList.RowsWanted) -> None:
        self.seen.append(message)

    def on_table_list_row_highlighted(self, message: TableList.RowHighlighted) -> None:
        self.seen.append(message)

    def on_table_list_row_opened(self, message: TableList.RowOpened) -> None:
        self.seen.append(message)

    def saw(self, kind: type[Message]) -> list[Any]:
        """The messages of one kind, oldest first."""
        return [message for message in self.seen if type(message) is kind]


def shown(widget: Widget) -> list[str]:
    """The lines of a widget as they are painted now."""
    return [widget.render_line(y).text for y in range(widget.size.height)]
