"""A sample store that takes writes, and the ways to be asked something."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from support.settling import settled, until
from textual.pilot import Pilot
from textual.screen import ModalScreen
from tui_samples import SampleMemory, browser

from zeroclaw_tui.backends.in_memory import InMemory
from zeroclaw_tui.memory.change import Advance, Keep, Removal, Stamp, TriggersMissing
from zeroclaw_tui.tui.rooms.browser import BrowserRoom
from zeroclaw_tui.tui.widgets.memory_list import MemoryList


class Writable(SampleMemory):
    """Removals can be made to wait, or to fail until a repair."""

    capabilities = SampleMemory.capabilities._replace(write=True, editable=InMemory.capabilities.editable)

    def __init__(self, *parts: Any) -> None:
        super().__init__(*parts)
        self.missing_triggers: list[str] = []
        self.refusal: Exception | None = None
        self.steps: Any = None

    async def remove(
        self, stamps: Sequence[Stamp], keep: Keep, advance: Advance | None = None, *, zero: bool = False
    ) -> Removal:
        if self.missing_triggers:
            raise TriggersMissing(self.missing_triggers)
        if self.refusal is not None:
            raise self.refusal
        if self.steps is not None:
            await self.steps(advance)
        return await super().remove(stamps, keep, advance, zero=zero)

    async def repair(self) -> None:
        self.missing_triggers = []


def rows_of(pilot: Pilot[Any]) -> MemoryList:
    return browser(pilot.app).query_one("#list", MemoryList)  # type: ignore[arg-type]


def screen_of(pilot: Pilot[Any]) -> BrowserRoom:
    return browser(pilot.app)  # type: ignore[arg-type]


async def asked(pilot: Pilot[Any]) -> None:
    """Wait until a dialog is up and has all it shows."""
    await until(pilot, lambda: isinstance(pilot.app.screen, ModalScreen))
    for _ in range(4):
        await pilot.pause()
    await until(pilot, lambda: all(worker.is_finished or worker.group == "change" for worker in pilot.app.workers))


async def back(pilot: Pilot[Any]) -> None:
    """Wait until the browser is on top again and everything is answered."""
    await until(pilot, lambda: pilot.app.screen is screen_of(pilot))
    await settled(pilot)


def keys_in(store: SampleMemory) -> set[str]:
    return {entry.key for entry in store._by_key.values()}
