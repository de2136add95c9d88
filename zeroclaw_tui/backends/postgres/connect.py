"""Connections to one PostgreSQL database: asyncpg's pool, also behind PgBouncer, and the translation of errors."""

from __future__ import annotations

import asyncio
import errno
import socket
import ssl
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any
from urllib.parse import urlencode

import asyncpg  # type: ignore[import-untyped]

from zeroclaw_tui.backends.cancellation import wait_until_done
from zeroclaw_tui.backends.postgres.address import CERTIFICATE_OPTIONS, PostgresAddress
from zeroclaw_tui.backends.writing import UNCONFIRMED
from zeroclaw_tui.config.memory_config import shown
from zeroclaw_tui.memory.errors import (
    InspectorError,
    Locked,
    NotReachable,
    Refused,
    SearchInterrupted,
    Unreadable,
    UsageError,
)

DEFAULT_SECONDS = 10.0
"""The default connection timeout, used if neither the config nor the URL has one."""
MAX_CONNECTIONS = 4
"""The maximum number of open connections."""
STATEMENT_SECONDS = 30.0
"""The timeout of a statement on the server."""
PASS_SECONDS = 120.0
"""The timeout of a statement that counts or compares every row."""
LONG_SECONDS = 300.0
"""The timeout of a statement that fetches every row."""
_IDLE_SECONDS = 60.0
_GRACE_SECONDS = 5.0
_ROLLBACK_SECONDS = 2.0
LOCK_SECONDS = 10
"""How long a change waits for a row that another program has locked."""
# Sent as one message; behind a pooler, settings must not outlive the transaction.
_BEGIN = (
    "{begin}; SET LOCAL statement_timeout = {milliseconds:.0f}; SET LOCAL lock_timeout = '{lock}s'; "
    "SET LOCAL cursor_tuple_fraction = 1; SET LOCAL TimeZone = 'UTC'; SET LOCAL DateStyle = 'ISO, YMD'; "
    "SET LOCAL IntervalStyle = 'postgres'; SET LOCAL extra_float_digits = 3; SET LOCAL bytea_output = 'hex'"
)

_DRIVER_ERRORS = (asyncpg.InterfaceError, asyncpg.InternalClientError)
_ERRORS = (asyncpg.PostgresError, *_DRIVER_ERRORS, OSError)

