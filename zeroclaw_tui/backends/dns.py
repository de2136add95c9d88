"""Look up host names without making the program wait for a slow name server."""

from __future__ import annotations

import asyncio
import socket
import threading
from contextlib import suppress


async def has_address(host: str) -> bool:
    """Whether this machine finds an address for a host name.

    The thread is a daemon, because an event loop that ends waits for its own threads, however long a name server takes.
    """
    loop = asyncio.get_running_loop()
    found: asyncio.Future[bool] = loop.create_future()

    def set_result(is_found: bool) -> None:
        if not found.done():
            found.set_result(is_found)

    def look_up() -> None:
        try:
            is_found = bool(socket.getaddrinfo(host, None, type=socket.SOCK_STREAM))
        except (OSError, ValueError):
            is_found = False
        # The loop may be closed by now.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(set_result, is_found)

    threading.Thread(target=look_up, daemon=True).start()
    return await found
