"""The last line: the keys that work now, whole ones only."""

from __future__ import annotations

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.events import Resize
from textual.widget import Widget
from textual.widgets import Footer

_KEPT = frozenset({"open_search", "show_help", "app.quit", "screen.step_out"})
_BLANKS = 3
"""After a key and after its name, as the sheet of the screen pads them."""


class KeyLine(Footer):
    """A footer that leaves out the last keys there is no room for; help and the way out always stay."""

    def compose(self) -> ComposeResult:
        """The keys that fit."""
        keys = list(super().compose())
        for key in reversed(keys):
            if sum(map(_cells, keys)) <= self.app.size.width - 2 + _BLANKS - 1:
                break
            if _told(key, "action") not in _KEPT:
                keys = [one for one in keys if one is not key]
        self.styles.grid_size_columns = max(1, len(keys))
        yield from keys

    def on_resize(self, event: Resize) -> None:
        """More or fewer keys for another width."""
        if event.size.width != self._composed_width:
            self._composed_width = event.size.width
            self.refresh(recompose=True)

    _composed_width = 0


def _cells(key: Widget) -> int:
    return cell_len(_told(key, "key_display")) + cell_len(_told(key, "description")) + _BLANKS


def _told(key: Widget, name: str) -> str:
    # Textual exports the footer but not the class of its keys.
    return str(getattr(key, name, ""))
