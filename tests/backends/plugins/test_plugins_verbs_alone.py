"""A plug-in that gives its memories no handle and no size: what is shown, planned and done is one and the same."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from zeroclaw_tui.backends.about import About
from zeroclaw_tui.backends.base import Memory
from zeroclaw_tui.backends.lookup import versions, versions_at
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.errors import Unreadable
from zeroclaw_tui.memory.query import EXCERPTS, HANDLES, MemoryFilter, Query, Sort
from zeroclaw_tui.memory.recall import RecallRequest, ScoredEntry
from zeroclaw_tui.scoring.profiles import NEWEST, ScoringSettings, profile_for
from zeroclaw_tui.testing.tools import recall_of

Command = Callable[..., Any]
CONTENTS = {f"k{number}": f"memory number {number} {'é' * number}" for number in range(6)}


@pytest.fixture
def six(memory: Command, shoe_box: Path) -> Command:
    for key, content in CONTENTS.items():
        assert memory("store", key, content, "--category", "core").code == 0
    return memory


def held(command: Command) -> dict[str, str]:
    return {entry["key"]: entry["content"] for entry in json.loads(command("list", "--json").out)["entries"]}


def test_a_purge_takes_what_its_trial_showed(six: Command) -> None:
    trial = six("purge", "--contains", "number 3", "--dry-run")
    assert "memory number 3" in trial.out
    assert not [key for key in CONTENTS if key != "k3" and f"{key} " in trial.out]
    assert six("purge", "--contains", "number 3", "--yes").code == 0
    assert held(six) == {key: content for key, content in CONTENTS.items() if key != "k3"}
    assert six("undo", "--yes").code == 0
    assert held(six) == CONTENTS


class Box(Memory):
    name = "box"
    about = About(location="a test")

    def __init__(self, *ids: str) -> None:
        self.held = [MemoryEntry(name, f"k{number}", "same", "core", "") for number, name in enumerate(ids)]

    async def store(self, key: str, content: str, category: str, session_id: str | None = None) -> None:
        raise NotImplementedError

    async def recall(self, query: str, limit: int, *others: object) -> list[ScoredEntry]:  # type: ignore[override]
        return [ScoredEntry(entry, rank, None) for rank, entry in enumerate(self.held, 1)]

    async def get(self, key: str) -> MemoryEntry | None:
        return next((entry for entry in self.held if entry.key == key), None)

    async def list(self, category: str | None = None, session_id: str | None = None) -> list[MemoryEntry]:
        return self.held

    async def forget(self, key: str) -> bool:
        raise NotImplementedError

    async def count(self) -> int:
        return len(self.held)

    async def health_check(self) -> bool:
        return True


@pytest.mark.parametrize("ids", [("a", "b", "a"), ("", "")])
async def test_ids_that_double_are_told_before_anything_is_shown_or_planned(ids: tuple[str, ...]) -> None:
    box, every = Box(*ids), MemoryFilter()
    profile = profile_for(NEWEST)
    for deed in (
        lambda: box.rows(Query(EXCERPTS, every, Sort(), limit=5)),
        lambda: box.rows(Query(HANDLES, every, Sort())),
        lambda: box.rows(Query(EXCERPTS, handles=[ids[0]])),
        lambda: versions(box, MemoryFilter(contains="same")),
        lambda: versions_at(box, [ids[0]]),
        lambda: recall_of(box, RecallRequest("same"), profile, ScoringSettings()),
    ):
        with pytest.raises(Unreadable, match="to 2 memories, so it cannot be told which of them is meant"):
            await deed()


class PlainBox(Box):
    """Its recall returns memories without a score, as the trait's verb may."""

    async def recall(self, query: str, limit: int, *others: object) -> list[Any]:  # type: ignore[override]
        return self.held[:limit]


async def test_a_recall_may_return_plain_memories() -> None:
    box = PlainBox("a", "b", "c")
    found = await recall_of(box, RecallRequest("same", limit=2), profile_for(NEWEST), ScoringSettings())
    assert [(one.entry.id, one.rank, one.score, one.stage) for one in found.entries] == [
        ("a", 1, None, "box"),
        ("b", 2, None, "box"),
    ]
