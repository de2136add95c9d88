"""Recorded turns: what ZeroClaw sent with each message, compared with a recall made now."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Literal

from textual.app import ComposeResult
from textual.content import Content

from zeroclaw_tui.backends.lookup import count_matching, entries_with_key
from zeroclaw_tui.curation.turn_comparison import compare
from zeroclaw_tui.curation.turn_trace import Turn, keys_of_block
from zeroclaw_tui.curation.turns import follow, recorded
from zeroclaw_tui.memory.days import moment
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.errors import InspectorError, SearchInterrupted
from zeroclaw_tui.memory.query import EXCERPTS, MemoryFilter, Query, Sort, SortField
from zeroclaw_tui.memory.text import counted, display_text, first_names, mask_secrets
from zeroclaw_tui.memory.text_difference import DiffLine, diff_lines
from zeroclaw_tui.tui.actions import StoreRoom
from zeroclaw_tui.tui.commands import Command, common_commands, guarded, inform, start_work, warn
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
    from zeroclaw_tui.curation.turn_comparison import ComparedTurn
    from zeroclaw_tui.curation.turns import TurnLog
    from zeroclaw_tui.tui.rooms.why.pane import Tab
    from zeroclaw_tui.tui.view import Pace

COMMANDS = (
    Command("open", "enter", "why", "Explain why a memory was recalled or not", True, listed=False),
    Command("record", "W", "record", "Enable recording in config.toml", True,
            synonyms="trace observability log switch on config"),
    Command("explain", "x", "explain", "Explain why its first memory was injected", synonyms="why stages",
            shell="explain {key} --query {query}"),
    Command("what_if", "w", "what-if", "Try other settings", synonyms="weights threshold tune try",
            shell="recall {query} --set memory.vector_weight={number}"),
    Command("prompt", "P", "prompt", "The text that recall puts before it now", synonyms="injected context block",
            shell="prompt {query}"),
    Command("copy", "y", "copy", "Copy the block that was sent, or else the predicted one", synonyms="clipboard",
            shell="get {key}"),
    Command("other_pane", "tab,shift+tab", "pane", "Switch between list and detail"),
    Command("reload", "r", "again", "Reload and compare again", synonyms="refresh retry"),
    *common_commands(),
)  # fmt: skip
_COMPARED = frozenset({"open", "explain", "what_if", "prompt"})
"""The commands that need the comparison of the turn with a recall made now."""
MOST_TURNS = 500
"""How many turns are shown, the newest; `zeroclaw memory tail` prints all."""
_FOLLOWING, _COMPARING, _ASKING = "live-follow", "live-compare", "live-write"
_LONGEST, _LONGEST_FACT = 2000, 60
_MOST_NAMED = 6
_TODAY, _BEFORE = "%H:%M", "%b %d"
State = Literal["equal", "differs", "unknown", "waiting"]
_MARKS: dict[State, tuple[str, Look]] = {
    "equal": ("=", "good"),
    "differs": ("≠", "bad"),
    "unknown": ("?", "muted"),
    "waiting": ("·", "faint"),
}


@dataclass(frozen=True, slots=True)
class Shown:
    """A turn with what is known of it: the comparison, or why there is none; neither while that is being found out."""

    turn: Turn
    compared: ComparedTurn | None = None
    failure: str = ""
    written: tuple[str, ...] = ()
    """The keys of the memories made after it, the newest first, no more than are named."""
    written_count: int = 0

    @property
    def state(self) -> State:
        """Whether what was sent is what is predicted."""
        if self.compared is None:
            return "unknown" if self.failure else "waiting"
        if self.compared.equal is None:
            return "unknown"
        return "equal" if self.compared.equal else "differs"


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
        self._list = TableList[Shown](_columns(clock()), key=lambda shown: shown.turn.id, id="list")
        self._detail = AboutPane()
        self._turns: dict[str, Shown] = {}
        self._broken = 0
        self._why_nothing = ""
        self._problems: tuple[str, ...] = ()
        self._is_read = False
        self._is_comparing = False

    def compose(self) -> ComposeResult:
        yield TitleLine()
        yield Banner(id="failure")
        yield Banner(id="unsent")
        yield Empty(id="nothing")
        with ListAndDetail("Turns", "Turn"):
            yield self._list
            yield self._detail
        yield KeyLine()

    def on_mount(self) -> None:
        self._list.say_empty("Reading recorded turns …")
        self._paint()
        self.watch(self._list, "scroll_y", self._compare, init=False)
        self._start()

    def on_resize(self) -> None:
        self._compare()

    def on_table_list_row_highlighted(self) -> None:
        self._show_detail()
        self._compare()
        self.refresh_bindings()

    def on_table_list_row_opened(self) -> None:
        self.action_open()

    def action_open(self) -> None:
        self._ask_about(partial(self._explain, ""))

    def action_explain(self) -> None:
        self._ask_about(partial(self._explain, "stages"))

    def action_what_if(self) -> None:
        self._ask_about(partial(self._explain, "what_if"))

    def action_prompt(self) -> None:
        self._ask_about(partial(self._explain, "prompt"))

    def action_record(self) -> None:
        """Show what changes in config.toml so that ZeroClaw records what it sends, and save it on a yes."""
        self._ask(self._record)

    async def action_copy(self) -> None:
        """Copy the block that was sent, else what is predicted."""
        shown = self._list.selected
        compared = None if shown is None else shown.compared
        text = shown.turn.sent if shown is not None else None
        text = text or (compared.predicted if compared is not None else None)
        if text:
            inform(self, await copy_text(self.app, text))
        else:
            warn(self, "There is no block to copy.")

    def action_other_pane(self) -> None:
        self.set_focus(self._list if self.focused is self._detail else self._detail)

    def action_reload(self) -> None:
        self.query_one("#failure", Banner).hide()
        self._turns.clear()
        self._is_read = False
        self._start()

    def action_step_out(self) -> None:
        """From the detail to the list, and then back."""
        if self.focused is self._detail:
            self.set_focus(self._list)
        else:
            self.action_leave()

    def why_dimmed(self, action: str) -> str | None:
        """Why an action cannot be done with the turn under the cursor."""
        if action == "record":
            return self.library.read_only_because if self.library.config.read_only else None
        if action != "copy" and action not in _COMPARED:
            return None
        shown = self._list.selected
        if shown is None:
            return "There is no turn under the cursor."
        if action == "copy":
            return None
        if not shown.turn.query.strip():
            return "The message of this turn is not recorded, so there is nothing to explain."
        return None if shown.compared is not None else shown.failure or "This turn is still being compared."

    def _ask_about(self, work: Callable[[Shown], Awaitable[None]]) -> None:
        shown = self._list.selected
        if shown is not None:
            self._ask(partial(work, shown))

    def _ask(self, work: Callable[[], Awaitable[None]]) -> None:
        start_work(self, _ASKING, guarded, self, work)

    def _start(self) -> None:
        start_work(self, _FOLLOWING, self._follow)

    async def _follow(self) -> None:
        try:
            if self.pace.poll is None:
                self._take(await recorded(self.library, most=MOST_TURNS))
                return
            async for log in follow(self.library, most=MOST_TURNS):
                self._take(log)
        except InspectorError as error:
            self.query_one("#failure", Banner).fail(error)

    def _take(self, log: TurnLog) -> None:
        """Show what is recorded, and later what is new."""
        self._broken = log.broken_lines if not self._is_read else self._broken + log.broken_lines
        self._problems = log.problems or (() if not self._is_read else self._problems)
        self._why_nothing = log.why_nothing or self._why_nothing
        self._is_read = True
        self._turns |= {turn.id: Shown(turn) for turn in log.turns}
        if log.turns:
            newest = sorted(self._turns.values(), key=lambda shown: shown.turn.at)[-MOST_TURNS:]
            self._turns = {shown.turn.id: shown for shown in newest}
        self._show_turns()

    def _show_turns(self) -> None:
        rows = list(self._turns.values())
        listed = self._list
        # With the cursor at the end the list follows new turns; further up it stays.
        is_at_end = listed.cursor >= len(listed.rows) - 1
        listed.say_empty("No turn is recorded yet." if self._is_read else "Reading recorded turns …")
        listed.set_rows(rows, cursor=max(0, len(rows) - 1) if is_at_end else None)
        nothing = self._is_read and not self._turns
        self.set_class(nothing, "-empty")
        if nothing:
            self._say_nothing()
        elif self.focused is None:
            self.set_focus(listed)
        self._paint()
        self._compare()
        self.refresh_bindings()

    def _say_nothing(self) -> None:
        keys = [("W", "enable recording, after a diff of config.toml"), ("r", "reload"), ("esc", "back")]
        sentence = (
            "ZeroClaw can record each turn: the message, and the memories it put before it. "
            "New turns then appear here, compared with a recall made now."
        )
        why = self._why_nothing or "No turn is recorded."
        self.query_one(Empty).show(why, sentence, keys)

    def _compare(self) -> None:
        """Compare the turns that are visible: a turn that is not visible costs no recall."""
        if not self._is_comparing and self._next() is not None:
            self._is_comparing = True
            start_work(self, _COMPARING, self._compare_all)

    def _next(self) -> Shown | None:
        """The turn to be compared next: the one under the cursor, then the newest visible one."""
        listed = self._list
        top = listed.scroll_offset.y
        in_sight = listed.rows[top : top + listed.lines_in_sight]
        wanted = [*([listed.selected] if listed.selected is not None else []), *reversed(in_sight)]
        return next((shown for shown in wanted if shown.state == "waiting"), None)

    async def _compare_all(self) -> None:
        try:
            while (shown := self._next()) is not None:
                try:
                    known = await self._known(shown)
                except SearchInterrupted:
                    # An interruption meant for an older question can hit a newer one on the same connection.
                    await asyncio.sleep(0)
                    continue
                except InspectorError as error:
                    known = replace(shown, failure=str(error))
                self._put(shown, known)
        finally:
            self._is_comparing = False

    async def _known(self, shown: Shown) -> Shown:
        """The turn compared, with what was stored after it."""
        compared = await compare(self.library, shown.turn)
        memory, since = self.library.memory, MemoryFilter(newer_than=shown.turn.at)
        written = await memory.rows(Query(EXCERPTS, since, Sort(SortField.AGE), limit=_MOST_NAMED))
        count = await count_matching(memory, since)
        return replace(shown, compared=compared, written=tuple(one.key for one in written), written_count=count)

    def _put(self, before: Shown, known: Shown) -> None:
        """Show the comparison of a turn, unless the turns were loaded again in the meantime."""
        if self._turns.get(known.turn.id) is not before:
            return
        self._turns[known.turn.id] = known
        listed = self._list
        is_selected = listed.selected is before
        listed.set_rows(list(self._turns.values()), cursor=listed.cursor)
        self._paint()
        if is_selected:
            self.refresh_bindings()

    def _paint(self) -> None:
        turns = list(self._turns.values())
        head = "Live" if not self._is_read else counted(len(turns), "turn") if turns else "Nothing is recorded"
        states = Counter(shown.state for shown in turns)
        if turns and states["waiting"]:
            head = f"{head}, {len(turns) - states['waiting']} compared"
        names: dict[State, str] = {
            "equal": "as predicted", "differs": "not as predicted", "unknown": "not comparable",
        }  # fmt: skip
        facts = [f"{states[state]} {name}" for state, name in names.items() if states[state]]
        facts += [f"{counted(self._broken, 'line')} could not be read"] if self._broken else []
        facts += ["following" if self.pace.poll is not None else "not followed"] if self._is_read else []
        self.query_one(TitleLine).say(head, *facts)
        unsent = self.query_one("#unsent", Banner)
        if self._problems:
            unsent.show("quiet", shown_words(self._problems[0]), "r", "tries again", "reload")
        elif turns and all(shown.turn.sent is None for shown in turns):
            sentence = "What was sent is not recorded, so only a recall made now is shown."
            unsent.show("quiet", sentence, "W", "enables recording", "record")
        else:
            unsent.hide()

    def _show_detail(self) -> None:
        shown = self._list.selected
        if shown is None:
            self._detail.show(Content(""))
        else:
            self._detail.show(turn_content(shown, self.clock()), block_lines(shown))

    async def _explain(self, tab: Tab | Literal[""], shown: Shown) -> None:
        from zeroclaw_tui.curation.profile_choice import ProfileChoice
        from zeroclaw_tui.tui.rooms.why import WhyRoom

        compared = shown.compared
        if compared is None:
            return
        entry = await self._memory_of(compared)
        trial, turn = compared.trial, shown.turn
        library = self.library
        if trial.profile != library.profile.profile:
            library = replace(library, profile=ProfileChoice(trial.profile, "of that turn"))
        wanted: Tab = tab or ("prompt" if entry is None else "stages")
        as_of = as_of_text(shown, self.clock())
        room = WhyRoom(library, wanted, entry, trial.request, lambda: turn.moment, self.pace, as_of=as_of)
        self.app.push_screen(room, self._after_room)

    def _after_room(self, has_changed: bool | None) -> None:
        if has_changed:
            self.has_changed = True
            self.action_reload()

    async def _memory_of(self, compared: ComparedTurn) -> MemoryEntry | None:
        """The memory that Why opens with: one that only one side has, or else the first that was sent."""
        for key in (*differing_keys(compared), *keys_of_block(compared.turn.sent or compared.predicted or "")):
            found = await entries_with_key(self.library.memory, key)
            if found:
                return found[0]
        return None

    async def _record(self) -> None:
        from zeroclaw_tui.curation.setting_change import save_change, way_back
        from zeroclaw_tui.curation.turn_recording import recording_change
        from zeroclaw_tui.tui.dialogs import review_question

        version = self.library.profile.profile.version
        change = await asyncio.to_thread(recording_change, self.library.config, version)
        if change.is_empty:
            inform(self, "config.toml already has these settings. Restart ZeroClaw to record turns.")
            return
        if not await self.app.push_screen_wait(review_question(change)):
            return
        await asyncio.to_thread(save_change, self.library.config, change, self.clock())
        self.has_changed = True
        undo = way_back(self.library.config)
        inform(self, f"Saved config.toml; {undo} Restart ZeroClaw to record its turns.")
        self.action_reload()


def _columns(now: datetime) -> Sequence[Column[Shown]]:
    return (
        Column("", lambda shown: Content.styled(*_MARKS[shown.state]), width=1),
        Column("time", lambda shown: short_time(shown.turn.at, now), width=6, right=True, look="muted"),
        Column("agent", lambda shown: shown.turn.agent or "", look="muted"),
        Column("session", lambda shown: shown.turn.session or shown.turn.channel or "", look="muted"),
        Column("message", lambda shown: shown.turn.query[:_LONGEST] or "(not recorded)", flex=True),
    )


def short_time(at: str, now: datetime) -> str:
    """Hour and minute of today, month and day of before."""
    then = moment(at)
    if then is None:
        return "?"
    then = then.astimezone(now.tzinfo)
    return then.strftime(_TODAY if then.date() == now.date() else _BEFORE)


def turn_content(shown: Shown, now: datetime) -> Content:
    """The message, where it came from, and how what was sent compares with a recall made now."""
    turn = shown.turn
    message = display_text(mask_secrets(turn.query[:_LONGEST])).strip() or "(The message is not recorded.)"
    parts = [local_time(turn.at, now)]
    parts += [shown_line(part, _LONGEST_FACT) for part in (turn.agent, turn.session, turn.channel) if part]
    parts += [f"from {shown_line(turn.sender, _LONGEST_FACT)}"] if turn.sender else []
    parts += [f"ZeroClaw {shown_line(turn.version, _LONGEST_FACT)}"] if turn.version else []
    lines = [Content.styled(message, STRONG), Content.styled(" · ".join(parts), MUTED)]
    lines += [Content(""), *_verdict(shown)]
    since = since_text(shown)
    if since:
        lines.append(Content.styled(since, MUTED))
    return Content("\n").join(lines)


def _verdict(shown: Shown) -> list[Content]:
    turn, compared = shown.turn, shown.compared
    if compared is None:
        failure = display_text(mask_secrets(shown.failure))
        return [Content.styled(f"? {failure}" if shown.failure else "· Comparing …", MUTED)]
    colour = {"equal": "$success", "differs": "$error"}.get(shown.state, MUTED)
    lines = [Content.assemble((f"{_MARKS[shown.state][0]} ", colour), shown_line(compared.sentence()))]
    is_shown_as_difference = turn.sent is not None and compared.predicted not in (None, turn.sent)
    return [*lines, _LEGEND] if is_shown_as_difference else lines


_LEGEND = Content.assemble(("+ ", "$success"), ("sent   ", MUTED), ("- ", "$error"), ("predicted", MUTED))


def block_lines(shown: Shown) -> list[DiffLine]:
    """Lines only sent as +, lines only predicted as -, and common lines; with one block only its lines."""
    sent = shown.turn.sent
    predicted = sent if shown.compared is None else shown.compared.predicted
    old, new = (_text(predicted if block is None else block) for block in (predicted, sent))
    return diff_lines(old, new, whole=True)


def _text(block: str | None) -> str:
    return block.rstrip("\n") if block and block.strip() else ""


def differing_keys(compared: ComparedTurn) -> list[str]:
    """The keys that only one of the blocks has, those that were predicted first."""
    sent, wanted = keys_of_block(compared.turn.sent or ""), keys_of_block(compared.predicted or "")
    if compared.turn.sent is None:
        return []
    return [key for key in wanted if key not in sent] + [key for key in sent if key not in wanted]


def since_text(shown: Shown) -> str:
    """What was stored, edited or deleted after a turn, in a sentence; empty where nothing was."""
    parts = []
    if shown.written_count:
        names = first_names(shown.written, shown.written_count, most=_MOST_NAMED, longest=24)
        parts.append(f"{shown.written_count:,} stored ({names})")
    if shown.compared is not None and shown.compared.changed_since:
        parts.append(f"edited or deleted: {_changed_text(shown.compared)}")
    return f"Since then: {', '.join(parts)}." if parts else ""


def _changed_text(compared: ComparedTurn) -> str:
    return first_names(compared.changed_since, most=_MOST_NAMED, longest=24)


def as_of_text(shown: Shown, now: datetime) -> str:
    """The moment of the turn, and which memories are not as they were then."""
    parts = [f"As of {local_time(shown.turn.at, now)}"]
    if shown.written_count:
        parts.append(f"{counted(shown.written_count)} stored since then, not included")
    if shown.compared is not None and shown.compared.changed_since:
        parts.append(f"edited or deleted since: {_changed_text(shown.compared)}")
    return " · ".join(parts) if len(parts) > 1 else f"{parts[0]}: no memory was stored since"
