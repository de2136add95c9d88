"""The ways from the list to hygiene, audit, snapshot, doctor and stats, and making one vector anew."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from textual.screen import Screen

from zeroclaw_tui.memory.text import one_line
from zeroclaw_tui.tui.screens.changing import ChangingScreen
from zeroclaw_tui.tui.view import FINDS
from zeroclaw_tui.tui.widgets.memory_list import MemoryList
from zeroclaw_tui.tui.widgets.status_bar import Banner

if TYPE_CHECKING:
    from zeroclaw_tui.curation.library import Library

_SCREENS = {
    "hygiene": "hygiene:HygieneScreen",
    "audit": "audit:AuditScreen",
    "snapshot": "snapshot:SnapshotScreen",
    "doctor": "doctor:DoctorScreen",
    "stats": "stats:StatsScreen",
}


class UpkeepScreen(ChangingScreen):
    """Opens the screens of upkeep, each imported when it is asked for, and shows what they changed."""

    def action_show_upkeep(self, name: str) -> None:
        """Show one of them."""
        if self.library is None:
            return
        module, _, title = _SCREENS[name].partition(":")
        made = getattr(import_module(f"zeroclaw_tui.tui.screens.{module}"), title)
        screen: Screen[bool] = made(self.library, self._clock, self.pace)
        self.app.push_screen(screen, self._after_upkeep)

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
