"""A pool of connections to one PostgreSQL database that also works behind PgBouncer in transaction mode."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from zeroclaw_tui.backends.postgres.address import PostgresAddress
from zeroclaw_tui.backends.postgres.failures import gone, translated
from zeroclaw_tui.backends.postgres.signing_in import check_driver, sign_in
from zeroclaw_tui.backends.waiting import to_its_end
from zeroclaw_tui.memory.errors import InspectorError, SearchInterrupted

if TYPE_CHECKING:
    import asyncpg  # type: ignore[import-untyped]

    from zeroclaw_tui.backends.postgres.driver import PatientConnection

MOST_CONNECTIONS = 4
"""The most that are open at once."""

_IDLE_SECONDS = 60.0
_GRACE_SECONDS = 5.0
_ROLLBACK_SECONDS = 2.0
_LOCK_SECONDS = 10


class Connections:
    """Connections made on use, at most a few. Every statement runs in a transaction of its own.

    Nothing is left on a connection: limits and time zone are set with SET LOCAL, no statement is prepared by name.
    Driver errors come out as InspectorError kinds without any secret. A connection that broke is replaced by a new one
    at the next use.
    """

    def __init__(self, address: PostgresAddress, *, connect_seconds: float, statement_seconds: float = 30.0) -> None:
        self.address = address
        self.uses_tls = False
        """Whether the connection made last is encrypted."""
        self.refused: set[str] = set()
        """Parts of PostgreSQL's language that this server turned out to lack: they are not tried again."""
        self._connect_seconds = connect_seconds
        self._statement_seconds = statement_seconds
        self._places = asyncio.Semaphore(MOST_CONNECTIONS)
        self._idle: list[tuple[float, PatientConnection]] = []
        self._in_use: set[PatientConnection] = set()
        self._readings: dict[asyncio.Timeout, bool] = {}
        self._settling: set[asyncio.Task[None]] = set()
        self._closed = False

    async def open(self) -> None:
        """Connect once, so that what is wrong is told now. Raises NotReachable, WrongUse, Refused (driver missing)."""
        check_driver()
        self._closed = False
        async with self.reading() as connection:
            await connection.fetchval("SELECT 1")

    async def close(self) -> None:
        """Let go of every connection; statements under way are cancelled."""
        self._closed = True
        self._stop(everything=True)
        until = time.monotonic() + _ROLLBACK_SECONDS
        while (self._readings or self._settling) and time.monotonic() < until:
            # Each reading is told in a later round of the loop, and only then asks the server to stop.
            await asyncio.wait(self._settling or {asyncio.ensure_future(asyncio.sleep(0.005))}, timeout=0.1)
        for connection in self._in_use:
            connection.terminate()
        idle, self._idle = self._idle, []
        await asyncio.gather(*(_closed(connection) for _, connection in idle))
        # A socket that was broken off is only closed in the loop's next round.
        await asyncio.sleep(0)

    @asynccontextmanager
    async def reading(
        self, *, seconds: float | None = None, interruptible: bool = True
    ) -> AsyncIterator[asyncpg.Connection]:
        """A connection in a read-only transaction: times in UTC, ISO dates, the statement time-out set.

        Within it driver errors become NotReachable, Refused, Locked or SearchInterrupted (after `interrupt`, unless
        `interruptible` is False).
        """
        connection = await self._begun("BEGIN READ ONLY; " + self._limits(seconds), seconds)
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
                self._give_back(connection)
            else:
                # Whoever gave up does not wait until the server has heard of it.
                self._in_background(self._settle(connection))

    @asynccontextmanager
    async def writing(self, *, seconds: float | None = None) -> AsyncIterator[asyncpg.Connection]:
        """The same for writing: committed at the end, rolled back by any exception.

        A commit once sent is waited for, also by one who is cancelled meanwhile.
        """
        connection = await self._begun(None, seconds)
        try:
            with translated(self.address, connection):
                transaction = connection.transaction()
                try:
                    await transaction.start()
                    await connection.execute(self._limits(seconds))
                    yield connection
                except BaseException:
                    await self._take_back(connection, transaction)
                    raise
                await to_its_end(asyncio.ensure_future(transaction.commit()), _nothing)
        finally:
            self._give_back(connection)

    def interrupt(self) -> None:
        """Cancel the reading statements that run now; they raise SearchInterrupted."""
        self._stop(everything=False)

    def _stop(self, *, everything: bool) -> None:
        now = asyncio.get_running_loop().time()
        for reading, interruptible in list(self._readings.items()):
            if interruptible or everything:
                reading.reschedule(now)

    def _limits(self, seconds: float | None) -> str:
        """What holds for one transaction. Behind a pooler nothing else may be set."""
        milliseconds = int((self._statement_seconds if seconds is None else seconds) * 1000)
        return (
            f"SET LOCAL statement_timeout = {milliseconds}; SET LOCAL lock_timeout = '{_LOCK_SECONDS}s'; "
            "SET LOCAL TimeZone = 'UTC'; SET LOCAL DateStyle = 'ISO, YMD'; SET LOCAL IntervalStyle = 'postgres'; "
            "SET LOCAL extra_float_digits = 3; SET LOCAL bytea_output = 'hex'; "
            # Of what is read by a cursor all rows are wanted, so its plan need not bring the first of them soon.
            "SET LOCAL cursor_tuple_fraction = 1"
        )

    async def _begun(self, statements: str | None, seconds: float | None) -> PatientConnection:
        """A connection with these statements sent. One that lay idle and turns out to be dead is replaced."""
        import asyncpg

        if self._closed:
            raise gone(self.address)
        await self._places.acquire()
        try:
            while True:
                connection, is_new = await self._connection()
                connection.patience = (self._statement_seconds if seconds is None else seconds) + _GRACE_SECONDS
                self._in_use.add(connection)
                try:
                    with translated(self.address, connection):
                        # Also where the caller begins the transaction: whether the connection lives is seen here.
                        await connection.execute(statements or "SELECT 1", timeout=self._connect_seconds)
                    return connection
                except InspectorError:
                    self._in_use.discard(connection)
                    connection.terminate()
                    if is_new:
                        raise
                except BaseException:
                    self._in_use.discard(connection)
                    connection.terminate()
                    raise
        except asyncpg.InterfaceError:
            self._places.release()
            raise gone(self.address) from None
        except BaseException:
            self._places.release()
            raise

    async def _connection(self) -> tuple[PatientConnection, bool]:
        """A connection that lay idle, or a new one, and whether it is new."""
        while self._idle:
            since, connection = self._idle.pop()
            if connection.is_closed():
                continue
            if time.monotonic() - since < _IDLE_SECONDS:
                return connection, False
            # What lies between may have forgotten it meanwhile, which would only show after a long silence.
            self._in_background(_closed(connection))
        connection, self.uses_tls = await sign_in(self.address, self._connect_seconds)
        return connection, True

    async def _settle(self, connection: PatientConnection) -> None:
        try:
            if not connection.is_closed():
                await _ended(connection)
        finally:
            self._give_back(connection)

    async def _take_back(self, connection: PatientConnection, transaction: Any) -> None:
        """Roll back; a connection on which that does not work is broken off, which rolls back too.

        That is also one whose transaction may or may not have begun: what is written next must not be taken for a part
        of it, which nobody would ever commit.
        """
        rolling = asyncio.ensure_future(_rolled_back(connection, transaction))
        try:
            await asyncio.shield(rolling)
        except asyncio.CancelledError:
            connection.terminate()
            raise

    def _give_back(self, connection: PatientConnection) -> None:
        self._in_use.discard(connection)
        self._places.release()
        if connection.is_closed():
            return
        if self._closed:
            connection.terminate()
        else:
            self._idle.append((time.monotonic(), connection))

    def _in_background(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._settling.add(task)
        task.add_done_callback(self._settling.discard)


async def _ended(connection: PatientConnection) -> None:
    import asyncpg

    try:
        await connection.execute("ROLLBACK", timeout=_ROLLBACK_SECONDS)
    except (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError, OSError):
        connection.terminate()


async def _rolled_back(connection: PatientConnection, transaction: Any) -> None:
    import asyncpg

    if connection.is_closed():
        return
    try:
        async with asyncio.timeout(_ROLLBACK_SECONDS):
            await transaction.rollback()
    except (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError, OSError):
        connection.terminate()


async def _closed(connection: PatientConnection) -> None:
    import asyncpg

    try:
        await connection.close(timeout=_ROLLBACK_SECONDS)
    except (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError, OSError):
        connection.terminate()


def _nothing() -> None:
    """A commit cannot be asked to stop."""
