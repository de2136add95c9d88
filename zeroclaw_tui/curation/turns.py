"""The turns that ZeroClaw recorded in its trace: listed, followed, and counted by memory."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from zeroclaw_tui.backends.tables import sanitised
from zeroclaw_tui.config.memory_config import MemoryConfig
from zeroclaw_tui.curation.turn_recording import why_no_turns
from zeroclaw_tui.curation.turn_trace import (
    BrokenLine,
    Call,
    InboundMessage,
    ToolRecall,
    as_rfc3339,
    end_of_last_line,
    keys_of_block,
    lines_from_end,
    read_event,
    scrubbed,
    trace_files,
)
from zeroclaw_tui.memory.recall import Rule

if TYPE_CHECKING:
    from zeroclaw_tui.curation.library import Library

POLL_SECONDS = 0.25
"""Seconds between two looks at the files while they are followed."""
_INBOUND_BEFORE = timedelta(minutes=10)
"""So long before its request a message may come in."""
_NO_MESSAGE = "Its first request is no longer in the trace."
_SCHEDULED = ("[cron:", "[heartbeat task")


@dataclass(frozen=True, slots=True)
class Turn:
    """A message to an agent, for which ZeroClaw recalled. `id` is the trace's.

    `at` is RFC 3339 in UTC. `sent` is the literal block, masked as the trace masks; "" when none was sent, None when
    that is not known, and `why_not_sent` says why. `session` is the chat's own scope. `version` is ZeroClaw's.
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


async def recorded(
    library: Library, *, since: datetime | None = None, agent: str | None = None, most: int | None = None
) -> TurnLog:
    """Read the turns since a moment, of an agent, the newest `most`. Raises BrokenConfig."""
    return await _first(library, _Reader(library.config, since, agent, most))


async def follow(
    library: Library, *, since: datetime | None = None, agent: str | None = None, most: int | None = None
) -> AsyncIterator[TurnLog]:
    """Give what is recorded, then each new turn within a second of its line, until the caller stops. No turn comes
    twice."""
    reader = _Reader(library.config, since, agent, most)
    yield await _first(library, reader)
    while True:
        await asyncio.sleep(POLL_SECONDS)
        log = await asyncio.to_thread(reader.read)
        if log.turns or log.broken_lines or log.problems:
            yield log


async def _first(library: Library, reader: _Reader) -> TurnLog:
    log = await asyncio.to_thread(reader.read)
    if log.turns:
        return log
    version = library.profile.profile.version
    return replace(log, why_nothing=await asyncio.to_thread(why_no_turns, library.config, version))


@dataclass(slots=True)
class _Found:
    """The events of one look at the files, the newest first."""

    calls: dict[str, Call] = field(default_factory=dict)
    tool_recalls: list[ToolRecall] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    broken: int = 0


class _Reader:
    """Reads the files of one install from their end, and later only what is new in them."""

    def __init__(self, config: MemoryConfig, since: datetime | None, agent: str | None, most: int | None) -> None:
        self._config, self._since, self._agent, self._most = config, since, agent, most
        self._ends: dict[tuple[int, int], int] = {}
        """How far each file is read, by device and inode: ZeroClaw renames a trace, or writes a shorter one anew."""
        self._known: set[str] = set()
        self._inbound: dict[tuple[str | None, str | None], InboundMessage] = {}

    def read(self) -> TurnLog:
        """Read what is recorded; the next time what is new. Blocks."""
        found = _Found()
        for path in reversed(trace_files(self._config)):
            try:
                self._read_file(path, found)
            except OSError as error:
                found.problems.append(
                    f"{path} cannot be read: {error.strerror}. Read it as the user who runs ZeroClaw."
                )
        calls = [call for call in reversed(found.calls.values()) if call.trace_id not in self._known]
        self._known |= found.calls.keys()
        turns = [_turn_of(call, self._inbound.get((call.sender, call.message_id))) for call in calls]
        return TurnLog(
            self._selected(turns),
            found.broken,
            tool_recalls=tuple(sorted(found.tool_recalls, key=lambda recall: recall.at)),
            problems=tuple(found.problems),
        )

    def _read_file(self, path: Path, found: _Found) -> None:
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            start = self._ends.get((status.st_dev, status.st_ino), 0)
            if status.st_size < start:
                start = 0
            end = end_of_last_line(file, start)
            self._ends[status.st_dev, status.st_ino] = end
            for line in lines_from_end(file, start, end):
                if self._take(line, found):
                    break

    def _take(self, line: bytes, found: _Found) -> bool:
        """Sort a line, and answer whether every earlier line is known or not asked for."""
        try:
            event = read_event(line)
        except BrokenLine:
            found.broken += 1
            return False
        match event:
            case Call():
                earlier = found.calls.get(event.trace_id)
                if earlier is None or event.iteration < earlier.iteration:
                    found.calls[event.trace_id] = event
                if event.iteration == 1 and event.trace_id in self._known:
                    return True
            case InboundMessage():
                self._inbound[event.sender, event.message_id] = event
            case ToolRecall():
                found.tool_recalls.append(event)
            case None:
                return False
        if self._since is not None and event.at < self._since - _INBOUND_BEFORE:
            return True
        return self._most is not None and self._is_enough(found, self._most)

    def _is_enough(self, found: _Found, most: int) -> bool:
        complete = [call for call in found.calls.values() if call.iteration == 1 and self._agent in (None, call.agent)]
        # One more than asked for: the message of the oldest came in before its own request.
        return len(complete) > most

    def _selected(self, turns: Sequence[Turn]) -> tuple[Turn, ...]:
        passing = [
            turn
            for turn in turns
            if self._agent in (None, turn.agent) and (self._since is None or turn.moment >= self._since)
        ]
        passing.sort(key=lambda turn: turn.at)
        return tuple(passing if self._most is None else passing[max(0, len(passing) - self._most) :])


