"""The room of upkeep: clean up, hygiene, health and snapshot as tabs of one shape, and what those share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.dom import DOMNode
from textual.worker import Worker, get_current_worker

from zeroclaw_tui.backends.factory import has_database
from zeroclaw_tui.memory.errors import InspectorError
from zeroclaw_tui.tui.actions import StoreRoom
from zeroclaw_tui.tui.commands import Change, Command, bindings, common_commands, inform, start_work, warn
from zeroclaw_tui.tui.rooms.browser import BROWSER_COMMANDS, NO_SNAPSHOT
from zeroclaw_tui.tui.view import Pace
from zeroclaw_tui.tui.widgets.detail import AboutPane, ListAndDetail
from zeroclaw_tui.tui.widgets.lines import Banner, KeyLine, StatusBar, TabLine, TabName, TitleLine
from zeroclaw_tui.tui.widgets.table_list import TableList

if TYPE_CHECKING:
    from zeroclaw_tui.curation.library import Library
    from zeroclaw_tui.curation.outcome import Outcome
    from zeroclaw_tui.tui.dialogs import Work

Tab = Literal["clean_up", "hygiene", "health", "snapshot"]
_TABS: tuple[tuple[Tab, str, str, str], ...] = (
    ("clean_up", "Clean up", "CleanUp", "A"),
    ("hygiene", "Hygiene", "Hygiene", "H"),
    ("health", "Health", "Health", "D"),
    ("snapshot", "Snapshot", "SnapshotTab", "S"),
)
"""The tabs: the module and command of each, its title, its class, and its key."""
_IN_LIST = {command.id: command for command in BROWSER_COMMANDS}
_KEYS = (
    _IN_LIST["undo"],
    _IN_LIST["redo"],
    replace(_IN_LIST["reload"], footer=True),
    *(replace(_IN_LIST[name], key=key) for name, _, _, key in _TABS),
    _IN_LIST["statistics"],
    *common_commands(out="Cancel a check, one pane back, or back to the list", back="Back to the list"),
)
_LINES_BELOW = 12
"""What a tab needs for all but the rows of an upper list, so that the lower one shows some of its own."""
_NEEDS_MEMORIES = frozenset({"clean_up", "snapshot", "statistics"})
"""The commands that do nothing where nothing is ever stored."""


class UpkeepRoom(StoreRoom):
    """Four tabs that look after one store. `numbers` opens the counts of the store in the tab of health."""

    CSS_PATH = "upkeep.tcss"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (120, "-wide")]  # noqa: RUF012
    VERTICAL_BREAKPOINTS = [(0, "-low"), (34, "-high")]  # noqa: RUF012
    AUTO_FOCUS = None
    PLACE = "upkeep"
    KEYS = _KEYS

    def __init__(
        self, library: Library, tab: Tab, clock: Callable[[], datetime], pace: Pace, *, numbers: bool = False
    ) -> None:
        super().__init__(library, clock, pace)
        self._current: Tab = tab
        self._opens_numbers = numbers
        self._tabs: dict[Tab, UpkeepTab] = {}
        self._stale: set[Tab] = set()

    def compose(self) -> ComposeResult:
        yield TabLine([TabName(name, key, title) for name, title, _, key in _TABS], id="tabs")
        yield KeyLine()

    async def on_mount(self) -> None:
        await self.show_tab(self._current)
        if self._opens_numbers:
            await self.action_statistics()

    @property
    def tab(self) -> UpkeepTab | None:
        """The tab that is shown; None before the first."""
        return self._tabs.get(self._current)

    async def action_clean_up(self) -> None:
        await self.show_tab("clean_up")

    async def action_hygiene(self) -> None:
        await self.show_tab("hygiene")

    async def action_health(self) -> None:
        await self.show_tab("health")

    async def action_snapshot(self) -> None:
        await self.show_tab("snapshot")

    async def show_tab(self, name: Tab) -> None:
        """Show another tab, as it was left, or reloaded if memories have changed."""
        self._current = name
        tab = self._tabs.get(name)
        if tab is None:
            tab = self._tabs[name] = self._create(name)
            await self.mount(tab, before=self.query_one(KeyLine))
        elif name in self._stale:
            tab.reload()
        self._stale.discard(name)
        for other in self._tabs.values():
            other.display = other is tab
        self.query_one(TabLine).chosen = name
        tab.table.focus()
        self.refresh_bindings()

    async def action_statistics(self) -> None:
        """Show the counts of the store in the tab of health; again: its findings."""
        action = "toggle_numbers" if self._current == "health" else "show_numbers(True)"
        await self.show_tab("health")
        await self._tabs["health"].run_action(action)

    async def on_tab_line_wanted(self, event: TabLine.Wanted) -> None:
        await self.run_action(event.tab)

    def why_dimmed(self, action: str) -> str | None:
        """Why a command cannot be done now, in a sentence; None when it can."""
        memory = self.library.memory
        if action in ("undo", "redo") or (memory.about.keeps_nothing and action in _NEEDS_MEMORIES):
            return self.library.read_only_because
        if action == "snapshot" and not has_database(memory.name):
            return NO_SNAPSHOT
        return self.tab.why_dimmed(action) if self.tab is not None else None

    @property
    def commands(self) -> Sequence[Command]:
        """The commands of the tab that is shown, then those of every tab."""
        return (*(self.tab.KEYS if self.tab is not None else ()), *_KEYS)

    def shell_facts(self) -> dict[str, str]:
        """What is under the cursor of the tab as well, for the lines of a shell."""
        return super().shell_facts() | ({} if self.tab is None else self.tab.shell_facts())

    def node_of(self, command: Command) -> DOMNode:
        """The tab that is shown, for its own commands."""
        return self.tab if self.tab is not None and command in self.tab.KEYS else self

    def action_reload(self) -> None:
        if self.changes.is_under_way:
            warn(self, "Wait: a change is still running.")
        elif self.tab is not None:
            self.tab.reload()

    def action_step_out(self) -> None:
        """Cancel a check of the tab, go one pane back in it, or leave the room."""
        if self.tab is None or not self.tab.step_out():
            self.action_leave()

    def stop(self) -> None:
        """Cancel the checks of all tabs."""
        for tab in self._tabs.values():
            tab.cancel_check()

    @property
    def is_writing(self) -> bool:
        """Whether a change or a repair is running."""
        return self.changes.is_under_way or any(tab.is_writing for tab in self._tabs.values())

    def _create(self, name: Tab) -> UpkeepTab:
        module = import_module(f"zeroclaw_tui.tui.rooms.upkeep.{name}")
        class_name = next(class_name for known, _, class_name, _ in _TABS if known == name)
        tab: UpkeepTab = getattr(module, class_name)(self)
        return tab

    async def after_change(self, outcome: Outcome | None) -> None:
        """Something was changed, which shows in every tab; None when it is unknown what."""
        if outcome is None or outcome.count or outcome.turned is not None:
            self.has_changed = True
        if self.tab is not None:
            self.tab.reload()
        self._stale = {name for name in self._tabs if name != self._current}


class UpkeepTab(Vertical):
    """One tab: a title, a list, everything about the row under the cursor, and the commands that act on it.

    It is created and loads when it is first shown.
    """

    KEYS: ClassVar[Sequence[Command]] = ()

    def __init_subclass__(cls) -> None:
        """The keys of its commands work while the focus is in it."""
        cls.BINDINGS = bindings(cls.KEYS)
        super().__init_subclass__()

    def __init__(self, room: UpkeepRoom, table: TableList[Any], *, id: str) -> None:
        super().__init__(id=id)
        self.room = room
        self.library = room.library
        self.table = table
        """The list that has the focus first."""
        self._loading: Worker[None] | None = None

    def compose(self) -> ComposeResult:
        yield TitleLine(id="title")
        yield Banner()
        with ListAndDetail("Findings", "Finding"):
            with Vertical(classes="lists"):
                yield from self.compose_lists()
            yield AboutPane()
        yield StatusBar()

    def compose_lists(self) -> ComposeResult:
        yield self.table

    def on_mount(self) -> None:
        self.reload()

    async def load(self) -> None:
        """Read the store and show the result. Raises InspectorError."""
        raise NotImplementedError

    def show_row(self) -> None:
        """Show everything about the row under the cursor."""
        raise NotImplementedError

    def show_status(self) -> None:
        """Show the line below the list."""
        raise NotImplementedError

    def reload(self) -> None:
        """Load again; what is shown stays until then."""
        self._loading = start_work(self, f"{self.id}-load", self._load)

    async def _load(self) -> None:
        try:
            await self.load()
        except InspectorError as error:
            self.query_one(Banner).fail(error)
        else:
            self.query_one(Banner).hide()
        finally:
            if self._loading is get_current_worker():
                self._loading = None
        self.show_status()

    @property
    def is_loading(self) -> bool:
        """Whether it loads now."""
        return self._loading is not None

    @property
    def is_checking(self) -> bool:
        """Whether a check runs that has to end before anything is changed."""
        return False

    def cancel_check(self) -> None:
        """Cancel what loads now."""
        if self._loading is not None:
            self._loading.cancel()

    def shell_facts(self) -> dict[str, str]:
        """What is under the cursor, for the lines of a shell."""
        return {}

    @property
    def is_writing(self) -> bool:
        """Whether it writes something that is no change of memories."""
        return False

    def why_dimmed(self, action: str) -> str | None:
        """Why an action cannot be done now, in a sentence; None when it can."""
        writes = any(command.id == action and command.writes for command in self.KEYS)
        return self.library.read_only_because if writes else None

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return None if self.is_mounted and self.why_dimmed(action) is not None else True

    def begin(self, change: Change) -> None:
        """Make a change, unless something is being written or checked."""
        if self.is_checking:
            warn(self, "Wait: a check is still running. Press esc to cancel it.")
        else:
            self.room.begin(change)

    async def carry_out(
        self, library: Library, sentence: str, total: int, work: Work[Outcome], report: Callable[[Outcome], str]
    ) -> None:
        """Do what a person has agreed to, say what was done, and reload."""
        outcome = await self.room.changes.run_change(library, sentence, total, work)
        (inform if outcome.count == total else warn)(self, report(outcome))
        await self.room.after_change(outcome)

    def on_table_list_row_highlighted(self, event: TableList.RowHighlighted) -> None:
        event.stop()
        self.show_row()

    def on_table_list_row_opened(self, event: TableList.RowOpened) -> None:
        event.stop()
        self.query_one(AboutPane).focus()

    def on_table_list_marks_changed(self, event: TableList.MarksChanged) -> None:
        self.show_status()

    def action_mark(self) -> None:
        self.table.toggle_mark()

    def action_mark_all(self) -> None:
        self.table.mark_all()

    def action_mark_none(self) -> None:
        self.table.set_marks(())

    def step_out(self) -> bool:
        """Go from the text to the list; False where the focus is in the list."""
        if not self.query_one(AboutPane).has_focus:
            return False
        self.table.focus()
        return True

    @property
    def most_above(self) -> int:
        """How many rows the upper one of two lists has at most: two fifths of the tab, fewer in a low one."""
        return max(1, min(self.size.height * 2 // 5, self.size.height - _LINES_BELOW))
