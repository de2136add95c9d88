"""What a store can do that has the trait's verbs alone: searching with evidence, and writing that can be undone.

Ids and times are set by the store then, and what undo restores is stored anew.
"""

from __future__ import annotations

import asyncio
import shlex
import threading
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zeroclaw_tui.backends.lookup import why_fixed
from zeroclaw_tui.backends.matching import require_unique_ids
from zeroclaw_tui.backends.writing import Operation, OwnedKey, RowWriter
from zeroclaw_tui.memory.change import Draft, Edit, Row, RowVersion, See, Value
from zeroclaw_tui.memory.entry import MemoryEntry, column_text
from zeroclaw_tui.memory.errors import Refused
from zeroclaw_tui.memory.query import ENTRIES, MemoryFilter, Query
from zeroclaw_tui.memory.recall import ScoredEntry
from zeroclaw_tui.memory.text import one_line

if TYPE_CHECKING:
    from zeroclaw_tui.backends.base import Memory
    from zeroclaw_tui.memory.recall import RecallRequest
    from zeroclaw_tui.scoring.evidence import OwnEvidence
    from zeroclaw_tui.scoring.neighbours import Near


_CARRIED = {
    "session_id": "sessions",
    "namespace": "namespaces",
    "importance": "importance",
    "pinned": "pinned",
    "superseded_by": "superseded",
    "kind": "kind",
}
"""The fields that a store through the trait may lose, with their names in `why_not`."""


async def nearest_by_words(memory: Memory, text: str, limit: int) -> Near:
    """Find the current memories that share the rarest words with a text."""
    from zeroclaw_tui.scoring.neighbours import RareWords, compared_text_of

    words = RareWords()

    def see(row: Row) -> None:
        words.add(
            row.id if row.handle is None else row.handle,
            compared_text_of(row.key, column_text(row.values.get("content"))),
        )

    await memory.scan(see, MemoryFilter())
    return await asyncio.to_thread(words.nearest, text, limit)


async def search_by_trait(memory: Memory, request: RecallRequest, *, deep: bool) -> OwnEvidence:
    """Rank memories by the recall of ZeroClaw's trait, and keep those that the requested agents may see.

    A plug-in may return plain memories, best first, with no scores.
    """
    from zeroclaw_tui.scoring.evidence import OwnEvidence, depth_of

    depth = depth_of(request, deep=deep)
    results: Sequence[Any] = await memory.recall(request.query, depth, request.session_id, request.since, request.until)
    found = [result if isinstance(result, ScoredEntry) else ScoredEntry(result, 0, None) for result in results]
    require_unique_ids([scored.entry for scored in found], memory.name)
    visible = [
        (place, scored)
        for place, scored in enumerate(found, 1)
        if request.agents is None or scored.entry.agent in (None, *request.agents)
    ]
    return OwnEvidence(
        request=request,
        entries=tuple(replace(scored, rank=rank, stage=memory.name) for rank, (_, scored) in enumerate(visible, 1)),
        mode=memory.name,
        scale="its own",
        depth=depth if len(found) >= depth else None,
        places=tuple(place for place, _ in visible),
    )


def version_of(entry: MemoryEntry) -> RowVersion:
    """The version of a memory with its full content; its state is the row's fingerprint."""
    return RowVersion(
        id=entry.id,
        state=Row.of(entry).fingerprint,
        key=entry.key,
        category=entry.category,
        size=entry.size,
        timestamp=entry.timestamp,
        updated_at=entry.updated_at or "",
        agent=entry.agent,
        handle=entry.handle,
    )


async def show(rows: Iterable[Row], see: See) -> None:
    """Show rows one by one, on a thread on which they are taken too; cancelling the await ends it."""
    stop = threading.Event()

    def look() -> None:
        for row in rows:
            if stop.is_set():
                return
            see(row)

    try:
        await asyncio.to_thread(look)
    finally:
        stop.set()


