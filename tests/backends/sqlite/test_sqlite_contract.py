"""A database of each generation passes the store contract, also read-only and when damaged while open."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest
from changed_stores import GENERATIONS
from support.engine_contract import ConcurrencyContract, EngineContract
from support.memories import Draft, sample_entries
from support.small_store import add, make, row_of
from support.stores import Memory, SqliteMemory

from zeroclaw_tui.testing.contract import GoneContract, MemoryContract, ReadOnlyContract, StoreContract


@pytest.mark.parametrize("generation", GENERATIONS)
class TestReading(MemoryContract):
    @pytest.fixture
    async def memory(self, tmp_path, generation, opening):
        rows = [row_of(entry) for entry in sample_entries()]
        if generation != "G1":
            rows[2]["superseded_by"] = "lang"
        return await opening(SqliteMemory(make(tmp_path / "brain.db", generation, rows)))


class Written:
    """Gives each test a few rows and a second store on the same file."""

    @pytest.fixture
    async def memory(self, tmp_path, generation, opening):
        return await opening(SqliteMemory(make(tmp_path / "brain.db", generation, map(row_of, sample_entries()[:6]))))

    async def another(self, memory: Memory) -> Memory:
        other = SqliteMemory(Path(memory.about.location))
        await other.open()
        return other

    async def fill(self, memory: Memory, drafts: Sequence[Draft]) -> None:
        """Insert as ZeroClaw does, but in one transaction: its own method commits each memory to disk."""
        rows = ({"key": draft.key, "content": draft.content, "category": draft.category} for draft in drafts)
        add(Path(memory.about.location), ({"id": f"many {row['key']}", **row} for row in rows))


@pytest.mark.parametrize("generation", GENERATIONS)
class TestWriting(Written, StoreContract, EngineContract):
    """Every generation."""


@pytest.mark.parametrize("generation", ["G2", "G4"])
class TestConcurrentWriting(Written, ConcurrencyContract):
    """Concurrent programs and cancelled work: with unique keys, and with keys unique per agent."""


@pytest.mark.parametrize("generation", GENERATIONS)
class TestReadOnly(ReadOnlyContract):
    @pytest.fixture
    async def memory(self, tmp_path, generation, opening):
        path = make(tmp_path / "brain.db", generation, [{"key": "one"}, {"key": "two", "session_id": "s"}])
        return await opening(SqliteMemory(path, read_only=True))


class TestDamaged(GoneContract):
    @pytest.fixture
    async def memory(self, tmp_path, opening):
        (tmp_path / "memory").mkdir()
        return await opening(SqliteMemory(make(tmp_path / "memory" / "brain.db", "G2", [])))

    async def take_down(self, memory: Memory) -> None:
        file = Path(memory.about.location)
        shutil.copytree(file.parent, file.parent.with_name("away"))
        for part in file.parent.iterdir():
            part.write_bytes(b"no database at all " * 4000)

    async def bring_up(self, memory: Memory) -> None:
        file = Path(memory.about.location)
        shutil.rmtree(file.parent)
        file.parent.with_name("away").rename(file.parent)
