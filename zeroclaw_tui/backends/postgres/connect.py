"""Connections to one PostgreSQL database: asyncpg's pool, also behind PgBouncer, and what its errors mean."""

from __future__ import annotations

import asyncio
import errno
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import TYPE_CHECKING, Any

from zeroclaw_tui.backends.cancellation import wait_until_done
from zeroclaw_tui.backends.dns import has_address
from zeroclaw_tui.backends.postgres.address import SHAPE, PostgresAddress
from zeroclaw_tui.config.memory_config import shown
from zeroclaw_tui.memory.errors import (
    UNCONFIRMED,
    AccessDenied,
    DriverMissing,
    InspectorError,
    Locked,
    NotReachable,
    Refused,
    SearchInterrupted,
    Unreadable,
    UsageError,
)

if TYPE_CHECKING:
    import asyncpg  # type: ignore[import-untyped]

USUAL_SECONDS = 10.0
"""How long connecting may take where neither the config nor the URL says."""
MOST_CONNECTIONS = 4
"""The most that are open at once."""
STATEMENT_SECONDS = 30.0
"""How long the server works on a statement."""
PASS_SECONDS = 120.0
"""The same for one that counts or compares every row."""
LONG_SECONDS = 300.0
"""The same for one that fetches every row."""
_IDLE_SECONDS = 60.0
_GRACE_SECONDS = 5.0
_ROLLBACK_SECONDS = 2.0
_LOCK_SECONDS = 10

_RUNNING = "Is it running, and are host and port right?"
_AGAIN = "Try again once the server is back."
_LOG = "See the server's log."
_CREDENTIALS = "Correct user and password in the URL; write @ : / in them as %40 %3A %2F."
_CERTIFICATE = "sslrootcert in the URL names the file of the authority that signed it."
_FILES = "Check sslrootcert, sslcert and sslkey in the URL."
_OPTIONS = "Correct the options of the URL. sslmode=verify-ca and verify-full need sslrootcert=FILE."
_NO_TLS = "Remove sslmode from the URL if the network is safe without TLS."
_NOT_LET_IN = (
    AccessDenied,
    "{server} does not let the user {user} into the database {database} from here.",
    "Does the user exist, and does pg_hba.conf (or the pooler's own list) let it in?",
)
_CHANGED_TABLE = (Unreadable, "The table at {place} has changed.", "Open it again.")
_SAME_ROWS = (Locked, "Another program changed the same rows at {place}.", "Try again.")
_FULL = (Refused, "{server} ran out of space or memory.", _LOG)
_CLOSED = (NotReachable, "{server} closed the connection.", _AGAIN)
_UNKNOWN_STATEMENT = (
    Refused,
    "{server} does not know a statement that is needed: it is not PostgreSQL, or too old.",
    "ZeroClaw needs PostgreSQL 10 or newer. Change the host in the URL, or update the server.",
)
_ErrorTable = Mapping[str, tuple[type[InspectorError], str, str]]
"""Kind, sentence and hint by SQLSTATE, by its first two letters (the class), or by "" for all others."""
_CONNECT_ERRORS: _ErrorTable = {
    "unknown host": (NotReachable, "There is no host named {host}.", "Check the spelling, and that DNS works here."),
    "refused": (NotReachable, "Nothing listens at {place}.", _RUNNING),
    "unreachable": (NotReachable, "{server} cannot be reached{detail}.", _RUNNING),
    "certificate": (NotReachable, "The certificate of {place} is not trusted{detail}.", _CERTIFICATE),
    "tls": (NotReachable, "The TLS connection to {place} failed{detail}.", _FILES),
    "no file": (UsageError, "A file that the database URL names does not exist.", _FILES),
    "no tls": (NotReachable, "{server} does not support TLS, which the URL asks for.", _NO_TLS),
    "driver": (UsageError, "The driver cannot connect to {place}{detail}.", _OPTIONS),
    "28P01": (AccessDenied, "{server} refuses the user {user} or the password.", _CREDENTIALS),
    "no password": (AccessDenied, "{server} needs a password for the user {user}; the URL has none.", SHAPE),
    "no role": (AccessDenied, "{server} has no user {user}.", "Create it, or correct the URL."),
    "only tls": (AccessDenied, "{server} accepts the user {user} over TLS only.", "Add sslmode=require to the URL."),
    **dict.fromkeys(("28", "08P01"), _NOT_LET_IN),
    "3D000": (AccessDenied, "{server} has no database {database}.", "Create it, or correct the URL's path."),
    "42501": (
        AccessDenied,
        "The user {user} may not connect to the database {database} at {place}.",
        'GRANT CONNECT ON DATABASE "{database}" TO "{user}";',
    ),
    "53300": (NotReachable, "{server} has too many connections.", "Close some, or raise max_connections."),
    "57": (NotReachable, "{server} is starting up or shutting down.", _AGAIN),
    "08": (NotReachable, "What answers at {place} is not PostgreSQL, or it closed the connection.", _RUNNING),
    "": (AccessDenied, "{server} does not let the user {user} in (code {code}).", _LOG),
}
_STATEMENT_ERRORS: _ErrorTable = {
    "57014": (
        NotReachable,
        "{server} stopped a statement because it took too long or was cancelled.",
        "Try again, or ask for less at once.",
    ),
    "55P03": (Locked, "Another program holds a lock at {place}.", "Try again in a moment."),
    **dict.fromkeys(("40001", "40P01"), _SAME_ROWS),
    "42501": (Refused, "The user {user} lacks a right on the table.", "Run `zeroclaw memory health` to see which."),
    "25006": (Refused, "{server} is read-only now.", "It may be a replica."),
    **dict.fromkeys(("42P01", "42703", "3F000"), _CHANGED_TABLE),
    **dict.fromkeys(("0A000", "42601", "42704", "42883"), _UNKNOWN_STATEMENT),
    "54": (Refused, "PostgreSQL cannot store that: a text is too long for it or for an index.", ""),
    "23": (Refused, "The table refuses this change by its rule on {rule}.", ""),
    **dict.fromkeys(("53100", "53200"), _FULL),
    **dict.fromkeys(("08", "57", "53"), _CLOSED),
    "": (Refused, "{server} refused a statement (code {code}).", _LOG),
}


