"""A stand-in Qdrant on the loopback, in memory, with the part of the REST interface that a memory store needs.

It is tested against qdrant-client's local mode. Run as a program, it serves one collection and prints its port.
"""

from __future__ import annotations

import json
import re
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, Literal
from urllib.parse import unquote, urlsplit

from support.http_endpoints import Answer, BrokenOff, Handler, HttpEndpoint, always
from support.qdrant_points import PointId, PointStore, Wrong, checked_id

Mode = Literal["ok", "hangs", "garbage", "error", "breaks off"]
_PATH = re.compile(r"/collections/([^/]+)(/.*)?$")
_NO_KEY = b"Must provide an API key or an Authorization bearer token"


class QdrantServer:
    """The server, its collections and its faults; `requests` records the method, path and body of each request."""

    def __init__(self, api_key: str | None = None, read_only_key: str | None = None) -> None:
        self.api_key, self.read_only_key = api_key, read_only_key
        self.collections: dict[str, PointStore | dict[str, Any]] = {}
        self.mode: Mode = "ok"
        self.requests: list[tuple[str, str, Any]] = []
        self.points_sent = 0
        """How many points listings have returned so far."""
        self.before: Callable[[str, str], None] = lambda method, path: None
        """Called before each request is answered; may change the points, as another program would."""
        self.lock = threading.RLock()
        self._port = 0
        self._http: _Http | None = None

    @property
    def base(self) -> str:
        """The base URL."""
        return f"http://127.0.0.1:{self._port}"

    def add(self, name: str, size: int, distance: str = "Cosine") -> PointStore:
        """Create a collection."""
        made = self.collections[name] = PointStore(size, distance)
        return made

    def start(self) -> None:
        """Listen, on the same port as before."""
        self._http = _Http(self, self._port)
        self._port = self._http.server_address[1]
        self._thread = self._http.start()

    def stop(self) -> None:
        """Stop at once: close the port and every connection."""
        if self._http is not None:
            self._http.end(self._thread)
            self._http.hang_up()
        self._http = None

    def answer(self, method: str, path: str, asked: Any) -> Any:
        """Return the result of a request. Raises Wrong."""
        with self.lock:
            self.before(method, path)
            match = _PATH.match(path)
            if match is None:
                raise Wrong(404, "")
            name, below = unquote(match.group(1)), match.group(2) or ""
            if not below:
                return self._collection(method, name, asked)
            points = self._known(name)
            if not isinstance(points, PointStore):
                raise Wrong(400, "Wrong input: Not existing vector name error: ")
            result = _points(points, method, below, asked)
            message = result.get("points") if isinstance(result, dict) else result
            self.points_sent += len(message) if isinstance(message, list) else 0
            return result

    def _collection(self, method: str, name: str, asked: Any) -> Any:
        if method == "PUT":
            if name in self.collections:
                raise Wrong(409, f"Wrong input: Collection `{name}` already exists!")
            vectors = asked["vectors"]
            self.add(name, vectors["size"], vectors["distance"])
            return True
        known = self._known(name)
        vectors, number = known, 0
        if isinstance(known, PointStore):
            vectors, number = {"size": known.size, "distance": known.distance}, len(known.payloads)
        params = {"vectors": vectors, "shard_number": 1, "replication_factor": 1, "on_disk_payload": True}
        return {
            "status": "green",
            "optimizer_status": "ok",
            "points_count": number,
            "segments_count": 1,
            "config": {"params": params},
        }

    def _known(self, name: str) -> Any:
        if name not in self.collections:
            raise Wrong(404, f"Not found: Collection `{name}` doesn't exist!")
        return self.collections[name]


