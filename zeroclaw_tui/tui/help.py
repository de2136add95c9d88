"""Pages of text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from zeroclaw_tui.tui.format import shown_words


class TextScreen(ModalScreen[None]):
    """A page of text to scroll; any of the keys that closed pages elsewhere closes it."""

    CSS_PATH = "help.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,question_mark,f1,enter", "dismiss", "close"),
        Binding("j,down", "scroll('down')", "down", show=False),
        Binding("k,up", "scroll('up')", "up", show=False),
    ]

    def __init__(self, title: str, content: Content) -> None:
        super().__init__()
        self._title = title
        self._content = content

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="page"):
            yield Static(Content(self._title), id="title")
            yield Static(self._content, id="text")
            yield Static("esc closes", id="keys", markup=False)

    def action_scroll(self, way: str) -> None:
        page = self.query_one(VerticalScroll)
        page.scroll_down() if way == "down" else page.scroll_up()


def notices_page(notices: Sequence[str]) -> TextScreen:
    """Every notice of a store in full."""
    text = "\n\n".join(map(shown_words, notices)) or "No notices."
    return TextScreen("Notices about this store", Content(text))
