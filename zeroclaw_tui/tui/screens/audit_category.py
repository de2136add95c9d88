"""Which category memories shall have: one that is there, or another that is typed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from zeroclaw_tui.memory.change import BUILT_IN_CATEGORIES, Stamp, category_meant
from zeroclaw_tui.memory.errors import WrongUse
from zeroclaw_tui.memory.query import MemoryFilter, Superseded
from zeroclaw_tui.tui.format import count_text, fit
from zeroclaw_tui.tui.looks import ACCENT, MUTED
from zeroclaw_tui.tui.screens.audit_words import category_words
from zeroclaw_tui.tui.widgets.writing import LineInput
from zeroclaw_tui.tui.words import memories_words

if TYPE_CHECKING:
    from zeroclaw_tui.curation.library import Library

_NAME_CELLS = 28
_FIGURES = 9


async def categories_of(library: Library) -> dict[str, int]:
    """The categories of a store with their counts, ZeroClaw's own among them even where they hold nothing."""
    now = library.trash.now().isoformat()
    counts = dict((await library.memory.facets(MemoryFilter(superseded=Superseded.SHOW), now)).category)
    counts.pop("", None)
    return counts | {name: 0 for name in BUILT_IN_CATEGORIES if name not in counts}


class CategoryScreen(ModalScreen[str | None]):
    """The categories of the store, and a line for another one. Gives the category, or None when it was left."""

    CSS_PATH = "audit.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "step_out", "leave it"),
        Binding("q", "dismiss(None)", "leave it", show=False),
        Binding("j", "cursor('down')", "down", show=False),
        Binding("k", "cursor('up')", "up", show=False),
    ]

    def __init__(self, stamps: Sequence[Stamp], categories: Mapping[str, int]) -> None:
        super().__init__()
        self._count = len(stamps)
        self._of = Counter(stamp.category for stamp in stamps)
        self._names = list(categories)
        self._categories = categories

    def compose(self) -> ComposeResult:
        """Question, what they have now, the categories, the line to type."""
        with Vertical(id="asking"):
            yield Static(Content(f"Which category shall {memories_words(self._count)} have?"), id="sentence")
            yield Static(Content(self._now_words()), id="facts")
            yield OptionList(*self._options(), id="answers", markup=False, compact=True)
            yield LineInput(id="typed", placeholder="another category")
            yield Static("enter choose   esc leave it", id="keys", markup=False)

    def on_mount(self) -> None:
        """Start on the first category they do not all have."""
        self.query_one(OptionList).highlighted = 0
        self.query_one(OptionList).focus()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Give the category, or have another one typed."""
        if event.option_index < len(self._names):
            self.dismiss(self._names[event.option_index])
            return
        self.add_class("-typing")
        self.query_one("#keys", Static).update("enter take it   esc the list again")
        self.query_one(LineInput).focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Give what was typed, as ZeroClaw spells it."""
        event.stop()
        try:
            self.dismiss(category_meant(self.query_one(LineInput).meant))
        except WrongUse as error:
            self.query_one("#keys", Static).update(Content(str(error)))

    def action_cursor(self, way: str) -> None:
        """Move like in a list."""
        options = self.query_one(OptionList)
        options.action_cursor_down() if way == "down" else options.action_cursor_up()

    def action_step_out(self) -> None:
        """From the line to the list, from there back."""
        if not self.has_class("-typing"):
            self.dismiss(None)
            return
        self.remove_class("-typing")
        self.query_one("#keys", Static).update("enter choose   esc leave it")
        self.query_one(OptionList).focus()

    def _now_words(self) -> str:
        parts = [f"{category_words(name)} {count_text(count)}" for name, count in self._of.most_common(3)]
        more = len(self._of) - len(parts)
        return f"Now: {', '.join(parts)}" + (f" and {count_text(more)} more categories" if more > 0 else "")

    def _options(self) -> list[Option]:
        options = [
            Option(
                Content.assemble(
                    f" {fit(category_words(name), _NAME_CELLS)} ",
                    (count_text(self._categories[name]).rjust(_FIGURES), MUTED),
                )
            )
            for name in self._names
        ]
        return [*options, Option(Content.assemble((" another one …", ACCENT)))]
