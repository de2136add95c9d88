"""A collection on the stand-in server, and a store that reads it with the built-in embedder."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from support.memories import MemoryEntry
from support.places import EmbeddingConfig
from support.qdrant_points import PointStore
from support.qdrant_server import QdrantServer
from support.stores import key_and_content

from zeroclaw_tui.backends.qdrant.client import parse_address
from zeroclaw_tui.backends.qdrant.store import QdrantMemory
from zeroclaw_tui.embeddings.local import LocalEmbedder, local_vector

NAME = "zeroclaw_memories"
KEY = "qd-Kx7vJ2mZ81pQ"
DIMENSIONS = 16


def embedder(dimensions: int = DIMENSIONS) -> LocalEmbedder:
    """Return the built-in embedder."""
    return LocalEmbedder(EmbeddingConfig("local", "local", dimensions))


def memory_of(server: QdrantServer, api_key: str = KEY, **options: Any) -> QdrantMemory:
    """Return a store on the collection, not yet open."""
    return QdrantMemory(parse_address(server.base, NAME), api_key, **({"embedder": embedder()} | options))


def point(entry: MemoryEntry, **more: Any) -> dict[str, Any]:
    """Return the point that ZeroClaw would have written for a memory."""
    payload: dict[str, Any] = {
        "key": entry.key, "content": entry.content, "category": entry.category, "timestamp": entry.timestamp,
    }  # fmt: skip
    if entry.session_id is not None:
        payload["session_id"] = entry.session_id
    vector = np.frombuffer(local_vector(key_and_content(entry.key, entry.content), DIMENSIONS), dtype="<f4").tolist()
    return {"id": entry.id, "payload": payload | more, "vector": vector}


def filled(server: QdrantServer, entries: Iterable[MemoryEntry], **more: Any) -> PointStore:
    """Create the collection with these memories."""
    points = server.add(NAME, DIMENSIONS)
    points.upsert([point(entry, **more) for entry in entries])
    return points
