"""The turns that ZeroClaw recorded in its trace: listed and followed."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from zeroclaw_tui.config.memory_config import MemoryConfig
from zeroclaw_tui.curation.turn_trace import BrokenLine, Turn, read_event, trace_files, with_inbound
from zeroclaw_tui.scoring.profiles import parse_version

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from zeroclaw_tui.curation.library import Library

_POLL_SECONDS = 0.25
"""Seconds between two looks at the files while they are followed."""
_BLOCK_SIZE = 1 << 20
_NO_MESSAGE = "Its first request is no longer in the trace."
_READ_SINCE = (0, 8, 0)
_TURNS_ON = (
    "No turn is recorded. In [observability] of config.toml, "
    'log_persistence = "rolling", log_persistence_max_entries = 10000 and log_llm_request_payload = "full" turn '
    "recording on (ZeroClaw 0.8.2 and later); then restart ZeroClaw. The trace holds your chats."
)


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
    async with aclosing(follow(library, since=since, agent=agent, most=most)) as logs:
        return await anext(logs)


async def follow(
    library: Library, *, since: datetime | None = None, agent: str | None = None, most: int | None = None
) -> AsyncGenerator[TurnLog]:
    """Give what is recorded, then each new turn within a second of its line, until the caller stops. No turn comes
    twice."""
    reader = _Reader(library.config)

    async def read() -> TurnLog:
        log = await asyncio.to_thread(reader.read)
        turns = [turn for turn in log.turns if agent in (None, turn.agent) and (since is None or turn.moment >= since)]
        return replace(log, turns=tuple(turns if most is None else turns[max(0, len(turns) - most) :]))

    log = await read()
    if not log.turns:
        version = library.profile.profile.version
        too_old = f"No turn is recorded: those of ZeroClaw {version} cannot be read, only of 0.8.0 and later."
        log = replace(log, why_nothing=too_old if parse_version(version) < _READ_SINCE else _TURNS_ON)
    yield log
    while True:
        await asyncio.sleep(_POLL_SECONDS)
        log = await read()
        if log.turns or log.broken_lines or log.problems:
            yield log


class _Reader:
    """Reads the files of one install, and later only what is new in them."""

    def __init__(self, config: MemoryConfig) -> None:
        self._config = config
        self._ends: dict[tuple[int, int], int] = {}
        """How far each file is read, by device and inode: ZeroClaw renames a trace, or writes a shorter one."""
        self._known: set[str] = set()
        self._inbound: dict[tuple[str | None, str | None], Mapping[str, Any]] = {}
        self._broken_lines = 0

    def read(self) -> TurnLog:
        """Read what is recorded; the next time what is new. Blocks."""
        self._broken_lines = 0
        found: dict[str, Turn] = {}
        problems = []
        for path in reversed(trace_files(self._config)):
            try:
                for turn in self._new_requests(path):
                    later = found.get(turn.id)
                    if later is None or turn.iteration < later.iteration:
                        found[turn.id] = turn
            except OSError as error:
                problems.append(f"{path} cannot be read: {error.strerror}. Read it as the user who runs ZeroClaw.")
        turns = [self._completed(turn) for turn in reversed(found.values()) if turn.id not in self._known]
        self._known |= found.keys()
        return TurnLog(tuple(sorted(turns, key=lambda turn: turn.at)), self._broken_lines, problems=tuple(problems))

    def _new_requests(self, path: Path) -> Iterator[Turn]:
        """Yield the requests that a file has since the last look, the last one first."""
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            start = self._ends.get((status.st_dev, status.st_ino), 0)
            if status.st_size < start:
                start = 0
            lines = _lines_from_end(file, start, status.st_size)
            # ZeroClaw is still writing what follows the last line end.
            self._ends[status.st_dev, status.st_ino] = status.st_size - len(next(lines))
            for line in lines:
                try:
                    event = read_event(line)
                except BrokenLine:
                    self._broken_lines += 1
                    continue
                if isinstance(event, Turn):
                    yield event
                    if event.iteration == 1 and event.id in self._known:
                        # The trace was rewritten without its oldest lines: what is before this turn is known.
                        return
                elif event is not None:
                    self._inbound[str(event.get("sender")), str(event.get("message_id"))] = event

    def _completed(self, turn: Turn) -> Turn:
        if turn.iteration > 1:
            turn = replace(turn, sent=None, why_not_sent=_NO_MESSAGE)
        inbound = self._inbound.get((turn.sender, turn.message_id))
        return turn if inbound is None else with_inbound(turn, inbound)


def _lines_from_end(file: BinaryIO, start: int, end: int) -> Iterator[bytes]:
    """Yield what is behind the last line end, then the lines, the last one first. A line begins at `start`."""
    rest = b""
    while end > start:
        size = min(_BLOCK_SIZE, end - start)
        end -= size
        file.seek(end)
        rest, *lines = (file.read(size) + rest).split(b"\n")
        yield from reversed(lines)
    yield rest
