"""Taking changes back: rows become again what they were, with their ids, times, vectors and unknown columns."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice

from zeroclaw_tui.backends.clashes import Ahead, Found, Situation, situation, with_agents_back
from zeroclaw_tui.backends.postgres.browse import SECONDS
from zeroclaw_tui.backends.postgres.connect import Connections
from zeroclaw_tui.backends.postgres.owners import added_back, earlier_owner, owner_of, taken_away
from zeroclaw_tui.backends.postgres.present import Present, Rewriting
from zeroclaw_tui.backends.postgres.schema import Table
from zeroclaw_tui.backends.postgres.transaction import MOST_BYTES, MOST_ROWS, Transaction, kept, looking, transaction
from zeroclaw_tui.memory.change import (
    AGENTS,
    MEMORIES,
    Advance,
    Batches,
    Clash,
    Keep,
    Reversal,
    RowChange,
    StoredRow,
    Value,
)
from zeroclaw_tui.memory.text import one_line

Kept = list[RowChange]


@dataclass(slots=True)
class Outcome:
    """What one batch did, told to the whole only once it is committed."""

    skipped: int = 0
    renamed: dict[str, str] = field(default_factory=dict)
    notes: dict[str, None] = field(default_factory=dict)


class Reverting:
    """Taking these changes back. It may be run again after TableMoved, and goes on where it was."""

    def __init__(self, changes: Batches, keep: Keep, clash: Clash, advance: Advance | None) -> None:
        self._changes = changes
        self._keep = keep
        self._clash = clash
        self._advance = advance
        self._next = self._reverted = 0
        self._whole = Outcome()

    async def run(self, connections: Connections, table: Table) -> Reversal:
        """Take them back in their order. Raises Clashes with "refuse", before anything is written."""
        if self._clash == "refuse" and not self._next:
            await self._look(connections, table)
        chunks = await asyncio.to_thread(self._chunks)
        while chunk := await asyncio.to_thread(next, chunks, None):
            if self._next and self._advance is not None and not self._advance(self._next):
                return self._result(cancelled=True)
            outcome = Outcome()
            async with transaction(connections, table) as open_:
                done = await self._take_back(open_, chunk, outcome)
                await kept(self._keep, done)
            self._next += len(chunk)
            self._reverted += sum(change.row.table != AGENTS for change in chunk) - outcome.skipped
            self._whole.renamed |= outcome.renamed
            self._whole.notes |= outcome.notes
        if self._advance is not None:
            self._advance(self._next)
        return self._result()

    async def _look(self, connections: Connections, table: Table) -> None:
        ahead, found = Ahead(), Found()
        batches = await asyncio.to_thread(lambda: iter(self._changes()))
        async with looking(connections, table, SECONDS) as open_:
            while batch := await asyncio.to_thread(next, batches, None):
                of_memories = [change for change in batch if change.row.table == MEMORIES]
                open_.table = replace(open_.table, agents=with_agents_back(open_.table.agents, batch))
                now = await Present.read(open_, of_memories)
                ahead.look_at(of_memories, now, partial(earlier_owner, open_.table), found)
        found.raise_any()

    def _chunks(self) -> Iterator[Kept]:
        """What is left, as much at a time as one transaction should hold."""
        each = (change for batch in self._changes() for change in batch)
        chunk: Kept = []
        size = 0
        for change in islice(each, self._next, None):
            weight = change.row.size
            if chunk and (len(chunk) >= MOST_ROWS or size + weight > MOST_BYTES):
                yield chunk
                chunk, size = [], 0
            chunk.append(change)
            size += weight
        if chunk:
            yield chunk

    async def _take_back(self, open_: Transaction, chunk: Kept, outcome: Outcome) -> Kept:
        """All of a batch in thought, then the rows as they shall be at once; gives what is to be kept."""
        of_memories = [change for change in chunk if change.row.table == MEMORIES]
        rewriting = Rewriting(await Present.read(open_, of_memories))
        done: Kept = []
        for change in chunk:
            if change.row.table == AGENTS:
                # Whether anything refers to an agent is asked of the table itself.
                await rewriting.carry_out(open_)
                done.append(await _agent(open_, change))
            elif change.row.table == MEMORIES:
                done += await self._taken_back(open_, rewriting, change, outcome)
        await rewriting.carry_out(open_)
        return [replace(change, after=rewriting.as_written(change.after)) for change in done]

    async def _taken_back(self, open_: Transaction, rewriting: Rewriting, change: RowChange, outcome: Outcome) -> Kept:
        wanted = change.before
        owner, added = (None, None) if wanted is None else await _owner(open_, wanted)
        first = [] if added is None else [added]
        met = situation(rewriting, change, owner)
        if met.is_done:
            return [*first, _as_it_is(change, met.own)]
        if met.reason is not None and self._clash == "refuse":
            found = Found()
            found.add(change, met)
            found.raise_any()
        if met.reason is not None and self._clash == "skip":
            outcome.skipped += 1
            return first
        if wanted is None:
            return [self._removed(rewriting, change, met, outcome)]
        row = _fitting(open_.table, wanted, owner, outcome)
        if met.reason is not None and self._clash == "rename":
            return [*first, await self._beside(open_, rewriting, change, row, met, outcome)]
        return [*first, *_in_place(rewriting, change, row, met)]

    def _removed(self, rewriting: Rewriting, change: RowChange, met: Situation, outcome: Outcome) -> RowChange:
        if met.reason is not None and self._clash == "rename":
            told = repr(one_line(str(change.row.values.get("key"))))
            outcome.notes[f"{told} changed since it was stored, so it stays as it is now."] = None
            return _as_it_is(change, met.left)
        for row in met.in_the_way:
            rewriting.drop(row)
        return RowChange(met.left, None, reverses=change.number)

    async def _beside(
        self,
        open_: Transaction,
        rewriting: Rewriting,
        change: RowChange,
        row: StoredRow,
        met: Situation,
        outcome: Outcome,
    ) -> RowChange:
        """Under another key; with an id of its own only where its own belongs to a row that changed."""
        old = str(row.values["key"])
        over = None if met.reason == "changed" else met.own or met.left
        free = await rewriting.free_key(open_, old, row.values.get("agent_id"))
        if free != old:
            outcome.renamed[old] = free
        row = replace(row, values={**row.values, "key": free})
        if over is None and met.own is not None:
            new_id = str(uuid.uuid4())
            row = replace(row, id=new_id, handle=new_id, values={**row.values, "id": new_id})
        if over is not None:
            rewriting.drop(over)
        rewriting.put(row)
        return RowChange(over, row, reverses=change.number)

    def _result(self, *, cancelled: bool = False) -> Reversal:
        return Reversal(self._reverted, dict(self._whole.renamed), cancelled, tuple(self._whole.notes))


def _in_place(rewriting: Rewriting, change: RowChange, row: StoredRow, met: Situation) -> Kept:
    """Instead of whatever is in the way."""
    replaced = met.in_the_way
    if met.own is not None:
        # What an earlier state did not know of, its own row may have: a column that was added since.
        row = replace(row, values={**met.own.values, **row.values})
    for other in replaced:
        rewriting.drop(other)
    rewriting.put(row)
    further = [RowChange(other, None, reverses=change.number) for other in replaced[1:]]
    return [*further, RowChange(replaced[0] if replaced else None, row, reverses=change.number)]


def _as_it_is(change: RowChange, row: StoredRow | None) -> RowChange:
    """Nothing is to be done. Where the row has gone, what it was is kept: nobody else may have it any more."""
    if row is None:
        return RowChange(change.row, None, reverses=change.number)
    return RowChange(row, row, reverses=change.number)


async def _agent(open_: Transaction, change: RowChange) -> RowChange:
    if open_.table.form != "agents":
        return _as_it_is(change, change.row)
    if change.before is not None:
        return await added_back(open_, change, change.before)
    return await taken_away(open_, change)


async def _owner(open_: Transaction, wanted: StoredRow) -> tuple[str | None, RowChange | None]:
    if open_.table.form != "agents":
        return None, None
    known = earlier_owner(open_.table, wanted)
    return (known, None) if known is not None else await owner_of(open_, wanted.agent)


def _fitting(table: Table, wanted: StoredRow, owner: str | None, outcome: Outcome) -> StoredRow:
    """An earlier row with the values that today's table has columns for."""
    known = {*table.columns, "created_at", "updated_at", "category_as_stored"}
    lost = [name for name, value in wanted.values.items() if name not in known and value is not None]
    if lost:
        outcome.notes[f"What stood in {one_line(', '.join(lost))} is left out: this table has no such column."] = None
    values: dict[str, Value] = {name: value for name, value in wanted.values.items() if name in known}
    values["id"] = wanted.id
    if owner is None:
        return replace(wanted, values=values, handle=wanted.id)
    alias = table.agents.get(owner, owner)
    if values.get("agent_id", owner) != owner:
        told = repr(one_line(str(wanted.values.get("key"))))
        outcome.notes[f"{told} belongs to the agent {one_line(alias)} now, since its own is no longer there."] = None
    return replace(wanted, values={**values, "agent_id": owner}, handle=wanted.id, agent=alias)
