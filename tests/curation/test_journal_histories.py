"""Property test: the journal agrees with the store after any actions in any order with kills at any point."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from journal_world import World, opened_world
from support.libraries import edit_memory, redo, remove_memories, restore, store_memory, undo
from support.marks import plan_of_marked
from support.memories import ApplyResult, Draft, Edit, Journal, NotFound, RowChange

Step = tuple[str, int, str]
"""An action, a number that selects its target, and the point at which the program is killed, "" for none."""
States = dict[str, str | None]

_STEPS = st.lists(
    st.tuples(
        st.sampled_from(["store", "store", "edit", "purge", "undo", "redo", "restore"]),
        st.integers(0, 7),
        st.sampled_from(["", "", "", "before", "recorded", "written"]),
    ),
    min_size=1,
    max_size=14,
)


class Killed(Exception):
    """Raised where the program is killed."""


class DyingJournal(Journal):
    """Records changes and then simulates a kill, after which nothing is written or withdrawn."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    def record(self, changes: Sequence[RowChange]) -> None:
        self._journal.record(changes)
        raise Killed

    def withdraw(self) -> None:
        """Do nothing: a killed program withdraws nothing."""


@dataclass
class ModelAction:
    """An action: the content of each memory before and after, and the undone memories."""

    changes: dict[str, tuple[str | None, str | None]]
    undone: set[str] = field(default_factory=set)
    turned: int = 0


@dataclass
class Model:
    """The expected state of the journal and the store."""

    present: dict[str, str] = field(default_factory=dict)
    actions: dict[int, ModelAction] = field(default_factory=dict)
    last_number: int = 0

    def last(self) -> int | None:
        numbers = [number for number, one in self.actions.items() if one.changes.keys() - one.undone]
        return max(numbers, default=None)

    def last_undone(self) -> int | None:
        numbers = [
            number
            for number, one in self.actions.items()
            if one.undone and not any(later > one.turned for later in self.actions)
        ]
        return max(numbers, key=lambda number: self.actions[number].turned, default=None)

    def in_trash(self) -> list[tuple[int, str, str]]:
        """The deleted memories: action, id and content."""
        return [
            (number, name, before)
            for number, action in self.actions.items()
            for name, (before, after) in action.changes.items()
            if before is not None and after is None and name not in action.undone
        ]

    def act(self, changes: dict[str, tuple[str | None, str | None]], now: States) -> None:
        """Record an action with the changes that the store shows."""
        self.last_number += 1
        done = {name: change for name, change in changes.items() if now.get(name) == change[1]}
        if done:
            self.actions[self.last_number] = ModelAction(done)

    def turn(self, verb: str, number: int, ids: set[str], now: States) -> None:
        """Record an undo, redo or restore of these memories of an action, as far as the store shows it."""
        action = self.actions[number]
        self.last_number += 1
        if verb != "redo":
            action.turned = self.last_number
        for name in ids:
            before, after = action.changes[name]
            if now.get(name) == (after if verb == "redo" else before):
                action.undone.symmetric_difference_update({name})


class History:
    """A store and its model, with steps that change both."""

    def __init__(self, world: World) -> None:
        self._world, self._model = world, Model()
        self._apply = world.library.memory.apply
        self._count = 0

    async def do(self, step: Step) -> None:
        name, number, kill = step
        self._kill_at(kill)
        try:
            if name in ("store", "edit", "purge"):
                await self._change(name, number)
            else:
                await self._turn(name, number)
        finally:
            self._kill_at("")
        await self._world.later().recover(self._world.library.memory)
        await self._check()

    async def undo_all(self) -> None:
        """Undo every action, which empties the store."""
        while self._model.last() is not None:
            await self.do(("undo", 0, ""))
        with pytest.raises(NotFound):
            await undo(self._world.library)
        assert await self._contents() == {}

    async def _change(self, name: str, number: int) -> None:
        library, present = self._world.library, self._model.present
        self._count += 1
        text = f"text {self._count}"
        changes: dict[str, tuple[str | None, str | None]] = {}
        if name == "store":
            await self._until_killed(store_memory(library, Draft(f"key {self._count}", text)))
            changes = dict.fromkeys((await self._contents()).keys() - present.keys(), (None, text))
        elif present:
            ids = sorted(present)
            chosen = ids[number % len(ids) :][: 1 if name == "edit" else 3]
            changes = {one: (present[one], text if name == "edit" else None) for one in chosen}
            if name == "edit":
                row = (await self._world.rows())[chosen[0]]
                await self._until_killed(edit_memory(library, row.id, Edit({"content": text}), row.fingerprint))
            else:
                await self._until_killed(remove_memories(library, await plan_of_marked(library, chosen), "purge"))
        else:
            return
        now = await self._contents()
        self._model.act(changes, now)
        self._model.present = now

    async def _turn(self, verb: str, number: int) -> None:
        library, model = self._world.library, self._model
        if verb == "restore":
            rows, _ = await self._world.trash.listing()
            if not rows:
                return
            row = rows[number % len(rows)]
            action, ids = row.action, {row.row.id}
            await self._until_killed(restore(library, [row.number]))
        else:
            found = model.last() if verb == "undo" else model.last_undone()
            if found is None:
                with pytest.raises(NotFound):
                    await (undo if verb == "undo" else redo)(library)
                return
            action, undone = found, model.actions[found].undone
            ids = model.actions[found].changes.keys() - undone if verb == "undo" else set(undone)
            await self._until_killed((undo if verb == "undo" else redo)(library))
        now = await self._contents()
        model.turn(verb, action, ids, now)
        model.present = now

    async def _until_killed(self, change: Any) -> None:
        before = await self._contents()
        is_killed = False
        try:
            await change
        except Killed:
            is_killed = True
        assert is_killed or await self._contents() != before

    def _kill_at(self, place: str) -> None:
        async def apply(changes: Any, journal: Journal | None, **options: Any) -> ApplyResult:
            if journal is None or not place:
                return await self._apply(changes, journal, **options)
            if place == "before":
                raise Killed
            result = await self._apply(changes, DyingJournal(journal) if place == "recorded" else journal, **options)
            raise Killed(result)

        self._world.library.memory.apply = apply

    async def _contents(self) -> dict[str, str]:
        return {name: str(row.values["content"]) for name, row in (await self._world.rows()).items()}

    async def _check(self) -> None:
        trash, model = self._world.trash, self._model
        assert await self._contents() == model.present
        counts = {action.number: (action.count, action.open) for action in await trash.actions(1000)}
        assert counts == {
            number: (len(one.changes), len(one.changes) - len(one.undone)) for number, one in model.actions.items()
        }
        rows, _ = await trash.listing(limit=1000)
        assert sorted((row.action, row.row.id, str(row.row.values["content"])) for row in rows) == sorted(
            model.in_trash()
        )
        last, last_undone = await trash.last(), await trash.last_undone()
        assert (last and last.number) == model.last()
        assert (last_undone and last_undone.number) == model.last_undone()


async def _live(store: str, steps: Sequence[Step]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        async with opened_world(Path(folder), store) as world:
            history = History(world)
            for step in steps:
                await history.do(step)
            await history.undo_all()


@pytest.mark.parametrize("examples", [25, pytest.param(1000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("store", ["in-memory", "G4"])
def test_the_journal_agrees_with_the_store(store, examples):
    @settings(max_examples=examples, deadline=None)
    @given(steps=_STEPS)
    def check(steps):
        asyncio.run(_live(store, steps))

    check()
