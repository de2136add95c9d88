"""Changes of memories through the trait's verbs, with and without its batch verbs."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from shoe_box import ShoeBox

from zeroclaw_tui.memory.change import Draft
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.query import ROWS, VERSIONS, MemoryFilter, Query
from zeroclaw_tui.testing.tools import JournalRecorder, create, delete, edit, fill, numbered, undo


class BatchBox(ShoeBox):
    """Has the trait's batch verbs too, as a plug-in may."""

    def __init__(self) -> None:
        self.batches: list[int] = []

    async def store_batch(self, entries: Sequence[tuple[str, str, str]]) -> None:
        self.batches.append(len(entries))
        for key, content, category in entries:
            await self.store(key, content, category)

    async def get_batch(self, keys: Sequence[str]) -> list[MemoryEntry]:
        wanted = {*keys}
        return [entry for entry in await self.list() if entry.key in wanted]


@pytest.fixture(autouse=True)
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "box.json"
    monkeypatch.setenv("SHOE_BOX", str(path))
    return path


def contents() -> dict[str, tuple[str, str, str | None]]:
    rows = json.loads(Path(os.environ["SHOE_BOX"]).read_text("utf-8"))
    return {key: (row["content"], row["category"], row["session_id"]) for key, row in rows.items()}


@pytest.mark.parametrize("kind", [ShoeBox, BatchBox])
async def test_every_change_is_written_and_undone(kind: type[ShoeBox]) -> None:
    memory, journal = kind(), JournalRecorder()
    for draft in (Draft("lang", "Rust", "core"), Draft("food", "soup", "daily", "s1"), Draft("pet", "cat")):
        await create(memory, draft)
    before = contents()
    lang, food = await memory.rows(Query(ROWS, keys=["lang", "food"]))
    await edit(memory, lang, {"content": "Zig", "session_id": "s2"}, journal)
    await edit(memory, food, {"key": "dinner"}, journal)
    await create(memory, Draft("pet", "dog"), journal, replace=True)
    await create(memory, Draft("new", "text"), journal)
    await delete(memory, await memory.rows(Query(VERSIONS, MemoryFilter(category=("core",)))), journal)
    assert contents() == {"dinner": ("soup", "daily", "s1")}
    result = await undo(memory, journal.changes[::-1])
    assert not result.skipped
    assert contents() == before


async def test_many_memories_are_stored_by_the_batch_verb() -> None:
    memory = BatchBox()
    await fill(memory, numbered(300))
    assert memory.batches == [250, 50]
    assert await memory.count() == 300
    await fill(memory, [Draft("with a session", "text", session_id="s1")])
    assert memory.batches == [250, 50]
    assert contents()["with a session"] == ("text", "core", "s1")
