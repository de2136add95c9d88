"""A pool of connections to one PostgreSQL database that also works behind PgBouncer in transaction mode."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import asyncpg  # type: ignore[import-untyped]


class Connections:
    """Connections made on use, at most a few. Every statement runs in a transaction of its own.

    Nothing is left on a connection: limits and time zone are set with SET LOCAL, no statement is prepared by name.
    Driver errors come out as InspectorError kinds without any secret.
    """

    def __init__(self, address: Any, *, connect_seconds: float, statement_seconds: float = 30.0) -> None:
        raise NotImplementedError

    async def open(self) -> None:
        """Connect once, so that what is wrong is told now. Raises NotReachable, WrongUse, Refused (driver missing)."""
        raise NotImplementedError

    async def close(self) -> None:
        """Let go of every connection; statements under way are cancelled."""
        raise NotImplementedError

    @asynccontextmanager
    async def reading(self, *, seconds: float | None = None) -> AsyncIterator[asyncpg.Connection]:
        """A connection in a read-only transaction: times in UTC, ISO dates, the statement time-out set.

        Within it driver errors become NotReachable, Refused, Locked or SearchInterrupted (after `interrupt`).
        """
        raise NotImplementedError
        yield

    @asynccontextmanager
    async def writing(self, *, seconds: float | None = None) -> AsyncIterator[asyncpg.Connection]:
        """The same for writing: committed at the end, rolled back by any exception."""
        raise NotImplementedError
        yield

    def interrupt(self) -> None:
        """Cancel the reading statements that run now; they raise SearchInterrupted."""
        raise NotImplementedError
