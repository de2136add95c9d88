"""The ways from the list to hygiene, audit, snapshot, doctor and stats, and making one vector anew."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from zeroclaw_tui.memory.text import one_line
from zeroclaw_tui.tui.screens.changing import ChangingScreen
from zeroclaw_tui.tui.view import FINDS
from zeroclaw_tui.tui.widgets.memory_list import MemoryList
from zeroclaw_tui.tui.widgets.status_bar import Banner

if TYPE_CHECKING:
    from zeroclaw_tui.curation.library import Library

_NUMBERS = "numbers"


class UpkeepScreen(ChangingScreen):
    """Opens the screens of upkeep, each imported when it is asked for, and shows what they changed."""

    def action_show_upkeep(self, tab: str) -> None:
        """Open the room of upkeep on one of its tabs, or on the counts at the head of health."""
        if self.library is None:
            return
        from zeroclaw_tui.tui.rooms.upkeep.room import Tab, UpkeepRoom

        name: Tab = "health" if tab == _NUMBERS else cast(Tab, tab)
        room = UpkeepRoom(self.library, name, self._clock, self.pace, numbers=tab == _NUMBERS)
        self.app.push_screen(room, self._after_upkeep)

    def action_re_embed(self) -> None:
        """Make the vector of the memory under the cursor anew."""
        self.changes.begin(self._re_embed)

    def action_export_shown(self) -> None:
        """Export what the list shows."""
        self.changes.begin(self._export)

    def action_import_file(self) -> None:
        """Import a file."""
        self.changes.begin(self._import)

    async def _export(self, library: Library) -> None:
        from zeroclaw_tui.tui.screens.transfer import export_shown
        from zeroclaw_tui.tui.screens.transfer_words import narrowed_words

        now, view = self._clock(), self.view
        narrowed = narrowed_words(
            [chip.words for chip in view.chips],
            view.lit,
            is_recall=view.is_recall,
            verb=FINDS.get(view.mode, "contains"),
        )
        chosen = view.listing_filter(now).but(blocks=False)
        said = await export_shown(self.app, library, chosen, narrowed, now, self.pace.patience)
        if said is not None:
            self.notify(said, markup=False)

    async def _import(self, library: Library) -> None:
        from zeroclaw_tui.tui.screens.transfer import import_file
        from zeroclaw_tui.tui.screens.transfer_words import imported_words

        outcome = await import_file(self.app, library, self.pace.patience)
        if outcome is not None:
            self.notify(imported_words(outcome), markup=False)
            self.look_again(glows_news=True)
            await self.stamp_again(library)

    async def _re_embed(self, library: Library) -> None:
        from zeroclaw_tui.tui.screens.re_embedding import re_embed

        entry = self._entry_here()
        if entry is None:
            return
        words = f"The vector of {one_line(entry.key)} is being made …"
        waiting = self.set_timer(self.pace.patience, lambda: self.notify(words, markup=False))
        try:
            done = await re_embed(library, entry)
        finally:
            waiting.stop()
        self.notify(done.words, severity="information" if done.is_done else "warning", markup=False)
        if done.is_done:
            self.query_one(MemoryList).glow([entry.handle])
            self.look_again()

    def _after_upkeep(self, has_changed: bool | None) -> None:
        if has_changed and self.library is not None:
            self.query_one("#copies", Banner).hide()
            self.look_again(glows_news=True)
            self.run_worker(self._refresh_marks(self.library), group="marks")
