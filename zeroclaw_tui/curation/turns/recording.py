"""The turns that ZeroClaw recorded: what its trace and its audit log hold of them, put together, and followed; whether
it records them by this config, and the change of config.toml that has it do so.

The keys stand in [observability]: `log_persistence` (none, rolling, rotating), `log_persistence_max_entries` and
`log_llm_request_payload` (off, redacted, full; from 0.8.2 on). Up to 0.7.5 they are `runtime_trace_mode` and
`runtime_trace_max_entries`, which later versions still read.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import sqlite3
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from threading import Event as Signal
from typing import TYPE_CHECKING, Any, Literal

from zeroclaw_tui.backends.tables import sanitised
from zeroclaw_tui.config.memory_config import MemoryConfig
from zeroclaw_tui.curation.setting_change import SettingChange, Value, planned_change
from zeroclaw_tui.curation.turns.trace import (
    AT_ONCE,
    BrokenLine,
    Call,
    Event,
    Inbound,
    Line,
    ToolRecall,
    as_rfc3339,
    event_of,
    lines_from,
    lines_from_end,
    moment_of,
    observability,
    scrubbed,
    trace_files,
    trace_root,
)
from zeroclaw_tui.files.database import FileIdentity, Reading, as_text, columns_of, file_identity, wal_file
from zeroclaw_tui.memory.change import AUDIT_LOG
from zeroclaw_tui.memory.errors import InspectorError
from zeroclaw_tui.memory.recall import Rule
from zeroclaw_tui.scoring.profiles import Version, parse_version

if TYPE_CHECKING:
    from zeroclaw_tui.curation.library import Library

Source = Literal["trace", "audit"]

AUDIT_ID = "audit:"
"""What the id of a turn begins with that the audit log alone has; behind it stands the number of its row."""
NOT_IN_AUDIT = "The audit log has the question of a recall, not what was sent."
_NOT_EVEN_ASKED = "The audit log has a recall without its question."
MOST_AUDITED = 100_000
"""Rows of the audit log that are read, the newest."""
LOOKS_EVERY = 0.25
"""Seconds between two looks at the files while they are followed."""
WAITS_FOR_TRACE = timedelta(seconds=10)
"""How long a recall of the audit log waits for its line in a trace that is being written, before it is told alone."""

_RECALLS_BEFORE = timedelta(seconds=120)
"""ZeroClaw recalls, may look for an intent and shortens the chat before it sends."""
_CLOCKS = timedelta(seconds=2)
_INBOUND_BEFORE = timedelta(minutes=10)
_READ_ON = 4 * AT_ONCE
"""Bytes that are read beyond the turns asked for, for the lines that came before them."""
_NO_MESSAGE = "Its first request is no longer in the trace."
_QUERY = "query="
_GROUPS = ("@g.us", "group:")
_SCHEDULED = ("[cron:", "[heartbeat task")


@dataclass(frozen=True, slots=True)
class Turn:
    """A message to an agent for which it recalled. `id` is the trace's, or `audit:` and the number of the row.

    `at` is RFC 3339 in UTC: when it was sent, or of the audit log when it was recalled. `sent` is the literal block,
    masked as the trace masks; "" when it was traced without one, None when that is not known: `why_not_sent`.
    `session` is the first session scope that is known. `version` is ZeroClaw's where the line names it.
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
    source: Source
    why_not_sent: str = ""
    query_remark: str = ""
    """Why the query is not, or not all of, what was asked, in a sentence."""
    scopes: tuple[str | None, ...] | None = None
    """The session scopes of its recall in their order; None where they are not recorded."""
    is_group: bool = False
    rule: Rule = "cli"
    recalled_at: str = ""
    """When the audit log has its recall; else as `at`."""
    audit_rows: tuple[int, ...] = ()
    """The rows of the audit log that are its recalls."""
    message_id: str | None = None

    @property
    def moment(self) -> datetime:
        """The time of its recall."""
        return datetime.fromisoformat(self.recalled_at or self.at)


