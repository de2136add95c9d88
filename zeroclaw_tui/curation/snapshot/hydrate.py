"""Bringing memories of a snapshot into a store, or making one of them, so that ZeroClaw of its version can read it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Collection, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from zeroclaw_tui.backends.base import Memory
from zeroclaw_tui.backends.factory import create_memory, has_database
from zeroclaw_tui.backends.tables import utc_now
from zeroclaw_tui.config.locations import file_size
from zeroclaw_tui.config.memory_config import MemoryConfig
from zeroclaw_tui.curation.changes import Outcome, refuse_read_only
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.snapshot.snapshot import (
    Loaded,
    SnapshotFit,
    fitting_vectors,
    generation_fit,
    load,
    with_new_id,
)
from zeroclaw_tui.curation.transfer.fit import DEFAULT_AGENT, VECTOR, known_vectors
from zeroclaw_tui.curation.transfer.reconcile import (
    Look,
    Match,
    Matching,
    OnClash,
    Reconciliation,
    Spool,
    Stopped,
    What,
    bring,
    reconciled,
    verify,
)
from zeroclaw_tui.curation.transfer.target import Target
from zeroclaw_tui.files.database import wal_file
from zeroclaw_tui.memory.change import Advance, StoredRow, Value
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.errors import NotThere, Refused
from zeroclaw_tui.memory.text import counted, first_names, one_line
from zeroclaw_tui.scoring.profiles import SMALLEST, generation_made_by, lacks

Resolution = OnClash | Mapping[str, OnClash]
"""One policy for all conflicts of a plan, or one for each by the file's memory's id; those not named are skipped."""

_FIRST_TAKEN = "Of memories with the same key the first is taken."
_NOT_FOUND = "{} not found in the store as the file has it: {}. Another program writes to it too; hydrate again."


@dataclass(frozen=True, slots=True)
class HydratePlan:
    """What would be added, and the keys that the store has with another content.

    `here` are the store's memories of the keys in `conflicts`, in the same order. `lost` says by key what the file
    shows to be lost, `notes` are sentences about the file and what this store cannot take. `rows` are the memories as
    they would come in, by id; `beside` are the ids of conflicts that were put beside before. `fit` is how the two were
    compared.
    """

    new: tuple[MemoryEntry, ...]
    conflicts: tuple[MemoryEntry, ...]
    same: int
    lost: tuple[tuple[str, tuple[str, ...]], ...] = ()
    here: tuple[MemoryEntry, ...] = ()
    notes: tuple[str, ...] = ()
    rows: Mapping[str, StoredRow] = field(default_factory=dict, repr=False)
    beside: frozenset[str] = frozenset()
    fit: SnapshotFit = field(kw_only=True, repr=False)


@dataclass(slots=True)
class _SnapshotSupply:
    """What of a snapshot comes into a store, of several with one key and owner the first; a supply of the engine."""

    rows: Sequence[StoredRow]
    into: SnapshotFit
    new: list[StoredRow] = field(default_factory=list)
    conflicts: list[tuple[StoredRow, str | None]] = field(default_factory=list)
    beside: set[str] = field(default_factory=set)

    async def fit(self, memory: Memory, config: MemoryConfig, now: datetime, *, is_there: bool) -> SnapshotFit:
        """What the database keeps."""
        return self.into

    async def each(self, look: Look, *, to_notes: bool) -> None:
        """Every memory; the whole snapshot is held as it is."""

        def show() -> None:
            for row in self.rows:
                look(row, None)

        await asyncio.to_thread(show)

    def take(self, row: StoredRow, match: Match, here: str | None) -> None:
        """One that was compared; `here` is the id of the store's memory of its key."""
        if match.what is What.NEW:
            self.new.append(row)
        elif match.what is What.TAKEN:
            self.conflicts.append((row, here))
            if match.is_beside:
                self.beside.add(row.id)
        elif match.what is What.SECOND:
            self.into.note(_FIRST_TAKEN)

    def alone(self) -> list[StoredRow]:
        """What would come into an empty store."""
        matching = Matching(self.into)
        with closing(matching):
            found = Reconciliation(self.into, matching, each=self.take)
            for row in self.rows:
                found.look(row, None)
        return self.new


