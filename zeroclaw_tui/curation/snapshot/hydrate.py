"""Bringing memories of a snapshot into a store, or making one of them, so that ZeroClaw of its version can read it."""

from __future__ import annotations

import asyncio
import os
import re
import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from zeroclaw_tui.backends.clock import local_now, utc_now
from zeroclaw_tui.backends.factory import create_memory
from zeroclaw_tui.backends.listing import moment
from zeroclaw_tui.backends.profiles import has_database
from zeroclaw_tui.backends.session_ids import sanitised
from zeroclaw_tui.config.layouts import file_size
from zeroclaw_tui.config.memory_config import EmbeddingConfig, MemoryConfig
from zeroclaw_tui.curation.changes import Outcome, change_rows, refuse_read_only
from zeroclaw_tui.curation.formats.jsonl import Header, Identity
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.snapshot.snapshot import Loaded, Present, load
from zeroclaw_tui.curation.transfer.fit import DEFAULT_AGENT, KnownVectors, known_vectors
from zeroclaw_tui.files.database import as_text, wal_file
from zeroclaw_tui.memory.change import Advance, RowChange, StoredRow, Value
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.errors import NotThere, Refused
from zeroclaw_tui.memory.query import MemoryFilter, Superseded
from zeroclaw_tui.memory.text import one_line
from zeroclaw_tui.scoring.generations import COLUMNS, SMALLEST, USUAL, generation_made_by, lacks

OnConflict = Literal["skip", "overwrite", "rename"]
Resolution = OnConflict | Mapping[str, OnConflict]
"""One policy for all conflicts of a plan, or one for each by the file's memory's id; those not named are skipped."""

_AT_ONCE = 250
_BESIDE = " (restored"
_MOST_BESIDE = 50
_RFC_3339 = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?([+-]\d\d:\d\d|Z)")
_NOT_FITTING = "Vectors that do not fit this store's are left out; `zeroclaw memory reindex` makes new ones."


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
    if memory.file is None:
        raise Refused(
            f"ZeroClaw hydrates only SQLite stores, and this one is {memory.name}.",
            hint="`zeroclaw memory import` brings memories into any store.",
        )
    loaded = picked(await asyncio.to_thread(load, path), keys)
    target = await _target(library, loaded, agent)
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
        if found.agent == here.agent and (await library.memory.whole(found.handle)).content == wanted.content:
            return True
    return False


async def _target(library: Library, loaded: Loaded, agent: str | None) -> Target:
    """Raises Refused for an agent that is not there."""
    columns, facts = library.memory.columns or frozenset[str](), (await library.memory.health()).facts
    known = known_vectors(facts) if any(map(_has_vector, loaded.rows)) else None
    takes = fitting_vectors(loaded.header, library.config.embedding, known)
    if "agents" not in facts:
        if agent is not None:
            raise Refused(lacks("agents"), hint="Leave the agent out: all memories here have one owner.")
        return Target(columns, takes=takes)
    aliases = frozenset(facts["agents"])
    if agent is not None and agent not in aliases:
        raise Refused(
            f"This store has no agent {one_line(agent)!r}.",
            hint=f"It has {', '.join(map(one_line, sorted(aliases)))}." if aliases else "Leave the agent out.",
        )
    owner = agent or (DEFAULT_AGENT if DEFAULT_AGENT in aliases or not aliases else _only(aliases))
    return Target(columns, aliases, owner, agent is not None, takes)


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
    given = [known.get(entry.id) or _row_of(entry) for entry in entries]
    wanted = first_of_each_key(given, target_of(generation, given, agent))
    target = Path(os.path.realpath(config.database))
    # The last of them first, so that the newest are stored last.
    create_memory(replace(config, location=str(target))).fill(generation, wanted[::-1], utc_now())
    return target


def target_of(generation: str, rows: Sequence[StoredRow], agent: str | None) -> Target:
    """A database of this generation that has yet to be made, with the agents these rows name."""
    aliases = {DEFAULT_AGENT, *(row.agent for row in rows if row.agent)} if agent is None else {agent}
    return Target(frozenset(COLUMNS[generation]), frozenset(aliases), agent or DEFAULT_AGENT, agent is not None)


