"""Where a Qdrant collection is: the server's address and the collection's name, checked and fit to be shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from zeroclaw_tui.config.notes import shown
from zeroclaw_tui.embeddings.addresses import is_loopback
from zeroclaw_tui.memory.errors import WrongUse

DEFAULT_COLLECTION = "zeroclaw_memories"
_SHAPE = "It should look like http://localhost:6333."
_COLLECTIONS = "/collections/"
_LONGEST_NAME = 255
_NO_NAME = '/\\<>|:"*?\0\x1f'
"""What Qdrant takes in no collection name, which is a folder's name there."""


@dataclass(frozen=True, slots=True)
class Address:
    """A collection of a server. `base` is the URL requests go to, which may hold a password; `place` is the same for
    people: scheme, host, port and path."""

    base: str = field(repr=False)
    collection: str

    @property
    def place(self) -> str:
        """The server's address without user and password."""
        return place_of(self.base)

    @property
    def path(self) -> str:
        """The path of the collection below `base`."""
        return f"{_COLLECTIONS}{quote(self.collection, safe='')}"

    @property
    def location(self) -> str:
        """Server and collection in one URL, which `--location` takes again."""
        return f"{self.place}{self.path}"

    @property
    def is_open_to_listeners(self) -> bool:
        """Whether what is sent can be read on the way."""
        parts = urlsplit(self.base)
        return parts.scheme == "http" and not is_loopback(parts.hostname or "")


def place_of(url: str) -> str:
    """Scheme, host, port and path of a URL, without user, password and query."""
    parts = urlsplit(url)
    return shown(f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path.rstrip('/')}")


def is_address(url: str) -> bool:
    """Whether a text is an http:// or https:// address."""
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        return False


def is_header_value(key: str) -> bool:
    """Whether an API key is one that an HTTP header can carry."""
    return key.isascii() and key.isprintable()


def read_address(url: str, collection: str) -> Address:
    """The address a URL and a collection's name give; `…/collections/NAME` at the end of the URL names one itself.

    Raises WrongUse, never showing the URL, where a key may be.
    """
    text = url.strip()
    if not is_address(text):
        sentence = "The Qdrant URL is no http:// or https:// address." if text else "There is no Qdrant URL."
        raise WrongUse(sentence, hint=_SHAPE)
    parts = urlsplit(text)
    if parts.query or parts.fragment:
        raise WrongUse("The Qdrant URL goes on after a ? or #, where ZeroClaw appends a path.", hint=_SHAPE)
    base, found, name = text.rstrip("/").rpartition(_COLLECTIONS)
    base, name = (base, unquote(name)) if found and "/" not in name else (text.rstrip("/"), collection.strip())
    if not name or len(name.encode("utf-8", "replace")) > _LONGEST_NAME or any(sign in _NO_NAME for sign in name):
        raise WrongUse(
            f"Qdrant has no collection of such a name: {shown(name)!r}.",
            hint=f"Set the collection's name in config.toml; ZeroClaw's own is {DEFAULT_COLLECTION}.",
        )
    return Address(base, name)


def configured_address(storage: Mapping[str, Any], location: str | None) -> tuple[Address, str]:
    """The address a config's store settings and an option name, and the API key that may be sent there.

    The config's key belongs to the config's server: another one, named by option, never sees it. Raises WrongUse.
    """
    url, collection = str(storage.get("url") or ""), str(storage.get("collection") or DEFAULT_COLLECTION)
    address = read_address(location or url, collection)
    key = str(storage.get("api_key") or "").strip()
    if not is_header_value(key):
        raise WrongUse("The Qdrant key has characters that no HTTP header takes.", hint="Copy the key again.")
    is_theirs = not location or not url.strip() or _origin(location) == _origin(url)
    return address, key if is_theirs else ""


def _origin(url: str) -> tuple[str, str, int | None] | None:
    if not is_address(url.strip()):
        return None
    parts = urlsplit(url.strip())
    return parts.scheme, (parts.hostname or "").lower(), parts.port or {"http": 80, "https": 443}[parts.scheme]
