"""A stand-in Qdrant for each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from qdrant_world import KEY
from support.qdrant_server import QdrantServer, serving


@pytest.fixture
def server() -> Iterator[QdrantServer]:
    with serving(KEY, "read-only-Wq93xLm20Zt") as running:
        yield running
