"""What can be done with a SQLite database besides reading and writing memories."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from zeroclaw_tui.backends.cancellation import run_cancellable
from zeroclaw_tui.memory.errors import Corrupt

# Recall looks for cached vectors here: what the rest needs is imported by its first use.
if TYPE_CHECKING:
    import numpy as np

    from zeroclaw_tui.backends.health import CompactResult, ExpiredRow, Pages, Repair, Retention, StoreFacts
    from zeroclaw_tui.backends.sqlite.store import SqliteMemory
    from zeroclaw_tui.memory.change import Row
    from zeroclaw_tui.memory.statistics import Storage


class SqliteUpkeep:
    """DatabaseUpkeep of a SQLite database."""

    def __init__(self, store: SqliteMemory) -> None:
        self._store = store
        self.disconnected = store.disconnected

    async def examine(self) -> StoreFacts:
        from zeroclaw_tui.backends.sqlite.health import store_facts
        from zeroclaw_tui.files.whole_database import processes_using

        schema, health = self._store.schema, await self._store.health()
        facts = await self._store.reads.run(lambda connection: store_facts(connection, schema, health))
        return replace(facts, holders=await asyncio.to_thread(processes_using, self._store.path))

    async def check_pages(self) -> Pages:
        """SQLite's and FTS5's own checks, on a copy made with the backup API; cancelling the await stops them."""
        from zeroclaw_tui.backends.sqlite.repair import check_pages

        return await run_cancellable(check_pages, self._store.path, self._store.schema)

    async def compact(self) -> CompactResult:
        """The keyword index built anew, VACUUM, and the log folded in."""
        from zeroclaw_tui.backends.sqlite.repair import compact_database

        return await run_cancellable(compact_database, self._store.path)

    async def expired(self, retention: Retention) -> Sequence[ExpiredRow]:
        """As ZeroClaw's hygiene counts; a column that is missing counts as after migration."""
        from zeroclaw_tui.backends.sqlite.hygiene import expired_rows

        schema = self._store.schema
        return await self._store.reads.run(lambda connection: expired_rows(connection, schema, retention))

    async def storage(self) -> Storage:
        from zeroclaw_tui.backends.sqlite.storage import storage_of

        schema, path = self._store.schema, self._store.path
        return await self._store.reads.run(lambda connection: storage_of(connection, schema, path))

    def create_from_rows(self, generation: str, rows: Sequence[Row], now: str) -> None:
        """An empty file in its place is replaced."""
        from zeroclaw_tui.backends.sqlite.repair import make_database

        self._store.refuse_read_only()
        make_database(self._store.path, generation, rows, now)

    async def repair(self, what: Repair = "rebuild keyword index") -> int:
        """Each by ZeroClaw's own statements; the file is opened again afterwards."""
        from zeroclaw_tui.backends.sqlite.repair import fold_log, repair_hydrated

        log_bytes = 0
        match what:
            case "rebuild keyword index":
                await self._rebuild_index()
            case "repair hydrated database":
                await self._store.repair_rows(repair_hydrated)
            case "fold in write-ahead log":
                log_bytes = await self._store.repair_rows(fold_log)
        await self._store.open_anew()
        return log_bytes

    async def _rebuild_index(self) -> None:
        from zeroclaw_tui.backends.sqlite.repair import rebuild_index, replace_index
        from zeroclaw_tui.backends.sqlite.transaction import IndexOutOfStep

        try:
            await self._store.write(rebuild_index)
        except (Corrupt, IndexOutOfStep):
            async with self._store.disconnected():
                await run_cancellable(replace_index, self._store.path)

    async def check_model(self, provider: str, model: str, dimensions: int) -> None:
        """As ZeroClaw >= 0.8.3 notes the model in memory_meta."""
        from zeroclaw_tui.backends.sqlite.write import another_model, other_model

        schema = self._store.schema
        theirs = await self._store.reads.run(lambda one: other_model(one, schema, provider, model, dimensions))
        if theirs is not None:
            raise another_model(theirs)

    async def cached_vector(self, text: str) -> np.ndarray | None:
        if "embedding_cache" not in self._store.schema.tables:
            return None
        statement = "SELECT embedding FROM embedding_cache WHERE content_hash = ?"
        found = await self._store.fetch(statement, [_content_hash(text)])
        if not found or not isinstance(found[0][0], bytes) or not found[0][0]:
            return None
        from zeroclaw_tui.backends.sqlite.search import numbers_of

        return numbers_of(found[0][0])


def _content_hash(content: str) -> str:
    """ZeroClaw's key of a content: the first eight bytes of the SHA-256, in hexadecimal."""
    return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:16]
