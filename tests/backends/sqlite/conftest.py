"""Databases as ZeroClaw makes them, filled by plain statements."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from changed_stores import opened
from support import small_store


@pytest.fixture
def open_store() -> Callable[[Path], Any]:
    """An opened store as an async context manager."""
    return opened


@pytest.fixture
def make_store(tmp_path: Path) -> Callable[..., Path]:
    """Make a database of a generation with these rows."""

    def make(rows: Iterable[dict[str, Any]] = (), generation: str = "G4", name: str = "brain.db") -> Path:
        return small_store.make(tmp_path / name, generation, rows)

    return make


@pytest.fixture
def fill_store() -> Callable[[Path, Iterable[dict[str, Any]]], None]:
    """Insert rows into a database."""
    return small_store.add


@pytest.fixture
def digest() -> Callable[[Path], str]:
    """What changes when one byte of a file does."""
    return lambda path: hashlib.sha256(path.read_bytes()).hexdigest()