@dataclass(frozen=True, slots=True)
class Recording:
    """What is recorded, the oldest turn first. `broken_lines` of the files read could not be read."""

    turns: tuple[Turn, ...] = ()
    broken_lines: int = 0
    files: tuple[Path, ...] = ()
    why_nothing: str | None = None
    """A sentence where no turn is recorded; None where there is one."""
    tool_recalls: tuple[ToolRecall, ...] = ()
    """What the agents looked up by themselves, the oldest first."""
    problems: tuple[str, ...] = ()
    """Sentences on files that could not be read."""


@dataclass(frozen=True, slots=True)
class AuditedRecall:
    """A recall of the audit log."""

    number: int
    at: datetime
    session: str | None
    query: str


def audit_file(config: MemoryConfig) -> Path:
    """Where ZeroClaw >= 0.8.4 keeps its audit log; it need not be there."""
    return trace_root(config) / "memory" / "audit.db"


async def recorded(
    library: Library, *, since: datetime | None = None, agent: str | None = None, most: int | None = None
) -> Recording:
    """The turns since a moment, of an agent, the newest `most`. Reads from the end of the files, in a thread.

    Raises BrokenConfig; a file that cannot be read is one of the `problems`.
    """
    reading = _Reading(library.config, library.profile.profile.version, since, agent, most)
    return await reading.recording()


async def follow(
    library: Library, *, since: datetime | None = None, agent: str | None = None, most: int | None = None
) -> AsyncIterator[Recording]:
    """First what is recorded, then what is new within a second of its line being there, for as long as it is asked.

    A turn is told once; a turn of the audit log that the trace tells of later comes again with its `audit_rows`.
    """
    reading = _Reading(library.config, library.profile.profile.version, since, agent, most)
    yield await reading.recording()
    while True:
        await asyncio.sleep(LOOKS_EVERY)
        news = await reading.news()
        if news.turns or news.tool_recalls or news.broken_lines or news.problems:
            yield news


@dataclass(slots=True)
class _File:
    """A trace that is followed: which file it was, how far it is read, and the last line, by which a file that was
    written anew is known."""

    identity: FileIdentity | None
    position: int
    last: bytes


@dataclass(slots=True)
class _Gathered:
    """Lines of the trace, sorted by what they tell."""

    calls: dict[str, Call] = field(default_factory=dict)
    inbound: list[Inbound] = field(default_factory=list)
    by_message: dict[tuple[str | None, str], Inbound] = field(default_factory=dict)
    tool_recalls: list[ToolRecall] = field(default_factory=list)
    broken: int = 0

    def take(self, line: Line) -> Event | None:
        try:
            event = event_of(line)
        except BrokenLine:
            self.broken += 1
            return None
        if isinstance(event, Call):
            known = self.calls.get(event.trace_id)
            if known is None or event.iteration < known.iteration:
                self.calls[event.trace_id] = event
        elif isinstance(event, Inbound):
            self.inbound.append(event)
            if event.message_id is not None:
                self.by_message[event.sender, event.message_id] = event
        elif isinstance(event, ToolRecall):
            self.tool_recalls.append(event)
        return event

    @property
    def wants_inbound(self) -> bool:
        """Whether a call names a message, or came by a channel, that is not read yet."""
        return any(self.inbound_of(call) is None for call in self.calls.values() if call.channel is not None)

    def inbound_of(self, call: Call) -> Inbound | None:
        if call.message_id is not None:
            return self.by_message.get((call.sender, call.message_id))
        if not call.is_old:
            return None
        before = [
            one
            for one in self.inbound
            if one.is_old and one.channel == call.channel and call.at - _INBOUND_BEFORE <= one.at <= call.at + _CLOCKS
        ]
        return max(before, key=lambda one: one.at, default=None)


