"""In-process stores pass the store contract and report the fields that they cannot save."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest
from support.engine_contract import ConcurrencyContract, EngineContract
from support.memories import NOW, Change, Draft, MemoryEntry, Refused, Row, Unreadable, Vector, sample_entries
from support.questions import EXCERPTS, ROWS, MemoryFilter, Query, Sort
from support.recalls import keys, recalled
from support.rules import NEWEST, profile_for
from support.shoe_box import ShoeBox
from support.stores import About, count_facets, count_matching, fill_vectors, make_store, sentences, versions

from zeroclaw_tui.backends.in_memory import InMemory
from zeroclaw_tui.backends.none import NoneMemory
from zeroclaw_tui.testing.contract import CapabilityContract, MemoryContract, ReadOnlyContract, StoreContract
from zeroclaw_tui.testing.tools import JournalRecorder, create, delete, raises, undo

SAMPLES = sample_entries()[:6]


class TestInMemory(MemoryContract):
    @pytest.fixture
    async def memory(self):
        entries = list(sample_entries())
        return InMemory([replace(entries[0], superseded_by="editor"), *entries[1:]])


class TestInMemoryWriting(StoreContract, EngineContract, ConcurrencyContract):
    @pytest.fixture
    async def memory(self):
        return InMemory([replace(SAMPLES[0], superseded_by="editor"), *SAMPLES[1:]])


class TestInMemoryReadOnly(ReadOnlyContract):
    @pytest.fixture
    async def memory(self):
        memory = InMemory(sample_entries())
        memory.why_not = {**memory.why_not, "write": "This test takes no writes."}
        return memory


class TestNone(CapabilityContract):
    @pytest.fixture
    async def memory(self):
        return NoneMemory()

    async def test_every_write_is_refused_except_store_which_does_nothing(self, memory):
        await memory.store("key", "content", "core")
        for action in (
            create(memory, Draft("key", "content")),
            delete(memory, []),
            memory.apply((), None, dry_run=True),
        ):
            assert 'the backend "none" keeps nothing' in (await raises(action, Refused)).message


def trait_store(entries: Iterable[MemoryEntry]) -> ShoeBox:
    """Return a trait-only plug-in with these memories."""
    memory = ShoeBox()
    memory.about = About(location="this process")
    names = ("content", "category", "session_id", "timestamp", "importance")
    memory.stored = {entry.key: {name: getattr(entry, name) for name in names} for entry in entries}
    return memory


class TestTrait(MemoryContract):
    @pytest.fixture
    async def memory(self):
        return trait_store(sample_entries())


class TestTraitWriting(StoreContract, EngineContract, ConcurrencyContract):
    @pytest.fixture
    async def memory(self):
        return trait_store(SAMPLES)


@pytest.mark.parametrize("name", ["id", "handle"])
async def test_memories_with_the_same_id_are_reported_before_anything_is_shown(name):
    memory = trait_store(SAMPLES)
    same, *_ = await memory.list()
    memory.stored["other"] = {**memory.stored[same.key], "id": "x", "handle": "y", name: same.id}
    for action in (
        lambda: memory.rows(Query(EXCERPTS, limit=5)),
        lambda: memory.rows(Query(EXCERPTS, handles=[same.id])),
        lambda: versions(memory, MemoryFilter(contains="e")),
        lambda: recalled(memory, same.content),
    ):
        with pytest.raises(Unreadable, match="to 2 memories, so they cannot be distinguished"):
            await action()


async def test_fields_that_the_trait_loses_are_noted():
    entry = replace(SAMPLES[0], importance=0.9)
    memory, journal = trait_store([entry]), JournalRecorder()
    await delete(memory, await versions(memory, MemoryFilter()), journal)
    reversal = await undo(memory, journal.changes[::-1])
    assert any("importance" in note for note in reversal.notes)
    assert any("stored again" in note for note in reversal.notes)


async def test_a_key_of_several_memories_is_not_written():
    memory = trait_store(SAMPLES)

    async def rows(query):
        return [SAMPLES[0], replace(SAMPLES[0], id="other")]

    memory.rows = rows
    with pytest.raises(Refused, match="Several memories have the key"):
        await create(memory, Draft(SAMPLES[0].key, "x"), JournalRecorder(), replace=True)


async def test_the_none_store_makes_every_command_a_no_op_and_says_so():
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
    for action in (
        make_store(memory, profile_for(NEWEST)),
        fill_vectors(memory, [(Row("id", {}), Vector(bytes(4), "a", "b"))]),
    ):
        with pytest.raises(Refused):
            await action
    assert "turn memory on" in sentences(memory.about.notices)[0]


async def test_a_key_stays_taken_if_the_row_that_should_give_it_up_has_changed():
    memory = InMemory(SAMPLES[:2])
    first, second = await memory.rows(Query(ROWS))
    changes = [
        Change(first, replace(first, values={**first.values, "key": second.key})),
        Change(replace(second, values={**second.values, "content": "changed"}), None),
    ]
    result = await memory.apply(changes, None)
    assert (result.written, [conflict.reason for conflict in result.conflicts]) == (0, ["key exists", "changed"])
    assert await memory.rows(Query(ROWS)) == [first, second]
