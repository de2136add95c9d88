"""Libraries on small stores of their own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from support.small_store import blob, make

from zeroclaw_tui.config.locations import OpenOptions
from zeroclaw_tui.config.memory_config import EmbeddingConfig
from zeroclaw_tui.curation.candidates import configs_for
from zeroclaw_tui.curation.library import Library, open_library

ROWS: tuple[dict[str, Any], ...] = (
    {"key": "ramen", "content": "Likes ramen and rust coloured plates", "embedding": blob(1, 0, 0)},
    {"key": "noodles", "content": "Eats noodles twice a week", "embedding": blob(0.8, 0.6, 0)},
    {"key": "rust", "content": "Prefers Rust for command line tools", "embedding": blob(0, 1, 0)},
    {"key": "plain", "content": "Rust coloured curtains in the kitchen"},
    {"key": "other", "content": "A vector of another model", "embedding": blob(1, 0)},
    {"key": "old", "content": "Likes ramen", "embedding": blob(1, 0.1, 0), "superseded_by": "id-000"},
    {"key": "against", "content": "Points away", "embedding": blob(-1, 0, 0)},
)
Opens = Callable[..., Awaitable[Library]]


@pytest.fixture
async def opens(tmp_path: Path) -> AsyncIterator[Opens]:
    """Opens a database of these rows, with an embedding provider where one is named."""
    libraries: list[Library] = []

    async def opened(rows: tuple[dict[str, Any], ...] = ROWS, embedding: EmbeddingConfig | None = None) -> Library:
        path = make(tmp_path / f"{len(libraries)}.db", "G2", rows)
        config = configs_for(OpenOptions(path=path))[0]
        library = await open_library(config if embedding is None else config._replace(embedding=embedding))
        libraries.append(library)
        return library

    yield opened
    for library in libraries:
        await library.close()
