"""Hygiene: what ZeroClaw would take and when; run it, leave items out, take it back."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING

from textual.screen import Screen

from zeroclaw_tui.tui.loader import Pace

if TYPE_CHECKING:
    from zeroclaw_tui.curation.library import Library


class HygieneScreen(Screen[bool]):
    """What ZeroClaw would take and when; run it, leave items out, take it back. Gives True when the store changed."""

    def __init__(self, library: Library, clock: Callable[[], datetime], pace: Pace) -> None:
        super().__init__()
        self.library = library
        self.clock = clock
        self.pace = pace
