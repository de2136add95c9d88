"""Another store: what the config knows, how each stands, and what is copied into one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.events import Key
from textual.screen import Screen
from textual.widgets import Static

from zeroclaw_tui.backends.profiles import backend_profile
from zeroclaw_tui.memory.errors import InspectorError
from zeroclaw_tui.tui.commands import Command, bindings, say_why_not
from zeroclaw_tui.tui.screens.confirm import QuestionScreen
from zeroclaw_tui.tui.screens.help import HelpScreen
from zeroclaw_tui.tui.screens.stores_keys import STORES_COMMANDS
from zeroclaw_tui.tui.screens.stores_words import CONFIRM_TITLE, about_lines, clean, title_words
from zeroclaw_tui.tui.screens.trash_keys import pane_keys
from zeroclaw_tui.tui.widgets.key_line import KeyLine
from zeroclaw_tui.tui.widgets.status_bar import Banner
from zeroclaw_tui.tui.widgets.store_list import StoreList

if TYPE_CHECKING:
    from zeroclaw_tui.curation.library import Library
    from zeroclaw_tui.curation.switching import Candidate, Standing


@dataclass(frozen=True, slots=True)
class Stores:
    """How the stores are found, asked, confirmed and copied to; each may raise InspectorError kinds."""

    find: Callable[[], Awaitable[Sequence[Candidate]]]
    ask: Callable[[Candidate], Awaitable[Standing]]
    confirm: Callable[[Candidate], Awaitable[Candidate]]
    copy: Callable[[Library, Candidate], Awaitable[str | None]]


class StoresScreen(Screen["Candidate | None"]):
    """Every store the config knows. Gives the one to look at, or None when it was left.

    `library` is the store that is open, from which is copied. All stores are asked at once, and each line is filled in
    as its answer comes.
    """

    CSS_PATH = "stores.tcss"
    AUTO_FOCUS = "#stores"
    BINDINGS: ClassVar[list[BindingType]] = bindings(STORES_COMMANDS)

    def __init__(self, stores: Stores, library: Library | None) -> None:
        super().__init__()
        self._stores = stores
        self._library = library
        self._candidates: Sequence[Candidate] = ()
        self._standings: list[Standing | None] = []

    def compose(self) -> ComposeResult:
        """Title, what went wrong, the stores, the one under the cursor, keys."""
        yield Static("", id="title", markup=False)
        yield Banner(id="failure")
        yield StoreList(id="stores")
        with VerticalScroll(id="about", can_focus=False):
            yield Static("", id="told", markup=False)
        yield KeyLine(show_command_palette=False)

    def on_mount(self) -> None:
        """Find and ask them."""
        self.action_reload()

    def on_resize(self) -> None:
        """As many words as fit."""
        self._paint_about()

    def on_row_list_cursor_moved(self) -> None:
        """Tell of the store under the cursor."""
        self._paint_about()
        self.refresh_bindings()

    def on_row_list_row_opened(self) -> None:
        """Look at it."""
        self.action_use()

    async def on_banner_clicked(self, event: Banner.Clicked) -> None:
        """Do what the banner's key does."""
        await self.run_action(event.action)

    def on_key(self, event: Key) -> None:
        """A dimmed key says why it is dimmed."""
        say_why_not(self, event, self._why_dimmed)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """What cannot be done with the store under the cursor is dimmed."""
        return None if self._why_dimmed(action) else True

    def palette_commands(self) -> Iterable[Command]:
        """The commands that make sense here."""
        return [command for command in STORES_COMMANDS if command.in_palette]

    def why_not(self, command: Command) -> str | None:
        """Why a command is dimmed, in a sentence; None when it works."""
        return self._why_dimmed(command.action)

    def action_use(self) -> None:
        """Look at the store under the cursor, where that is another one."""
        candidate = self._selected
        if candidate is not None:
            self.dismiss(None if candidate.is_current and self._library is not None else candidate)

    def action_leave(self) -> None:
        """Back, everything as it was."""
        self.dismiss(None)

    def action_reload(self) -> None:
        """Find and ask them again."""
        self.query_one("#failure", Banner).hide()
        self.run_worker(self._find(), group="stores", exclusive=True)

    def action_copy_here(self) -> None:
        """Copy what the open store has into the one under the cursor."""
        candidate = self._selected
        if candidate is not None and self._library is not None:
            self.run_worker(self._copy(self._library, candidate), group="copy-write")

    def action_confirm_store(self) -> None:
        """Ask whether the database is ZeroClaw's."""
        candidate = self._selected
        if candidate is not None:
            self.run_worker(self._confirm(candidate), group="stores-confirm")

    def action_show_help(self) -> None:
        """The keys that work here."""
        reasons = {command.sentence: why for command in STORES_COMMANDS if (why := self.why_not(command))}
        sections = pane_keys(self, STORES_COMMANDS, (("In the list", self.query_one(StoreList)),))
        self.app.push_screen(HelpScreen(sections, reasons, "\n".join(dict.fromkeys(reasons.values())) or None))

    async def _find(self) -> None:
        try:
            self._candidates = await self._stores.find()
        except InspectorError as error:
            self.query_one("#failure", Banner).show("error", str(error), "r", "tries again", "reload")
            return
        self._standings = [None] * len(self._candidates)
        self._paint()
        self.workers.cancel_group(self, "ask")
        for at, candidate in enumerate(self._candidates):
            self.run_worker(self._ask(self._standings, at, candidate), group="ask")

    async def _ask(self, standings: list[Standing | None], at: int, candidate: Candidate) -> None:
        standings[at] = await self._stores.ask(candidate)
        if standings is self._standings:
            self._paint()

    async def _copy(self, library: Library, candidate: Candidate) -> None:
        try:
            said = await self._stores.copy(library, candidate)
        except InspectorError as error:
            self.notify(clean(str(error)), title=error.title, severity="error", markup=False)
            return
        if said is not None:
            self.notify(said, markup=False)
            self.action_reload()

    async def _confirm(self, candidate: Candidate) -> None:
        body = Content(
            f"{clean(candidate.location)}\nDATABASE_URL names it, a variable that many programs read. "
            "Say yes only where ZeroClaw keeps its memories there; then they can be changed from here."
        )
        question = QuestionScreen(CONFIRM_TITLE, body, "No, leave it read-only", "Yes, it may be written")
        if not await self.app.push_screen_wait(question):
            return
        try:
            confirmed = await self._stores.confirm(candidate)
        except InspectorError as error:
            self.notify(clean(str(error)), title=error.title, severity="error", markup=False)
            return
        self.dismiss(confirmed)

    @property
    def _selected(self) -> Candidate | None:
        return self.query_one(StoreList).selected

    def _why_dimmed(self, action: str) -> str | None:
        """Why an action cannot be done with the store under the cursor."""
        if action not in ("copy_here", "confirm_store") or not self.is_mounted:
            return None
        candidate = self._selected
        if candidate is None:
            return "No store is known yet."
        if action == "confirm_store":
            return None if candidate.is_foreign else "Only the database of DATABASE_URL has to be confirmed."
        if self._library is None:
            return "No store is open to copy from."
        if candidate.is_current:
            return "These memories are in it already: choose another store."
        kind = backend_profile(candidate.config.backend)
        if kind is not None and kind.keeps_nothing:
            return "It keeps nothing."
        if candidate.config.read_only:
            return "It is only read, so nothing is copied into it."
        standing = self.query_one(StoreList).standing
        return dict(standing.cannot).get("write") if standing is not None else None

    def _paint(self) -> None:
        self.query_one("#title", Static).update(Content(title_words(self._standings)))
        self.query_one(StoreList).show(self._candidates, self._standings)

    def _paint_about(self) -> None:
        rows = self.query_one(StoreList)
        candidate = rows.selected
        told = self.query_one("#told", Static)
        told.update("" if candidate is None else about_lines(candidate, rows.standing, self.size.width - 2))
