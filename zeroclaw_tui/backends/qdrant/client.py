"""REST requests to one Qdrant collection, and its description."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote, urlsplit

from zeroclaw_tui.backends.health import StartCheck
from zeroclaw_tui.backends.writing import UNCONFIRMED
from zeroclaw_tui.config.memory_config import MemoryConfig, shown
from zeroclaw_tui.embeddings.base import is_web_address
from zeroclaw_tui.embeddings.endpoint import create_embedder, tls_error_message
from zeroclaw_tui.memory.errors import NothingYet, NotReachable, Refused, UsageError
from zeroclaw_tui.memory.text import counted, cut, mask_secrets, one_line

if TYPE_CHECKING:
    import httpx

Point = dict[str, Any]
"""A point in Qdrant's JSON: `id`, and `payload` and `vector` if they were requested."""
Filter = Mapping[str, Any]
"""A filter or one condition of a filter, in Qdrant's JSON."""

TOTAL_SECONDS = 30.0
_CONNECT_SECONDS = 5.0
_PAGE_SIZE, _PAGE_SIZE_WITH_VECTORS = 500, 100
_DEFAULT_COLLECTION = "zeroclaw_memories"
_COLLECTIONS = "/collections/"
_MAX_REASON_LENGTH = 200
NOT_ZEROCLAWS = "The collection {} is not ZeroClaw's: it has no single unnamed vector."
_URL_HINT = "It should look like http://localhost:6333."


@dataclass(frozen=True, slots=True)
class CollectionAddress:
    """A collection of a Qdrant server."""

    base: str = field(repr=False)
    """The URL of the server; it may contain a password."""
    collection: str

    @property
    def server(self) -> str:
        """The URL of the server without user and password."""
        parts = urlsplit(self.base)
        return shown(f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path.rstrip('/')}")

    @property
    def path(self) -> str:
        """The path of the collection below `base`."""
        return f"{_COLLECTIONS}{quote(self.collection, safe='')}"

    @property
    def location(self) -> str:
        """Server and collection as one URL, which `--location` accepts."""
        return f"{self.server}{self.path}"


def parse_address(url: str, collection: str) -> CollectionAddress:
    """Combine a URL and a collection name; a URL that ends in /collections/NAME names the collection itself.

    Raises UsageError without showing the URL, which may contain a key.
    """
    text = url.strip()
    if not text:
        raise UsageError("There is no Qdrant URL.", hint=_URL_HINT)
    if not is_web_address(text):
        raise UsageError("The Qdrant URL is not an http:// or https:// address.", hint=_URL_HINT)
    parts = urlsplit(text)
    if parts.query or parts.fragment:
        raise UsageError("The Qdrant URL must not contain ? or #, because ZeroClaw appends a path.", hint=_URL_HINT)
    base, separator, name = text.rstrip("/").rpartition(_COLLECTIONS)
    if separator and "/" not in name:
        name = unquote(name)
    else:
        base, name = text.rstrip("/"), collection.strip()
    return CollectionAddress(base, name or _DEFAULT_COLLECTION)


def configured_address(storage: Mapping[str, Any], location: str | None) -> tuple[CollectionAddress, str]:
    """The address from the store settings or --location, and the API key to send there.

    The configured key is sent to the configured server only. Raises UsageError.
    """
    url, collection = str(storage.get("url") or ""), str(storage.get("collection") or _DEFAULT_COLLECTION)
    address = parse_address(location or url, collection)
    key = str(storage.get("api_key") or "").strip()
    is_configured_server = not location or not url.strip() or _origin(location) == _origin(url)
    return address, key if is_configured_server else ""


def _origin(url: str) -> tuple[str, str, int | None] | None:
    if not is_web_address(url.strip()):
        return None
    parts = urlsplit(url.strip())
    return parts.scheme, (parts.hostname or "").lower(), parts.port or {"http": 80, "https": 443}[parts.scheme]


