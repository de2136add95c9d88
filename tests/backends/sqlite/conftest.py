"""Databases as ZeroClaw creates them, filled with plain SQL."""

from __future__ import annotations

import hashlib

import pytest
from support import small_store


@pytest.fixture
def make_store(tmp_path):
    """Create a database of a generation with these rows."""

    def make(rows=(), generation="G4", name="brain.db"):
        return small_store.make(tmp_path / name, generation, rows)

    return make


@pytest.fixture
def digest():
    """Return a hash of a file, to detect any changed byte."""
    return lambda path: hashlib.sha256(path.read_bytes()).hexdigest()
