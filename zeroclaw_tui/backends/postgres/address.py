"""The parts of a PostgreSQL URL: for messages, which never show the password, and for the driver."""

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
"""The options of a URL that ZeroClaw's driver knows; it refuses every other."""
TABLE_OPTIONS = ("schema", "table")
"""Options of this program alone: which table of the database to open."""
CERTIFICATE_OPTIONS = ("sslrootcert", "sslcert", "sslkey")
"""Options that name files for TLS, which ZeroClaw's driver does not know."""

USUAL_SCHEMA, USUAL_TABLE = "public", "memories"
"""Where ZeroClaw keeps its memories unless its config names another table."""

_TLS_MODES = ("disable", "allow", "prefer", "require", "verify-ca", "verify-full")
_DEFAULT_PORT = 5432


@dataclass(frozen=True, slots=True)
class PostgresAddress:
    """Where to connect and as whom."""

    hosts: tuple[tuple[str, int], ...]
    """Each host with its port; a host that begins with `/` is the folder of a Unix socket."""
    user: str
    database: str
    password: str = field(default="", repr=False)
    names_user: bool = True
    """Whether the URL names the user; otherwise it is the one who runs this program."""
    options: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The options of the URL by name, without the password."""

    @property
    def place(self) -> str:
        """The first host and its port, for messages."""
        host, port = self.hosts[0]
        if host.startswith("/"):
            return shown(host)
        return f"[{host}]:{port}" if ":" in host else f"{shown(host)}:{port}"

    def location(self, schema: str = USUAL_SCHEMA, table: str = USUAL_TABLE) -> str:
        """The URL without its password, and with schema and table where they are not the usual ones."""
        host, port = self.hosts[0]
        place = self.place
        if host.startswith("/"):
            place = quote(host, safe="") + (f":{port}" if port != _DEFAULT_PORT else "")
        names = (("schema", schema, USUAL_SCHEMA), ("table", table, USUAL_TABLE))
        options = urlencode([(name, value) for name, value, usual in names if value != usual])
        url = f"postgres://{quote(self.user)}@{place}/{quote(self.database)}"
        return f"{url}?{options}" if options else url

    @property
    def tls(self) -> str:
        """The sslmode to connect with."""
        mode, is_bound = self.options.get("sslmode", "prefer"), self.options.get("channel_binding") == "require"
        return "require" if is_bound and not mode.startswith("verify") else mode

    @property
    def asks_for_tls(self) -> bool:
        """Whether the URL asks for TLS, which ZeroClaw itself never uses."""
        return self.tls not in ("disable", "prefer")

    @property
    def unknown_to_zeroclaw(self) -> tuple[str, ...]:
        """The options that ZeroClaw's driver refuses."""
        return tuple(name for name in self.options if name not in OPTIONS_OF_ZEROCLAW)

    @property
    def connect_seconds(self) -> float | None:
        """The URL's own connect_timeout, None without one."""
        text = self.options.get("connect_timeout", "")
        return float(text) if text.isdecimal() and int(text[:9]) > 0 else None


def read_url(url: str) -> PostgresAddress:
    """Read a URL as ZeroClaw's driver does. Raises UsageError, which names no part that may hold the password."""
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
    options = _read_options(query)
    hosts = [_read_host(text) for text in authority.split(",") if text] or _hosts_of_options(options)
    if not hosts or not all(host for host, _ in hosts):
        raise UsageError("The database URL names no host.", hint=SHAPE)
    url_user, _, url_password = credentials.partition(":")
    named_user = options.get("user") or unquote(url_user)
    user = named_user or getpass.getuser()
    return PostgresAddress(
        hosts=tuple(hosts),
        user=user,
        database=options.get("dbname") or unquote(path) or user,
        password=options.pop("password", "") or unquote(url_password),
        names_user=bool(named_user),
        options=options,
    )


def _read_options(query: str) -> dict[str, str]:
    options: dict[str, str] = {}
    for pair in filter(None, query.split("&")):
        name, equals, value = pair.partition("=")
        if not equals:
            raise UsageError("The database URL has an option without a value.", hint=SHAPE)
        options[unquote(name)] = unquote(value)
    for name in options:
        if name not in (*OPTIONS_OF_ZEROCLAW, *CERTIFICATE_OPTIONS, *TABLE_OPTIONS):
            raise UsageError(
                f"The database URL has the option {shown(name)}, which ZeroClaw's driver does not know and refuses.",
                hint="Remove it from the URL.",
            )
    mode = options.get("sslmode", "prefer")
    if mode not in _TLS_MODES:
        raise UsageError(
            f"The database URL has an invalid sslmode: {shown(mode)}.", hint=f"Valid values: {', '.join(_TLS_MODES)}."
        )
    return options


def _read_host(text: str) -> tuple[str, int]:
    if text.startswith("["):
        host, _, port = text[1:].partition("]")
        return host, _read_port(port.removeprefix(":"))
    host, _, port = text.partition(":")
    return unquote(host), _read_port(port)


def _hosts_of_options(options: Mapping[str, str]) -> list[tuple[str, int]]:
    hosts = (options.get("hostaddr") or options.get("host", "")).split(",")
    ports = options.get("port", "").split(",")
    return [(host, _read_port(ports[min(at, len(ports) - 1)])) for at, host in enumerate(hosts)]


def _read_port(text: str) -> int:
    if not text:
        return _DEFAULT_PORT
    if not (text.isdecimal() and 0 < int(text[:6]) < 65536):
        raise UsageError("The port of the database URL is not a number from 1 to 65535.", hint=SHAPE)
    return int(text)
