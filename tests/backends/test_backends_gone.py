"""Stores that keep nothing or take nothing say so, and one whose disk goes away comes back as it was."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from zeroclaw_tui.backends.base import Memory
from zeroclaw_tui.backends.in_memory import InMemory
from zeroclaw_tui.backends.markdown.store import MarkdownMemory
from zeroclaw_tui.backends.none import NoneMemory
from zeroclaw_tui.backends.sqlite.schema import create_database
from zeroclaw_tui.backends.sqlite.store import SqliteMemory
from zeroclaw_tui.memory.change import Draft, NewVector, Vector
from zeroclaw_tui.memory.errors import Refused
from zeroclaw_tui.memory.query import MemoryFilter, Sort
from zeroclaw_tui.memory.recall import RecallRequest
from zeroclaw_tui.scoring.profiles import NEWEST, profile_for
from zeroclaw_tui.scoring.settings import ScoringSettings
from zeroclaw_tui.testing.capability_contract import CapabilityContract
from zeroclaw_tui.testing.gone_contract import GoneContract
from zeroclaw_tui.testing.samples import NOW, sample_entries
from zeroclaw_tui.testing.tools import Kept


class TestNone(CapabilityContract):
    @pytest.fixture
    async def memory(self) -> Memory:
        return NoneMemory()


class TestReadOnlyInMemory(CapabilityContract):
    @pytest.fixture
    async def memory(self) -> Memory:
        memory = InMemory(sample_entries())
        memory.read_only_because = "This test takes no writes."
        why_not = {**memory.capabilities.why_not, "write": memory.read_only_because}
        memory.capabilities = replace(memory.capabilities, write=False, editable=(), why_not=why_not)
        return memory


@pytest.mark.parametrize("generation", ["G1", "G2", "G3", "G4"])
class TestReadOnlySqlite(CapabilityContract):
    @pytest.fixture
    async def memory(self, tmp_path: Path, generation: str) -> AsyncIterator[Memory]:
        more = {"default_agent_id": "00000000-0000-0000-0000-000000000001"} if generation in ("G3", "G4") else {}
        create_database(tmp_path / "brain.db", generation, **more)
        memory = SqliteMemory(tmp_path / "brain.db")
        await memory.open()
        await memory.store_batch([Draft("one", "first"), Draft("two", "second", session_id="s")])
        await memory.close()
        memory = SqliteMemory(tmp_path / "brain.db", read_only=True)
        await memory.open()
        yield memory
        await memory.close()


class TestReadOnlyMarkdown(CapabilityContract):
    @pytest.fixture
    async def memory(self, tmp_path: Path) -> AsyncIterator[Memory]:
        (tmp_path / "MEMORY.md").write_text("# Long-Term Memory\n\n- **one**: first\n- second\n")
        memory = MarkdownMemory(tmp_path, read_only=True)
        await memory.open()
        yield memory
        await memory.close()


class TestSqliteDamaged(GoneContract):
    async def break_it(self, memory: Memory) -> None:
        file = Path(memory.location)
        shutil.copytree(file.parent, file.parent.with_name("away"))
        for part in file.parent.iterdir():
            part.write_bytes(b"no database at all " * 4000)

    async def mend_it(self, memory: Memory) -> None:
        file = Path(memory.location)
        shutil.rmtree(file.parent)
        file.parent.with_name("away").rename(file.parent)

    @pytest.fixture
    async def memory(self, tmp_path: Path) -> AsyncIterator[Memory]:
        (tmp_path / "memory").mkdir()
        create_database(tmp_path / "memory" / "brain.db", "G2")
        memory = SqliteMemory(tmp_path / "memory" / "brain.db")
        await memory.open()
        yield memory
        await memory.close()


async def test_where_nothing_is_remembered_every_verb_is_a_no_op_and_says_so() -> None:
    memory = NoneMemory()
    await memory.open()
    await memory.store("key", "content", "core")
    await memory.store_batch([Draft("key", "content")])
    assert await memory.get_batch(["key"]) == []
    assert (await memory.count(), await memory.list(), await memory.get("key")) == (0, [], None)
    assert await memory.recall("content", 5) == []
    found = await memory.search(RecallRequest("content"), profile_for(NEWEST), ScoringSettings())
    assert found.entries == ()
    assert not await memory.forget("key")
    assert (await memory.page(MemoryFilter(), Sort(), None, 5)).entries == ()
    assert (await memory.facets(MemoryFilter(), NOW.isoformat())).total == 0
    assert (await memory.statistics()).total == 0
    kept = Kept()
    for deed in (
        memory.create(Draft("key", "content"), kept),
        memory.remove([], kept),
        memory.revert(lambda: iter(()), kept),
        memory.make(profile_for(NEWEST)),
        memory.fill_vectors([NewVector("id", "state", Vector(bytes(4), "a", "b"))]),
    ):
        with pytest.raises(Refused):
            await deed
    assert kept.changes == []
    assert "turn memory on" in memory.notices[0]
