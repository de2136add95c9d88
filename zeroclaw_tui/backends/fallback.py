"""Search with evidence and undoable writes for stores that only have the methods of ZeroClaw's trait.

Such a store sets ids and times itself, and undo restores a memory by storing it again.
"""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from zeroclaw_tui.backends.about import why_not_field
from zeroclaw_tui.backends.matching import require_unique_ids
from zeroclaw_tui.backends.writing import OwnedKey, RowWriter
from zeroclaw_tui.memory.change import Draft, Edit, Row, RowChange, RowVersion, RowVisitor, Value
from zeroclaw_tui.memory.entry import as_text
from zeroclaw_tui.memory.errors import Refused
from zeroclaw_tui.memory.query import ENTRIES, MemoryFilter, Query
from zeroclaw_tui.memory.recall import ScoredEntry

if TYPE_CHECKING:
    from zeroclaw_tui.memory.recall import RecallRequest
    from zeroclaw_tui.scoring.evidence import OwnEvidence
    from zeroclaw_tui.scoring.neighbours import Near
    from zeroclaw_tui.scoring.profiles import Trial

Scan = Callable[[RowVisitor, MemoryFilter], Awaitable[None]]
_OPTIONAL_FIELDS = ("content", "category", "session_id", "namespace", "importance", "pinned", "superseded_by", "kind")
"""Fields that may be lost when writing through the trait."""


async def nearest_by_words(scan: Scan, text: str, limit: int) -> Near:
    """Find the current memories that share the rarest words with a text."""
    from zeroclaw_tui.scoring.neighbours import RareWords, compared_text_of

    words = RareWords()

    def add(row: Row) -> None:
        content = as_text(row.values.get("content"))
        words.add(row.id if row.handle is None else row.handle, compared_text_of(row.key, content))

    await scan(add, MemoryFilter())
    return await asyncio.to_thread(words.nearest, text, limit)


def evidence_of(results: Sequence[Any], trial: Trial, depth: int, name: str) -> OwnEvidence:
    """Make evidence from the results of a store's own recall with the limit `depth`, for the agents of a request.

    A plug-in may return plain memories, best first, with no scores.
    """
    from zeroclaw_tui.scoring.evidence import OwnEvidence

    agents = trial.request.agents
    found = [result if isinstance(result, ScoredEntry) else ScoredEntry(result, 0, None) for result in results]
    require_unique_ids([scored.entry for scored in found], name)
    visible = [
        (place, scored)
        for place, scored in enumerate(found, 1)
        if agents is None or scored.entry.agent in (None, *agents)
    ]
    return OwnEvidence(
        trial=trial,
        entries=tuple(scored._replace(rank=rank, stage=name) for rank, (_, scored) in enumerate(visible, 1)),
        mode=name,
        scale="its own",
        depth=depth if len(found) >= depth else None,
        places=tuple(place for place, _ in visible),
    )


def ignored_parts(request: RecallRequest, why_not: Mapping[str, str]) -> list[str]:
    """List a sentence for each filter of a request that the store does not support and so ignores."""
    asked = {"sessions": request.session_id, "agents": request.agents, "namespaces": request.namespace}
    return [why_not[name] for name, value in asked.items() if value and name in why_not]


async def visit_rows(rows: Iterable[Row], visit: RowVisitor) -> None:
    """Call `visit` with each row, on a thread that also iterates over the rows; cancelling the await ends it."""
    stop = threading.Event()

    def visit_until_stopped() -> None:
        for row in rows:
            if stop.is_set():
                return
            visit(row)

    try:
        await asyncio.to_thread(visit_until_stopped)
    finally:
        stop.set()


