"""The vector stage of a store that other programs write to."""

from __future__ import annotations

import asyncio
import hashlib
from functools import partial
from typing import Any

import numpy as np
import pytest
from changed_stores import opened
from support import recalls
from support.memories import SearchInterrupted
from support.opened import opened_memory
from support.recalls import keys
from support.small_store import add, blob, change, make
from support.stores import SqliteMemory

EAST = np.array([1, 0], dtype=np.float32)
ROWS = [
    {"embedding": blob(1, 0)}, {"embedding": blob(1, 1), "session_id": "s"},
    {"embedding": blob(1, 3), "category": "daily"}, {"embedding": blob(-1, 0)}, {"embedding": None},
]  # fmt: skip


@pytest.fixture
def path(tmp_path):
    return make(tmp_path / "brain.db", "G4", ROWS)


@pytest.fixture
async def memory(path, opening):
    return await opening(SqliteMemory(path))


recalled = partial(recalls.recalled, query="zzz", vector=EAST)


async def test_rows_written_after_the_first_recall_are_found(path, memory):
    await recalled(memory)
    add(path, [{"embedding": blob(2, 0.1)}], start=5)
    assert keys(await recalled(memory)) == ["key0", "key5", "key1", "key2"]
    change(path, "UPDATE memories SET embedding = ?, updated_at = 'later' WHERE key = 'key3'", [blob(5, 0)])
    assert keys(await recalled(memory))[:2] == ["key0", "key3"]
    change(path, "DELETE FROM memories WHERE key = 'key0'")
    assert keys(await recalled(memory))[:2] == ["key3", "key5"]
    add(path, [{"rowid": 1, "embedding": blob(9, 0)}], start=40)
    assert keys(await recalled(memory))[:2] == ["key40", "key3"]
    change(path, "UPDATE memories SET embedding = NULL, updated_at = 'last' WHERE key = 'key40'")
    assert keys(await recalled(memory))[0] == "key3"


async def test_a_row_superseded_after_the_first_recall_is_not_recalled(path, memory):
    # In a store with many more rows only the results are read, each once.
    add(path, [{"rowid": 1000, "embedding": None}], start=5)
    assert keys(await recalled(memory)) == keys(await recalled(memory)) == ["key0", "key1", "key2"]
    change(path, "UPDATE memories SET superseded_by = 'key1' WHERE key = 'key0'")
    assert keys(await recalled(memory)) == ["key1", "key2"]


async def test_vectors_of_another_length_have_no_score(path, memory):
    add(path, [{"embedding": blob(1, 0, 0)}, {"embedding": b"abc"}, {"embedding": b""}], start=5)
    assert keys(await recalled(memory)) == ["key0", "key1", "key2"]
    assert keys(await recalled(memory, vector=np.array([1, 0, 0], dtype=np.float32))) == ["key5"]


@pytest.mark.parametrize("parts", [{}, {"session_id": "s"}, {"agents": ("default", "scout")}, {"limit": 1000}])
async def test_the_first_recall_from_the_file_equals_later_ones_from_memory(tmp_path, parts):
    rows: list[dict[str, Any]] = [
        {
            "embedding": blob(1, at % 23) if at % 9 else blob(1, 0, at),
            "session_id": "s" if at % 3 else None,
            "agent": ("default", "scout", "other")[at % 3],
        }
        for at in range(700)
    ]
    path = make(tmp_path / "brain.db", "G4", rows)
    for version in ("0.8.3", "0.8.4"):
        async with opened(path) as memory:
            first, second, third = [await recalled(memory, version=version, **parts) for _ in range(3)]
        assert first.entries == second.entries == third.entries
        assert first.entries


async def test_cached_vectors_are_found_by_the_hash_of_the_text(path, memory):
    text = "User prefers Rust"
    content_hash = hashlib.sha256(text.encode()).hexdigest()[:16]
    assert content_hash == "f9e90cddae32507e"
    assert await memory.cached_vector(text) is None
    change(path, "INSERT INTO embedding_cache VALUES (?, ?, 'then', 'then')", [content_hash, blob(0.6, 0.8)])
    vector = await memory.cached_vector(text)
    assert vector.tolist() == np.array([0.6, 0.8], dtype=np.float32).tolist()
    assert await memory.cached_vector("\ud800") is None


async def test_closing_the_store_ends_searches_and_loading(tmp_path):
    rows = ({"content": f"rust {at % 97} word{at}", "embedding": blob(at, 1)} for at in range(4_000))
    async with opened_memory(SqliteMemory(make(tmp_path / "brain.db", "G4", rows))) as memory:
        waiting = asyncio.ensure_future(recalled(memory, query="rust"))
        await asyncio.sleep(0)
    with pytest.raises(SearchInterrupted):
        await waiting
