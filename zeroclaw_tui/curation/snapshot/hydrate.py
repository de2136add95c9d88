"""A snapshot beside a store: compared with it, brought into it, or made one of, so that ZeroClaw of its version can
read it."""

from __future__ import annotations

import asyncio
import os
import re
import uuid
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from zeroclaw_tui.backends.base import Memory
from zeroclaw_tui.backends.factory import create_memory, has_database
from zeroclaw_tui.backends.fallback import show
from zeroclaw_tui.backends.lookup import entries_with_key, require_database, rows_by_id
from zeroclaw_tui.backends.tables import local_now, sanitised, utc_now
from zeroclaw_tui.config.memory_config import EmbeddingConfig, MemoryConfig
from zeroclaw_tui.curation.changes import Outcome, refuse_read_only, run_change
from zeroclaw_tui.curation.formats.jsonl import Header, Identity
from zeroclaw_tui.curation.formats.snapshot import Loaded, first_taken, load, what_is_lost, what_is_read
from zeroclaw_tui.curation.library import Library, open_library, profile_to_make, unknown_agent
from zeroclaw_tui.curation.snapshot.snapshot import core_of, place_of
from zeroclaw_tui.curation.transfer.fit import (
    DEFAULT_AGENT,
    TIMES,
    VECTOR,
    Fit,
    IdentityMarks,
    KnownVectors,
    Origin,
    comparable,
    digest,
    known_vectors,
)
from zeroclaw_tui.curation.transfer.reconcile import (
    Look,
    Match,
    Matching,
    MatchKind,
    OnClash,
    Reconciliation,
    Spool,
    Stopped,
    Target,
    bring,
    reconciled,
    verify,
)
from zeroclaw_tui.files.database import wal_file
from zeroclaw_tui.files.disk import file_size
from zeroclaw_tui.memory.change import ProgressCallback, Row, RowChange, Value
from zeroclaw_tui.memory.days import moment
from zeroclaw_tui.memory.entry import MemoryEntry, column_text
from zeroclaw_tui.memory.errors import InspectorError, NotFound, Refused
from zeroclaw_tui.memory.text import counted, first_names, one_line
from zeroclaw_tui.scoring.profiles import COLUMNS, SMALLEST, USUAL, generation_made_by, lacks

if TYPE_CHECKING:
    from zeroclaw_tui.curation.trash.trash import RunningAction

_RFC_3339 = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?([+-]\d\d:\d\d|Z)")
_NOT_FITTING = "Vectors that do not fit this store's are left out; `zeroclaw memory reindex` makes new ones."
_TEXTS_SAID, _OWNER_SAID = 0b011, 0b100
Where = Literal["only here", "only there", "changed", "same"]
"""Here is the store, there the snapshot."""
_ORDER: Sequence[Where] = ("changed", "only here", "only there", "same")
_TOLD_EVERY = 200

_UNREAD = "Where a date cannot be read, the memory's other date or the moment it comes in takes its place ({})."
_SEVERAL_OWNERS = "Several agents have {}, and the file does not say whose it is: it is compared with that of {}."
_NOT_FOUND = "{} not found in the store as the file has it: {}. Another program writes to it too; hydrate again."


