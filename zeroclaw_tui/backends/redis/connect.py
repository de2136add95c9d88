"""The connection to a Redis server: the parts of its URL, and its errors in a sentence without any secret."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, unquote, urlsplit

from zeroclaw_tui.memory.errors import InspectorError, NotReachable, Refused, UsageError

if TYPE_CHECKING:
    from redis.asyncio import Redis

ANSWER_SECONDS = 10.0
"""How long a server may think about one command."""
_CONNECTIONS = 8
_QUEUE_SECONDS = 60.0
_NAMES_AT_ONCE = 1000

SHAPE = "redis://[USER:PASSWORD@]HOST[:PORT][/DATABASE], rediss:// with TLS, or unix:///PATH?db=DATABASE"
DEFAULT_PORT = 6379
_SINGLE_SERVER = "Name a single Redis server."


@dataclass(frozen=True, slots=True)
class RedisAddress:
    """Where a server is; `path` is that of a socket on this machine, and then there is no host."""

    host: str = ""
    port: int = DEFAULT_PORT
    database: int = 0
    path: str | None = None
    tls: bool = False
    user: str | None = None
    password: str | None = field(default=None, repr=False)

    @property
    def location(self) -> str:
        """The URL without user and password."""
        if self.path is not None:
            return f"unix://{self.path}?db={self.database}"
        scheme = "rediss" if self.tls else "redis"
        return f"{scheme}://{self.place}/{self.database}"

    @property
    def place(self) -> str:
        """The server alone, for messages."""
        if self.path is not None:
            return self.path
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def read_url(url: str) -> RedisAddress:
    """The parts of a URL. Raises UsageError, which never shows it."""
    if url.strip().partition("://")[0].lower() in ("redis+sentinel", "rediss+sentinel"):
        raise UsageError("Redis Sentinel is not supported.", hint=_SINGLE_SERVER)
    try:
        parts = urlsplit(url.strip())
        options = {name: values[-1] for name, values in parse_qs(parts.query, keep_blank_values=True).items()}
        port = parts.port
    except ValueError:
        raise _wrong("cannot be read") from None
    if parts.scheme not in ("redis", "rediss", "unix"):
        raise _wrong("begins with neither redis:// nor rediss:// nor unix://")
    unknown = sorted(set(options) - {"db", "password"})
    if unknown:
        raise _wrong(f"has an option that is not known here ({', '.join(name[:20] for name in unknown)})")
    is_socket = parts.scheme == "unix"
    path = unquote(parts.path)
    if is_socket and not path.strip("/"):
        raise _wrong("names no socket")
    if not is_socket and not parts.hostname:
        raise _wrong("names no host")
    password = unquote(parts.password) if parts.password is not None else options.get("password")
    return RedisAddress(
        host="" if is_socket else unquote(parts.hostname or ""),
        port=port or DEFAULT_PORT,
        database=_database(options.get("db", "0" if is_socket else path.strip("/") or "0")),
        path=path if is_socket else None,
        tls=parts.scheme == "rediss",
        user=unquote(parts.username) if parts.username else None,
        password=password or None,
    )


def _database(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 6):
        raise _wrong("names a database that is no number")
    return int(text)


def _wrong(what: str) -> UsageError:
    return UsageError(f"The Redis URL {what}.", hint=f"It looks like {SHAPE}.")


class Connection:
    """Connects on `open`. What fails comes out as NotReachable or Refused, without any secret."""

    def __init__(self, address: RedisAddress, connect_seconds: float) -> None:
        self.address = address
        self._connect_seconds = connect_seconds
        self._client: Redis | None = None
        self.told: dict[str, Any] | None = None
        """What INFO said when it was opened; None where it may not be asked."""

    async def open(self) -> None:
        """Connect anew and wait for an answer. Raises NotReachable, and Refused without the driver or for a cluster."""
        await self.close()
        client = self._made()
        try:
            with explained(self.address.place):
                async with asyncio.timeout(self._connect_seconds):
                    await client.ping()
                    self.told = await _info(client)
            mode = (self.told or {}).get("redis_mode")
            if mode in ("cluster", "sentinel"):
                what = "part of a Redis cluster" if mode == "cluster" else "a Redis Sentinel"
                raise Refused(f"{self.address.place} is {what}, which is not supported.", hint=_SINGLE_SERVER)
        except BaseException:
            await client.aclose()
            raise
        self._client = client

    async def close(self) -> None:
        """Close every connection."""
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

    async def names(self, pattern: bytes) -> list[bytes]:
        """The names that a pattern leaves, each once, in the order of the alphabet."""
        found: set[bytes] = set()
        with self.asking() as client:
            async for name in client.scan_iter(match=pattern, count=_NAMES_AT_ONCE):
                found.add(name)
        return sorted(found)

    async def values(self, names: Sequence[bytes]) -> list[bytes | None]:
        """The texts under these names; None where there is none, or something else."""
        with self.asking() as client:
            found: Any = await client.mget(names)
            return list(found)

    async def each(self, command: str, names: Sequence[bytes]) -> list[Any]:
        """What a command answers for each of these names."""
        with self.asking() as client:
            pipeline: Any = client.pipeline(transaction=False)
            for name in names:
                pipeline.execute_command(command, name)
            return list(await pipeline.execute()) if names else []

    async def facts(self, *section: str) -> dict[str, Any]:
        """What INFO tells; nothing where it may not be asked."""
        with self.asking() as client:
            return await _info(client, *section) or {}

    def _made(self) -> Redis:
        try:
            import redis
            from redis.asyncio import BlockingConnectionPool, Redis
            from redis.asyncio import connection as kinds
            from redis.asyncio.retry import Retry
        except ImportError:
            from zeroclaw_tui.backends.factory import command_for

            raise Refused(
                "The driver of Redis is not installed.", hint=f"`{command_for('redis')}` brings it."
            ) from None
        address = self.address
        options: dict[str, Any] = {
            "db": address.database,
            "username": address.user,
            "password": address.password,
            "socket_timeout": ANSWER_SECONDS,
            # What was sent may have been done: a write is never sent twice.
            "retry": Retry(redis.backoff.NoBackoff(), 0),
            # Every server since 2010 speaks the second version of the protocol.
            "protocol": 2,
        }
        if address.path is not None:
            options |= {"path": address.path, "connection_class": kinds.UnixDomainSocketConnection}
        else:
            kind: Any = kinds.SSLConnection if address.tls else kinds.Connection
            options |= {"host": address.host, "port": address.port, "connection_class": kind}
            options["socket_connect_timeout"] = self._connect_seconds
        # Whoever finds all of them busy waits for one.
        return Redis.from_pool(BlockingConnectionPool(max_connections=_CONNECTIONS, timeout=_QUEUE_SECONDS, **options))


async def _info(client: Redis, *section: str) -> dict[str, Any] | None:
    from redis.exceptions import NoPermissionError, ResponseError

    try:
        return dict(await client.info(*section))
    except (NoPermissionError, ResponseError):
        return None


_SIGN_IN = ("NOAUTH", "WRONGPASS", "invalid username-password pair", "invalid password", "Authentication required")
_CLUSTER = ("MOVED ", "ASK ", "CLUSTERDOWN")


@contextmanager
def explained(place: str) -> Iterator[None]:
    """Driver errors within become NotReachable or Refused; `place` is the server as it may be shown."""
    from redis import exceptions

    try:
        yield
    except (exceptions.RedisError, OSError, TimeoutError) as error:
        raise _kind_of(error, place) from None


def _kind_of(error: Exception, place: str) -> InspectorError:
    from redis import exceptions

    text = str(error)
    match error:
        case exceptions.AuthenticationError() | exceptions.AuthorizationError():
            return _not_let_in(place)
        case exceptions.BusyLoadingError():
            return NotReachable(f"Redis at {place} is still reading its data.", hint="Try again in a moment.")
        case exceptions.TimeoutError() | TimeoutError():
            return NotReachable(f"Redis at {place} does not answer in time.", hint="Look whether the server is busy.")
        case exceptions.ConnectionError() | OSError():
            return _not_reached(error, place)
        case exceptions.InvalidResponse():
            return NotReachable(f"What answers at {place} is not Redis.", hint="Check host and port of the URL.")
        case exceptions.NoPermissionError():
            return NotReachable(
                f"Redis at {place} does not allow this command for this user.",
                hint="It needs SCAN, MGET, EXISTS, PTTL, WATCH, MULTI, SET, DEL and PEXPIREAT on memory:*.",
            )
        case exceptions.ReadOnlyError():
            return Refused(f"Redis at {place} is a copy that takes no writes.", hint="Name the server it copies.")
        case exceptions.OutOfMemoryError():
            return Refused(f"Redis at {place} is full.", hint="Nothing was written; give it more memory.")
    if text.startswith(_SIGN_IN) or any(sign in text for sign in _SIGN_IN):
        return _not_let_in(place)
    if text.startswith(_CLUSTER) or "SELECT is not allowed in cluster mode" in text:
        return NotReachable(f"{place} is part of a Redis cluster, which is not supported.", hint=_SINGLE_SERVER)
    if "DB index is out of range" in text or "invalid DB index" in text:
        return NotReachable(f"Redis at {place} has no database of that number.", hint="Most have 0 to 15.")
    return NotReachable(f"Redis at {place} refused a command ({type(error).__name__}).", hint="Is it really Redis?")


def _not_let_in(place: str) -> NotReachable:
    return NotReachable(f"Redis at {place} rejects this user and password.", hint="Check the URL.")


def _not_reached(error: BaseException, place: str) -> NotReachable:
    causes = list(_causes(error))
    for cause in causes:
        if isinstance(cause, socket.gaierror):
            return NotReachable(f"Unknown host in {place}.", hint="Check the URL.")
        if isinstance(cause, ssl.SSLError):
            return NotReachable(f"TLS with {place} failed.", hint="Check whether the server speaks TLS (rediss://).")
        if isinstance(cause, ConnectionRefusedError):
            return NotReachable(f"Nothing listens at {place}.", hint="Start Redis, or check host and port.")
        if isinstance(cause, FileNotFoundError):
            return NotReachable(f"There is no socket {place}.", hint="Start Redis, or check the path.")
        if isinstance(cause, TimeoutError):
            return NotReachable(f"Redis at {place} does not answer in time.", hint="Check host and port.")
    if "not connect" in str(error) or "onnecting to" in str(error):
        return NotReachable(f"{place} cannot be reached.", hint="Check host, port and network.")
    return NotReachable(f"Redis at {place} closed the connection.", hint="Try again once it is back.")


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
