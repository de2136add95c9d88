"""The turns that ZeroClaw recorded in its trace, listed and followed; whether it records them by this config, and the
change of config.toml that turns recording on.

The keys are in [observability]: `log_persistence` (none, rolling, rotating), `log_persistence_max_entries` and
`log_llm_request_payload` (off, redacted, full; from 0.8.2 on). ZeroClaw still reads `runtime_trace_mode` and
`runtime_trace_max_entries`, the names of the first two up to 0.7.5.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from threading import Event as Signal
from typing import TYPE_CHECKING, Any

from zeroclaw_tui.backends.tables import sanitised
from zeroclaw_tui.config.memory_config import MemoryConfig
from zeroclaw_tui.curation.setting_change import SettingChange, Value, planned_change
from zeroclaw_tui.curation.turn_trace import (
    MASKED,
    OLD_TRACE,
    BrokenLine,
    Call,
    InboundMessage,
    Line,
    ToolRecall,
    as_rfc3339,
    event_of,
    lines_from,
    lines_from_end,
    observability,
    scrubbed,
    trace_files,
)
from zeroclaw_tui.files.database import FileIdentity, file_identity
from zeroclaw_tui.memory.errors import InspectorError, Refused
from zeroclaw_tui.memory.recall import Rule
from zeroclaw_tui.scoring.profiles import Version, parse_version

if TYPE_CHECKING:
    from zeroclaw_tui.curation.library import Library

POLL_SECONDS = 0.25
"""Seconds between two looks at the files while they are followed."""

_INBOUND_BEFORE = timedelta(minutes=10)
"""So long before its request a message may come in."""
_LINE_END = 256
"""Bytes before the last known position, by which a trace that ZeroClaw wrote anew is recognised."""
_NO_MESSAGE = "Its first request is no longer in the trace."
_GROUPS = ("@g.us", "group:")
_SCHEDULED = ("[cron:", "[heartbeat task")


@dataclass(frozen=True, slots=True)
class Turn:
    """A message to an agent, for which ZeroClaw recalled. `id` is the trace's.

    `at` is RFC 3339 in UTC: when it was sent. `sent` is the literal block, masked as the trace masks; "" when it was
    traced without one, None when that is not known: `why_not_sent`. `session` is the first session scope that is known.
    `version` is ZeroClaw's where the line names it.
    """

    id: str
    at: str
    version: str | None
    agent: str | None
    session: str | None
    channel: str | None
    sender: str | None
    query: str
    sent: str | None
    why_not_sent: str = ""
    query_remark: str = ""
    """Why the query is not all of the message, in a sentence."""
    scopes: tuple[str | None, ...] | None = None
    """The session scopes of its recall in their order; None where they are not recorded."""
    is_group: bool = False
    rule: Rule = "cli"

    @property
    def moment(self) -> datetime:
        """When it was sent."""
        return datetime.fromisoformat(self.at)


@dataclass(frozen=True, slots=True)
class TurnLog:
    """Recorded turns, the oldest first. `broken_lines` of the files read could not be read."""

    turns: tuple[Turn, ...] = ()
    broken_lines: int = 0
    why_nothing: str | None = None
    """A sentence where no turn is recorded; None where there is one."""
    tool_recalls: tuple[ToolRecall, ...] = ()
    """What the agents looked up by themselves, the oldest first."""
    problems: tuple[str, ...] = ()
    """Sentences on files that could not be read."""
    has_old_calls: bool = False
    """Whether a part was recorded by ZeroClaw up to 0.7.5."""


async def recorded(
    library: Library, *, since: datetime | None = None, agent: str | None = None, most: int | None = None
) -> TurnLog:
    """The turns since a moment, of an agent, the newest `most`. Reads from the end of the files, in a thread.

    Raises BrokenConfig; a file that cannot be read is one of the `problems`.
    """
    return await _first(library, _Reader(library.config, since, agent, most))


async def follow(
    library: Library, *, since: datetime | None = None, agent: str | None = None, most: int | None = None
) -> AsyncIterator[TurnLog]:
    """First what is recorded, then each new turn within a second of its line, until the caller stops. No turn comes
    twice."""
    reader = _Reader(library.config, since, agent, most)
    yield await _first(library, reader)
    while True:
        await asyncio.sleep(POLL_SECONDS)
        news = await _in_thread(reader.read)
        if news.turns or news.tool_recalls or news.broken_lines or news.problems:
            yield news


async def _first(library: Library, reader: _Reader) -> TurnLog:
    log = await _in_thread(reader.read)
    if log.turns:
        return log
    if log.has_old_calls:
        return replace(log, why_nothing=OLD_TRACE)
    version = library.profile.profile.version
    return replace(log, why_nothing=await asyncio.to_thread(_why_nothing_recorded, library.config, version))


async def _in_thread(read: Callable[[Callable[[], bool]], TurnLog]) -> TurnLog:
    """Read in a thread that ends early when nobody waits for it any more."""
    stopped = Signal()
    try:
        return await asyncio.to_thread(read, stopped.is_set)
    finally:
        stopped.set()


@dataclass(slots=True)
class _Found:
    """The lines of one look at the files, sorted by what they record."""

    calls: dict[str, Call] = field(default_factory=dict)
    tool_recalls: list[ToolRecall] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    broken: int = 0
    has_old_calls: bool = False


@dataclass(frozen=True, slots=True)
class _Position:
    """How far a file is read, and the last bytes before that."""

    at: int
    before: bytes


class _Reader:
    """The files of one install, read once and then further."""

    def __init__(self, config: MemoryConfig, since: datetime | None, agent: str | None, most: int | None) -> None:
        self._config, self._since, self._agent, self._most = config, since, agent, most
        self._positions: dict[FileIdentity, _Position] = {}
        self._known: set[str] = set()
        self._inbound: dict[tuple[str | None, str], InboundMessage] = {}

    def read(self, is_stopped: Callable[[], bool]) -> TurnLog:
        """What is recorded, read from the end; the next time what is new. Blocks."""
        found, earlier, self._positions = _Found(), self._positions, {}
        for path in reversed(trace_files(self._config)):
            identity = file_identity(path)
            if identity is None:
                continue
            try:
                self._positions[identity] = self._read_file(path, earlier.get(identity), found, is_stopped)
            except InspectorError as error:
                found.problems.append(str(error))
        if not earlier:
            # Read from the end, so the newest came first.
            found.calls = dict(reversed(found.calls.items()))
        calls = [call for call in found.calls.values() if call.trace_id not in self._known]
        self._known |= found.calls.keys()
        return TurnLog(
            tuple(self._narrowed([self._turn(call) for call in calls])),
            found.broken,
            tool_recalls=tuple(sorted(found.tool_recalls, key=lambda one: one.at)),
            problems=tuple(found.problems),
            has_old_calls=found.has_old_calls,
        )

    def _read_file(
        self, path: Path, known: _Position | None, found: _Found, is_stopped: Callable[[], bool]
    ) -> _Position:
        """Read what came behind the last position, or, where the file is new or was written anew, from its end."""
        if known is not None and _bytes_before(path, known.at) == known.before:
            end = known.at
            for line in lines_from(path, end, is_stopped):
                self._take(line, found)
                end = line.end
        else:
            end = 0
            for line in lines_from_end(path, is_stopped):
                end = end or line.end
                if self._is_enough(found) or self._take(line, found):
                    break
        return _Position(end, _bytes_before(path, end))

    def _take(self, line: Line, found: _Found) -> bool:
        """Sort a line; whether everything before it is known already, or too old."""
        try:
            event = event_of(line)
        except BrokenLine:
            found.broken += 1
            return False
        if event is None:
            return False
        if isinstance(event, Call):
            call = found.calls.get(event.trace_id)
            if call is None or event.iteration < call.iteration:
                found.calls[event.trace_id] = event
            if event.trace_id in self._known and event.iteration == 1:
                return True
        elif isinstance(event, InboundMessage):
            if event.message_id is not None:
                self._inbound[event.sender, event.message_id] = event
        elif isinstance(event, ToolRecall):
            found.tool_recalls.append(event)
        else:
            found.has_old_calls = True
        return self._since is not None and event.at < self._since - _INBOUND_BEFORE

    def _is_enough(self, found: _Found) -> bool:
        """Whether the turns asked for are read, with the incoming messages before them."""
        if self._most is None:
            return False
        of_agent = [one for one in found.calls.values() if self._agent is None or one.agent == self._agent]
        # One more than asked for: the first line of the oldest may come before another turn's.
        return sum(one.iteration == 1 for one in of_agent) > self._most

    def _narrowed(self, turns: Sequence[Turn]) -> list[Turn]:
        passing = [
            turn
            for turn in turns
            if (self._agent is None or turn.agent == self._agent)
            and (self._since is None or turn.moment >= self._since)
        ]
        passing.sort(key=lambda turn: turn.at)
        return passing if self._most is None else passing[-self._most :] if self._most else []

    def _turn(self, call: Call) -> Turn:
        inbound = self._inbound.get((call.sender, call.message_id)) if call.message_id is not None else None
        sent, why = (call.sent, call.why_not_sent) if call.iteration == 1 else (None, _NO_MESSAGE)
        query, remark = inbound.content if inbound is not None else call.asked or "", ""
        if inbound is None and MASKED in query and scrubbed(query, call.version) == query:
            remark = "The trace masks a part of the message."
        target = inbound.reply_target if inbound is not None else call.reply_target
        is_channel = inbound is not None or call.reply_target is not None or call.message_id is not None
        is_group = target is not None and _is_group_target(target)
        scopes: tuple[str | None, ...] | None = None
        if is_channel and target is not None and call.sender is not None:
            scopes = _channel_scopes(call, target, inbound.thread if inbound is not None else None, call.sender)
        elif call.session is not None:
            scopes = (call.session,)
        rule: Rule = "channel" if is_channel else "library" if call.session is not None or call.is_embedded else "cli"
        if query.lower().startswith(_SCHEDULED):
            rule = "cron"
        # The chat's own scope, which is the last one in a group.
        session = call.session or (scopes[-1 if is_group else 0] if scopes else None)
        return Turn(
            call.trace_id, as_rfc3339(call.at), call.version, call.agent, session, call.channel, call.sender, query,
            sent, why, remark, scopes, is_group, rule,
        )  # fmt: skip


def _bytes_before(path: Path, position: int) -> bytes:
    """The last bytes of a file before a position, fewer or none where it is shorter."""
    start = max(0, position - _LINE_END)
    try:
        with path.open("rb") as file:
            file.seek(start)
            return file.read(position - start)
    except OSError:
        return b""


def _is_group_target(target: str) -> bool:
    """Whether a reply goes to a group, as ZeroClaw's channels decide it."""
    return _GROUPS[0] in target or target.startswith(_GROUPS[1])