class Connections:
    """A pool of a few connections, made on use. Every statement runs in a transaction of its own.

    Limits and time zone are set for one transaction (SET LOCAL) and no statement is prepared by name, so a pooler may
    hand each transaction to another server. Errors of the driver become InspectorErrors without any secret. A broken
    connection is replaced at the next use.
    """

    def __init__(self, address: PostgresAddress, *, connect_seconds: float) -> None:
        self.address = address
        self._connect_seconds = connect_seconds
        self._pool: asyncpg.Pool | None = None
        self._is_closed = False
        self._readings: set[asyncio.Timeout] = set()

    async def open(self) -> None:
        """Connect once, so that problems show now.

        Raises NotReachable, UsageError, and Refused where the driver is missing or the server is not PostgreSQL.
        """
        self._is_closed = False
        await self._check_hosts()
        async with self.reading() as connection:
            version = str(await connection.fetchval("SELECT version()"))
        if not version.startswith("PostgreSQL "):
            raise Refused(
                f"The database server {self.address.place} is not PostgreSQL but {shown(version.partition(' ')[0])}.",
                hint="ZeroClaw needs PostgreSQL. Change the host in the URL.",
            )

    async def close(self) -> None:
        """Close every connection; the pool ends those whose statements do not end soon."""
        pool, self._pool, self._is_closed = self._pool, None, True
        if pool is None:
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(_ROLLBACK_SECONDS):
                await pool.close()
        # The loop closes the socket of a terminated connection in its next round.
        await asyncio.sleep(0)

    @asynccontextmanager
    async def reading(self, *, seconds: float = STATEMENT_SECONDS) -> AsyncIterator[asyncpg.Connection]:
        """Begin a read-only transaction in which a statement may take `seconds`.

        Raises NotReachable, Refused, Locked, and SearchInterrupted after `stop`.
        """
        # All rows of a cursor are fetched, so its plan need not bring the first of them soon.
        begin = f"BEGIN READ ONLY; {_limits(seconds)}; SET LOCAL cursor_tuple_fraction = 1"
        interrupted = asyncio.timeout(None)
        try:
            async with interrupted, self._connection() as connection:
                self._readings.add(interrupted)
                try:
                    await connection.execute(begin)
                    yield connection
                    await connection.execute("COMMIT")
                except BaseException:
                    await _roll_back(connection, lambda: connection.execute("ROLLBACK"))
                    raise
        except TimeoutError:
            raise SearchInterrupted from None
        finally:
            self._readings.discard(interrupted)

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[asyncpg.Connection]:
        """Begin a transaction that is committed at the end and rolled back by any exception.

        Once COMMIT is sent its answer is awaited, even if the task is cancelled meanwhile. The error is unsure if none
        comes: the server may still commit.
        """
        is_committing = False
        try:
            async with self._connection() as connection:
                transaction = connection.transaction()
                try:
                    await transaction.start()
                    await connection.execute(_limits(STATEMENT_SECONDS))
                    yield connection
                except BaseException:
                    await _roll_back(connection, transaction.rollback)
                    raise
                is_committing = True
                await wait_until_done(asyncio.ensure_future(transaction.commit()), lambda: None)
        except NotReachable as error:
            if is_committing:
                error.is_unsure = True
                error.add_progress(UNCONFIRMED)
            raise

    def stop(self) -> None:
        """Cancel the reading statements that run now; their tasks get SearchInterrupted."""
        now = asyncio.get_running_loop().time()
        for reading in self._readings:
            reading.reschedule(now)

    async def _check_hosts(self) -> None:
        """Raise NotReachable if no host has an address.

        asyncpg asks for addresses on a thread of the event loop, which waits for a slow name server when it ends.
        """
        hosts = [host for host, _ in self.address.hosts if not host.startswith("/")]
        try:
            async with asyncio.timeout(self._connect_seconds):
                found = await asyncio.gather(*map(has_address, hosts))
        except TimeoutError:
            raise no_answer(self.address, self._connect_seconds) from None
        if hosts and not any(found):
            raise _failure(_CONNECT_ERRORS, "unknown host", None, self.address)

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[asyncpg.Connection]:
        """Lend a connection of the pool."""
        driver, address = _driver(), self.address
        try:
            if self._is_closed:
                raise driver.InterfaceError
            self._pool = self._pool or await self._make_pool()
            pool = self._pool
            connection = await pool.acquire()
        except TimeoutError:
            raise no_answer(address, self._connect_seconds) from None
        except (driver.PostgresError, driver.InterfaceError, driver.InternalClientError, OSError) as error:
            if self._is_closed:
                raise _failure(_STATEMENT_ERRORS, "08", None, address) from None
            raise _failure(_CONNECT_ERRORS, _connect_reason(error, address), error, address) from None
        try:
            with _translated_errors(address, connection):
                yield connection
        finally:
            await pool.release(connection)

    def _make_pool(self) -> asyncpg.Pool:
        driver, address = _driver(), self.address
        # Host, user, password and database are always given: like ZeroClaw, read no PG* variable and no ~/.pgpass.
        return driver.create_pool(
            address.certificates_dsn,
            host=[host for host, _ in address.hosts],
            port=[port for _, port in address.hosts],
            user=address.user,
            password=address.password,
            database=address.database,
            ssl=address.tls,
            direct_tls=address.options.get("sslnegotiation") == "direct",
            target_session_attrs=address.options.get("target_session_attrs", "any"),
            server_settings=address.server_settings,
            timeout=self._connect_seconds,
            min_size=0,
            max_size=MOST_CONNECTIONS,
            statement_cache_size=0,
            command_timeout=patience(STATEMENT_SECONDS),
            max_inactive_connection_lifetime=_IDLE_SECONDS,
            reset=_reset_nothing,
        )


