"""The turns that ZeroClaw recorded in its trace: listed, followed, and counted by memory."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from zeroclaw_tui.config.memory_config import MemoryConfig
from zeroclaw_tui.curation.turn_recording import why_no_turns
from zeroclaw_tui.curation.turn_trace import (
    BrokenLine,
    InboundMessage,
    Turn,
    end_of_last_line,
    keys_of_block,
    lines_from_end,
    read_event,
    scrubbed,
    trace_files,
    with_inbound,
)

if TYPE_CHECKING:
    from zeroclaw_tui.curation.library import Library

POLL_SECONDS = 0.25
"""Seconds between two looks at the files while they are followed."""
_NO_MESSAGE = "Its first request is no longer in the trace."


@dataclass(frozen=True, slots=True)
class TurnLog:
    """Recorded turns, the oldest first. `broken_lines` of the files read could not be read."""

    turns: tuple[Turn, ...] = ()
    broken_lines: int = 0
    why_nothing: str | None = None
    """A sentence where no turn is recorded; None where there is one."""
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
    """What one look at the files found: the turns by id, the newest first."""

    turns: dict[str, Turn] = field(default_factory=dict)
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
        turns = [self._completed(turn) for turn in reversed(found.turns.values()) if turn.id not in self._known]
        self._known |= found.turns.keys()
        turns = [turn for turn in turns if self._since is None or turn.moment >= self._since]
        turns = sorted((turn for turn in turns if self._agent in (None, turn.agent)), key=lambda turn: turn.at)
        newest = turns if self._most is None else turns[max(0, len(turns) - self._most) :]
        return TurnLog(tuple(newest), found.broken, problems=tuple(found.problems))

    def _read_file(self, path: Path, found: _Found) -> None:
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            start = self._ends.get((status.st_dev, status.st_ino), 0)
            if status.st_size < start:
                start = 0
            end = end_of_last_line(file, start)
            self._ends[status.st_dev, status.st_ino] = end
            for line in lines_from_end(file, start, end):
                try:
                    event = read_event(line)
                except BrokenLine:
                    found.broken += 1
                    continue
                if isinstance(event, InboundMessage):
                    self._inbound[event.sender, event.message_id] = event
                elif event is not None and self._is_last_wanted(event, found):
                    break

    def _is_last_wanted(self, turn: Turn, found: _Found) -> bool:
        """Take a turn, and answer whether every earlier one is known or not asked for."""
        later = found.turns.get(turn.id)
        if later is None or turn.iteration < later.iteration:
            found.turns[turn.id] = turn
        if turn.iteration == 1 and turn.id in self._known:
            return True
        if self._most is None:
            return False
        complete = [one for one in found.turns.values() if one.iteration == 1 and self._agent in (None, one.agent)]
        # One more than asked for: the message of the oldest came in before its own request.
        return len(complete) > self._most

    def _completed(self, turn: Turn) -> Turn:
        if turn.iteration > 1:
            turn = replace(turn, sent=None, why_not_sent=_NO_MESSAGE)
        inbound = self._inbound.get((turn.sender, turn.message_id)) if turn.message_id is not None else None
        return turn if inbound is None else with_inbound(turn, inbound)


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
    sent = [turn for turn in log.turns if turn.sent is not None]
    recalls: dict[str, list[tuple[str | None, str]]] = {}
    for turn in sent:
        for key in set(keys_of_block(turn.sent or "")):
            recalls.setdefault(key, []).append((turn.agent, turn.at))
    agents = {turn.agent for turn in sent if turn.agent is not None}
    readable = {agent: library.config.readable_by((agent,)) for agent in agents}
    return RecallCounts(recalls, len(sent), sent[0].at if sent else None, readable)
