"""Connections to one PostgreSQL database: asyncpg's pool, also behind PgBouncer, and what its errors mean."""

from __future__ import annotations

import asyncio
import ssl
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import TYPE_CHECKING, Any

from zeroclaw_tui.backends.cancellation import addresses_of, to_its_end
from zeroclaw_tui.backends.postgres.address import SHAPE, PostgresAddress, tls_context
from zeroclaw_tui.config.memory_config import shown
from zeroclaw_tui.memory.errors import (
    AccessDenied,
    Corrupt,
    DriverMissing,
    InspectorError,
    Locked,
    NotReachable,
    Refused,
    SearchInterrupted,
    Unreadable,
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
OUT_OF_TIME = "57014"
_ALL_ROWS = "; SET LOCAL cursor_tuple_fraction = 1"
"""Of what is read by a cursor all rows are wanted, so its plan need not bring the first of them soon."""
_IDLE_SECONDS = 60.0
_GRACE_SECONDS = 5.0
_ROLLBACK_SECONDS = 2.0
_LOCK_SECONDS = 10
_TLS_REQUEST = struct.pack("!ii", 8, 80877103)
_TRY_OTHERWISE = ("28000", "08P01")
"""Refusals that another way of encrypting may change."""
_RUNNING = "Is it running, and are host and port right?"
_AGAIN = "Try again once the server is back."
_RULES = {
    "23502": "needs a value",
    "23503": "refers to a row",
    "23505": "is unique",
    "23514": "has a rule",
    "23P01": "has a rule",
}


class Connections:
    """Connections made on use, at most a few. Every statement runs in a transaction of its own.

    Nothing is left on a connection: limits and time zone are set with SET LOCAL, no statement is prepared by name.
    Driver errors come out as InspectorError kinds without any secret. A connection that broke is replaced by a new one
    at the next use.
    """

    def __init__(self, address: PostgresAddress, *, connect_seconds: float) -> None:
        self.address = address
        self.uses_tls = False
        """Whether the connection made last is encrypted."""
        self._connect_seconds = connect_seconds
        self._pool: asyncpg.Pool | None = None
        self._closed = False
        self._readings: dict[asyncio.Timeout, bool] = {}
        self._settling: set[asyncio.Task[None]] = set()

    async def open(self) -> None:
        """Connect once, so that faults show now.

        Raises NotReachable, UsageError, Refused where the driver is missing or the server is not PostgreSQL.
        """
        self._closed = False
        async with self.reading() as connection:
            version = str(await connection.fetchval("SELECT version()"))
        if not version.startswith("PostgreSQL "):
            raise Refused(
                f"The database server {self.address.place} is not PostgreSQL but {shown(version.partition(' ')[0])}.",
                hint="ZeroClaw needs PostgreSQL. Change the host in the URL.",
            )

    async def close(self) -> None:
        """Let go of every connection; one whose statement does not end soon is broken off."""
        pool, self._pool, self._closed = self._pool, None, True
        if pool is None:
            return
        # What is still in use after that the pool breaks off.
        with suppress(TimeoutError):
            async with asyncio.timeout(_ROLLBACK_SECONDS):
                await pool.close()
        await asyncio.gather(*self._settling, return_exceptions=True)
        # A socket that was broken off is only closed in the loop's next round.
        await asyncio.sleep(0)

    @asynccontextmanager
    async def reading(
        self, *, seconds: float | None = None, interruptible: bool = True
    ) -> AsyncIterator[asyncpg.Connection]:
        """A connection in a read-only transaction: times in UTC, ISO dates, the statement time-out set.

        Within it driver errors become NotReachable, Refused, Locked or SearchInterrupted (after `stop`).
        """
        pool, connection = await self._acquired("BEGIN READ ONLY; " + self._limits(seconds) + _ALL_ROWS)
        interrupted = asyncio.timeout(None)
        is_done = False
        try:
            with translated(self.address, connection):
                try:
                    async with interrupted:
                        self._readings[interrupted] = interruptible
                        yield connection
                except TimeoutError:
                    if interrupted.expired():
                        raise SearchInterrupted from None
                    raise
                finally:
                    self._readings.pop(interrupted, None)
                await connection.execute("COMMIT")
                is_done = True
        finally:
            if is_done:
                await pool.release(connection)
            else:
                # Whoever gave up does not wait until the server has heard of it.
                self._in_background(_settled(pool, connection))

    @asynccontextmanager
    async def writing(self, *, seconds: float | None = None) -> AsyncIterator[asyncpg.Connection]:
        """The same for writing: committed at the end, rolled back by any exception.

        A commit once sent is waited for, also by one who is cancelled meanwhile.
        """
        pool, connection = await self._acquired("SELECT 1")
        try:
            with translated(self.address, connection):
                transaction = connection.transaction()
                try:
                    await transaction.start()
                    await connection.execute(self._limits(seconds))
                    yield connection
                except BaseException:
                    await _rolled_back(connection, transaction.rollback)
                    raise
                await to_its_end(asyncio.ensure_future(transaction.commit()), _nothing)
        finally:
            await pool.release(connection)

    def stop(self, *, everything: bool) -> None:
        """Cancel the reading statements that run now, or the interruptible ones among them: SearchInterrupted there."""
        now = asyncio.get_running_loop().time()
        for reading, interruptible in list(self._readings.items()):
            if interruptible or everything:
                reading.reschedule(now)

    def _limits(self, seconds: float | None) -> str:
        """What holds for one transaction: behind a pooler nothing may be set for longer."""
        milliseconds = int((STATEMENT_SECONDS if seconds is None else seconds) * 1000)
        return (
            f"SET LOCAL statement_timeout = {milliseconds}; SET LOCAL lock_timeout = '{_LOCK_SECONDS}s'; "
            "SET LOCAL TimeZone = 'UTC'; SET LOCAL DateStyle = 'ISO, YMD'; SET LOCAL IntervalStyle = 'postgres'; "
            "SET LOCAL extra_float_digits = 3; SET LOCAL bytea_output = 'hex'"
        )

    async def _acquired(self, statements: str) -> tuple[asyncpg.Pool, asyncpg.Connection]:
        """The pool and a connection of it with these statements sent; one that turns out to be dead is replaced."""
        driver = _driver()
        expired = False
        while True:
            pool = await self._made_pool()
            try:
                connection = await pool.acquire()
            except driver.InterfaceError:
                raise gone(self.address) from None
            try:
                with translated(self.address, connection):
                    # Also where the caller begins the transaction: whether the connection lives is seen here.
                    await connection.execute(statements, timeout=self._connect_seconds)
                return pool, connection
            except BaseException as error:
                broken_off(connection)
                await pool.release(connection)
                if expired or not isinstance(error, NotReachable):
                    raise
            # The others have lain idle for as long.
            await pool.expire_connections()
            expired = True

    async def _made_pool(self) -> asyncpg.Pool:
        if self._closed:
            raise gone(self.address)
        if self._pool is None:
            driver = _driver()

            class Connection(driver.Connection):  # type: ignore[misc, name-defined]
                """The driver's own (0.32), which is only half made where a server speaks nonsense."""

                def __del__(self) -> None:
                    if hasattr(self, "_source_traceback"):
                        super().__del__()
                    else:
                        self._transport.abort()

            self._pool = await driver.create_pool(
                connect=self._connect,
                connection_class=Connection,
                min_size=0,
                max_size=MOST_CONNECTIONS,
                statement_cache_size=0,
                command_timeout=patience(STATEMENT_SECONDS),
                max_inactive_connection_lifetime=_IDLE_SECONDS,
                # Behind a pooler, what resets a session would go to anybody's.
                reset=_nothing_to_reset,
            )
        return self._pool

    async def _connect(self, dsn: None, **settings: Any) -> asyncpg.Connection:
        """What the pool connects with. Raises NotReachable, and UsageError for files that cannot be read."""
        seconds = self._connect_seconds
        try:
            async with asyncio.timeout(seconds):
                connection, self.uses_tls = await _first_that_answers(self.address, seconds, settings)
                return connection
        except TimeoutError:
            silent = no_answer(self.address, seconds)
            if seconds < USUAL_SECONDS:
                silent.hint = f"connect_timeout_secs may be too short. {silent.hint}"
            raise silent from None

    def _in_background(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._settling.add(task)
        task.add_done_callback(self._settling.discard)


def _driver() -> Any:
    try:
        import asyncpg
    except ImportError:
        from zeroclaw_tui.backends.factory import command_for

        raise DriverMissing(
            "PostgreSQL cannot be reached without its driver.", hint=f"`{command_for('postgres')}` brings it."
        ) from None
    return asyncpg


def patience(seconds: float) -> float:
    """The driver's own time-out of a statement with that limit: it is for a server that falls silent."""
    return seconds + _GRACE_SECONDS


async def in_batches(
    connection: asyncpg.Connection, statement: str, values: Sequence[Any], size: int, seconds: float
) -> AsyncIterator[Sequence[Any]]:
    """At most `size` records at a time, of one snapshot, within the transaction that is open; once in each.

    `seconds` is the limit of each statement in that transaction.
    """
    waited = patience(seconds)
    # The driver's own cursors prepare by name, and behind a pooler another program may have that name on the server.
    await connection.execute(f"DECLARE each_row CURSOR FOR {statement}", *values, timeout=waited)
    records: Sequence[Any] = ()
    is_first = True
    while is_first or len(records) == size:
        is_first = False
        records = await connection.fetch(f"FETCH {size:d} FROM each_row", timeout=waited)
        if records:
            yield records


async def _settled(pool: asyncpg.Pool, connection: asyncpg.Connection) -> None:
    try:
        await _rolled_back(connection, lambda: connection.execute("ROLLBACK"))
    finally:
        await pool.release(connection)


async def _rolled_back(connection: asyncpg.Connection, rollback: Callable[[], Awaitable[Any]]) -> None:
    """Roll back; a connection on which that does not work is broken off, which rolls back too.

    That is also one whose transaction may or may not have begun: what is written next must not be taken for a part of
    it, which nobody would ever commit.
    """
    import asyncpg

    try:
        async with asyncio.timeout(_ROLLBACK_SECONDS):
            await rollback()
    except (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError, OSError):
        broken_off(connection)
    except asyncio.CancelledError:
        broken_off(connection)
        raise


def broken_off(connection: asyncpg.Connection) -> None:
    """End a connection at once; the pool makes another where one is wanted."""
    import asyncpg

    # The pool has taken back one that is broken off already.
    with suppress(asyncpg.InterfaceError):
        connection.terminate()


def _is_lost(connection: asyncpg.Connection) -> bool:
    import asyncpg

    try:
        return bool(connection.is_closed())
    except asyncpg.InterfaceError:
        return True


async def _nothing_to_reset(connection: asyncpg.Connection) -> None:
    """Everything was set for one transaction."""


def _nothing() -> None:
    """A commit cannot be asked to stop."""


async def _first_that_answers(
    address: PostgresAddress, seconds: float, settings: dict[str, Any]
) -> tuple[asyncpg.Connection, bool]:
    """A connection, and whether it is encrypted.

    The driver would walk the hosts too, but a silent one would use up the time of the others there, and a slow name
    server could not be given up.
    """
    problem: NotReachable | None = None
    places = [(host, place, port) for host, port in address.hosts for place in await _places(host)]
    for host, place, port in places:
        try:
            async with asyncio.timeout(seconds / len(places) if len(places) > 1 else None):
                return await _signed_in(address, host, place, port, settings)
        except NotReachable as error:
            problem = problem or error
        except TimeoutError:
            problem = problem or no_answer(address, seconds)
    if problem is None:
        raise NotReachable(
            f"There is no host named {shown(address.hosts[0][0])}.", hint="Check the spelling, and that DNS works here."
        )
    raise problem


async def _places(host: str) -> Sequence[str]:
    return (host,) if host.startswith("/") else await addresses_of(host)


async def _signed_in(
    address: PostgresAddress, host: str, place: str, port: int, settings: dict[str, Any]
) -> tuple[asyncpg.Connection, bool]:
    """The same at one address, in the order in which libpq tries with TLS and without for each sslmode."""
    import asyncpg

    options = address.options
    is_direct = address.asks_for_tls and options.get("sslnegotiation") == "direct"
    server_settings = {"application_name": options.get("application_name", "zeroclaw-tui")}
    if options.get("options"):
        server_settings["options"] = options["options"]
    problem: NotReachable | None = None
    for context in await _ways(address, host, place, port, is_direct=is_direct):
        try:
            # Everything is given, so that no PG* variable, no file of the home directory and no service file has a
            # say; for the same reason the context is ours: by a mode's name the driver would look for certificates.
            connection = await asyncpg.connect(
                host=place,
                port=port,
                user=address.user,
                password=address.password,
                database=address.database,
                ssl=context or False,
                direct_tls=is_direct,
                target_session_attrs=options.get("target_session_attrs", "any"),
                krbsrvname="postgres",
                gsslib="gssapi",
                server_settings=server_settings,
                timeout=None,
                **settings,
            )
            return connection, context is not None
        except (
            *(asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError, OSError),
            # What the driver raises where the peer speaks nonsense.
            *(ValueError, BufferError, LookupError, AttributeError, struct.error),
        ) as error:
            problem = problem or _sign_in_failure(error, address)
            is_about_tls = isinstance(error, ssl.SSLError) and not isinstance(error, ssl.SSLCertVerificationError)
            if not is_about_tls and getattr(error, "sqlstate", None) not in _TRY_OTHERWISE:
                break
    assert problem is not None
    raise problem


async def _ways(
    address: PostgresAddress, host: str, place: str, port: int, *, is_direct: bool
) -> Sequence[ssl.SSLContext | None]:
    """With which TLS contexts to try, None standing for without TLS. Raises NotReachable, UsageError."""
    if host.startswith("/"):
        return (None,)
    if is_direct:
        return (tls_context(address, host),)
    speaks_tls = await _greeted(place, port, address)
    if address.asks_for_tls and not speaks_tls:
        raise NotReachable(
            f"The database server {address.place} does not support TLS, which the URL asks for.",
            hint="Remove sslmode from the URL if the network is safe without TLS.",
        )
    if not speaks_tls or address.tls == "disable":
        return (None,)
    context = tls_context(address, host)
    if address.asks_for_tls:
        return (context,)
    return (None, context) if address.tls == "allow" else (context, None)


async def _greeted(place: str, port: int, address: PostgresAddress) -> bool:
    """Whether the peer speaks TLS: every PostgreSQL server answers that with one letter, and nothing else does.

    The driver takes the first bytes of another program's greeting for a long message, and waits for it.
    """
    try:
        reader, writer = await asyncio.open_connection(place, port)
    except OSError as error:
        raise _sign_in_failure(error, address) from None
    try:
        writer.write(_TLS_REQUEST)
        answer = await reader.read(16)
    except OSError:
        answer = b""
    finally:
        writer.transport.abort()
    if answer not in (b"S", b"N"):
        raise NotReachable(f"What answers at {address.place} is not PostgreSQL.", hint="Check host and port.")
    return answer == b"S"


def no_answer(address: PostgresAddress, seconds: float) -> NotReachable:
    """The error for a server that says nothing, or not all of it, within the time."""
    return NotReachable(
        f"The database server {address.place} did not answer within {seconds:g} s.",
        hint=f"Check the firewall. {_RUNNING}",
    )


def _sign_in_failure(error: Exception, address: PostgresAddress) -> NotReachable:
    """Why no connection comes about."""
    import asyncpg

    place = address.place
    match error:
        case asyncpg.PostgresError():
            return _refused_sign_in(error, address)
        case ssl.SSLCertVerificationError():
            return NotReachable(
                f"The certificate of {place} is not trusted: {shown(error.verify_message)}.",
                hint="sslrootcert in the URL names the file of the authority that signed it.",
            )
        case ssl.SSLError():
            return NotReachable(
                f"The TLS connection to {place} failed.", hint="Check that both sides support the same TLS version."
            )
        case asyncpg.TargetServerAttributeNotMatched():
            wanted = shown(address.options.get("target_session_attrs", ""))
            return NotReachable(
                f"The database server {place} is not {wanted}, as the URL asks.",
                hint="Use the address of the primary server; a replica is read-only.",
            )
        case ConnectionRefusedError():
            return NotReachable(f"Nothing listens at {place}.", hint=_RUNNING)
        case OSError():
            because = f": {error.strerror}" if error.strerror and error.errno and error.errno > 0 else ""
            return NotReachable(f"The database server {place} cannot be reached{because}.", hint=_RUNNING)
        case asyncpg.InterfaceError():
            return NotReachable(
                f"The database server {place} asks for an authentication method that is not supported.",
                hint="Use a password or a client certificate in pg_hba.conf.",
            )
    return _broke_off(address)


def _broke_off(address: PostgresAddress) -> NotReachable:
    return NotReachable(
        f"The database server {address.place} closed the connection during authentication.", hint="Try again later."
    )


def _refused_sign_in(error: asyncpg.PostgresError, address: PostgresAddress) -> NotReachable:
    """Why the server does not let in, by its error code; its own words may repeat what was sent."""
    user, database, place = shown(address.user), shown(address.database), address.place
    match str(error.sqlstate or ""):
        case "28P01" if address.password:
            return AccessDenied(
                f"The database server {place} refuses the user {user} or the password.",
                hint="Correct user and password in the URL; write @ : / in them as %40 %3A %2F.",
            )
        case "28P01":
            return AccessDenied(
                f"The database server {place} needs a password for the user {user}; the URL has none.", hint=SHAPE
            )
        case "28000" | "08P01":
            return _not_let_in(error, address)
        case "3D000":
            return AccessDenied(
                f"The database server {place} has no database {database}.", hint="Create it, or correct the URL's path."
            )
        case "42501":
            return AccessDenied(
                f"The user {user} may not connect to the database {database} at {place}.",
                hint=f'GRANT CONNECT ON DATABASE "{database}" TO "{user}";',
            )
        case "53300":
            return NotReachable(
                f"The database server {place} has too many connections.",
                hint="Close some, or raise max_connections.",
            )
        case "57P03":
            return NotReachable(f"The database server {place} is starting up or shutting down.", hint=_AGAIN)
        case code if code.startswith("08") or not code:
            return _broke_off(address)
        case code:
            return AccessDenied(
                f"The database server {place} does not let the user {user} in (code {shown(code)}).",
                hint="See the server's log.",
            )


def _not_let_in(error: asyncpg.PostgresError, address: PostgresAddress) -> AccessDenied:
    user, database, place = shown(address.user), shown(address.database), address.place
    told = ""
    with suppress(AttributeError):
        told = str(error.message).lower()
    if address.tls in ("disable", "allow") and any(
        word in told for word in ("no encryption", "ssl", "tls", "insecure")
    ):
        refusal = AccessDenied(
            f"The database server {place} accepts the user {user} over TLS only.",
            hint="Add sslmode=require to the URL.",
        )
        refusal.only_with_tls = True
        return refusal
    if "pg_hba" not in told and "role" in told:
        return AccessDenied(f"The database server {place} has no user {user}.", hint="Create it, or correct the URL.")
    return AccessDenied(
        f"The database server {place} does not let the user {user} into the database {database} from here.",
        hint="Does the user exist, and does pg_hba.conf (or the pooler's own list) let it in?",
    )


@contextmanager
def translated(address: PostgresAddress, connection: asyncpg.Connection) -> Iterator[None]:
    """Errors of the driver within come out as InspectorError kinds; what is not the driver's is left alone."""
    import asyncpg

    try:
        yield
    except asyncpg.PostgresError as error:
        raise statement_failure(error, address) from None
    except (asyncpg.InterfaceError, asyncpg.InternalClientError) as error:
        if not _is_lost(connection):
            raise _not_sendable(error) from None
        raise gone(address) from None
    except TimeoutError:
        broken_off(connection)
        raise NotReachable(f"The database server {address.place} stopped answering.", hint=_AGAIN) from None
    except OSError:
        if not _is_lost(connection):
            raise
        raise gone(address) from None


@contextmanager
def expected(*codes: str) -> Iterator[list[str]]:
    """Takes errors of these codes for an answer: then the code is in the list.

    The transaction takes no other statement afterwards.
    """
    import asyncpg

    answered: list[str] = []
    try:
        yield answered
    except asyncpg.PostgresError as error:
        if error.sqlstate not in codes:
            raise
        answered.append(error.sqlstate)


def gone(address: PostgresAddress) -> NotReachable:
    """The error for a server that closed the connection."""
    return NotReachable(f"The database server {address.place} closed the connection.", hint=_AGAIN)


def statement_failure(error: asyncpg.PostgresError, address: PostgresAddress) -> InspectorError:
    """What went wrong with a statement, by its error code."""
    code, place = str(error.sqlstate or ""), address.place
    match code:
        case "57014":
            return NotReachable(
                f"The database server {place} stopped a statement because it took too long or was cancelled.",
                hint="Try again, or ask for less at once.",
            )
        case "55P03":
            return Locked(f"Another program holds a lock at {place}.", hint="Try again in a moment.")
        case "40001" | "40P01":
            return Locked(f"Another program changed the same rows at {place}.", hint="Try again.")
        case "42501":
            return Refused(
                f"The user {shown(address.user)} lacks a right on the table.",
                hint="Run `zeroclaw memory health` to see which.",
            )
        case "25006":
            return Refused(f"The database server {place} is read-only now.", hint="It may be a replica.")
        case "42P01" | "42703" | "3F000":
            return Unreadable(f"The table at {place} has changed.", hint="Open it again.")
        case "54000" | "54001":
            return Refused("PostgreSQL cannot hold that: a text is too long for it or for an index.")
        case "53100" | "53200" | "53400":
            return Refused(f"The database server {place} ran out of space or memory.", hint="See the server's log.")
        case "0A000" | "42601" | "42704" | "42883":
            return Refused(
                f"The database server {place} does not know a statement that is needed: it is not PostgreSQL, or too "
                "old.",
                hint="ZeroClaw needs PostgreSQL 10 or newer. Change the host in the URL, or update the server.",
            )
    if code in _RULES:
        return Refused(_rule_broken(error, _RULES[code]))
    if code[:2] in ("08", "57", "53"):
        return gone(address)
    if code[:2] in ("XX", "58"):
        return Corrupt(
            f"The database server {place} cannot read its own files (code {code}).", hint="See the server's log."
        )
    if code[:2] == "22":
        return Refused(f"PostgreSQL refuses a value (code {code}).", hint="Remove NUL characters from the text.")
    return Refused(
        f"The database server {place} refused a statement (code {shown(code)}).", hint="See the server's log."
    )


def _rule_broken(error: asyncpg.PostgresError, words: str) -> str:
    with suppress(AttributeError):
        name = error.constraint_name or error.column_name
        if name:
            return f"The table refuses this change: {shown(name)} {words}."
    return f"The table refuses this change: something in it {words}."


def _not_sendable(error: Exception) -> Refused:
    if isinstance(error, ValueError):
        return Refused("PostgreSQL stores Unicode text only.", hint="Remove unpaired surrogates from the text.")
    return Refused("The driver of PostgreSQL could not do that.", hint=type(error).__name__)
