"""Libraries on small stores of every kind, for the audit."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from support import small_store

from zeroclaw_tui.backends.in_memory import InMemory
from zeroclaw_tui.config.locations import Install
from zeroclaw_tui.config.memory_config import EmbeddingConfig, MemoryConfig
from zeroclaw_tui.curation.library import Library, open_library
from zeroclaw_tui.memory.entry import MemoryEntry

Opened = Callable[..., Awaitable[Library]]
STORES = ("G1", "G2", "G3", "G4", "in-memory")
AT = "2026-03-01T10:00:00.000000001+00:00"


@pytest.fixture
async def opened(tmp_path: Path) -> AsyncIterator[Opened]:
    """Open a store of a kind with these rows (columns by name, as `small_store.make` takes them)."""
    libraries: list[Library] = []

    async def open_one(kind: str, rows: Sequence[dict[str, Any]], dimensions: int = 0) -> Library:
        database = small_store.make(tmp_path / f"brain-{len(libraries)}.db", kind if kind != "in-memory" else "G4", [])
        if kind != "in-memory":
            small_store.add(database, rows)
        install = Install(None, tmp_path, database, "lone", "the path given", tmp_path / "own")
        embedding = EmbeddingConfig("local", "some-model", dimensions) if dimensions else EmbeddingConfig()
        library = await open_library(MemoryConfig(install, embedding=embedding))
        libraries.append(library)
        if kind == "in-memory":
            await library.memory.close()
            library.memory = InMemory(
                MemoryEntry(
                    id=row.get("id", f"id-{at:03d}"),
                    key=row.get("key", f"key{at}"),
                    content=row.get("content", "text"),
                    category=row.get("category", "core"),
                    timestamp=row.get("created_at", AT),
                    updated_at=row.get("updated_at", AT),
                    superseded_by=row.get("superseded_by"),
                    session_id=row.get("session_id"),
                    namespace=row.get("namespace"),
                    pinned=bool(row.get("pinned")),
                )
                for at, row in enumerate(rows)
            )
        return library

    yield open_one
    for library in libraries:
        await library.close()