def _channel_scopes(call: Call, target: str, thread: str | None, sender: str) -> tuple[str, ...]:
    """The scopes of a channel's turn: the chat's history key and the sender, in a group the other way round."""
    channel = call.channel or ""
    if channel.partition(".")[0] == "matrix":
        thread = None
    history = sanitised("_".join(part for part in (channel, target, thread, sender) if part is not None))
    own = sanitised(sender)
    return (own, history) if _is_group_target(target) else (history, own)


RECORDS_BLOCK_SINCE = (0, 8, 2)
RECORDED_ENTRIES = 10_000
"""How many lines of the trace are kept: a turn has several, and ZeroClaw's own 200 are a few dozen turns at best."""

_READ_SINCE = (0, 8, 0)
_DEFAULT_ENTRIES = 200
_WHY_FULL = (
    'log_llm_request_payload = "full" writes the whole request, the memory block with it; "redacted" cuts it from the'
    " end, where the block is. Both mask what looks like a credential. The trace then holds your chats."
)
_WHY_ENTRIES = (
    f"A trace of {_DEFAULT_ENTRIES} lines holds a few dozen turns at best, so it is set to {RECORDED_ENTRIES:,} lines."
)
_NO_BLOCK = "ZeroClaw {version} records when it sends a request, but not the request: 0.8.2 and later can."
_TOO_OLD = "Turns of ZeroClaw {version} cannot be read: they are read from 0.8.0 on."
_RESTART = "ZeroClaw reads this when it starts: restart it afterwards."


