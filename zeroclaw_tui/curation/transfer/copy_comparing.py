"""Two stores side by side, each read once: what of the one the other lacks, and what it would lose there."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import count

from zeroclaw_tui.backends.base import Memory
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.transfer.copy_losses import CopyLosses
from zeroclaw_tui.curation.transfer.copy_target import CopyTarget
from zeroclaw_tui.curation.transfer.identity import known_vectors
from zeroclaw_tui.curation.transfer.importing import SAMPLES, OnClash, Stopped
from zeroclaw_tui.curation.transfer.keeping import Keeping, Origin
from zeroclaw_tui.curation.transfer.matching import Match, Matching, What, shown_key
from zeroclaw_tui.curation.transfer.note_keeping import note_keeping
from zeroclaw_tui.curation.transfer.noted import read_back
from zeroclaw_tui.curation.transfer.row_keeping import RowKeeping
from zeroclaw_tui.curation.transfer.spool import Spool
from zeroclaw_tui.memory.change import Advance, See, StoredRow
from zeroclaw_tui.memory.query import MemoryFilter, Superseded

EVERYTHING = MemoryFilter(superseded=Superseded.SHOW)
_ASKS_EVERY = 200
_NOTE_COLUMNS = frozenset({"key", "content", "category"})


class _Seen(Exception):
    """One row was enough."""


@dataclass(slots=True)
class Compared:
    """What was found. `refused` is how many the target cannot take, `agents` those it has yet to know."""

    keeping: Keeping
    matching: Matching
    losses: CopyLosses
    counts: Counter[Match] = field(default_factory=Counter)
    refused: int = 0
    samples: list[str] = field(default_factory=list)
    agents: dict[str, None] = field(default_factory=dict)

    def of(self, *whats: What) -> int:
        """How many are any of that to the target."""
        return sum(number for match, number in self.counts.items() if match.what in whats)

    @property
    def beside(self) -> int:
        """How many were brought before under another key."""
        return sum(number for match, number in self.counts.items() if match.is_beside)


@asynccontextmanager
async def compared_stores(
    source: Library,
    memory: Memory,
    target: CopyTarget,
    filter: MemoryFilter,
    advance: Advance | None,
    *,
    spool: Spool | None = None,
    on_clash: OnClash = "skip",
) -> AsyncIterator[Compared]:
    """Read the target, then the source; what `on_clash` lets come over goes to the spool, as the target shall have it.

    `advance` is told how many memories of the source were read. Raises Stopped where it says no.
    """
    keeping = await _keeping(source, memory, target)
    matching = Matching(keeping)
    with closing(matching):
        compared = Compared(keeping, matching, CopyLosses(keeping))
        if target.library is not None:
            await memory.each_row(asking(matching.see, None if advance is None else lambda _: advance(0)), EVERYTHING)
        look = _looking(compared, spool, on_clash)
        await _each_of_source(source.memory, asking(look, advance), filter.but(blocks=False))
        if spool is not None:
            spool.end()
        yield compared


def asking(see: See, advance: Advance | None) -> See:
    """The same `see`, that asks every now and then whether to go on. It raises Stopped where not."""
    seen = count()

    def look(row: StoredRow) -> None:
        done = next(seen)
        if done % _ASKS_EVERY == 0 and advance is not None and not advance(done):
            raise Stopped("Reading was stopped.", hint="Nothing was copied.")
        see(row)

    return look


def _looking(compared: Compared, spool: Spool | None, on_clash: OnClash) -> Callable[[StoredRow], None]:
    keeping, matching = compared.keeping, compared.matching

    def look(raw: StoredRow) -> None:
        row = keeping.origin.read(raw)
        why = keeping.refuses(row)
        if why is not None:
            compared.refused += 1
            compared.losses.refuse(why)
            return
        fitted = keeping.fitted(row)
        compared.losses.look(row, fitted)
        match = matching.match(fitted, has_id=bool(row.id), is_second=keeping.origin.is_outdated(raw))
        compared.counts[match] += 1
        if match.what in (What.TAKEN, What.SECOND) and len(compared.samples) < SAMPLES:
            compared.samples.append(shown_key(fitted))
        if spool is None:
            return
        brings = _brings(match, on_clash)
        if brings or match.what is What.SAME or match.is_beside:
            matching.expect(fitted, match, brings=brings)
        if brings:
            _spool(compared, spool, fitted)

    return look


def _brings(match: Match, on_clash: OnClash) -> bool:
    if match.what is What.NEW:
        return True
    if match.what is What.SAME or on_clash == "skip":
        return False
    return not match.is_beside if on_clash == "rename" else match.what is What.TAKEN


def _spool(compared: Compared, spool: Spool, fitted: StoredRow) -> None:
    keeping = compared.keeping
    if isinstance(keeping, RowKeeping):
        if keeping.memory.keeps_bytes:
            # Places of its own, behind those there are: so the rows keep their order, and many go in at once.
            fitted = replace(fitted, handle=compared.matching.last_place + spool.count + 1)
        if fitted.agent is not None and fitted.agent not in keeping.agents:
            compared.agents[fitted.agent] = None
    spool.add(fitted)


async def _keeping(source: Library, memory: Memory, target: CopyTarget) -> Keeping:
    origin = await _origin(source)
    if memory.keeps_lines:
        return await asyncio.to_thread(note_keeping, memory, origin, target.config)
    can = memory.capabilities
    facts = (await memory.health()).facts if target.library is not None and (can.agents or can.vectors) else {}
    agents = frozenset(facts.get("agents") or ()) if can.agents else frozenset[str]()
    columns = await _columns(memory) if target.library is not None or memory.file is not None else None
    now = datetime.now(UTC).isoformat()
    return RowKeeping(memory, origin, columns, agents, known_vectors(facts), now)


async def _origin(source: Library) -> Origin:
    memory = source.memory
    if memory.keeps_lines:
        return Origin(memory, _NOTE_COLUMNS, known_vectors({}), await _outdated(memory))
    can = memory.capabilities
    facts = (await memory.health()).facts if can.vectors else {}
    return Origin(memory, await _columns(memory), known_vectors(facts))


async def _each_of_source(memory: Memory, see: See, filter: MemoryFilter) -> None:
    """Every row a filter leaves; lines of notes in the order they stand in, day by day."""
    if not memory.keeps_lines:
        await memory.each_row(see, filter)
        return
    # All notes are in memory as it is.
    rows: list[StoredRow] = []
    await memory.each_row(rows.append, filter)
    rows.sort(key=_line_order)

    def look() -> None:
        for row in rows:
            see(row)

    await asyncio.to_thread(look)


def _line_order(row: StoredRow) -> tuple[str, int]:
    label, _, number = row.id.rpartition(":")
    return label, int(number)


async def _outdated(memory: Memory) -> frozenset[str]:
    """The lines whose key stands further on in the same folder too: ZeroClaw appends what it stores anew."""
    last: dict[tuple[str | None, str], str] = {}
    earlier: set[str] = set()
    rows: list[StoredRow] = []
    await memory.each_row(rows.append, EVERYTHING)
    for row in sorted(rows, key=_line_order):
        known = (row.agent, read_back(row).entry().key)
        if known in last:
            earlier.add(last[known])
        last[known] = row.id
    return frozenset(earlier)


async def _columns(memory: Memory) -> frozenset[str] | None:
    """The columns of a store: those of its table, else of its first row; None where it has none."""
    if memory.columns is not None:
        return memory.columns
    columns: list[frozenset[str]] = []

    def first(row: StoredRow) -> None:
        columns.append(frozenset(row.values))
        raise _Seen

    with suppress(_Seen):
        await memory.each_row(first, EVERYTHING)
    return columns[0] if columns else None
