"""Requests to one Qdrant collection: each has a time limit, can be cancelled, and fails in one sentence."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from zeroclaw_tui.backends.qdrant import troubles
from zeroclaw_tui.backends.qdrant.address import Address
from zeroclaw_tui.memory.errors import NothingYet, NotReachable

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
        document = troubles.document_of(response)
        if response.status_code == NOT_FOUND and troubles.reason_of(document):
            raise NothingYet(
                f"Qdrant at {self.address.place} has no collection {self.address.collection} yet.",
                hint="ZeroClaw makes it at its first start with an embedding provider.",
            )
        result = troubles.result_of(response, self.address.place, has_key=bool(self._key), document=document)
        return self.table(result)

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
        """Let go of connections."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    def table(self, result: Any) -> dict[str, Any]:
        """A result that has to be an object. Raises NotReachable."""
        if not isinstance(result, dict):
            raise troubles.not_qdrant(self.address.place)
        return result

    def points(self, result: Any) -> list[Point]:
        """A result that has to be a list of points. Raises NotReachable."""
        if not isinstance(result, list) or not all(isinstance(point, dict) and "id" in point for point in result):
            raise troubles.not_qdrant(self.address.place)
        return result

    async def _asked(self, method: str, path: str, body: bytes | None) -> tuple[Any, int]:
        response = await self._sent(method, f"{self.address.path}{path}", body)
        size = len(response.content)
        document = await asyncio.to_thread(troubles.document_of, response) if size > _INLINE else None
        if response.status_code == NOT_FOUND and troubles.reason_of(troubles.document_of(response)):
            raise NotReachable(
                f"The collection {self.address.collection} is no longer there.", hint="Somebody deleted it meanwhile."
            )
        place = self.address.place
        result = troubles.result_of(response, place, has_key=bool(self._key), document=document)
        self._has_answered = True
        return result, size

    async def _sent(self, method: str, path: str, body: bytes | None = None) -> httpx.Response:
        import httpx

        base, place = self.address.base, self.address.place
        try:
            async with asyncio.timeout(self._seconds):
                return await self._open().request(method, f"{base}{path}", content=body)
        except (TimeoutError, httpx.TimeoutException):
            raise troubles.hangs(place, self._seconds) from None
        except (httpx.HTTPError, httpx.InvalidURL, ValueError, ImportError) as error:
            raise troubles.unreachable(error, base, place, has_answered=self._has_answered) from None

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
