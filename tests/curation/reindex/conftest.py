"""Stores without vectors, an embeddings service on the loopback, and a clock that nobody waits for."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from support import small_store
from support.http_endpoints import Answer, serving
from support.slept_clock import Clock
from support.test_embedder import embed

from zeroclaw_tui.config.locations import OpenOptions
from zeroclaw_tui.curation.config_choice import configs_for
from zeroclaw_tui.curation.library import Library, open_library

ROWS = 40
OpenStore = Callable[[str], AbstractAsyncContextManager[Library]]


class Service:
    """Answers with the test embedder's vectors; `trouble` may answer first, and `asked` keeps the texts."""

    def __init__(self) -> None:
        self.asked: list[list[str]] = []
        self.trouble: Callable[[list[str]], Answer | None] = lambda texts: None

    def __call__(self, path: str, headers: Mapping[str, str], asked: Any) -> Answer:
        texts = asked["input"]
        self.asked.append(texts)
        answer = self.trouble(texts)
        if answer is not None:
            return answer
        vectors = [{"index": at, "embedding": embed("dense:8", text).tolist()} for at, text in enumerate(texts)]
        return 200, json.dumps({"data": vectors[::-1]}).encode()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def service() -> Service:
    return Service()


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """Forty memories; the first has a right vector, the second a wrong one, the third no text."""
    path = tmp_path / "zc" / "data" / "memory" / "brain.db"
    path.parent.mkdir(parents=True)
    rows: list[dict[str, Any]] = [{"content": f"text number {at}"} for at in range(ROWS)]
    rows[0]["embedding"] = embed("dense:8", "text number 0").astype("<f4").tobytes()
    rows[1]["embedding"] = small_store.blob(1, 2, 3)
    rows[2]["content"] = "  "
    return small_store.make(path, "G4", rows)


@pytest.fixture
def open_store(database: Path) -> OpenStore:
    """Opens it with an embeddings service at an address."""

    @asynccontextmanager
    async def opened(base: str, model: str = "dense") -> AsyncIterator[Library]:
        folder = database.parent.parent.parent
        provider = f'embedding_provider = "{base}"\nembedding_model = "{model}"\nembedding_dimensions = 8\n'
        (folder / "config.toml").write_text(f'schema_version = 3\n[memory]\nbackend = "sqlite"\n{provider}')
        config = configs_for(OpenOptions(config_dir=folder), {"HOME": str(folder)})[0]
        library = await open_library(config)
        try:
            yield library
        finally:
            await library.close()

    return opened


@pytest.fixture
async def library(service: Service, open_store: OpenStore) -> AsyncIterator[Library]:
    """The store, opened with that service."""
    with serving(service) as endpoint:
        async with open_store(f"custom:{endpoint.base}") as library:
            yield library
