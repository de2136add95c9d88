"""What to know: the keys that work here, searched by typing, and pages of text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from rich.cells import cell_len, set_cell_size
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from zeroclaw_tui.tui.commands import Command, Room, line_of, match
from zeroclaw_tui.tui.external import copy_text
from zeroclaw_tui.tui.format import shown_words
from zeroclaw_tui.tui.themes import ACCENT, MUTED, STRONG, WARNING
from zeroclaw_tui.tui.widgets.growing_text import GrowingText

_COLUMN, _GAP = 60, 4
"""Cells of a column of keys at least, and between two of them."""


@dataclass(frozen=True, slots=True)
class Key:
    """A line of the help: the keys, what they do, the line for a shell."""

    group: str
    keys: str
    command: Command
    line: str = ""
    why_not: str = ""
    """Why it does not work here."""


class HelpScreen(ModalScreen[None]):
    """The keys of a room by group, as they are bound now; typing narrows them, `enter` copies the line for a shell.

    Widgets with their own keys follow, each under its title; a shared key is listed once. A disabled key is
    muted, and gives its reason when it is chosen.
    """

    CSS_PATH = "help.tcss"
    # Of forty lines it takes all: then the two columns of the browser's keys have room.
    VERTICAL_BREAKPOINTS = [(0, "-low"), (36, "-even"), (44, "-high")]  # noqa: RUF012
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,f1", "step_out", "close"),
        Binding("down", "cursor(1)", "down", show=False, priority=True),
        Binding("up", "cursor(-1)", "up", show=False, priority=True),
        Binding("pagedown", "scroll(1)", "page down", show=False),
        Binding("pageup", "scroll(-1)", "page up", show=False),
    ]

    def __init__(self, room: Room[Any]) -> None:
        super().__init__()
        self._keys = [*_of_commands(room), *_of_panes(room)]
        self._at = 0

    def compose(self) -> ComposeResult:
        with Vertical(id="page"):
            yield Input(placeholder="Keys: type to search", compact=True, id="sought")
            with VerticalScroll(id="rows", can_focus=False):
                yield GrowingText(id="text")
            yield GrowingText(id="line")
            yield Static("↑ ↓ choose   enter copies the line for a shell   esc closes", id="keys", markup=False)

    def on_mount(self) -> None:
        self.query_one(Input).focus()

    def on_resize(self) -> None:
        # In the middle of a layout the new height would not count.
        self.call_after_refresh(self._paint)

    def on_input_changed(self) -> None:
        self._at = 0
        self._paint()

    async def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        found = self._found
        if found and found[self._at].line:
            self.notify(await copy_text(self.app, found[self._at].line), markup=False)

    def action_step_out(self) -> None:
        """Away with what was typed, then close."""
        sought = self.query_one(Input)
        if sought.value:
            sought.value = ""
        else:
            self.dismiss(None)

    def action_cursor(self, step: int) -> None:
        self._at = max(0, min(len(self._found) - 1, self._at + step))
        self._paint()

    def action_scroll(self, way: int) -> None:
        rows = self.query_one("#rows", VerticalScroll)
        rows.scroll_page_down() if way > 0 else rows.scroll_page_up()

    @property
    def _found(self) -> list[Key]:
        typed = self.query_one(Input).value
        if not typed.strip():
            return self._keys
        worth = [(match(key.command, typed) + 9 * (typed in key.keys.split()), key) for key in self._keys]
        return [key for value, key in sorted(worth, key=lambda pair: -pair[0]) if value]

    def _paint(self) -> None:
        found, is_searched = self._found, bool(self.query_one(Input).value.strip())
        lines = _lines(found, self._at, is_grouped=not is_searched)
        room = min(self.app.size.width * 96 // 100, 2 * _COLUMN + 32) - 8
        text = self.query_one("#text", Static)
        if not found:
            text.update(Content.styled("No key matches. Press : to search all commands.", MUTED))
        elif is_searched or room < 2 * _COLUMN + _GAP:
            text.update(Content("\n").join(lines))
        else:
            text.update(_in_two_columns(lines, (room - _GAP) // 2))
        chosen = found[self._at] if found else None
        below = self.query_one("#line", Static)
        if chosen is not None and chosen.why_not:
            below.update(Content.styled(chosen.why_not, WARNING))
        elif chosen is not None and chosen.line:
            below.update(Content.styled(chosen.line, ACCENT))
        else:
            below.update("" if chosen is None else Content.styled("There is no shell command for this.", MUTED))


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


def _of_commands(room: Room[Any]) -> list[Key]:
    listed: list[Key] = []
    for command in room.commands:
        action = command.action.removeprefix("app.")
        bound = [
            binding
            for _, binding, _, _ in room.active_bindings.values()
            if binding.id == command.id or binding.action.removeprefix("app.") == action
        ]
        keys = " ".join(dict.fromkeys(room.app.get_key_display(binding) for binding in bound))
        if keys:
            why = room.why_dimmed(command.action)
            listed.append(Key(command.group, keys, command, line_of(room, command), shown_words(why or "")))
    order = list(dict.fromkeys(key.group for key in listed))
    return sorted(listed, key=lambda key: order.index(key.group))


_MOVES = frozenset({
    "j,down", "k,up", "g,home", "G,end", "ctrl+d", "ctrl+u", "pagedown", "pageup", "pagedown,ctrl+d", "pageup,ctrl+u",
})  # fmt: skip
"""What every list and pane is gone through by."""


def _of_panes(room: Room[Any]) -> list[Key]:
    found: dict[str, Key] = {}
    for title, pane in room.with_keys:
        for binding in type(pane).BINDINGS:
            if not isinstance(binding, Binding) or not binding.description or binding.key in found:
                continue
            if binding.key in _MOVES:
                sentence = "Move by row or line, by half a page, to the ends"
                found.setdefault("", Key(title, "j k g G", Command("move", "j", "", "move", sentence, "Panes")))
            else:
                keys = " ".join(room.app.get_key_display(single) for single in binding.make_bindings([binding]))
                sentence = binding.tooltip or binding.description
                found[binding.key] = Key(
                    title, keys, Command(binding.id or "", binding.key, "", binding.description, sentence, "Panes")
                )
    return list(found.values())


def _lines(found: Sequence[Key], at: int, *, is_grouped: bool) -> list[Content]:
    """A line each, with the titles of the groups between them, all with one width of keys."""
    widest = max((cell_len(key.keys) for key in found), default=0)
    lines: list[Content] = []
    group = None
    for number, key in enumerate(found):
        if is_grouped and key.group != group:
            lines += [Content(""), Content.styled(key.group, STRONG)] if lines else [Content.styled(key.group, STRONG)]
            group = key.group
        mark, look = ("▌ ", ACCENT) if number == at else ("  ", "")
        keys = key.keys + " " * (widest - cell_len(key.keys))
        style = MUTED if key.why_not else look
        lines.append(
            Content.assemble(
                (mark, ACCENT), (keys, MUTED if key.why_not else ACCENT), (f"  {key.command.sentence}", style)
            )
        )
    return lines


def _in_two_columns(lines: Sequence[Content], width: int) -> Content:
    """The lines in two columns of so many cells, cut between two groups where that is about the middle."""
    cuts = [at for at, line in enumerate(lines) if not line.plain]
    half = min(cuts, key=lambda at: abs(at - len(lines) / 2), default=len(lines))
    left, right = [*lines[:half]], [*lines[half + 1 :]]
    rows = max(len(left), len(right))
    left += [Content("")] * (rows - len(left))
    right += [Content("")] * (rows - len(right))
    gap = " " * _GAP
    return Content("\n").join(
        Content.assemble(_fitted(one, width), gap, _fitted(two, width)) for one, two in zip(left, right, strict=True)
    )


def _fitted(line: Content, width: int) -> Content:
    if cell_len(line.plain) <= width:
        return Content.assemble(line, " " * (width - cell_len(line.plain)))
    return Content.assemble(line[: len(set_cell_size(line.plain, width - 1))], "…")
