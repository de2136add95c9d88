"""Bringing memories of a snapshot into a store, so that ZeroClaw of its version can read the result."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from zeroclaw_tui.backends.sqlite.connection import Reading, as_text
from zeroclaw_tui.backends.sqlite.raw_rows import aliases_of
from zeroclaw_tui.backends.sqlite.schema import lacks
from zeroclaw_tui.backends.sqlite.writable import WritableSqlite
from zeroclaw_tui.backends.table_rows import DEFAULT_AGENT
from zeroclaw_tui.config.memory_config import MemoryConfig
from zeroclaw_tui.curation.changing import Outcome, refuse_read_only
from zeroclaw_tui.curation.changing_rows import change_rows
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.snapshot.differing import Present
from zeroclaw_tui.curation.snapshot.fitting import Target, first_of_each_key, fitting_vectors, with_new_id
from zeroclaw_tui.curation.snapshot.loading import Loaded, load
from zeroclaw_tui.curation.snapshot.making import generation_of, is_empty_store, make_store, target_of
from zeroclaw_tui.curation.transfer.identity import known_vectors
from zeroclaw_tui.memory.change import Advance, RowChange, StoredRow, Value
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.errors import NotThere, Refused
from zeroclaw_tui.memory.query import MemoryFilter, Superseded
from zeroclaw_tui.memory.text import one_line

__all__ = [
    "HydratePlan",
    "OnConflict",
    "Resolution",
    "generation_of",
    "hydrate",
    "is_empty_store",
    "make_store",
    "picked",
    "plan_hydrate",
    "plan_making",
    "policy_of",
]  # fmt: skip

OnConflict = Literal["skip", "overwrite", "rename"]
Resolution = OnConflict | Mapping[str, OnConflict]
"""One policy for all conflicts of a plan, or one for each by the file's memory's id; those not named are skipped."""

_AT_ONCE = 250
_BESIDE = " (restored"
_MOST_BESIDE = 50


@dataclass(frozen=True, slots=True)
class HydratePlan:
    """What would be added, and the keys that the store has with another content.

    `here` are the store's memories of the keys in `conflicts`, in the same order. `lost` says by key what the file
    shows to be lost, `notes` are sentences about the file and what this store cannot take. `rows` are the memories as
    they would come in, by id.
    """

    new: tuple[MemoryEntry, ...]
    conflicts: tuple[MemoryEntry, ...]
    same: int
    lost: tuple[tuple[str, tuple[str, ...]], ...] = ()
    here: tuple[MemoryEntry, ...] = ()
    notes: tuple[str, ...] = ()
    rows: Mapping[str, StoredRow] = field(default_factory=dict, repr=False)


async def plan_hydrate(
    library: Library, path: Path, keys: Collection[str] | None = None, *, agent: str | None = None
) -> HydratePlan:
    """What hydrating from this file would do; `keys` picks some of its memories, `agent` is who shall own them.

    Without `agent` each goes to the agent the lossless copy names, else to `default` or the only one; what any agent
    has already is the same. Raises what `load_snapshot` raises, NotThere for a key the file has not, and Refused where
    the store is none that ZeroClaw hydrates, knows no such agent, or has several and none is named.
    """
    memory = library.memory
    if not isinstance(memory, WritableSqlite):
        raise Refused(
            f"ZeroClaw hydrates only SQLite stores, and this one is {memory.name}.",
            hint="`zeroclaw memory import` brings memories into any store.",
        )
    loaded = picked(await asyncio.to_thread(load, path), keys)
    target = await _target(library, memory, loaded, agent)
    rows = await asyncio.to_thread(first_of_each_key, loaded.rows, target)
    there, taken = await _store_rows(library, {row.entry().key for row in rows}, {row.id for row in rows})
    return await asyncio.to_thread(_compared, rows, there, taken, loaded, target)


def plan_making(
    config: MemoryConfig,
    path: Path,
    keys: Collection[str] | None = None,
    *,
    version: str | None = None,
    agent: str | None = None,
) -> HydratePlan:
    """What `make_store` would make an empty store of: everything is new. It blocks.

    Raises what `load_snapshot` raises, NotThere, WrongUse for no version, Refused for an agent where it knows none.
    """
    loaded = picked(load(path), keys)
    target = target_of(generation_of(version), loaded.rows, agent)
    if agent is not None and not target.has_agents:
        raise Refused(lacks("agents"), hint="Leave the agent out, or name a version from 0.8.0 on by --profile.")
    target.takes = fitting_vectors(loaded.header, config.embedding)
    rows = first_of_each_key(loaded.rows, target)
    return HydratePlan(
        tuple(row.entry() for row in rows),
        (),
        0,
        _lost(loaded),
        notes=(*loaded.snapshot.notes, *target.notes),
        rows={row.id: row for row in rows},
    )


def picked(loaded: Loaded, keys: Collection[str] | None) -> Loaded:
    """Only the memories of these keys. Raises NotThere naming the first key that no memory of the file has."""
    if keys is None:
        return loaded
    known = {row.entry().key for row in loaded.rows}
    for key in keys:
        if key not in known:
            raise NotThere(f"The file has no memory with the key {one_line(key)!r}.", hint="Without --pick all come.")
    rows = tuple(row for row in loaded.rows if row.entry().key in keys)
    return Loaded(loaded.snapshot, rows, loaded.is_exact, loaded.header)


async def hydrate(
    library: Library, plan: HydratePlan, on_conflict: Resolution, advance: Advance | None = None
) -> Outcome:
    """Bring them in, as one action of verb "hydrate"; timestamps are kept where the file has them.

    "overwrite" gives the store's memory what the file holds and leaves it the rest (its id, its place, and what
    ZeroClaw's format loses); "rename" puts the file's beside it. Raises Clashes where a memory changed since the plan
    was made, before anything is written (with any "rename" it then comes in beside), and what every write raises.
    """
    refuse_read_only(library)
    changes = [RowChange(plan.rows[entry.id], None) for entry in plan.new]
    policies = [policy_of(on_conflict, there) for there in plan.conflicts]
    for there, here, policy in zip(plan.conflicts, plan.here, policies, strict=True):
        if policy != "skip":
            changes += await _resolved(library, plan.rows[there.id], here, policy)
    if not changes:
        return Outcome("hydrate", 0)

    def batches() -> Iterator[Sequence[RowChange]]:
        for start in range(0, len(changes), _AT_ONCE):
            yield changes[start : start + _AT_ONCE]

    count = f"{len(changes):,} {'memory' if len(changes) == 1 else 'memories'}"
    clash: Literal["refuse", "rename"] = "rename" if "rename" in policies else "refuse"
    return await change_rows(library, "hydrate", f"hydrated {count}", batches, clash=clash, advance=advance)


def policy_of(resolution: Resolution, there: MemoryEntry) -> OnConflict:
    """What happens to one conflict."""
    return resolution if isinstance(resolution, str) else resolution.get(there.id, "skip")


async def _resolved(library: Library, there: StoredRow, here: MemoryEntry, on_conflict: OnConflict) -> list[RowChange]:
    """What brings the file's memory in where the store has its key."""
    if on_conflict == "rename":
        return [] if await _is_beside(library, there, here) else [RowChange(there, None)]
    present = await library.memory.stored(here.id)
    if present is None:
        return [RowChange(there, None)]
    return [RowChange(_overwritten(present, there), present)]