@dataclass(slots=True)
class SnapshotFit(Fit):
    """A database as the memories of a snapshot come into it. `aliases` are its agents, `agent` who owns what names none
    of them. `exactly` is False for what went through ZeroClaw's format; `keys` are those of the snapshot.

    `notes` gathers sentences about what rows lost on the way, `unread` the ids of those with a date that is none.
    """

    memory: Memory
    columns: frozenset[str]
    aliases: frozenset[str] = frozenset()
    agent: str | None = None
    is_agent_given: bool = False
    takes: Callable[[Value], bool] = lambda vector: isinstance(vector, bytes)
    exactly: bool = True
    keys: Collection[str] = ()
    origin: Origin = field(default_factory=Origin)
    notes: dict[str, None] = field(default_factory=dict)
    unread: set[str] = field(default_factory=set)
    has_keys = True
    renews_ids = True

    @property
    def has_agents(self) -> bool:
        """Whether memories have owners there."""
        return "agent_id" in self.columns

    def owner_of(self, row: Row) -> str | None:
        """The alias of who owns a row there; None where memories have no owners."""
        if not self.has_agents:
            return None
        if self.is_agent_given or row.agent is None:
            return self.agent
        if row.agent not in self.aliases:
            self.note(f"Memories of the agent {one_line(row.agent)} go to {one_line(self.agent or 'the usual one')}.")
            return self.agent
        return row.agent

    def fitted(self, row: Row) -> Row:
        """The row with what the database has columns for, with an id and dates ZeroClaw could have written."""
        values: dict[str, Value] = {name: value for name, value in row.values.items() if name != "agent_id"}
        values["category"] = values.get("category") or "core"
        dates = [(values.get(name), _date(values.get(name))) for name in TIMES]
        (_, created), (_, updated) = dates
        updated = updated or local_now()
        values["created_at"], values["updated_at"] = created or updated, updated
        session = values.get("session_id")
        if self.has_agents and isinstance(session, str):
            values["session_id"] = sanitised(session)
        if values.get("embedding") is not None and not self.takes(values["embedding"]):
            values["embedding"] = None
            self.note(_NOT_FITTING)
        if values.get("pinned") is None:
            values.pop("pinned", None)
        kept = {name: value for name, value in values.items() if name in self.columns}
        for name, value in values.items():
            if name not in kept and value is not None and value != USUAL.get(name):
                self.note(f"What stood in {one_line(name)} is left out: this database has no such column.")
        kept["id"] = row.id or str(uuid.uuid4())
        if any(told and read is None for told, read in dates):
            self.unread.add(str(kept["id"]))
        return Row(str(kept["id"]), kept, None, self.owner_of(row))

    def place(self, row: Row, key: str | None = None) -> bytes:
        """Its key, and its agent where there are agents."""
        return digest((comparable(row.values.get("key") if key is None else key), comparable(row.agent)))

    def state(self, row: Row) -> bytes:
        """Over key and content: all else a snapshot may have lost."""
        return digest((comparable(row.key),)) + digest((comparable(_content(row)),))

    def said(self, row: Row) -> int:
        """Key and content, and whose it is where the snapshot or the person who brings it says so."""
        is_owned = self.has_agents and (self.is_agent_given or row.agent is not None)
        return _TEXTS_SAID | _OWNER_SAID * is_owned

    def marks(self, row: Row) -> Collection[bytes]:
        """What ZeroClaw would read of a memory of the store, as its own agent's and as anybody's."""
        if self._goes_by_place or row.key not in self.keys:
            return ()
        key, read = row.key, () if self.exactly else what_is_read(row.entry())
        contents = {_content(row), *(content for name, content in read if name == key)}
        found = {_mark("part", *part) for part in read}
        for owner in {None, row.agent}:
            found.add(_mark("key", key, owner))
            found |= {_mark("same", key, content, owner) for content in contents}
        return found

    def sought(self, row: Row, said: int) -> IdentityMarks | None:
        """What any agent has is there, unless it is said whose a memory is. Lines of another memory that look like this
        one are it where nothing else has its key."""
        if self._goes_by_place:
            return None
        key, content, owner = row.key, _content(row), row.agent if said & _OWNER_SAID else None
        return IdentityMarks(
            [_mark("same", key, content, owner)], _mark("key", key, owner), _mark("part", key, content)
        )

    @property
    def _goes_by_place(self) -> bool:
        """Whether a key has one owner, and its content is as it was written."""
        return self.exactly and not self.has_agents

    def note(self, sentence: str) -> None:
        """Remember a sentence, once."""
        self.notes[sentence] = None

    def sentences(self, coming: Iterable[Row]) -> tuple[str, ...]:
        """All that is lost or changed on the way; what is there already keeps its dates, so those are of the others."""
        unread = sum(row.id in self.unread for row in coming)
        return (*self.notes, _UNREAD.format(counted(unread))) if unread else tuple(self.notes)


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


