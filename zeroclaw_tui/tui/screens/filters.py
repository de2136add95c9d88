"""Everything the list can be narrowed to, on one panel."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from zeroclaw_tui.memory.query import Facets
from zeroclaw_tui.memory.text import mask_secrets, one_line
from zeroclaw_tui.tui.view import Part, View
from zeroclaw_tui.tui.widgets.facets import FacetList

MOST_VALUES = 200


class FiltersScreen(ModalScreen[None]):
    """The facets again, with many values and a line that finds one among them; the list behind follows at once.

    `toggle` is called with each value switched, `clear` when all shall go. `cannot` says what the store does not know.
    """

    CSS_PATH = "filters.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "step_out", "done"),
        Binding("F,q", "dismiss", "done", show=False),
        Binding("slash", "find_value", "find a value", show=False),
        Binding("c", "clear_filters", "remove all", show=False),
    ]

    def __init__(
        self,
        toggle: Callable[[Part, str], None],
        clear: Callable[[], None],
        facets: Facets,
        others: Mapping[Part, Facets],
        view: View,
        cannot: Sequence[str] = (),
    ) -> None:
        super().__init__()
        self._cannot = tuple(one_line(mask_secrets(reason)) for reason in cannot)
        self._shown_first = (facets, others, view)
        self._toggle = toggle
        self._clear = clear

    def compose(self) -> ComposeResult:
        """A line to find values, the values, the keys."""
        with Vertical(id="filters"):
            yield Static("Show only", id="title", markup=False)
            yield Input(placeholder="/ finds a value", id="find", compact=True)
            yield FacetList(id="values", most=MOST_VALUES)
            if self._cannot:
                yield Static("\n".join(self._cannot), id="cannot", markup=False)
            yield Static("enter on or off   c remove all   esc done", id="keys", markup=False)

    def on_mount(self) -> None:
        """Start on the values."""
        values = self.query_one(FacetList)
        values.show(*self._shown_first)
        values.focus()

    def on_facet_list_toggled(self, event: FacetList.Toggled) -> None:
        """Narrow the list behind."""
        event.stop()
        self._toggle(event.part, event.value)

    def on_input_changed(self, event: Input.Changed) -> None:
        """Only the values that contain this."""
        self.query_one(FacetList).narrow(event.value)

    def on_input_submitted(self) -> None:
        """To the first value found."""
        values = self.query_one(FacetList)
        values.focus()
        values.action_first()

    def action_find_value(self) -> None:
        """Type a part of a value."""
        self.query_one(Input).focus()

    def action_clear_filters(self) -> None:
        """Show everything again."""
        self._clear()

    def action_step_out(self) -> None:
        """From the line to the values, from there back to the list."""
        if self.query_one(Input).has_focus:
            self.query_one(FacetList).focus()
        else:
            self.dismiss()
