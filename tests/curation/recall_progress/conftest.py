"""A store with vectors, and an embeddings service that behaves as a test wants it to."""

from __future__ import annotations

import pytest
from recall_progress_world import CONTENTS, Service
from support.http_endpoints import serving
from support.installs import make_install
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
    """An install whose config.toml a test writes."""
    rows = [
        {"key": f"row{at}", "content": content, "embedding": embed("dense:8", content).astype("<f4").tobytes()}
        for at, content in enumerate(CONTENTS)
    ]
    return make_install(tmp_path / "zc", "G4", rows).config_dir