def with_new_id(row: Row) -> Row:
    """The same row under an id of its own."""
    fresh = str(uuid.uuid4())
    return replace(row, id=fresh, values={**row.values, "id": fresh})


def _content(row: Row) -> str:
    return column_text(row.values.get("content"))


def _mark(kind: str, *texts: str | None) -> bytes:
    return digest((kind.encode(), *map(comparable, texts)))


def _date(value: Value) -> str | None:
    """A date as ZeroClaw could have written it; None for what is none."""
    if isinstance(value, str) and _RFC_3339.fullmatch(value) and moment(value) is not None:
        return f"{value[:-1]}+00:00" if value.endswith("Z") else value
    return None


@dataclass(frozen=True, slots=True)
class Difference:
    """One key. `here` is the store's memory (an excerpt is never in it), `there` the file's; None where it has none.

    `lost` says what ZeroClaw's format loses of `there`; of `here` where the file has none of it.
    """

    key: str
    where: Where
    here: MemoryEntry | None
    there: MemoryEntry | None
    lost: tuple[str, ...] = ()


def differences(
    rows: Sequence[Row], loaded: Loaded, fit: SnapshotFit, on_progress: ProgressCallback | None = None
) -> tuple[Difference, ...]:
    """Every key of both sides; once `on_progress` says no, those looked at so far. `rows` are the store's."""
    entries = {row.id: row.entry() for row in rows}
    aliases = {entry.agent for entry in entries.values()}
    lost_there = loaded.lost

    def lost_of(there: MemoryEntry) -> tuple[str, ...]:
        return what_is_lost(there) if loaded.is_exact else lost_there.get(there.key, ())

    found: list[Difference] = []
    met: set[str] = set()
    with closing(Matching(fit)) as matching:
        for row in rows:
            matching.see(row)
        for at, row in enumerate(loaded.rows):
            if on_progress is not None and at % _TOLD_EVERY == 0 and not on_progress(at):
                break
            known = row if row.agent in aliases else replace(row, agent=None)
            is_same = matching.match(known, said=fit.said(known), has_id=False).what is MatchKind.SAME
            there, here = row.entry(), entries[matching.there[0]] if matching.there else None
            if here is not None:
                met.add(here.id)
                lost = lost_of(there) or (what_is_lost(here) if is_same and not loaded.is_exact else ())
                found.append(Difference(here.key, "same" if is_same else "changed", here, there, lost))
            elif not is_same:
                found.append(Difference(there.key, "only there", None, there, lost_of(there)))
    found += [
        Difference(entry.key, "only here", entry, None, what_is_lost(entry))
        for entry in entries.values()
        if entry.id not in met
    ]
    if on_progress is not None:
        on_progress(len(loaded.rows))
    return tuple(sorted(found, key=lambda difference: _ORDER.index(difference.where)))


async def compare(library: Library, path: Path, on_progress: ProgressCallback | None = None) -> tuple[Difference, ...]:
    """Store and snapshot by key, over the store's core memories: changed and one-sided ones first."""
    loaded = await asyncio.to_thread(load, path)
    core = await core_of(library)
    fit = SnapshotFit(library.memory, library.memory.columns or frozenset(), exactly=loaded.is_exact, keys=loaded.keys)
    return await asyncio.to_thread(differences, core.rows, loaded, fit, on_progress)


@dataclass(frozen=True, slots=True)
class HydratePlan:
    """What would be added, and the keys that the store has with another content.

    `here` are the store's memories of the keys in `conflicts`, in the same order. `lost` says by key what the file
    shows to be lost, `notes` are sentences about the file and what this store cannot take. `rows` are the memories as
    they would come in, by id; `beside` are the ids of conflicts that were put beside before. `fit` is how the two were
    compared, `generation` the schema of a database that has yet to be made.
    """

    new: tuple[MemoryEntry, ...]
    conflicts: tuple[MemoryEntry, ...]
    same: int
    lost: tuple[tuple[str, tuple[str, ...]], ...] = ()
    here: tuple[MemoryEntry, ...] = ()
    notes: tuple[str, ...] = ()
    rows: Mapping[str, Row] = field(default_factory=dict, repr=False)
    beside: frozenset[str] = frozenset()
    fit: SnapshotFit = field(kw_only=True, repr=False)
    generation: str = ""


