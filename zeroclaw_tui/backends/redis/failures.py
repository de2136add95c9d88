"""What the driver and the server say when something fails, in a sentence and without any secret."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager

from zeroclaw_tui.memory.errors import InspectorError, NotReachable, Refused

_SIGN_IN = ("NOAUTH", "WRONGPASS", "invalid username-password pair", "invalid password", "Authentication required")
_ELSEWHERE = ("MOVED ", "ASK ", "CLUSTERDOWN")


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
        return NotReachable(f"Redis at {place} is part of a cluster.", hint="Only a single server is opened.")
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
