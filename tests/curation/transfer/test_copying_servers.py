"""`copy` to and from Qdrant and Redis: what they make of vectors, and what else their documents hold."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from copying_world import contents, copied, install_in, opened, planned
from support.qdrant_points import PointStore
from support.qdrant_server import QdrantServer, serving
from support.redis_server import running_redis
from support.small_store import blob

from zeroclaw_tui.backends.lookup import row_with_id
from zeroclaw_tui.curation import changes
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.embeddings.local import local_vector
from zeroclaw_tui.memory.errors import Refused

ROWS = [
    {
        "key": f"key{at}",
        "content": f"text {at}\nof — lines 花生",
        "category": ("core", "daily", "recipes")[at % 3],
        "session_id": "s1" if at == 1 else None,
        "embedding": blob(1, at, 2) if at == 2 else None,
        "created_at": f"2026-03-0{at + 1}T10:00:00.123456789+00:00",
    }
    for at in range(6)
]
TEXTS = {str(row["key"]): str(row["content"]) for row in ROWS}
DIMENSIONS = 16
EMBEDDING = f'embedding_provider = "local"\nembedding_dimensions = {DIMENSIONS}\n'


@pytest.fixture
def qdrant() -> Iterator[QdrantServer]:
    with serving() as running:
        yield running


def with_embedder(folder: Path) -> None:
    config = folder / "zc" / "config.toml"
    config.write_text(config.read_text() + EMBEDDING)


async def test_to_qdrant_each_memory_is_embedded_with_its_key_and_undo_empties_it(
    qdrant: QdrantServer, tmp_path: Path
) -> None:
    install_in(tmp_path, ROWS)
    with_embedder(tmp_path)
    async with opened(tmp_path) as library:
        plan = await planned(library, "qdrant", qdrant.base)
        assert plan.new == 6
        assert plan.makes is not None
        assert plan.notes == ("Qdrant drops or changes: time of change (6), vector (1).",)
        outcome = await copied(library, "qdrant", qdrant.base)
        assert (outcome.count, outcome.verified, outcome.differs) == (6, 6, 0)
        assert (await copied(library, "qdrant", qdrant.base)).count == 0
    async with opened(tmp_path, "qdrant", qdrant.base) as target:
        row = await row_with_id(target.memory, (await target.memory.list())[0].id)
        assert row is not None
        assert row.values["embedding"] == local_vector(f"{row.values['key']}\n{row.values['content']}", DIMENSIONS)
        back = tmp_path / "back.db"
        assert (await copied(target, "sqlite", back)).verified == 6
        assert contents(back) == TEXTS
        assert (await planned(target, "qdrant", f"{qdrant.base}/collections/other")).notes == ()
        await check_payload(qdrant, target, tmp_path / "other.db")
        assert (await changes.undo(target)).count == 6
        assert await target.memory.count() == 0


async def check_payload(qdrant: QdrantServer, target: Library, other: Path) -> None:
    """What is in a payload next to a memory goes along to Qdrant, and is named by its own name where it cannot."""
    points = qdrant.collections["zeroclaw_memories"]
    assert isinstance(points, PointStore)
    name, payload = next(iter(points.payloads.items()))
    points.payloads[name] = {**payload, "colour": "red", "marks": [1, {"a": None}]}
    place = f"{qdrant.base}/collections/coloured"
    assert (await planned(target, "qdrant", place)).notes == ()
    assert (await copied(target, "qdrant", place)).verified == 6
    copies = qdrant.collections["coloured"]
    assert isinstance(copies, PointStore)
    assert copies.payloads[name] == points.payloads[name]
    (lost,) = (await planned(target, "sqlite", other)).notes
    assert "colour (1)" in lost
    assert "marks (1)" in lost
    points.payloads[name] = payload


async def test_to_qdrant_nothing_is_copied_without_an_embedder(qdrant: QdrantServer, tmp_path: Path) -> None:
    install_in(tmp_path, ROWS)
    async with opened(tmp_path) as library:
        with pytest.raises(Refused):
            await planned(library, "qdrant", qdrant.base)


async def test_overwriting_replaces_a_document_of_redis_and_its_further_fields_stay(tmp_path: Path) -> None:
    install_in(tmp_path, ROWS)
    with running_redis() as server:
        memory = '{"id":"i","key":"key0","content":"old","category":"Core","timestamp":"2026-01-01","tags":[7]}'
        server.say(f"SET memory:key0 '{memory}'")
        async with opened(tmp_path) as library:
            outcome = await copied(library, "redis", server.url(), "overwrite")
        assert (outcome.count, outcome.verified, outcome.differs) == (6, 6, 0)
        stored = server.say("GET memory:key0")
        async with opened(tmp_path, "redis", server.url()) as target:
            assert (await planned(target, "redis", server.url(1))).notes == ()
            assert "tags (1)" in (await planned(target, "sqlite", tmp_path / "other.db")).notes[0]
    assert b'"content":"text 0' in stored
    assert b'"tags":[7]' in stored
