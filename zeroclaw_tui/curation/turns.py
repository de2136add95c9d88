"""The turns that ZeroClaw recorded in its trace: listed, followed, and counted by memory."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass, replace
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


class _Reader:
    """Reads the files of one install from their end, and later only what is new in them."""

    def __init__(self, config: MemoryConfig, since: datetime | None, agent: str | None, most: int | None) -> None:
        self._config, self._since, self._agent, self._most = config, since, agent, most
        self._ends: dict[tuple[int, int], int] = {}
        """How far each file is read, by device and inode: ZeroClaw renames a trace, or writes a shorter one anew."""
        self._known: set[str] = set()
        self._inbound: dict[tuple[str | None, str | None], InboundMessage] = {}
        self._broken_lines = 0

    def read(self) -> TurnLog:
        """Read what is recorded; the next time what is new. Blocks."""
        self._broken_lines = 0
        found: dict[str, Turn] = {}
        problems = []
        for path in reversed(trace_files(self._config)):
            try:
                for turn in self._turns_from_end(path):
                    later = found.get(turn.id)
                    if later is None or turn.iteration < later.iteration:
                        found[turn.id] = turn
                    if self._is_last_wanted(turn, found):
                        break
            except OSError as error:
                problems.append(f"{path} cannot be read: {error.strerror}. Read it as the user who runs ZeroClaw.")
        turns = [self._completed(turn) for turn in reversed(found.values()) if turn.id not in self._known]
        self._known |= found.keys()
        wanted = [
            turn
            for turn in turns
            if (self._since is None or turn.moment >= self._since) and self._agent in (None, turn.agent)
        ]
        wanted.sort(key=lambda turn: turn.at)
        newest = wanted if self._most is None else wanted[max(0, len(wanted) - self._most) :]
        return TurnLog(tuple(newest), self._broken_lines, problems=tuple(problems))

    def _turns_from_end(self, path: Path) -> Iterator[Turn]:
        """Yield the requests that a file has since the last look, the last one first."""
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
                    self._broken_lines += 1
                    continue
                if isinstance(event, InboundMessage):
                    self._inbound[event.sender, event.message_id] = event
                elif event is not None:
                    yield event

    def _is_last_wanted(self, turn: Turn, found: Mapping[str, Turn]) -> bool:
        """Whether every earlier turn is known or not asked for."""
        if turn.iteration == 1 and turn.id in self._known:
            return True
        if self._most is None:
            return False
        complete = [one for one in found.values() if one.iteration == 1 and self._agent in (None, one.agent)]
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
    """How often memories were recalled, by what is recorded: the count of each key, of whatever agent.

    `turns` are those whose block is recorded, `since` the time of the first of them.
    """

    by_key: Mapping[str, RecallCount]
    turns: int
    since: str | None

    def of(self, key: str) -> RecallCount:
        """The count of a key."""
        return self.by_key.get(key, RecallCount())

    @property
    def often(self) -> tuple[str, ...]:
        """The keys, those recalled most often first, of equal ones the last recalled."""
        return tuple(sorted(self.by_key, key=lambda key: (self.of(key).times, self.of(key).last), reverse=True))


async def recall_counts(library: Library) -> RecallCounts:
    """Count the recalls in all that is recorded. Raises BrokenConfig."""
    sent = [turn for turn in (await recorded(library)).turns if turn.sent is not None]
    by_key: dict[str, RecallCount] = {}
    for turn in sent:
        for key in set(keys_of_block(turn.sent or "")):
            by_key[key] = RecallCount(by_key.get(key, RecallCount()).times + 1, turn.at)
    return RecallCounts(by_key, len(sent), sent[0].at if sent else None)
