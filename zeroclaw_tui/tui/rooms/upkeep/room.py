"""The room of upkeep: clean up, hygiene, health and snapshot as tabs of one shape."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from importlib import import_module
from typing import TYPE_CHECKING, ClassVar, Literal, Protocol, runtime_checkable

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.dom import DOMNode
from textual.events import Key
from textual.screen import Screen
from textual.widget import Widget

from zeroclaw_tui.backends.profiles import has_database
from zeroclaw_tui.tui.changes import Change, Changes
from zeroclaw_tui.tui.commands import CHANGE, LOOK, PANES, PROGRAM, Command, bindings, say_why_not
from zeroclaw_tui.tui.help import HelpScreen
from zeroclaw_tui.tui.loader import Pace
from zeroclaw_tui.tui.rooms.browser import NO_SNAPSHOT
from zeroclaw_tui.tui.rooms.upkeep.pane import Desk, UpkeepPane
from zeroclaw_tui.tui.view import View
from zeroclaw_tui.tui.widgets.key_line import KeyLine
from zeroclaw_tui.tui.widgets.parts_line import PartsLine
from zeroclaw_tui.tui.widgets.reading_pane import ReadingPane

if TYPE_CHECKING:
    from zeroclaw_tui.curation.changes import Outcome
    from zeroclaw_tui.curation.library import Library

Tab = Literal["clean_up", "hygiene", "health", "snapshot"]

TABS: tuple[tuple[Tab, str, str, str], ...] = (
    ("clean_up", "Clean up", "A", "clean_up:CleanUp"),
    ("hygiene", "Hygiene", "H", "hygiene:Hygiene"),
    ("health", "Health", "D", "health:Health"),
    ("snapshot", "Snapshot", "S", "snapshot:SnapshotPane"),
)
"""Each tab with its words, its key, and where it is made."""

UPKEEP_KEYS = (
    Command("upkeep.undo", "u", "undo", "undo", "Take back the last change", CHANGE, True, writes=True),
    Command("upkeep.redo", "U", "redo", "redo", "Do again what was taken back last", CHANGE, writes=True),
    Command("upkeep.reload", "r", "reload", "look again", "Look again; after a failure: try again", LOOK, True),
    Command("upkeep.clean_up", "A,1", "show_tab('clean_up')", "clean up", "What pollutes this store", PANES),
    Command("upkeep.hygiene", "H,2", "show_tab('hygiene')", "hygiene", "What ZeroClaw's hygiene would take", PANES),
    Command("upkeep.health", "D,3", "show_tab('health')", "health", "What is wrong here, and its repair", PANES),
    Command("upkeep.snapshot", "S,4", "show_tab('snapshot')", "snapshot", "Write, compare, bring in a snapshot", PANES),
    Command("upkeep.numbers", "I", "show_numbers", "numbers", "How much is remembered, and how it grew", PANES),
    Command("upkeep.help", "question_mark,f1", "show_help", "keys", "The keys that work here", PROGRAM, True),
    Command(
        "upkeep.palette", "colon,ctrl+p", "app.command_palette", "commands", "Find a command by its name", PROGRAM,
        in_palette=False,
    ),
    Command(
        "upkeep.out", "escape", "screen.step_out", "out", "Stop what runs, one pane back, or back to the list", PROGRAM,
        True, in_palette=False,
    ),
    Command("upkeep.leave", "q", "leave", "back", "Back to the list", PROGRAM, in_palette=False),
)  # fmt: skip


_NEEDS_MEMORIES = frozenset({"show_tab('clean_up')", "show_tab('snapshot')", "show_numbers"})
"""What nothing comes of where nothing is ever stored."""


@runtime_checkable
class Looks(Protocol):
    """A room behind this one that shows memories, and can be asked to show others."""

    view: View

    def look(self, view: View) -> None:
        """Look at something else."""
        ...


class UpkeepRoom(Screen[bool]):
    """Four tabs that look after one store. Gives True when memories, files or settings were changed.

    `tab` is the one to begin with; `numbers` opens the counts at the head of health.
    """

    CSS_PATH = "upkeep.tcss"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (120, "-wide")]  # noqa: RUF012
    VERTICAL_BREAKPOINTS = [(0, "-low"), (34, "-high")]  # noqa: RUF012
    AUTO_FOCUS = None
    BINDINGS: ClassVar[list[BindingType]] = bindings(UPKEEP_KEYS)

    def __init__(
        self, library: Library, tab: Tab, clock: Callable[[], datetime], pace: Pace, *, numbers: bool = False
    ) -> None:
        super().__init__()
        self.library = library
        self.has_changed = False
        self._tab: Tab = tab
        self._opens_numbers = numbers
        self._panes: dict[Tab, UpkeepPane] = {}
        self._stale: set[Tab] = set()
        changes = Changes(self, clock, pace, library=lambda: library, after=self._after_change)
        self._desk = Desk(
            library, clock, pace, changes, self._begin, self._after_change, self._note_change, self._narrow
        )

    def compose(self) -> ComposeResult:
        """The tabs and the keys; a pane comes when it is shown."""
        yield PartsLine(id="tabs")
        yield KeyLine()

    async def on_mount(self) -> None:
        """Show the tab that was asked for."""
        await self.action_show_tab(self._tab)
        if self._opens_numbers:
            await self.action_show_numbers()

    @property
    def pane(self) -> UpkeepPane | None:
        """The tab that is shown; None before the first."""
        return self._panes.get(self._tab)

    async def action_show_tab(self, tab: Tab) -> None:
        """Show another tab, as it was left, or anew where memories changed since."""
        self._tab = tab
        pane = self._panes.get(tab)
        if pane is None:
            pane = self._panes[tab] = self._made(tab)
            await self.mount(pane, before=self.query_one(KeyLine))
        elif tab in self._stale:
            pane.after_change(None)
        self._stale.discard(tab)
        for other in self._panes.values():
            other.display = other is pane
        at = next(number for number, (name, *_) in enumerate(TABS) if name == tab)
        self.query_one(PartsLine).show([(words, key) for _, words, key, _ in TABS], at)
        pane.home.focus()
        self.refresh_bindings()

    async def action_show_numbers(self) -> None:
        """Show the counts at the head of health; the same again shows its findings."""
        from zeroclaw_tui.tui.rooms.upkeep.health import Health

        was = self._tab
        await self.action_show_tab("health")
        pane = self.pane
        assert isinstance(pane, Health)
        pane.show_numbers(was != "health" or not pane.shows_numbers)

    async def on_parts_line_chosen(self, event: PartsLine.Chosen) -> None:
        """Show the tab that was clicked."""
        await self.action_show_tab(TABS[event.at][0])

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """What cannot be done here is dimmed."""
        bound = f"{action}({parameters[0]!r})" if parameters else action
        return None if self.why_action_dimmed(bound) is not None else True

    def why_action_dimmed(self, action: str) -> str | None:
        """Why an action, as it is bound, cannot be done now, in a sentence; None when it can."""
        memory = self.library.memory
        if action in ("undo", "redo") or (memory.keeps_nothing and action in _NEEDS_MEMORIES):
            return self.library.read_only_because
        if action == "show_tab('snapshot')" and not has_database(memory.name):
            return NO_SNAPSHOT
        return self.pane.why_dimmed(action) if self.pane is not None else None

    def why_not(self, command: Command) -> str | None:
        """Why a command is dimmed, in a sentence; None when it works."""
        return self.why_action_dimmed(command.action)

    def on_key(self, event: Key) -> None:
        """A dimmed key says why it is dimmed."""
        say_why_not(self, event, self.why_action_dimmed)

    @property
    def commands_here(self) -> Sequence[Command]:
        """The commands of the tab that is shown, then those of every tab."""
        return (*(self.pane.COMMANDS if self.pane is not None else ()), *UPKEEP_KEYS)

    def palette_commands(self) -> Iterable[Command]:
        """The commands that make sense now."""
        return [command for command in self.commands_here if command.in_palette]

    async def run_action(self, action: str, namespaces: Mapping[str, DOMNode] | None = None) -> None:
        """Do a command of the tab that is shown, or one of the room."""
        name = action.partition("(")[0]
        is_of_pane = self.pane is not None and not hasattr(self, f"action_{name}")
        await self.app.run_action(action, self.pane if is_of_pane else self, namespaces)

    def action_show_help(self) -> None:
        """The keys that work here."""
        panes: list[tuple[str, Widget]] = [] if self.pane is None else [("In the lists", self.pane.home)]
        panes += [("In the text", text) for text in self.query(ReadingPane)[:1]]
        self.app.push_screen(HelpScreen(self, self.commands_here, panes))

    def action_undo(self) -> None:
        """Take back the last change."""

        async def take_back(library: Library) -> None:
            await self._desk.changes.undo(library)

        self._begin(take_back)

    def action_redo(self) -> None:
        """Do again what was taken back last."""

        async def do_again(library: Library) -> None:
            await self._desk.changes.redo(library)

        self._begin(do_again)

    def action_reload(self) -> None:
        """Look again."""
        if self.pane is not None:
            self.pane.action_reload()

    def action_step_out(self) -> None:
        """Stop what runs in the tab, one step back in it, or back to where one came from."""
        if self.pane is None or not self.pane.step_out():
            self.action_leave()

    def action_leave(self) -> None:
        """Back to where one came from, unless something is being written."""
        if self._is_writing:
            self._desk.changes.warn("This is still under way.")
            return
        for pane in self._panes.values():
            pane.stop()
        self.dismiss(self.has_changed)

    @property
    def _is_writing(self) -> bool:
        return self._desk.changes.is_under_way or any(pane.is_busy for pane in self._panes.values())

    def _begin(self, change: Change) -> None:
        if any(pane.is_busy for pane in self._panes.values()):
            self._desk.changes.warn("One thing at a time: a repair is still under way.")
        else:
            self._desk.changes.begin(change)

    def _made(self, tab: Tab) -> UpkeepPane:
        module, _, name = next(place for known, _, _, place in TABS if known == tab).partition(":")
        made = getattr(import_module(f"zeroclaw_tui.tui.rooms.upkeep.{module}"), name)
        pane: UpkeepPane = made(self._desk, id=tab.replace("_", "-"))
        return pane

    async def _after_change(self, outcome: Outcome | None) -> None:
        if outcome is None or outcome.count or outcome.undone is not None:
            self._note_change()
        if self.pane is not None:
            self.pane.after_change(outcome)
        self._stale = {tab for tab in self._panes if tab != self._tab}

    def _note_change(self) -> None:
        self.has_changed = True

    def _narrow(self, narrowed: Callable[[View], View]) -> None:
        """Show some memories in the list this room was opened from."""
        behind = next((room for room in reversed(self.app.screen_stack) if isinstance(room, Looks)), None)
        if behind is None:
            self._desk.changes.warn("There is no list of memories behind this room.")
        elif self._is_writing:
            self._desk.changes.warn("This is still under way.")
        else:
            self.action_leave()
            behind.look(narrowed(behind.view.cleared().without_search()))
