"""The one screen of the inspector, and what its keys and the mouse do."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from textual.message import Message
from textual.timer import Timer
from textual.widgets import Input

from zeroclaw_tui.memory.errors import InspectorError
from zeroclaw_tui.tui.commands import BROWSER_COMMANDS, Command, bindings
from zeroclaw_tui.tui.dimming import unfiltered_because
from zeroclaw_tui.tui.external import copy_text, entry_json
from zeroclaw_tui.tui.help import HelpScreen, notices_page
from zeroclaw_tui.tui.loader import Pace
from zeroclaw_tui.tui.screens.choice import ChoiceScreen
from zeroclaw_tui.tui.screens.choosing import length_choices, order_choices, profile_choices
from zeroclaw_tui.tui.screens.filters import FiltersScreen
from zeroclaw_tui.tui.screens.scores import ScoresScreen
from zeroclaw_tui.tui.view import FINDS, Mode, Part, View
from zeroclaw_tui.tui.widgets.detail import MemoryDetail
from zeroclaw_tui.tui.widgets.facets import FacetList
from zeroclaw_tui.tui.widgets.header import StoreHeader, notices_of
from zeroclaw_tui.tui.widgets.memory_list import MemoryList
from zeroclaw_tui.tui.widgets.ranked_rows import is_from_lucid
from zeroclaw_tui.tui.widgets.search_bar import FactLine, SearchBar
from zeroclaw_tui.tui.widgets.status_bar import Banner

if TYPE_CHECKING:
    from zeroclaw_tui.curation.library import Library


class BrowserScreen(ScoresScreen):
    """Browse, search, filter, read and change one store."""

    BINDINGS = bindings(BROWSER_COMMANDS)

    class InstallsWanted(Message):
        """Another install shall be chosen."""

    class StoresWanted(Message):
        """Another store shall be looked at; with `copies` all memories shall be copied to one."""

        def __init__(self, copies: bool = False) -> None:
            super().__init__()
            self.copies = copies

    class ProfileChosen(Message):
        """A person chose whose scoring rules hold for this store."""

        def __init__(self, version: str) -> None:
            super().__init__()
            self.version = version

    def __init__(self, clock: Callable[[], datetime], pace: Pace) -> None:
        super().__init__(clock, pace)
        self._other_install: str | None = None
        self._rest: Timer | None = None
        self._is_on_foreign = False

    def show_store(self, library: Library, view: View, other_install: str | None) -> None:
        """Show this store; `other_install` is where another one lies, if there is one."""
        self._other_install = other_install
        banner = self.query_one("#other-install", Banner)
        banner.hide()
        if other_install:
            banner.show("quiet", f"Another install here: {other_install}", "i", "to see", "choose_install")
        self.query_one("#copies", Banner).hide()
        self._close_bar()
        if view.query and not library.memory.keeps_nothing:
            with self.prevent(Input.Changed):
                self.query_one(SearchBar).input.value = view.query
            self.add_class("-searching")
        self.show_library(library, view)
        self.refresh_bindings()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Another install can only be chosen where there is one, and the bar is not opened from within."""
        if action == "open_search" and self.is_mounted and self.query_one(SearchBar).input.has_focus:
            return False
        if action == "choose_install":
            return self._other_install is not None
        return super().check_action(action, parameters)

    def palette_commands(self) -> Iterable[Command]:
        """The commands that make sense now."""
        for command in BROWSER_COMMANDS:
            is_useless = command.action == "clear_filters" and not self.view.chips
            if command.in_palette and not is_useless and self.check_action(command.action, ()) is not False:
                yield command

    def on_memory_list_row_highlighted(self, event: MemoryList.RowHighlighted) -> None:
        """Show what the cursor is on; what cannot be done with it is dimmed."""
        super().on_memory_list_row_highlighted(event)
        is_foreign = is_from_lucid(event.result)
        if is_foreign != self._is_on_foreign:
            self._is_on_foreign = is_foreign
            self.refresh_bindings()

    def on_memory_list_row_opened(self) -> None:
        """Read on in the detail."""
        self.query_one(MemoryDetail).focus()

    def on_memory_list_sort_wanted(self, event: MemoryList.SortWanted) -> None:
        """Order by the heading, or turn the order round."""
        self.look(self.view.sorted_by(event.field))

    def on_facet_list_toggled(self, event: FacetList.Toggled) -> None:
        """Narrow, or widen again."""
        self._toggle(event.part, event.value)

    def on_fact_line_chip_clicked(self, event: FactLine.ChipClicked) -> None:
        """Remove a chip."""
        self.look(self.view.without(event.chip))

    def on_fact_line_filters_wanted(self) -> None:
        """Show the chips that did not fit."""
        self.action_choose_filters()

    def on_fact_line_order_wanted(self) -> None:
        """Choose the order."""
        self.action_choose_order()

    def on_store_header_notices_wanted(self) -> None:
        """Show the notices."""
        self.action_show_notices()

    async def on_banner_clicked(self, event: Banner.Clicked) -> None:
        """Do what the banner's key does."""
        await self.run_action(event.action)

    def on_search_bar_typed(self, event: SearchBar.Typed) -> None:
        """Search when the fingers rest."""
        if self._rest is not None:
            self._rest.stop()
        if self.pace.debounce:
            self._rest = self.set_timer(self.pace.debounce, lambda: self._search(event.query))
        else:
            self._search(event.query)

    def on_search_bar_left(self) -> None:
        """What was typed last counts at once, for the keys that come next; the results stay."""
        if self._rest is not None:
            self._rest.stop()
        self._search(self.query_one(SearchBar).input.value)
        self.query_one(MemoryList).focus()

    def action_open_search(self) -> None:
        """Type what to search for."""
        self.prepare_search()
        self.add_class("-searching")
        self.paint_lines()
        # At once and not after the next refresh: what is typed on goes into the bar, however fast.
        self.set_focus(self.query_one(SearchBar).input)

    def action_next_mode(self) -> None:
        """The next way to search, for the same text."""
        modes = self._modes()
        at = modes.index(self.view.mode) if self.view.mode in modes else -1
        view = self.view.searching_by(modes[(at + 1) % len(modes)])
        if not self.has_class("-searching"):
            self.action_open_search()
        elif self.view.query or self.view.similar_to is not None:
            self.look(view)
        else:
            self.view = view
        self.paint_lines()

    def _modes(self) -> list[Mode]:
        """The ways to search that there are here, in turn."""
        modes = [Mode.RECALL, *FINDS, Mode.SIMILAR]
        if self.library is not None and self.library.memory.capabilities.own_fusion:
            modes.append(Mode.HYBRID)
        return modes

    def action_step_out(self) -> None:
        """From the bar or a pane to the list, then out of the search; never out of the program."""
        rows = self.query_one(MemoryList)
        typing = self.query_one(SearchBar).input.has_focus
        if self.has_class("-searching") and (rows.has_focus or self.has_class("-empty") or not self.view.query):
            self._close_bar()
            self.look(self.view.without_search())
        elif not typing and self.has_class("-narrow"):
            self.remove_class("-facets-on")
        rows.focus()

    def action_choose_filters(self) -> None:
        """Narrow the list on a panel."""
        if self.facets is not None:
            shown = (self.facets, self.other_facets, self.view)
            cannot = unfiltered_because(self.library) if self.library is not None else ()
            self.app.push_screen(FiltersScreen(self._toggle, self.action_clear_filters, *shown, cannot))

    def action_choose_length(self) -> None:
        """Narrow the list by the length of the contents."""
        screen = ChoiceScreen("Memories of which length?", length_choices(), self.view.length)
        self.app.push_screen(screen, lambda length: self.look(self.view.with_length(length)) if length else None)

    def action_clear_filters(self) -> None:
        """Show everything again."""
        self.look(self.view.cleared())

    def action_choose_order(self) -> None:
        """Choose the order of the list."""
        # A recall stands in the agent's own order, so that a choice made there shows only afterwards.
        sentence = "Recall keeps its ranks. In which order the list?" if self.view.is_recall else "In which order?"
        screen = ChoiceScreen(sentence, order_choices(), self.view.sort)
        self.app.push_screen(screen, lambda sort: self.look(replace(self.view, sort=sort)) if sort else None)

    def action_choose_profile(self) -> None:
        """Choose whose scoring rules recall follows."""
        if self.library is None:
            return
        choices, current = profile_choices(self.library)
        screen = ChoiceScreen("Score like which ZeroClaw?", choices, current)
        self.app.push_screen(screen, self._use_profile)

    def action_toggle_markdown(self) -> None:
        """Render the content, or show it as it is."""
        detail = self.query_one(MemoryDetail)
        detail.as_markdown = not detail.as_markdown

    def action_toggle_blocks(self) -> None:
        """Show lines together as blocks, or each for itself."""
        self.query_one(MemoryList).marks.clear()
        self.look(self.view.with_blocks(not self.view.filter.blocks))
        self.refresh_bindings()

    def action_choose_backend(self) -> None:
        """Look at another store."""
        self.post_message(self.StoresWanted())

    def action_copy_to_store(self) -> None:
        """Choose the store that all memories are copied to."""
        self.post_message(self.StoresWanted(copies=True))

    def action_toggle_facets(self) -> None:
        """Show the facets, or hide them."""
        is_shown = self.query_one("#facets").display
        self.set_class(not is_shown, "-facets-on")
        self.set_class(is_shown, "-facets-off")
        if is_shown:
            self.query_one(MemoryList).focus()

    def action_focus_pane(self, pane: str) -> None:
        """Go to a pane; the facets come out when they are hidden."""
        if pane == "facets" and not self.query_one("#facets").display:
            self.action_toggle_facets()
        self.query_one(f"#{pane}").focus()

    def action_reload(self) -> None:
        """Read the store again, and ask an embedding endpoint that failed again."""
        if self.library is not None:
            self.library.ask_again_at_once()
        self.look(self.view, keep_place=self.query_one(MemoryList).row_count > 0)

    def action_copy_content(self) -> None:
        """Copy the content of the memory under the cursor."""
        self.run_worker(self._copy(as_json=False), group="copy")

    def action_copy_json(self) -> None:
        """Copy the memory under the cursor as the commands print it."""
        self.run_worker(self._copy(as_json=True), group="copy")

    def action_choose_install(self) -> None:
        """Choose between the installs that were found."""
        self.post_message(self.InstallsWanted())

    def action_show_notices(self) -> None:
        """What should be known about this store."""
        if self.library is not None:
            from zeroclaw_tui.curation.switching import chosen_words

            self.app.push_screen(notices_page((chosen_words(self.library.config), *notices_of(self.library))))

    def action_show_help(self) -> None:
        """The keys that work here."""
        rows, facets = self.query_one(MemoryList), self.query_one(FacetList)
        self.app.push_screen(HelpScreen(self, BROWSER_COMMANDS, (("In the list", rows), ("In the facets", facets))))

    async def _copy(self, *, as_json: bool) -> None:
        entry = self.query_one(MemoryList).selected_entry
        if entry is None or self.library is None:
            self.notify("There is no memory to copy.", severity="warning", markup=False)
            return
        try:
            whole = await self.library.memory.whole(entry.handle) if entry.is_excerpt else entry
        except InspectorError as error:
            self.say_failure(error)
            return
        self.notify(await copy_text(self.app, entry_json(whole) if as_json else whole.content), markup=False)

    def _toggle(self, part: Part, value: str) -> None:
        self.look(self.view.toggled(part, value))

    def _search(self, query: str) -> None:
        if query != self.view.query:
            self.look(self.view.searching(query))

    def _close_bar(self) -> None:
        if self._rest is not None:
            self._rest.stop()
        with self.prevent(Input.Changed):
            self.query_one(SearchBar).input.value = ""
        self.remove_class("-searching")

    def _use_profile(self, version: str | None) -> None:
        if version is None or self.library is None:
            return
        self.library.with_profile(version)
        self.query_one(StoreHeader).show(self.library)
        self.look(self.view, keep_place=True)
        self.post_message(self.ProfileChosen(version))
