"""Contract tests for stores: what every backend must do, for our own backends and those of plug-in authors.

In contract.py, MemoryContract reads a store with the samples, StoreContract writes to an empty store, ReadOnlyContract
tests a store that refuses writes, and GoneContract one that can become unavailable. Plain pytest runs them:

    class Boxes:
        async def new_memory(self, folder):       # a new, empty store for each test, not yet opened
            return ShoeBox(folder / "box.json")

    class TestReading(Boxes, MemoryContract): pass
    class TestWriting(Boxes, StoreContract): pass

Without `new_memory` each test is a coroutine with a fixture `memory`, an open store (run by pytest-asyncio).
"""

from __future__ import annotations

import pytest

# Failures show values only in modules that pytest rewrites, which must be registered before their import.
pytest.register_assert_rewrite(*(f"{__name__}.{name}" for name in ("contract", "tools")))
