"""Qdrant over REST, and what lies in a collection: points as rows and back again to the letter.

A point is an id, a payload with what nobody here knows, and a vector. Rows of other stores become points too.
"""

from __future__ import annotations

import asyncio
import json
import math
import re
import socket
import struct
import uuid
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote, urlsplit

from zeroclaw_tui.backends.base import Capabilities
from zeroclaw_tui.backends.tables import sanitised, utc_now
from zeroclaw_tui.config.memory_config import shown
from zeroclaw_tui.embeddings.base import is_web_address
from zeroclaw_tui.embeddings.endpoint import is_loopback, tls_trouble
from zeroclaw_tui.memory.change import Draft, Stamp, StoredRow, Value
from zeroclaw_tui.memory.entry import MemoryEntry, column_text, uuid_for
from zeroclaw_tui.memory.errors import NothingYet, NotReachable, Refused, Unreadable, UsageError
from zeroclaw_tui.memory.text import cut, is_unicode, mask_secrets, one_line

if TYPE_CHECKING:
    import httpx


Point = dict[str, Any]

CONNECT_SECONDS = 5.0
TOTAL_SECONDS = 30.0
_INLINE = 64 * 1024
"""Up to so many bytes of JSON are read in well under a millisecond; longer answers go to a thread."""
ANSWER_BYTES = 512 * 1024
"""About how long an answer may be so that reading it holds nothing up for longer than a frame."""
_REQUEST_BYTES = 4 * 1024 * 1024
"""Qdrant takes 32 MB at once, unless it is set otherwise."""
_FIRST, _FEWEST, _MOST = 256, 4, 2000
NOT_FOUND = 404
DEFAULT_COLLECTION = "zeroclaw_memories"
_SHAPE = "It should look like http://localhost:6333."
_COLLECTIONS = "/collections/"
_LONGEST_NAME = 255
_NO_NAME = '/\\<>|:"*?\0\x1f'
"""What Qdrant takes in no collection name, which is a folder's name there."""
_LONGEST_REASON = 200


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


def is_header_value(key: str) -> bool:
    """Whether an API key is one that an HTTP header can carry."""
    return key.isascii() and key.isprintable()


def read_address(url: str, collection: str) -> Address:
    """The address a URL and a collection's name give; `…/collections/NAME` at the end of the URL names one itself.

    Raises UsageError, never showing the URL, where a key may be.
    """
    text = url.strip()
    if not is_web_address(text):
        sentence = "The Qdrant URL is no http:// or https:// address." if text else "There is no Qdrant URL."
        raise UsageError(sentence, hint=_SHAPE)
    parts = urlsplit(text)
    if parts.query or parts.fragment:
        raise UsageError("The Qdrant URL goes on after a ? or #, where ZeroClaw appends a path.", hint=_SHAPE)
    base, found, name = text.rstrip("/").rpartition(_COLLECTIONS)
    base, name = (base, unquote(name)) if found and "/" not in name else (text.rstrip("/"), collection.strip())
    if not name or len(name.encode("utf-8", "replace")) > _LONGEST_NAME or any(sign in _NO_NAME for sign in name):
        raise UsageError(
            f"Qdrant has no collection of such a name: {shown(name)!r}.",
            hint=f"Set the collection's name in config.toml; ZeroClaw's own is {DEFAULT_COLLECTION}.",
        )
    return Address(base, name)


def configured_address(storage: Mapping[str, Any], location: str | None) -> tuple[Address, str]:
    """The address a config's store settings and an option name, and the API key that may be sent there.

    The config's key belongs to the config's server: another one, named by option, never sees it. Raises UsageError.
    """
    url, collection = str(storage.get("url") or ""), str(storage.get("collection") or DEFAULT_COLLECTION)
    address = read_address(location or url, collection)
    key = str(storage.get("api_key") or "").strip()
    if not is_header_value(key):
        raise UsageError("The Qdrant key has characters that no HTTP header takes.", hint="Copy the key again.")
    is_theirs = not location or not url.strip() or _origin(location) == _origin(url)
    return address, key if is_theirs else ""