def _overwritten(present: StoredRow, there: StoredRow) -> StoredRow:
    """A vector of the earlier content would be worse than none."""
    taken = {name: value for name, value in there.values.items() if name in present.values and name != "id"}
    values: dict[str, Value] = {**present.values, "embedding": None, **taken}
    return StoredRow(present.id, values, present.handle, present.agent)


async def _is_beside(library: Library, there: StoredRow, here: MemoryEntry) -> bool:
    """Whether an earlier "rename" put this very memory there."""
    wanted = there.entry()
    for found in await library.memory.keys_starting(f"{wanted.key}{_BESIDE}", _MOST_BESIDE):
        if found.agent == here.agent and (await library.whole(found.handle)).content == wanted.content:
            return True
    return False


async def _target(library: Library, memory: WritableSqlite, loaded: Loaded, agent: str | None) -> Target:
    """Raises Refused for an agent that is not there."""
    schema = memory.schema
    known = known_vectors((await memory.health()).facts) if any(map(_has_vector, loaded.rows)) else None
    takes = fitting_vectors(loaded.header, library.config.embedding, known)
    if not schema.has_agents:
        if agent is not None:
            raise Refused(lacks("agents"), hint="Leave the agent out: all memories here have one owner.")
        return Target(schema.columns, takes=takes)
    aliases = frozenset((await Reading(memory.path).run(aliases_of)).values())
    if agent is not None and agent not in aliases:
        raise Refused(
            f"This store has no agent {one_line(agent)!r}.",
            hint=f"It has {', '.join(map(one_line, sorted(aliases)))}." if aliases else "Leave the agent out.",
        )
    owner = agent or (DEFAULT_AGENT if DEFAULT_AGENT in aliases or not aliases else _only(aliases))
    return Target(schema.columns, aliases, owner, agent is not None, takes)