@dataclass(frozen=True, slots=True)
class RecordingState:
    """What ZeroClaw records by this config. `keys` are the lines that turn on what is missing."""

    traces: bool
    """Whether ZeroClaw writes a trace."""
    traces_block: bool
    """Whether the trace holds the whole request."""
    can_trace_block: bool
    """Whether this version can record it."""
    keys: tuple[str, ...]
    remark: str
    """A sentence: what is recorded, and what is not."""


def recording_state(config: MemoryConfig, version: str) -> RecordingState:
    """What ZeroClaw of this version records by the config as it is. Raises BrokenConfig."""
    table, numbers = observability(config), parse_version(version)
    traces = _mode(table) in _modes(numbers)
    can = numbers >= RECORDS_BLOCK_SINCE
    payload = _word(table, "log_llm_request_payload") or "off"
    keys = tuple(f"{name} = {_written(value)}" for name, value in _wanted(config, version).items())
    return RecordingState(
        traces, traces and can and payload == "full", can, keys, _remark(version, traces, payload, can)
    )


def recording_change(config: MemoryConfig, version: str) -> SettingChange:
    """The change that has ZeroClaw of this version record its turns, with why as `warnings`.

    What is set already stays. Raises Refused for a store without a config.toml and for a version whose turns cannot be
    read, UsageError, BrokenConfig.
    """
    if parse_version(version) < _READ_SINCE:
        raise Refused(_TOO_OLD.format(version=version), hint="Update ZeroClaw, or name its version with --profile.")
    wanted = _wanted(config, version)
    why = [_WHY_FULL] if parse_version(version) >= RECORDS_BLOCK_SINCE else [_NO_BLOCK.format(version=version)]
    why += [_WHY_ENTRIES] if any(name.endswith("_max_entries") for name in wanted) else []
    return planned_change(config, wanted, (*why, _RESTART) if wanted else ())


