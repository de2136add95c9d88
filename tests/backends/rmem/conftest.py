"""Fixtures that open databases of R-Mem."""

from __future__ import annotations

import pytest
from support.rmem_file import create_milas_store

from zeroclaw_tui.backends.rmem import RMemMemory


@pytest.fixture
def file(tmp_path):
    """Mila's memories in the tables of 0.3.0."""
    return create_milas_store(tmp_path / "rustmem.db")


@pytest.fixture
async def opened(opening):
    """Open the store of a file."""
    return lambda file: opening(RMemMemory(file.path))


@pytest.fixture
async def memory(file, opened):
    """The store of Mila's memories."""
    return await opened(file)
