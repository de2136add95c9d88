"""What to know: the keys that work here, and the notices of the store."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any, ClassVar

from rich.cells import cell_len
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen, Screen
from textual.widget import Widget
from textual.widgets import Static

from zeroclaw_tui.memory.text import display_text, mask_secrets
from zeroclaw_tui.tui.commands import Command
from zeroclaw_tui.tui.looks import ACCENT, MUTED, STRONG, WARNING

Section = tuple[str, Sequence[tuple[str, str]]]


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
        """Title, text, the key out."""
        with VerticalScroll(id="page"):
            yield Static(Content(self._title), id="title")
            yield Static(self._content, id="text")
            yield Static("esc closes", id="keys", markup=False)

    def action_scroll(self, way: str) -> None:
        """One line up or down."""
        page = self.query_one(VerticalScroll)
        page.scroll_down() if way == "down" else page.scroll_up()


class HelpScreen(TextScreen):
    """Keys by group, as they are bound now; `dimmed` sentences do not work, for the reason that is told."""

    def __init__(self, sections: Iterable[Section], dimmed: Collection[str] = (), because: str | None = None) -> None:
        content = keys_content(sections, dimmed)
        if because is not None:
            content = Content.assemble((f"{display_text(mask_secrets(because))}\n\n", WARNING), content)
        super().__init__("Keys", content)


class NoticesScreen(TextScreen):
    """Every notice in full."""

    def __init__(self, notices: Sequence[str]) -> None:
        sentences = [display_text(mask_secrets(notice)) for notice in notices]
        text = "\n\n".join(sentences) or "Nothing: it was opened as usual."
        super().__init__("What should be known about this store", Content(text))


def key_sections(screen: Screen[Any], panes: Iterable[tuple[str, Widget]]) -> list[Section]:
    """The keys of the browser by group and of each pane, with the names this terminal's person knows them by."""
    from zeroclaw_tui.tui.rooms.browser import BROWSER_COMMANDS

    groups: dict[str, list[tuple[str, str]]] = {}
    for command in BROWSER_COMMANDS:
        keys = _bound_keys(screen, command)
        if keys:
            groups.setdefault(command.group, []).append((keys, command.sentence))
    sections: list[Section] = list(groups.items())
    for title, pane in panes:
        own = [binding for binding in type(pane).BINDINGS if isinstance(binding, Binding) and binding.description]
        sections.append(
            (title, [(_display(screen.app, binding), binding.tooltip or binding.description) for binding in own])
        )
    return [section for section in sections if section[1]]


def keys_content(sections: Iterable[Section], dimmed: Collection[str] = ()) -> Content:
    """A table for each section, all with one width of keys; the sentences in `dimmed` and their keys are muted."""
    listed = list(sections)
    widest = max((cell_len(keys) for _, rows in listed for keys, _ in rows), default=0)
    parts: list[str | tuple[str, str]] = []
    for title, rows in listed:
        parts.append(("\n" * (2 if parts else 0) + title, STRONG))
        for keys, sentence in rows:
            is_dim = sentence in dimmed
            padded = keys + " " * (widest - cell_len(keys))
            parts += ["\n  ", (padded, MUTED if is_dim else ACCENT), (f"  {sentence}", MUTED if is_dim else "")]
    return Content.assemble(*parts)


def _bound_keys(screen: Screen[Any], command: Command) -> str:
    action = command.action.removeprefix("app.")
    bindings = [
        binding
        for _, binding, _, _ in screen.active_bindings.values()
        if binding.id == command.id or binding.action.removeprefix("app.") == action
    ]
    return " ".join(screen.app.get_key_display(binding) for binding in bindings)


def _display(app: App[Any], binding: Binding) -> str:
    return " ".join(app.get_key_display(single) for single in binding.make_bindings([binding]))
