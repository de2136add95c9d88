"""What every store of memories must do, as tests for our own backends and for those of plug-in authors.

In contract.py, MemoryContract reads a store that holds the samples, StoreContract writes to an empty one,
ReadOnlyContract is for one that refuses writes, and GoneContract for one that can go away. Plain pytest runs them:

    class Boxes:
        async def new_memory(self, folder):       # an empty store of its own for each test, not yet opened
            return ShoeBox(folder / "box.json")

    class TestReading(Boxes, MemoryContract): pass
    class TestWriting(Boxes, StoreContract): pass

Without `new_memory` each test is a coroutine that takes a fixture `memory`, an open store (pytest-asyncio runs it).
"""

from __future__ import annotations

import pytest

# A failure shows the values only in modules that pytest rewrites, and it must know before they are imported.
pytest.register_assert_rewrite(*(f"{__name__}.{name}" for name in ("contract", "tools")))
