"""A store with vectors, and an embeddings service that behaves as a test wants it to."""

from __future__ import annotations

import pytest
from recall_progress_world import CONTENTS, Service
from support import small_store
from support.http_endpoints import serving
from support.test_embedder import embed


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch):
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture
def service():
    made = Service()
    yield made
    made.may_answer.set()


@pytest.fixture
def endpoint(service):
    with serving(service) as running:
        yield running
        service.may_answer.set()


@pytest.fixture
def folder(tmp_path):
    """An install without its config.toml."""
    path = tmp_path / "zc" / "data" / "memory" / "brain.db"
    path.parent.mkdir(parents=True)
    rows = [
        {"key": f"row{at}", "content": content, "embedding": embed("dense:8", content).astype("<f4").tobytes()}
        for at, content in enumerate(CONTENTS)
    ]
    small_store.make(path, "G4", rows)
    return tmp_path / "zc"