def _has_vector(row: StoredRow) -> bool:
    return row.values.get("embedding") is not None


def _only(aliases: Collection[str]) -> str:
    if len(aliases) == 1:
        return next(iter(aliases))
    raise Refused(
        f"This store belongs to the agents {', '.join(map(one_line, sorted(aliases)))}.",
        hint="Name the one that shall own the memories with --agent.",
    )


async def _store_rows(
    library: Library, keys: Collection[str], ids: Collection[str]
) -> tuple[list[MemoryEntry], set[str]]:
    """The store's memories of these keys, and which of the ids are taken."""
    found: list[MemoryEntry] = []
    taken: set[str] = set()

    def see(row: StoredRow) -> None:
        if row.id in ids:
            taken.add(row.id)
        if as_text(row.values.get("key")) in keys:
            found.append(row.entry())

    await library.memory.each_row(see, MemoryFilter(superseded=Superseded.SHOW))
    return found, taken


def _compared(
    rows: Sequence[StoredRow], there: Sequence[MemoryEntry], taken: Collection[str], loaded: Loaded, target: Target
) -> HydratePlan:
    present = Present(there, is_exact=loaded.is_exact)
    owned = {row.id for row in loaded.rows if row.agent is not None}
    new: list[StoredRow] = []
    conflicts: list[tuple[StoredRow, MemoryEntry]] = []
    same = 0
    for row in rows:
        is_owned = target.has_agents and (target.is_agent_given or row.id in owned)
        match = present.match(row, row.agent if is_owned else None)
        fresh = with_new_id(row) if row.id in taken else row
        if match.is_same:
            same += 1
            continue
        here = present.match(row, row.agent if target.has_agents else None).here
        if here is None:
            new.append(fresh)
        else:
            conflicts.append((fresh, here))
    every = [*new, *(row for row, _ in conflicts)]
    return HydratePlan(
        tuple(row.entry() for row in new),
        tuple(row.entry() for row, _ in conflicts),
        same,
        _lost(loaded),
        tuple(here for _, here in conflicts),
        (*loaded.snapshot.notes, *target.notes),
        {row.id: row for row in every},
    )


def _lost(loaded: Loaded) -> tuple[tuple[str, tuple[str, ...]], ...]:
    keys = {row.entry().key for row in loaded.rows}
    return tuple((key, lost) for key, lost in loaded.lost.items() if key in keys)
