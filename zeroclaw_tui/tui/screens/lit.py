"""What a find lights up on the screen, and the mode that lists what is near."""

from __future__ import annotations

from dataclasses import replace

from textual.screen import Screen
from textual.widgets import Input

from zeroclaw_tui.memory.query import MemoryFilter
from zeroclaw_tui.tui import messages
from zeroclaw_tui.tui.lighting import Lights
from zeroclaw_tui.tui.loader import Loader
from zeroclaw_tui.tui.view import View
from zeroclaw_tui.tui.widgets.detail import MemoryDetail
from zeroclaw_tui.tui.widgets.memory_list import MemoryList
from zeroclaw_tui.tui.widgets.search_bar import SearchBar


class LitScreen(Screen[None]):
    """List and detail with the same matches lit, those that the rows on the screen were found by."""

    def __init__(self) -> None:
        super().__init__()
        self.view = View()
        self._loader: Loader | None = None
        self._lit = MemoryFilter()

    def _with_similar(self, view: View) -> View:
        """What is near to a memory leaves no query in the bar, which then names that memory."""
        if view.similar_to is None:
            return view
        self.add_class("-searching")
        with self.prevent(Input.Changed):
            self.query_one(SearchBar).input.value = ""
        return replace(view, query="")

    def on_parts_loaded(self, event: messages.PartsLoaded) -> None:
        """Where the matches are of memories that begin without one."""
        if not event.is_stale:
            self.query_one(MemoryList).show_parts(event.parts)

    def _light_up(self, lights: Lights) -> None:
        """Light up what the rows on the screen were found by; what is lit already stays, with what it learnt."""
        sought = self.view.sought if lights else MemoryFilter()
        if sought != self._lit:
            self._lit = sought
            self.query_one(MemoryList).lights = self.query_one(MemoryDetail).lights = lights
