"""The counts of memories by category, session and other parts; a click or enter filters the list by a value."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, NamedTuple

from rich.cells import cell_len
from textual.binding import Binding, BindingType
from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from zeroclaw_tui.memory.query import NO_DATE
from zeroclaw_tui.memory.statistics import Counts
from zeroclaw_tui.memory.text import fit
from zeroclaw_tui.tui.themes import ACCENT, MUTED, STRONG
from zeroclaw_tui.tui.view import PARTS, Part, View, value_text

_TITLES: Mapping[Part, str] = {
    "category": "Category",
    "session": "Session",
    "agent": "Agent",
    "namespace": "Namespace",
    "age": "Age",
}
_SUPERSEDED = {"hide": ("show", "superseded"), "show": ("only", "superseded too"), "only": ("only", "superseded only")}
"""By state: the value that a click toggles, and the text. In the last state the click deselects it."""
_LEAST_WIDTH, _CHOICE_WIDTH = 12, 44


class FacetValue(NamedTuple):
    """A value to filter by, its text, and the number of memories that have it."""

    part: Part
    value: str
    words: str
    total: int
    is_chosen: bool


class FacetList(OptionList):
    """The facets of the store with their most frequent values; selected values are marked with a dot."""

    DEFAULT_CSS = """
    FacetList { border: none; padding: 0; background: transparent; scrollbar-gutter: stable; }
    FacetList:focus { border: none; }
    FacetList > .option-list--option-disabled { color: $foreground; }
    FacetList > .option-list--option-highlighted { background: transparent; color: $foreground; text-style: none; }
    FacetList:focus > .option-list--option-highlighted { background: $primary 25%; color: $foreground; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "cursor_down", "Down", show=False),
        Binding("k", "cursor_up", "Up", show=False),
        Binding("g", "first", "First", show=False),
        Binding("G", "last", "Last", show=False),
        Binding("space", "select", "Narrow", show=False),
    ]

    @dataclass
    class Toggled(Message):
        """A value was selected or deselected."""

        part: Part
        value: str

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id=id, markup=False, compact=True)
        self._facets: Counts | None = None
        self._others: Mapping[Part, Counts] = {}
        self.view = View()
        """The view that the list shows."""
        self._rows: list[tuple[Part, str] | None] = []

    def show(self, facets: Counts | None, others: Mapping[Part, Counts], view: View) -> None:
        """Show counts; `others` has the counts of a part with selected values without its own filter."""
        self._facets, self._others, self.view = facets, others, view
        self._rebuild()

    def on_focus(self) -> None:
        if self.highlighted is None:
            self.action_first()

    def on_resize(self) -> None:
        self._rebuild()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        row = self._rows[event.option_index]
        if row is not None:
            self.post_message(self.Toggled(*row))

    def _rebuild(self) -> None:
        current = self._rows[self.highlighted] if self.highlighted is not None else None
        lines = list(self._facet_lines())
        self._rows = [row for row, _ in lines]
        self.set_options([Option(line, disabled=row is None) for row, line in lines])
        if current is not None and current in self._rows:
            self.highlighted = self._rows.index(current)

    def _facet_lines(self) -> Iterator[tuple[tuple[Part, str] | None, Content]]:
        """Yield the lines of the pane, each with the value that it filters by."""
        width, gap = max(_LEAST_WIDTH, self.scrollable_content_region.width), ""
        for part, title in _TITLES.items():
            values = self.values(part)
            shown = [choice for index, choice in enumerate(values) if index < 12 or choice.is_chosen]
            if shown:
                yield None, Content.styled(gap + title, STRONG)
                gap = "\n"
            for choice in shown:
                yield (part, choice.value), facet_line(choice, width)
            if len(values) > len(shown):
                yield None, Content.styled(f"  {len(values) - len(shown):,} more in F", MUTED)
        for choice in self.values("superseded"):
            yield None, Content(" ")
            yield (choice.part, choice.value), facet_line(choice, width)

    def values(self, part: Part) -> list[FacetValue]:
        """The values of a part to filter by."""
        facets = self._others.get(part, self._facets)
        if facets is None:
            return []
        if part == "superseded":
            value, words = _SUPERSEDED[self.view.superseded]
            is_chosen = bool(self.view.values(part))
            return [FacetValue(part, value, words, facets.superseded, is_chosen)] if facets.superseded else []
        counts, chosen = facets.by.get(part), self.view.values(part)
        if counts is None or (part == "namespace" and len(counts) < 2 and not chosen):
            return []
        missing = {value: 0 for value in chosen if value not in counts}
        # There is no filter for memories without a date.
        every = ((value, count) for value, count in {**missing, **counts}.items() if value != NO_DATE)
        return [FacetValue(part, value, value_text(part, value), count, value in chosen) for value, count in every]


def facet_line(choice: FacetValue, width: int) -> Content:
    """A value with its count, and a dot if it is selected, in `width` cells."""
    number = f"{choice.total:,}"
    name = (fit(choice.words, width - cell_len(number) - 3), STRONG if choice.is_chosen else "")
    return Content.assemble(("● " if choice.is_chosen else "  ", ACCENT), name, " ", (number, MUTED))


class FilterValues(Provider):
    """The values to filter by, each with its count, for the palette."""

    async def discover(self) -> Hits:
        for choice, line, toggle in self._choices(200):
            yield DiscoveryHit(line, toggle, choice.words)

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for choice, line, toggle in self._choices():
            score = matcher.match(choice.words)
            if score:
                yield Hit(score, line, toggle, choice.words)

    def _choices(self, most: int | None = None) -> Iterator[tuple[FacetValue, Content, Callable[[], object]]]:
        """Yield at most `most` values of each part, each with its line and its action."""
        facets = self.screen.query_one(FacetList)
        for choice in (choice for part in PARTS for choice in facets.values(part)[:most]):
            title = Content.styled(fit(_TITLES.get(choice.part, ""), _LEAST_WIDTH), MUTED)
            toggled = FacetList.Toggled(choice.part, choice.value)
            yield choice, title + facet_line(choice, _CHOICE_WIDTH), partial(facets.post_message, toggled)