async def plan_hydrate(
    library: Library, path: Path, keys: Collection[str] | None = None, *, agent: str | None = None
) -> HydratePlan:
    """What hydrating from this file would do; `keys` picks some of its memories, `agent` is who shall own them.

    Without `agent` each goes to the agent the lossless copy names, else to `default` or the only one; what any agent
    has already is the same. Raises what `load_snapshot` raises, NotThere for a key the file has not, and Refused where
    the store is none that ZeroClaw hydrates, knows no such agent, or has several and none is named.
    """
    memory = library.memory
    if memory.file is None:
        raise Refused(
            f"ZeroClaw hydrates only SQLite stores, and this one is {memory.name}.",
            hint="`zeroclaw memory import` brings memories into any store.",
        )
    loaded = picked(await asyncio.to_thread(load, path), keys)
    fit = await _fit(library, loaded, agent)
    supply = _SnapshotSupply(loaded.rows, fit)
    now = library.trash.now()
    async with reconciled(supply, memory, Target.of(library), now, None, each=supply.take) as found:
        new = [with_new_id(row) if found.matching.has_id(row.id) else row for row in supply.new]
        conflicts, beside = [], set()
        for row, here in supply.conflicts:
            fresh = with_new_id(row) if found.matching.has_id(row.id) else row
            conflicts.append((fresh, str(here)))
            beside |= {fresh.id} if row.id in supply.beside else set()
        same = found.of(What.SAME)
    present = await memory.stored_by_id([here for _, here in conflicts])
    return HydratePlan(
        tuple(row.entry() for row in new),
        tuple(row.entry() for row, _ in conflicts),
        same,
        _lost(loaded),
        tuple(present[here].entry() for _, here in conflicts),
        (*loaded.snapshot.notes, *fit.notes),
        {row.id: row for row in (*new, *(row for row, _ in conflicts))},
        frozenset(beside),
        fit=fit,
    )


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
    fit = generation_fit(create_memory(config), generation_of(version), loaded.rows, agent)
    if agent is not None and not fit.has_agents:
        raise Refused(lacks("agents"), hint="Leave the agent out, or name a version from 0.8.0 on by --profile.")
    fit.takes = fitting_vectors(loaded.header, config.embedding)
    rows = _SnapshotSupply(loaded.rows, fit).alone()
    return HydratePlan(
        tuple(row.entry() for row in rows),
        (),
        0,
        _lost(loaded),
        notes=(*loaded.snapshot.notes, *fit.notes),
        rows={row.id: row for row in rows},
        fit=fit,
    )


def picked(loaded: Loaded, keys: Collection[str] | None) -> Loaded:
    """Only the memories of these keys. Raises NotThere naming the first key that no memory of the file has."""
    if keys is None:
        return loaded
    known = loaded.keys
    for key in keys:
        if key not in known:
            raise NotThere(f"The file has no memory with the key {one_line(key)!r}.", hint="Without --pick all come.")
    rows = tuple(row for row in loaded.rows if row.key in keys)
    return Loaded(loaded.snapshot, rows, loaded.is_exact, loaded.header)


async def hydrate(
    library: Library, plan: HydratePlan, on_conflict: Resolution, advance: Advance | None = None
) -> Outcome:
    """Bring them in, as one action of verb "hydrate", and read the store again; timestamps are kept where the file has
    them. A note says what was not found there.

    "overwrite" gives the store's memory what the file holds and leaves it the rest (its id, its place, and what
    ZeroClaw's format loses); "rename" puts the file's beside it. Raises Clashes where a memory changed since the plan
    was made, before anything is written (with any "rename" it then comes in beside), and what every write raises.
    """
    refuse_read_only(library)
    policies = [policy_of(on_conflict, there) for there in plan.conflicts]
    is_rename = "rename" in policies
    with Spool() as spool, closing(Matching(plan.fit)) as matching:

        def add(row: StoredRow, present: StoredRow | None = None) -> None:
            spool.add(row, present)
            what = What.TAKEN if is_rename else What.NEW
            matching.expect(row, Match(what), said=plan.fit.said(row), brings=False)

        for entry in plan.new:
            add(plan.rows[entry.id])
        for there, here, policy in zip(plan.conflicts, plan.here, policies, strict=True):
            row = plan.rows[there.id]
            if policy == "overwrite":
                present = await library.memory.stored(here.id)
                add(row if present is None else _over(present, row), present)
            elif policy == "rename" and there.id not in plan.beside:
                add(row)
        spool.end()
        summary = f"hydrated {counted(spool.count)}"
        outcome = await bring(library, "hydrate", summary, spool, "rename" if is_rename else "refuse", advance)
        if outcome.cancelled or not outcome.count:
            return outcome
        try:
            _, missing, keys = await verify(
                library, matching, None if advance is None else lambda _: advance(spool.count)
            )
        except Stopped:
            return outcome
    if not missing:
        return outcome
    note = _NOT_FOUND.format(f"{counted(missing)} {'is' if missing == 1 else 'are'}", first_names(keys, missing))
    return replace(outcome, notes=(*outcome.notes, note))


