"""Comparing memories that come with those of a store, and what the store would lose of them.

A memory is known by its agent and its key; a line of notes, whose key is only a place, by its agent and its text.
Memories are read in batches, so that nothing is loaded as a whole.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from zeroclaw_tui.backends.base import Memory
from zeroclaw_tui.backends.factory import backend_info
from zeroclaw_tui.curation.transfer.incoming import (
    DEFAULT_AGENT,
    OF_THE_STORE,
    VECTOR,
    Incoming,
    Supply,
    comparable,
)
from zeroclaw_tui.curation.transfer.target import Target
from zeroclaw_tui.memory.change import ProgressCallback, Row, Value
from zeroclaw_tui.memory.entry import column_text
from zeroclaw_tui.memory.errors import INTERRUPTED, InspectorError, Refused
from zeroclaw_tui.memory.note_lines import in_one_line, is_line, read_line
from zeroclaw_tui.memory.query import EXCERPTS, ROWS, Query
from zeroclaw_tui.memory.secret_text import masked
from zeroclaw_tui.memory.text import cut, first_names, one_line

What = Literal["new", "same", "taken"]
"""What a memory that comes is to the store."""

_SAMPLES = 5
"""How many taken keys a plan names."""
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


class Stopped(InspectorError):
    """`on_progress` said no while memories were read."""

    title = "Stopped"
    exit_code = INTERRUPTED


@dataclass(slots=True)
class Compared:
    """A memory that comes: as its source has it, as the store would have it, and what it is to the store.

    `existing` is the store's memory of that agent and key. A taken one without it has the key of another one that came.
    """

    row: Row
    stored: Row
    what: What
    existing: Row | None = None


@dataclass(slots=True)
class Comparison:
    """Compares batches of memories with a store, and counts.

    `is_empty` says that the store has no memory yet. `with_vectors` compares vectors too.
    """

    memory: Memory
    incoming: Incoming
    is_empty: bool
    with_vectors: bool
    counts: Counter[What] = field(default_factory=Counter)
    _seen: dict[int, int] = field(default_factory=dict)
    """Hashes of the contents that came, by the hash of agent and key."""
    _lines: Counter[tuple[str | None, str]] | None = None

    @classmethod
    async def of(
        cls, supply: Supply, memory: Memory, target: Target, now: datetime, *, with_vectors: bool = False
    ) -> Comparison:
        """Prepare a comparison with the open store of a target, or with the one that will be made."""
        exists = target.library is not None
        incoming = await Incoming.of(supply, memory, now, exists=exists)
        return cls(memory, incoming, not exists or await memory.count() == 0, with_vectors)

    async def compare(self, rows: Sequence[Row]) -> list[Compared]:
        completed = await asyncio.to_thread(lambda: list(map(self.incoming.completed, rows)))
        stored = await self.memory.as_stored(completed)
        if self.memory.about.keeps_lines:
            found = await self._compared_lines(rows, stored)
        else:
            existing = {} if self.is_empty else await self._existing({row.key for row in stored})
            found = await self._settled(await asyncio.to_thread(self._compared_rows, rows, stored, existing))
        self.counts.update(one.what for one in found)
        return found

    async def _existing(self, keys: Collection[str]) -> dict[tuple[str | None, str], Row]:
        """The store's memories of these keys, by agent and key."""
        rows = await self.memory.rows(Query(ROWS, keys=list(keys))) if keys else ()
        return {self.incoming.identity(row): row for row in reversed(rows)}

    def _compared_rows(
        self, rows: Sequence[Row], stored: Sequence[Row], existing: dict[tuple[str | None, str], Row]
    ) -> list[Compared]:
        found = []
        for row, new in zip(rows, stored, strict=True):
            identity, content = self.incoming.identity(new), hash(new.values["content"])
            known, present = hash(identity), existing.get(identity)
            if known in self._seen:
                # Agents that the store does not have may each have had a memory of this key.
                is_same, present = self._seen[known] == content, None
            else:
                is_same = present is not None and self.incoming.is_same(
                    row, new, present, with_vector=self.with_vectors
                )
            is_new = known not in self._seen and present is None
            self._seen.setdefault(known, content)
            found.append(Compared(row, new, "new" if is_new else "same" if is_same else "taken", present))
        return found

    async def _settled(self, found: list[Compared]) -> list[Compared]:
        """Find the memories that were brought under another key before, and give new ids where another one has them."""
        incoming = self.incoming
        others = [(one, renamed(incoming, one.stored)) for one in found if one.what == "taken"]
        brought = await self._existing({row.key for _, row in others}) if others else {}
        for one, row in others:
            present = brought.get(incoming.identity(row))
            if present is not None and present.entry().content == one.stored.entry().content:
                one.what = "same"
        with_id = [one for one in found if one.what == "new" and one.row.id and one.stored.id]
        ids = [] if self.is_empty else [one.stored.id for one in with_id]
        taken = {entry.id for entry in await self.memory.rows(Query(EXCERPTS, ids=ids))} if ids else set()
        for one in with_id:
            if one.stored.id in taken:
                one.stored = incoming.with_key(one.stored, one.stored.key)
            taken.add(one.stored.id)
        return found

    async def _compared_lines(self, rows: Sequence[Row], stored: Sequence[Row]) -> list[Compared]:
        """A line is there if the store has it as often as it came so far."""
        if self._lines is None:
            lines = () if self.is_empty else await self.memory.rows(Query(ROWS))
            self._lines = Counter((row.agent, in_one_line(row.entry().content)) for row in lines)
        owner = self.incoming.supply.owner
        found: list[Compared] = []
        for row, new in zip(rows, stored, strict=True):
            if owner not in (None, new.agent):
                raise Refused(
                    f"Agent {one_line(str(owner))!r} has no notes here.", hint="Name an agent that has notes."
                )
            line = new.agent, column_text(new.values["content"])
            found.append(Compared(row, new, "same" if self._lines[line] > 0 else "new"))
            self._lines[line] -= 1
        return found


