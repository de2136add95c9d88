"""The way to Redis: what a URL says, a single server, a cluster or a server that Sentinels know, and what fails there.

What fails comes out in a sentence and without any secret.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import parse_qs, unquote, urlsplit

from zeroclaw_tui.memory.errors import InspectorError, NotReachable, Refused, UsageError

if TYPE_CHECKING:
    from redis.asyncio import Redis, RedisCluster

Answer = TypeVar("Answer")
ANSWER_SECONDS = 10.0
"""How long a server may think about one command."""
_CONNECTIONS = 8
_QUEUE_SECONDS = 60.0
_NAMES_AT_ONCE = 1000

SHAPE = (
    "redis://[USER:PASSWORD@]HOST[:PORT][/DATABASE], rediss:// with TLS, unix:///PATH?db=DATABASE, or "
    "redis+sentinel://[USER:PASSWORD@]HOST[:PORT][,HOST…]/SERVICE[/DATABASE]"
)
DEFAULT_PORT = 6379
SENTINEL_PORT = 26379


@dataclass(frozen=True, slots=True)
class RedisAddress:
    """Where a server is; `path` is that of a socket on this machine, and then there is no host.

    With `service` the hosts are Sentinels, which know the server that takes the writes of that service.
    """

    host: str = ""
    port: int = DEFAULT_PORT
    database: int = 0
    path: str | None = None
    tls: bool = False
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    service: str | None = None
    sentinels: tuple[tuple[str, int], ...] = ()
    sentinel_password: str | None = field(default=None, repr=False)

    @property
    def location(self) -> str:
        """The URL without user and password."""
        if self.path is not None:
            return f"unix://{self.path}?db={self.database}"
        scheme = "rediss" if self.tls else "redis"
        if self.service is not None:
            return f"{scheme}+sentinel://{self.place}/{self.service}/{self.database}"
        return f"{scheme}://{self.place}/{self.database}"

    @property
    def place(self) -> str:
        """The server alone, for messages."""
        if self.path is not None:
            return self.path
        return ",".join(_shown_host(host, port) for host, port in self.sentinels or ((self.host, self.port),))


def read_url(url: str) -> RedisAddress:
    """The parts of a URL. Raises UsageError, which never shows it."""
    if url.strip().partition("://")[0].lower() in ("redis+sentinel", "rediss+sentinel"):
        return _read_sentinel_url(url.strip())
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


def _read_sentinel_url(url: str) -> RedisAddress:
    scheme, _, rest = url.partition("://")
    place, _, query = rest.partition("?")
    signed_in, _, place = place.rpartition("@")
    hosts, _, path = place.partition("/")
    service, _, database = unquote(path).strip("/").partition("/")
    options = {name: values[-1] for name, values in parse_qs(query, keep_blank_values=True).items()}
    unknown = sorted(set(options) - {"sentinel_password"})
    if unknown:
        raise _wrong(f"has an option that is not known here ({', '.join(name[:20] for name in unknown)})")
    if not service:
        raise _wrong("names no service of the Sentinels")
    user, _, password = signed_in.partition(":")
    sentinels = tuple(_sentinel(host) for host in hosts.split(","))
    return RedisAddress(
        host=sentinels[0][0],
        port=sentinels[0][1],
        database=_database(database or "0"),
        tls=scheme.lower().startswith("rediss"),
        user=unquote(user) or None,
        password=unquote(password) or None,
        service=service,
        sentinels=sentinels,
        sentinel_password=options.get("sentinel_password") or None,
    )


def _sentinel(text: str) -> tuple[str, int]:
    try:
        parts = urlsplit(f"//{text}")
        host, port = parts.hostname, parts.port
    except ValueError:
        raise _wrong("cannot be read") from None
    if not host:
        raise _wrong("names no host")
    return host, port or SENTINEL_PORT


def _shown_host(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _database(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 6):
        raise _wrong("names a database that is no number")
    return int(text)


def _wrong(what: str) -> UsageError:
    return UsageError(f"The Redis URL {what}.", hint=f"It looks like {SHAPE}.")


class Connection:
    """Connects on `open`. What fails comes out as NotReachable or Refused, without any secret.

    A server of a cluster tells so when it is opened, and then all servers of the cluster are asked.
    """

    def __init__(self, address: RedisAddress, connect_seconds: float) -> None:
        self.address = address
        self._connect_seconds = connect_seconds
        self._client: Redis | None = None
        self._cluster: RedisCluster | None = None
        self._servers: dict[tuple[str, int], Redis] = {}
        self.told: dict[str, Any] | None = None
        """What INFO said when it was opened; None where it may not be asked."""

    @property
    def is_cluster(self) -> bool:
        """Whether the memories lie on the servers of a cluster, so that one step concerns one key."""
        return self._cluster is not None

    async def open(self) -> None:
        """Connect anew and wait for an answer. Raises NotReachable, and Refused without the driver."""
        await self.close()
        client = self._made()
        cluster: RedisCluster | None = None
        try:
            with explained(self.address.place):
                async with asyncio.timeout(self._connect_seconds):
                    await client.ping()
                    self.told = await _info(client)
                    if (self.told or {}).get("cluster_enabled"):
                        cluster = self._made_cluster()
                        await cluster.initialize()
        except BaseException:
            await client.aclose()
            if cluster is not None:
                await cluster.aclose()
            raise
        self._client, self._cluster = client, cluster

    async def close(self) -> None:
        """Close every connection."""
        clients = [*self._servers.values(), self._client, self._cluster]
        self._client = self._cluster = None
        self._servers = {}
        for client in clients:
            if client is not None:
                await client.aclose()

    @contextmanager
    def asking(self) -> Iterator[Redis | RedisCluster]:
        """The client; driver errors within are explained. Raises NotReachable where it is not open."""
        if self._client is None:
            raise NotReachable(f"Redis at {self.address.place} is not connected.", hint="Try again once it is back.")
        with explained(self.address.place):
            yield self._cluster or self._client

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
            if self._cluster is None:
                found: Any = await client.mget(names)
                return list(found)
        return [value for (value,) in await self.each("MGET", names)]

    async def each(self, command: str, names: Sequence[bytes]) -> list[Any]:
        """What a command answers for each of these names."""
        with self.asking() as client:
            if len(names) == 1:
                return [await client.execute_command(command, names[0])]
            pipeline: Any = client.pipeline(transaction=False) if self._cluster is None else client.pipeline()
            for name in names:
                pipeline.execute_command(command, name)
            return list(await pipeline.execute()) if names else []

    async def facts(self, *section: str) -> list[dict[str, Any]]:
        """What INFO tells, of each server that takes writes; nothing where it may not be asked."""
        from redis.exceptions import NoPermissionError, ResponseError

        with self.asking() as client:
            try:
                if self._cluster is None:
                    return [await client.info(*section)]
                told: Any = await self._cluster.info(*section, target_nodes=self._cluster.PRIMARIES)
            except (NoPermissionError, ResponseError):
                return []
        # Of one server alone the driver gives what it said, of several a table of them.
        is_of_one = not all(isinstance(fact, dict) for fact in told.values())
        return [told] if is_of_one else [told[name] for name in sorted(told)]

    async def at_server(self, name: bytes, work: Callable[[Redis], Awaitable[Answer]]) -> Answer:
        """Work with the one server that holds a name; what a server refuses since the name has moved is asked again."""
        from redis.exceptions import AskError, MovedError, TryAgainError

        with self.asking() as client:
            if self._cluster is None:
                return await work(client)  # type: ignore[arg-type]
            try:
                return await work(self._server_of(name))
            except (MovedError, AskError, TryAgainError):
                # Nothing was done there: the map of the cluster is read anew.
                await self._cluster.nodes_manager.initialize()
                return await work(self._server_of(name))

    def _server_of(self, name: bytes) -> Redis:
        assert self._cluster is not None
        node: Any = self._cluster.get_node_from_key(name)  # type: ignore[arg-type]
        if node is None:
            raise NotReachable(
                f"The Redis cluster at {self.address.place} has no server for some keys.", hint="Look at its state."
            )
        place = (str(node.host), int(node.port))
        if place not in self._servers:
            self._servers[place] = self._made(place)
        return self._servers[place]

    def _made_cluster(self) -> RedisCluster:
        from redis.asyncio import RedisCluster

        address = self.address
        if address.path is not None:
            raise Refused("A cluster of Redis cannot be reached by a socket.", hint="Name its host and port.")
        return RedisCluster(
            host=address.host,
            port=address.port,
            username=address.user,
            password=address.password,
            ssl=address.tls,
            socket_timeout=ANSWER_SECONDS,
            socket_connect_timeout=self._connect_seconds,
            max_connections=10 * _CONNECTIONS,
            protocol=2,
        )

    def _made(self, place: tuple[str, int] | None = None) -> Redis:
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
            options["socket_connect_timeout"] = self._connect_seconds
        if address.service is not None:
            return self._known_to_sentinels(address.service, options)
        if address.path is None:
            host, port = place or (address.host, address.port)
            kind: Any = kinds.SSLConnection if address.tls else kinds.Connection
            options |= {"host": host, "port": port, "connection_class": kind}
        # Whoever finds all of them busy waits for one.
        return Redis.from_pool(BlockingConnectionPool(max_connections=_CONNECTIONS, timeout=_QUEUE_SECONDS, **options))

    def _known_to_sentinels(self, service: str, options: dict[str, Any]) -> Redis:
        from redis.asyncio.sentinel import Sentinel

        address = self.address
        to_sentinel: dict[str, Any] = {
            "socket_timeout": self._connect_seconds,
            "socket_connect_timeout": self._connect_seconds,
            "password": address.sentinel_password,
            "ssl": address.tls,
            "protocol": 2,
        }
        sentinel: Any = Sentinel(address.sentinels, sentinel_kwargs=to_sentinel)  # type: ignore[no-untyped-call]
        found: Redis = sentinel.master_for(service, ssl=address.tls, **options)
        return found


async def _info(client: Redis) -> dict[str, Any] | None:
    from redis.exceptions import NoPermissionError, ResponseError

    try:
        return dict(await client.info())
    except (NoPermissionError, ResponseError):
        return None


_SIGN_IN = ("NOAUTH", "WRONGPASS", "invalid username-password pair", "invalid password", "Authentication required")
_ELSEWHERE = ("MOVED ", "ASK ", "CLUSTERDOWN")


@contextmanager
def explained(place: str) -> Iterator[None]:
    """Driver errors within become NotReachable or Refused; `place` is the server as it may be shown."""
    from redis import exceptions

    try:
        yield
    except (exceptions.RedisError, exceptions.RedisClusterException, OSError, TimeoutError) as error:
        raise _kind_of(error, place) from None


def _kind_of(error: Exception, place: str) -> InspectorError:
    from redis import exceptions
    from redis.sentinel import MasterNotFoundError

    text = str(error)
    if any(isinstance(cause, MasterNotFoundError) for cause in _causes(error)) or "No master found for" in text:
        return NotReachable(
            f"No Sentinel at {place} knows a server of that service.",
            hint="Check the service's name, and whether the Sentinels run.",
        )
    match error:
        case exceptions.AuthenticationError() | exceptions.AuthorizationError():
            return _not_let_in(place)
        case exceptions.ClusterDownError() | exceptions.RedisClusterException():
            return NotReachable(
                f"The Redis cluster at {place} does not answer as a whole.", hint="Look whether all its servers run."
            )
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
                f"Redis at {place} does not let this user do that.",
                hint="It needs SCAN, MGET, EXISTS, PTTL, WATCH, MULTI, SET, DEL and PEXPIREAT on memory:*.",
            )
        case exceptions.ReadOnlyError():
            return Refused(f"Redis at {place} is a copy that takes no writes.", hint="Name the server it copies.")
        case exceptions.OutOfMemoryError():
            return Refused(f"Redis at {place} is full.", hint="Nothing was written; give it more memory.")
    if text.startswith(_SIGN_IN) or any(sign in text for sign in _SIGN_IN):
        return _not_let_in(place)
    if text.startswith(_ELSEWHERE):
        return NotReachable(
            f"Redis at {place} is part of a cluster that is being changed, or whose INFO this user may not read.",
            hint="Try again, or let this user call INFO and CLUSTER.",
        )
    if "SELECT is not allowed in cluster mode" in text:
        return NotReachable(f"Redis at {place} is a cluster, which has the database 0 alone.", hint="Leave it out.")
    if "DB index is out of range" in text or "invalid DB index" in text:
        return NotReachable(f"Redis at {place} has no database of that number.", hint="Most have 0 to 15.")
    return NotReachable(f"Redis at {place} refused a command ({type(error).__name__}).", hint="Is it really Redis?")


def _not_let_in(place: str) -> NotReachable:
    return NotReachable(f"Redis at {place} does not let in with this user and password.", hint="Check the URL.")


def _not_reached(error: BaseException, place: str) -> NotReachable:
    causes = list(_causes(error))
    for cause in causes:
        if isinstance(cause, socket.gaierror):
            return NotReachable(f"There is no host of the name in {place}.", hint="Check the URL.")
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
    return NotReachable(f"Redis at {place} went away.", hint="Try again once it is back.")


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
