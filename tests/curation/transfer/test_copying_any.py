"""`copy` between stores that have only the trait's verbs, in memory, and back into a database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from copying_world import EVERYTHING, install_in, opened

from zeroclaw_tui.backends.about import About
from zeroclaw_tui.backends.base import Entries, Memory, Scored
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.transfer.copy import copy_memories, plan_copy
from zeroclaw_tui.curation.transfer.target import Target
from zeroclaw_tui.memory.entry import MemoryEntry

ROWS: list[dict[str, Any]] = [
    {"key": f"k{at}", "content": f"text {at}", "session_id": "s" if at else None, "importance": 0.9} for at in range(5)
]


class Plain(Memory):
    """Nothing but the abstract verbs."""

    name = "plain"
    about = About(location="this process")
    why_not: Mapping[str, str] = {
        **Memory.why_not,
        **dict.fromkeys(("sessions", "session_id"), "A plain store has no sessions."),
    }

    def __init__(self, entries: Sequence[MemoryEntry] = ()) -> None:
        self.stored = {entry.key: entry for entry in entries}

    async def store(self, key: str, content: str, category: str, session_id: str | None = None) -> None:
        at = f"2026-01-01T00:00:{len(self.stored):02}+00:00"
        self.stored[key] = MemoryEntry(f"p-{key}", key, content, category, at, handle=f"p-{key}").whole(content)

    async def recall(self, *rest: Any, **named: Any) -> Scored:
        return []

    async def get(self, key: str) -> MemoryEntry | None:
        return self.stored.get(key)

    async def list(self, category: str | None = None, session_id: str | None = None) -> Entries:
        return [*self.stored.values()]

    async def forget(self, key: str) -> bool:
        return self.stored.pop(key, None) is not None

    async def count(self) -> int:
        return len(self.stored)

    async def health_check(self) -> bool:
        return True


def _target(library: Library, memory: Memory) -> Target:
    other = replace(library, memory=memory)
    return Target(library.config, other, None, memory.about.location)


async def test_a_plug_in_of_the_trait_alone_takes_what_it_can_and_says_the_rest(tmp_path: Path) -> None:
    install_in(tmp_path, ROWS)
    memory = Plain([MemoryEntry("p-k1", "k1", "other", "core", "2026-01-01T00:00:00+00:00", handle="p-k1")])
    async with opened(tmp_path) as library:
        target = _target(library, memory)
        plan = await plan_copy(library, target, EVERYTHING)
        assert (plan.new, plan.taken, plan.samples) == (4, 1, ("k1",))
        assert plan.notes == (
            "The store plain drops or changes: importance (5), time of change (5), time of creation (5), session (4).",
        )
        outcome = await copy_memories(library, target, EVERYTHING, "rename")
        assert (outcome.count, outcome.verified, dict(outcome.renamed)) == (5, 5, {"k1": "k1 (imported 900a)"})
        again = await copy_memories(library, target, EVERYTHING, "rename")
        assert (again.count, again.verified) == (0, 5)
    assert memory.stored["k1"].content == "other"
    assert memory.stored["k1 (imported 900a)"].content == "text 1"
