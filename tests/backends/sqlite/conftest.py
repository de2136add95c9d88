"""Databases as ZeroClaw makes them, filled by plain statements."""

from __future__ import annotations

import hashlib

import pytest
from support import small_store


@pytest.fixture
def make_store(tmp_path):
    """Make a database of a generation with these rows."""

    def make(rows=(), generation="G4", name="brain.db"):
        return small_store.make(tmp_path / name, generation, rows)

    return make


@pytest.fixture
def digest():
    """What changes when one byte of a file does."""
    return lambda path: hashlib.sha256(path.read_bytes()).hexdigest()