class TraitWriter(RowWriter):
    """Writes with the trait's own methods; rows are identified by their keys.

    A plug-in may also have the trait's `store_batch` of (key, content, category) and `get_batch` of keys. A write of
    another program between the comparison and the write is overwritten: the trait cannot prevent that.
    """

    def __init__(self, store: Any) -> None:
        """`store` is a Memory, whose module imports this one."""
        super().__init__()
        self._store, self.why_not = store, store.why_not
        self._stored = ["key", "content", "category", *(["session_id"] if "sessions" not in store.why_not else [])]

    async def read(self, rows: Sequence[RowVersion | Row], keys: Collection[OwnedKey]) -> Iterable[Row]:
        """Raises Refused if several memories have one of the keys."""
        wanted = [*dict.fromkeys([*map(self.identity, rows), *(key for _, key in keys)])]
        get_batch = getattr(self._store, "get_batch", None)
        found = await (self._store.rows(Query(ENTRIES, keys=wanted)) if get_batch is None else get_batch(wanted))
        for key, count in Counter(entry.key for entry in found).items():
            if count > 1:
                raise Refused(
                    f"Several memories have the key {key!r}, and {self._store.name} writes by the key alone.",
                    hint="The program that stored them can change one of them.",
                )
        return map(Row.from_entry, found)

    def identity(self, row: RowVersion | Row) -> str:
        return row.key

    def same(self, one: Row, other: Row) -> bool:
        return all(one.values.get(name) == other.values.get(name) for name in self._stored)

    def new_row(self, draft: Draft, existing: Row | None, owner: str | None) -> Row:
        """Use the key as the id: only the store itself sets ids and times."""
        entry = draft.entry(draft.key)
        if existing is not None:
            entry = replace(entry, id=existing.id, timestamp=str(existing.values["created_at"]))
        return Row.from_entry(entry)

    def edited_row(self, row: Row, edit: Edit) -> Row:
        if not edit.values:
            raise Refused("This store accepts vectors only together with their memories.", hint="Nothing was changed.")
        return replace(row, values={**row.values, **edit.values})

    def restored_row(self, row: Row, existing: Row | None, owner: str | None, *, new_id: bool) -> Row:
        return row

    def as_stored(self, row: Row) -> Row:
        """Reduce a row to the fields that the trait's `store` takes."""
        values: dict[str, Value] = {name: row.values.get(name) for name in self._stored}
        return Row("", {name: value for name, value in values.items() if value is not None})

    async def write(self, changes: Sequence[RowChange]) -> Mapping[str, Row]:
        """Store the new rows, then delete the old keys that none of them has."""
        new = {one.after.key: one.after for one in changes if one.after is not None}
        entries = [row.entry() for row in new.values()]
        store_batch = getattr(self._store, "store_batch", None)
        if store_batch is not None and entries and all(entry.session_id is None for entry in entries):
            await store_batch([(entry.key, entry.content, entry.category) for entry in entries])
        else:
            for entry in entries:
                await self._store.store(entry.key, entry.content, entry.category, entry.session_id)
        old = {change.before.key: change.before for change in changes if change.before is not None}
        removed = [key for key in old if key not in new]
        for key in removed:
            await self._store.forget(key)
        written = {row.key: row for row in await self.read((), [(None, key) for key in (*new, *removed)])}
        for key, row in new.items():
            if key not in written or (written[key] == old.get(key) and not self.same(written[key], row)):
                raise Refused(f"{self._store.name} accepted the memory {key!r}, but does not have it.")
            self.notes |= dict.fromkeys(self._losses(row, written[key]))
        for key in written.keys() - new.keys():
            raise Refused(f"{self._store.name} accepted the deletion of {key!r}, but still has it.")
        return written

    def _losses(self, wanted: Row, got: Row) -> list[str]:
        """List a sentence for each field that the store did not take."""
        lost = [name for name in _OPTIONAL_FIELDS if wanted.values.get(name) not in (None, got.values.get(name))]
        lost += ["agent"] if wanted.agent not in (None, got.agent) else []
        why_not, taker = self._store.why_not, self._store.name
        sentences = [why_not_field(why_not, name) or f"{taker} did not store the {name} as given." for name in lost]
        created = wanted.values.get("created_at")
        if created and created != got.values.get("created_at"):
            sentences.append("It was stored again, so its id and its times are new.")
        return sentences
