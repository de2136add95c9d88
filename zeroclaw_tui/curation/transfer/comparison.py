"""Comparing memories that come with those of a store.

A memory is known by its agent and its key; a line of notes, whose key is only a place, by its agent and its text.
Memories are read in batches, so that nothing is loaded as a whole.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Protocol, TypeVar

from zeroclaw_tui.backends.base import Memory
from zeroclaw_tui.curation.hygiene_rules import ExpiryRules, HygieneRule
from zeroclaw_tui.curation.transfer.incoming import Incoming, SourceInfo, with_key
from zeroclaw_tui.curation.transfer.losses import Losses
from zeroclaw_tui.curation.transfer.plan import Plan, What
from zeroclaw_tui.curation.transfer.target import Target
from zeroclaw_tui.memory.change import ProgressCallback, Row
from zeroclaw_tui.memory.entry import MemoryEntry, column_text
from zeroclaw_tui.memory.errors import INTERRUPTED, InspectorError, Refused, UsageError
from zeroclaw_tui.memory.note_lines import in_one_line, line_place, read_line
from zeroclaw_tui.memory.query import EXCERPTS, HANDLES, OLDEST_STORED, ROWS, MemoryFilter, Query
from zeroclaw_tui.memory.secret_text import masked
from zeroclaw_tui.memory.text import cut, one_line

SAMPLES = 5
"""How many taken keys a plan names."""
PREVIEWS = 3
"""How many memories a plan shows as the store will have them."""
BATCH_ROWS = 2_000
"""How many memories are compared at once; the store itself writes fewer in one transaction."""

_PREVIEW_LENGTH = 400
_KEY_CELLS, _MAX_KEY_LENGTH = 60, 400
_MAX_NAMES = 200
AnyPlan = TypeVar("AnyPlan", bound=Plan)


class Stopped(InspectorError):
    """`on_progress` said no while both sides were read."""

    title = "Stopped"
    exit_code = INTERRUPTED


class Supply(Protocol):
    """The memories that come."""

    @property
    def has_unique_keys(self) -> bool:
        """Whether a key may come only once for an agent, as in a file that people edit."""

    async def source(self) -> SourceInfo:
        """What is known of them before the first one."""

    def batches(self, *, to_notes: bool) -> AsyncIterator[Sequence[Row]]:
        """All memories, at most BATCH_ROWS at a time.

        `to_notes` says that notes take them, where lines keep their order.
        """


@dataclass(frozen=True, slots=True)
class StoreSupply:
    """The memories of a store that a filter selects."""

    memory: Memory
    filter: MemoryFilter

    @property
    def has_unique_keys(self) -> bool:
        """Agents that the target does not have may each have a memory of one key."""
        return False

    async def source(self) -> SourceInfo:
        """What the store says of itself."""
        return await SourceInfo.of_store(self.memory)

    async def batches(self, *, to_notes: bool) -> AsyncIterator[Sequence[Row]]:
        """Rows in the order of storing; lines of notes day by day, those whose key comes again later at the end."""
        if self.memory.keeps_lines:
            lines = sorted(await self.memory.rows(Query(ROWS, self.filter)), key=line_place)
            rows = lines if to_notes else _newest_first([read_line(line) for line in lines])
            for start in range(0, len(rows), BATCH_ROWS):
                yield rows[start : start + BATCH_ROWS]
            return
        handles = await self.memory.rows(Query(HANDLES, self.filter, OLDEST_STORED))
        for start in range(0, len(handles), BATCH_ROWS):
            yield await self.memory.rows(Query(ROWS, handles=handles[start : start + BATCH_ROWS]))


def _newest_first(rows: Sequence[Row]) -> list[Row]:
    """Put memories whose key comes again behind all others: ZeroClaw appends what it stores anew."""
    last = {(row.agent, row.key): at for at, row in enumerate(rows)}
    return sorted(rows, key=lambda row: row is not rows[last[row.agent, row.key]])


@dataclass(slots=True)
class Compared:
    """A memory that comes: as its source has it, as the store would have it, and what it is to the store."""

    row: Row
    stored: Row
    what: What
    existing: Row | None = None


@dataclass(slots=True)
class Comparison:
    """Compares batches of memories with a store, and counts.

    `is_empty` says that the store has no memory yet. `with_vectors` compares vectors too. Only a plan counts losses.
    """

    memory: Memory
    incoming: Incoming
    has_unique_keys: bool = False
    is_empty: bool = False
    with_vectors: bool = False
    expiry: ExpiryRules | None = None
    is_plan: bool = False
    losses: Losses = field(init=False)
    counts: Counter[What] = field(default_factory=Counter)
    refused: int = 0
    samples: list[str] = field(default_factory=list)
    previews: list[MemoryEntry] = field(default_factory=list)
    categories: Counter[tuple[str, What]] = field(default_factory=Counter)
    expiring: Counter[HygieneRule] = field(default_factory=Counter)
    _number: int = 0
    _seen: dict[int, object] = field(default_factory=dict)
    """By the hash of agent and key: the agent that a file names, or the hash of the content that came."""
    _seen_ids: set[int] = field(default_factory=set)
    _lines: Counter[tuple[str | None, str]] | None = None

    def __post_init__(self) -> None:
        self.losses = Losses(self.incoming)

    @classmethod
    async def of(cls, supply: Supply, memory: Memory, target: Target, now: datetime) -> Comparison:
        """Prepare a comparison with the open store of a target, or with the one that will be made."""
        exists = target.library is not None
        incoming = await Incoming.of(await supply.source(), memory, now, exists=exists)
        return cls(memory, incoming, supply.has_unique_keys, not exists or await memory.count() == 0)

    @property
    def count(self) -> int:
        """How many memories came."""
        return self.counts.total() + self.refused

    async def compare(self, rows: Sequence[Row]) -> list[Compared]:
        """Compare a batch. Raises UsageError for a key or an id that came before, where that may not be."""
        accepted, completed = await asyncio.to_thread(self._completed, rows)
        stored = await self.memory.as_stored(completed)
        if self.memory.keeps_lines:
            await self._read_lines()
            return await asyncio.to_thread(self._counted, self._compared_lines(accepted, stored))
        existing = {} if self.is_empty else await self._existing({row.key for row in stored})
        found = await asyncio.to_thread(self._compared_rows, accepted, stored, existing)
        return await asyncio.to_thread(self._counted, await self._settled(found))

    def _completed(self, rows: Sequence[Row]) -> tuple[list[Row], list[Row]]:
        accepted: list[Row] = []
        for row in rows:
            reason = self.incoming.refusal(row)
            if reason is None:
                accepted.append(row)
            else:
                self.refused += 1
                self.losses.refuse(reason)
        return accepted, list(map(self.incoming.completed, accepted))

    async def _existing(self, keys: Collection[str]) -> dict[tuple[str | None, str], Row]:
        """The store's memories of these keys, by agent and key."""
        rows = await self.memory.rows(Query(ROWS, keys=list(keys))) if keys else ()
        return {self.incoming.identity(row): row for row in reversed(rows)}

    def _compared_rows(
        self, rows: Sequence[Row], stored: Sequence[Row], existing: dict[tuple[str | None, str], Row]
    ) -> list[Compared]:
        return [self._compared_row(row, new, existing) for row, new in zip(rows, stored, strict=True)]

    def _compared_row(self, row: Row, stored: Row, existing: dict[tuple[str | None, str], Row]) -> Compared:
        self._number += 1
        identity, content = self.incoming.identity(stored), hash(stored.values["content"])
        known = hash(identity)
        if known in self._seen:
            if self.has_unique_keys and self._seen[known] == row.agent:
                raise self._repeated("key", row.key)
            # Agents that the store does not have may each have had a memory of this key.
            return Compared(row, stored, "same" if self._seen[known] == content else "second")
        self._seen[known] = row.agent if self.has_unique_keys else content
        if self.has_unique_keys and row.id:
            if hash(row.id) in self._seen_ids:
                raise self._repeated("id", row.id)
            self._seen_ids.add(hash(row.id))
        present = existing.get(identity)
        if present is None:
            return Compared(row, stored, "new")
        is_same = self.incoming.is_same(row, stored, present, with_vector=self.with_vectors)
        return Compared(row, stored, "same" if is_same else "taken", present)

    def _repeated(self, what: str, name: str) -> UsageError:
        return UsageError(
            f"Memory {self._number:,} repeats the {what} {short_key(name)!r} of an earlier memory.",
            hint="Each memory of an agent needs a key of its own. Delete one of them or change its key.",
        )

    async def _settled(self, found: list[Compared]) -> list[Compared]:
        """Give new ids where another memory has them, and find those that were brought under another key before."""
        identity = self.incoming.identity
        others = [(one, renamed(self.incoming, one.stored)) for one in found if one.what in ("taken", "second")]
        brought = await self._existing({row.key for _, row in others}) if others else {}
        for one, row in others:
            present = brought.get(identity(row))
            if present is not None and present.entry().content == one.stored.entry().content:
                one.what = "same"
        ids = [] if self.is_empty else [one.stored.id for one in found if one.what == "new" and one.row.id]
        taken = {entry.id for entry in await self.memory.rows(Query(EXCERPTS, ids=ids))} if ids else set()
        for one in found if taken else ():
            if one.what == "new" and one.stored.id in taken:
                stored = one.stored
                new_id = self.incoming.new_id(stored.key, stored.values["content"], stored.agent)
                one.stored = with_key(stored, stored.key, new_id)
        return found

    async def _read_lines(self) -> None:
        if self._lines is None:
            rows = () if self.is_empty else await self.memory.rows(Query(ROWS))
            self._lines = Counter((row.agent, in_one_line(row.entry().content)) for row in rows)

    def _compared_lines(self, rows: Sequence[Row], stored: Sequence[Row]) -> list[Compared]:
        """A line is there if the store has it as often as it came so far."""
        assert self._lines is not None, "the lines are read before"
        found: list[Compared] = []
        for row, new in zip(rows, stored, strict=True):
            if self.incoming.source.owner not in (None, new.agent):
                owner = one_line(str(self.incoming.source.owner))
                raise Refused(f"Agent {owner!r} has no notes here.", hint="Name an agent that has notes.")
            line = new.agent, column_text(new.values["content"])
            found.append(Compared(row, new, "same" if self._lines[line] > 0 else "new"))
            self._lines[line] -= 1
        return found

    def _counted(self, found: list[Compared]) -> list[Compared]:
        for one in found:
            self.counts[one.what] += 1
            if self.is_plan:
                self._count_for_plan(one)
        return found

    def _count_for_plan(self, one: Compared) -> None:
        self.losses.add(one.row, one.stored)
        category = column_text(one.stored.values.get("category")), one.what
        if category in self.categories or len(self.categories) < _MAX_NAMES:
            self.categories[category] += 1
        if one.what == "new":
            rule = None if self.expiry is None else self.expiry.rule(one.stored)
            if rule is not None:
                self.expiring[rule] += 1
            if len(self.previews) < PREVIEWS:
                entry = one.stored.entry()
                self.previews.append(replace(entry, content=entry.content[:_PREVIEW_LENGTH]))
        elif one.what != "same" and len(self.samples) < SAMPLES:
            self.samples.append(short_key(one.stored.key))

    def plan(self, kind: Callable[..., AnyPlan], makes: str | None, notes: Iterable[str] = (), **more: Any) -> AnyPlan:
        """Make the plan of what was counted; `more` is what its kind has besides."""
        return kind(
            new=self.counts["new"],
            same=self.counts["same"],
            taken=self.counts["taken"] + self.counts["second"],
            samples=tuple(self.samples),
            previews=tuple(self.previews),
            by_category=tuple((*category, number) for category, number in self.categories.items()),
            losses=tuple(self.losses.sentences()),
            makes=makes if self.counts else None,
            second=self.counts["second"],
            refused=self.refused,
            notes=(*self._expiring(), *notes),
            **more,
        )

    def _expiring(self) -> Iterator[str]:
        for rule, count in self.expiring.items():
            says = f"{rule.sentence} ({', '.join(rule.keys)})"
            yield f"ZeroClaw's hygiene will archive or delete {count:,} of them: {says}."