@dataclass(slots=True)
class _SnapshotSupply:
    """What of a snapshot comes into a store, of several with one key and owner the first; a supply of the engine."""

    rows: Sequence[Row]
    into: SnapshotFit
    new: list[Row] = field(default_factory=list)
    conflicts: list[tuple[Row, str | None]] = field(default_factory=list)
    beside: set[str] = field(default_factory=set)
    seconds: int = 0

    async def fit(self, memory: Memory, config: MemoryConfig, now: datetime, *, is_there: bool) -> SnapshotFit:
        """What the database keeps."""
        return self.into

    async def each(self, look: Look, *, to_notes: bool) -> None:
        """Every memory; the whole snapshot is held as it is."""
        await show(self.rows, lambda row: look(row, None))

    def take(self, row: Row, match: Match, here: str | None) -> None:
        """One that was compared; `here` is the id of the store's memory of its key."""
        if match.what is MatchKind.NEW:
            self.new.append(row)
        elif match.what is MatchKind.TAKEN:
            self.conflicts.append((row, here))
            if match.is_beside:
                self.beside.add(row.id)
        elif match.what is MatchKind.SECOND:
            self.seconds += 1

    def alone(self) -> list[Row]:
        """What would come into an empty store."""
        with closing(Matching(self.into)) as matching:
            found = Reconciliation(self.into, matching, each=self.take)
            for row in self.rows:
                found.look(row, None)
        return self.new


async def plan_hydrate(
    library: Library, path: Path, keys: Collection[str] | None = None, *, agent: str | None = None
) -> HydratePlan:
    """What hydrating from this file would do; `keys` picks some of its memories, `agent` is who shall own them.

    Without `agent` each goes to the agent the lossless copy names, else to `default` or the only one; what any agent
    has already is the same. Raises what `load` raises, NotFound for a key the file has not, and Refused where
    the store is none that ZeroClaw hydrates, knows no such agent, or has several and none is named.
    """
    memory = library.memory
    if memory.about.path is None:
        raise Refused(
            f"ZeroClaw hydrates only SQLite stores, and this one is {memory.name}.",
            hint="`zeroclaw memory import` brings memories into any store.",
        )
    loaded = picked(await asyncio.to_thread(load, path), keys)
    fit = await _fit(library, loaded, agent)
    supply = _SnapshotSupply(loaded.rows, fit)
    now = library.trash.now()
    async with reconciled(supply, memory, Target.of(library), now, None, each=supply.take) as found:

        def under_its_id(row: Row) -> Row:
            return with_new_id(row) if found.matching.has_id(row.id) else row

        new = [under_its_id(row) for row in supply.new]
        conflicts = [under_its_id(row) for row, _ in supply.conflicts]
        same = found.of(MatchKind.SAME)
    here = [str(name) for _, name in supply.conflicts]
    coming = [*supply.new, *(row for row, _ in supply.conflicts)]
    present = await rows_by_id(memory, here)
    told = (*loaded.snapshot.notes, *fit.sentences(coming), *first_taken(supply.seconds))
    if fit.has_agents and not (fit.is_agent_given or loaded.is_exact):
        shared = [row.key for row in conflicts if len(await entries_with_key(memory, row.key)) > 1]
        told += (_SEVERAL_OWNERS.format(first_names(shared), one_line(fit.agent or "")),) if shared else ()
    pairs = zip(conflicts, supply.conflicts, strict=True)
    return HydratePlan(
        tuple(row.entry() for row in new),
        tuple(row.entry() for row in conflicts),
        same,
        tuple(loaded.lost.items()),
        tuple(present[name].entry() for name in here),
        told,
        {row.id: row for row in (*new, *conflicts)},
        frozenset(row.id for row, (brought, _) in pairs if brought.id in supply.beside),
        fit=fit,
    )