class _Reading:
    """The files of one install, read once and then further."""

    def __init__(
        self, config: MemoryConfig, version: str, since: datetime | None, agent: str | None, most: int | None
    ) -> None:
        self._config, self._version = config, version
        self._since, self._agent, self._most = since, agent, most
        self._files: dict[Path, _File] = {}
        self._told: deque[str] = deque(maxlen=50_000)
        self._read = _Gathered()
        self._audit_number = 0
        self._audit_state: tuple[object, ...] = ()
        self._waiting: list[AuditedRecall] = []
        self._traces = False

    async def recording(self) -> Recording:
        """What is there, read from the end."""
        paths = await asyncio.to_thread(trace_files, self._config)
        problems: list[str | None] = []
        for path in reversed(paths):
            problems.append(await _in_thread(self._read_back, path))
            if self._is_enough():
                break
        self._read.calls = dict(reversed(self._read.calls.items()))
        self._read.inbound.reverse()
        told = await self._put_together(problems, self._since)
        audit = audit_file(self._config)
        files = (*paths, *([audit] if audit.is_file() else []))
        if told.turns:
            return replace(told, files=files)
        why = await asyncio.to_thread(why_nothing_recorded, self._config, files, self._version)
        return replace(told, files=files, why_nothing=why)

    async def news(self) -> Recording:
        """What came since the last look."""
        read = self._read
        read.calls, read.tool_recalls, read.broken = {}, [], 0
        paths = await asyncio.to_thread(trace_files, self._config)
        problems = [await _in_thread(self._read_on, path) for path in paths]
        for told in self._told if read.calls else ():
            read.calls.pop(told, None)
        del read.inbound[:-1000]
        return replace(await self._put_together(problems, None), files=tuple(paths))

    async def _put_together(self, problems: Iterable[str | None], since: datetime | None) -> Recording:
        """What the lines read tell with the audit log."""
        audited, problem = await self._audited(since)
        self._traces = self._traces or any(not call.is_old for call in self._read.calls.values())
        recalls = self._read.tool_recalls
        turns, rest = joined(gathered_turns(self._read), [*self._waiting, *audited], recalls)
        self._waiting = [one for one in rest if abs(_now() - one.at) < WAITS_FOR_TRACE] if self._traces else []
        turns += turns_of_audit(one for one in rest if one not in self._waiting)
        self._told.extend(self._read.calls)
        return Recording(
            tuple(self._narrowed(turns)),
            self._read.broken,
            tool_recalls=tuple(sorted(recalls, key=lambda one: one.at)),
            problems=tuple(filter(None, [*problems, problem])),
        )

    def _narrowed(self, turns: Iterable[Turn]) -> list[Turn]:
        kept = [
            turn
            for turn in turns
            if (self._agent is None or turn.agent == self._agent)
            and (self._since is None or datetime.fromisoformat(turn.at) >= self._since)
        ]
        kept.sort(key=lambda turn: turn.at)
        return kept if self._most is None else kept[-self._most :] if self._most else []

    def _is_enough(self) -> bool:
        """Whether the turns asked for are read, with the lines that came before them."""
        if self._most is None:
            return False
        of_agent = [one for one in self._read.calls.values() if self._agent is None or one.agent == self._agent]
        # One more than asked for: the first line of the oldest may stand before another turn's.
        return sum(one.iteration == 1 for one in of_agent) > self._most

    def _read_back(self, path: Path, is_stopped: Callable[[], bool]) -> str | None:
        identity, beyond, last_end, enough_at = file_identity(path), False, None, 0
        try:
            for line in lines_from_end(path, is_stopped):
                if last_end is None:
                    last_end = line.end
                    self._files[path] = _File(identity, line.end, _mark(line))
                event = self._read.take(line)
                if event is not None and self._since is not None and event.at < self._since - _INBOUND_BEFORE:
                    break
                if beyond:
                    if enough_at - line.end > _READ_ON or not self._read.wants_inbound:
                        break
                elif isinstance(event, Call) and self._is_enough():
                    beyond, enough_at = True, line.end
        except InspectorError as error:
            return str(error)
        if last_end is None:
            self._files[path] = _File(identity, 0, b"")
        return None

    def _read_on(self, path: Path, is_stopped: Callable[[], bool]) -> str | None:
        identity = file_identity(path)
        known = self._files.get(path)
        if known is None:
            # An archive is the trace of before under another name.
            known = next((one for one in self._files.values() if one.identity == identity), None)
        try:
            if known is not None and known.identity == identity and _seen(path)[1] >= known.position:
                file = replace(known)
                for line in lines_from(path, file.position, is_stopped):
                    self._read.take(line)
                    file.position, file.last = line.end, _mark(line)
            else:
                file = self._read_anew(path, identity, known, is_stopped)
        except InspectorError as error:
            return None if identity is None else str(error)
        self._files[path] = file
        return None

    def _read_anew(
        self, path: Path, identity: FileIdentity | None, known: _File | None, is_stopped: Callable[[], bool]
    ) -> _File:
        """A file that was written anew: ZeroClaw cuts a rolling trace that way. What came behind the last line known is
        new, and all of it where that line is gone."""
        file, found = _File(identity, 0, b""), deque[Line]()
        for line in lines_from_end(path, is_stopped):
            if not file.position:
                file.position, file.last = line.end, _mark(line)
            if known is not None and known.last and _mark(line) == known.last:
                break
            found.appendleft(line)
        for line in found:
            self._read.take(line)
        return file

    async def _audited(self, since: datetime | None) -> tuple[list[AuditedRecall], str | None]:
        file = audit_file(self._config)
        state = await asyncio.to_thread(lambda: (_seen(file), _seen(wal_file(file))))
        if state == self._audit_state or not file.is_file():
            return [], None
        try:
            found = await _read_audit(file, self._audit_number, since)
        except InspectorError as error:
            return [], str(error)
        self._audit_state = state
        if found:
            self._audit_number = max(self._audit_number, found[-1].number)
        return found, None