def _turn_of(call: Call, inbound: InboundMessage | None) -> Turn:
    """The turn of its first request. `inbound` is the message of a channel, if the trace still has it."""
    request = call.request
    sent, why = (request.block, request.reason) if call.iteration == 1 else (None, _NO_MESSAGE)
    query = inbound.content if inbound is not None else request.message
    target = inbound.reply_target if inbound is not None else None
    is_group = target is not None and ("@g.us" in target or target.startswith("group:"))
    is_channel = call.message_id is not None
    scopes: tuple[str | None, ...] | None = None if call.session is None else (call.session,)
    session = call.session
    if inbound is not None and target is not None and call.sender is not None:
        # A direct chat recalls by its history and then by its sender, a group the other way round.
        thread = None if (call.channel or "").partition(".")[0] == "matrix" else inbound.thread
        session = sanitised("_".join(filter(None, (call.channel or "", target, thread, call.sender))))
        scopes = (sanitised(call.sender), session) if is_group else (session, sanitised(call.sender))
    rule: Rule = "channel" if is_channel else "library" if call.session or request.is_embedded else "cli"
    if query.lower().startswith(_SCHEDULED):
        rule = "cron"
    return Turn(
        call.trace_id, as_rfc3339(call.at), call.version, call.agent, session, call.channel, call.sender, query,
        sent, why, scopes, is_group, rule,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class RecallCount:
    """How many times a memory was recalled, and when last: RFC 3339 in UTC, "" where never."""

    times: int = 0
    last: str = ""


@dataclass(frozen=True, slots=True)
class RecallCounts:
    """How often memories were recalled, by what is recorded.

    `recalls` has the agent (None where it is not recorded) and the time of each recall of a key. `turns` are those
    whose block is recorded, `since` the time of the first of them; `readable` are the agents whose memories each may
    read.
    """

    recalls: Mapping[str, Sequence[tuple[str | None, str]]]
    turns: int
    since: str | None
    readable: Mapping[str, Collection[str]] = field(default_factory=dict)

    def of(self, key: str, agent: str | None = None) -> RecallCount:
        """The count of a key, also where the trace masks it; of one agent's memory only what may have been it."""
        recalls = self.recalls.get(key) or self.recalls.get(scrubbed(key), ())
        times = [
            at
            for reader, at in recalls
            if agent is None or reader is None or agent in self.readable.get(reader, (reader,))
        ]
        return RecallCount(len(times), max(times, default=""))

    @property
    def often(self) -> tuple[str, ...]:
        """The keys, those recalled most often first, of equal ones the last recalled."""
        return tuple(sorted(self.recalls, key=lambda key: (self.of(key).times, self.of(key).last), reverse=True))


async def recall_counts(library: Library) -> RecallCounts:
    """Count the recalls in all that is recorded. Raises BrokenConfig."""
    log = await recorded(library)
    sent = [(turn.at, turn.agent, keys_of_block(turn.sent)) for turn in log.turns if turn.sent is not None]
    looked_up = [(as_rfc3339(recall.at), recall.agent, recall.keys) for recall in log.tool_recalls]
    recalls: dict[str, list[tuple[str | None, str]]] = {}
    for at, agent, keys in (*sent, *looked_up):
        for key in set(keys):
            recalls.setdefault(key, []).append((agent, at))
    agents = {agent for _, agent, _ in (*sent, *looked_up) if agent is not None}
    readable = {agent: library.config.readable_by((agent,)) for agent in agents}
    return RecallCounts(recalls, len(sent), min((at for at, _, _ in sent), default=None), readable)