def plan_making(
    config: MemoryConfig,
    path: Path,
    *,
    version: str,
    agent: str | None = None,
) -> HydratePlan:
    """What `make_store` makes a store of that version of: everything is new. It blocks.

    `agent` is who shall own all of them, else the agents that the file names, `default` where it names none. Raises
    what `load` raises, UsageError for no version, Refused for an agent where it knows none.
    """
    loaded = load(path)
    generation = generation_made_by(version)
    # An agent that the snapshot names is made with the database.
    named = {DEFAULT_AGENT, *(row.agent for row in loaded.rows if row.agent)} if agent is None else {agent}
    fit = SnapshotFit(
        create_memory(config), frozenset(COLUMNS[generation]), frozenset(named), agent or DEFAULT_AGENT,
        agent is not None, fitting_vectors(loaded.header, config.embedding),
    )  # fmt: skip
    if agent is not None and not fit.has_agents:
        raise Refused(lacks("agents"), hint="Leave the agent out, or name a version from 0.8.0 on by --profile.")
    rows = _SnapshotSupply(loaded.rows, fit).alone()
    return HydratePlan(
        tuple(row.entry() for row in rows),
        (),
        0,
        tuple(loaded.lost.items()),
        notes=(*loaded.snapshot.notes, *fit.sentences(rows)),
        rows={row.id: row for row in rows},
        fit=fit,
        generation=generation,
    )


async def plan_new_store(
    config: MemoryConfig,
    path: Path,
    *,
    profile: str | None = None,
    agent: str | None = None,
) -> HydratePlan:
    """What `plan_making` gives for the version of which a store is made here: that of a profile, else the config's."""
    version = (await profile_to_make(config, create_memory(config), profile)).version
    return await asyncio.to_thread(plan_making, config, path, version=version, agent=agent)


def picked(loaded: Loaded, keys: Collection[str] | None) -> Loaded:
    """Only the memories of these keys. Raises NotFound naming the first key that no memory of the file has."""
    if keys is None:
        return loaded
    known = loaded.keys
    for key in keys:
        if key not in known:
            raise NotFound(
                f"The file has no memory with the key {one_line(key)!r}.", hint="Compare again: the file has changed."
            )
    rows = tuple(row for row in loaded.rows if row.key in keys)
    return Loaded(loaded.snapshot, rows, loaded.is_exact, loaded.header)


async def hydrate(
    library: Library, plan: HydratePlan, on_conflict: OnClash, on_progress: ProgressCallback | None = None
) -> Outcome:
    """Bring them in, as one action of verb "hydrate", and read the store again; timestamps are kept where the file has
    them. A note says what was not found there.

    "overwrite" gives the store's memory what the file holds and leaves it the rest (its id, its place, and what
    ZeroClaw's format loses); "rename" puts the file's beside it. Raises Conflicts where a memory changed since the plan
    was made, before anything is written (with "rename" it then comes in beside), and what every write raises.
    """
    refuse_read_only(library)
    is_rename = on_conflict == "rename"
    with Spool() as spool, closing(Matching(plan.fit)) as matching:

        def add(row: Row, present: Row | None = None) -> None:
            spool.add(row, present)
            what = MatchKind.TAKEN if is_rename else MatchKind.NEW
            matching.expect(row, Match(what), said=plan.fit.said(row), brings=False)

        for entry in plan.new:
            add(plan.rows[entry.id])
        if on_conflict == "overwrite":
            now = await rows_by_id(library.memory, [here.id for here in plan.here])
            for there, here in zip(plan.conflicts, plan.here, strict=True):
                row, present = plan.rows[there.id], now.get(here.id)
                add(row if present is None else _over(present, row), present)
        elif on_conflict == "rename":
            for there in plan.conflicts:
                if there.id not in plan.beside:
                    add(plan.rows[there.id])
        spool.end()
        summary = f"hydrated {counted(spool.count)}"
        outcome = await bring(library, "hydrate", summary, spool, "rename" if is_rename else "refuse", on_progress)
        if outcome.cancelled or not outcome.count:
            return outcome
        try:
            _, missing, keys = await verify(
                library, matching, None if on_progress is None else lambda _: on_progress(spool.count)
            )
        except Stopped:
            return outcome
    if not missing:
        return outcome
    note = _NOT_FOUND.format(f"{counted(missing)} {'is' if missing == 1 else 'are'}", first_names(keys, missing))
    return replace(outcome, notes=(*outcome.notes, note))


