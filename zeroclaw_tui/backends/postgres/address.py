"""The parts of a PostgreSQL URL, for the driver and for messages, which never show the password."""

from __future__ import annotations

import getpass
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import quote, unquote, urlencode

from zeroclaw_tui.config.memory_config import shown
from zeroclaw_tui.memory.errors import UsageError

SHAPE = "It should look like postgres://user:password@host:5432/database."
OPTIONS_OF_ZEROCLAW = (
    *("user", "password", "dbname", "host", "hostaddr", "port", "options", "application_name"),
    *("sslmode", "sslnegotiation", "channel_binding", "target_session_attrs", "load_balance_hosts"),
    *("connect_timeout", "tcp_user_timeout", "keepalives", "keepalives_idle", "keepalives_interval"),
    "keepalives_retries",
)
"""The URL options that ZeroClaw's driver accepts; it refuses all others."""
TABLE_OPTIONS = ("schema", "table")
"""URL options of this program alone: which table of the database to open."""
CERTIFICATE_OPTIONS = ("sslrootcert", "sslcert", "sslkey")
"""Options that name files for TLS, which ZeroClaw's driver does not know."""

DEFAULT_SCHEMA, DEFAULT_TABLE = "public", "memories"
"""ZeroClaw's default schema and table."""

_DEFAULT_PORT = 5432


@dataclass(frozen=True, slots=True)
class PostgresAddress:
    """The hosts, database and user to connect with."""

    hosts: tuple[tuple[str, int], ...]
    """Each host with its port; a host that begins with `/` is the folder of a Unix socket."""
    user: str
    database: str
    password: str = field(default="", repr=False)
    options: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The options of the URL by name, without the password."""

    @property
    def place(self) -> str:
        """The first host and its port, for messages."""
        host, port = self.hosts[0]
        if host.startswith("/") and port == _DEFAULT_PORT:
            return shown(host)
        return f"[{host}]:{port}" if ":" in host else f"{shown(host)}:{port}"

    @property
    def tls(self) -> str:
        """The sslmode to connect with."""
        mode, is_bound = self.options.get("sslmode", "prefer"), self.options.get("channel_binding") == "require"
        return "require" if is_bound and not mode.startswith("verify") else mode

    def location(self, schema: str, table: str) -> str:
        """The URL without its password, and with schema and table if they are not the defaults."""
        place = quote(self.place, safe="[]:")
        names = (("schema", schema, DEFAULT_SCHEMA), ("table", table, DEFAULT_TABLE))
        options = urlencode([(name, value) for name, value, usual in names if value != usual])
        url = f"postgres://{quote(self.user)}@{place}/{quote(self.database)}"
        return f"{url}?{options}" if options else url


def read_url(url: str) -> PostgresAddress:
    """Parse a URL as ZeroClaw's driver does. Raises UsageError without any part that may contain the password."""
    scheme, _, rest = url.partition("://")
    if scheme not in ("postgres", "postgresql"):
        raise UsageError("The database URL does not begin with postgres:// or postgresql://.", hint=SHAPE)
    if rest.count("@") > 1:
        raise UsageError(
            "The database URL has more than one @.", hint="Write the signs @ / ? in the password as %40 %2F %3F."
        )
    credentials, _, rest = rest.rpartition("@")
    place, _, query = rest.partition("?")
    authority, _, path = place.partition("/")
    options = dict(map(_read_option, filter(None, query.split("&"))))
    hosts = authority or options.get("hostaddr") or options.get("host", "")
    url_user, _, url_password = credentials.partition(":")
    user = options.get("user") or unquote(url_user) or getpass.getuser()
    return PostgresAddress(
        hosts=tuple(_read_host(text, options.get("port", "")) for text in hosts.split(",")),
        user=user,
        database=options.get("dbname") or unquote(path) or user,
        password=options.pop("password", "") or unquote(url_password),
        options=options,
    )


def _read_option(pair: str) -> tuple[str, str]:
    name, _, value = pair.partition("=")
    name = unquote(name)
    if name not in (*OPTIONS_OF_ZEROCLAW, *CERTIFICATE_OPTIONS, *TABLE_OPTIONS):
        raise UsageError(
            f"The database URL has the option {shown(name)}, which ZeroClaw's driver does not know and refuses.",
            hint="Remove it from the URL.",
        )
    return name, unquote(value)


def _read_host(text: str, default_port: str) -> tuple[str, int]:
    """Parse a host with its port. Raises UsageError."""
    host, _, port = text.partition(":")
    if text.startswith("["):
        host, _, port = text[1:].partition("]")
    port = port.removeprefix(":") or default_port or str(_DEFAULT_PORT)
    if not host:
        raise UsageError("The database URL names no host.", hint=SHAPE)
    if not (port.isdecimal() and 0 < int(port[:6]) < 65536):
        raise UsageError("The port of the database URL is not a number from 1 to 65535.", hint=SHAPE)
    return unquote(host), int(port)
