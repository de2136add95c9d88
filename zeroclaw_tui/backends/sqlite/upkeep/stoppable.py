"""Work in a thread that can be stopped, and that is waited for when it is."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Callable
from typing import TypeVar

from zeroclaw_tui.backends.waiting import to_its_end
from zeroclaw_tui.memory.errors import SearchInterrupted

Answer = TypeVar("Answer")


class Stoppable:
    """One piece of work. `using` names the connection whose statement is ended when the await is cancelled."""

    def __init__(self) -> None:
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None

    async def run(self, work: Callable[[], Answer]) -> Answer:
        """What `work` answers. Cancelling the await stops it, and returns once its thread has let go of the files."""
        return await to_its_end(asyncio.get_running_loop().run_in_executor(None, work), self.stop)

    def stop(self) -> None:
        """End the statement that runs, and begin no other; from any thread."""
        self._stop.set()
        with self._lock:
            if self._connection is not None:
                self._connection.interrupt()

    def using(self, connection: sqlite3.Connection | None) -> None:
        """Work on this connection from now on; None before it is closed. Raises SearchInterrupted once stopped."""
        with self._lock:
            self._connection = connection
        if connection is not None:
            self.check()

    def check(self, *ignored: object) -> None:
        """Raise SearchInterrupted once stopped; between the steps of what cannot be interrupted itself."""
        if self._stop.is_set():
            raise SearchInterrupted