def _origin(url: str) -> tuple[str, str, int | None] | None:
    if not is_web_address(url.strip()):
        return None
    parts = urlsplit(url.strip())
    return parts.scheme, (parts.hostname or "").lower(), parts.port or {"http": 80, "https": 443}[parts.scheme]


class Connection:
    """A client that is opened on the first request and kept. Proxies are taken from the environment.

    Redirects are not followed, so that a key only goes where it was meant to.
    """

    def __init__(self, address: Address, api_key: str = "", *, seconds: float = TOTAL_SECONDS) -> None:
        self.address = address
        self._key = api_key
        self._seconds = seconds
        self._client: httpx.AsyncClient | None = None
        self._has_answered = False

    async def describe(self) -> dict[str, Any]:
        """What Qdrant says of the collection. Raises NothingYet where there is none, and what every request raises."""
        response = await self._sent("GET", self.address.path)
        document = document_of(response)
        if response.status_code == NOT_FOUND and reason_of(document):
            raise NothingYet(
                f"Qdrant at {self.address.place} has no collection {self.address.collection} yet.",
                hint="ZeroClaw makes it at its first start with an embedding provider.",
            )
        result = result_of(response, self.address.place, has_key=bool(self._key), document=document)
        return self.table(result)

    async def version(self) -> tuple[int, int]:
        """Major and minor version of the server; (0, 0) where it does not say. Raises NotReachable."""
        document = document_of(await self._sent("GET", "/"))
        said = re.match(r"(\d+)\.(\d+)", str(document.get("version"))) if isinstance(document, dict) else None
        return (int(said[1]), int(said[2])) if said else (0, 0)

    async def count(self, filter: Mapping[str, Any] | None) -> int:
        """How many points one of Qdrant's filters leaves, exactly. Raises NotReachable, Refused."""
        body = {"exact": True} | ({"filter": filter} if filter else {})
        number = self.table(await self.ask("POST", "/points/count", body)).get("count")
        return number if isinstance(number, int) else 0

    async def ask(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """The result of a request to a path below the collection's. Raises NotReachable, Refused."""
        return (await self._asked(method, path, None if body is None else json.dumps(body).encode()))[0]

    async def scroll(
        self, filter: Mapping[str, Any] | None, payload: Any, *, vectors: bool = False
    ) -> AsyncIterator[list[Point]]:
        """Every point a filter leaves, in the order of ids, a part at a time; `payload` as Qdrant's with_payload.

        Parts get longer or shorter so that an answer stays about ANSWER_BYTES long.
        """
        limit, offset = _FIRST, None
        while True:
            body: dict[str, Any] = {"limit": limit, "with_payload": payload, "with_vector": vectors}
            if filter:
                body["filter"] = filter
            if offset is not None:
                body["offset"] = offset
            result, size = await self._asked("POST", "/points/scroll", json.dumps(body).encode())
            points = self.points(self.table(result).get("points"))
            yield points
            offset = result.get("next_page_offset")
            if offset is None:
                return
            limit = _next_limit(len(points), size)

    async def in_order(
        self, filter: Mapping[str, Any] | None, payload: Any, limit: int, order: Mapping[str, Any]
    ) -> tuple[list[Point], int]:
        """The first points a filter leaves in an order (Qdrant's order_by), and how many to ask for next.

        Raises NotReachable, and Refused where the field has no index that fits.
        """
        body = {"limit": limit, "with_payload": payload, "with_vector": False, "order_by": order}
        if filter:
            body["filter"] = filter
        result, size = await self._asked("POST", "/points/scroll", json.dumps(body).encode())
        points = self.points(self.table(result).get("points"))
        return points, _next_limit(len(points), size)

    async def values(self, filter: Mapping[str, Any] | None, field: str, limit: int) -> dict[str, int]:
        """How many of the points a filter leaves have each text of a field, counted exactly, the most frequent first.

        Raises NotReachable, and Refused where the field has no index that fits.
        """
        body = {"key": field, "limit": limit, "exact": True} | ({"filter": filter} if filter else {})
        hits = self.table(await self.ask("POST", "/facet", body)).get("hits")
        try:
            return {str(hit["value"]): int(hit["count"]) for hit in hits or ()}
        except (KeyError, TypeError, ValueError):
            raise not_qdrant(self.address.place) from None

    async def retrieve(self, ids: Sequence[int | str], payload: Any, *, vectors: bool = False) -> list[Point]:
        """The points of these ids that are there, in any order."""
        found: list[Point] = []
        start, limit = 0, _FIRST if not vectors else _FIRST // 4
        while start < len(ids):
            part = ids[start : start + limit]
            body = {"ids": list(part), "with_payload": payload, "with_vector": vectors}
            result, size = await self._asked("POST", "/points", json.dumps(body).encode())
            found += self.points(result)
            start, limit = start + limit, _next_limit(len(part), size)
        return found

    async def write_points(self, method: str, path: str, points: Iterable[Mapping[str, Any]]) -> None:
        """Send points, as many requests as they need, and wait until Qdrant has them."""
        encoded = iter(points)
        while body := await asyncio.to_thread(_body_of, encoded):
            await self._asked(method, f"{path}?wait=true", body)

    async def close(self) -> None:
        """Close the connections."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    def table(self, result: Any) -> dict[str, Any]:
        """A result that has to be an object. Raises NotReachable."""
        if not isinstance(result, dict):
            raise not_qdrant(self.address.place)
        return result

    def points(self, result: Any) -> list[Point]:
        """A result that has to be a list of points. Raises NotReachable."""
        if not isinstance(result, list) or not all(isinstance(point, dict) and "id" in point for point in result):
            raise not_qdrant(self.address.place)
        return result

    async def _asked(self, method: str, path: str, body: bytes | None) -> tuple[Any, int]:
        response = await self._sent(method, f"{self.address.path}{path}", body)
        size = len(response.content)
        document = await asyncio.to_thread(document_of, response) if size > _INLINE else None
        if response.status_code == NOT_FOUND and reason_of(document_of(response)):
            raise NotReachable(
                f"The collection {self.address.collection} is no longer there.", hint="Another program deleted it."
            )
        place = self.address.place
        result = result_of(response, place, has_key=bool(self._key), document=document)
        self._has_answered = True
        return result, size

    async def _sent(self, method: str, path: str, body: bytes | None = None) -> httpx.Response:
        import httpx

        base, place = self.address.base, self.address.place
        try:
            async with asyncio.timeout(self._seconds):
                return await self._open().request(method, f"{base}{path}", content=body)
        except (TimeoutError, httpx.TimeoutException):
            raise hangs(place, self._seconds) from None
        except (httpx.HTTPError, httpx.InvalidURL, ValueError, ImportError) as error:
            raise unreachable(error, base, place, has_answered=self._has_answered) from None

    def _open(self) -> httpx.AsyncClient:
        if self._client is None:
            import httpx

            headers = {"content-type": "application/json"} | ({"api-key": self._key} if self._key else {})
            timeout = httpx.Timeout(self._seconds, connect=min(CONNECT_SECONDS, self._seconds))
            self._client = httpx.AsyncClient(headers=headers, timeout=timeout)
        return self._client


def _next_limit(points: int, size: int) -> int:
    """How many points to ask for next, after so many took so many bytes."""
    return max(_FEWEST, min(_MOST, points * ANSWER_BYTES // max(size, 1)))


def _body_of(points: Iterable[Mapping[str, Any]]) -> bytes:
    """The next points as one request; one by one, so that other threads get their turn. Empty when there are none."""
    parts: list[str] = []
    size = 0
    for point in points:
        parts.append(json.dumps(point))
        size += len(parts[-1])
        if size > _REQUEST_BYTES:
            break
    return f'{{"points": [{", ".join(parts)}]}}'.encode() if parts else b""


def vector_size(described: Any) -> int | None:
    """The length of a collection's vectors; None when they have names, are several to a point, or there are none."""
    try:
        params = described["config"]["params"]
        size, is_several = params["vectors"]["size"], params["vectors"].get("multivector_config")
        has_more = params.get("sparse_vectors")
    except (KeyError, TypeError, AttributeError):
        return None
    return size if type(size) is int and not is_several and not has_more else None


class KeyRefused(NotReachable):
    """A server that wants an API key, or another one."""


def unreachable(error: Exception, url: str, place: str, *, has_answered: bool = False) -> NotReachable:
    """Why a request to `url` got no answer; `place` is that URL for people. `has_answered` says that it is Qdrant."""
    import httpx

    trouble = tls_trouble(error)
    if trouble is not None:
        return NotReachable(f"Qdrant at {place} {trouble[0]}.", hint=trouble[1])
    if _is_unknown_host(error):
        host = shown(urlsplit(url).hostname or "")
        return NotReachable(f"There is no host named {host}.", hint="Check the spelling, and that DNS works here.")
    if isinstance(error, httpx.ConnectError):
        return NotReachable(f"Nothing answers at {place}.", hint="Is Qdrant running, and are host and port right?")
    is_cut = has_answered or "incomplete" in str(error) or "complete message body" in str(error)
    if isinstance(error, httpx.RemoteProtocolError | httpx.DecodingError) and not is_cut:
        return not_qdrant(place)
    return NotReachable(f"The connection to {place} broke off.", hint="Check the address and any proxy; try again.")


def hangs(place: str, seconds: float) -> NotReachable:
    """A server that takes a request and does not answer."""
    return NotReachable(
        f"Qdrant at {place} did not answer within {seconds:g} s.",
        hint="Is it running, and is nothing in between that swallows the connection?",
    )


def not_qdrant(place: str) -> NotReachable:
    """A server that answers something else than Qdrant does."""
    return NotReachable(
        f"What answers at {place} is not Qdrant.", hint="Its HTTP port is 6333 as a rule; 6334 is for gRPC."
    )


def result_of(response: httpx.Response, place: str, *, has_key: bool, document: Any = None) -> Any:
    """The `result` of Qdrant's answer; `document` is its JSON where that was read already.

    Raises KeyRefused, NotReachable, and Refused with Qdrant's own reason for a request that it does not take.
    """
    status = response.status_code
    if status == 403 and response.request.method != "GET" and has_key:
        raise KeyRefused(f"Qdrant at {place} does not let this API key do that (HTTP 403).", hint="It may only read.")
    if status in (401, 403):
        what = "refuses the API key" if has_key else "wants an API key"
        raise KeyRefused(f"Qdrant at {place} {what} (HTTP {status}).", hint="Set storage.qdrant.api_key.")
    if status >= 500:
        raise NotReachable(f"Qdrant at {place} has an internal error (HTTP {status}).", hint="Try again later.")
    document = document_of(response) if document is None else document
    if status != 200 and (reason := reason_of(document)):
        shown_reason = cut(one_line(mask_secrets(reason)), _LONGEST_REASON)
        raise Refused(f"Qdrant at {place} refuses that: {shown_reason}", hint=f"HTTP {status}.")
    if status == 413:
        raise Refused(f"That is more than Qdrant at {place} takes at once (HTTP 413).", hint="Its limit is 32 MB.")
    if status != 200 or not isinstance(document, dict) or "result" not in document:
        raise not_qdrant(place)
    return document["result"]


def document_of(response: httpx.Response) -> Any:
    """The JSON of an answer, None where it is none."""
    try:
        return json.loads(response.content)
    except (ValueError, RecursionError):
        return None


def reason_of(document: Any) -> str:
    """The reason in Qdrant's answer to a request that it does not take, "" where it is no such answer."""
    status = document.get("status") if isinstance(document, dict) else None
    reason = status.get("error") if isinstance(status, dict) else None
    return reason if isinstance(reason, str) else ""


def _is_unknown_host(error: BaseException) -> bool:
    reason: BaseException | None = error
    while reason is not None:
        if isinstance(reason, socket.gaierror):
            return True
        reason = reason.__cause__ or reason.__context__
    return False


EDITABLE_HERE = ("content", "key", "category", "session_id")
NO_EMBEDDER = "Qdrant stores and finds nothing without an embedding"
_NO = "ZeroClaw keeps no {} in Qdrant."
WHY_NOT = {
    "keyword": "ZeroClaw searches Qdrant by vectors only; it has no keyword index there.",
    "namespaces": _NO.format("namespace"),
    "namespace": _NO.format("namespace"),
    "superseded": _NO.format("word of what replaced a memory"),
    "pinned": _NO.format("pin"),
    "importance": _NO.format("importance"),
    "kind": _NO.format("kind"),
    "watch": "Qdrant reports no changes. Press r to read it again.",
}
NO_AGENTS = "No point here names an agent: agents came with ZeroClaw 0.8.0."

DISTANCE = "Cosine"
_NEEDED = ("key", "content")
_OTHER_NAME = "Name another collection in config.toml, or with --location URL/collections/NAME."

DEFAULT_AGENT = "default"
"""The agent that ZeroClaw >= 0.8.0 gives the points that name none."""

FIELDS = {
    "key": "key",
    "content": "content",
    "category": "category",
    "created_at": "timestamp",
    "session_id": "session_id",
    "agent_id": "agent_id",
}
"""The values of a row and the payload fields they are, as ZeroClaw writes them."""
OTHERS, ABSENT = "payload", "absent"
"""The values of a row that hold the other payload fields as JSON, and the names of those of FIELDS that are no text."""
_ALWAYS_TEXT = ("key", "content", "category", "created_at")
_MOST = 2**64
_UNIT, _ZERO = 1e-6, 2**-23
"""Qdrant leaves a vector as it is whose squared length is that near to 1, or less than that."""
_CARRIED = {
    "namespace": "namespace",
    "importance": "importance",
    "pinned": "pinned",
    "superseded_by": "superseded",
    "kind": "kind",
}
"""What other stores hold and this one does not, with the capability that has a sentence for it."""
_USUAL: Mapping[str, tuple[Value, ...]] = {"namespace": ("default",), "importance": (0.5,), "pinned": (0, False)}
_KNOWN = frozenset({"id", *FIELDS, OTHERS, ABSENT, "embedding"})


@dataclass(frozen=True, slots=True)
class Shape:
    """What decides how a row looks here. `dimensions` and `distance` are those of the collection's one unnamed vector;
    `has_agents` says that points name agents, as ZeroClaw >= 0.8.0 writes them."""

    dimensions: int
    distance: str
    has_agents: bool

    def row(self, point: Point) -> StoredRow:
        """The row a point is; without a vector where that was not asked for."""
        payload = payload_of(point)
        others, absent = dict(payload), []
        values: dict[str, Value] = {"id": str(point["id"])}
        for name, theirs in FIELDS.items():
            text = payload.get(theirs)
            if isinstance(text, str):
                values[name] = text
                others.pop(theirs)
            elif name in _ALWAYS_TEXT:
                values[name] = ""
                absent.append(name)
            else:
                values[name] = None
        values[OTHERS] = json.dumps(others, sort_keys=True)
        values[ABSENT] = " ".join(absent) or None
        vector = point.get("vector")
        if isinstance(vector, list):
            try:
                values["embedding"] = packed(vector)
            except (struct.error, OverflowError) as error:
                raise Unreadable("A point of this collection has a vector that is no list of numbers.") from error
        agent = agent_of(payload) if self.has_agents else None
        return StoredRow(str(values["id"]), values, str(values["id"]), agent)

    def rows(self, points: Sequence[Point]) -> list[StoredRow]:
        """The rows of many points, for a thread."""
        return [self.row(point) for point in points]

    def entry(self, row: StoredRow) -> MemoryEntry:
        """The memory a row is; every point of a collection has a vector of the same length."""
        return replace(row.entry(), embedding_dimensions=self.dimensions)

    def native(self, row: StoredRow) -> StoredRow:
        """The same memory as a row of this collection; its own rows stay as they are."""
        if OTHERS in row.values:
            return row
        values = row.values
        fits = point_id(row.id) is not None
        named = row.id if fits else uuid_for(row.id)
        session = values.get("session_id")
        agent = (row.agent or DEFAULT_AGENT) if self.has_agents else None
        wanted: dict[str, Value] = {
            "id": named,
            **{name: column_text(values.get(name)) for name in ("key", "content", "category")},
            "created_at": column_text(values.get("created_at")) or utc_now(),
            "session_id": self.session(column_text(session)) if session else None,
            "agent_id": agent,
            OTHERS: "{}",
            ABSENT: None,
        }
        vector = values.get("embedding")
        if isinstance(vector, bytes) and len(vector) == 4 * self.dimensions:
            wanted["embedding"] = vector
        return StoredRow(named, wanted, named, agent)

    def drafted(self, draft: Draft, id: str | None, vector: bytes) -> StoredRow:
        """The row a draft becomes: stored now, with nothing but what ZeroClaw writes."""
        named = id or str(uuid.uuid4())
        agent = (draft.agent or DEFAULT_AGENT) if self.has_agents else None
        values: dict[str, Value] = {
            "id": named,
            "key": draft.key,
            "content": draft.content,
            "category": draft.category,
            "created_at": utc_now(),
            "session_id": self.session(draft.session_id),
            "agent_id": agent,
            OTHERS: "{}",
            ABSENT: None,
            "embedding": vector,
        }
        return checked(StoredRow(named, values, named, agent))

    def edited(self, row: StoredRow, values: Mapping[str, Value], vector: bytes | None) -> StoredRow:
        """The row with other values, and another vector where one is given; the rest of the payload stays."""
        changed = {**row.values, **values}
        session = changed.get("session_id")
        changed["session_id"] = self.session(session) if isinstance(session, str) else None
        absent = [name for name in str(row.values.get(ABSENT) or "").split() if name not in values]
        changed[ABSENT] = " ".join(absent) or None
        if vector is not None:
            changed["embedding"] = vector
        return checked(StoredRow(row.id, changed, row.handle, row.agent))

    def session(self, session: str | None) -> str | None:
        """A session as ZeroClaw writes it; from 0.8.0 on with letters, digits, _ and - only."""
        if not session:
            return None
        return sanitised(session) if self.has_agents else session


async def examine(connection: Connection, described: Mapping[str, Any], *, names_agents: bool) -> Shape:
    """Look at a described collection and one point of it; `names_agents` holds also where no point names one yet.

    Raises NotReachable, and Unreadable for another's.
    """
    name, size = shown(connection.address.collection), vector_size(described)
    if size is None:
        raise Unreadable(f"The collection {name} is not ZeroClaw's: it has no single unnamed vector.", hint=_OTHER_NAME)
    missing = await _missing(connection)
    if missing:
        raise Unreadable(
            f"The collection {name} is not ZeroClaw's: its points have no {' and no '.join(missing)}.",
            hint=_OTHER_NAME,
        )
    # Where no point names one, Qdrant looks through all of them.
    has_agent = {"must_not": [{"is_empty": {"key": "agent_id"}}]}
    has_agents = names_agents or await _any_point(connection, has_agent, payload=False) is not None
    distance = described["config"]["params"]["vectors"].get("distance")
    return Shape(size, distance if isinstance(distance, str) else DISTANCE, has_agents)


async def _missing(connection: Connection) -> tuple[str, ...]:
    """What every memory has and no point here does; nothing for a collection without points."""
    fits = await _any_point(connection, {"must_not": [{"is_empty": {"key": name}} for name in _NEEDED]}, payload=False)
    if fits is not None:
        return ()
    point = await _any_point(connection, None, payload=list(_NEEDED))
    if point is None:
        return ()
    payload = payload_of(point)
    return tuple(name for name in _NEEDED if name not in payload) or _NEEDED


async def _any_point(connection: Connection, filter: Mapping[str, Any] | None, *, payload: Any) -> Any:
    body: dict[str, Any] = {"limit": 1, "with_payload": payload, "with_vector": False}
    if filter is not None:
        body["filter"] = filter
    result = connection.table(await connection.ask("POST", "/points/scroll", body))
    return next(iter(connection.points(result.get("points"))), None)


def capabilities_of(
    read_only_because: str | None, no_embedder_because: str | None, *, has_agents: bool
) -> Capabilities:
    """The capabilities of one collection; `no_embedder_because` says why nothing can be embedded, found by meaning."""
    why_not = dict(WHY_NOT)
    if not has_agents:
        why_not["agents"] = NO_AGENTS
    if no_embedder_because is not None:
        why_not["vectors"] = no_embedder_because
    if read_only_because is not None:
        why_not |= dict.fromkeys(("write", *EDITABLE_HERE), read_only_because)
    return Capabilities(
        vectors=no_embedder_because is None,
        agents=has_agents,
        write=read_only_because is None,
        editable=EDITABLE_HERE if read_only_because is None else (),
        why_not=why_not,
    )


def point_id(id: str) -> int | str | None:
    """An id as Qdrant takes it: a number, or a UUID; None for what is neither."""
    if id.isascii() and id.isdecimal():
        number = int(id) if len(id) <= len(str(_MOST)) else _MOST
        return number if number < _MOST and str(number) == id else None
    try:
        return id if str(uuid.UUID(id)) == id else None
    except ValueError:
        return None


def point_of(row: StoredRow) -> Point:
    """The point a row is; one without a vector gives a point without one."""
    values = row.values
    payload: dict[str, Any] = json.loads(str(values.get(OTHERS) or "{}"))
    absent = str(values.get(ABSENT) or "").split()
    for name, theirs in FIELDS.items():
        text = values.get(name)
        if isinstance(text, str) and not (text == "" and name in absent):
            payload[theirs] = text
    point: Point = {"id": point_id(row.id), "payload": payload}
    vector = values.get("embedding")
    if isinstance(vector, bytes):
        point["vector"] = unpacked(vector)
    return point


def payload_of(point: Point) -> dict[str, Any]:
    """A point's payload; empty where it has none."""
    payload = point.get("payload")
    return payload if isinstance(payload, dict) else {}


def agent_of(payload: Mapping[str, Any]) -> str:
    """The alias of the agent a payload belongs to."""
    agent = payload.get("agent_id")
    return agent if isinstance(agent, str) else DEFAULT_AGENT


def stamp_of(row: StoredRow) -> Stamp:
    """The stamp of a row; its state is the fingerprint."""
    entry = row.entry()
    return Stamp(
        id=row.id,
        state=row.fingerprint,
        key=entry.key,
        category=entry.category,
        size=entry.size,
        timestamp=entry.timestamp,
        agent=entry.agent,
        handle=entry.handle,
    )


def packed(vector: Sequence[float]) -> bytes:
    """A vector's numbers as float32, little-endian."""
    return struct.pack(f"<{len(vector)}f", *vector)


def unpacked(data: bytes) -> list[float]:
    """The numbers of `packed`."""
    return list(struct.unpack(f"<{len(data) // 4}f", data[: len(data) // 4 * 4]))


def as_stored(data: bytes, distance: str) -> bytes:
    """A vector as Qdrant will hold it: of length 1 where the distance is Cosine, unless it is all zeros."""
    numbers = unpacked(data)
    square = math.fsum(number * number for number in numbers)
    if distance != "Cosine" or square < _ZERO or not math.isfinite(square) or abs(square - 1) <= _UNIT:
        return data
    length = math.sqrt(square)
    return packed([number / length for number in numbers])


def checked(row: StoredRow) -> StoredRow:
    """The same row. Raises Refused for text that no JSON can carry."""
    for value in row.values.values():
        if isinstance(value, str) and not is_unicode(value):
            raise Refused(
                f"The memory {one_line(str(row.values['key']))!r} is no Unicode text, and Qdrant takes nothing else.",
                hint="Nothing was stored.",
            )
    return row


def lost(row: StoredRow) -> list[str]:
    """The names of the capabilities a row of another store would need here."""
    if OTHERS in row.values:
        return []
    return [
        capability
        for name, capability in _CARRIED.items()
        if row.values.get(name) is not None and row.values[name] not in _USUAL.get(name, ())
    ]


def same(one: StoredRow, other: StoredRow) -> bool:
    """Whether two rows of this collection are one memory in one state, whatever the vector."""
    return all(one.values.get(name) == other.values.get(name) for name in _KNOWN - {"embedding"})


def needs_vector(row: StoredRow) -> bool:
    """Whether a row has to be embedded first. Raises Refused for one that has no text to embed."""
    if isinstance(row.values.get("embedding"), bytes):
        return False
    if not str(row.values["key"]).strip() and not str(row.values["content"]).strip():
        raise Refused(f"{NO_EMBEDDER}, and a memory without key and content has none.")
    return True
