"""The room of upkeep: clean up, hygiene, health and snapshot as tabs of one shape, and what those share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from importlib import import_module
from typing import TYPE_CHECKING, ClassVar, Literal

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.dom import DOMNode
from textual.widget import Widget
from textual.widgets import Static

from zeroclaw_tui.backends.factory import has_database
from zeroclaw_tui.tui.actions import StoreRoom
from zeroclaw_tui.tui.commands import Change, Command, bindings, common_commands, inform, warn
from zeroclaw_tui.tui.rooms.browser import BROWSER_COMMANDS, NO_SNAPSHOT
from zeroclaw_tui.tui.themes import MUTED, STRONG
from zeroclaw_tui.tui.view import Pace, View
from zeroclaw_tui.tui.widgets.detail import AboutPane, ListAndDetail, ReadingPane
from zeroclaw_tui.tui.widgets.lines import Banner, KeyLine, StatusBar, TabLine, TabName

if TYPE_CHECKING:
    from zeroclaw_tui.curation.library import Library
    from zeroclaw_tui.curation.outcome import Outcome
    from zeroclaw_tui.tui.dialogs import Work

Tab = Literal["clean_up", "hygiene", "health", "snapshot"]
TABS: tuple[tuple[Tab, str, str, str], ...] = (
    ("clean_up", "Clean up", "A", "clean_up:CleanUp"),
    ("hygiene", "Hygiene", "H", "hygiene:Hygiene"),
    ("health", "Health", "D", "health:Health"),
    ("snapshot", "Snapshot", "S", "snapshot:SnapshotPane"),
)
"""Each tab with its words, its key, and where it is made."""
_IN_LIST = {command.id: command for command in BROWSER_COMMANDS}
UPKEEP_KEYS = (
    _IN_LIST["undo"],
    _IN_LIST["redo"],
    replace(_IN_LIST["reload"], footer=True),
    *(replace(_IN_LIST[name], key=f"{key},{number}") for number, (name, _, key, _) in enumerate(TABS, 1)),
    _IN_LIST["changes"],
    _IN_LIST["statistics"],
    *common_commands(out="Stop what runs, one pane back, or back to the list", back="Back to the list"),
)
_LINES_BELOW = 12
"""What a pane needs for all but the rows of the upper list, so that the lower one shows some of its own."""
_NEEDS_MEMORIES = frozenset({"clean_up", "snapshot", "statistics"})
"""The commands that do nothing where nothing is ever stored."""


class UpkeepRoom(StoreRoom):
    """Four tabs that look after one store.

    `tab` is the one to begin with; `numbers` opens the counts at the head of health.
    """

    CSS_PATH = "upkeep.tcss"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (120, "-wide")]  # noqa: RUF012
    VERTICAL_BREAKPOINTS = [(0, "-low"), (34, "-high")]  # noqa: RUF012
    AUTO_FOCUS = None
    KEYS = UPKEEP_KEYS

    def __init__(
        self, library: Library, tab: Tab, clock: Callable[[], datetime], pace: Pace, *, numbers: bool = False
    ) -> None:
        super().__init__(library, clock, pace)
        self._tab: Tab = tab
        self._opens_numbers = numbers
        self._panes: dict[Tab, UpkeepPane] = {}
        self._stale: set[Tab] = set()

    def compose(self) -> ComposeResult:
        yield TabLine([TabName(name, key, words) for name, words, key, _ in TABS], id="tabs")
        yield KeyLine()

    async def on_mount(self) -> None:
        await self.show_tab(self._tab)
        if self._opens_numbers:
            await self.action_statistics()

    @property
    def pane(self) -> UpkeepPane | None:
        """The tab that is shown; None before the first."""
        return self._panes.get(self._tab)

    async def action_clean_up(self) -> None:
        await self.show_tab("clean_up")

    async def action_hygiene(self) -> None:
        await self.show_tab("hygiene")

    async def action_health(self) -> None:
        await self.show_tab("health")

    async def action_snapshot(self) -> None:
        await self.show_tab("snapshot")

    async def show_tab(self, tab: Tab) -> None:
        """Show another tab, as it was left, or reloaded if memories have changed."""
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
        self.query_one(TabLine).chosen = tab
        pane.home.focus()
        self.refresh_bindings()

    async def action_statistics(self) -> None:
        """Show the counts at the head of health; the same again shows its findings."""
        from zeroclaw_tui.tui.rooms.upkeep.health import Health

        was = self._tab
        await self.show_tab("health")
        pane = self.pane
        assert isinstance(pane, Health)
        pane.show_numbers(was != "health" or not pane.shows_numbers)

    def action_changes(self) -> None:
        from zeroclaw_tui.tui.rooms.changes import ChangesRoom

        if self.is_writing:
            warn(self, "Wait until this is done.")
        else:
            self.app.push_screen(ChangesRoom(self.library, self.clock, self.pace, None), self._after_changes)

    async def _after_changes(self, has_changed: bool | None) -> None:
        if has_changed:
            await self.after_change(None)

    async def on_tab_line_wanted(self, event: TabLine.Wanted) -> None:
        await self.run_action(event.tab)

    def why_dimmed(self, action: str) -> str | None:
        """Why a command cannot be done now, in a sentence; None when it can."""
        memory = self.library.memory
        if action in ("undo", "redo") or (memory.about.keeps_nothing and action in _NEEDS_MEMORIES):
            return self.library.read_only_because
        if action == "snapshot" and not has_database(memory.name):
            return NO_SNAPSHOT
        return self.pane.why_dimmed(action) if self.pane is not None else None

    @property
    def commands(self) -> Sequence[Command]:
        """The commands of the tab that is shown, then those of every tab."""
        return (*(self.pane.KEYS if self.pane is not None else ()), *UPKEEP_KEYS)

    def shell_facts(self) -> dict[str, str]:
        """What is under the cursor of the tab as well, for the lines of a shell."""
        return super().shell_facts() | ({} if self.pane is None else self.pane.shell_facts())

    def node_of(self, command: Command) -> DOMNode:
        """The tab that is shown, for its own commands."""
        return self.pane if self.pane is not None and command in self.pane.KEYS else self

    def action_reload(self) -> None:
        if self.pane is not None:
            self.pane.action_reload()

    def action_step_out(self) -> None:
        """Stop what runs in the tab, one step back in it, or back to where one came from."""
        if self.pane is None or not self.pane.step_out():
            self.action_leave()

    def stop(self) -> None:
        """Stop the checks of all tabs."""
        for pane in self._panes.values():
            pane.stop()

    @property
    def is_writing(self) -> bool:
        """Whether a change or a repair is under way."""
        return self.changes.is_under_way or any(pane.is_busy for pane in self._panes.values())

    def _made(self, tab: Tab) -> UpkeepPane:
        module, _, name = next(place for known, _, _, place in TABS if known == tab).partition(":")
        made = getattr(import_module(f"zeroclaw_tui.tui.rooms.upkeep.{module}"), name)
        pane: UpkeepPane = made(self, id=tab.replace("_", "-"))
        return pane

    async def after_change(self, outcome: Outcome | None) -> None:
        """Something was changed, which shows in every tab; None when it is unknown what."""
        if outcome is None or outcome.count or outcome.turned is not None:
            self.has_changed = True
        if self.pane is not None:
            self.pane.after_change(outcome)
        self._stale = {tab for tab in self._panes if tab != self._tab}

    def narrow(self, narrowed: Callable[[View], View]) -> None:
        """Lead to the list this room was opened from, and narrow what it shows of everything."""
        from zeroclaw_tui.tui.rooms.browser import BrowserRoom

        behind = next((room for room in self.app.screen_stack if isinstance(room, BrowserRoom)), None)
        if behind is None:
            warn(self, "There is no list of memories to return to.")
        elif self.is_writing:
            warn(self, "Wait until this is done.")
        else:
            self.action_leave()
            behind.panes.look(narrowed(replace(behind.view.cleared(), query="")))


class UpkeepPane(Vertical):
    """One tab. It is made when it is first shown, and looks at the store then."""

    KEYS: ClassVar[Sequence[Command]] = ()

    def __init_subclass__(cls) -> None:
        """The keys of its commands work while the focus is in it."""
        cls.BINDINGS = bindings(cls.KEYS)
        super().__init_subclass__()

    def __init__(self, room: UpkeepRoom, *, id: str) -> None:
        super().__init__(id=id)
        self.room = room
        self.library = room.library
        self.failure = Banner()
        """What could not be looked at, with the key that tries again; what is shown stays."""
        self._title = ("", "")

    def compose(self) -> ComposeResult:
        yield Static("", classes="title", markup=False)
        yield self.failure
        with ListAndDetail():
            with Vertical(classes="lists"):
                yield from self.compose_lists()
            yield self.detail()
        yield StatusBar()

    def compose_lists(self) -> ComposeResult:
        yield from ()

    def detail(self) -> ReadingPane:
        """The pane that describes the row under the cursor."""
        return AboutPane()

    def on_mount(self) -> None:
        self.reload()

    def on_resize(self) -> None:
        self._paint_title()

    @property
    def home(self) -> Widget:
        """The list that has the focus at the start."""
        raise NotImplementedError

    def shell_facts(self) -> dict[str, str]:
        """What is under the cursor, for the lines of a shell."""
        return {}

    @property
    def is_busy(self) -> bool:
        """Whether it writes something that is no change of memories."""
        return False

    @property
    def is_checking(self) -> bool:
        """Whether a look is under way that has to end before anything is changed."""
        return False

    @property
    def read_only_because(self) -> str | None:
        """Why nothing can be written from here, in a sentence; None when it can."""
        return self.library.read_only_because

    def why_dimmed(self, action: str) -> str | None:
        """Why an action cannot be done now, in a sentence; None when it can."""
        writes = any(command.id == action and command.writes for command in self.KEYS)
        return self.read_only_because if writes else None

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return None if self.is_mounted and self.why_dimmed(action) is not None else True

    def reload(self) -> None:
        """Reload."""
        raise NotImplementedError

    def action_reload(self) -> None:
        if self.room.changes.is_under_way:
            warn(self, "Wait: a change is still running.")
        else:
            self.reload()

    def begin(self, change: Change) -> None:
        """Make a change, unless something is being written or looked at."""
        if self.is_checking:
            warn(self, "Wait: a check is still running. Press esc to cancel it.")
        else:
            self.room.begin(change)

    def after_change(self, outcome: Outcome | None) -> None:
        """Something was changed, here or in another tab; None when it is unknown what."""
        self.reload()

    async def carry_out(
        self, library: Library, sentence: str, total: int, work: Work[Outcome], words: Callable[[Outcome], str]
    ) -> None:
        """Do what a person has agreed to, report the result by `words`, and reload."""
        outcome = await self.room.changes.run_change(library, sentence, total, work)
        (inform if outcome.count == total else warn)(self, words(outcome))
        await self.room.after_change(outcome)

    def step_out(self) -> bool:
        """One step back within the tab, or stop what runs; whether there was one: from the text to the list."""
        if not self.query_one(ReadingPane).has_focus:
            return False
        self.home.focus()
        return True

    def stop(self) -> None:
        """Stop the check, because the room closes."""

    @property
    def most_above(self) -> int:
        """How many rows the upper one of two lists has at most: two fifths of the pane, fewer in a low one."""
        return max(1, min(self.size.height * 2 // 5, self.size.height - _LINES_BELOW))

    def say_title(self, fact: str, rest: str = "") -> None:
        """The sentence at the top; its rest is left out where it does not fit."""
        self._title = (fact, rest)
        self._paint_title()

    def _paint_title(self) -> None:
        fact, rest = self._title
        fits = len(fact) + len(rest) <= self.size.width - 2
        self.query_one(".title", Static).update(Content.assemble((fact, STRONG), (rest if fits else "", MUTED)))
