"""The operations that only some stores have."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    import numpy as np

    from zeroclaw_tui.backends.health import ContentRevision, ExpiredRow, Pages, Repair, Retention
    from zeroclaw_tui.embeddings.base import Embedder
    from zeroclaw_tui.memory.change import Row
    from zeroclaw_tui.memory.entry import MemoryEntry
    from zeroclaw_tui.scoring.profiles import ScoringProfile


class DatabaseUpkeep(Protocol):
    """Operations of a store in its own database file, `about.path`; see SqliteMemory."""

    async def check_pages(self) -> Pages: ...
    async def repair(self, what: Repair = "rebuild keyword index") -> None: ...
    async def compact(self) -> int: ...
    async def expired(self, retention: Retention) -> Sequence[ExpiredRow]: ...
    def disconnected(self) -> AbstractAsyncContextManager[None]: ...
    def create_from_rows(self, generation: str, rows: Sequence[Row], now: str) -> None: ...
    async def check_model(self, provider: str, model: str, dimensions: int) -> None: ...
    async def cached_vector(self, text: str) -> np.ndarray | None: ...


class HistoryUpkeep(Protocol):
    """Operations of a store that records earlier texts and relations itself; see RMemMemory."""

    async def history(self, id: str) -> Sequence[ContentRevision]: ...
    async def related(self, entry: MemoryEntry) -> Sequence[MemoryEntry]: ...


class StoreMaker(Protocol):
    """Operations of a store that may not exist yet."""

    async def make(self, profile: ScoringProfile, *, dry_run: bool = False) -> None:
        """Create the store as the ZeroClaw version of the profile does at its first start; after NothingYet.

        With `dry_run` nothing is created; the store then has the properties of the one it would create. Raises Refused
        if it exists already.
        """


class Upkeep(NamedTuple):
    """The operations that only some stores have; each is None for a store without it."""

    database: DatabaseUpkeep | None = None
    history: HistoryUpkeep | None = None
    maker: StoreMaker | None = None
    embedder: Embedder | None = None
    """The embedder of the store, if it computes its vectors itself."""
