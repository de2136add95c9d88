"""Whether the PostgreSQL server of the answers lets ZeroClaw in, and whether ZeroClaw may do what it does there."""

from __future__ import annotations

import asyncio
import re
import socket
import struct
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from zeroclaw_tui.config.notes import shown
from zeroclaw_tui.memory.errors import NOT_REACHABLE, WRONG_USE, InspectorError
from zeroclaw_tui.onboard.answers.answers import Answers
from zeroclaw_tui.onboard.probes.finding import Finding
from zeroclaw_tui.onboard.probes.postgres_rights import look_around
from zeroclaw_tui.onboard.probes.postgres_url import SHAPE, PostgresAddress, read_url
from zeroclaw_tui.onboard.probes.values import addresses_of, plain_answer

if TYPE_CHECKING:
    import asyncpg  # type: ignore[import-untyped]

SUBJECT = "postgres"
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LONGEST_CONNECT = 300
_TLS_REQUEST = struct.pack("!ii", 8, 80877103)
_WITHOUT_TLS = "ZeroClaw always connects without TLS: allow that for this user (pg_hba.conf), or use a tunnel."
_RUNNING = "Is it running, and are host and port right?"


class _Refused(InspectorError):
    """A server that answers and says no."""


class _NotReached(InspectorError):
    """A server that cannot be reached, or is none."""

    exit_code = NOT_REACHABLE


async def probe(answers: Answers, seconds: float) -> Finding:
    """Connect as ZeroClaw does and look at the rights; nothing is ever written, made or locked."""
    for name in ("schema", "table"):
        value = str(answers.value(f"storage.postgres.{name}") or "")
        if not _IDENTIFIER.fullmatch(value):
            return Finding(
                SUBJECT,
                "bad",
                f'The {name} "{shown(value)}" is no name that ZeroClaw takes.',
                hint="Letters, digits and _ only, and no digit first.",
                exit_code=WRONG_USE,
            )
    url = plain_answer(answers, "storage.postgres.db_url")
    if not url:
        return Finding(SUBJECT, "bad", "There is no database URL.", hint=SHAPE, exit_code=WRONG_USE)
    address = read_url(url)
    try:
        import asyncpg  # noqa: F401
    except ImportError:
        return Finding(
            SUBJECT,
            "not tested",
            "PostgreSQL cannot be tested without its driver: pip install 'zeroclaw_tui[postgres]'.",
        )
    return await _within(answers, address, seconds)


async def _within(answers: Answers, address: PostgresAddress, seconds: float) -> Finding:
    own = answers.value("storage.postgres.connect_timeout_secs")
    to_connect = min(seconds, own, _LONGEST_CONNECT) if isinstance(own, int) and own > 0 else seconds
    connection: asyncpg.Connection | None = None
    began = time.perf_counter()
    limit = to_connect
    try:
        async with asyncio.timeout(seconds):
            async with asyncio.timeout(to_connect):
                connection = await _connected(address)
            limit = seconds
            milliseconds = (time.perf_counter() - began) * 1000
            schema, table = (str(answers.value(f"storage.postgres.{name}")) for name in ("schema", "table"))
            return await look_around(connection, address, schema, table, f"connects in {milliseconds:.0f} ms")
    except TimeoutError:
        which = "storage.postgres.connect_timeout_secs is short, or a" if limit < seconds else "A"
        return Finding(
            SUBJECT,
            "bad",
            f"The database server {address.place} did not answer within {limit:g} s.",
            hint=f"{which} firewall may be in between; {_RUNNING[0].lower()}{_RUNNING[1:]}",
        )
    finally:
        if connection is not None:
            connection.terminate()


async def _connected(address: PostgresAddress) -> asyncpg.Connection:
    """A connection to the first host that answers. Raises _NotReached, _Refused or HostUnknown."""
    problem: InspectorError | None = None
    for host, port in address.hosts:
        numeric = (host,) if host.startswith("/") else await addresses_of(host)
        for place in numeric:
            try:
                await _greet(place, port, address)
                return await _signed_in(place, port, address)
            except _NotReached as error:
                problem = problem or error
    assert problem is not None
    raise problem


