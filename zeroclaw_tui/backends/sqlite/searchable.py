"""The verbs of a store of ZeroClaw's that search: recall, what it is decided from, and the vectors."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from zeroclaw_tui.backends import generic_recall
from zeroclaw_tui.backends.base import Entries, Neighbours, Scored, StoreRecall
from zeroclaw_tui.backends.sqlite.word_index import nearest_by_index
from zeroclaw_tui.backends.sqlite.writable import WritableSqlite
from zeroclaw_tui.memory.entry import Handle, MemoryEntry
from zeroclaw_tui.memory.errors import SearchInterrupted
from zeroclaw_tui.memory.recall import RecallRequest
from zeroclaw_tui.scoring.evidence import Evidence, WordShare
from zeroclaw_tui.scoring.profiles import NEWEST, ScoringProfile, profile_for
from zeroclaw_tui.scoring.rare_words import WordNeighbours
from zeroclaw_tui.scoring.settings import ScoringSettings

if TYPE_CHECKING:
    import numpy as np

    from zeroclaw_tui.backends.sqlite.search import SqliteSearch


class SearchableSqlite(WritableSqlite):
    """What searches, on connections and threads of its own, which are made at the first use."""

    path: Path
    _search: SqliteSearch | None
    _search_opening: asyncio.Lock

    async def recall(
        self, query: str, limit: int, session_id: str | None = None, since: str | None = None, until: str | None = None
    ) -> Scored:
        """The store's recall by the rules of the newest version with this schema, without a query vector."""
        request = RecallRequest(query, limit, session_id=session_id, since=since, until=until, layer="store")
        found = await self.search(request, profile_for(self.newest_version or NEWEST), ScoringSettings())
        return list(found.entries)

    async def search(
        self,
        request: RecallRequest,
        profile: ScoringProfile,
        settings: ScoringSettings,
        query_vector: np.ndarray | None = None,
    ) -> StoreRecall:
        """ZeroClaw's recall with every part of the score, by the rules of `profile`."""
        # Its own, whatever a store that adds to these rows gives as evidence.
        evidence = await SearchableSqlite.recall_evidence(self, request, profile, settings, query_vector)
        return generic_recall.store_recall(evidence, request, profile, settings)

    async def recall_evidence(
        self,
        request: RecallRequest,
        profile: ScoringProfile,
        settings: ScoringSettings,
        query_vector: np.ndarray | None = None,
    ) -> Evidence:
        """The keyword, vector and LIKE hits that this recall looks at, cut as ZeroClaw's statements cut them."""
        return await (await self._searching()).recall_evidence(request, profile, settings, query_vector)

    async def cached_vector(self, text: str) -> np.ndarray | None:
        """The vector ZeroClaw's cache holds for exactly this text."""
        return await (await self._searching()).cached_vector(text)

    async def prepare_vectors(self) -> None:
        """Load the vectors ahead of the first search."""
        await (await self._searching()).prepare_vectors()

    async def evidence(
        self,
        request: RecallRequest,
        profile: ScoringProfile,
        settings: ScoringSettings,
        query_vector: np.ndarray | None = None,
    ) -> Evidence:
        """Every hit of the keyword, vector and LIKE stages, uncut, and what the filters look at."""
        return await (await self._searching()).evidence(request, profile, settings, query_vector)

    async def word_shares(self, entry: MemoryEntry, query: str, profile: ScoringProfile) -> Sequence[WordShare]:
        """Each word as FTS5 finds it by the rules of `profile`, with its part of -bm25 and the rows that hold it."""
        if not isinstance(entry.handle, int):
            return generic_recall.word_shares(entry, query)
        shares = await (await self._searching()).word_shares(entry.handle, query, profile)
        return generic_recall.word_shares(entry, query) if shares is None else shares

    async def nearest(self, entry: MemoryEntry | None, vector: np.ndarray | None, limit: int) -> Neighbours:
        """The rows nearest by cosine among all vectors of that length, superseded ones too."""
        rowid = entry.handle if entry is not None and isinstance(entry.handle, int) else None
        return await (await self._searching()).nearest(rowid, vector, limit)

    async def nearest_by_words(self, text: str, limit: int, without: Handle | None = None) -> WordNeighbours:
        """As every row read would tell, out of the keyword index where that knows it."""
        schema, stop = self.schema, threading.Event()

        def going() -> None:
            if stop.is_set():
                raise SearchInterrupted

        try:
            found = await self._in_thread(
                lambda connection: nearest_by_index(connection, schema, text, limit, without, going)
            )
        finally:
            stop.set()
        return await super().nearest_by_words(text, limit, without) if found is None else found

    async def whole_rows(self, handles: Sequence[Handle]) -> Entries:
        """The rows of these rowids with their whole content, read on the thread that searches."""
        rowids = [handle for handle in handles if isinstance(handle, int)]
        return await (await self._searching()).whole_rows(rowids)

    async def _close_search(self) -> None:
        """Stop every search and let go of its connections and vectors."""
        search, self._search = self._search, None
        if search is not None:
            await search.close()

    async def _searching(self) -> SqliteSearch:
        """The search of this store, made at the first use: who only browses pays nothing for it."""
        from zeroclaw_tui.backends.sqlite.search import SqliteSearch

        async with self._search_opening:
            if self._search is None:
                search = SqliteSearch(self.path, self.schema)
                await search.open()
                self._search = search
            return self._search
