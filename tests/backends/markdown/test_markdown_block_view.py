"""With blocks asked for, every listing shows them; they are removed as their lines, and edited not at all."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zeroclaw_tui.backends.markdown.files import parse
from zeroclaw_tui.backends.markdown.store import MarkdownMemory
from zeroclaw_tui.memory.change import Edit
from zeroclaw_tui.memory.errors import NotFound, Refused
from zeroclaw_tui.memory.query import MemoryFilter, Sort, SortField
from zeroclaw_tui.testing.tools import Kept

BLOCKS = MemoryFilter(blocks=True)
CORE = """---
title: notes
---
# Long-Term Memory

- **lang**: Prefers Rust
  - and Python
  for plots
- plain

## Projects

A paragraph about
the Rust crate.

| tool | use |
|------|-----|
| uv   | all |

```sh
# not read by ZeroClaw
make
```
"""
DAY = "# Daily Log\r\n\r\n- morning\r\n  walk\r\n"


async def opened(root: Path, core: str = CORE) -> MarkdownMemory:
    (root / "memory").mkdir()
    (root / "MEMORY.md").write_text(core, "utf-8", newline="")
    (root / "memory" / "2026-03-01-walk.md").write_text(DAY, "utf-8", newline="")
    memory = MarkdownMemory(root)
    await memory.open()
    return memory


async def test_a_listing_of_blocks_names_each_and_shows_it_as_it_stands(tmp_path: Path) -> None:
    memory = await opened(tmp_path)
    assert memory.capabilities.blocks
    rows = await memory.rows(await memory.order(BLOCKS, Sort()))
    assert [(row.id, row.key, row.content.split("\n")[0], row.category, row.timestamp) for row in rows] == [
        ("MEMORY:0-2", "MEMORY:0-2", "---", "core", "MEMORY"),
        ("MEMORY:3-5", "lang", "- **lang**: Prefers Rust", "core", "MEMORY"),
        ("MEMORY:6-6", "Long-Term Memory", "- plain", "core", "MEMORY"),
        ("MEMORY:7-8", "Long-Term Memory › Projects", "A paragraph about", "core", "MEMORY"),
        ("MEMORY:9-11", "Long-Term Memory › Projects", "| tool | use |", "core", "MEMORY"),
        ("MEMORY:12-14", "Long-Term Memory › Projects", "```sh", "core", "MEMORY"),
        ("2026-03-01-walk:0-1", "Daily Log", "- morning", "daily", "2026-03-01-walk"),
    ]
    assert rows[1].content == "- **lang**: Prefers Rust\n  - and Python\n  for plots"
    assert rows[-1].content == "- morning\n  walk"
    assert [row.size for row in rows] == [len(row.content.encode()) for row in rows]
    assert all(row.handle == row.id for row in rows)


async def test_the_lines_stay_what_zeroclaw_reads_and_no_id_means_two_things(tmp_path: Path) -> None:
    memory = await opened(tmp_path)
    lines = await memory.order(MemoryFilter(), Sort())
    blocks = await memory.order(BLOCKS, Sort())
    assert len(lines) == await memory.count() == 17
    assert not set(lines) & set(blocks)
    for handle in (*lines, *blocks):
        assert (await memory.whole(handle)).handle == handle
        assert (await memory.with_id(str(handle))) == await memory.whole(handle)


async def test_filters_facets_pages_and_orders_are_those_of_the_blocks(tmp_path: Path) -> None:
    memory = await opened(tmp_path)
    found = await memory.order(BLOCKS.but(contains="RUST"), Sort())
    assert list(found) == ["MEMORY:3-5", "MEMORY:7-8"]
    assert (await memory.facets(BLOCKS, "2026-11-21T12:00:00Z")).category == {"core": 6, "daily": 1}
    assert (await memory.statistics(BLOCKS)).total == 7
    for field in SortField:
        for descending in (True, False):
            order = list(await memory.order(BLOCKS, Sort(field, descending)))
            first = await memory.page(BLOCKS, Sort(field, descending), None, 4)
            second = await memory.page(BLOCKS, Sort(field, descending), first.next, 4)
            assert [entry.handle for entry in (*first.entries, *second.entries)] == order
            assert second.next is None


async def test_a_block_is_removed_as_its_lines_and_comes_back_at_once(tmp_path: Path) -> None:
    memory = await opened(tmp_path)
    stamps = await memory.stamps_of(["MEMORY:3-5", "MEMORY:9-11"])
    assert [stamp.id for stamp in stamps] == [f"MEMORY:{number}" for number in (3, 4, 5, 9, 10, 11)]
    kept = Kept()
    assert (await memory.remove(stamps, kept)).removed == 6
    now = (tmp_path / "MEMORY.md").read_text()
    assert "lang" not in now
    assert "tool" not in now
    assert "- plain" in now
    assert (await memory.revert(kept.last_first, Kept())).reverted == 6
    assert (tmp_path / "MEMORY.md").read_text() == CORE


async def test_stamps_and_a_pass_of_a_block_filter_are_the_lines_of_those_blocks(tmp_path: Path) -> None:
    memory = await opened(tmp_path)
    wanted = BLOCKS.but(contains="prefers rust")
    ids = ["MEMORY:3", "MEMORY:4", "MEMORY:5"]
    assert [stamp.id for stamp in await memory.stamps(wanted)] == ids
    seen: list[str] = []
    await memory.each_row(lambda row: seen.append(row.id), wanted)
    assert seen == ids


async def test_a_block_cannot_be_edited_and_the_reason_is_told(tmp_path: Path) -> None:
    memory = await opened(tmp_path)
    for deed in (
        memory.stored("MEMORY:3-5"),
        memory.stored_of(["MEMORY:3-5"]),
        memory.update("MEMORY:3-5", Edit({"content": "x"}), "state", Kept()),
    ):
        with pytest.raises(Refused, match="a memory for each of its lines"):
            await deed
    assert (tmp_path / "MEMORY.md").read_text() == CORE


async def test_a_block_of_a_file_that_was_written_meanwhile_is_gone(tmp_path: Path) -> None:
    memory = await opened(tmp_path)
    (tmp_path / "MEMORY.md").write_text("- other\n")
    assert await memory.stamps_of(["MEMORY:3-5"]) == []
    assert await memory.rows(["MEMORY:3-5"]) == []
    with pytest.raises(NotFound):
        await memory.whole("MEMORY:3-5")


async def test_a_fence_nothing_closes_is_told_and_no_fault_of_the_files(tmp_path: Path) -> None:
    memory = await opened(tmp_path, "- one\n```\ncode\n\n- two\n")
    assert memory.notices == (
        "Nothing closes the code fence in line 2 of MEMORY.md: as a block it goes on to the end of the file.",
    )
    health = await memory.health()
    assert (health.ok, health.findings) == (True, memory.notices)
    assert list(await memory.order(BLOCKS.but(category=("core",)), Sort())) == ["MEMORY:0-0", "MEMORY:1-3"]


@given(st.text(st.sampled_from("-*#`|> \t\r\nab\ufeff\u3000\ud800"), max_size=120))
def test_the_blocks_of_any_file_hold_its_memories_once_each(text: str) -> None:
    parsed = parse(text)
    ranges = [(parsed.before[block.first], parsed.before[block.behind]) for block in parsed.blocks]
    held = [number for first, behind in ranges for number in range(first, behind)]
    assert held == list(range(len(parsed.contents)))


async def test_the_loop_goes_on_while_a_big_file_is_read(tmp_path: Path) -> None:
    line = "- a note of some words, as people write them, and some more\n  - nested\n"
    core = "# H\n" + line * 4500 + "word " * 2270 + "\n"
    memory = MarkdownMemory(tmp_path)
    (tmp_path / "MEMORY.md").write_text(core)
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            ticks += 1
            await asyncio.sleep(0)

    ticking = asyncio.ensure_future(tick())
    await memory.open()
    ticking.cancel()
    assert ticks > 3
    assert len(core) > 300_000
    assert await memory.count() == 9001
    assert len(await memory.order(BLOCKS, Sort())) == 4500