async def _in_thread(work: Callable[[Path, Callable[[], bool]], str | None], path: Path) -> str | None:
    """Work on a file that ends early when it is no longer waited for."""
    stopped = Signal()
    try:
        return await asyncio.to_thread(work, path, stopped.is_set)
    finally:
        stopped.set()


def _mark(line: Line) -> bytes:
    return hashlib.blake2b(line.raw or b"", digest_size=16).digest()


def _seen(path: Path) -> tuple[int, int, int]:
    """Which file it is, its size and when it was changed; zeros where none can be seen."""
    try:
        found = os.stat(path)
    except OSError:
        return 0, 0, 0
    return found.st_ino, found.st_size, found.st_mtime_ns


def _now() -> datetime:
    return datetime.now().astimezone()


async def _read_audit(file: Path, after: int, since: datetime | None) -> list[AuditedRecall]:
    def read(connection: sqlite3.Connection) -> list[AuditedRecall]:
        if not {"id", "operation", "timestamp", "metadata", "session_id"} <= set(columns_of(connection, AUDIT_LOG)):
            return []
        statement = (
            f"SELECT id, session_id, timestamp, metadata FROM {AUDIT_LOG} WHERE operation = 'recall' AND id > ?"
            " ORDER BY id DESC LIMIT ?"
        )
        found = []
        for number, session, timestamp, metadata in connection.execute(statement, (after, MOST_AUDITED)):
            at, told = moment_of(timestamp), as_text(metadata)
            if at is None or not told.startswith(_QUERY):
                continue
            if since is not None and at < since:
                break
            query = told.removeprefix(_QUERY)
            found.append(AuditedRecall(number, at, None if session is None else as_text(session), query))
        return found[::-1]

    return await Reading(file).run(read)


def gathered_turns(gathered: _Gathered) -> list[Turn]:
    """The turns of a trace's lines, the oldest first; several calls of the model are one turn."""
    calls = sorted(gathered.calls.values(), key=lambda call: call.at)
    return [_turn(call, gathered.inbound_of(call)) for call in calls]


