"""What the trash asks: what to do where something stands in the way, and whether to let go for ever."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Generic, TypeVar

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from zeroclaw_tui.curation.changes import TYPED_FROM
from zeroclaw_tui.memory.change import Clash, Clashes, ClashFound, StoredRow
from zeroclaw_tui.memory.text import one_line
from zeroclaw_tui.tui.format import absolute_time, count_text, fit
from zeroclaw_tui.tui.looks import ACCENT, MUTED
from zeroclaw_tui.tui.screens.trash_words import key_words

_NAMED = 2
_LABEL_CELLS = 15
_DATE_CELLS = 16
_PADDING = 8
_MOST_CELLS = 96
_LOOKED_AT = 400
_REASONS = {
    "key exists": "Its key exists again.",
    "changed": "It changed since.",
    "gone": "It has gone since.",
}


Answer = TypeVar("Answer")


class _Asking(ModalScreen[Answer | None], Generic[Answer]):
    CSS_PATH = "trash.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "dismiss(None)", "leave it"),
        Binding("j", "cursor('down')", "down", show=False),
        Binding("k", "cursor('up')", "up", show=False),
    ]

    def action_cursor(self, way: str) -> None:
        """Move like in a list."""
        options = self.query_one(OptionList)
        options.action_cursor_down() if way == "down" else options.action_cursor_up()


class ClashScreen(_Asking[Clash]):
    """Names what would come back and what is in its place. Gives how to go on, or None to leave everything."""

    _ANSWERS: ClassVar[tuple[tuple[Clash | None, str, str], ...]] = (
        (None, "Leave it", "nothing changes"),
        ("overwrite", "Overwrite", "what is there now goes to the trash"),
        ("rename", "Put back beside it", "under a key that is free"),
    )

    def __init__(self, clashes: Clashes) -> None:
        super().__init__()
        self._clashes = clashes

    def compose(self) -> ComposeResult:
        """Both memories of each clash, and three ways to go on."""
        with Vertical(id="asking"):
            yield Static(Content(_clash_title(self._clashes)), id="sentence")
            cells = min(_MOST_CELLS, self.app.size.width * 96 // 100) - _PADDING
            yield Static(_clash_rows(self._clashes, cells), id="facts")
            yield OptionList(
                *_options([answer[1:] for answer in self._ANSWERS]), id="answers", markup=False, compact=True
            )
            yield Static("enter choose   esc leave it   u undoes either", id="keys", markup=False)

    def on_mount(self) -> None:
        """Nothing happens by accident."""
        self.query_one(OptionList).highlighted = 0

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Go on like this."""
        self.dismiss(self._ANSWERS[event.option_index][0])


@dataclass(frozen=True, slots=True)
class LetGo:
    """A part of the trash that can go for ever: its words, and the numbers of its memories.

    `is_everything` takes what is kept to undo edits with it.
    """

    words: str
    numbers: Sequence[int]
    is_everything: bool = False


class LetGoScreen(_Asking[LetGo]):
    """Which memories shall go for ever. Gives that part, or None to keep everything."""

    def __init__(self, parts: Sequence[LetGo]) -> None:
        super().__init__()
        self._parts = parts
        self._chosen: LetGo | None = None

    def compose(self) -> ComposeResult:
        """The parts, keeping them first; then the number to type where they are many."""
        with Vertical(id="asking"):
            yield Static("Let go for ever?", id="sentence", markup=False)
            yield Static("What leaves the trash cannot be brought back.", id="facts", markup=False)
            words = [("Keep everything", ""), *((part.words, "") for part in self._parts)]
            yield OptionList(*_options(words), id="answers", markup=False, compact=True)
            yield Static("", id="wanted", markup=False)
            yield Input(id="number", compact=True, restrict="[0-9,]*")
            yield Static("enter choose   esc keep everything", id="keys", markup=False)

    def on_mount(self) -> None:
        """Nothing happens by accident."""
        self.query_one(OptionList).highlighted = 0

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Keep, let go, or have the number typed first."""
        if event.option_index == 0:
            self.dismiss(None)
            return
        part = self._parts[event.option_index - 1]
        if len(part.numbers) < TYPED_FROM:
            self.dismiss(part)
            return
        self._chosen = part
        self.add_class("-typing")
        number = count_text(len(part.numbers))
        self.query_one("#wanted", Static).update(
            Content.assemble("Type ", (number, ACCENT), f" to let go of {part.words}:")
        )
        self.query_one("#keys", Static).update("enter let go   esc keep everything")
        self.query_one(Input).focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Only the very number will do."""
        event.stop()
        if self._chosen is not None and event.value.replace(",", "") == str(len(self._chosen.numbers)):
            self.dismiss(self._chosen)
        else:
            self.query_one("#keys", Static).update("That is another number.   esc keep everything")


def _clash_title(clashes: Clashes) -> str:
    if clashes.total == 1 and clashes.found:
        found = clashes.found[0]
        key = key_words(_text(found.wanted, "key"))
        return f"{key} cannot simply come back. {_REASONS[found.reason]}"
    return f"{count_text(clashes.total)} memories cannot simply come back."


def _clash_rows(clashes: Clashes, cells: int) -> Content:
    """Both memories of the first clashes, each on a line of so many cells."""
    parts: list[str | tuple[str, str]] = []
    for found in clashes.found[:_NAMED]:
        if parts:
            parts.append("\n\n")
        parts += [*_row_parts("comes back", found.wanted, cells), "\n", *_present_parts(found, cells)]
    more = clashes.total - min(_NAMED, len(clashes.found))
    if more:
        parts.append((f"\n\n… and {count_text(more)} more", MUTED))
    return Content.assemble(*parts)


def _present_parts(found: ClashFound, cells: int) -> list[str | tuple[str, str]]:
    if found.present is None:
        return [("is there now".ljust(_LABEL_CELLS), MUTED), ("nothing: it has gone", MUTED)]
    return _row_parts("is there now", found.present, cells)


def _row_parts(label: str, row: StoredRow, cells: int) -> list[str | tuple[str, str]]:
    key, content = (one_line(_text(row, name)[:_LOOKED_AT]) for name in ("key", "content"))
    written = absolute_time(_text(row, "updated_at") or _text(row, "created_at"))
    room = max(20, cells - _LABEL_CELLS - _DATE_CELLS - 4)
    return [
        (label.ljust(_LABEL_CELLS), MUTED),
        fit(key, room * 2 // 5),
        "  ",
        fit(content, room - room * 2 // 5),
        (f"  {fit(written, _DATE_CELLS)}", MUTED),
    ]


def _options(rows: Sequence[tuple[str, str]]) -> list[Option]:
    widest = max(cell_len(words) for words, _ in rows)
    return [
        Option(
            Content.assemble(f" {words}{' ' * (widest - cell_len(words))}", (f"   {remark}" if remark else "", MUTED))
        )
        for words, remark in rows
    ]


def _text(row: StoredRow, name: str) -> str:
    value = row.values.get(name)
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else str(value or "")
