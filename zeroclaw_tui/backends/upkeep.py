"""What only some stores can do, besides keeping memories."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np

    from zeroclaw_tui.backends.health import (
        ContentRevision,
        ExpiredRow,
        Pages,
        Repair,
        Retention,
    )
    from zeroclaw_tui.embeddings.base import Embedder
    from zeroclaw_tui.memory.change import Row
    from zeroclaw_tui.memory.entry import MemoryEntry
    from zeroclaw_tui.scoring.profiles import ScoringProfile


class DatabaseUpkeep(Protocol):
    """What a store in a database file of its own, `about.path`, can do with that file."""

    async def check_pages(self) -> Pages:
        """Check a copy of the file page by page. Raises Unreadable without room for the copy."""

    async def repair(self, what: Repair = "rebuild keyword index") -> None:
        """Repair one thing in one transaction, if necessary in a store that is read-only because of it.

        Raises Locked, Refused.
        """

    async def compact(self) -> int:
        """Rewrite the file without its free space, and refill its keyword index; for a closed store.

        Gives the number of its memories. Raises Locked if anybody has it open, Unreadable without room.
        """

    async def expired(self, retention: Retention) -> Sequence[ExpiredRow]:
        """The rows that ZeroClaw's hygiene would delete, in its order."""

    def disconnected(self) -> AbstractAsyncContextManager[None]:
        """Have no connection within this, so that this process does not lock the file; then open it again."""

    def create_from_rows(self, generation: str, rows: Sequence[Row], now: str) -> None:
        """Make the file with these rows, stored in that order, whole in one step. Blocks.

        `generation` says which tables ("G1" to "G4"). Rows name their table and have every value; `now` dates the
        tables. Raises Refused if there is a file already, and what writing raises.
        """

    async def check_model(self, provider: str, model: str, dimensions: int) -> None:
        """Raise Refused if the store names another model as that of its vectors."""

    async def cached_vector(self, text: str) -> np.ndarray | None:
        """The vector that ZeroClaw's cache in the database has of exactly this text."""


class HistoryUpkeep(Protocol):
    """What a store can do that itself records earlier texts and relations."""

    async def history(self, id: str) -> Sequence[ContentRevision]:
        """The changes of a memory that the store recorded, the oldest first."""

    async def related(self, entry: MemoryEntry) -> Sequence[MemoryEntry]:
        """The memories that the store connects with this one: other versions of it, relations that it names."""


class StoreMaker(Protocol):
    """What a store can do that may not be there yet."""

    async def make(self, profile: ScoringProfile, *, dry_run: bool = False) -> None:
        """Make what the store needs, as the ZeroClaw of that profile does at its first start; after NothingYet.

        With `dry_run` nothing is made; the store then knows what the one that is made would keep. Raises Refused where
        there is something already.
        """


@dataclass(frozen=True, slots=True)
class Upkeep:
    """The abilities that only some stores have; each is None for a store without it."""

    database: DatabaseUpkeep | None = None
    history: HistoryUpkeep | None = None
    maker: StoreMaker | None = None
    embedder: Embedder | None = None
    """The endpoint that the store asks for its vectors, if it makes them itself."""