class QdrantClient:
    """Sends requests to one collection; the connection opens with the first request.

    Redirects are not followed, so that the key reaches the configured server only. All methods raise NotReachable, and
    Refused with Qdrant's reason.
    """

    def __init__(self, address: CollectionAddress, api_key: str = "", *, seconds: float = TOTAL_SECONDS) -> None:
        self.address = address
        self._key = api_key
        self._seconds = seconds
        self._http: httpx.AsyncClient | None = None

    async def describe(self) -> dict[str, Any]:
        """Qdrant's description of the collection. Raises NothingYet if there is no such collection."""
        return self._object(await self.request("GET", ""))

    async def count_points(self, filter: Filter | None = None) -> int:
        """The exact number of points, or of those that match a filter."""
        body = {"exact": True} | ({"filter": filter} if filter else {})
        number = self._object(await self.request("POST", "/points/count", body)).get("count")
        return number if isinstance(number, int) else 0

    async def search(self, vector: Sequence[float], limit: int, filter: Filter | None = None) -> list[Point]:
        """The points nearest to a vector, each with its `score`."""
        body = {"vector": vector, "limit": limit, "with_payload": True} | ({"filter": filter} if filter else {})
        return self._points(await self.request("POST", "/points/search", body))

    async def scroll_page(
        self, filter: Filter | None, limit: int, offset: Any = None, *, vectors: bool = False
    ) -> tuple[list[Point], Any]:
        """One page of points in the order of their ids, with payloads; and the offset of the next page, or None."""
        body: dict[str, Any] = {"limit": limit, "with_payload": True, "with_vector": vectors}
        body |= {name: value for name, value in (("filter", filter), ("offset", offset)) if value is not None}
        page = self._object(await self.request("POST", "/points/scroll", body))
        return self._points(page.get("points")), page.get("next_page_offset")

    async def scroll(self, filter: Filter | None = None, *, vectors: bool = False) -> AsyncIterator[Point]:
        """All points that match a filter, in the order of their ids, with payloads."""
        limit, offset = _PAGE_SIZE_WITH_VECTORS if vectors else _PAGE_SIZE, None
        while True:
            points, offset = await self.scroll_page(filter, limit, offset, vectors=vectors)
            for point in points:
                yield point
            if offset is None:
                return

    async def retrieve(self, ids: Sequence[int | str], *, vectors: bool = True) -> list[Point]:
        """The points with these ids and their payloads, in any order; ids without a point are left out."""
        found: list[Point] = []
        page_size = _PAGE_SIZE_WITH_VECTORS if vectors else _PAGE_SIZE
        for start in range(0, len(ids), page_size):
            body = {"ids": ids[start : start + page_size], "with_payload": True, "with_vector": vectors}
            found += self._points(await self.request("POST", "/points", body))
        return found

    async def write(self, points: Sequence[Point], deleted: Sequence[int | str | None]) -> None:
        """Write points, then delete others, and wait until Qdrant has done both.

        If Qdrant does not answer, the error has `is_unsure` set: it may still do it.
        """
        try:
            if points:
                await self.request("PUT", "/points?wait=true", {"points": points})
            if deleted:
                await self.request("POST", "/points/delete?wait=true", {"points": deleted})
        except NotReachable as error:
            if not isinstance(error, KeyRefused):
                error.is_unsure = True
                error.add_progress(UNCONFIRMED)
            raise

    async def close(self) -> None:
        """Close the connection."""
        http, self._http = self._http, None
        if http is not None:
            await http.aclose()

    async def request(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """Send a request to the collection or a path below it, and return its result."""
        import httpx

        address = self.address
        # On a thread, because encoding hundreds of vectors would block the screen.
        content = None if body is None else await asyncio.to_thread(json.dumps, body)
        try:
            if self._http is None:
                headers = {"content-type": "application/json"} | ({"api-key": self._key} if self._key else {})
                timeout = httpx.Timeout(self._seconds, connect=min(_CONNECT_SECONDS, self._seconds))
                self._http = httpx.AsyncClient(headers=headers, timeout=timeout)
            async with asyncio.timeout(self._seconds):
                response = await self._http.request(method, f"{address.base}{address.path}{path}", content=content)
        except (TimeoutError, httpx.TimeoutException):
            raise NotReachable(
                f"Qdrant at {address.server} did not answer within {self._seconds:g} s.",
                hint="Check that it is running and that no firewall blocks the connection.",
            ) from None
        except (httpx.HTTPError, httpx.InvalidURL, ValueError, ImportError) as error:
            raise _connection_error(error, address) from None
        return self._result(response)

    def _result(self, response: httpx.Response) -> Any:
        server, status, method = self.address.server, response.status_code, response.request.method
        if status in (401, 403):
            problem = "refuses the API key" if self._key else "wants an API key"
            raise KeyRefused(
                f"Qdrant at {server} {problem} (HTTP {status}).",
                hint="Set storage.qdrant.api_key to a key with this permission.",
            )
        if status >= 500:
            raise NotReachable(f"Qdrant at {server} has an internal error (HTTP {status}).", hint="Try again later.")
        try:
            document = json.loads(response.content)
        except (ValueError, RecursionError):
            document = None
        if status != 200 and (reason := _reason(document)):
            if status == 404 and method == "GET":
                raise NothingYet(
                    f"Qdrant at {server} has no collection {self.address.collection} yet.",
                    hint="ZeroClaw makes it at its first start with an embedding provider.",
                )
            text = cut(one_line(mask_secrets(reason)), _MAX_REASON_LENGTH)
            kind = NotReachable if status == 404 else Refused
            raise kind(f"Qdrant at {server} refuses that: {text}", hint=f"HTTP {status}.")
        if status != 200 or not isinstance(document, dict) or "result" not in document:
            raise not_qdrant(server)
        return document["result"]

    def _object(self, result: Any) -> dict[str, Any]:
        if not isinstance(result, dict):
            raise not_qdrant(self.address.server)
        return result

    def _points(self, result: Any) -> list[Point]:
        if not isinstance(result, list) or not all(isinstance(point, dict) and "id" in point for point in result):
            raise not_qdrant(self.address.server)
        return result


class KeyRefused(NotReachable):
    """The server requires an API key, or a different one."""


def not_qdrant(server: str) -> NotReachable:
    """Make the error for a server that is not Qdrant."""
    return NotReachable(
        f"What answers at {server} is not Qdrant.", hint="Its HTTP port is 6333 by default; 6334 is for gRPC."
    )


def _connection_error(error: Exception, address: CollectionAddress) -> NotReachable:
    import httpx

    server = address.server
    trouble = tls_error_message(error)
    if trouble is not None:
        return NotReachable(f"Qdrant at {server} {trouble[0]}.", hint=trouble[1])
    if isinstance(error, httpx.ConnectError):
        hint = "Is Qdrant running, and are host and port right?"
        return NotReachable(f"Nothing answers at {server}.", hint=hint)
    return NotReachable(f"The connection to {server} was lost.", hint="Check the address and any proxy; try again.")


def _reason(document: Any) -> str:
    """The reason in Qdrant's error response, or ""."""
    status = document.get("status") if isinstance(document, dict) else None
    reason = status.get("error") if isinstance(status, dict) else None
    return reason if isinstance(reason, str) else ""


async def probe(config: MemoryConfig, seconds: float) -> StartCheck:
    """Ask Qdrant about the collection of a config with one GET request."""
    address, key = configured_address(config.storage, config.location)
    embedder = create_embedder(config.embedding)
    client, name = QdrantClient(address, key, seconds=seconds), shown(address.collection)
    start = time.perf_counter()
    description: dict[str, Any] | None = None
    try:
        description = await client.describe()
    except KeyRefused as error:
        raise Refused(error.message, hint=error.hint) from None
    except NothingYet:
        pass
    finally:
        await client.close()
    summary = f"answers in {(time.perf_counter() - start) * 1000:.0f} ms"
    if description is None:
        made = "ZeroClaw makes it" + ("" if embedder else " once an embedding provider is on")
        return StartCheck(summary, (f"has no collection {name} yet: {made}",))
    if "config" not in description:
        raise not_qdrant(address.server)
    vectors, points = vectors_of(description), description.get("points_count")
    if vectors is None:
        problem = Refused(NOT_ZEROCLAWS.format(name), hint="Set storage.qdrant.collection to another name.")
        return StartCheck(summary, problem=problem)
    size = vectors["size"]
    if embedder is not None and size != embedder.dimensions:
        mismatch = wrong_length(size, embedder.dimensions)
        wrong = UsageError(mismatch.message, hint=mismatch.hint)
        return StartCheck(summary, problem=wrong, corrections={"memory.embedding_dimensions": size})
    number = counted(points) if isinstance(points, int) else "memories"
    return StartCheck(summary, (f"the collection {name} holds {number}", f"its vectors have {size:,} numbers"))


def vectors_of(description: Any) -> Mapping[str, Any] | None:
    """The settings of the one unnamed vector of a described collection; None if it has others."""
    try:
        params = description["config"]["params"]
        vectors, sparse = params["vectors"], params.get("sparse_vectors")
        is_single = type(vectors["size"]) is int and not vectors.get("multivector_config") and not sparse
    except (KeyError, TypeError, AttributeError):
        return None
    return vectors if is_single else None


def wrong_length(expected: int, dimensions: int) -> Refused:
    """Make the error for vectors whose length differs from the collection's."""
    return Refused(
        f"The collection has vectors of {expected} numbers, not of {dimensions}.",
        hint=f"Set memory.embedding_dimensions to {expected} if the model makes such vectors, or choose another "
        "collection.",
    )
