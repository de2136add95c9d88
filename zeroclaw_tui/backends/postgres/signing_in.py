"""One connection to the first host of an address that answers, encrypted as the address says."""

from __future__ import annotations

import asyncio
import ssl
import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING

from zeroclaw_tui.backends.host_names import addresses_of
from zeroclaw_tui.backends.postgres.address import PostgresAddress
from zeroclaw_tui.backends.postgres.encryption import tls_context
from zeroclaw_tui.backends.postgres.failures import refused_sign_in
from zeroclaw_tui.config.notes import shown
from zeroclaw_tui.memory.errors import NotReachable, Refused

if TYPE_CHECKING:
    from zeroclaw_tui.backends.postgres.driver import PatientConnection

_TLS_REQUEST = struct.pack("!ii", 8, 80877103)
_RUNNING = "Is it running, and are host and port right?"
_TRY_OTHERWISE = ("28000", "08P01")
_NEVER = 3600.0


class _LetIn(NotReachable):
    """A refusal that another way of encrypting may change."""


def check_driver() -> None:
    """Raises Refused where asyncpg is not installed."""
    try:
        import asyncpg  # type: ignore[import-untyped]  # noqa: F401
    except ImportError:
        raise Refused(
            "PostgreSQL cannot be reached without its driver.", hint="pip install 'zeroclaw_tui[postgres]' brings it."
        ) from None


async def sign_in(address: PostgresAddress, seconds: float) -> tuple[PatientConnection, bool]:
    """A connection that stands, and whether it is encrypted. Raises NotReachable, WrongUse for files it cannot read."""
    try:
        async with asyncio.timeout(seconds):
            return await _first_that_answers(address, seconds)
    except TimeoutError:
        raise NotReachable(
            f"The database server {address.place} did not answer within {seconds:g} s.",
            hint=f"A firewall may be in between. {_RUNNING}",
        ) from None


async def _first_that_answers(address: PostgresAddress, seconds: float) -> tuple[PatientConnection, bool]:
    problem: NotReachable | None = None
    places = [(host, place, port) for host, port in address.hosts for place in await _places(host)]
    for host, place, port in places:
        try:
            # One silent address must not use up the time of the others.
            async with asyncio.timeout(seconds / len(places) if len(places) > 1 else None):
                return await _by_mode(address, host, place, port)
        except NotReachable as error:
            problem = problem or error
        except TimeoutError:
            problem = problem or NotReachable(
                f"The database server {address.place} did not answer within {seconds:g} s.", hint=_RUNNING
            )
    if problem is None:
        raise NotReachable(
            f"There is no host named {shown(address.hosts[0][0])}.", hint="Check the spelling, and that DNS works here."
        )
    raise problem


async def _places(host: str) -> Sequence[str]:
    return (host,) if host.startswith("/") else await addresses_of(host)


async def _by_mode(address: PostgresAddress, host: str, place: str, port: int) -> tuple[PatientConnection, bool]:
    """Plain or encrypted, or first one and then the other, as libpq does it for each sslmode."""
    if host.startswith("/"):
        return await _signed_in(address, place, port, None), False
    mode = address.tls
    if address.asks_for_tls and address.options.get("sslnegotiation") == "direct":
        return await _signed_in(address, place, port, tls_context(address, host)), True
    speaks_tls = await _greet(place, port, address)
    if address.asks_for_tls and not speaks_tls:
        raise NotReachable(
            f"The database server {address.place} speaks no TLS, which the URL asks for.",
            hint="Take sslmode out of the URL if the way there is safe without.",
        )
    context = tls_context(address, host) if speaks_tls and mode != "disable" else None
    if context is None:
        return await _signed_in(address, place, port, None), False
    if address.asks_for_tls:
        return await _signed_in(address, place, port, context), True
    ways = (None, context) if mode == "allow" else (context, None)
    try:
        return await _signed_in(address, place, port, ways[0]), ways[0] is not None
    except _LetIn as first:
        try:
            return await _signed_in(address, place, port, ways[1]), ways[1] is not None
        except NotReachable:
            raise first from None


async def _greet(place: str, port: int, address: PostgresAddress) -> bool:
    """Whether the peer speaks TLS: every PostgreSQL server answers that with one letter, and nothing else does.

    Without this, a driver takes the first bytes of another program's greeting for a long message and waits for it.
    """
    try:
        reader, writer = await asyncio.open_connection(place, port)
    except ConnectionRefusedError:
        raise NotReachable(f"Nothing listens at {address.place}.", hint=_RUNNING) from None
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
        raise NotReachable(f"What answers at {address.place} is not PostgreSQL.", hint="Check host and port.")
    return answer == b"S"


def _unreachable(error: OSError, address: PostgresAddress) -> NotReachable:
    because = f": {error.strerror}" if error.strerror and error.errno and error.errno > 0 else ""
    return NotReachable(f"The database server {address.place} cannot be reached{because}.", hint=_RUNNING)


async def _signed_in(
    address: PostgresAddress, place: str, port: int, context: ssl.SSLContext | None
) -> PatientConnection:
    import asyncpg

    from zeroclaw_tui.backends.postgres.driver import PatientConnection

    options = address.options
    settings = {"application_name": options.get("application_name", "zeroclaw-tui")}
    if options.get("options"):
        settings["options"] = options["options"]
    try:
        # Everything is given, so that no PG* variable, no ~/.pgpass and no service file has a say.
        connection: PatientConnection = await asyncpg.connect(
            host=place,
            port=port,
            user=address.user,
            password=address.password,
            database=address.database,
            ssl=context or False,
            direct_tls=context is not None and options.get("sslnegotiation") == "direct",
            target_session_attrs=options.get("target_session_attrs", "any"),
            krbsrvname="postgres",
            gsslib="gssapi",
            statement_cache_size=0,
            connection_class=PatientConnection,
            server_settings=settings,
            timeout=_NEVER,
        )
        return connection
    except asyncpg.PostgresError as error:
        refusal = refused_sign_in(error, address)
        if str(error.sqlstate or "") in _TRY_OTHERWISE:
            raise _LetIn(refusal.message, hint=refusal.hint) from None
        raise refusal from None
    except ssl.SSLCertVerificationError as error:
        raise NotReachable(
            f"The certificate of {address.place} is not to be trusted: {shown(error.verify_message)}.",
            hint="sslrootcert in the URL names the file of the authority that signed it.",
        ) from None
    except ssl.SSLError:
        raise _LetIn(
            f"No encrypted connection to {address.place} comes about.", hint="Do both sides speak the same TLS?"
        ) from None
    except asyncpg.TargetServerAttributeNotMatched:
        raise NotReachable(
            f"The database server {address.place} is not {shown(options['target_session_attrs'])}, as the URL asks.",
            hint="A replica takes no writes; use the address of the primary server.",
        ) from None
    except OSError as error:
        raise _unreachable(error, address) from None
    except asyncpg.InterfaceError:
        raise NotReachable(
            f"The database server {address.place} asks for a way of signing in that is not known here.",
            hint="Look at pg_hba.conf: passwords and client certificates are known.",
        ) from None
    except (asyncpg.InternalClientError, ValueError, BufferError, LookupError, AttributeError, struct.error):
        raise NotReachable(
            f"The database server {address.place} broke off in the middle of signing in.", hint="Try again later."
        ) from None