def _turn(call: Call, inbound: Inbound | None) -> Turn:
    sent, why = (call.sent, call.why_not_sent) if call.iteration == 1 else (None, _NO_MESSAGE)
    query, remark = call.asked or "", ""
    if inbound is not None and (call.asked is None or not inbound.is_cut):
        query = inbound.content
        if inbound.is_cut:
            remark = "Only the first 160 characters of the message are recorded."
    elif call.asked is not None and scrubbed(query, call.version) == query and "*[REDACTED]" in query:
        remark = "The trace masks a part of the message."
    target = inbound.reply_target if inbound is not None else call.reply_target
    sender = call.sender or (inbound.sender if inbound is not None else None)
    is_channel = any(one is not None for one in (inbound, call.reply_target, call.message_id))
    is_channel = is_channel or (call.is_old and call.channel not in (None, "cli"))
    is_group = target is not None and is_group_target(target)
    scopes = None
    if is_channel and target is not None and sender is not None:
        scopes = _channel_scopes(call, target, inbound.thread if inbound is not None else None, sender)
    elif call.session is not None:
        scopes = (call.session,)
    rule: Rule = "channel" if is_channel else "library" if call.session is not None or call.is_embedded else "cli"
    if query.lower().startswith(_SCHEDULED):
        rule = "cron"
    at = as_rfc3339(call.at)
    # The chat's own scope, which in a group stands last.
    session = call.session or (scopes[-1 if is_group else 0] if scopes else None)
    return Turn(
        call.trace_id, at, call.version, call.agent, session, call.channel, sender, query, sent, "trace", why, remark,
        scopes, is_group, rule, at, message_id=call.message_id,
    )  # fmt: skip


def is_group_target(target: str) -> bool:
    """Whether a reply goes to a group, as ZeroClaw's channels tell."""
    return _GROUPS[0] in target or target.startswith(_GROUPS[1])


def _channel_scopes(call: Call, target: str, thread: str | None, sender: str) -> tuple[str | None, ...]:
    """The scopes of a channel's turn: the chat's history key and the sender, in a group the other way round.

    ZeroClaw >= 0.8.0 spells both for files; before that both are as they come.
    """
    channel = call.channel or ""
    if channel.partition(".")[0] == "matrix":
        thread = None
    raw = "_".join(part for part in (channel, target, thread, sender) if part is not None)
    history, own = (raw, sender) if call.is_old else (sanitised(raw), sanitised(sender))
    return (own, history) if is_group_target(target) else (history, own)


def turns_of_audit(recalls: Iterable[AuditedRecall]) -> list[Turn]:
    """The turns that the audit log alone has: recalls of one query in one breath, each in another session, are one."""
    found: list[list[AuditedRecall]] = []
    latest: dict[str, list[AuditedRecall]] = {}
    for one in recalls:
        same = latest.get(one.query)
        if same is not None and one.at - same[0].at <= _CLOCKS and one.session not in [each.session for each in same]:
            same.append(one)
            continue
        latest[one.query] = [one]
        found.append(latest[one.query])
    return [_turn_of_audit(same) for same in found]


def _turn_of_audit(recalls: Sequence[AuditedRecall]) -> Turn:
    first, scopes = recalls[0], tuple(one.session for one in recalls)
    at, session = as_rfc3339(first.at), next((one for one in scopes if one is not None), None)
    rule: Rule = "cli" if session is None else "library" if session.startswith(("gw_", "rpc_")) else "channel"
    if first.query.lower().startswith(_SCHEDULED):
        rule = "cron"
    numbers = tuple(one.number for one in recalls)
    why = NOT_IN_AUDIT if first.query.strip() else _NOT_EVEN_ASKED
    return Turn(
        f"{AUDIT_ID}{first.number}", at, None, None, session, None, None, first.query, None, "audit", why,
        scopes=scopes, rule=rule, recalled_at=at, audit_rows=numbers,
    )  # fmt: skip