async def _greet(host: str, port: int, address: PostgresAddress) -> None:
    """Ask whether the peer speaks TLS: every PostgreSQL server answers with one letter, and nothing else does.

    Without this, a driver takes the first bytes of another program's greeting for a long message and waits for it.
    """
    try:
        if host.startswith("/"):
            reader, writer = await asyncio.open_unix_connection(f"{host}/.s.PGSQL.{port}")
        else:
            reader, writer = await asyncio.open_connection(host, port, flags=socket.AI_NUMERICHOST)
    except ConnectionRefusedError:
        raise _NotReached(f"Nothing listens at {address.place}.", hint=_RUNNING) from None
    except OSError as error:
        raise _unreachable(error, address) from None
    try:
        writer.write(_TLS_REQUEST)
        answer = await reader.read(16)
    except OSError:
        answer = b""
    finally:
        writer.transport.abort()
    if answer not in (b"S", b"N"):
        raise _NotReached(f"What answers at {address.place} is not PostgreSQL.", hint="Check host and port.")


def _unreachable(error: OSError, address: PostgresAddress) -> _NotReached:
    because = f": {error.strerror}" if error.strerror and error.errno and error.errno > 0 else ""
    return _NotReached(f"The database server {address.place} cannot be reached{because}.", hint=_RUNNING)


async def _signed_in(host: str, port: int, address: PostgresAddress) -> asyncpg.Connection:
    import asyncpg

    try:
        # Everything is given, so that no PG* variable and no ~/.pgpass, which ZeroClaw does not read, has a say.
        return await asyncpg.connect(
            host=host,
            port=port,
            user=address.user,
            password=address.password,
            database=address.database,
            ssl=False,
            direct_tls=False,
            target_session_attrs="any",
            krbsrvname="postgres",
            gsslib="gssapi",
            statement_cache_size=0,
            timeout=_LONGEST_CONNECT,
        )
    except asyncpg.PostgresError as error:
        raise _refusal(error, address) from None
    except OSError as error:
        raise _unreachable(error, address) from None
    except asyncpg.InterfaceError:
        raise _Refused(
            f"The database server {address.place} asks for a way of signing in that is not known here.",
            hint="ZeroClaw signs in with a password; look at pg_hba.conf.",
        ) from None
    except (asyncpg.InternalClientError, ValueError, BufferError, LookupError, AttributeError, struct.error):
        raise _NotReached(
            f"The database server {address.place} broke off in the middle of signing in.", hint="Try again later."
        ) from None


def _refusal(error: asyncpg.PostgresError, address: PostgresAddress) -> InspectorError:
    """What the server's error code means. Its own words are not shown: they may repeat what was sent."""
    user, database = shown(address.user), shown(address.database)
    match str(error.sqlstate or ""):
        case "28P01" if address.password:
            return _Refused(
                f"The server refuses the password of the user {user}, or knows no such user.",
                hint="Correct user and password in storage.postgres.db_url; write @ : / in them as %40 %3A %2F.",
            )
        case "28P01":
            return _Refused(f"The server wants a password for the user {user}, and the URL has none.", hint=SHAPE)
        case "28000" | "08P01":
            return _not_let_in(error, address)
        case "3D000":
            return _Refused(
                f"There is no database {database} on {address.place}.", hint="Create it, or correct the URL's path."
            )
        case "42501":
            return _Refused(
                f"The user {user} may not connect to the database {database}.",
                hint=f'GRANT CONNECT ON DATABASE "{database}" TO "{user}";',
            )
        case "53300":
            return _NotReached(
                f"The database server {address.place} has too many connections.",
                hint="Close some, or raise max_connections.",
            )
        case "57P03":
            return _NotReached(
                f"The database server {address.place} is starting up or shutting down.", hint="Try again in a moment."
            )
        case code if code.startswith("08") or not code:
            return _NotReached(
                f"The database server {address.place} broke off in the middle of signing in.", hint="Try again later."
            )
        case code:
            return _Refused(
                f"The database server {address.place} refuses the connection ({shown(code)}).",
                hint="Its log tells more.",
            )


def _not_let_in(error: asyncpg.PostgresError, address: PostgresAddress) -> InspectorError:
    user, database = shown(address.user), shown(address.database)
    with suppress(AttributeError):
        told = str(error.message).lower()
        if any(word in told for word in ("no encryption", "ssl", "tls", "insecure")):
            return _Refused(
                f"The server lets the user {user} into the database {database} over TLS only, if at all.",
                hint=_WITHOUT_TLS,
            )
        if "pg_hba" not in told and "role" in told:
            return _Refused(f"The server knows no user {user}.", hint="Create it, or correct the URL.")
    return _Refused(
        f"The server does not let the user {user} into the database {database} from here.",
        hint=f"Does the user exist, and does pg_hba.conf let it in? {_WITHOUT_TLS}",
    )