_RUNNING = "Is it running, and are host and port right?"
_AGAIN = "Try again once the server is back."
_LOG = "See the server's log."
_FILES = "Check sslmode, sslrootcert, sslcert and sslkey in the URL."
_Failure = tuple[type[InspectorError], str, str]
_NOT_LET_IN: _Failure = (
    NotReachable,
    "{server} rejects the user {user} (code {code}).",
    "Does the user exist, and does pg_hba.conf (or the pooler's own list) allow it?",
)
_NO_CONNECTIONS: _Failure = (NotReachable, "{server} accepts no connections at the moment.", _AGAIN)
_CLOSED: _Failure = (NotReachable, "{server} closed the connection.", _AGAIN)
_LOCKED: _Failure = (Locked, "Another program holds a lock at {place}.", "Try again in a moment.")
_CHANGED_TABLE: _Failure = (Unreadable, "The table at {place} has changed.", "Open it again.")
_CONNECT_ERRORS: Mapping[str, _Failure] = {
    "unknown host": (NotReachable, "There is no host named {host}.", "Check the spelling, and that DNS works here."),
    "refused": (NotReachable, "Nothing listens at {place}.", _RUNNING),
    "unreachable": (NotReachable, "{server} cannot be reached{detail}.", f"{_RUNNING} {_FILES}"),
    "tls": (NotReachable, "The TLS connection to {place} failed{detail}.", _FILES),
    "no tls": (NotReachable, "{server} does not support TLS, which the URL asks for.", "Remove sslmode from the URL."),
    "only tls": (
        NotReachable,
        "{server} accepts the user {user} over TLS only.",
        "ZeroClaw always connects without TLS: allow that for this user (pg_hba.conf), or use a tunnel. "
        "sslmode=require in the URL only helps this program.",
    ),
    "driver": (UsageError, "The driver cannot connect to {place}{detail}.", _FILES),
    "28P01": (
        NotReachable,
        "{server} refuses the user {user} or the password.",
        "Correct user and password in the URL; write @ : / in them as %40 %3A %2F.",
    ),
    "3D000": (NotReachable, "{server} has no database {database}.", "Create it, or correct the URL's path."),
    "42501": (
        NotReachable,
        "The user {user} may not connect to the database {database} at {place}.",
        'GRANT CONNECT ON DATABASE "{database}" TO "{user}";',
    ),
    **dict.fromkeys(("53", "57"), _NO_CONNECTIONS),
    "08P01": _NOT_LET_IN,
    "08": (NotReachable, "What answers at {place} is not PostgreSQL, or it closed the connection.", _RUNNING),
    "": _NOT_LET_IN,
}
_STATEMENT_ERRORS: Mapping[str, _Failure] = {
    "57014": (NotReachable, "{server} stopped a statement that took too long.", "Try again, or ask for less at once."),
    **dict.fromkeys(("55P03", "40001", "40P01"), _LOCKED),
    "42501": (Refused, "The user {user} lacks a right on the table.", "Run `zeroclaw memory health` to see which."),
    "25006": (Refused, "{server} is read-only now.", "It may be a replica."),
    **dict.fromkeys(("42P01", "42703", "3F000"), _CHANGED_TABLE),
    "54": (Refused, "PostgreSQL cannot store that: a text is too long for it or for an index.", ""),
    "23": (Refused, "The table refuses this change by its rule on {rule}.", ""),
    **dict.fromkeys(("08", "57"), _CLOSED),
    "53": (Refused, "{server} ran out of space or memory.", _LOG),
    "": (Refused, "{server} refused a statement (code {code}).", _LOG),
}
"""Exception class, sentence and hint by SQLSTATE, by its first two letters (the class), or by "" for all others."""