def joined(
    turns: Sequence[Turn], audited: Sequence[AuditedRecall], tool_recalls: Sequence[ToolRecall]
) -> tuple[list[Turn], list[AuditedRecall]]:
    """The turns with what the audit log knows of them, and the recalls that are no turn's of these.

    A recall is a turn's by its time, its query and its sessions; what the agent looked up with its tool is no turn.
    """
    rest = list(audited)
    told = []
    for turn in turns:
        mine = _recalls_of(turn, rest)
        told.append(_with_audit(turn, mine) if mine else turn)
        rest = [one for one in rest if one not in mine] if mine else rest
    looked_up = [one for one in tool_recalls if one.query is not None]
    return told, [
        one for one in rest if not any(one.query == tool.query and _is_before(one, tool.at) for tool in looked_up)
    ]


def _is_before(recall: AuditedRecall, sent: datetime) -> bool:
    """Whether a recall may be that of what was sent then."""
    return -_CLOCKS <= sent - recall.at <= _RECALLS_BEFORE


def _recalls_of(turn: Turn, audited: Sequence[AuditedRecall]) -> list[AuditedRecall]:
    at = datetime.fromisoformat(turn.at)
    near = [one for one in audited if _is_before(one, at) and _is_of(turn, one)]
    if not near:
        return []
    last = near[-1]
    # The recalls of one turn follow one another; an equal question of a minute ago is another turn's.
    mine = [one for one in near if one.query == last.query and last.at - one.at <= _CLOCKS]
    return mine if turn.scopes is None or len(turn.scopes) > 1 else mine[-1:]


def _is_of(turn: Turn, recall: AuditedRecall) -> bool:
    known = turn.scopes
    if known is not None and recall.session not in known and recall.session not in [sanitised(s or "") for s in known]:
        return False
    if not turn.query or turn.query_remark:
        return known is not None
    return recall.query == turn.query or scrubbed(recall.query, turn.version) == turn.query


def _with_audit(turn: Turn, recalls: Sequence[AuditedRecall]) -> Turn:
    query = recalls[0].query
    sessions = tuple(dict.fromkeys(one.session for one in recalls))
    return replace(
        turn,
        query=query,
        query_remark="",
        rule="cron" if query.lower().startswith(_SCHEDULED) else turn.rule,
        scopes=turn.scopes if turn.scopes is not None and len(turn.scopes) >= len(sessions) else sessions,
        session=turn.session or next((one for one in sessions if one is not None), None),
        recalled_at=as_rfc3339(recalls[0].at),
        audit_rows=tuple(one.number for one in recalls),
    )


RECORDS_BLOCK_SINCE = (0, 8, 2)
ENTRIES = 10_000
"""How many lines of the trace are kept: a turn has several, and ZeroClaw's own 200 are a few dozen turns at best."""

_USUAL_ENTRIES = 200
_WHY_FULL = (
    'log_llm_request_payload = "full" writes the whole request, the memory block with it; "redacted" cuts it from the'
    " end, where the block stands. Both mask what looks like a credential. The trace then holds your chats."
)
_WHY_ENTRIES = f"A trace of {_USUAL_ENTRIES} lines holds a few dozen turns at best: {ENTRIES:,} are kept."
_NO_BLOCK = "ZeroClaw {version} cannot record what it sends, only when: 0.8.2 and later can."
_RESTART = "ZeroClaw reads this when it starts: restart it afterwards."


@dataclass(frozen=True, slots=True)
class RecordingState:
    """What is recorded from now on by this config. `keys` are the lines that turn on what is missing."""

    traces: bool
    """Whether ZeroClaw writes a trace."""
    traces_block: bool
    """Whether the trace holds what is sent, whole."""
    can_trace_block: bool
    """Whether this version can record it."""
    audits: bool
    """Whether the audit log is written (0.8.4 and later)."""
    keys: tuple[str, ...]
    remark: str
    """A sentence: what is recorded, and what is not."""


