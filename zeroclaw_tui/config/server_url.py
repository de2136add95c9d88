"""A server's URL as a person gives it: which backend it means, and what it is without its secrets."""

from __future__ import annotations

import re
from urllib.parse import parse_qsl, urlencode

BACKEND_OF_SCHEME = {
    "postgres": "postgres", "postgresql": "postgres", "redis": "redis", "rediss": "redis",
    "redis+sentinel": "redis", "rediss+sentinel": "redis",
}  # fmt: skip
"""What a URL says by itself; the scheme of an HTTP server may be that of several backends."""
SCHEME = "the scheme of --location"
"""The source of a backend that was chosen by its URL."""
_PARTS = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.\-]*)://(?P<rest>.*)", re.DOTALL)
_CONNECTION_STRING = re.compile(
    r"\s*(?:host|hostaddr|port|dbname|user|password|passfile|service|sslmode|connect_timeout|options)\s*="
)
_SECRET_OPTION = re.compile("password|passwd|pwd|secret|token|api_?key|auth", re.IGNORECASE)


def is_url(location: str | None) -> bool:
    """Whether a location is a URL and no path."""
    return location is not None and "://" in location


def is_connection_string(location: str) -> bool:
    """Whether a location is of libpq's other form, `host=… password=…`, which may hold a password and is no path.

    From the PostgreSQL manual, "Connection Strings".
    """
    return _CONNECTION_STRING.match(location) is not None


def backend_of(url: str) -> str | None:
    """The backend a URL's scheme means; None where it does not say."""
    return BACKEND_OF_SCHEME.get(url.partition("://")[0].strip().lower())


def without_password(url: str) -> str:
    """A URL with scheme, user, server, path and harmless options: what two spellings of one password agree in.

    Everything up to the last @ is taken for user and password, since a password may hold any sign that somebody forgot
    to encode. A text that is no URL gives "".
    """
    matched = _PARTS.fullmatch(url.strip())
    if matched is None:
        return ""
    scheme = matched["scheme"].lower()
    secret, at, place = matched["rest"].rpartition("@")
    user = secret.partition(":")[0]
    server, _, options = place.partition("?")
    kept = sorted((name, value) for name, value in parse_qsl(options) if not _SECRET_OPTION.search(name))
    host, slash, path = server.partition("/")
    scheme = "postgres" if scheme == "postgresql" else scheme
    return f"{scheme}://{user}{at if user else ''}{host.lower()}{slash}{path}" + (f"?{urlencode(kept)}" if kept else "")