def _over(present: Row, there: Row) -> Row:
    """A vector of the earlier content would be worse than none."""
    taken = {name: value for name, value in there.values.items() if name in present.values and name != "id"}
    values: dict[str, Value] = {**present.values, VECTOR: None, **taken}
    return Row(present.id, values, present.handle, present.agent)


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
        raise unknown_agent(agent, aliases)
    owner = agent or (DEFAULT_AGENT if DEFAULT_AGENT in aliases or not aliases else _only(aliases))
    return replace(fit, aliases=aliases, agent=owner, is_agent_given=agent is not None)


def _only(aliases: Collection[str]) -> str:
    if len(aliases) == 1:
        return next(iter(aliases))
    raise Refused(
        f"This store belongs to the agents {', '.join(map(one_line, sorted(aliases)))}.",
        hint="Name the one that shall own the memories with --agent.",
    )


def is_empty_store(config: MemoryConfig) -> bool:
    """Whether there is no database yet, or one so small that ZeroClaw takes it for none (< 4,096 bytes, no log)."""
    path = config.database
    return has_database(config.backend) and file_size(path) < SMALLEST and not file_size(wal_file(path))


def snapshot_to_make_from(config: MemoryConfig) -> Path | None:
    """The snapshot of which the database can be made where there is none yet, as ZeroClaw would; else None.

    Blocks: run it in a thread. Raises Unreadable, and Refused for stores that have no snapshot.
    """
    file = place_of(config)
    return file if not config.read_only and file.is_file() and is_empty_store(config) else None


def make_store(config: MemoryConfig, plan: HydratePlan) -> Path:
    """Make the database whole in one step, with the new memories of `plan_making`, as ZeroClaw of that version makes
    it. An empty file in its place is kept beside it. Blocks: run it in a thread.

    Raises Refused when there is a database by now, or it may not be written, and Unreadable.
    """
    target = Path(os.path.realpath(config.database))
    # The last of them first, so that the newest are stored last.
    rows = [plan.rows[entry.id] for entry in reversed(plan.new)]
    store = create_memory(config._replace(location=str(target)))
    require_database(store).create_from_rows(plan.generation, rows, utc_now())
    return target


async def make_and_keep(config: MemoryConfig, plan: HydratePlan, profile: str | None = None) -> Outcome:
    """Make it as `make_store` does, and keep what came in as one action of verb "hydrate", so that an undo takes that
    back and nothing that was done before. A note says why it could not be kept."""
    await asyncio.to_thread(make_store, config, plan)
    try:
        library = await open_library(config, profile)
        try:
            keep = partial(_keep, library, plan)
            return await run_change(library, "hydrate", f"hydrated {counted(len(plan.new))}", keep)
        finally:
            await library.close()
    except InspectorError as error:
        return Outcome("hydrate", len(plan.new), notes=(f"No undo takes this back: {error.message}",))


async def _keep(library: Library, plan: HydratePlan, action: RunningAction, on_progress: ProgressCallback) -> Outcome:
    there = await rows_by_id(library.memory, list(plan.rows))
    await asyncio.to_thread(action.record, [RowChange(None, row) for row in there.values()])
    return Outcome("hydrate", len(plan.new))