def recording_state(config: MemoryConfig, version: str) -> RecordingState:
    """What ZeroClaw of this version records by the config as it is. Raises BrokenConfig."""
    table, numbers = observability(config), parse_version(version)
    traces = _mode(table, numbers) in _modes(numbers)
    can = numbers >= RECORDS_BLOCK_SINCE
    payload = _word(table, "log_llm_request_payload") or "off"
    traces_block = traces and can and payload == "full"
    audits = numbers >= (0, 8, 4) and config.values.get("audit_enabled") is True
    keys = tuple(f"{name} = {_written(value)}" for name, value in _wanted(config, version).items())
    return RecordingState(traces, traces_block, can, audits, keys, _remark(version, traces, payload, can, audits))


def recording_change(config: MemoryConfig, version: str) -> SettingChange:
    """The change that has ZeroClaw of this version record its turns, with why as `warnings`.

    What is set already stays. Raises Refused for a store without a config.toml, UsageError, BrokenConfig.
    """
    wanted = _wanted(config, version)
    why = [_WHY_FULL] if parse_version(version) >= RECORDS_BLOCK_SINCE else [_NO_BLOCK.format(version=version)]
    why += [_WHY_ENTRIES] if any(name.endswith("_max_entries") for name in wanted) else []
    return planned_change(config, wanted, (*why, _RESTART) if wanted else ())


def why_nothing_recorded(config: MemoryConfig, files: Sequence[Path], version: str) -> str:
    """A sentence on why there is no turn, with the lines that turn recording on. Raises BrokenConfig."""
    state = recording_state(config, version)
    if state.traces_block or (not state.keys and state.traces):
        return "No turn is recorded yet." if files else "Nothing is recorded yet: ZeroClaw has written no trace here."
    lines = ", ".join(line.removeprefix("observability.") for line in state.keys)
    how = f" In [observability], {lines} turns it on." if lines else ""
    return f"No turn is recorded. {state.remark}{how}"


def _wanted(config: MemoryConfig, version: str) -> dict[str, Value]:
    """The settings that are missing, by name."""
    table, numbers = observability(config), parse_version(version)
    is_modern = numbers >= (0, 8, 0)
    mode_key = "log_persistence" if is_modern and "runtime_trace_mode" not in table else "runtime_trace_mode"
    most_key = f"{mode_key.removesuffix('_mode')}_max_entries"
    mode = _mode(table, numbers)
    wanted: dict[str, Value] = {}
    if mode not in _modes(numbers):
        wanted[mode_key] = mode = "rolling"
    most = next((table[key] for key in (most_key, "log_persistence_max_entries") if key in table), _USUAL_ENTRIES)
    if mode == "rolling" and (not isinstance(most, int) or isinstance(most, bool) or most < ENTRIES):
        wanted[most_key] = ENTRIES
    if numbers >= RECORDS_BLOCK_SINCE and _word(table, "log_llm_request_payload") != "full":
        wanted["log_llm_request_payload"] = "full"
    return {f"observability.{name}": value for name, value in wanted.items()}


def _mode(table: Mapping[str, Any], numbers: Version) -> str:
    return _word(table, "log_persistence", "runtime_trace_mode") or ("rolling" if numbers >= (0, 8, 0) else "none")


def _modes(numbers: Version) -> tuple[str, ...]:
    """The modes in which ZeroClaw of this version writes a trace."""
    return ("rolling", "full", "rotating") if numbers >= (0, 8, 3) else ("rolling", "full")


def _word(table: Mapping[str, Any], *names: str) -> str | None:
    return next((value.strip().lower() for name in names if isinstance(value := table.get(name), str)), None)


def _written(value: Value) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value)


def _remark(version: str, traces: bool, payload: str, can: bool, audits: bool) -> str:
    if not traces:
        also = " Its audit log has the questions alone." if audits else ""
        return f"ZeroClaw writes no trace by this config.{also}"
    if not can:
        return _NO_BLOCK.format(version=version)
    if payload == "full":
        return "ZeroClaw records what it sends."
    if payload == "redacted":
        return "The trace cuts long requests from the end, where the memory block stands."
    return "The trace leaves out what is sent."
