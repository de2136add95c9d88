"""What a PostgreSQL error means in a sentence; the server's words, which may repeat what was sent, are left out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from zeroclaw_tui.backends.postgres.address import SHAPE, PostgresAddress
from zeroclaw_tui.config.notes import shown
from zeroclaw_tui.memory.errors import Corrupt, InspectorError, Locked, NotReachable, Refused, Unreadable

if TYPE_CHECKING:
    import asyncpg  # type: ignore[import-untyped]

    from zeroclaw_tui.backends.postgres.driver import PatientConnection

_AGAIN = "The next try connects by itself once the server is back."
_RULES = {
    "23502": "needs a value",
    "23503": "refers to a row",
    "23505": "is unique",
    "23514": "has a rule",
    "23P01": "has a rule",
}


def refused_sign_in(error: asyncpg.PostgresError, address: PostgresAddress) -> NotReachable:
    """Why the server does not let in, by its error code."""
    user, database, place = shown(address.user), shown(address.database), address.place
    match str(error.sqlstate or ""):
        case "28P01" if address.password:
            return NotReachable(
                f"The database server {place} refuses the password of the user {user}, or knows no such user.",
                hint="Correct user and password in the URL; write @ : / in them as %40 %3A %2F.",
            )
        case "28P01":
            return NotReachable(
                f"The database server {place} wants a password for the user {user}, and the URL has none.", hint=SHAPE
            )
        case "28000" | "08P01":
            return _not_let_in(error, address)
        case "3D000":
            return NotReachable(
                f"The database server {place} has no database {database}.", hint="Create it, or correct the URL."
            )
        case "42501":
            return NotReachable(
                f"The user {user} may not connect to the database {database} at {place}.",
                hint=f'GRANT CONNECT ON DATABASE "{database}" TO "{user}"; lets it in.',
            )
        case "53300":
            return NotReachable(f"The database server {place} has no connection left.", hint="Try again later.")
        case "57P03":
            return NotReachable(f"The database server {place} is starting up or shutting down.", hint=_AGAIN)
        case code:
            return NotReachable(
                f"The database server {place} does not let the user {user} in (code {shown(code)}).",
                hint="The server's log says more.",
            )


def _not_let_in(error: asyncpg.PostgresError, address: PostgresAddress) -> NotReachable:
    user, database, place = shown(address.user), shown(address.database), address.place
    told = ""
    with suppress(AttributeError):
        told = str(error.message).lower()
    if address.tls in ("disable", "allow") and any(
        word in told for word in ("no encryption", "ssl", "tls", "insecure")
    ):
        return NotReachable(
            f"The database server {place} lets the user {user} in over TLS only, if at all.",
            hint="sslmode=require at the end of the URL asks for TLS.",
        )
    if "pg_hba" not in told and "role" in told:
        return NotReachable(f"The database server {place} knows no user {user}.", hint="Create it, or correct the URL.")
    return NotReachable(
        f"The database server {place} does not let the user {user} into the database {database} from here.",
        hint="Does the user exist, and does pg_hba.conf (or the pooler's own list) let it in?",
    )


@contextmanager
def translated(address: PostgresAddress, connection: PatientConnection) -> Iterator[None]:
    """Errors of the driver within come out as InspectorError kinds; what is not the driver's is left alone."""
    import asyncpg

    try:
        yield
    except asyncpg.PostgresError as error:
        raise statement_failure(error, address) from None
    except (asyncpg.InterfaceError, asyncpg.InternalClientError) as error:
        if not connection.is_closed():
            raise _not_sendable(error) from None
        raise gone(address) from None
    except TimeoutError:
        connection.terminate()
        raise NotReachable(f"The database server {address.place} fell silent in the middle.", hint=_AGAIN) from None
    except OSError:
        if not connection.is_closed():
            raise
        raise gone(address) from None


@contextmanager
def stopped_by_time() -> Iterator[list[str]]:
    """Takes a statement's running out of its time for an answer: then there is something in the list.

    The transaction takes no other statement afterwards.
    """
    import asyncpg

    stopped: list[str] = []
    try:
        yield stopped
    except asyncpg.QueryCanceledError as error:
        stopped.append(error.sqlstate)


def gone(address: PostgresAddress) -> NotReachable:
    """The error for a server that went away in the middle."""
    return NotReachable(f"The database server {address.place} went away in the middle.", hint=_AGAIN)


def statement_failure(error: asyncpg.PostgresError, address: PostgresAddress) -> InspectorError:
    """What went wrong with a statement, by its error code."""
    code, place = str(error.sqlstate or ""), address.place
    match code:
        case "57014":
            return NotReachable(
                f"The database server {place} stopped a statement that took too long, or that somebody cancelled.",
                hint="Try again, or ask for less at once.",
            )
        case "55P03":
            return Locked(f"Another program holds what is needed at {place}.", hint="Try again in a moment.")
        case "40001" | "40P01":
            return Locked(f"Another program changed the same rows at {place}.", hint="Try again.")
        case "42501":
            return Refused(
                f"The user {shown(address.user)} lacks a right on the table.", hint="Its owner grants it: see health."
            )
        case "25006":
            return Refused(f"The database server {place} takes no writes now.", hint="It may be a replica.")
        case "42P01" | "42703" | "3F000":
            return Unreadable(f"The table at {place} is no longer as it was.", hint="Open it again.")
        case "54000" | "54001":
            return Refused("PostgreSQL cannot hold that: a text is too long for it or for an index.")
        case "53100" | "53200" | "53400":
            return Refused(f"The database server {place} ran out of space or memory.", hint="Its log says more.")
    if code in _RULES:
        return Refused(_rule_broken(error, _RULES[code]))
    if code[:2] in ("08", "57", "53"):
        return gone(address)
    if code[:2] in ("XX", "58"):
        return Corrupt(
            f"The database server {place} cannot read its own files (code {code}).", hint="Its log says more."
        )
    if code[:2] == "22":
        return Refused(
            f"PostgreSQL does not take a value that was sent (code {code}).", hint="It holds no NUL character."
        )
    return Refused(f"The database server {place} refused a statement (code {shown(code)}).", hint="Its log says more.")


def _rule_broken(error: asyncpg.PostgresError, words: str) -> str:
    with suppress(AttributeError):
        name = error.constraint_name or error.column_name
        if name:
            return f"The table does not take that: {shown(name)} {words}."
    return f"The table does not take that: something in it {words}."


def _not_sendable(error: Exception) -> Refused:
    if isinstance(error, ValueError):
        return Refused("PostgreSQL holds no text that is not Unicode.", hint="Half characters have to go first.")
    return Refused("The driver of PostgreSQL could not do that.", hint=type(error).__name__)