def _driver() -> Any:
    try:
        import asyncpg
    except ImportError:
        from zeroclaw_tui.backends.drivers import install_command

        raise DriverMissing(
            "PostgreSQL cannot be reached without its driver.", hint=f"`{install_command('postgres')}` brings it."
        ) from None
    return asyncpg


def _limits(seconds: float) -> str:
    """The settings of one transaction; behind a pooler nothing may be set for longer."""
    return (
        f"SET LOCAL statement_timeout = {seconds * 1000:.0f}; SET LOCAL lock_timeout = '{_LOCK_SECONDS}s'; "
        "SET LOCAL TimeZone = 'UTC'; SET LOCAL DateStyle = 'ISO, YMD'; SET LOCAL IntervalStyle = 'postgres'; "
        "SET LOCAL extra_float_digits = 3; SET LOCAL bytea_output = 'hex'"
    )


def patience(seconds: float) -> float:
    """How long to wait for the answer to a statement that may take `seconds`; then the server is silent."""
    return seconds + _GRACE_SECONDS


async def in_batches(
    connection: asyncpg.Connection, statement: str, values: Sequence[Any], size: int, seconds: float
) -> AsyncIterator[Sequence[Any]]:
    """Yield the records of a statement, at most `size` at a time, of one snapshot; once in each transaction.

    `seconds` is the limit of each statement in that transaction.
    """
    # asyncpg's own cursors prepare by name, and behind a pooler another program may have used that name.
    await connection.execute(f"DECLARE each_row CURSOR FOR {statement}", *values, timeout=patience(seconds))
    while records := await connection.fetch(f"FETCH {size:d} FROM each_row", timeout=patience(seconds)):
        yield records


