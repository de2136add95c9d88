"""A database URL: hosts, user, database and how to encrypt, and what is wrong with one, without ever showing it.

What the URL leaves out has fixed defaults: no PG* variable, no ~/.pgpass and no service file is read, as ZeroClaw's
driver reads none either.
"""

from __future__ import annotations

import getpass
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import quote, unquote, urlencode

from zeroclaw_tui.config.memory_config import shown
from zeroclaw_tui.memory.errors import UsageError

SHAPE = "It should look like postgres://user:password@host:5432/database."
TlsMode = Literal["disable", "allow", "prefer", "require", "verify-ca", "verify-full"]
TLS_MODES: tuple[TlsMode, ...] = ("disable", "allow", "prefer", "require", "verify-ca", "verify-full")
OPTIONS_OF_ZEROCLAW = (
    *("user", "password", "dbname", "host", "hostaddr", "port", "options", "application_name"),
    *("sslmode", "sslnegotiation", "channel_binding", "target_session_attrs", "load_balance_hosts"),
    *("connect_timeout", "tcp_user_timeout", "keepalives", "keepalives_idle", "keepalives_interval"),
    "keepalives_retries",
)
"""What may stand behind the ? of a URL for ZeroClaw's driver, which refuses every other name."""

USUAL_SCHEMA, USUAL_TABLE = "public", "memories"
"""Where ZeroClaw keeps its memories where nothing says otherwise."""
TABLE_OPTIONS = ("schema", "table")
"""This program's own: which table of the database, above what the config says."""

_CERTIFICATE_OPTIONS = ("sslrootcert", "sslcert", "sslkey")
_TARGETS = ("any", "read-write", "read-only", "primary", "standby", "prefer-standby")
_SCHEMES = ("postgres://", "postgresql://")
_DEFAULT_PORT = 5432
_BEYOND_TLS = ("require", "verify-ca", "verify-full")


@dataclass(frozen=True, slots=True)
class PostgresAddress:
    """Where and as whom to connect. A host that begins with `/` is the folder of a Unix socket.

    `options` are those of the URL by name, the password's left out.
    """

    hosts: tuple[tuple[str, int], ...]
    user: str
    database: str
    password: str = field(default="", repr=False)
    names_user: bool = True
    options: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def place(self) -> str:
        """The first host and port, for people."""
        host, port = self.hosts[0]
        if host.startswith("/"):
            return shown(host)
        return f"[{host}]:{port}" if ":" in host else f"{shown(host)}:{port}"

    @property
    def names_table(self) -> bool:
        """Whether the URL itself says which schema or table."""
        return any(self.options.get(name) for name in TABLE_OPTIONS)

    def location(self, schema: str = USUAL_SCHEMA, table: str = USUAL_TABLE) -> str:
        """The URL without password, with schema and table as its only options where they are not the usual ones."""
        host, port = self.hosts[0]
        named = quote(host, safe="") if host.startswith("/") else self.place
        at_port = f":{port}" if host.startswith("/") and port != _DEFAULT_PORT else ""
        said = [("schema", schema, USUAL_SCHEMA), ("table", table, USUAL_TABLE)]
        options = urlencode([(name, value) for name, value, usual in said if value != usual])
        url = f"postgres://{quote(self.user)}@{named}{at_port}/{quote(self.database)}"
        return f"{url}?{options}" if options else url

    @property
    def tls(self) -> TlsMode:
        """How to encrypt, as the URL's sslmode says; "prefer" without one."""
        mode = self.options.get("sslmode", "prefer")
        return next(known for known in TLS_MODES if known == mode)

    @property
    def asks_for_tls(self) -> bool:
        """Whether a connection without TLS would not do."""
        return self.tls in _BEYOND_TLS or self.options.get("channel_binding") == "require"

    @property
    def unknown_to_zeroclaw(self) -> tuple[str, ...]:
        """The options ZeroClaw's driver would refuse."""
        return tuple(name for name in self.options if name not in OPTIONS_OF_ZEROCLAW)

    @property
    def connect_seconds(self) -> float | None:
        """The URL's own connect_timeout, None without one."""
        text = self.options.get("connect_timeout", "")
        return float(text) if text.isascii() and text.isdigit() and int(text[:9]) > 0 else None


def read_url(url: str) -> PostgresAddress:
    """The parts of a URL. Raises UsageError, naming what is wrong and never a part that may hold the password.

    As ZeroClaw's driver does, everything before the first `@` is taken for user and password, and options nobody knows
    are refused. Beyond it, sslmode may be allow, verify-ca or verify-full, and sslrootcert, sslcert and sslkey are
    known, and schema and table.
    """
    scheme = next((scheme for scheme in _SCHEMES if url.startswith(scheme)), None)
    if scheme is None:
        raise UsageError("The database URL does not begin with postgres:// or postgresql://.", hint=SHAPE)
    credentials, at, rest = url.removeprefix(scheme).partition("@")
    if not at:
        credentials, rest = "", credentials
    authority, _, tail = _split_at(rest, "/?")
    path, query = _path_and_query(rest[len(authority) :]) if tail else ("", "")
    if "@" in authority or "@" in path:
        raise _more_than_one_at()
    user, _, password = (_decoded(part) for part in credentials.partition(":"))
    options = _options(query)
    _check_options(options)
    hosts = [_host_and_port(text) for text in authority.split(",")] if authority else []
    hosts += _hosts_of_options(options)
    if not hosts:
        raise UsageError("The database URL names no host.", hint=SHAPE)
    names_user = bool(user or options.get("user"))
    user = options.get("user") or user or getpass.getuser()
    return PostgresAddress(
        hosts=tuple(hosts),
        user=user,
        database=options.get("dbname") or _decoded(path) or user,
        password=options.get("password") or password,
        names_user=names_user,
        options={name: value for name, value in options.items() if name != "password"},
    )


