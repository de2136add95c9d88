"""Recorded turns: what ZeroClaw sent with each message, compared with a recall made now."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Literal

from textual.app import ComposeResult
from textual.content import Content

from zeroclaw_tui.backends.lookup import count_matching, entries_with_key
from zeroclaw_tui.curation.profile_choice import ProfileChoice
from zeroclaw_tui.curation.turn_comparison import ComparedTurn, compare
from zeroclaw_tui.curation.turn_trace import Turn, keys_of_block
from zeroclaw_tui.curation.turns import TurnLog, follow, recorded
from zeroclaw_tui.memory.days import moment
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.errors import InspectorError, SearchInterrupted
from zeroclaw_tui.memory.query import EXCERPTS, MemoryFilter, Query, Sort, SortField
from zeroclaw_tui.memory.text import counted, display_text, first_names, mask_secrets
from zeroclaw_tui.memory.text_difference import DiffLine, diff_lines
from zeroclaw_tui.tui.actions import StoreRoom
from zeroclaw_tui.tui.commands import Command, common_commands, guarded, inform, start_work, warn
from zeroclaw_tui.tui.dialogs import review_question
from zeroclaw_tui.tui.external import copy_text
from zeroclaw_tui.tui.format import shown_line, shown_words
from zeroclaw_tui.tui.rooms.reader import local_time
from zeroclaw_tui.tui.themes import MUTED, STRONG
from zeroclaw_tui.tui.widgets.detail import AboutPane, ListAndDetail
from zeroclaw_tui.tui.widgets.header import Empty
from zeroclaw_tui.tui.widgets.lines import Banner, KeyLine, TitleLine
from zeroclaw_tui.tui.widgets.table_list import Column, Look, TableList

if TYPE_CHECKING:
    from zeroclaw_tui.curation.library import Library
    from zeroclaw_tui.tui.rooms.why.pane import Tab
    from zeroclaw_tui.tui.view import Pace

COMMANDS = (
    Command("open", "enter", "why", "Explain why a memory was recalled or not", True,
            synonyms="explain stages what-if prompt"),
    Command("record", "W", "record", "Enable recording in config.toml", True,
            synonyms="trace observability log switch on config"),
    Command("copy", "y", "copy", "Copy the block that was sent, or else the predicted one", synonyms="clipboard",
            shell="get {key}"),
    Command("reload", "r", "again", "Reload and compare again", synonyms="refresh retry"),
    *common_commands(),
)  # fmt: skip
_MAX_TURNS = 500
"""How many turns are shown, the newest; `zeroclaw memory tail` prints all."""
_WRITING = "live-write"
_MAX_MESSAGE, _MAX_FACT = 2000, 60
_MAX_NAMED = 6
State = Literal["equal", "differs", "unknown", "waiting"]
_MARKS: dict[State, tuple[str, Look]] = {
    "equal": ("=", "good"),
    "differs": ("≠", "bad"),
    "unknown": ("?", "muted"),
    "waiting": ("·", "faint"),
}
_NAMES: dict[State, str] = {"equal": "as predicted", "differs": "not as predicted", "unknown": "not comparable"}
_LEGEND = Content.assemble(("+ ", "$success"), ("sent   ", MUTED), ("- ", "$error"), ("predicted", MUTED))


@dataclass(frozen=True, slots=True)
class Shown:
    """A turn with what is known of it: the comparison, or why there is none; neither while it is being compared.

    `written` has the keys of the newest memories made after it, `written_count` how many there are.
    """

    turn: Turn
    compared: ComparedTurn | None = None
    failure: str = ""
    written: tuple[str, ...] = ()
    written_count: int = 0

    @property
    def state(self) -> State:
        """Whether what was sent is what is predicted."""
        if self.compared is None:
            return "unknown" if self.failure else "waiting"
        if self.compared.equal is None:
            return "unknown"
        return "equal" if self.compared.equal else "differs"

    @property
    def block(self) -> str:
        """The block that was sent, or else the predicted one."""
        return self.turn.sent or (self.compared.predicted if self.compared is not None else None) or ""


class LiveRoom(StoreRoom):
    """The turns that are recorded, the newest at the end, followed while the cursor is there.

    Gives True when memories or settings changed from here.
    """

    CSS = """
    LiveRoom {
        background: $background;
    }
    LiveRoom AboutPane {
        height: 62%;
    }
    LiveRoom.-wide AboutPane {
        width: 44%;
        height: 1fr;
    }
    LiveRoom #nothing, LiveRoom.-empty ListAndDetail {
        display: none;
    }
    LiveRoom.-empty #nothing {
        display: block;
    }
    """
    AUTO_FOCUS = "#list"
    PLACE = "live"
    KEYS = COMMANDS
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (140, "-wide")]  # noqa: RUF012

    def __init__(self, library: Library, clock: Callable[[], datetime], pace: Pace) -> None:
        super().__init__(library, clock, pace)
        self._list = TableList[Shown](
            _columns(clock()), empty="Reading recorded turns …", key=lambda shown: shown.turn.id, id="list"
        )
        self._detail = AboutPane()
        self._turns: dict[str, Shown] = {}
        self._log = TurnLog()
        """What was read of the trace, without its turns."""
        self._is_comparing = False

    def compose(self) -> ComposeResult:
        yield TitleLine("Live")
        yield Banner(id="failure")
        yield Banner(id="unsent")
        yield Empty(id="nothing")
        with ListAndDetail("Turns", "Turn"):
            yield self._list
            yield self._detail
        yield KeyLine()

    def on_mount(self) -> None:
        self.watch(self._list, "scroll_y", self._compare, init=False)
        self.action_reload()

    def on_resize(self) -> None:
        self._compare()

    def on_table_list_row_highlighted(self) -> None:
        shown = self._list.selected
        if shown is None:
            self._detail.show(Content(""))
        else:
            self._detail.show(_turn_content(shown, self.clock()), _block_lines(shown))
        self._compare()
        self.refresh_bindings()

    def on_table_list_row_opened(self) -> None:
        self.action_open()

    def why_dimmed(self, action: str) -> str | None:
        """Why an action cannot be done with the turn under the cursor."""
        if action == "record":
            return self.library.read_only_because if self.library.config.read_only else None
        shown = self._list.selected
        if shown is None and action in ("open", "copy"):
            return "There is no turn under the cursor."
        if shown is None or action != "open":
            return None
        if not shown.turn.query.strip():
            return "The message of this turn is not recorded, so there is nothing to explain."
        return None if shown.compared is not None else shown.failure or "This turn is still being compared."

    def action_open(self) -> None:
        """Open Why as of the turn."""
        if self._list.selected is not None:
            start_work(self, _WRITING, guarded, self, self._open_why, self._list.selected)

    def action_record(self) -> None:
        """Show what changes in config.toml so that ZeroClaw records what it sends, and save it on a yes."""
        start_work(self, _WRITING, guarded, self, self._record)

    async def action_copy(self) -> None:
        """Copy the block that was sent, else what is predicted."""
        shown = self._list.selected
        if shown is not None and shown.block:
            inform(self, await copy_text(self.app, shown.block))
        else:
            warn(self, "There is no block to copy.")

    def action_reload(self) -> None:
        self.query_one("#failure", Banner).hide()
        self._turns, self._log = {}, TurnLog()
        start_work(self, "live-follow", self._follow)

    def action_step_out(self) -> None:
        """From the detail to the list, and then back."""
        if self.focused is self._detail:
            self.set_focus(self._list)
        else:
            self.action_leave()

    async def _follow(self) -> None:
        try:
            if self.pace.poll is None:
                self._show_log(await recorded(self.library, most=_MAX_TURNS))
                return
            async for log in follow(self.library, most=_MAX_TURNS):
                self._show_log(log)
        except InspectorError as error:
            self.query_one("#failure", Banner).fail(error)

    def _show_log(self, log: TurnLog) -> None:
        """Show what is recorded, and later what is new."""
        self._log = replace(
            log,
            turns=(),
            broken_lines=self._log.broken_lines + log.broken_lines,
            why_nothing=log.why_nothing or self._log.why_nothing,
            problems=log.problems or self._log.problems,
        )
        every = {**self._turns, **{turn.id: Shown(turn) for turn in log.turns}}
        newest = sorted(every.values(), key=lambda shown: shown.turn.at)[-_MAX_TURNS:]
        self._turns = {shown.turn.id: shown for shown in newest}
        # With the cursor at the end the list follows new turns; further up it stays.
        is_at_end = self._list.cursor >= len(self._list.rows) - 1
        self._list.set_rows(newest, cursor=max(0, len(newest) - 1) if is_at_end else None)
        self.set_class(not newest, "-empty")
        if not newest:
            keys = [("W", "enable recording, after a diff of config.toml"), ("r", "reload"), ("esc", "back")]
            sentence = (
                "ZeroClaw can record each turn: the message, and the memories it put before it. "
                "New turns then appear here, compared with a recall made now."
            )
            self.query_one(Empty).show(self._log.why_nothing or "No turn is recorded.", sentence, keys)
        elif self.focused is None:
            self.set_focus(self._list)
        self._paint()
        self._compare()
        self.refresh_bindings()

    def _compare(self) -> None:
        """Compare the turns that are visible: a turn that is not visible costs no recall."""
        if not self._is_comparing and self._next() is not None:
            self._is_comparing = True
            start_work(self, "live-compare", self._compare_all)

    def _next(self) -> Shown | None:
        """The turn to be compared next: the one under the cursor, then the newest visible one."""
        top = self._list.scroll_offset.y
        visible = self._list.rows[top : top + self._list.lines_in_sight]
        wanted = (self._list.selected, *reversed(visible))
        return next((shown for shown in wanted if shown is not None and shown.state == "waiting"), None)

    async def _compare_all(self) -> None:
        try:
            while (shown := self._next()) is not None:
                try:
                    known = await self._compared(shown)
                except SearchInterrupted:
                    # An interruption meant for an older question can hit a newer one on the same connection.
                    await asyncio.sleep(0)
                    continue
                except InspectorError as error:
                    known = replace(shown, failure=str(error))
                # The turns may have been loaded again in the meantime.
                if self._turns.get(shown.turn.id) is shown:
                    self._turns[shown.turn.id] = known
                    self._list.set_rows(list(self._turns.values()), cursor=self._list.cursor)
                    self._paint()
        finally:
            self._is_comparing = False

    async def _compared(self, shown: Shown) -> Shown:
        """The turn compared, with what was stored after it."""
        compared = await compare(self.library, shown.turn)
        memory, since = self.library.memory, MemoryFilter(newer_than=shown.turn.at)
        written = await memory.rows(Query(EXCERPTS, since, Sort(SortField.AGE), limit=_MAX_NAMED))
        count = await count_matching(memory, since)
        return replace(shown, compared=compared, written=tuple(one.key for one in written), written_count=count)

    def _paint(self) -> None:
        turns = list(self._turns.values())
        states = Counter(shown.state for shown in turns)
        head = counted(len(turns), "turn") if turns else "Nothing is recorded"
        if states["waiting"]:
            head = f"{head}, {len(turns) - states['waiting']} compared"
        facts = [f"{states[state]} {name}" for state, name in _NAMES.items() if states[state]]
        broken = self._log.broken_lines
        facts += [f"{counted(broken, 'line')} could not be read"] if broken else []
        facts.append("following" if self.pace.poll is not None else "not followed")
        self.query_one(TitleLine).say(head, *facts)
        unsent = self.query_one("#unsent", Banner)
        if self._log.problems:
            unsent.show("quiet", shown_words(self._log.problems[0]), "r", "tries again", "reload")
        elif turns and all(shown.turn.sent is None for shown in turns):
            sentence = "What was sent is not recorded, so only a recall made now is shown."
            unsent.show("quiet", sentence, "W", "enables recording", "record")
        else:
            unsent.hide()

    async def _open_why(self, shown: Shown) -> None:
        """Open Why as of the turn, with a memory that only one side has, or else the first that was sent."""
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
        as_of = f"As of {local_time(turn.at, self.clock())}"
        if shown.written_count:
            as_of += f" · {counted(shown.written_count)} stored since then, not included"
        tab: Tab = "prompt" if entry is None else "stages"
        room = WhyRoom(library, tab, entry, compared.trial.request, lambda: turn.moment, self.pace, as_of=as_of)
        self.app.push_screen(room, self._after_why)

    def _after_why(self, has_changed: bool | None) -> None:
        if has_changed:
            self.has_changed = True
            self.action_reload()

    async def _record(self) -> None:
        from zeroclaw_tui.curation.setting_change import save_change, way_back
        from zeroclaw_tui.curation.turn_recording import recording_change

        config = self.library.config
        change = await asyncio.to_thread(recording_change, config, self.library.profile.profile.version)
        if change.is_empty:
            inform(self, "config.toml already has these settings. Restart ZeroClaw to record turns.")
        elif await self.app.push_screen_wait(review_question(change)):
            await asyncio.to_thread(save_change, config, change, self.clock())
            self.has_changed = True
            inform(self, f"Saved config.toml; {way_back(config)} Restart ZeroClaw to record its turns.")
            self.action_reload()


def _columns(now: datetime) -> Sequence[Column[Shown]]:
    return (
        Column("", lambda shown: Content.styled(*_MARKS[shown.state]), width=1),
        Column("time", lambda shown: _short_time(shown.turn.at, now), width=6, right=True, look="muted"),
        Column("agent", lambda shown: shown.turn.agent or "", look="muted"),
        Column("session", lambda shown: shown.turn.session or shown.turn.channel or "", look="muted"),
        Column("message", lambda shown: shown.turn.query[:_MAX_MESSAGE] or "(not recorded)", flex=True),
    )


def _short_time(at: str, now: datetime) -> str:
    """Hour and minute of today, month and day of before."""
    then = moment(at)
    if then is None:
        return "?"
    then = then.astimezone(now.tzinfo)
    return then.strftime("%H:%M" if then.date() == now.date() else "%b %d")


def _turn_content(shown: Shown, now: datetime) -> Content:
    """The message, where it came from, how it compares with a recall made now, and what was changed since."""
    turn, compared = shown.turn, shown.compared
    message = display_text(mask_secrets(turn.query[:_MAX_MESSAGE])).strip() or "(The message is not recorded.)"
    sender, version = f"from {turn.sender}" if turn.sender else "", f"ZeroClaw {turn.version}" if turn.version else ""
    facts = [shown_line(part, _MAX_FACT) for part in (turn.agent, turn.session, turn.channel, sender, version) if part]
    parts: list[str | tuple[str, str]] = [
        (message, STRONG),
        (f"\n{' · '.join([local_time(turn.at, now), *facts])}\n\n", MUTED),
    ]
    sign = _MARKS[shown.state][0]
    if compared is None:
        parts.append((f"{sign} {display_text(mask_secrets(shown.failure)) or 'Comparing …'}", MUTED))
        return Content.assemble(*parts)
    colour = {"equal": "$success", "differs": "$error"}.get(shown.state, MUTED)
    parts += [(f"{sign} ", colour), shown_line(compared.sentence())]
    since = []
    if shown.written_count:
        names = first_names(shown.written, shown.written_count, most=_MAX_NAMED, longest=24)
        since.append(f"{shown.written_count:,} stored ({names})")
    if compared.changed_since:
        since.append(f"edited or deleted: {first_names(compared.changed_since, most=_MAX_NAMED, longest=24)}")
    content = Content.assemble(*parts)
    if turn.sent is not None and compared.predicted not in (None, turn.sent):
        content += Content("\n") + _LEGEND
    return content + Content.styled(f"\nSince then: {', '.join(since)}.", MUTED) if since else content


def _block_lines(shown: Shown) -> list[DiffLine]:
    """Lines only sent as +, lines only predicted as -, and common lines; with one block only its lines."""
    sent = shown.turn.sent
    predicted = sent if shown.compared is None else shown.compared.predicted
    old, new = (predicted if predicted is not None else sent), (sent if sent is not None else predicted)
    return diff_lines((old or "").rstrip(), (new or "").rstrip(), whole=True)
