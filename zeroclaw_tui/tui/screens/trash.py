"""The trash: everything that was deleted here, to look at, bring back, or let go of for ever."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar

from textual.binding import BindingType
from textual.events import Key
from textual.widgets import Input

from zeroclaw_tui.curation import changes
from zeroclaw_tui.curation.trash.trash import TrashRow
from zeroclaw_tui.curation.trash.words import undone_words
from zeroclaw_tui.memory.change import Clash, Clashes
from zeroclaw_tui.memory.errors import InspectorError
from zeroclaw_tui.tui.commands import Command, bindings, say_why_dimmed
from zeroclaw_tui.tui.external import copy_text
from zeroclaw_tui.tui.format import count_text
from zeroclaw_tui.tui.screens.help import HelpScreen
from zeroclaw_tui.tui.screens.history import HistoryScreen
from zeroclaw_tui.tui.screens.trash_dialogs import ClashScreen, LetGo, LetGoScreen
from zeroclaw_tui.tui.screens.trash_keys import TRASH_COMMANDS, pane_keys
from zeroclaw_tui.tui.screens.trash_listing import DEBOUNCE, TrashListing
from zeroclaw_tui.tui.screens.trash_words import back_words, gone_for_ever_words, key_words
from zeroclaw_tui.tui.widgets.detail import MemoryDetail
from zeroclaw_tui.tui.widgets.search_bar import SearchBar
from zeroclaw_tui.tui.widgets.trash_list import TrashList
from zeroclaw_tui.tui.widgets.trash_rows import store_words
from zeroclaw_tui.tui.words import memories_words

if TYPE_CHECKING:
    from zeroclaw_tui.curation.library import Library

_PROGRESS_SECONDS = 0.2
_WRITING = frozenset({"restore", "undo", "let_go"})
_ON_ROWS = frozenset({"restore", "mark", "mark_all", "show_history", "copy_content", "let_go"})

Attempt = Callable[[Clash], Coroutine[Any, Any, changes.Outcome]]


class TrashScreen(TrashListing):
    """Deleted memories, the newest deletion first. Gives True when something came back."""

    CSS_PATH = "trash.tcss"
    BINDINGS: ClassVar[list[BindingType]] = bindings(TRASH_COMMANDS)

    def __init__(self, library: Library, clock: Callable[[], datetime], *, debounce: float = DEBOUNCE) -> None:
        super().__init__(library, clock, debounce=debounce)
        self.came_back = False
        self._is_busy = False
        self._doing = ""
        self._done = 0
        self._is_stopped = False

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """What writes is dimmed in a store that is only read, as the line below says; rows need to be there."""
        if action in _WRITING and self.library.read_only_because is not None:
            return None
        if action in _ON_ROWS and self.has_class("-empty") and not self.marks:
            return False
        return not (action == "open_search" and self.is_mounted and self.query_one(SearchBar).input.has_focus)

    def on_key(self, event: Key) -> None:
        """A dimmed key says why it is dimmed."""
        say_why_dimmed(self, event, _WRITING, self.library.read_only_because)

    def palette_commands(self) -> Iterable[Command]:
        """The commands that make sense now."""
        return [command for command in TRASH_COMMANDS if command.in_palette and self.check_action(command.action, ())]

    def doing_words(self) -> str:
        """What is being written, and how far it is."""
        if not self._doing:
            return ""
        return f"{self._doing} · {count_text(self._done)} done · esc stops" if self._done else f"{self._doing} …"

    def action_open_search(self) -> None:
        """Type what to look for."""
        self.add_class("-searching")
        self.set_focus(self.query_one(SearchBar).input)

    def action_focus_pane(self, pane: str) -> None:
        """From the search to the list."""
        self.query_one(f"#{pane}").focus()

    def action_reload(self) -> None:
        """Look again."""
        self.reload()

    def action_step_out(self) -> None:
        """Stop what is under way; else leave the search; else leave the trash."""
        if self._is_busy:
            self._is_stopped = True
        elif self.has_class("-searching"):
            self.stop_waiting()
            with self.prevent(Input.Changed):
                self.query_one(SearchBar).input.value = ""
            self.remove_class("-searching")
            self.query_one(TrashList).focus()
            self.search("")
        elif self.query_one(MemoryDetail).has_focus:
            self.query_one(TrashList).focus()
        else:
            self.dismiss(self.came_back)

    def action_leave(self) -> None:
        """Back to where one came from, unless something is being written."""
        if self._is_busy:
            self._warn("This is still under way; esc stops it.")
        else:
            self.dismiss(self.came_back)

    def action_mark(self) -> None:
        """Mark the row, or take its mark away, and go on to the next."""
        row = self.selected
        if row is None:
            return
        if row.store != self.look.store:
            self._refuse_other(row)
            return
        self.marks ^= {row.number}
        self.paint_marks()
        self.query_one(TrashList).cursor += 1

    def action_mark_all(self) -> None:
        """Mark everything of this store that is shown."""
        self.mark_all_shown()

    def action_unmark(self) -> None:
        """Take every mark away."""
        self.marks.clear()
        self.paint_marks()

    def action_toggle_stores(self) -> None:
        """Show what was deleted in the other stores of this config dir as well, or no longer."""
        self.look = replace(self.look, every_store=not self.look.every_store)
        self.reload()

    def action_restore(self) -> None:
        """Bring back the marked ones, else the one under the cursor."""
        row = self.selected
        if self.marks:
            self._write(f"Bringing {memories_words(len(self.marks))} back", self._restore(sorted(self.marks), None))
        elif row is not None and row.store != self.look.store:
            self._refuse_other(row)
        elif row is not None:
            key = row.row.entry().key
            self._write(f"Bringing {key_words(key)} back", self._restore([row.number], key))

    def action_undo(self) -> None:
        """Take back the last action."""
        self._write("Taking it back", self._undo())

    def action_let_go(self) -> None:
        """Let go for ever of the marked ones, the row, or everything."""
        self._write("", self._let_go(self.selected))

    def action_show_history(self) -> None:
        """What was done here to this memory."""
        row = self.selected
        if row is not None and row.store != self.look.store:
            self._refuse_other(row)
        elif row is not None:
            screen = HistoryScreen(self.library, row.row.id, row.row.entry().key, self.clock)
            self.app.push_screen(screen, self._after_history)

    async def action_copy_content(self) -> None:
        """Copy the whole content."""
        row = self.selected
        if row is not None:
            self._tell(await copy_text(self.app, row.row.entry().content))

    def action_show_help(self) -> None:
        """The keys that work here."""
        panes = (("In the list", self.query_one(TrashList)), ("In the detail", self.query_one(MemoryDetail)))
        self.app.push_screen(HelpScreen(pane_keys(self, TRASH_COMMANDS, panes)))

    def _write(self, doing: str, work: Coroutine[Any, Any, None]) -> None:
        """Do one thing at a time; what fails is told, and the list shows what is true afterwards."""
        if self._is_busy:
            work.close()
            self._warn("One thing at a time: this is still under way.")
            return
        self._is_busy, self._doing, self._done, self._is_stopped = True, doing, 0, False
        self.run_worker(self._guarded(work), group="trash-write")

    async def _guarded(self, work: Coroutine[Any, Any, None]) -> None:
        progress = self.set_interval(_PROGRESS_SECONDS, self.paint_status)
        try:
            await work
        except InspectorError as error:
            self.notify(str(error), title=error.title, severity="error", markup=False)
        finally:
            progress.stop()
            self._is_busy, self._doing = False, ""
        self.paint_status()
        self.reload()

    async def _restore(self, numbers: Sequence[int], key: str | None) -> None:
        async def attempt(clash: Clash) -> changes.Outcome:
            return await changes.restore(self.library, numbers, clash=clash, advance=self._advance)

        outcome = await self._settled(attempt)
        if outcome is not None:
            self.came_back = self.came_back or outcome.count > 0
            self._tell(back_words(outcome, key))

    async def _undo(self) -> None:
        await self.library.trash.settle(self.library.memory)
        last = await changes.last_change(self.library)
        expected = last.number if last is not None else None

        async def attempt(clash: Clash) -> changes.Outcome:
            return await changes.undo(self.library, expected=expected, clash=clash, advance=self._advance)

        outcome = await self._settled(attempt)
        if outcome is not None:
            self.came_back = self.came_back or outcome.count > 0
            self._tell(undone_words(outcome))

    async def _settled(self, attempt: Attempt) -> changes.Outcome | None:
        """Try; where something stands in the way a person says how to go on. None when everything was left."""
        try:
            return await attempt("refuse")
        except Clashes as clashes:
            found = clashes
        # Nothing is under way while a person decides.
        doing, self._doing = self._doing, ""
        self.paint_status()
        answer = await self.app.push_screen_wait(ClashScreen(found))
        self._doing = doing
        return None if answer is None else await attempt(answer)

    async def _let_go(self, row: TrashRow | None) -> None:
        parts = await self._parts_to_let_go(row)
        if not parts:
            self._tell("There is nothing in the trash of this store.")
            return
        chosen = await self.app.push_screen_wait(LetGoScreen(parts))
        if chosen is not None:
            count = await self.library.trash.empty(None if chosen.is_everything else chosen.numbers)
            self._tell(gone_for_ever_words(count))

    async def _parts_to_let_go(self, row: TrashRow | None) -> list[LetGo]:
        trash, parts = self.library.trash, []
        if self.marks:
            parts.append(LetGo(f"the {count_text(len(self.marks))} marked", sorted(self.marks)))
        elif row is not None:
            parts.append(LetGo(key_words(row.row.entry().key), [row.number]))
        if self.look.lit:
            found = await trash.numbers(self.look.lit)
            parts += [LetGo(f"all {count_text(len(found))} found", found)] if found else []
        everything = await trash.numbers()
        if everything:
            words = f"everything kept of this store: {memories_words(len(everything))} and all earlier versions"
            parts.append(LetGo(words, everything, is_everything=True))
        return parts

    def _advance(self, done: int) -> bool:
        self._done = done
        return not self._is_stopped

    def _after_history(self, has_changed: bool | None) -> None:
        if has_changed:
            self.came_back = True
            self.reload()

    def _refuse_other(self, row: TrashRow) -> None:
        self._warn(f"It was deleted in {store_words(row.store)}: open that store for it.")

    def _tell(self, sentence: str) -> None:
        self.notify(sentence, markup=False)

    def _warn(self, sentence: str) -> None:
        self.notify(sentence, severity="warning", markup=False)