class TraitWriter(RowWriter):
    """Writes through the trait's own verbs; rows are identified by their keys.

    A plug-in may also have the trait's `store_batch` of (key, content, category) and `get_batch` of keys. What another
    program writes between the comparison and the write is overwritten: the trait cannot prevent that.
    """

    def __init__(self, memory: Memory) -> None:
        super().__init__()
        self._memory = memory

    def check(self, after: Draft | Edit) -> None:
        for name in after.values if isinstance(after, Edit) else ():
            if (why := why_fixed(self._memory, name)) is not None:
                raise Refused(why)

    async def read(self, rows: Sequence[RowVersion | Row], keys: Collection[OwnedKey]) -> Iterable[Row]:
        """Raises Refused if several memories have one of the keys."""
        wanted = [*dict.fromkeys([*map(self.identity, rows), *(key for _, key in keys)])]
        get_batch = getattr(self._memory, "get_batch", None)
        found = await (self._memory.rows(Query(ENTRIES, keys=wanted)) if get_batch is None else get_batch(wanted))
        for key, count in Counter(entry.key for entry in found).items():
            if count > 1:
                raise Refused(
                    f"Several memories have the key {key!r}, and {self._memory.name} writes by the key alone.",
                    hint="The program that stored them can change one of them.",
                )
        return map(Row.of, found)

    def identity(self, row: RowVersion | Row) -> str:
        return row.key

    def same(self, one: Row, other: Row) -> bool:
        """Whether they agree in what the trait stores."""
        names = ["key", "content", "category", *(["session_id"] if "sessions" not in self._memory.why_not else [])]
        return all(one.values.get(name) == other.values.get(name) for name in names)

    def new_row(self, draft: Draft, existing: Row | None, owner: str | None) -> Row:
        """With the key for an id: only the store itself sets ids and times."""
        entry = draft.entry(draft.key)
        if existing is not None:
            entry = replace(entry, id=existing.id, timestamp=str(existing.values["created_at"]))
        return Row.of(entry)

    def edited_row(self, row: Row, edit: Edit) -> Row:
        is_same = all(row.values.get(name) == value for name, value in edit.values.items())
        return row if is_same else replace(row, values={**row.values, **edit.values})

    def restored_row(self, row: Row, existing: Row | None, owner: str | None, *, new_id: bool) -> Row:
        return row

    def as_stored(self, row: Row) -> Row:
        """With what the trait's `store` takes."""
        entry = row.entry()
        values: dict[str, Value] = {"key": entry.key, "content": entry.content, "category": entry.category}
        if "sessions" not in self._memory.why_not and entry.session_id is not None:
            values["session_id"] = entry.session_id
        return Row("", values)

    async def write(self, operations: Sequence[Operation]) -> Mapping[str, Row]:
        """Store what is new, then forget the keys that are left over."""
        new = {one.new.key: one.new for one in operations if one.new is not None}
        entries = [row.entry() for row in new.values()]
        store_batch = getattr(self._memory, "store_batch", None)
        if store_batch is not None and entries and all(entry.session_id is None for entry in entries):
            await store_batch([(entry.key, entry.content, entry.category) for entry in entries])
        else:
            for entry in entries:
                await self._memory.store(entry.key, entry.content, entry.category, entry.session_id)
        for operation in operations:
            if operation.existing is not None and operation.existing.key not in new:
                await self._memory.forget(operation.existing.key)
        written = {row.key: row for row in await self.read((), [(None, key) for key in new])} if new else {}
        for key, row in new.items():
            if key not in written:
                raise Refused(f"{self._memory.name} took the memory {key!r}, but does not have it.")
            self.notes |= dict.fromkeys(self._losses(row, written[key]))
        return written

    def _losses(self, wanted: Row, got: Row) -> list[str]:
        """A sentence for each field that the store did not take."""
        lost = [name for name in _CARRIED if wanted.values.get(name) not in (None, got.values.get(name))]
        lost += ["agent"] if wanted.agent not in (None, got.agent) else []
        why_not, taker = self._memory.why_not, self._memory.name
        sentences = [why_not.get(_CARRIED.get(name, "agents")) or f"{taker} did not take the {name}." for name in lost]
        created = wanted.values.get("created_at")
        if created and created != got.values.get("created_at"):
            sentences.append("It was stored anew, so its id and its times are new.")
        return sentences


def copy_hint(path: Path) -> str:
    """The command that copies the memories of another program's store to an agent of ZeroClaw's, as a sentence."""
    command = f"zeroclaw memory copy --location {shlex.quote(one_line(str(path)))} --to sqlite"
    return f"`{command}` copies its memories to your agent's database."
