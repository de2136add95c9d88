"""Recorded turns: the memories that ZeroClaw sent with each message, compared with a recall made now."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

from textual.content import Content

from zeroclaw_tui.backends.lookup import entries_with_key
from zeroclaw_tui.curation.library import Library, ProfileChoice
from zeroclaw_tui.curation.turns import ComparedTurn, Turn, TurnLog, compare, follow, keys_of_block, read_turns
from zeroclaw_tui.memory.days import moment
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.errors import InspectorError, SearchInterrupted
from zeroclaw_tui.memory.text import counted, display_text, mask_secrets
from zeroclaw_tui.memory.text_difference import DiffLine, diff_lines
from zeroclaw_tui.tui.commands import Command, common_commands, inform, start_work, warn
from zeroclaw_tui.tui.external import copy_text
from zeroclaw_tui.tui.format import local_time, safe_line
from zeroclaw_tui.tui.rooms.listing import Listing
from zeroclaw_tui.tui.rooms.why.answers import Tab
from zeroclaw_tui.tui.store_room import StoreRoom
from zeroclaw_tui.tui.themes import LOOKS, MUTED, STRONG, Look
from zeroclaw_tui.tui.view import Pace
from zeroclaw_tui.tui.widgets.detail import with_difference
from zeroclaw_tui.tui.widgets.lines import Banner, TitleLine
from zeroclaw_tui.tui.widgets.table_list import Column, TableList

_MAX_TURNS = 500
"""The number of turns to show, the newest; `zeroclaw memory tail` prints all."""
_MAX_MESSAGE, _MAX_FACT = 2000, 60
State = Literal["equal", "differs", "unknown", "waiting"]
_MARKS: dict[State, tuple[str, Look]] = {
    "equal": ("=", "good"), "differs": ("≠", "bad"), "unknown": ("?", "muted"), "waiting": ("·", "faint"),
}  # fmt: skip
_NAMES: dict[State, str] = {"equal": "as predicted", "differs": "not as predicted"}


@dataclass(frozen=True, slots=True)
class ListedTurn:
    """A turn with its comparison, or the reason why there is none; neither while it is being compared."""

    turn: Turn
    compared: ComparedTurn | None = None
    failure: str = ""

    @property
    def state(self) -> State:
        """Whether the sent block is the predicted one."""
        if self.compared is None:
            return "unknown" if self.failure else "waiting"
        if self.compared.equal is None:
            return "unknown"
        return "equal" if self.compared.equal else "differs"

    @property
    def block(self) -> str:
        """The sent block, else the predicted one."""
        return self.turn.sent or (self.compared.predicted if self.compared is not None else None) or ""


class LiveRoom(Listing, StoreRoom):
    """The recorded turns, the newest at the end; the list follows new turns while the cursor is at the end.

    Its result is True if something was changed in Why, which it opens.
    """

    CSS = """
    LiveRoom { background: $background; }
    LiveRoom ReadingPane { height: 62%; }
    """
    AUTO_FOCUS = "#list"
    PLACE = "live"
    KEYS = (
        Command("open", "enter", "why", "Explain why a memory was recalled or not", True,
                synonyms="explain stages what-if prompt"),
        Command("copy", "y", "copy", "Copy the block that was sent, or else the predicted one", synonyms="clipboard",
                shell="get {key}"),
        Command("reload", "r", "again", "Reload and compare again", synonyms="refresh retry"),
        *common_commands(),
    )  # fmt: skip
    TITLES = ("Turns", "Turn")
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (140, "-wide")]  # noqa: RUF012

    def __init__(self, library: Library, clock: Callable[[], datetime], pace: Pace) -> None:
        super().__init__(library, clock, pace)
        self.table = TableList[ListedTurn](
            _columns(clock()), empty="Reading recorded turns …", key=lambda shown: shown.turn.id, id="list"
        )
        self._turns: dict[str, ListedTurn] = {}
        self._broken_lines = 0
        self._problem = ""
        self._is_comparing = False

    async def about(self, shown: ListedTurn) -> Content:
        """Compare the turn under the cursor first, and show it with the difference."""
        if not self._is_comparing and self._next() is not None:
            self._is_comparing = True
            start_work(self, "live-compare", self._compare_all)
        return with_difference(_turn_content(shown, self.clock()), _block_lines(shown))

    def status(self) -> Sequence[str]:
        """What could not be read."""
        return (self._problem,)

    def on_table_list_row_opened(self) -> None:
        self.action_open()

    def why_dimmed(self, action: str) -> str | None:
        """Say why an action is not available for the turn under the cursor."""
        shown = self.table.selected
        if shown is None and action in ("open", "copy"):
            return "There is no turn under the cursor."
        if shown is None or action != "open":
            return None
        if not shown.turn.query.strip():
            return "The message of this turn is not recorded, so there is nothing to explain."
        return None if shown.compared is not None else shown.failure or "This turn is still being compared."

    def action_open(self) -> None:
        """Open Why as of the turn."""
        if self.table.selected is not None:
            self.run_background("live-open", self._open_why, self.table.selected)

    async def action_copy(self) -> None:
        """Copy the sent block, else the predicted one."""
        shown = self.table.selected
        if shown is not None and shown.block:
            inform(self, await copy_text(self.app, shown.block))
        else:
            warn(self, "There is no block to copy.")

    def action_reload(self) -> None:
        self._turns, self._broken_lines = {}, 0
        self.reload()

    async def load(self) -> None:
        """Read the recorded turns, and follow new ones."""
        if self.pace.poll is None:
            self._show_log(await read_turns(self.library, most=_MAX_TURNS))
            return
        async for log in follow(self.library, most=_MAX_TURNS):
            self.query_one(Banner).hide()
            self._show_log(log)

    def _show_log(self, log: TurnLog) -> None:
        """Show the recorded turns, or add new ones."""
        self._broken_lines += log.broken_lines
        every = {**self._turns, **{turn.id: ListedTurn(turn) for turn in log.turns}}
        newest = sorted(every.values(), key=lambda shown: shown.turn.at)[-_MAX_TURNS:]
        self._turns = {shown.turn.id: shown for shown in newest}
        why_nothing = log.why_nothing or "No turn is recorded."
        self.table.empty = f"{why_nothing} New turns appear here, compared with a recall made now."
        # With the cursor at the end, the list follows new turns; otherwise the cursor stays.
        is_at_end = self.table.cursor >= len(self.table.rows) - 1
        self.table.set_rows(newest, cursor=max(0, len(newest) - 1) if is_at_end else None)
        self._problem = next(iter(log.problems), "")
        self._paint()

    def _next(self) -> ListedTurn | None:
        """The next turn to compare."""
        # Each comparison costs a recall.
        wanted = (self.table.selected, *reversed(self.table.rows[-20:]))
        return next((shown for shown in wanted if shown is not None and shown.state == "waiting"), None)

    async def _compare_all(self) -> None:
        """Compare the turn under the cursor, then the newest turns."""
        try:
            while (shown := self._next()) is not None:
                try:
                    known = replace(shown, compared=await compare(self.library, shown.turn))
                except SearchInterrupted:
                    # An interruption meant for an older query can hit a newer one on the same connection.
                    await asyncio.sleep(0)
                    continue
                except InspectorError as error:
                    known = replace(shown, failure=str(error))
                # The turns may have been reloaded since.
                if self._turns.get(shown.turn.id) is shown:
                    self._turns[shown.turn.id] = known
                    self.table.set_rows(list(self._turns.values()), cursor=self.table.cursor)
                    self._paint()
        finally:
            self._is_comparing = False

    def _paint(self) -> None:
        states = Counter(shown.state for shown in self._turns.values())
        facts = [f"{states[state]} {name}" for state, name in _NAMES.items() if states[state]]
        facts += [f"{counted(self._broken_lines, 'line')} could not be read"] if self._broken_lines else []
        self.query_one(TitleLine).say(counted(len(self._turns), "turn"), *facts)

    async def _open_why(self, shown: ListedTurn) -> None:
        """Open Why as of the turn, for a memory in only one of the blocks, else for the first sent memory."""
        from zeroclaw_tui.tui.rooms.why import WhyRoom

        compared, turn, library = shown.compared, shown.turn, self.library
        if compared is None:
            return
        sent, predicted = keys_of_block(turn.sent or ""), keys_of_block(compared.predicted or "")
        differing = [key for key in (*predicted, *sent) if (key in sent) != (key in predicted)]
        entry: MemoryEntry | None = None
        for key in (*(differing if turn.sent is not None else ()), *(sent or predicted)):
            if found := await entries_with_key(library.memory, key):
                entry = found[0]
                break
        if compared.trial.profile != library.profile.profile:
            library = replace(library, profile=ProfileChoice(compared.trial.profile, "of that turn"))
        as_of = f"As of {local_time(turn.at, self.clock())}, without what was stored since then"
        tab: Tab = "prompt" if entry is None else "explain"
        room = WhyRoom(library, tab, entry, compared.trial.request, lambda: turn.moment, self.pace, as_of=as_of)
        self.app.push_screen(room, self._after_why)

    def _after_why(self, has_changed: bool | None) -> None:
        if has_changed:
            self.has_changed = True
            self.action_reload()


def _columns(now: datetime) -> Sequence[Column[ListedTurn]]:
    return (
        Column("", lambda shown: Content.styled(*_MARKS[shown.state]), width=1),
        Column("time", lambda shown: _short_time(shown.turn.at, now), width=6, right=True, look="muted"),
        Column("agent", lambda shown: shown.turn.agent or "", look="muted"),
        Column("session", lambda shown: shown.turn.session or shown.turn.channel or "", look="muted"),
        Column("message", lambda shown: shown.turn.query[:_MAX_MESSAGE] or "(not recorded)", flex=True),
    )


def _short_time(at: str, now: datetime) -> str:
    """Hour and minute for today, month and day for earlier days."""
    then = moment(at)
    if then is None:
        return "?"
    then = then.astimezone(now.tzinfo)
    return then.strftime("%H:%M" if then.date() == now.date() else "%b %d")


def _turn_content(shown: ListedTurn, now: datetime) -> Content:
    """The message, its origin, and the comparison with a recall made now."""
    turn, compared = shown.turn, shown.compared
    message = display_text(mask_secrets(turn.query[:_MAX_MESSAGE])).strip() or "(The message is not recorded.)"
    facts = [safe_line(part, _MAX_FACT) for part in (turn.agent, turn.session, turn.channel, turn.version) if part]
    parts: list[str | tuple[str, str]] = [
        (message, STRONG),
        (f"\n{' · '.join([local_time(turn.at, now), *facts])}\n\n", MUTED),
    ]
    sign, look = _MARKS[shown.state]
    if compared is None:
        parts.append((f"{sign} {display_text(mask_secrets(shown.failure)) or 'Comparing …'}", MUTED))
        return Content.assemble(*parts)
    parts += [(f"{sign} ", LOOKS[look]), safe_line(compared.sentence())]
    if turn.sent is not None and compared.predicted not in (None, turn.sent):
        parts.append(("\n+ sent   - predicted", MUTED))
    return Content.assemble(*parts)


def _block_lines(shown: ListedTurn) -> list[DiffLine]:
    """The diff from the predicted to the sent block; the lines of one block if there is only one."""
    sent = shown.turn.sent
    predicted = sent if shown.compared is None else shown.compared.predicted
    old, new = (predicted if predicted is not None else sent), (sent if sent is not None else predicted)
    return diff_lines((old or "").rstrip(), (new or "").rstrip(), whole=True)
