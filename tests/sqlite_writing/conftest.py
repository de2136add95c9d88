"""Databases as ZeroClaw makes them, filled by plain statements."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from support import small_store


@pytest.fixture
def make_store(tmp_path: Path) -> Callable[..., Path]:
    """Make a database of a generation with these rows."""

    def make(rows: Iterable[dict[str, Any]] = (), generation: str = "G4", name: str = "brain.db") -> Path:
        return small_store.make(tmp_path / name, generation, rows)

    return make
