"""A sample store that takes writes, and what is marked and kept there."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from textual.pilot import Pilot
from tui_samples import SampleMemory, browser, entries_in

from zeroclaw_tui.backends.upkeep import Upkeep
from zeroclaw_tui.memory.change import ApplyResult, Change, Journal
from zeroclaw_tui.tui.rooms.browser import BrowserRoom
from zeroclaw_tui.tui.widgets.memory_list import MemoryList


class Writable(SampleMemory):
    """Removals can be made to wait, or to fail."""

    def __init__(self, *parts: Any) -> None:
        super().__init__(*parts)
        self.refusal: Exception | None = None
        self.steps: Any = None

    async def apply(self, changes: Iterable[Change], journal: Journal | None, **options: Any) -> ApplyResult:
        every = list(changes)
        if any(change.after is not None for change in every):
            return await super().apply(every, journal, **options)
        if self.refusal is not None:
            raise self.refusal
        if self.steps is not None:
            await self.steps(options.get("on_progress"))
        return await super().apply(every, journal, **options)

    @property
    def upkeep(self) -> Upkeep:
        return Upkeep(database=self)  # type: ignore[arg-type]

    async def cached_vector(self, text: str) -> None:
        """There is no cache."""


def rows_of(pilot: Pilot[Any]) -> MemoryList:
    return browser(pilot.app).query_one("#list", MemoryList)  # type: ignore[arg-type]


def screen_of(pilot: Pilot[Any]) -> BrowserRoom:
    return browser(pilot.app)  # type: ignore[arg-type]


def keys_in(store: SampleMemory) -> set[str]:
    return {entry.key for entry in entries_in(store)}