def _row_of(entry: MemoryEntry) -> StoredRow:
    """What an entry tells of its row; `kind` is in ZeroClaw's own words only in the row itself."""
    values: dict[str, Value] = {
        "id": entry.id,
        "key": entry.key,
        "content": entry.content,
        "category": entry.category,
        "created_at": entry.timestamp,
        "updated_at": entry.updated_at,
        "session_id": entry.session_id,
        "namespace": entry.namespace,
        "importance": entry.importance,
        "superseded_by": entry.superseded_by,
        "pinned": None if entry.pinned is None else int(entry.pinned),
    }
    return StoredRow(entry.id, values, None, entry.agent)


@dataclass(slots=True)
class Target:
    """The database rows are made fit for. `aliases` are its agents, `agent` who owns what names none of them.

    `notes` gathers sentences about what rows lost on the way.
    """

    columns: frozenset[str]
    aliases: frozenset[str] = frozenset()
    agent: str | None = None
    is_agent_given: bool = False
    takes: Callable[[Value], bool] = lambda vector: isinstance(vector, bytes)
    notes: dict[str, None] = field(default_factory=dict)

    @property
    def has_agents(self) -> bool:
        """Whether memories have owners there."""
        return "agent_id" in self.columns

    def owner_of(self, row: StoredRow) -> str | None:
        """The alias of who owns a row there; None where memories have no owners."""
        if not self.has_agents:
            return None
        if self.is_agent_given or row.agent is None:
            return self.agent
        if row.agent not in self.aliases:
            self._note(f"Memories of the agent {one_line(row.agent)} go to {one_line(self.agent or 'the usual one')}.")
            return self.agent
        return row.agent

    def fitted(self, row: StoredRow) -> StoredRow:
        """The row with what the database has columns for, with an id and dates ZeroClaw could have written."""
        now = local_now()
        values: dict[str, Value] = {name: value for name, value in row.values.items() if name != "agent_id"}
        values["category"] = values.get("category") or "core"
        values["created_at"] = _date_or(values.get("created_at"), _date_or(values.get("updated_at"), now))
        values["updated_at"] = _date_or(values.get("updated_at"), now)
        session = values.get("session_id")
        if self.has_agents and isinstance(session, str):
            values["session_id"] = sanitised(session)
        if values.get("embedding") is not None and not self.takes(values["embedding"]):
            values["embedding"] = None
            self._note(_NOT_FITTING)
        if values.get("pinned") is None:
            values.pop("pinned", None)
        kept = {name: value for name, value in values.items() if name in self.columns}
        self._tell_lost(values, kept)
        kept["id"] = row.id or str(uuid.uuid4())
        return StoredRow(str(kept["id"]), kept, None, self.owner_of(row))

    def _tell_lost(self, values: dict[str, Value], kept: dict[str, Value]) -> None:
        for name, value in values.items():
            if name not in kept and value is not None and value != USUAL.get(name):
                self._note(f"What stood in {one_line(name)} is left out: this database has no such column.")

    def _note(self, sentence: str) -> None:
        self.notes[sentence] = None


def with_new_id(row: StoredRow) -> StoredRow:
    """The same row under an id of its own."""
    fresh = str(uuid.uuid4())
    return replace(row, id=fresh, values={**row.values, "id": fresh})


def first_of_each_key(rows: Iterable[StoredRow], target: Target) -> list[StoredRow]:
    """Rows made fit, of several with one key and owner the first."""
    found: dict[tuple[str | None, Value], StoredRow] = {}
    for row in map(target.fitted, rows):
        owned = (row.agent if target.has_agents else None, row.values["key"])
        if owned in found:
            target.notes["Of memories with the same key the first is taken."] = None
        else:
            found[owned] = row
    return list(found.values())


def fitting_vectors(
    header: Header | None, embedding: EmbeddingConfig, known: KnownVectors | None = None
) -> Callable[[Value], bool]:
    """Tells of a vector of the file whether it fits among a store's and comes from the model that is configured."""
    there = known or KnownVectors()
    ours = Identity(embedding.provider, embedding.model, embedding.dimensions) if embedding.is_on else None
    made_by = header.embedding if header is not None else None

    def takes(vector: Value) -> bool:
        if not isinstance(vector, bytes) or not there.fits(vector, made_by):
            return False
        return ours is None or (made_by == ours if made_by is not None else len(vector) == 4 * ours.dimensions)

    return takes


def _date_or(value: Value, otherwise: Value) -> Value:
    if isinstance(value, str) and _RFC_3339.fullmatch(value) and moment(value) is not None:
        return f"{value[:-1]}+00:00" if value.endswith("Z") else value
    return otherwise
