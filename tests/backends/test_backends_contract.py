"""Stores that live in this process hold to the contract of every store, and say what they cannot keep."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from support.engine_contract import EngineContract, NeighbourContract
from support.recalls import keys, recalled

from zeroclaw_tui.backends.about import About, sentences
from zeroclaw_tui.backends.base import Entries, Memory, Scored
from zeroclaw_tui.backends.in_memory import InMemory
from zeroclaw_tui.backends.lookup import count_facets, count_matching, fill_vectors, make_store, versions
from zeroclaw_tui.backends.none import NoneMemory
from zeroclaw_tui.memory.change import Change, Draft, Row, Vector
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.errors import Refused, Unreadable
from zeroclaw_tui.memory.query import EXCERPTS, ROWS, MemoryFilter, Query, Sort
from zeroclaw_tui.memory.recall import ScoredEntry
from zeroclaw_tui.scoring.profiles import NEWEST, profile_for
from zeroclaw_tui.testing.contract import MemoryContract
from zeroclaw_tui.testing.samples import NOW, sample_entries
from zeroclaw_tui.testing.store_contract import CapabilityContract, StoreContract
from zeroclaw_tui.testing.tools import JournalRecorder, create, delete, raises, undo

SAMPLES = sample_entries()[:6]


class TestInMemory(MemoryContract):
    @pytest.fixture
    async def memory(self):
        entries = list(sample_entries())
        return InMemory([replace(entries[0], superseded_by="editor"), *entries[1:]])


class TestInMemoryWriting(StoreContract, EngineContract, NeighbourContract):
    @pytest.fixture
    async def memory(self):
        return InMemory([replace(SAMPLES[0], superseded_by="editor"), *SAMPLES[1:]])


class TestInMemoryReadOnly(CapabilityContract):
    @pytest.fixture
    async def memory(self):
        memory = InMemory(sample_entries())
        memory.why_not = {**memory.why_not, "write": "This test takes no writes."}
        return memory


class TestNone(CapabilityContract):
    @pytest.fixture
    async def memory(self):
        return NoneMemory()

    async def test_a_read_only_store_refuses_every_write_with_a_reason(self, memory):
        """But `store` does nothing, as in ZeroClaw."""
        await memory.store("key", "content", "core")
        for deed in (
            create(memory, Draft("key", "content")),
            delete(memory, []),
            memory.apply((), None, dry_run=True),
        ):
            assert 'the backend "none" keeps nothing' in (await raises(deed, Refused)).message


class Plain(Memory):
    """A plug-in that has nothing but the abstract verbs, and fields of its own that they cannot write."""

    name = "plain"
    about = About(location="this process")

    def __init__(self, entries: Sequence[MemoryEntry] = ()) -> None:
        self.stored = {entry.key: replace(entry, handle=entry.id).whole(entry.content) for entry in entries}
        self.stored_so_far = 0

    async def store(self, key: str, content: str, category: str, session_id: str | None = None) -> None:
        self.stored_so_far += 1
        old = self.stored.get(key)
        id = old.id if old else f"plain-{self.stored_so_far:05}"  # noqa: A001
        written = old.timestamp if old else f"2026-01-01T00:00:{self.stored_so_far / 1000:09.6f}+00:00"
        entry = MemoryEntry(id, key, content, category, written, session_id=session_id, handle=id)
        self.stored[key] = entry.whole(content)

    async def recall(self, query: str, limit: int, *rest: Any, **named: Any) -> Scored:
        found = [entry for entry in self.stored.values() if query in entry.content][:limit]
        return [ScoredEntry(entry, rank, None) for rank, entry in enumerate(found, 1)]

    async def get(self, key: str) -> MemoryEntry | None:
        return self.stored.get(key)

    async def list(self, category: str | None = None, session_id: str | None = None) -> Entries:
        found = [entry for entry in self.stored.values() if category in (None, entry.category)]
        return [entry for entry in found if session_id in (None, entry.session_id)]

    async def forget(self, key: str) -> bool:
        return self.stored.pop(key, None) is not None

    async def count(self) -> int:
        return len(self.stored)

    async def health_check(self) -> bool:
        return True


class TestTrait(MemoryContract):
    @pytest.fixture
    async def memory(self):
        return Plain(sample_entries())


class TestTraitWriting(StoreContract, EngineContract, NeighbourContract):
    @pytest.fixture
    async def memory(self):
        return Plain(SAMPLES)


@pytest.mark.parametrize("name", ["id", "handle"])
async def test_memories_that_share_an_id_are_reported_before_anything_is_shown_or_planned(name):
    memory = Plain(SAMPLES)
    double: dict[str, Any] = {name: SAMPLES[1].id}
    memory.stored["other"] = replace(memory.stored[SAMPLES[1].key], **{"id": "x", "handle": "y", **double})
    for deed in (
        lambda: memory.rows(Query(EXCERPTS, limit=5)),
        lambda: memory.rows(Query(EXCERPTS, handles=[SAMPLES[0].id])),
        lambda: versions(memory, MemoryFilter(contains="e")),
        lambda: recalled(memory, SAMPLES[1].content),
    ):
        with pytest.raises(Unreadable, match="to 2 memories, so they cannot be distinguished"):
            await deed()


async def test_fields_that_the_trait_loses_are_noted():
    entry = replace(SAMPLES[0], importance=0.9)
    memory, journal = Plain([entry]), JournalRecorder()
    await delete(memory, await versions(memory, MemoryFilter()), journal)
    reversal = await undo(memory, journal.changes[::-1])
    assert any("importance" in note for note in reversal.notes)
    assert any("stored again" in note for note in reversal.notes)


async def test_a_key_that_several_memories_have_is_not_written():
    memory = Plain(SAMPLES)

    async def rows(query):
        return [SAMPLES[0], replace(SAMPLES[0], id="other")]

    memory.rows = rows
    with pytest.raises(Refused, match="Several memories have the key"):
        await create(memory, Draft(SAMPLES[0].key, "x"), JournalRecorder(), replace=True)


async def test_where_nothing_is_remembered_every_verb_is_a_no_op_and_says_so():
    memory = NoneMemory()
    await memory.open()
    await memory.store("key", "content", "core")
    assert await memory.rows(Query(EXCERPTS, keys=["key"])) == []
    assert (await memory.count(), await memory.list(), await memory.get("key")) == (0, [], None)
    assert await memory.recall("content", 5) == []
    assert keys(await recalled(memory, "content")) == []
    assert not await memory.forget("key")
    assert (await memory.rows(Query(EXCERPTS, MemoryFilter(), Sort(), limit=5))) == []
    assert (await count_facets(memory, MemoryFilter(), NOW.isoformat())).total == 0
    assert await count_matching(memory, MemoryFilter()) == 0
    for deed in (
        make_store(memory, profile_for(NEWEST)),
        fill_vectors(memory, [(Row("id", {}), Vector(bytes(4), "a", "b"))]),
    ):
        with pytest.raises(Refused):
            await deed
    assert "turn memory on" in sentences(memory.about.notices)[0]


async def test_a_key_is_not_free_where_the_row_that_should_leave_it_has_changed():
    memory = InMemory(SAMPLES[:2])
    first, second = await memory.rows(Query(ROWS))
    changes = [
        Change(first, replace(first, values={**first.values, "key": second.key})),
        Change(replace(second, values={**second.values, "content": "changed"}), None),
    ]
    result = await memory.apply(changes, None)
    assert (result.written, [conflict.reason for conflict in result.conflicts]) == (0, ["key exists", "changed"])
    assert await memory.rows(Query(ROWS)) == [first, second]
