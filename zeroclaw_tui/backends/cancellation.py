"""Waiting that can be given up: for work that writes, until it has let go, and for a host's addresses at once."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

from zeroclaw_tui.memory.errors import SearchInterrupted

if TYPE_CHECKING:
    import sqlite3

    from zeroclaw_tui.memory.change import Advance


Answer = TypeVar("Answer")


def unless(stop: threading.Event, advance: Advance | None) -> Advance:
    """An `advance` that also ends the work once `stop` is set."""
    return lambda done: not stop.is_set() and (advance is None or advance(done))


async def to_its_end(running: asyncio.Future[Answer], stop: Callable[[], None]) -> Answer:
    """What the work gives, or raises. Cancelled, it is asked to stop, and waited for however often one cancels."""
    cancelled: asyncio.CancelledError | None = None
    while not running.done():
        try:
            await asyncio.wait([running])
        except asyncio.CancelledError as cancellation:
            stop()
            cancelled = cancellation
    if cancelled is not None:
        if not running.cancelled():
            # Looked at, so that nobody is told of an error that was never asked for.
            running.exception()
        raise cancelled
    return running.result()


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


_Tell = Callable[[tuple[str, ...]], None]


async def addresses_of(host: str) -> tuple[str, ...]:
    """The numeric addresses of a host, none where no name server here knows it.

    A thread of its own asks: one of the event loop's would have to be waited for when a slow name server is given up.
    """
    loop = asyncio.get_running_loop()
    found: asyncio.Future[tuple[str, ...]] = loop.create_future()

    def tell(addresses: tuple[str, ...]) -> None:
        if not found.done():
            found.set_result(addresses)

    threading.Thread(target=_look_up, args=(host, loop, tell), daemon=True).start()
    return await found


def _look_up(host: str, loop: asyncio.AbstractEventLoop, tell: _Tell) -> None:
    try:
        rows = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
        addresses = tuple(dict.fromkeys(str(row[4][0]) for row in rows))
    except (OSError, UnicodeError, ValueError):
        addresses = ()
    # The one who asked may have given up, and its loop be closed.
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(tell, addresses)
