"""Markdown memory, written by one and by several at once, holds to the contract of every store."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from zeroclaw_tui.backends.base import Memory
from zeroclaw_tui.backends.markdown.store import MarkdownMemory
from zeroclaw_tui.testing.store_contract import StoreContract


class TestMarkdownStore(StoreContract):
    has_keys = False
    keeps_every_text = False

    @pytest.fixture
    async def memory(self, tmp_path: Path) -> AsyncIterator[Memory]:
        (tmp_path / "memory").mkdir()
        (tmp_path / "MEMORY.md").write_text("# Long-Term Memory\n\n- **one**: core\nplain\n")
        (tmp_path / "memory" / "2026-01-02.md").write_text("# Daily Log — 2026-01-02\n\n- **two**: daily\n")
        memory = MarkdownMemory(tmp_path)
        await memory.open()
        yield memory
        await memory.close()

    async def another(self, memory: Memory) -> Memory:
        other = MarkdownMemory(Path(memory.location))
        await other.open()
        return other