def renamed(incoming: Incoming, stored: Row) -> Row:
    """Return a memory under a key made from its content, which is the same each time."""
    content = stored.values["content"]
    data = content if isinstance(content, bytes) else column_text(content).encode("utf-8", "surrogatepass")
    return incoming.with_key(stored, f"{stored.key} (imported {hashlib.sha256(data).hexdigest()[:4]})")


async def compare_all(
    supply: Supply, memory: Memory, target: Target, now: datetime, on_progress: ProgressCallback | None
) -> dict[str, Any]:
    """Compare everything that comes; gives what every plan has. Raises Stopped if `on_progress` says no."""
    comparison = await Comparison.of(supply, memory, target, now)
    counts, lost = comparison.counts, Counter[str]()
    samples: list[str] = []

    def add(found: Sequence[Compared]) -> None:
        for one in found:
            stored = read_line(one.stored) if memory.about.keeps_lines and not is_line(one.row) else one.stored
            for name in _lost_fields(one.row, stored):
                # Another program may have written any names.
                if name in lost or len(lost) < _MAX_NAMES:
                    lost[name] += 1
            if one.what == "taken" and len(samples) < _SAMPLES:
                samples.append(short_key(one.stored.key))

    async for rows in supply.batches(memory.about.keeps_lines):
        if on_progress is not None and not on_progress(counts.total()):
            raise Stopped("Reading was stopped.", hint="Nothing was imported.")
        await asyncio.to_thread(add, await comparison.compare(rows))
    return {
        "new": counts["new"],
        "same": counts["same"],
        "taken": counts["taken"],
        "samples": tuple(samples),
        "makes": f"{one_line(target.location)} is created first." if target.library is None and counts else None,
        "notes": (_loss_sentence(memory, lost),) if lost else (),
    }


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


def _loss_sentence(memory: Memory, lost: Counter[str]) -> str:
    info = backend_info(memory.name)
    label = f"The store {memory.name}" if info is None else info.title
    counts = sorted(lost.items(), key=lambda field: (-field[1], field[0]))
    fields = [f"{one_line(name)} ({count:,})" for name, count in counts]
    return f"{label} drops or changes: {first_names(fields, most=_MAX_NAMES_SHOWN, longest=_NAME_CELLS)}."


def short_key(key: str) -> str:
    """A key as a plan names it."""
    return cut(masked(key[:_MAX_KEY_LENGTH]), _KEY_CELLS)
