"""The settings of a trial, one of them chosen: what each is now and, where it was changed, what it was."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.reactive import reactive
from textual.strip import Strip
from textual.widget import Widget

from zeroclaw_tui.memory.text import one_line
from zeroclaw_tui.tui.format import fit
from zeroclaw_tui.tui.widgets.list_rows import MARK, Pieces, RowState, RowStyles

LESS, MORE = "‹", "›"
_COLUMNS_FROM = 70
"""From so many cells on the settings stand in two columns."""
_GAP = 2
_SHORT_VALUE = 4
"""Reasons of idle settings stand in one column where their values are as short as most."""
_ARROWS = cell_len(f" {LESS} {MORE}")


@dataclass(frozen=True, slots=True)
class SettingLine:
    """One setting: its name, its value, what it was (None: it still is), and in a few words why it does nothing."""

    name: str
    now: str
    before: str | None = None
    idle: str | None = None


class TrialSettings(Widget, can_focus=True):
    """Names and values, aligned; the chosen one carries ‹ › that can be clicked."""

    ALLOW_SELECT = False
    DEFAULT_CSS = """
    TrialSettings { width: 1fr; height: auto; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,j", "choose(1)", "Next", id="trial.next", show=False, tooltip="The next setting"),
        Binding("up,k", "choose(-1)", "Before", id="trial.before", show=False, tooltip="The setting before"),
    ]

    cursor: reactive[int] = reactive(0)
    """Which setting is chosen, from 0."""

    class Chosen(Message):
        """Another setting is chosen."""

    class Stepped(Message):
        """One of the arrows was clicked; `way` is 1 for more and -1 for less."""

        def __init__(self, way: int) -> None:
            super().__init__()
            self.way = way

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id=id)
        self._lines: Sequence[SettingLine] = ()

    def show(self, lines: Sequence[SettingLine]) -> None:
        """Show these settings."""
        is_other_height = len(lines) != len(self._lines)
        self._lines = lines
        self.refresh(layout=is_other_height)

    def validate_cursor(self, at: int) -> int:
        """From the last to the first and back."""
        return at % max(1, len(self._lines))

    def watch_cursor(self) -> None:
        """Say that another is chosen."""
        self.post_message(self.Chosen())

    def action_choose(self, way: int) -> None:
        """The next one, or the one before."""
        self.cursor += way

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """As many lines as the longer column has."""
        return self._rows_at(width)

    def on_click(self, event: events.Click) -> None:
        """Choose a setting; the arrows of the chosen one change it."""
        place = event.get_content_offset(self)
        if place is None:
            return
        event.stop()
        self.focus()
        column, cell = divmod(place.x, self._pitch)
        row = place.y + self._first
        at = column * self._rows + row
        if not (row < self._rows and at < len(self._lines)):
            return
        arrow = cell - (self._width - _ARROWS)
        if at == self.cursor and arrow >= 0 and self._has_arrows(at):
            self.post_message(self.Stepped(-1 if arrow < _ARROWS - 2 else 1))
        self.cursor = at

    def render_line(self, y: int) -> Strip:
        """One line: a setting, or two of them side by side."""
        ground = Style(bgcolor=self.rich_style.bgcolor)
        plain = RowStyles.of(self.app, ground, "plain")
        pieces: Pieces = []
        row = y + self._first
        for at in range(row, len(self._lines), self._rows) if row < self._rows else ():
            if pieces:
                pieces.append(Segment(" " * _GAP, plain.blank))
            state: RowState = "plain" if at != self.cursor else "cursor" if self.has_focus else "cursor-blurred"
            pieces += self._pieces(at, RowStyles.of(self.app, ground, state))
        return Strip(pieces).adjust_cell_length(self.size.width, plain.blank)

    def _pieces(self, at: int, styles: RowStyles) -> Pieces:
        line = self._lines[at]
        names = max(cell_len(one.name) for one in self._lines)
        room = self._width - 1 - names - 2 - _ARROWS
        pieces = [
            Segment(MARK if at == self.cursor else " ", styles.mark),
            Segment(fit(line.name, names) + "  ", styles.faint if line.idle else styles.muted),
            *_value_pieces(line, room, styles),
        ]
        arrows = f" {LESS} {MORE}" if self._has_arrows(at) else ""
        pieces.append(Segment(arrows.ljust(_ARROWS), styles.final))
        return pieces

    def _has_arrows(self, at: int) -> bool:
        return at == self.cursor and self._lines[at].idle is None

    @property
    def _rows(self) -> int:
        return self._rows_at(self.size.width)

    def _rows_at(self, width: int) -> int:
        return -(-len(self._lines) // 2) if width >= _COLUMNS_FROM else len(self._lines)

    @property
    def _first(self) -> int:
        """The line on top: where not all have room, the chosen one stays in sight."""
        hidden = max(0, self._rows - self.size.height)
        return min(hidden, max(0, self.cursor % max(1, self._rows) - self.size.height // 2))

    @property
    def _width(self) -> int:
        """The cells of one setting."""
        return (self.size.width - _GAP) // 2 if self.size.width >= _COLUMNS_FROM else self.size.width

    @property
    def _pitch(self) -> int:
        return max(1, self._width + _GAP)


def _value_pieces(line: SettingLine, room: int, styles: RowStyles) -> Pieces:
    """What it was, where there is room for it, and is, padded to the room."""
    now = one_line(line.now)
    if line.before is not None:
        lead = f"{one_line(line.before)} → "
        if cell_len(lead) + cell_len(now) > room:
            lead = "→ "
        shown = fit(now, room - cell_len(lead))
        return [
            Segment(lead, styles.faint if line.idle else styles.muted),
            Segment(shown, styles.faint if line.idle else styles.final),
        ]
    if line.idle is None:
        return [Segment(fit(now, room), styles.text)]
    return [Segment(fit(f"{now:<{_SHORT_VALUE}}  {line.idle}", room), styles.faint)]
