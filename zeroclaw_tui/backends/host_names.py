"""Looking up a host's addresses in a way that can be given up at any moment."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable
from contextlib import suppress

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