def policy_of(resolution: Resolution, there: MemoryEntry) -> OnClash:
    """What happens to one conflict."""
    return resolution if isinstance(resolution, str) else resolution.get(there.id, "skip")


def _over(present: StoredRow, there: StoredRow) -> StoredRow:
    """A vector of the earlier content would be worse than none."""
    taken = {name: value for name, value in there.values.items() if name in present.values and name != "id"}
    values: dict[str, Value] = {**present.values, VECTOR: None, **taken}
    return StoredRow(present.id, values, present.handle, present.agent)


async def _fit(library: Library, loaded: Loaded, agent: str | None) -> SnapshotFit:
    """Raises Refused for an agent that is not there."""
    columns, facts = library.memory.columns or frozenset[str](), (await library.memory.health()).facts
    has_vectors = any(row.values.get(VECTOR) is not None for row in loaded.rows)
    fit = SnapshotFit(
        library.memory,
        columns,
        takes=fitting_vectors(loaded.header, library.config.embedding, known_vectors(facts) if has_vectors else None),
        exactly=loaded.is_exact,
        keys=loaded.keys,
    )
    if "agents" not in facts:
        if agent is not None:
            raise Refused(lacks("agents"), hint="Leave the agent out: all memories here have one owner.")
        return fit
    aliases = frozenset(facts["agents"])
    if agent is not None and agent not in aliases:
        raise Refused(
            f"This store has no agent {one_line(agent)!r}.",
            hint=f"It has {', '.join(map(one_line, sorted(aliases)))}." if aliases else "Leave the agent out.",
        )
    owner = agent or (DEFAULT_AGENT if DEFAULT_AGENT in aliases or not aliases else _only(aliases))
    return replace(fit, aliases=aliases, agent=owner, is_agent_given=agent is not None)


def _only(aliases: Collection[str]) -> str:
    if len(aliases) == 1:
        return next(iter(aliases))
    raise Refused(
        f"This store belongs to the agents {', '.join(map(one_line, sorted(aliases)))}.",
        hint="Name the one that shall own the memories with --agent.",
    )


def _lost(loaded: Loaded) -> tuple[tuple[str, tuple[str, ...]], ...]:
    keys = loaded.keys
    return tuple((key, lost) for key, lost in loaded.lost.items() if key in keys)


def is_empty_store(config: MemoryConfig) -> bool:
    """Whether there is no database yet, or one so small that ZeroClaw takes it for none (< 4,096 bytes, no log)."""
    path = config.database
    return has_database(config.backend) and file_size(path) < SMALLEST and not file_size(wal_file(path))


def generation_of(version: str | None) -> str:
    """The schema generation a version makes; without one the oldest, which every later ZeroClaw migrates.

    Raises WrongUse for what is no version.
    """
    return "G1" if version is None else generation_made_by(version)


def make_store(
    config: MemoryConfig,
    entries: Sequence[MemoryEntry],
    version: str | None,
    *,
    rows: Mapping[str, StoredRow] | None = None,
    agent: str | None = None,
) -> Path:
    """Make the database whole in one step, with these memories, as ZeroClaw of that version makes it (None: 0.1.7's
    schema, which every later one migrates). An empty file in its place is kept beside it. Blocks: run it in a thread.

    `rows` has by id what is more than an entry tells (vectors, columns of other programs); `agent` is who shall own
    all of them, else the agents that rows name, `default` where they name none. Raises Refused when there is a
    database by now, or it may not be written, and Unreadable.
    """
    generation = generation_of(version)
    known = rows or {}
    given = [known.get(entry.id) or StoredRow.of(entry) for entry in entries]
    target = Path(os.path.realpath(config.database))
    memory = create_memory(config._replace(location=str(target)))
    wanted = _SnapshotSupply(given, generation_fit(memory, generation, given, agent)).alone()
    # The last of them first, so that the newest are stored last.
    memory.fill(generation, wanted[::-1], utc_now())
    return target