def renamed(incoming: Incoming, stored: Row) -> Row:
    """Return a memory under a key made from its content, which is the same each time."""
    content = stored.values["content"]
    data = content if isinstance(content, bytes) else column_text(content).encode("utf-8", "surrogatepass")
    key = f"{stored.key} (imported {hashlib.sha256(data).hexdigest()[:4]})"
    return with_key(stored, key, incoming.new_id(key, content, stored.agent))


async def compare_all(
    supply: Supply, memory: Memory, target: Target, now: datetime, on_progress: ProgressCallback | None
) -> Comparison:
    """Compare everything that comes, for a plan. Raises Stopped if `on_progress` says no."""
    profile = target.scoring_profile()
    expiry = await asyncio.to_thread(ExpiryRules.of, target.config, memory, profile.version, now)
    comparison = await Comparison.of(supply, memory, target, now)
    comparison.expiry, comparison.is_plan = expiry, True
    async for rows in supply.batches(to_notes=memory.keeps_lines):
        if on_progress is not None and not on_progress(comparison.count):
            raise Stopped("Reading was stopped.", hint="Nothing was imported.")
        await comparison.compare(rows)
    return comparison


def short_key(key: str) -> str:
    """A key as a plan names it."""
    return cut(masked(key[:_MAX_KEY_LENGTH]), _KEY_CELLS)
