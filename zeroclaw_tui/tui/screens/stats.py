"""How much is remembered: counts, growth, sizes, coverage, drawn."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Vertical, VerticalScroll
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from zeroclaw_tui.curation.stats import StoreStats, full_stats, store_stats
from zeroclaw_tui.memory.errors import InspectorError
from zeroclaw_tui.tui.commands import bindings
from zeroclaw_tui.tui.external import copy_text
from zeroclaw_tui.tui.loader import Pace
from zeroclaw_tui.tui.looks import MUTED, STRONG
from zeroclaw_tui.tui.screens import stats_words as words
from zeroclaw_tui.tui.screens.stats_keys import STATS_COMMANDS
from zeroclaw_tui.tui.screens.working import WorkingScreen, shown_words
from zeroclaw_tui.tui.themes import score_colours
from zeroclaw_tui.tui.widgets.detail_text import DOT
from zeroclaw_tui.tui.widgets.empty import Empty
from zeroclaw_tui.tui.widgets.growth_plot import GrowthPlot
from zeroclaw_tui.tui.widgets.key_line import KeyLine
from zeroclaw_tui.tui.widgets.lines_block import Lines, LinesBlock
from zeroclaw_tui.tui.widgets.status_bar import Banner

if TYPE_CHECKING:
    from zeroclaw_tui.curation.library import Library

_LEFT = ("category", "age", "size", "session", "agent", "namespace")
_RIGHT = ("embedded", "biggest", "storage")
_NAMES = 5


class StatsPage(VerticalScroll, can_focus=True, inherit_bindings=False):
    """The page, scrolling with the keys of the list."""

    ALLOW_SELECT = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j,down", "scroll_down", "Down", id="stats.down", show=False, tooltip="A line on"),
        Binding("k,up", "scroll_up", "Up", id="stats.up", show=False, tooltip="A line back"),
        Binding("g,home", "scroll_home", "Top", id="stats.top", show=False, tooltip="To the beginning"),
        Binding("G,end", "scroll_end", "End", id="stats.bottom", show=False, tooltip="To the end"),
        Binding("pagedown,ctrl+d", "page_down", "Page down", id="stats.page_down", show=False, tooltip="A page on"),
        Binding("pageup,ctrl+u", "page_up", "Page up", id="stats.page_up", show=False, tooltip="A page back"),
    ]


class StatsScreen(WorkingScreen):
    """How much is remembered: counts, growth, sizes, coverage, drawn. Nothing is changed here, so it gives False."""

    CSS_PATH = "stats.tcss"
    AUTO_FOCUS = "#page"
    COMMANDS_HERE = STATS_COMMANDS
    BINDINGS: ClassVar[list[BindingType]] = bindings(STATS_COMMANDS)

    def __init__(self, library: Library, clock: Callable[[], datetime], pace: Pace) -> None:
        super().__init__(library, clock, pace)
        self._counted: StoreStats | None = None

    def compose(self) -> ComposeResult:
        """Title, what went wrong, the page, keys."""
        yield Static("", id="title", markup=False)
        yield Banner(id="failure")
        yield Empty(id="empty")
        with StatsPage(id="page"):
            yield GrowthPlot(id="growth")
            with Container(id="columns"):
                for column, blocks in (("left", _LEFT), ("right", _RIGHT)):
                    with Vertical(id=column):
                        for name in blocks:
                            yield LinesBlock(id=name, classes="block")
        yield KeyLine(show_command_palette=False)

    def on_mount(self) -> None:
        """Count."""
        self.reload()

    def panes(self) -> Sequence[tuple[str, Widget]]:
        """The one page."""
        return (("On the page", self.query_one(StatsPage)),)

    def on_resize(self) -> None:
        """As many facts as fit."""
        self._paint_title()

    def reload(self) -> None:
        """Count again; what is being counted stops."""
        self.run_worker(self._count(), group="stats", exclusive=True)

    def action_reload(self) -> None:
        """Count again."""
        self.reload()

    def action_step_out(self) -> None:
        """Back to where one came from; what is being counted stops."""
        self.action_leave()

    def action_copy_json(self) -> None:
        """Copy what `memory stats --json` prints."""
        self.run_worker(self._copy(), group="stats-copy", exclusive=True)

    async def _count(self) -> None:
        memory = self.library.memory
        try:
            with self.saying(self._say_counting):
                counted = await store_stats(memory, self.clock().isoformat())
        except InspectorError as error:
            self.query_one("#failure", Banner).show("error", shown_words(str(error)), "r", "tries again", "reload")
            self._paint_title()
            return
        self._counted = counted
        self.query_one("#failure", Banner).hide()
        self._show(counted)

    def _say_counting(self) -> None:
        self.query_one("#title", Static).update(Content.styled("Counting memories …", MUTED))

    def _show(self, counted: StoreStats) -> None:
        memory, every, rows = self.library.memory, counted.every, counted.rows
        self.set_class(rows.total == 0, "-empty")
        self._paint_title()
        if rows.total == 0:
            self.query_one(Empty).show(*words.empty_words(memory))
            return
        self.query_one(GrowthPlot).show(counted.growth)
        why_not = memory.capabilities.why_not.get("vectors")
        blocks: dict[str, Lines] = {
            "category": partial(words.share_lines, "Categories", every.category),
            "age": partial(words.share_lines, "Ages", every.ages),
            "size": partial(words.share_lines, "Sizes", rows.size),
            "session": self._named("Sessions", every.session),
            "agent": self._named("Agents", every.agent),
            "namespace": self._named("Namespaces", every.namespace),
            "embedded": partial(words.embedded_lines, counted, why_not, self._vector_colour),
            "biggest": partial(words.biggest_lines, rows.biggest),
            "storage": partial(words.storage_lines, counted),
        }
        for name, lines in blocks.items():
            self.query_one(f"#{name}", LinesBlock).show(lines)

    def _named(self, title: str, counts: Mapping[str, int] | None) -> Lines:
        """The block of a facet; of one value alone there is nothing to compare."""
        several = counts if counts is not None and len(counts) > 1 else {}
        return partial(words.share_lines, words.of_many(title, counts), several, most=_NAMES)

    def _vector_colour(self) -> str:
        return score_colours(self.app)["vector"].css

    def _paint_title(self) -> None:
        if self._counted is None:
            self.query_one("#title", Static).update("")
            return
        facts: Sequence[str] = words.title_facts(self._counted)
        while len(facts) > 1 and len(DOT.join(facts)) > self.size.width - 2:
            facts = facts[:-1]
        rest = "".join(DOT + fact for fact in facts[1:])
        self.query_one("#title", Static).update(Content.assemble((facts[0], STRONG), (rest, MUTED)))

    async def _copy(self) -> None:
        try:
            document = await full_stats(self.library.memory, self.clock().isoformat())
        except InspectorError as error:
            self.say_failure(error)
            return
        self.tell(await copy_text(self.app, json.dumps(document, indent=2, ensure_ascii=False)))
