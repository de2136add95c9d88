"""Every backend holds to one contract."""

from __future__ import annotations

import sqlite3
import uuid
from collections.abc import AsyncIterator, Collection
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from zeroclaw_tui.backends.base import Capabilities, Entries, Memory, Scored
from zeroclaw_tui.backends.in_memory import InMemory
from zeroclaw_tui.backends.markdown.store import MarkdownMemory
from zeroclaw_tui.backends.sqlite.schema import create_database
from zeroclaw_tui.backends.sqlite.store import SqliteMemory
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.testing.contract import MemoryContract
from zeroclaw_tui.testing.samples import sample_entries


class TestInMemory(MemoryContract):
    @pytest.fixture
    async def memory(self) -> AsyncIterator[Memory]:
        entries = list(sample_entries())
        entries[0] = replace(entries[0], superseded_by="editor")
        memory = InMemory(entries)
        await memory.open()
        yield memory
        await memory.close()


class OnlyTheTrait(Memory):
    """A plug-in that has nothing but the abstract verbs; everything else is the base class's."""

    name = "only-the-trait"
    location = "this process"
    capabilities = Capabilities(write=True)

    def __init__(self, inner: InMemory) -> None:
        for verb in Memory.__abstractmethods__:
            setattr(self, f"_{verb}", getattr(inner, verb))

    async def store(self, *rest: Any, **named: Any) -> None:
        await self._store(*rest, **named)

    async def recall(self, *rest: Any, **named: Any) -> Scored:
        return await self._recall(*rest, **named)

    async def get(self, key: str) -> MemoryEntry | None:
        return await self._get(key)

    async def list(self, *rest: Any) -> Entries:
        return await self._list(*rest)

    async def forget(self, key: str) -> bool:
        return await self._forget(key)

    async def count(self) -> int:
        return await self._count()

    async def health_check(self) -> bool:
        return await self._health_check()


class TestOnlyTheTrait(MemoryContract):
    @pytest.fixture
    async def memory(self) -> Memory:
        return OnlyTheTrait(InMemory(sample_entries()))


class TestMarkdown(MemoryContract):
    def expected(self) -> Collection[str]:
        return [entry.content.strip() for entry in sample_entries()]

    @pytest.fixture(params=[True, False])
    async def memory(self, tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[Memory]:
        """Core samples in MEMORY.md, the others in a file a day, as the bare lines a person would write."""
        (tmp_path / "memory").mkdir()
        (tmp_path / "MEMORY.md").write_text("# Long-Term Memory\n\n", "utf-8")
        for entry in sample_entries():
            name = "MEMORY.md" if entry.category == "core" else f"memory/{entry.timestamp[:10]}.md"
            with (tmp_path / name).open("a", encoding="utf-8", newline="") as file:
                file.write(f"- {entry.content}\n\n")
        memory = MarkdownMemory(tmp_path, read_only=request.param)
        await memory.open()
        yield memory
        await memory.close()


@pytest.mark.parametrize("generation", ["G1", "G2", "G3", "G4"])
class TestSqlite(MemoryContract):
    @pytest.fixture
    async def memory(self, tmp_path: Path, generation: str) -> AsyncIterator[Memory]:
        path = tmp_path / "brain.db"
        agent = str(uuid.UUID(int=1))
        create_database(path, generation, **({"default_agent_id": agent} if generation in ("G3", "G4") else {}))
        with closing(sqlite3.connect(path)) as connection, connection:
            for number, entry in enumerate(sample_entries()):
                row = {
                    "id": entry.id,
                    "key": entry.key,
                    "content": entry.content,
                    "category": entry.category,
                    "created_at": entry.timestamp,
                    "updated_at": entry.updated_at,
                    "session_id": entry.session_id,
                }
                if generation != "G1":
                    row["superseded_by"] = "lang" if number == 2 else None
                if generation in ("G3", "G4"):
                    row["agent_id"] = agent
                names = ", ".join(row)
                marks = ", ".join("?" * len(row))
                connection.execute(f"INSERT INTO memories ({names}) VALUES ({marks})", tuple(row.values()))
        memory = SqliteMemory(path)
        await memory.open()
        yield memory
        await memory.close()
