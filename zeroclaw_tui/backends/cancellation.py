"""Work on threads that ends soon after the awaiting task is cancelled."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TypeVar

from zeroclaw_tui.files.database import (
    FileIdentity,
    ReadOnlyConnection,
    connect_read_only_blocking,
    file_identity,
    translate_sqlite_errors,
)
from zeroclaw_tui.memory.errors import SearchInterrupted

if TYPE_CHECKING:
    import sqlite3
    from pathlib import Path

    from zeroclaw_tui.memory.change import ProgressCallback

T = TypeVar("T")


class CancellableTask:
    """Work on a thread. Cancelling its await interrupts its SQL statement and waits for the thread."""

    def __init__(self) -> None:
        self.ending: asyncio.Future[Any] | None = None
        """Done when the thread has ended; None before the work starts."""
        self._is_cancelled = threading.Event()
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None

    async def run(self, work: Callable[[], T]) -> T:
        """Run `work` and return its result."""
        self.ending = running = asyncio.get_running_loop().run_in_executor(None, work)
        return await wait_until_done(running, self.cancel)

    def cancel(self) -> None:
        """Interrupt the running statement, and make `check` raise; callable from any thread."""
        self._is_cancelled.set()
        with self._lock:
            if self._connection is not None:
                self._connection.interrupt()

    def check(self, *ignored: object) -> None:
        """Raise SearchInterrupted after `cancel`, for steps of the work without a statement to interrupt."""
        if self._is_cancelled.is_set():
            raise SearchInterrupted

    @contextmanager
    def interrupting(self, connection: sqlite3.Connection) -> Iterator[None]:
        """Let `cancel` interrupt this connection's statements. Raises SearchInterrupted after `cancel`."""
        with self._lock:
            self._connection = connection
        try:
            self.check()
            yield
        finally:
            with self._lock:
                self._connection = None


async def run_cancellable(work: Callable[..., T], *arguments: Any) -> T:
    """Run `work(*arguments, task)` on a thread and return its result; cancelling the await cancels the task."""
    task = CancellableTask()
    return await task.run(lambda: work(*arguments, task))


class ReadWorkerPool:
    """Runs reads of one database, each on a thread with a connection of its own.

    One connection stays open for the next read: a new one would read the schema and every page again.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._running: set[CancellableTask] = set()
        self._idle: list[tuple[FileIdentity | None, ReadOnlyConnection]] = []
        self._is_closed = False

    async def run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run `work` and return its result; cancelling the await interrupts its statement.

        Raises subclasses of InspectorError, and SearchInterrupted if the pool is stopped or closed.
        """
        if self._is_closed:
            raise SearchInterrupted
        task = CancellableTask()

        def read() -> T:
            file, connection = self._connection()
            try:
                with translate_sqlite_errors(self._path), task.interrupting(connection):
                    answer = work(connection)
                    connection.rollback()
            except BaseException:
                connection.close()
                raise
            # A connection with a notice does not see later writes.
            if self._idle or connection.notice is not None:
                connection.close()
            else:
                self._idle.append((file, connection))
            return answer

        self._running.add(task)
        try:
            return await task.run(read)
        finally:
            self._running.remove(task)

    def _connection(self) -> tuple[FileIdentity | None, ReadOnlyConnection]:
        """Take the idle connection if its file is still the one at the path, else open a new one."""
        file = file_identity(self._path)
        # Several threads may call this at the same time.
        with suppress(IndexError):
            opened, connection = self._idle.pop()
            if opened == file:
                return opened, connection
            connection.close()
        return file, connect_read_only_blocking(self._path)

    async def close(self) -> None:
        """Stop all work permanently."""
        self._is_closed = True
        await self.stop()

    async def stop(self) -> None:
        """Interrupt all running work, and wait until all connections are closed."""
        running = [task.ending for task in self._running if task.ending is not None]
        for task in self._running:
            task.cancel()
        if running:
            await asyncio.wait(running)
        for _, connection in self._idle:
            connection.close()
        self._idle.clear()


async def read_in_thread(path: Path, work: Callable[[sqlite3.Connection], T]) -> T:
    """Run `work` with a read-only connection to a database. Raises subclasses of InspectorError."""
    reads = ReadWorkerPool(path)
    try:
        return await reads.run(work)
    finally:
        await reads.close()


async def wait_until_done(running: asyncio.Future[T], stop: Callable[[], None]) -> T:
    """Give the result of work that must not be abandoned: if cancelled, call `stop` and wait until the work ends."""
    cancelled: asyncio.CancelledError | None = None
    while not running.done():
        try:
            await asyncio.wait([running])
        except asyncio.CancelledError as error:
            stop()
            cancelled = error
    if cancelled is not None:
        if not running.cancelled():
            # asyncio would log an exception that was never retrieved.
            running.exception()
        raise cancelled
    return running.result()


def cancellable_progress(stop: threading.Event, on_progress: ProgressCallback | None) -> ProgressCallback:
    """Return a progress callback that also ends the work when `stop` is set."""
    return lambda done: not stop.is_set() and (on_progress is None or on_progress(done))
