"""A stand-in Qdrant without TLS for each test."""

from __future__ import annotations

import pytest
from qdrant_world import KEY
from support.http_endpoints import self_signed
from support.qdrant_server import serving


@pytest.fixture(scope="session")
def local_authority(tmp_path_factory):
    return self_signed(tmp_path_factory.mktemp("authority"))[0]


@pytest.fixture(autouse=True)
def trust_one_authority(local_authority, monkeypatch):
    """Load one certificate, since loading those of all authorities takes longer than most tests."""
    monkeypatch.setenv("SSL_CERT_FILE", str(local_authority))


@pytest.fixture
def server():
    with serving(KEY, "read-only-Wq93xLm20Zt") as running:
        yield running
