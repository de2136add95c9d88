"""The bridge passes every store contract, with and without a program."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from support.engine_contract import ConcurrencyContract, EngineContract
from support.lucid_program import write_program
from support.memories import Draft, sample_entries
from support.small_store import add, make, row_of
from support.stores import Memory

from zeroclaw_tui.backends.lucid import LucidConfig, LucidMemory
from zeroclaw_tui.testing.contract import MemoryContract, StoreContract


def bridge(folder: Path, command: str) -> LucidMemory:
    """Return a bridge over the database of a folder, with settings of any version."""
    return LucidMemory(folder / "brain.db", config=LucidConfig({"binary_path": command}, {"binary_path": command}))


@pytest.mark.parametrize("generation", [pytest.param("G2", marks=pytest.mark.slow), "G4"])
class TestReading(MemoryContract):
    @pytest.fixture
    async def memory(self, tmp_path, generation, opening):
        """With a program that finds nothing relevant."""
        make(tmp_path / "brain.db", generation, map(row_of, sample_entries()))
        return await opening(bridge(tmp_path, str(write_program(tmp_path / "bin").path)))


class TestWriting(StoreContract, EngineContract, ConcurrencyContract):
    @pytest.fixture
    async def memory(self, tmp_path, opening):
        """Without a program: each new memory gets a note, and nothing else differs."""
        make(tmp_path / "brain.db", "G4", map(row_of, sample_entries()[:6]))
        return await opening(bridge(tmp_path, str(tmp_path / "nowhere")))

    async def another(self, memory: Memory) -> Memory:
        """Open a second bridge on the same file."""
        assert isinstance(memory, LucidMemory)
        other = bridge(memory.path.parent, str(memory.path.parent / "nowhere"))
        await other.open()
        return other

    async def fill(self, memory: Memory, drafts: Sequence[Draft]) -> None:
        """Insert memories as another program would."""
        rows = ({"key": draft.key, "content": draft.content, "category": draft.category} for draft in drafts)
        numbered = ({"id": f"many {number}", **row} for number, row in enumerate(rows))
        add(Path(memory.about.location), numbered)
