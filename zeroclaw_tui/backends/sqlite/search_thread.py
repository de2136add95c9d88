"""A thread that owns one read-only connection, and searches on it that can be called off."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from zeroclaw_tui.files.database import connect_read_only_blocking, translated
from zeroclaw_tui.memory.errors import SearchInterrupted

Answer = TypeVar("Answer")


class Ticket:
    """One search. Once `is_called_off`, everything done for it raises SearchInterrupted."""

    def __init__(self) -> None:
        self.is_called_off = False

    def check(self) -> None:
        """Raise SearchInterrupted when the search has been called off."""
        if self.is_called_off:
            raise SearchInterrupted


class SearchThread:
    """Runs work on its connection, one piece after another; the connection opens with the first piece.

    It keeps its thread and its connection between calls, because a search as you type asks often.
    """

    def __init__(self, path: Path, name: str) -> None:
        self._path = path
        self._executor = ThreadPoolExecutor(1, thread_name_prefix=name)
        self._connection: sqlite3.Connection | None = None
        self._running: Ticket | None = None
        self._lock = threading.Lock()
        self._closed = False

    async def run(self, ticket: Ticket, work: Callable[[sqlite3.Connection], Answer]) -> Answer:
        """What `work` answers. Cancelling the await calls the ticket off. Raises InspectorError, SearchInterrupted."""
        if self._closed:
            raise SearchInterrupted
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._executor, self._run, ticket, work)
        except asyncio.CancelledError:
            self.call_off(ticket)
            raise

    def call_off(self, ticket: Ticket) -> None:
        """Stop the work of this ticket, whether it runs or still waits; from any thread."""
        with self._lock:
            ticket.is_called_off = True
            if self._running is ticket and self._connection is not None:
                self._connection.interrupt()

    async def close(self) -> None:
        """Stop what runs, close the connection and end the thread."""
        if self._closed:
            return
        with self._lock:
            self._closed = True
            if self._running is not None:
                self._running.is_called_off = True
            if self._connection is not None:
                self._connection.interrupt()
        await asyncio.get_running_loop().run_in_executor(self._executor, self._close)
        self._executor.shutdown(wait=False)

    def _run(self, ticket: Ticket, work: Callable[[sqlite3.Connection], Answer]) -> Answer:
        if self._closed:
            raise SearchInterrupted
        with translated(self._path):
            connection = self._open()
            with self._lock:
                ticket.check()
                self._running = ticket
            try:
                return work(connection)
            finally:
                with self._lock:
                    self._running = None

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            self._connection = connect_read_only_blocking(self._path)
        return self._connection

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