async def _roll_back(connection: asyncpg.Connection, rollback: Callable[[], Awaitable[Any]]) -> None:
    """Roll back soon, or else end the connection, which rolls back too: the next caller must find no transaction."""
    import asyncpg

    try:
        async with asyncio.timeout(_ROLLBACK_SECONDS):
            await rollback()
    except (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError, OSError):
        _terminate(connection)
    except asyncio.CancelledError:
        _terminate(connection)
        raise


def _terminate(connection: asyncpg.Connection) -> None:
    """End a connection at once; the pool makes another when it is needed."""
    import asyncpg

    # The pool has already taken back a connection that is closed.
    with suppress(asyncpg.InterfaceError):
        connection.terminate()


async def _reset_nothing(connection: asyncpg.Connection) -> None:
    """Leave the session alone: behind a pooler a reset would reach somebody else's."""


@contextmanager
def _translated_errors(address: PostgresAddress, connection: asyncpg.Connection) -> Iterator[None]:
    """Turn errors of the driver into InspectorErrors; mistakes of this program pass."""
    import asyncpg

    try:
        yield
    except asyncpg.PostgresError as error:
        raise _failure(_STATEMENT_ERRORS, str(error.sqlstate), error, address) from None
    except TimeoutError:
        _terminate(connection)
        raise NotReachable(f"The database server {address.place} stopped answering.", hint=_AGAIN) from None
    except (asyncpg.InterfaceError, asyncpg.InternalClientError, OSError):
        # A closed connection has left the pool, and answers no question.
        with suppress(asyncpg.InterfaceError):
            if not connection.is_closed():
                raise
        raise _failure(_STATEMENT_ERRORS, "08", None, address) from None


def no_answer(address: PostgresAddress, seconds: float) -> NotReachable:
    """The error for a server that does not answer in time."""
    return NotReachable(
        f"The database server {address.place} did not answer within {seconds:g} s.",
        hint=f"Check the firewall, and that connect_timeout_secs is long enough. {_RUNNING}",
    )


def _failure(table: _ErrorTable, reason: str, error: Exception | None, address: PostgresAddress) -> InspectorError:
    """The error for a reason of the table. The server's own words are not shown, as they may repeat what was sent."""
    kind, sentence, hint = table.get(reason) or table.get(reason[:2]) or table[""]
    detail = getattr(error, "verify_message", None) or getattr(error, "strerror", None)
    if reason == "driver" and error is not None:
        detail = error.args[0]
    values = {
        "server": f"The database server {address.place}",
        "place": address.place,
        "host": shown(address.hosts[0][0]),
        "user": shown(address.user),
        "database": shown(address.database),
        "code": shown(reason),
        "rule": shown(getattr(error, "constraint_name", None) or getattr(error, "column_name", None) or "a column"),
        "detail": f": {shown(str(detail))}" if detail else "",
    }
    failure = kind(sentence.format(**values), hint=hint.format(**values))
    if isinstance(failure, AccessDenied):
        failure.only_with_tls = reason == "only tls"
    return failure


def _connect_reason(error: Exception, address: PostgresAddress) -> str:
    """Why no connection comes about, as a key of the table."""
    import asyncpg

    match error:
        case asyncpg.PostgresError():
            return _sign_in_reason(error, address)
        case asyncpg.InterfaceError() | asyncpg.InternalClientError():
            return "driver"
        case ssl.SSLCertVerificationError():
            return "certificate"
        case ssl.SSLError():
            return "tls"
        # Where a host has several addresses, asyncio puts all errors into one text.
        case OSError() if error.errno == errno.ECONNREFUSED or f"[Errno {errno.ECONNREFUSED}]" in str(error):
            return "refused"
        case FileNotFoundError() if not address.hosts[0][0].startswith("/"):
            return "no file"
        case ConnectionError() if not error.errno:
            return "no tls" if address.asks_for_tls else "08"
        case ConnectionError():
            return "08"
    return "unreachable"


def _sign_in_reason(error: asyncpg.PostgresError, address: PostgresAddress) -> str:
    code, message = str(error.sqlstate or "08"), str(getattr(error, "message", "")).lower()
    if code == "28P01" and not address.password:
        return "no password"
    if code not in ("28000", "08P01"):
        return code
    if address.tls in ("disable", "allow") and any(word in message for word in ("no encryption", "ssl", "tls")):
        return "only tls"
    return "no role" if "pg_hba" not in message and "role" in message else code