class Connections:
    """A pool of a few connections, opened on use. Every statement runs in its own transaction.

    Timeouts and time zone are set per transaction (SET LOCAL) and no statement is prepared by name, so a pooler may
    send each transaction to another server. Driver errors are raised as InspectorErrors without any secret. A broken
    connection is replaced at the next use.
    """

    def __init__(self, address: PostgresAddress, *, connect_seconds: float) -> None:
        self.address = address
        self._connect_seconds = connect_seconds
        self._pool: asyncpg.Pool | None = None
        self._readings: set[asyncio.Timeout] = set()

    async def open(self) -> None:
        """Connect once, so that problems are raised now.

        Raises NotReachable, UsageError, and Refused if the server is not PostgreSQL.
        """
        self._pool = self._pool or await self._make_pool()
        async with self.reading() as connection:
            version = str(await connection.fetchval("SELECT version()"))
        if not version.startswith("PostgreSQL "):
            raise Refused(
                f"The database server {self.address.place} is not PostgreSQL but {shown(version.partition(' ')[0])}.",
                hint="ZeroClaw needs PostgreSQL. Change the host in the URL.",
            )

    async def disconnect(self) -> None:
        """Cancel reading statements, which raises SearchInterrupted in their tasks, and close all connections."""
        now = asyncio.get_running_loop().time()
        for reading in self._readings:
            reading.reschedule(now)
        pool, self._pool = self._pool, None
        if pool is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(_ROLLBACK_SECONDS):
                    await pool.close()
            # The event loop closes the socket of a terminated connection in its next iteration.
            await asyncio.sleep(0)

    @asynccontextmanager
    async def reading(self, *, seconds: float = STATEMENT_SECONDS) -> AsyncIterator[asyncpg.Connection]:
        """Begin a read-only transaction with a statement timeout of `seconds`.

        Raises NotReachable, Refused, Locked, and SearchInterrupted after `disconnect`.
        """
        interrupted = asyncio.timeout(None)
        try:
            async with interrupted:
                self._readings.add(interrupted)
                async with self._transaction("BEGIN READ ONLY", seconds) as connection:
                    yield connection
        except TimeoutError:
            raise SearchInterrupted from None
        finally:
            self._readings.discard(interrupted)

    async def fetch(
        self, statement: str, values: Sequence[Any] = (), *, seconds: float = STATEMENT_SECONDS
    ) -> Sequence[Mapping[str, Any]]:
        """Read the records of one statement."""
        async with self.reading(seconds=seconds) as connection:
            return list(await connection.fetch(statement, *values, timeout=client_timeout(seconds)))

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[asyncpg.Connection]:
        """Begin a transaction that is committed at the end and rolled back on any exception.

        If COMMIT was sent but not answered, the error has `is_unsure` set: the server may still commit.
        """
        is_committing = False
        try:
            async with self._transaction("BEGIN", STATEMENT_SECONDS) as connection:
                yield connection
                is_committing = True
        except NotReachable as error:
            if is_committing:
                error.is_unsure = True
                error.add_progress(UNCONFIRMED)
            raise

    @asynccontextmanager
    async def _transaction(self, begin: str, seconds: float) -> AsyncIterator[asyncpg.Connection]:
        """Yield a connection in a transaction, and raise driver errors as InspectorErrors.

        Once COMMIT is sent, its answer is awaited even if the task is cancelled.
        """
        if self._pool is None:
            raise self._failure(_STATEMENT_ERRORS, "08")
        pool = self._pool
        try:
            connection = await pool.acquire()
        except TimeoutError:
            raise no_answer(self.address, self._connect_seconds) from None
        except _ERRORS as error:
            raise self._failure(_CONNECT_ERRORS, _connect_reason(error, self.address), error) from None
        try:
            try:
                await connection.execute(_BEGIN.format(begin=begin, milliseconds=seconds * 1000, lock=LOCK_SECONDS))
                yield connection
            except BaseException:
                await _roll_back(connection)
                raise
            await wait_until_done(asyncio.ensure_future(connection.execute("COMMIT")), lambda: None)
        except asyncpg.PostgresError as error:
            raise self._failure(_STATEMENT_ERRORS, str(error.sqlstate), error) from None
        except TimeoutError:
            _terminate(connection)
            raise NotReachable(f"The database server {self.address.place} stopped answering.", hint=_AGAIN) from None
        except (*_DRIVER_ERRORS, OSError):
            if not _is_closed(connection):
                raise
            raise self._failure(_STATEMENT_ERRORS, "08") from None
        finally:
            await pool.release(connection)

    def _make_pool(self) -> asyncpg.Pool:
        """Create the pool, passing every parameter: PG* variables and ~/.pgpass must be ignored, as in ZeroClaw."""
        address, options = self.address, self.address.options
        settings = {"application_name": "zeroclaw-tui", **options}
        files = {name: options[name] for name in CERTIFICATE_OPTIONS if name in options}
        return asyncpg.create_pool(
            # asyncpg accepts the TLS files in the URL only.
            f"postgres://?{urlencode(files)}",
            host=[host for host, _ in address.hosts],
            port=[port for _, port in address.hosts],
            user=address.user,
            password=address.password,
            database=address.database,
            ssl=address.tls,
            direct_tls=options.get("sslnegotiation") == "direct",
            target_session_attrs=options.get("target_session_attrs", "any"),
            server_settings={name: settings[name] for name in ("application_name", "options") if settings.get(name)},
            timeout=self._connect_seconds,
            min_size=0,
            max_size=MAX_CONNECTIONS,
            statement_cache_size=0,
            command_timeout=client_timeout(STATEMENT_SECONDS),
            max_inactive_connection_lifetime=_IDLE_SECONDS,
            reset=_reset_nothing,
        )

    def _failure(self, table: Mapping[str, _Failure], reason: str, error: Exception | None = None) -> InspectorError:
        """Make the error for a reason. The server's own message is not shown, as it may quote a statement's values."""
        address = self.address
        kind, sentence, hint = table.get(reason) or table.get(reason[:2]) or table[""]
        detail = getattr(error, "verify_message", None) or getattr(error, "strerror", None)
        if reason == "driver" and error is not None:
            detail = detail or error.args[0]
        values = {
            "server": f"The database server {address.place}",
            "place": address.place,
            "host": shown(address.hosts[-1][0]),  # of several, the driver raises the error of the last one
            "user": shown(address.user),
            "database": shown(address.database),
            "code": shown(reason),
            "rule": shown(getattr(error, "constraint_name", None) or getattr(error, "column_name", None) or "a column"),
            "detail": f": {shown(str(detail))}" if detail else "",
        }
        return kind(sentence.format(**values), hint=hint.format(**values))


