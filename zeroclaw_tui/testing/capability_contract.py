"""What a store cannot do it says in a sentence, and refuses; used like MemoryContract."""

from __future__ import annotations

from zeroclaw_tui.backends.base import Memory
from zeroclaw_tui.memory.change import Draft, Edit, NewVector, Value, Vector
from zeroclaw_tui.memory.entry import EDITABLE
from zeroclaw_tui.memory.errors import InspectorError, Refused
from zeroclaw_tui.memory.query import MemoryFilter, Sort
from zeroclaw_tui.testing.samples import NOW
from zeroclaw_tui.testing.tools import EVERY, Kept, StoreHooks, raises, state_of

CAPABILITIES = (
    "vectors", "keyword", "sessions", "agents", "namespaces", "superseded", "pinned", "importance", "kind", "facets",
    "watch", "write",
)  # fmt: skip
"""Each is a field of Capabilities and, where that is False, a name in `why_not`."""
VALUES: dict[str, Value] = {
    "content": "other", "key": "other key", "category": "other", "session_id": "other", "importance": 0.25, "pinned": 1,
    "namespace": "other",
}  # fmt: skip


class CapabilityContract(StoreHooks):
    """Tests that each take an open `memory`, written or not, with rows or none."""

    async def test_whatever_it_cannot_do_has_a_sentence(self, memory: Memory) -> None:
        """Every capability that is False, and every field that cannot be edited, is in `why_not`; a sentence each."""
        can = memory.capabilities
        missing = [name for name in CAPABILITIES if not getattr(can, name)]
        missing += [name for name in EDITABLE if name not in can.editable]
        for name in missing:
            why = can.why_not.get(name) or (can.why_not.get("write") if name in EDITABLE else None)
            assert why, f"{name} is missing, and nothing says why"
            assert why.strip().endswith((".", "!", "?")), why
            assert "\n" not in why
        assert not [name for name in CAPABILITIES if getattr(can, name) and name in can.why_not]
        assert (memory.read_only_because is None) == can.write or not can.write

    async def test_a_field_that_cannot_be_edited_is_refused_with_its_sentence(self, memory: Memory) -> None:
        """The edit changes nothing and keeps nothing."""
        stamps = await memory.stamps(EVERY)
        if not stamps:
            return
        before, row = await state_of(memory), await memory.stored(stamps[0].id)
        assert row is not None
        for name in EDITABLE:
            if name in memory.capabilities.editable:
                continue
            kept = Kept()
            await raises(memory.update(row.id, Edit({name: VALUES[name]}), row.fingerprint, kept), Refused)
            assert kept.changes == []
        assert await state_of(memory) == before

    async def test_vectors_that_cannot_be_kept_are_refused(self, memory: Memory) -> None:
        """Filling in a vector says why it cannot be; a store without vectors counts none."""
        if memory.capabilities.vectors:
            return
        stamps = await memory.stamps(EVERY)
        vector = Vector(bytes(16), "a test", "a test")
        vectors = [NewVector(stamp.id, stamp.state, vector) for stamp in stamps[:1]]
        if vectors:
            await raises(memory.fill_vectors(vectors), InspectorError)
            assert await memory.vector_norm(stamps[0].handle) is None
        assert await memory.cached_vector("any text") is None

    async def test_a_facet_it_does_not_have_is_none_and_not_zero(self, memory: Memory) -> None:
        """Sessions, agents and namespaces are counted only where the store has them."""
        facets, can = await memory.facets(EVERY, NOW.isoformat()), memory.capabilities
        assert (facets.session is not None) == can.sessions
        assert (facets.agent is not None) == can.agents
        assert (facets.namespace is not None) == can.namespaces
        assert facets.total == len(await memory.order(EVERY, Sort()))

    async def test_a_store_without_agents_takes_none(self, memory: Memory) -> None:
        """A memory for an agent is refused or told, never put under everybody's as if that were the same."""
        if memory.capabilities.agents or not memory.capabilities.write:
            return
        before = await state_of(memory)
        try:
            done = await memory.create(Draft("of ada", "content of ada", agent="ada"), Kept())
        except InspectorError:
            assert await state_of(memory) == before
        else:
            assert done.notes or (done.change.after is not None and done.change.after.agent == "ada")

    async def test_a_filter_of_what_it_does_not_have_leaves_nothing_by_mistake(self, memory: Memory) -> None:
        """Asking for one agent's rows of a store without agents does not give everybody's."""
        if memory.capabilities.agents:
            return
        assert len(await memory.order(MemoryFilter(agent=("no such agent",)), Sort())) == 0
