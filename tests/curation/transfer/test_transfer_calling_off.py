"""An export that finds nothing for long ends when it is called off, and not only at the next memory it finds."""

from __future__ import annotations

import asyncio
import gc
import io
from pathlib import Path

import pytest
from support.small_store import make
from transfer_world import opened

from zeroclaw_tui.curation.export import export_memories
from zeroclaw_tui.memory.query import MemoryFilter

SLOW = MemoryFilter(regex="(a|aa)+$")
ROWS = [{"key": f"k{at}", "content": "a" * 20 + "b"} for at in range(400)]


@pytest.mark.parametrize("is_wanted", [True, False])
async def test_a_search_that_is_called_off_is_a_cancelled_export_only_where_nobody_wants_more(
    tmp_path: Path, is_wanted: bool
) -> None:
    left_behind: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: left_behind.append(context))
    async with opened(make(tmp_path / "brain.db", "G4", ROWS)) as library:
        export = export_memories(library, SLOW, io.BytesIO(), "jsonl", on_progress=lambda count: is_wanted)
        exporting = asyncio.create_task(export)
        await asyncio.sleep(0)
        exporting.cancel()
        await asyncio.wait([exporting], timeout=20)
        if is_wanted:
            assert exporting.cancelled()
        else:
            assert (exporting.result().cancelled, exporting.result().count) == (True, 0)
    gc.collect()
    assert left_behind == []
