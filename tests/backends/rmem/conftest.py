"""Open stores on databases of R-Mem."""

from __future__ import annotations

import pytest
from support.rmem_file import mila

from zeroclaw_tui.backends.rmem import RMemMemory


@pytest.fixture
def file(tmp_path):
    """Mila's memories in the tables of 0.3.0."""
    return mila(tmp_path / "rustmem.db")


@pytest.fixture
async def opened():
    """Opens the store of a file, and closes it after the test."""
    memories: list[RMemMemory] = []

    async def open_file(file):
        memory = RMemMemory(file.path)
        await memory.open()
        memories.append(memory)
        return memory

    yield open_file
    for memory in memories:
        await memory.close()


@pytest.fixture
async def memory(file, opened):
    """The store of Mila's memories."""
    return await opened(file)
