"""The stand-in server and qdrant-client's local mode give the same results for the same operations."""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable
from functools import partial
from typing import Any

import httpx
import pytest
from qdrant_client import QdrantClient, models
from qdrant_world import KEY

NAME = "both"
SIZE = 6
CONDITIONS: dict[str, dict[str, Any] | None] = {
    "all": None,
    "any of two": {"must": [{"key": "category", "match": {"any": ["core", "daily"]}}]},
    "both": {"must": [{"key": "category", "match": {"any": ["core"]}}, {"is_empty": {"key": "session_id"}}]},
    "either": {"should": [{"key": "session_id", "match": {"any": ["s1"]}}, {"is_empty": {"key": "session_id"}}]},
    "nested": {
        "must": [{"should": [{"key": "session_id", "match": {"any": ["s2"]}}, {"is_empty": {"key": "session_id"}}]}]
    },
    "not empty": {"must_not": [{"is_empty": {"key": "agent_id"}}]},
    "neither": {"must_not": [{"is_empty": {"key": "session_id"}}, {"key": "category", "match": {"any": ["core"]}}]},
    "ids": {"must": [{"has_id": [1, 7, "00000000-0000-0000-0000-000000000003"]}]},
    "no ids": {"must": [{"has_id": []}]},
}
Ask = Callable[[str, str, Any], Any]


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
    """The stand-in (by plain requests) and the client's local mode, with the same points."""
    with httpx.Client(headers={"api-key": KEY}) as client:

        def ask(method, path, body):
            answer = client.request(method, f"{server.base}/collections/{NAME}{path}", json=body)
            assert (answer.status_code, answer.json()["status"]) == (200, "ok"), answer.text
            return answer.json()["result"]

        local = QdrantClient(":memory:")
        ask("PUT", "", {"vectors": {"size": SIZE, "distance": "Cosine"}})
        local.create_collection(NAME, models.VectorParams(size=SIZE, distance=models.Distance.COSINE))
        ask("PUT", "/points?wait=true", {"points": some_points()})
        local.upsert(NAME, [models.PointStruct(**point) for point in some_points()])
        yield ask, local
        local.close()


def assert_same_points(ask: Ask, local: QdrantClient, condition: dict[str, Any] | None) -> int:
    """Scroll both through the points of a condition in small pages; return their number."""
    wanted = models.Filter(**condition) if condition else None
    body = {"limit": 7, "with_payload": True, "with_vector": True, **({"filter": condition} if condition else {})}
    scroll = partial(local.scroll, NAME, wanted, limit=7, with_payload=True, with_vectors=True)
    offset, count = None, 0
    while True:
        page = ask("POST", "/points/scroll", body | {"offset": offset})
        records, local_offset = scroll(offset=offset)
        assert [(one["id"], one["payload"]) for one in page["points"]] == [(one.id, one.payload) for one in records]
        for one, other in zip(page["points"], records, strict=True):
            assert one["vector"] == pytest.approx(other.vector, abs=1e-6)
        count += len(records)
        offset = page["next_page_offset"]
        assert offset == local_offset
        if offset is None:
            return count


@pytest.mark.parametrize("condition", CONDITIONS.values(), ids=CONDITIONS)
def test_filters_select_the_same_points_and_searches_give_the_same_scores(both, condition):
    ask, local = both
    count, wanted = assert_same_points(ask, local, condition), models.Filter(**condition) if condition else None
    chosen, query = {"filter": condition} if condition else {}, [0.3, -0.2, 0.9, 0.1, -0.5, 2.0]
    counted = local.count(NAME, wanted, exact=True).count
    assert ask("POST", "/points/count", {"exact": True} | chosen)["count"] == counted == count
    ours = ask("POST", "/points/search", {"vector": query, "limit": 10, "with_payload": True} | chosen)
    theirs = local.query_points(NAME, query, query_filter=wanted, limit=10, with_payload=True).points
    assert [(hit["id"], hit["payload"]) for hit in ours] == [(hit.id, hit.payload) for hit in theirs]
    assert [hit["score"] for hit in ours] == pytest.approx([hit.score for hit in theirs], abs=1e-6)


def test_deleting_overwriting_and_new_vectors_leave_the_same_points(both):
    ask, local = both
    ids = [1, 3, str(uuid.UUID(int=3)), 999]
    ask("POST", "/points/delete?wait=true", {"points": ids})
    local.delete(NAME, models.PointIdsList(points=ids))
    point = {"id": 7, "payload": {"key": "seven"}, "vector": [1.0, 0, 0, 0, 0, 0]}
    ask("PUT", "/points?wait=true", {"points": [point]})
    local.upsert(NAME, [models.PointStruct(**point)])
    vectors = {"id": 9, "vector": [0.0, 3.0, 4.0, 0, 0, 0]}
    ask("PUT", "/points/vectors?wait=true", {"points": [vectors]})
    local.update_vectors(NAME, [models.PointVectors(**vectors)])
    assert_same_points(ask, local, None)