def _points(points: PointStore, method: str, below: str, asked: Any) -> Any:
    done = {"operation_id": 1, "status": "completed"}
    match (method, below):
        case ("PUT", "/points"):
            points.upsert(asked["points"])
            return done
        case ("PUT", "/points/vectors"):
            points.set_vectors(asked["points"])
            return done
        case ("POST", "/points/delete"):
            points.delete(map(checked_id, asked["points"]))
            return done
        case ("POST", "/points"):
            ids = [name for name in map(checked_id, asked["ids"]) if name in points.payloads]
            return [_record(points, name, asked, payload=True) for name in ids]
        case ("POST", "/points/count"):
            return {"count": len(points.matching_ids(asked.get("filter")))}
        case ("POST", "/points/scroll"):
            found, after = points.scroll(asked.get("filter"), _limit(asked, 10), asked.get("offset"))
            return {"points": [_record(points, name, asked, payload=True) for name in found], "next_page_offset": after}
        case ("POST", "/points/search"):
            near = points.search(asked["vector"], asked.get("filter"), _limit(asked, None))
            return [
                _record(points, name, asked, payload=False) | {"version": 1, "score": score} for name, score in near
            ]
        case _:
            raise Wrong(404, "")


def _limit(asked: Mapping[str, Any], usual: int | None) -> int:
    limit = asked.get("limit", usual)
    if not isinstance(limit, int):
        raise Wrong(400, "Format error in JSON body: missing field `limit`")
    if limit < 1:
        raise Wrong(422, f"Validation error in JSON body: [limit: value {limit} invalid, must be 1 or larger]")
    return limit


def _record(points: PointStore, name: PointId, asked: Mapping[str, Any], *, payload: bool) -> dict[str, Any]:
    record: dict[str, Any] = {"id": name}
    if asked.get("with_payload", payload):
        record["payload"] = points.payloads[name]
    if asked.get("with_vector"):
        record["vector"] = points.vectors[name].tolist()
    return record


class _Http(HttpEndpoint):
    def __init__(self, qdrant: QdrantServer, port: int) -> None:
        super().__init__(always(404, b""), port, _Handler)
        self._qdrant = qdrant
        self._connections: set[socket.socket] = set()

    def get_request(self) -> tuple[socket.socket, Any]:
        """Remember the connection, so that `hang_up` can close it."""
        connection, address = super().get_request()
        self._connections.add(connection)
        return connection, address

    def hang_up(self) -> None:
        """Close every connection."""
        for connection in self._connections:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def answer(self, method: str, path: str, headers: dict[str, str], asked: Any) -> Answer:
        qdrant, path_alone = self._qdrant, urlsplit(path).path
        refused = self._refused(method, path_alone, headers.get("api-key"))
        if refused is not None:
            return refused, _NO_KEY
        if qdrant.mode != "ok":
            return self._trouble(qdrant.mode)
        try:
            qdrant.requests.append((method, path, asked or {}))
            return 200, json.dumps({"result": qdrant.answer(method, path_alone, asked or {}), "status": "ok"}).encode()
        except Wrong as wrong:
            error = {"status": {"error": wrong.reason}}
            return wrong.status, json.dumps(error).encode() if wrong.reason else b""

    def _refused(self, method: str, path: str, key: str | None) -> int | None:
        if self._qdrant.api_key in (None, key):
            return None
        if key is None or key != self._qdrant.read_only_key:
            return 401
        return 403 if method == "PUT" or path.endswith("/points/delete") else None

    def _trouble(self, mode: Mode) -> Answer:
        match mode:
            case "hangs":
                self.ended.wait(30)
                return BrokenOff()
            case "garbage":
                return 200, b"<html>not here</html>"
            case "error":
                return 500, b'{"status": {"error": "Service internal error: disk"}}'
            case _:
                return BrokenOff(b'HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{"result": ')


class _Handler(Handler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1
    disable_nagle_algorithm = True


@contextmanager
def serving(api_key: str | None = None, read_only_key: str | None = None) -> Iterator[QdrantServer]:
    """Run a server without collections."""
    server = QdrantServer(api_key, read_only_key)
    server.start()
    try:
        yield server
    finally:
        server.stop()


if __name__ == "__main__":
    with serving() as running:
        print(urlsplit(running.base).port, flush=True)
        sys.stdin.read()
