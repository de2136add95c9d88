"""How many memories there are of each kind; a click or enter narrows the list to one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

from rich.cells import cell_len
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from zeroclaw_tui.memory.query import NO_DATE
from zeroclaw_tui.memory.statistics import Counts
from zeroclaw_tui.tui.format import fit
from zeroclaw_tui.tui.themes import ACCENT, MUTED, STRONG
from zeroclaw_tui.tui.view import Part, View, value_words

_TITLES: Mapping[Part, str] = {
    "category": "Category",
    "session": "Session",
    "agent": "Agent",
    "namespace": "Namespace",
    "age": "Age",
}
_SUPERSEDED = {"hide": "superseded", "show": "superseded too", "only": "superseded only"}
_LEAST_WIDTH = 12
MOST_VALUES = 200


class FacetList(OptionList):
    """The facets a generation has, `most` values of each, the values that narrow the list marked with a dot."""

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
        """A value was chosen."""

        part: Part
        value: str

    def __init__(self, id: str | None = None, most: int = 12) -> None:
        super().__init__(id=id, markup=False, compact=True)
        self._most = most
        self._facets: Counts | None = None
        self._others: Mapping[Part, Counts] = {}
        self._view = View()
        self._narrowed_to = ""
        self._rows: list[tuple[Part, str] | None] = []

    def show(self, facets: Counts | None, others: Mapping[Part, Counts], view: View) -> None:
        """Count; `others` has the counts of a part that narrows as they would be without it."""
        self._facets, self._others, self._view = facets, others, view
        self._rebuild()

    def narrow(self, text: str) -> None:
        """Only values that contain the text."""
        self._narrowed_to = text.casefold()
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
        here = self._rows[self.highlighted] if self.highlighted is not None else None
        self._rows = []
        options: list[Option] = []
        for part in _TITLES:
            values = list(self._values(part))
            if values:
                options += self._section(part, values, is_first=not options)
        state = _SUPERSEDED[self._view.filter.superseded]
        count = self._facets.superseded if self._facets else None
        if count and self._narrowed_to in state:
            options += [self._option(None, Content(" ")), self._value("superseded", "", count, state)]
        self.set_options(options)
        if here is not None and here in self._rows:
            self.highlighted = self._rows.index(here)

    def _values(self, part: Part) -> Iterator[tuple[str, int]]:
        facets = self._others.get(part, self._facets)
        counts = facets.by.get(part) if facets else None
        if counts is None or (part == "namespace" and len(counts) < 2 and not self._view.filter.namespace):
            return
        chosen = () if part == "age" else (getattr(self._view.filter, part) or ())
        missing = {value: 0 for value in chosen if value not in counts}
        for value, count in {**missing, **counts}.items():
            # The list cannot be narrowed to memories without a date.
            if value != NO_DATE and self._narrowed_to in value_words(part, value).casefold():
                yield value, count

    def _section(self, part: Part, values: list[tuple[str, int]], *, is_first: bool) -> list[Option]:
        title = _TITLES[part] if is_first else f"\n{_TITLES[part]}"
        shown = [pair for at, pair in enumerate(values) if at < self._most or self._view.has(part, pair[0])]
        options = [self._option(None, Content.styled(title, STRONG))]
        options += [self._value(part, value, count, value_words(part, value)) for value, count in shown]
        if len(values) > len(shown):
            rest = f"  {len(values) - len(shown):,} more in F"
            options.append(self._option(None, Content.styled(rest, MUTED)))
        return options

    def _option(self, row: tuple[Part, str] | None, content: Content) -> Option:
        self._rows.append(row)
        return Option(content, disabled=row is None)

    def _value(self, part: Part, value: str, count: int, words: str) -> Option:
        is_chosen, number = self._view.has(part, value), f"{count:,}"
        width = max(_LEAST_WIDTH, self.scrollable_content_region.width) - cell_len(number) - 3
        name = (fit(words, width), STRONG if is_chosen else "")
        content = Content.assemble(("● " if is_chosen else "  ", ACCENT), name, " ", (number, MUTED))
        return self._option((part, value), content)
