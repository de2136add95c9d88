"""The contract suite finds what is wrong with a store: each fault here fails the test that names it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from zeroclaw_tui.backends.base import T
from zeroclaw_tui.backends.in_memory import InMemory
from zeroclaw_tui.memory.change import ApplyResult, Change, Draft, Journal
from zeroclaw_tui.memory.query import ROWS, Query
from zeroclaw_tui.testing.neighbour_contract import NeighbourContract
from zeroclaw_tui.testing.samples import sample_entries
from zeroclaw_tui.testing.store_contract import (
    CapabilityContract,
    VerbsContract,
)

Test = Callable[..., Coroutine[Any, Any, None]]


class NewIds(InMemory):
    async def store(self, key: str, content: str, category: str, session_id: str | None = None) -> None:
        await self.forget(key)
        await super().store(key, content, category, session_id)


class Trimming(InMemory):
    async def apply(self, changes: Iterable[Change], journal: Journal | None, **options: Any) -> ApplyResult:
        return await super().apply(map(_trimmed, changes), journal, **options)


class LosingTheLast(InMemory):
    async def apply(self, changes: Iterable[Change], journal: Journal | None, **options: Any) -> ApplyResult:
        every = list(changes)
        return await super().apply(every[:-1] if len(every) > 1 else every, journal, **options)


class Capped(InMemory):
    async def rows(self, query: Query[T]) -> Sequence[T]:
        return (await super().rows(query))[:400]


class LastOneWins(InMemory):
    async def apply(self, changes: Iterable[Change], journal: Journal | None, **options: Any) -> ApplyResult:
        every = list(changes)
        result = await super().apply(every, journal, **options)
        if not result.skipped:
            return result
        present = {row.id: row for row in await self.rows(Query(ROWS))}
        updated = [replace(one, before=present[one.before.id]) if one.before else one for one in every]
        return await super().apply(updated, journal, **options)


class RemovingFirst(InMemory):
    async def apply(self, changes: Iterable[Change], journal: Journal | None, **options: Any) -> ApplyResult:
        every = list(changes)
        if any(change.after is not None for change in every):
            return await super().apply(every, journal, **options)
        await super().apply(every, None)
        if journal is not None:
            await asyncio.to_thread(journal.record, [])
        return ApplyResult(len(every))


class Silent(InMemory):
    why_not: Mapping[str, str] = {**InMemory.why_not, "watch": ""}


class Everybodys(InMemory):
    async def rows(self, query: Query[T]) -> Sequence[T]:
        return await super().rows(replace(query, filter=query.filter.but(agent=None)))


@pytest.mark.parametrize(
    ("store", "test"),
    [
        (NewIds, VerbsContract.test_a_second_store_of_a_key_keeps_id_and_creation_time),
        (Trimming, VerbsContract.test_awkward_text_comes_back_or_is_refused),
        (LosingTheLast, VerbsContract.test_batches_do_what_one_after_the_other_does),
        (Capped, VerbsContract.test_thousands_of_memories_are_counted_listed_paged_and_found),
        (LastOneWins, NeighbourContract.test_of_two_edits_of_one_state_the_second_is_a_conflict),
        (RemovingFirst, NeighbourContract.test_a_removal_that_is_cancelled_can_be_undone),
        (Silent, CapabilityContract.test_whatever_it_cannot_do_has_a_sentence),
        (Everybodys, CapabilityContract.test_what_it_does_not_have_is_neither_counted_nor_filtered_by),
    ],
    ids=lambda value: value.__name__,
)
async def test_a_faulty_store_does_not_pass(store: type[InMemory], test: Test) -> None:
    contract: Any = _contract_of(test)
    await test(contract, InMemory(_few()))
    with pytest.raises(AssertionError):
        await test(contract, store(_few()))


def _contract_of(test: Test) -> Any:
    every = (VerbsContract, NeighbourContract, CapabilityContract)
    return next(contract() for contract in every if test.__name__ in vars(contract))


def _few() -> list[Any]:
    return list(sample_entries()[:4])


def _trimmed(change: Change) -> Change:
    if not isinstance(change.after, Draft):
        return change
    return replace(change, after=replace(change.after, content=change.after.content.strip()))
