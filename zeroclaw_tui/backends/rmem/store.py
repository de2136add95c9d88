"""R-Mem's database: read-only, and recalled as R-Mem itself does it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from zeroclaw_tui.backends.about import About, OwnRule
from zeroclaw_tui.backends.base import Entries
from zeroclaw_tui.backends.cancellation import ReadWorkerPool
from zeroclaw_tui.backends.fallback import ignored_parts
from zeroclaw_tui.backends.foreign import ForeignFile
from zeroclaw_tui.backends.health import ContentRevision
from zeroclaw_tui.backends.rmem.recall import DEFAULT_LIMIT, STAGE, UserRecall, best_first, recall_for_user
from zeroclaw_tui.backends.rmem.tables import Contents, Row, memory_id, read_contents
from zeroclaw_tui.backends.upkeep import Upkeep
from zeroclaw_tui.files.database import as_text
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.scoring.evidence import OwnEvidence
from zeroclaw_tui.scoring.profiles import Trial

if TYPE_CHECKING:
    import numpy as np

NOT_READ = "R-Mem's own agents read this; no ZeroClaw does."
READ_ONLY = (
    "R-Mem databases are read-only here, because R-Mem keeps each deleted text in its archive and history. Change "
    "memories with `rustmem`, or copy them to another store with `zeroclaw memory copy`."
)
WHY_NOT = {
    "sessions": "R-Mem has no sessions. Its scope is the user_id, shown as the namespace.",
    "agents": "R-Mem does not distinguish agents. Its scope is the user_id, shown as the namespace.",
    "pinned": "R-Mem cannot pin a memory.",
    "importance": "R-Mem has no importance.",
    "write": READ_ONLY,
}


class RMemMemory(ForeignFile[Contents]):
    """A rustmem.db of R-Mem 0.1.0 to 0.3.0; its user_id is the namespace.

    The archive is shown as superseded memories, relations as memories of the kind "semantic:relation".
    """

    name = "rmem"
    program = "R-Mem"
    about = About(
        not_read_because=NOT_READ,
        rule=OwnRule("R-Mem's own rule", DEFAULT_LIMIT),
        keeps_deleted="R-Mem keeps a copy of what it deletes in its archive, and the text in its history.",
    )
    why_not = WHY_NOT

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._reads = ReadWorkerPool(path)

    @property
    def upkeep(self) -> Upkeep:
        return Upkeep(history=self)

    def read(self) -> Contents:
        return read_contents(self.path)

    def describe(self, contents: Contents) -> Iterator[str]:
        yield f"This is the store of R-Mem {contents.version}: {NOT_READ}"
        if len(contents.namespaces) > 1:
            yield f"It holds the memories of {len(contents.namespaces):,} users; --namespace names one."

    async def close(self) -> None:
        await self._reads.stop()

    async def history(self, id: str) -> Sequence[ContentRevision]:
        statement = "SELECT action, old_text, new_text, created_at FROM history WHERE memory_id = ? ORDER BY rowid"

        def read(connection: sqlite3.Connection) -> Sequence[ContentRevision]:
            rows = connection.execute(statement, (memory_id(id),)).fetchall()
            return [ContentRevision(as_text(action), old, new, as_text(at)) for action, old, new, at in rows]

        return await self._reads.run(read)

    async def related(self, entry: MemoryEntry) -> Entries:
        """The other versions of a memory and the relations whose source or destination it names; for a relation, the
        memories that name one of the two."""
        contents = await self._loaded()
        row, user = contents.row_by_handle.get(entry.handle), entry.namespace or ""
        if row is None:
            return []
        if row.table == "relations":
            return [other.entry for other in contents.of("memories", user) if _names_end(other.entry, row)]
        versions = [*contents.of("memories", user), *contents.of("archive", user)]
        found = [
            other.entry for other in versions if other is not row and memory_id(other.entry.id) == memory_id(entry.id)
        ]
        valid = [other for other in contents.of("relations", user) if other.entry.superseded_by is None]
        return found + [other.entry for other in valid if _names_end(entry, other)]

    async def search(self, trial: Trial, vector: np.ndarray | None = None, *, deep: bool = False) -> OwnEvidence:
        request, contents = trial.request, await self._loaded()
        users = contents.namespaces if request.namespace is None else (request.namespace,)
        lengths = {entry.embedding_dimensions for entry in contents.entries if entry.embedding_dimensions}
        is_usable = vector is not None and (not lengths or len(vector) in lengths)
        usable = vector.astype("float32") if vector is not None and is_usable else None

        def recall_each(connection: sqlite3.Connection) -> Sequence[UserRecall]:
            query, limit = request.query, request.limit
            return [recall_for_user(connection, contents, user, query, usable, limit) for user in users]

        recalls = await self._reads.run(recall_each)
        results = best_first([result for recall in recalls for result in recall.results])[: max(0, request.limit)]
        notes = ignored_parts(request, WHY_NOT)
        if len(recalls) > 1:
            notes.append(f"R-Mem searches for one user at a time: these are the results of its {len(recalls):,} users.")
        if usable is None:
            notes.append("The query has no vector of the length of those here, so R-Mem ranks nothing.")
        failed = next((recall.error for recall in recalls if recall.error is not None), None)
        if failed is not None:
            notes.append(f"The keyword stage fails, as it does in R-Mem, so all memories are ranked: {failed}.")
        return OwnEvidence(
            request=request,
            entries=tuple(results),
            mode=STAGE,
            scale="cosine; relations 0.9",
            notes=tuple(notes),
            is_of_limit=True,
            program=self.about.program,
        )


def _names_end(entry: MemoryEntry, relation: Row) -> bool:
    """Whether a memory contains the source or the destination of a relation."""
    content = entry.content.casefold()
    return any(end and end.casefold() in content for end in relation.ends)
