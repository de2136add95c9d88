"""To be filled in."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING

from textual.screen import Screen

from zeroclaw_tui.tui.loader import Pace

if TYPE_CHECKING:
    from zeroclaw_tui.curation.library import Library
    from zeroclaw_tui.memory.recall import RecallRequest


class PromptScreen(Screen[None]):
    """Dismissed with True when what the browser shows has to follow."""

    def __init__(self, library: Library, request: RecallRequest, clock: Callable[[], datetime], pace: Pace) -> None:
        super().__init__()