def _why_nothing_recorded(config: MemoryConfig, version: str) -> str:
    """A sentence on why there is no turn, with the lines that turn recording on. Raises BrokenConfig."""
    state = recording_state(config, version)
    if state.traces_block or (not state.keys and state.traces and parse_version(version) >= _READ_SINCE):
        has_trace = bool(trace_files(config))
        return "No turn is recorded yet." if has_trace else "Nothing is recorded yet: ZeroClaw has written no trace."
    lines = ", ".join(line.removeprefix("observability.") for line in state.keys)
    how = f" In [observability], {lines} turns it on." if lines else ""
    return f"No turn is recorded. {state.remark}{how}"


def _wanted(config: MemoryConfig, version: str) -> dict[str, Value]:
    """The settings that are missing, by name."""
    table, numbers = observability(config), parse_version(version)
    if numbers < _READ_SINCE:
        return {}
    mode_key = "runtime_trace_mode" if "runtime_trace_mode" in table else "log_persistence"
    most_key = f"{mode_key.removesuffix('_mode')}_max_entries"
    mode = _mode(table)
    wanted: dict[str, Value] = {}
    if mode not in _modes(numbers):
        wanted[mode_key] = mode = "rolling"
    most = next((table[key] for key in (most_key, "log_persistence_max_entries") if key in table), _DEFAULT_ENTRIES)
    if mode == "rolling" and (not isinstance(most, int) or isinstance(most, bool) or most < RECORDED_ENTRIES):
        wanted[most_key] = RECORDED_ENTRIES
    if numbers >= RECORDS_BLOCK_SINCE and _word(table, "log_llm_request_payload") != "full":
        wanted["log_llm_request_payload"] = "full"
    return {f"observability.{name}": value for name, value in wanted.items()}


def _mode(table: Mapping[str, Any]) -> str:
    return _word(table, "log_persistence", "runtime_trace_mode") or "rolling"


def _modes(numbers: Version) -> tuple[str, ...]:
    """The modes in which ZeroClaw of this version writes a trace."""
    return ("rolling", "full", "rotating") if numbers >= (0, 8, 3) else ("rolling", "full")


def _word(table: Mapping[str, Any], *names: str) -> str | None:
    return next((value.strip().lower() for name in names if isinstance(value := table.get(name), str)), None)


def _written(value: Value) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value)


def _remark(version: str, traces: bool, payload: str, can: bool) -> str:
    if parse_version(version) < _READ_SINCE:
        return _TOO_OLD.format(version=version)
    if not traces:
        return "ZeroClaw writes no trace by this config."
    if not can:
        return _NO_BLOCK.format(version=version)
    if payload == "full":
        return "ZeroClaw records what it sends."
    if payload == "redacted":
        return "The trace cuts long requests from the end, where the memory block is."
    return "Tracing is on but does not record prompts."
