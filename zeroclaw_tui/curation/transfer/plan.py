"""What an import or a copy would bring, in numbers, sentences and JSON."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from zeroclaw_tui.backends.base import Memory
from zeroclaw_tui.backends.factory import backend_info
from zeroclaw_tui.curation.transfer.comparison import (
    DEFAULT_AGENT,
    OF_THE_STORE,
    VECTOR,
    Compared,
    Comparison,
    comparable,
)
from zeroclaw_tui.curation.transfer.supply import Stopped, Supply
from zeroclaw_tui.curation.transfer.target import Target
from zeroclaw_tui.memory.change import ProgressCallback, Row, Value
from zeroclaw_tui.memory.note_lines import is_line, read_line
from zeroclaw_tui.memory.secret_text import masked
from zeroclaw_tui.memory.text import cut, first_names, one_line

OnClash = Literal["skip", "overwrite", "rename"]

_CLASHES: dict[OnClash, str] = {
    "skip": "left out (--overwrite replaces the existing ones, --rename adds these under another key)",
    "overwrite": "replace the existing ones",
    "rename": "added under another key",
}
_MAX_SAMPLES = 5
_KEY_CELLS, _MAX_KEY_LENGTH = 60, 400
_USUAL: dict[str, Sequence[Value]] = {"namespace": ("default",), "pinned": (0,), "importance": (0.5,)}
"""Values that ZeroClaw gives by itself."""
_NAMES = {
    VECTOR: "vector",
    "created_at": "time of creation",
    "updated_at": "time of change",
    "session_id": "session",
    "superseded_by": "superseding memory",
    "pinned": "pin",
}
_OF_DOCUMENTS = frozenset({"id", "key", "content", "category", "timestamp", "session_id", "agent_id"})
"""The fields of a memory in a JSON document."""
_MAX_NAMES, _MAX_NAMES_SHOWN, _NAME_CELLS = 200, 12, 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What would come: how many new memories, how many that are there already, and how many whose key is taken.

    `samples` are the first taken keys. `notes` are sentences about what the store does not keep and what was not read,
    `makes` is one about what is created first, or None.
    """

    new: int
    same: int
    taken: int
    samples: tuple[str, ...]
    makes: str | None
    notes: tuple[str, ...]

    @property
    def count(self) -> int:
        return self.new + self.same + self.taken

    def brings(self, on_clash: OnClash) -> int:
        return self.new + (0 if on_clash == "skip" else self.taken)

    def counts(self, on_clash: OnClash | None = None) -> Iterator[str]:
        """How many are new, already there, and whose key is taken, with what becomes of those where it is decided."""
        yield f"{self.new:,} new"
        if self.same:
            yield f"{self.same:,} already there, the same"
        if self.taken:
            becomes = "" if on_clash is None else f": {_CLASHES[on_clash]}"
            yield f"{self.taken:,} whose key is taken{becomes}"

    def as_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("new", "same", "taken", "samples", "makes")}


async def plan_transfer(
    supply: Supply, memory: Memory, target: Target, now: datetime, on_progress: ProgressCallback | None
) -> Plan:
    """Compare everything that comes. Raises Stopped if `on_progress` says no."""
    comparison = await Comparison.of(supply, memory, now, exists=target.library is not None)
    counts, lost = comparison.counts, Counter[str]()
    samples: list[str] = []

    def add(found: Sequence[Compared]) -> None:
        for one in found:
            stored = read_line(one.stored) if memory.about.keeps_lines and not is_line(one.row) else one.stored
            for name in _lost_fields(one.row, stored):
                # Another program may have written any names.
                if name in lost or len(lost) < _MAX_NAMES:
                    lost[name] += 1
            if one.what == "taken" and len(samples) < _MAX_SAMPLES:
                samples.append(short_key(one.stored.key))

    async for rows in supply.batches(memory.about.keeps_lines):
        if on_progress is not None and not on_progress(counts.total()):
            raise Stopped("Reading was stopped.", hint="Nothing was imported.")
        await asyncio.to_thread(add, await comparison.compare(rows))
    info = backend_info(memory.name)
    label = f"The store {memory.name}" if info is None else info.title
    most_first = sorted(lost.items(), key=lambda field: (-field[1], field[0]))
    fields = [f"{one_line(name)} ({count:,})" for name, count in most_first]
    named = first_names(fields, most=_MAX_NAMES_SHOWN, longest=_NAME_CELLS)
    return Plan(
        new=counts["new"],
        same=counts["same"],
        taken=counts["taken"],
        samples=tuple(samples),
        makes=f"{one_line(target.location)} is created first." if target.library is None and counts else None,
        notes=(f"{label} drops or changes: {named}.",) if lost else (),
    )


def _lost_fields(row: Row, stored: Row) -> Iterator[str]:
    """What the store changes of a memory or has no place for, by name."""
    for name, value in row.values.items():
        other = stored.values.get(name)
        if name in OF_THE_STORE or value in (None, "", other, *_USUAL.get(name, ())):
            continue
        if comparable(name, value) != comparable(name, other):
            yield from (_NAMES.get(field, field) for field in _fields_in(name, value))
    if row.agent not in (None, DEFAULT_AGENT, stored.agent):
        yield "agent"


def _fields_in(name: str, value: Value) -> list[str]:
    """What is lost with a column: itself, or the further fields of the JSON document that it has."""
    if not isinstance(value, str) or not value.startswith("{"):
        return [name]
    try:
        document = json.loads(value)
    except (ValueError, RecursionError):
        return [name]
    return [field for field, stated in document.items() if field not in _OF_DOCUMENTS and stated is not None]


def short_key(key: str) -> str:
    """A key as a plan names it."""
    return cut(masked(key[:_MAX_KEY_LENGTH]), _KEY_CELLS)