def _split_at(text: str, letters: str) -> tuple[str, str, str]:
    """The text before the first of these letters, the letter, and what follows."""
    for at, letter in enumerate(text):
        if letter in letters:
            return text[:at], letter, text[at + 1 :]
    return text, "", ""


def _more_than_one_at() -> UsageError:
    return UsageError(
        "The database URL has more than one @.", hint="Write the signs @ / ? in the password as %40 %2F %3F."
    )


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
        raise UsageError("The database URL has characters that are not valid there.", hint=SHAPE)
    return plain


def _options(query: str) -> dict[str, str]:
    options: dict[str, str] = {}
    for part in filter(None, query.split("&")):
        name, equals, value = part.partition("=")
        if not equals:
            raise UsageError("The database URL has an option without a value.", hint=SHAPE)
        options[_decoded(name)] = _decoded(value)
    return options


def _check_options(options: Mapping[str, str]) -> None:
    unknown = [name for name in options if name not in (*OPTIONS_OF_ZEROCLAW, *_CERTIFICATE_OPTIONS, *TABLE_OPTIONS)]
    if unknown and any("@" in name or "@" in options[name] for name in unknown):
        # What looks like an option is the rest of a password.
        raise _more_than_one_at()
    if unknown:
        raise UsageError(
            f"The database URL has the option {shown(unknown[0])}, which ZeroClaw's driver does not know and refuses.",
            hint="Remove it from the URL.",
        )
    for name, known in (
        ("sslmode", TLS_MODES),
        ("sslnegotiation", ("postgres", "direct")),
        ("target_session_attrs", _TARGETS),
    ):
        if name in options and options[name] not in known:
            raise UsageError(
                f"The database URL has an invalid {name}: {shown(options[name])}.",
                hint=f"Known are {', '.join(known)}.",
            )


def _host_and_port(text: str) -> tuple[str, int]:
    host, port = text, ""
    if text.startswith("["):
        host, closed, port = text[1:].partition("]")
        if not closed or (port and not port.startswith(":")):
            raise UsageError("The database URL has a [ without a ] around the host.", hint=SHAPE)
        port = port.removeprefix(":")
    elif ":" in text:
        host, _, port = text.partition(":")
    if not host:
        raise UsageError("The database URL names no host.", hint=SHAPE)
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
        raise UsageError("The port of the database URL is not a number from 1 to 65535.", hint=SHAPE)
    return int(text)


class NamedContext(ssl.SSLContext):
    """A context that greets and checks the server by one name, at whichever address it was found."""

    server_name: str = ""

    def wrap_bio(self, *args: Any, **named: Any) -> ssl.SSLObject:
        """As SSLContext's, for that name."""
        incoming, outgoing = args[:2]
        return super().wrap_bio(incoming, outgoing, server_side=False, server_hostname=self.server_name or None)


def tls_context(address: PostgresAddress, host: str) -> ssl.SSLContext:
    """What a connection to this host is encrypted with. Raises UsageError for files that cannot be read.

    As libpq does it: nothing is checked before verify-ca, unless sslrootcert is given, which makes require check too;
    only verify-full checks the name. Without sslrootcert the certificates this machine trusts count.
    """
    context = NamedContext(ssl.PROTOCOL_TLS_CLIENT)
    context.server_name = host
    # A server that is greeted with TLS at once (sslnegotiation=direct) lets nobody in who does not name the protocol.
    context.set_alpn_protocols(["postgresql"])
    root = address.options.get("sslrootcert", "")
    checks = address.tls in ("verify-ca", "verify-full") or (address.tls == "require" and bool(root))
    context.check_hostname = address.tls == "verify-full"
    context.verify_mode = ssl.CERT_REQUIRED if checks else ssl.CERT_NONE
    if checks and root in ("", "system"):
        context.load_default_certs()
    elif checks:
        _load("sslrootcert", root, lambda: context.load_verify_locations(cafile=root))
    certificate, key = address.options.get("sslcert", ""), address.options.get("sslkey") or None
    if certificate:
        _load("sslcert", certificate, lambda: context.load_cert_chain(certificate, key, password=_no_password))
    return context


def _load(option: str, path: str, load: Callable[[], None]) -> None:
    try:
        load()
    except (OSError, ValueError):
        raise UsageError(
            f"The file {shown(path)} that the URL's {option} names cannot be read as a certificate.",
            hint="Is the path right, and is it PEM?",
        ) from None


def _no_password() -> str:
    """Asked for where a key is encrypted; without this the terminal would be asked."""
    raise ValueError
