"""A stand-in Qdrant for each test, to which nobody speaks over TLS."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from qdrant_world import KEY
from support.http_endpoints import self_signed
from support.qdrant_server import QdrantServer, serving


@pytest.fixture(scope="session")
def only_authority(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return self_signed(tmp_path_factory.mktemp("authority"))[0]


@pytest.fixture(autouse=True)
def one_authority(only_authority: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each client reads the certificates of all authorities, which takes longer than most of the tests."""
    monkeypatch.setenv("SSL_CERT_FILE", str(only_authority))


@pytest.fixture
def server() -> Iterator[QdrantServer]:
    with serving(KEY, "read-only-Wq93xLm20Zt") as running:
        yield running
