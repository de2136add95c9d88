"""asyncpg's connection with a limit of its own on every wait; imported where a connection is made, not before."""

from __future__ import annotations

# The arguments are asyncpg's own.
# ruff: noqa: ASYNC109
from typing import Any

import asyncpg  # type: ignore[import-untyped]


class PatientConnection(asyncpg.Connection):  # type: ignore[misc]
    """A connection that waits `patience` seconds for each answer, so that a server that fell silent is noticed."""

    patience: float | None = None

    async def fetch(self, query: str, *args: Any, timeout: float | None = None, **named: Any) -> Any:
        """As asyncpg's."""
        return await super().fetch(query, *args, timeout=self._wait(timeout), **named)

    async def fetchrow(self, query: str, *args: Any, timeout: float | None = None, **named: Any) -> Any:
        """As asyncpg's."""
        return await super().fetchrow(query, *args, timeout=self._wait(timeout), **named)

    async def fetchval(self, query: str, *args: Any, column: int = 0, timeout: float | None = None) -> Any:
        """As asyncpg's."""
        return await super().fetchval(query, *args, column=column, timeout=self._wait(timeout))

    async def execute(self, query: str, *args: Any, timeout: float | None = None) -> Any:
        """As asyncpg's."""
        return await super().execute(query, *args, timeout=self._wait(timeout))

    async def executemany(self, command: str, args: Any, *, timeout: float | None = None) -> Any:
        """As asyncpg's."""
        return await super().executemany(command, args, timeout=self._wait(timeout))

    def _wait(self, timeout: float | None) -> float | None:
        return self.patience if timeout is None else timeout
