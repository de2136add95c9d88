"""The stand-in server answers as qdrant-client's local mode does: the same operations, the same results."""

from __future__ import annotations

import random
import uuid
from typing import Any

import httpx
import pytest
from qdrant_client import QdrantClient, models
from qdrant_world import KEY
from support.qdrant_server import QdrantServer

NAME = "both"
SIZE = 6
FILTERS: tuple[dict[str, Any], ...] = (
    {"must": [{"key": "category", "match": {"any": ["core", "daily"]}}]},
    {"must": [{"key": "category", "match": {"any": ["core"]}}, {"is_empty": {"key": "session_id"}}]},
    {"should": [{"key": "session_id", "match": {"any": ["s1"]}}, {"is_empty": {"key": "session_id"}}]},
    {"must": [{"should": [{"key": "session_id", "match": {"any": ["s2"]}}, {"is_empty": {"key": "session_id"}}]}]},
    {"must_not": [{"is_empty": {"key": "agent_id"}}]},
    {"must_not": [{"is_empty": {"key": "session_id"}}, {"key": "category", "match": {"any": ["core"]}}]},
    {"must": [{"has_id": [1, 7, "00000000-0000-0000-0000-000000000003"]}]},
    {"must": [{"has_id": []}]},
)


class Http:
    """The stand-in, by plain requests."""

    def __init__(self, server: QdrantServer) -> None:
        self._url = f"{server.base}/collections/{NAME}"
        self._client = httpx.Client(headers={"api-key": KEY})

    def ask(self, method: str, path: str, body: Any) -> Any:
        answer = self._client.request(method, f"{self._url}{path}", json=body)
        assert answer.status_code == 200, answer.text
        document = answer.json()
        assert (set(document), document["status"]) == ({"result", "status", "time"}, "ok")
        return document["result"]

    def close(self) -> None:
        self._client.close()


def some_points() -> list[dict[str, Any]]:
    numbers = random.Random(7)
    points: list[dict[str, Any]] = []
    for at in range(40):
        payload: dict[str, Any] = {
            "key": f"键 {at}", "content": f"content {at}", "category": ("core", "daily", "talk")[at % 3],
            "number": at % 5, "tags": ["a", "b", "c"][: at % 4],
        }  # fmt: skip
        if at % 4:
            payload["session_id"] = None if at % 4 == 1 else f"s{at % 3}"
        if at % 2:
            payload["agent_id"] = "ada"
        name: Any = at if at % 2 else str(uuid.UUID(int=at * 2**100 + 3 if at != 4 else 3))
        vector = [round(numbers.uniform(-1, 1), 4) for _ in range(SIZE)]
        points.append({"id": name, "payload": payload, "vector": vector})
    numbers.shuffle(points)
    return points


@pytest.fixture
def both(server):
    http, local = Http(server), QdrantClient(":memory:")
    http.ask("PUT", "", {"vectors": {"size": SIZE, "distance": "Cosine"}})
    local.create_collection(NAME, models.VectorParams(size=SIZE, distance=models.Distance.COSINE))
    points = some_points()
    http.ask("PUT", "/points?wait=true", {"points": points})
    local.upsert(NAME, [models.PointStruct(**point) for point in points])
    yield http, local
    http.close()
    local.close()


def scrolled(http: Http, condition: Any, limit: int) -> list[dict[str, Any]]:
    found, offset = [], None
    while True:
        body = {"limit": limit, "with_payload": True, "with_vector": True, "offset": offset}
        result = http.ask("POST", "/points/scroll", body | ({"filter": condition} if condition else {}))
        assert len(result["points"]) <= limit
        found += result["points"]
        offset = result["next_page_offset"]
        if offset is None:
            return found


def local_scrolled(local: QdrantClient, condition: Any, limit: int) -> list[models.Record]:
    found, offset = [], None
    wanted = models.Filter(**condition) if condition else None
    while True:
        page, offset = local.scroll(NAME, wanted, limit=limit, offset=offset, with_payload=True, with_vectors=True)
        found += page
        if offset is None:
            return found


def same(mine: list[dict[str, Any]], theirs: list[models.Record]) -> None:
    assert [record["id"] for record in mine] == [record.id for record in theirs]
    assert [record["payload"] for record in mine] == [record.payload for record in theirs]
    for record, other in zip(mine, theirs, strict=True):
        assert record["vector"] == pytest.approx(other.vector, abs=1e-6)


@pytest.mark.parametrize("condition", [None, *FILTERS], ids=range(len(FILTERS) + 1))
def test_filters_leave_the_same_points_in_the_same_order(both, condition):
    http, local = both
    mine = scrolled(http, condition, 7)
    same(mine, local_scrolled(local, condition, 7))
    counted = local.count(NAME, models.Filter(**condition) if condition else None, exact=True).count
    body = {"exact": True} | ({"filter": condition} if condition else {})
    assert http.ask("POST", "/points/count", body)["count"] == counted == len(mine)


@pytest.mark.parametrize("condition", [None, *FILTERS[:6]], ids=range(7))
def test_searches_give_the_same_scores(both, condition):
    http, local = both
    query = [0.3, -0.2, 0.9, 0.1, -0.5, 2.0]
    body = {"vector": query, "limit": 10, "with_payload": True} | ({"filter": condition} if condition else {})
    mine = http.ask("POST", "/points/search", body)
    wanted = models.Filter(**condition) if condition else None
    theirs = local.query_points(NAME, query, query_filter=wanted, limit=10, with_payload=True).points
    assert [hit["id"] for hit in mine] == [hit.id for hit in theirs]
    assert [hit["score"] for hit in mine] == pytest.approx([hit.score for hit in theirs], abs=1e-6)
    assert [hit["payload"] for hit in mine] == [hit.payload for hit in theirs]


def test_deleting_overwriting_and_new_vectors_leave_the_same_points(both):
    http, local = both
    http.ask("POST", "/points/delete?wait=true", {"points": [1, 3, str(uuid.UUID(int=3)), 999]})
    local.delete(NAME, models.PointIdsList(points=[1, 3, str(uuid.UUID(int=3)), 999]))
    point = {"id": 7, "payload": {"key": "seven"}, "vector": [1.0, 0, 0, 0, 0, 0]}
    http.ask("PUT", "/points?wait=true", {"points": [point]})
    local.upsert(NAME, [models.PointStruct(**point)])
    vectors = {"id": 9, "vector": [0.0, 3.0, 4.0, 0, 0, 0]}
    http.ask("PUT", "/points/vectors?wait=true", {"points": [vectors]})
    local.update_vectors(NAME, [models.PointVectors(**vectors)])
    same(scrolled(http, None, 100), local_scrolled(local, None, 100))
