"""Markdown memory passes the store contract: reading, writing, concurrent writing and read-only."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import pytest
from support.engine_contract import ConcurrencyContract, EngineContract
from support.memories import sample_entries
from support.stores import Memory

from zeroclaw_tui.backends.markdown.store import MarkdownMemory
from zeroclaw_tui.testing.contract import MemoryContract, ReadOnlyContract, StoreContract


class TestReading(MemoryContract):
    def expected(self) -> Collection[str]:
        return [entry.content.strip() for entry in sample_entries()]

    @pytest.fixture
    async def memory(self, tmp_path, opening):
        """Core samples are in MEMORY.md, the others in one file per day, as the plain lines a person would write."""
        (tmp_path / "memory").mkdir()
        (tmp_path / "MEMORY.md").write_text("# Long-Term Memory\n\n", "utf-8")
        for entry in sample_entries():
            name = "MEMORY.md" if entry.category == "core" else f"memory/{entry.timestamp[:10]}.md"
            with (tmp_path / name).open("a", encoding="utf-8", newline="") as file:
                file.write(f"- {entry.content}\n\n")
        return await opening(MarkdownMemory(tmp_path, read_only=True))


class TestWriting(StoreContract, EngineContract, ConcurrencyContract):
    @pytest.fixture
    async def memory(self, tmp_path, opening):
        (tmp_path / "memory").mkdir()
        (tmp_path / "MEMORY.md").write_text("# Long-Term Memory\n\n- **one**: core\nplain\n")
        (tmp_path / "memory" / "2026-01-02.md").write_text("# Daily Log — 2026-01-02\n\n- **two**: daily\n")
        return await opening(MarkdownMemory(tmp_path))

    async def another(self, memory: Memory) -> Memory:
        other = MarkdownMemory(Path(memory.about.location))
        await other.open()
        return other


class TestReadOnly(ReadOnlyContract):
    @pytest.fixture
    async def memory(self, tmp_path, opening):
        (tmp_path / "MEMORY.md").write_text("# Long-Term Memory\n\n- **one**: first\n- second\n")
        return await opening(MarkdownMemory(tmp_path, read_only=True))