async def _roll_back(connection: asyncpg.Connection) -> None:
    """Roll back with a short timeout, or else close the connection: the next caller must not find a transaction."""
    try:
        async with asyncio.timeout(_ROLLBACK_SECONDS):
            await connection.execute("ROLLBACK")
    except _ERRORS:
        _terminate(connection)
    except asyncio.CancelledError:
        _terminate(connection)
        raise


def _terminate(connection: asyncpg.Connection) -> None:
    """Close a connection at once; the pool opens another when it is needed."""
    if not _is_closed(connection):
        connection.terminate()


def _is_closed(connection: asyncpg.Connection) -> bool:
    try:
        return bool(connection.is_closed())
    except asyncpg.InterfaceError:
        # A closed connection is already back in the pool, and `is_closed` raises.
        return True


async def _reset_nothing(connection: asyncpg.Connection) -> None:
    """Do not reset the session: behind a pooler it may be another client's."""


def client_timeout(seconds: float) -> float:
    """The client's timeout for a statement with a server timeout of `seconds`; then the server does not answer."""
    return seconds + _GRACE_SECONDS


async def in_batches(
    connection: asyncpg.Connection, statement: str, values: Sequence[Any], size: int
) -> AsyncIterator[Sequence[Any]]:
    """Yield the records of a statement from one snapshot, at most `size` at a time; once in a transaction, whose
    timeout is PASS_SECONDS."""
    timeout = client_timeout(PASS_SECONDS)
    # asyncpg's own cursors use named prepared statements, and behind a pooler the name may be in use.
    await connection.execute(f"DECLARE each_row CURSOR FOR {statement}", *values, timeout=timeout)
    while records := await connection.fetch(f"FETCH {size:d} FROM each_row", timeout=timeout):
        yield records


def no_answer(address: PostgresAddress, seconds: float) -> NotReachable:
    """Make the error for a server that does not answer in time."""
    return NotReachable(
        f"The database server {address.place} did not answer within {seconds:g} s.",
        hint=f"Check the firewall, and that connect_timeout_secs is long enough. {_RUNNING}",
    )


def _connect_reason(error: Exception, address: PostgresAddress) -> str:
    """The reason of a connection error, as a key of _CONNECT_ERRORS."""
    match error:
        case asyncpg.PostgresError():
            needs_tls = any(word in str(error).lower() for word in ("no encryption", "ssl", "tls"))
            is_refused = error.sqlstate in ("28000", "08P01") and address.tls in ("disable", "allow")
            return "only tls" if is_refused and needs_tls else str(error.sqlstate or "08")
        case asyncpg.InterfaceError() | asyncpg.InternalClientError():
            return "driver"
        case ssl.SSLError():
            return "tls"
        # If a host has several addresses, asyncio joins all errors into one text.
        case OSError() if error.errno == errno.ECONNREFUSED or f"[Errno {errno.ECONNREFUSED}]" in str(error):
            return "refused"
        case socket.gaierror():
            return "unknown host"
        case ConnectionError():
            return "08" if error.errno or address.tls in ("disable", "prefer") else "no tls"
    return "unreachable"
