"""A database URL as ZeroClaw's driver reads it, and what is wrong with one, without ever showing it."""

from __future__ import annotations

import getpass
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote

from zeroclaw_tui.config.notes import shown
from zeroclaw_tui.memory.errors import WrongUse

SHAPE = "It should look like postgres://user:password@host:5432/database."
_SCHEMES = ("postgres://", "postgresql://")
_DEFAULT_PORT = 5432
_OPTIONS = (
    *("user", "password", "dbname", "host", "hostaddr", "port", "options", "application_name"),
    *("sslmode", "sslnegotiation", "channel_binding", "target_session_attrs", "load_balance_hosts"),
    *("connect_timeout", "tcp_user_timeout", "keepalives", "keepalives_idle", "keepalives_interval"),
    "keepalives_retries",
)
_WITHOUT_TLS = ("disable", "prefer")


class NeedsTls(WrongUse):
    """A URL that asks for an encrypted connection, which ZeroClaw cannot make."""


@dataclass(frozen=True, slots=True)
class PostgresAddress:
    """Where and as whom to connect. A host that begins with `/` is the folder of a Unix socket."""

    hosts: tuple[tuple[str, int], ...]
    user: str
    database: str
    password: str = field(default="", repr=False)
    names_user: bool = True

    @property
    def place(self) -> str:
        """The first host and port, for people."""
        host, port = self.hosts[0]
        if host.startswith("/"):
            return shown(host)
        return f"[{host}]:{port}" if ":" in host else f"{shown(host)}:{port}"


def read_url(url: str) -> PostgresAddress:
    """The parts of a URL. Raises WrongUse, naming what is wrong and never a part that may hold the password.

    ZeroClaw's driver takes everything before the first `@` for user and password, and refuses options it does not
    know.
    """
    scheme = next((scheme for scheme in _SCHEMES if url.startswith(scheme)), None)
    if scheme is None:
        raise WrongUse("The database URL does not begin with postgres:// or postgresql://.", hint=SHAPE)
    credentials, at, rest = url.removeprefix(scheme).partition("@")
    if not at:
        credentials, rest = "", credentials
    authority, _, tail = _split_at(rest, "/?")
    path, query = _path_and_query(rest[len(authority) :]) if tail else ("", "")
    if "@" in authority:
        raise WrongUse(
            "The database URL has more than one @ before its path.", hint="Write an @ in the password as %40."
        )
    user, _, password = (_decoded(part) for part in credentials.partition(":"))
    options = _options(query)
    _check_options(options)
    hosts = [_host_and_port(text) for text in authority.split(",")] if authority else []
    hosts += _hosts_of_options(options)
    if not hosts:
        raise WrongUse("The database URL names no host.", hint=SHAPE)
    names_user = bool(user or options.get("user"))
    user = options.get("user") or user or getpass.getuser()
    return PostgresAddress(
        hosts=tuple(hosts),
        user=user,
        database=options.get("dbname") or _decoded(path) or user,
        password=options.get("password") or password,
        names_user=names_user,
    )


def _split_at(text: str, letters: str) -> tuple[str, str, str]:
    """The text before the first of these letters, the letter, and what follows."""
    for at, letter in enumerate(text):
        if letter in letters:
            return text[:at], letter, text[at + 1 :]
    return text, "", ""


def _path_and_query(tail: str) -> tuple[str, str]:
    path, _, query = tail.partition("?")
    return path.removeprefix("/"), query


def _decoded(text: str) -> str:
    try:
        plain = unquote(text, errors="strict")
        plain.encode("utf-8")
    except UnicodeError:
        plain = "\0"
    if any(ord(letter) < 0x20 for letter in plain):
        raise WrongUse("The database URL has characters that no user, password, host or database can have.", hint=SHAPE)
    return plain


def _options(query: str) -> dict[str, str]:
    options: dict[str, str] = {}
    for part in filter(None, query.split("&")):
        name, equals, value = part.partition("=")
        if not equals:
            raise WrongUse("The database URL has an option without a value behind its ?.", hint=SHAPE)
        options[_decoded(name)] = _decoded(value)
    return options


def _check_options(options: Mapping[str, str]) -> None:
    unknown = [name for name in options if name not in _OPTIONS]
    if unknown:
        raise WrongUse(
            f"The database URL has the option {shown(unknown[0])}, which ZeroClaw's driver does not know and refuses.",
            hint="Take it out of the URL.",
        )
    mode = options.get("sslmode", "prefer")
    if mode not in _WITHOUT_TLS or options.get("channel_binding") == "require":
        name = "channel_binding" if mode in _WITHOUT_TLS else "sslmode"
        raise NeedsTls(
            f"The database URL asks for TLS ({name}={shown(options[name])}), but ZeroClaw always connects without.",
            hint="Take it out of the URL if the server lets you in without TLS; else reach it through a tunnel.",
        )


def _host_and_port(text: str) -> tuple[str, int]:
    host, port = text, ""
    if text.startswith("["):
        host, closed, port = text[1:].partition("]")
        if not closed or (port and not port.startswith(":")):
            raise WrongUse("The database URL has a [ without its ] around the host.", hint=SHAPE)
        port = port.removeprefix(":")
    elif ":" in text:
        host, _, port = text.partition(":")
    if not host:
        raise WrongUse("The database URL names no host.", hint=SHAPE)
    return _decoded(host), _port(port)


def _hosts_of_options(options: Mapping[str, str]) -> list[tuple[str, int]]:
    names = options.get("hostaddr") or options.get("host", "")
    ports = options.get("port", "").split(",")
    hosts = [host for host in names.split(",") if host]
    return [(host, _port(ports[at] if len(ports) == len(hosts) else ports[0])) for at, host in enumerate(hosts)]


def _port(text: str) -> int:
    if not text:
        return _DEFAULT_PORT
    if not (text.isascii() and text.isdigit() and 0 < int(text[:6]) < 65536):
        raise WrongUse("The database URL has a port that is no number from 1 to 65535.", hint=SHAPE)
    return int(text)
