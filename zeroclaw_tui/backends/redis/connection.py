"""A pool of connections to one Redis server."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from zeroclaw_tui.backends.redis.address import RedisAddress
from zeroclaw_tui.backends.redis.failures import explained
from zeroclaw_tui.memory.errors import NotReachable, Refused

if TYPE_CHECKING:
    from redis.asyncio import Redis

ANSWER_SECONDS = 10.0
"""How long a server may think about one command."""
_CONNECTIONS = 8
_QUEUE_SECONDS = 60.0


class Connection:
    """Connects on `open`. What fails comes out as NotReachable or Refused, without any secret."""

    def __init__(self, address: RedisAddress, connect_seconds: float) -> None:
        self.address = address
        self._connect_seconds = connect_seconds
        self._client: Redis | None = None

    async def open(self) -> None:
        """Connect anew and wait for an answer. Raises NotReachable, and Refused without the driver."""
        await self.close()
        client = self._made()
        try:
            with explained(self.address.place):
                async with asyncio.timeout(self._connect_seconds):
                    await client.ping()
        except BaseException:
            await client.aclose()
            raise
        self._client = client

    async def close(self) -> None:
        """Let go of every connection."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    @contextmanager
    def asking(self) -> Iterator[Redis]:
        """The client; driver errors within are explained. Raises NotReachable where it is not open."""
        if self._client is None:
            raise NotReachable(f"Redis at {self.address.place} is not connected.", hint="Try again once it is back.")
        with explained(self.address.place):
            yield self._client

    def _made(self) -> Redis:
        try:
            import redis
            from redis.asyncio import BlockingConnectionPool, Redis
            from redis.asyncio import connection as kinds
            from redis.asyncio.retry import Retry
        except ImportError:
            raise Refused(
                "The driver of Redis is not installed.", hint="pip install 'zeroclaw_tui[redis]' brings it."
            ) from None
        address = self.address
        place: dict[str, Any] = {"host": address.host, "port": address.port}
        kind: type[Any] = kinds.SSLConnection if address.tls else kinds.Connection
        if address.path is not None:
            place, kind = {"path": address.path}, kinds.UnixDomainSocketConnection
        else:
            place["socket_connect_timeout"] = self._connect_seconds
        pool = BlockingConnectionPool(
            connection_class=kind,
            max_connections=_CONNECTIONS,
            # Whoever finds all of them busy waits for one.
            timeout=_QUEUE_SECONDS,
            db=address.database,
            username=address.user,
            password=address.password,
            socket_timeout=ANSWER_SECONDS,
            # What was sent may have been done: a write is never sent twice.
            retry=Retry(redis.backoff.NoBackoff(), 0),
            # Every server since 2010 speaks the second version of the protocol.
            protocol=2,
            **place,
        )
        return Redis.from_pool(pool)
