"""A Redis URL: which server and which of its databases, and what of it may be shown."""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import parse_qs, unquote, urlsplit

from zeroclaw_tui.memory.errors import WrongUse

SHAPE = "redis://[USER:PASSWORD@]HOST[:PORT][/DATABASE], rediss:// with TLS, or unix:///PATH?db=DATABASE"
DEFAULT_PORT = 6379


@dataclass(frozen=True, slots=True)
class RedisAddress:
    """Where a server is; `path` is that of a socket on this machine, and then there is no host."""

    host: str = ""
    port: int = DEFAULT_PORT
    database: int = 0
    path: str | None = None
    tls: bool = False
    user: str | None = None
    password: str | None = field(default=None, repr=False)

    @property
    def location(self) -> str:
        """The URL without user and password."""
        if self.path is not None:
            return f"unix://{self.path}?db={self.database}"
        return f"{'rediss' if self.tls else 'redis'}://{self.place}/{self.database}"

    @property
    def place(self) -> str:
        """The server alone, for messages."""
        if self.path is not None:
            return self.path
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def read_url(url: str) -> RedisAddress:
    """The parts of a URL. Raises WrongUse, which never shows it."""
    try:
        parts = urlsplit(url.strip())
        options = {name: values[-1] for name, values in parse_qs(parts.query, keep_blank_values=True).items()}
        port = parts.port
    except ValueError:
        raise _wrong("cannot be read") from None
    if parts.scheme not in ("redis", "rediss", "unix"):
        raise _wrong("begins with neither redis:// nor rediss:// nor unix://")
    unknown = sorted(set(options) - {"db", "password"})
    if unknown:
        raise _wrong(f"has an option that is not known here ({', '.join(name[:20] for name in unknown)})")
    is_socket = parts.scheme == "unix"
    path = unquote(parts.path)
    if is_socket and not path.strip("/"):
        raise _wrong("names no socket")
    if not is_socket and not parts.hostname:
        raise _wrong("names no host")
    password = unquote(parts.password) if parts.password is not None else options.get("password")
    return RedisAddress(
        host="" if is_socket else unquote(parts.hostname or ""),
        port=port or DEFAULT_PORT,
        database=_database(options.get("db", "0" if is_socket else path.strip("/") or "0")),
        path=path if is_socket else None,
        tls=parts.scheme == "rediss",
        user=unquote(parts.username) if parts.username else None,
        password=password or None,
    )


def _database(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 6):
        raise _wrong("names a database that is no number")
    return int(text)


def _wrong(what: str) -> WrongUse:
    return WrongUse(f"The Redis URL {what}.", hint=f"It looks like {SHAPE}.")
