"""The memories that come from a file or from another store, in batches, and what is known of their vectors."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from zeroclaw_tui.backends.base import Memory
from zeroclaw_tui.curation.formats.jsonl import Identity
from zeroclaw_tui.memory.change import Row, Value
from zeroclaw_tui.memory.errors import INTERRUPTED, InspectorError
from zeroclaw_tui.memory.note_lines import line_place, read_line
from zeroclaw_tui.memory.query import HANDLES, OLDEST_STORED, ROWS, MemoryFilter, Query

BATCH_ROWS = 2_000
"""How many memories come at once; the store itself writes fewer in one transaction."""
_BYTES_EACH = 4


class Stopped(InspectorError):
    """`on_progress` said no while memories were read."""

    title = "Stopped"
    exit_code = INTERRUPTED


@dataclass(frozen=True, slots=True)
class KnownVectors:
    """What a store says of its vectors: `identity` as ZeroClaw >= 0.8.3 notes it, `dimensions` those of most."""

    identity: Identity | None = None
    dimensions: int | None = None

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> KnownVectors:
        """Read it from the facts of a store's health."""
        noted: Mapping[str, Any] = facts.get("embedding identity") or {}
        parts = [noted.get(f"embedding_{name}") for name in ("provider", "model", "dimensions")]
        if all(isinstance(part, str) for part in parts) and str(parts[2]).isdecimal():
            identity = Identity(str(parts[0]), str(parts[1]), int(str(parts[2])))
            return cls(identity, identity.dimensions)
        lengths: Mapping[str, int] = facts.get("embedded by dimensions") or {}
        most = max(lengths, key=lambda length: lengths[length], default=None)
        return cls(None, None if most is None else int(most))

    def fits(self, vector: Value, made_by: Identity | None) -> bool:
        """Whether a vector fits among them, as far as both sides say what made theirs."""
        if not isinstance(vector, bytes) or not vector or len(vector) % _BYTES_EACH:
            return False
        if self.dimensions is not None and len(vector) != _BYTES_EACH * self.dimensions:
            return False
        return made_by is None or self.identity is None or made_by == self.identity


@dataclass(frozen=True, slots=True)
class Supply:
    """The memories of a file (or a folder of files), of notes, or of another store, in batches.

    `batches` is called again for each reading, with True where notes take the memories: there lines keep their order.
    """

    batches: Callable[[bool], AsyncIterator[Sequence[Row]]]
    is_file: bool = True
    vectors_by: Identity | None = None
    embeds_itself: bool = False
    """Whether its vectors are of key and content together."""
    has_own_times: bool = True
    """Whether a memory with other times is another one: times of notes and of other tools are often those of files."""
    owner: str | None = None
    """The agent that all memories shall belong to, whatever the source says."""


async def store_supply(memory: Memory, filter: MemoryFilter) -> Supply:
    """The memories of a store that a filter selects."""

    async def lines(to_notes: bool) -> AsyncIterator[Sequence[Row]]:
        """Lines of notes day by day; for a store with keys, lines whose key comes again later are at the end."""
        rows = sorted(await memory.rows(Query(ROWS, filter)), key=line_place)
        if not to_notes:
            memories = [read_line(line) for line in rows]
            last = {(row.agent, row.key): at for at, row in enumerate(memories)}
            rows = sorted(memories, key=lambda row: row is not memories[last[row.agent, row.key]])
        for start in range(0, len(rows), BATCH_ROWS):
            yield rows[start : start + BATCH_ROWS]

    async def rows(to_notes: bool) -> AsyncIterator[Sequence[Row]]:
        """Rows in the order of storing."""
        handles = await memory.rows(Query(HANDLES, filter, OLDEST_STORED))
        for start in range(0, len(handles), BATCH_ROWS):
            yield await memory.rows(Query(ROWS, handles=handles[start : start + BATCH_ROWS]))

    if memory.about.keeps_lines:
        return Supply(lines, is_file=False, has_own_times=False)
    facts = (await memory.health()).facts if "vectors" not in memory.why_not else {}
    made_by = KnownVectors.from_facts(facts).identity
    return Supply(rows, is_file=False, vectors_by=made_by, embeds_itself=memory.about.embeds_itself)
