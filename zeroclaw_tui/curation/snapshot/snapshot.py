"""What a MEMORY_SNAPSHOT.md and the lossless copy beside it hold, what a store has besides, and writing both."""

from __future__ import annotations

import asyncio
import io
import re
import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from zeroclaw_tui.backends.base import Memory
from zeroclaw_tui.backends.factory import has_database
from zeroclaw_tui.backends.tables import local_now, sanitised
from zeroclaw_tui.config.memory_config import EmbeddingConfig, MemoryConfig
from zeroclaw_tui.curation.changes import Outcome, carried_out, refuse_read_only
from zeroclaw_tui.curation.files import LARGEST, FileVanished, write_file
from zeroclaw_tui.curation.formats.jsonl import (
    Header,
    Identity,
    header_line,
    header_of_line,
    line_of,
    storable_row_of_line,
)
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.snapshot.text import (
    NAME,
    SIDE_CAR,
    Snapshot,
    SnapshotEntry,
    losses,
    read_snapshot,
    snapshot_text,
    what_is_lost,
    what_is_read,
)
from zeroclaw_tui.curation.transfer.fit import (
    DEFAULT_AGENT,
    Fit,
    KnownVectors,
    Origin,
    Sought,
    comparable,
    digest,
    identity_of,
)
from zeroclaw_tui.curation.transfer.reconcile import Matching, What
from zeroclaw_tui.files.disk import read_bytes
from zeroclaw_tui.memory.change import Advance, Keep, StoredRow, Value
from zeroclaw_tui.memory.days import moment
from zeroclaw_tui.memory.entry import MemoryEntry, column_text
from zeroclaw_tui.memory.errors import InspectorError, NotThere, Refused, WrongUse
from zeroclaw_tui.memory.query import MemoryFilter, Superseded
from zeroclaw_tui.memory.text import is_unicode, one_line
from zeroclaw_tui.scoring.profiles import COLUMNS, USUAL

_RFC_3339 = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?([+-]\d\d:\d\d|Z)")
_NOT_FITTING = "Vectors that do not fit this store's are left out; `zeroclaw memory reindex` makes new ones."
_TEXTS_SAID, _OWNER_SAID = 0b011, 0b100

NO_CORE_MEMORIES = "There are no core memories, and without any ZeroClaw writes no snapshot."
ALL_LOST = "The file holds no id, session, namespace, importance or vector of any memory."
_ANY_TIME = datetime(2000, 1, 1, tzinfo=UTC)
_JSONL = (".jsonl", ".ndjson")
_NAME_ONE = f"Name a {NAME}, or a JSONL file that `zeroclaw memory export` wrote."
Where = Literal["only here", "only there", "changed", "same"]
"""Here is the store, there the snapshot."""
_ORDER: Sequence[Where] = ("changed", "only here", "only there", "same")
_TOLD_EVERY = 200
MOST_VECTOR_BYTES = 32_000_000
"""Up to so many bytes of vectors go into the lossless copy: it is written, and kept for an undo, as a whole."""
_CORE = MemoryFilter(category=("core",), superseded=Superseded.SHOW)
_LEFT_OUT = ("the whole memory: it is no UTF-8 text, and ZeroClaw leaves it out",)
_NO_VECTORS = f"{SIDE_CAR} has no vectors, as they are too many; `zeroclaw memory reindex` makes them anew."
_FOREIGN_COPY = f"{SIDE_CAR} is no export of this program."
_REPLACE = "Move it away, or replace it with --replace-foreign; undo brings it back."


@dataclass(slots=True)
class SnapshotFit(Fit):
    """A database as the memories of a snapshot come into it. `aliases` are its agents, `agent` who owns what names none
    of them. `exactly` is False for what went through ZeroClaw's format; `keys` are those of the snapshot.

    `notes` gathers sentences about what rows lost on the way.
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
    has_keys = True
    renews_ids = True

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
            self.note(f"Memories of the agent {one_line(row.agent)} go to {one_line(self.agent or 'the usual one')}.")
            return self.agent
        return row.agent

    def fitted(self, row: StoredRow) -> StoredRow:
        """The row with what the database has columns for, with an id and dates ZeroClaw could have written."""
        values: dict[str, Value] = {name: value for name, value in row.values.items() if name != "agent_id"}
        values["category"] = values.get("category") or "core"
        created, updated = _date(values.get("created_at")), _date(values.get("updated_at"))
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
        return StoredRow(str(kept["id"]), kept, None, self.owner_of(row))

    def place(self, row: StoredRow, key: str | None = None) -> bytes:
        """Its key, and its agent where there are agents."""
        return digest((comparable(row.values.get("key") if key is None else key), comparable(row.agent)))

    def state(self, row: StoredRow) -> bytes:
        """Over key and content: all else a snapshot may have lost."""
        return digest((comparable(row.key),)) + digest((comparable(_content(row)),))

    def said(self, row: StoredRow) -> int:
        """Key and content, and whose it is where the snapshot or the person who brings it says so."""
        is_owned = self.has_agents and (self.is_agent_given or row.agent is not None)
        return _TEXTS_SAID | _OWNER_SAID * is_owned

    def marks(self, row: StoredRow) -> Collection[bytes]:
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

    def sought(self, row: StoredRow, said: int) -> Sought | None:
        """What any agent has is there, unless it is said whose a memory is. Lines of another memory that look like this
        one are it where nothing else has its key."""
        if self._goes_by_place:
            return None
        key, content, owner = row.key, _content(row), row.agent if said & _OWNER_SAID else None
        return Sought([_mark("same", key, content, owner)], _mark("key", key, owner), _mark("part", key, content))

    @property
    def _goes_by_place(self) -> bool:
        """Whether a key has one owner, and its content is as it was written."""
        return self.exactly and not self.has_agents

    def note(self, sentence: str) -> None:
        """Remember a sentence, once."""
        self.notes[sentence] = None


def generation_fit(memory: Memory, generation: str, rows: Iterable[StoredRow], agent: str | None) -> SnapshotFit:
    """A database of this generation that has yet to be made, with the agents these rows name."""
    aliases = {DEFAULT_AGENT, *(row.agent for row in rows if row.agent)} if agent is None else {agent}
    columns = frozenset(COLUMNS[generation])
    return SnapshotFit(memory, columns, frozenset(aliases), agent or DEFAULT_AGENT, agent is not None)


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


def with_new_id(row: StoredRow) -> StoredRow:
    """The same row under an id of its own."""
    fresh = str(uuid.uuid4())
    return replace(row, id=fresh, values={**row.values, "id": fresh})


def _content(row: StoredRow) -> str:
    return column_text(row.values.get("content"))


def _mark(kind: str, *texts: str | None) -> bytes:
    return digest((kind.encode(), *map(comparable, texts)))


def _date(value: Value) -> str | None:
    """A date as ZeroClaw could have written it; None for what is none."""
    if isinstance(value, str) and _RFC_3339.fullmatch(value) and moment(value) is not None:
        return f"{value[:-1]}+00:00" if value.endswith("Z") else value
    return None


@dataclass(frozen=True, slots=True)
class Loaded:
    """A file's memories. `is_exact` is False where they went through ZeroClaw's format; `header` is that of JSONL."""

    snapshot: Snapshot
    rows: tuple[StoredRow, ...]
    is_exact: bool
    header: Header | None = None

    @property
    def keys(self) -> frozenset[str]:
        """Those of its memories."""
        return frozenset(row.key for row in self.rows)

    @property
    def lost(self) -> dict[str, tuple[str, ...]]:
        """What the file itself shows to be lost, by key."""
        return {} if self.is_exact else {entry.key: entry.lost for entry in self.snapshot.entries if entry.lost}


def load(path: Path) -> Loaded:
    """A MEMORY_SNAPSHOT.md, with the lossless copy beside it where that says the same, or one of our JSONL exports.

    Raises NotThere, Unreadable, Refused for a file that is neither, WrongUse naming the line of a broken export.
    """
    data = _read(path)
    if path.suffix.lower() in _JSONL:
        return _loaded_export(path, data)
    snapshot = look(data)
    if not snapshot.is_zeroclaws:
        raise Refused(f"{path} is not a snapshot of ZeroClaw's. {snapshot.because}", title="Another program's file")
    beside = path.with_name(SIDE_CAR) if path.name == NAME else None
    if beside is None or not beside.exists():
        return _through_format(snapshot)
    return _with_side_car(snapshot, beside)


def look(data: bytes) -> Snapshot:
    """What lies in the place of a snapshot, whatever it is."""
    try:
        return read_snapshot(data.decode("utf-8"))
    except UnicodeDecodeError:
        return Snapshot((), False, "It is no UTF-8 text, so ZeroClaw cannot read it.")


def as_zeroclaw_reads(entries: Iterable[MemoryEntry]) -> list[tuple[str, str]]:
    """Keys and contents that ZeroClaw would read of a snapshot of these memories."""
    exported = snapshot_text(entries, _ANY_TIME)
    return [(read.key, read.content) for read in read_snapshot(exported).entries]


def in_order(rows: Iterable[StoredRow]) -> list[StoredRow]:
    """As ZeroClaw writes them: the last updated first, by the bytes of the text, and as stored where that is equal."""
    return sorted(rows, key=lambda row: order_of(row.values.get("updated_at")), reverse=True)


def order_of(updated_at: Value) -> bytes:
    """What SQLite compares of such a text."""
    return str(updated_at or "").encode("utf-8", "surrogatepass")


def _read(path: Path) -> bytes:
    try:
        size = path.stat().st_size
    except OSError:
        size = 0
    if size > LARGEST:
        raise Refused(
            f"{path} is larger than {LARGEST // 1_000_000} MB.",
            hint="`zeroclaw memory import` takes exports of any size.",
        )
    data = read_bytes(path)
    if data is None:
        hint = "ZeroClaw writes it when `snapshot_enabled` is on, and `zeroclaw memory snapshot` now."
        raise NotThere(f"There is no file {path}.", hint=hint if path.name == NAME else _NAME_ONE)
    return data


def _loaded_export(path: Path, data: bytes) -> Loaded:
    header, rows = _parsed(data)
    by_key = {(row.agent, row.key): row for row in reversed(rows)}
    kept = tuple(row for row in rows if by_key[row.agent, row.key] is row)
    if not kept:
        raise Refused(f"{path} holds no memories.", hint="`zeroclaw memory export` writes such files.")
    entries = tuple(_told(row.entry()) for row in kept)
    exported = header.exported if header else None
    return Loaded(Snapshot(entries, True, "", len(rows), exported), kept, True, header)


def _with_side_car(snapshot: Snapshot, beside: Path) -> Loaded:
    """Rows of the lossless copy if ZeroClaw would have written this very snapshot of them."""
    try:
        header, rows = _parsed(_read(beside))
    except InspectorError as error:
        return _through_format(snapshot, f"{beside.name} beside it is not used: {error.message}")
    ordered = in_order(rows)
    read = as_zeroclaw_reads(row.entry() for row in ordered if can_be_written(row))
    if read != [(entry.key, entry.content) for entry in snapshot.entries]:
        return _through_format(
            snapshot, f"{beside.name} beside it holds other memories and is not used: one of the two was written later."
        )
    notes = (f"Everything comes from {beside.name} beside it, which says the same and loses nothing.",)
    return Loaded(replace(snapshot, notes=notes), tuple(ordered), True, header)


def can_be_written(row: StoredRow) -> bool:
    """Whether ZeroClaw can read this row when it writes its snapshot: text in every column that it reads."""
    needed = map(row.values.get, ("key", "content", "category", "created_at", "updated_at"))
    return all(isinstance(value, str) and is_unicode(value) for value in needed)


def _through_format(snapshot: Snapshot, *notes: str) -> Loaded:
    return Loaded(replace(snapshot, notes=(*notes, ALL_LOST)), tuple(map(_row, snapshot.entries)), False)


def _row(entry: SnapshotEntry) -> StoredRow:
    """As ZeroClaw's hydration makes it, with a new id; dates only where the file has them."""
    values: dict[str, Value] = {
        "id": str(uuid.uuid4()),
        "key": entry.key,
        "content": entry.content,
        "category": "core",
    }
    dates = {"created_at": entry.created_at, "updated_at": entry.updated_at}
    return StoredRow(str(values["id"]), values | {name: date for name, date in dates.items() if date is not None})


def _told(entry: MemoryEntry) -> SnapshotEntry:
    return SnapshotEntry(entry.key, entry.content, entry.timestamp or None, entry.updated_at)


def _parsed(data: bytes) -> tuple[Header | None, Sequence[StoredRow]]:
    lines = list(_lines(data))
    if not lines:
        raise WrongUse("It is empty.", hint="`zeroclaw memory export` writes such files.")
    header = header_of_line(lines[0][1])
    return header, [storable_row_of_line(line, number) for number, line in lines[0 if header is None else 1 :]]


def _lines(data: bytes) -> Iterator[tuple[int, bytes]]:
    for number, line in enumerate(io.BytesIO(data), 1):
        if line.strip():
            yield number, line


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
    rows: Sequence[StoredRow], loaded: Loaded, fit: SnapshotFit, advance: Advance | None = None
) -> tuple[Difference, ...]:
    """Every key of both sides; once `advance` says no, those looked at so far. `rows` are the store's."""
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
            if advance is not None and at % _TOLD_EVERY == 0 and not advance(at):
                break
            known = row if row.agent in aliases else replace(row, agent=None)
            is_same = matching.match(known, said=fit.said(known), has_id=False).what is What.SAME
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
    if advance is not None:
        advance(len(loaded.rows))
    return tuple(sorted(found, key=lambda difference: _ORDER.index(difference.where)))


@dataclass(frozen=True, slots=True)
class SnapshotPlan:
    """What writing would do. `entries` are the core memories in ZeroClaw's order; `lossy` those that lose content.

    `beside` is the lossless file that is written with it. `replaces` tells of the file in its place, None for none.
    `foreign` are sentences about files in the way that are another program's. `vectors` is whether the lossless file
    has room for them.
    """

    file: Path
    beside: Path
    entries: int
    lossy: tuple[tuple[str, tuple[str, ...]], ...]
    replaces: Snapshot | None
    foreign: tuple[str, ...] = ()
    vectors: bool = True


def place_of(config: MemoryConfig) -> Path:
    """Where ZeroClaw of this config looks for it. Raises Refused for a lone store, and for backends that have none."""
    if not has_database(config.backend):
        raise Refused(
            f"ZeroClaw writes and reads {NAME} only for the backends sqlite and lucid; this one is {config.backend}.",
            hint="`zeroclaw memory export` writes the memories of every backend to a file.",
        )
    install = config.install
    is_in_place = install.layout != "lone" or install.database == install.root / "memory" / "brain.db"
    if not is_in_place or config.location is not None:
        raise Refused(
            f"This is a lone store: there is no workspace where ZeroClaw would look for {NAME}.",
            hint="Open the workspace or config folder, or name a file.",
        )
    return install.root / NAME


def load_snapshot(path: Path) -> tuple[Snapshot, tuple[MemoryEntry, ...]]:
    """A MEMORY_SNAPSHOT.md, or one of our JSONL exports, as memories to compare and hydrate from. It blocks.

    The lossless copy beside a snapshot is used where ZeroClaw would have written that snapshot of it; the snapshot's
    `notes` say so, or why not. Raises NotThere, Unreadable, WrongUse, Refused for a file of that name that is not
    ZeroClaw's, each in one sentence.
    """
    loaded = load(path)
    return loaded.snapshot, tuple(row.entry() for row in loaded.rows)


async def plan_snapshot(library: Library) -> SnapshotPlan:
    """What writing the snapshot would write and lose."""
    file = place_of(library.config)
    core = await _core(library)
    return await asyncio.to_thread(_planned, file, core)


async def write_snapshot(library: Library, *, replaces_foreign: bool = False) -> Outcome:
    """Write it as ZeroClaw would, and the lossless copy beside it; verb "snapshot", an undo brings the old ones back.

    Without core memories nothing is written, as in ZeroClaw: Refused. A file of that name that is not ZeroClaw's
    is only replaced with `replaces_foreign`.
    """
    refuse_read_only(library)
    file = place_of(library.config)
    core = await _core(library, with_vectors=True)
    count = sum(core.written)
    if not count:
        raise Refused(
            NO_CORE_MEMORIES,
            hint="What it wrote before stays as it is.",
        )
    former = await asyncio.to_thread(lambda: (read_bytes(file), read_bytes(file.with_name(SIDE_CAR))))
    foreign = _foreign(*former)
    if foreign and not replaces_foreign:
        raise Refused(f"{file} would be replaced. {foreign[0]}", hint=_REPLACE, title="Another program's file")
    now = library.trash.now()
    identity = await identity_of(library.memory) if core.has_vectors else None
    version = library.profile.profile.version
    header = Header(
        now.isoformat(), library.memory.name, library.memory.generation, version, core.has_vectors, identity
    )
    data = await asyncio.to_thread(lambda: (_text_of(core, now), _copy_of(core, header)))

    async def work(action: int, advance: Advance) -> Outcome:
        keep = library.trash.keeper(action)
        await asyncio.to_thread(_write, file, former, data, keep)
        return Outcome("snapshot", count, notes=() if core.has_vectors else (_NO_VECTORS,))

    return await carried_out(library, "snapshot", f"wrote {NAME} ({count:,} core memories)", work)


async def compare(library: Library, path: Path, advance: Advance | None = None) -> tuple[Difference, ...]:
    """Store and snapshot by key, over the store's core memories: changed and one-sided ones first."""
    loaded = await asyncio.to_thread(load, path)
    core = await _core(library)
    fit = SnapshotFit(library.memory, library.memory.columns or frozenset(), exactly=loaded.is_exact, keys=loaded.keys)
    return await asyncio.to_thread(differences, core.rows, loaded, fit, advance)


@dataclass(frozen=True, slots=True)
class _Core:
    """The core memories in ZeroClaw's order; `written` says of each whether ZeroClaw can read it."""

    entries: Sequence[MemoryEntry]
    written: Sequence[bool]
    rows: Sequence[StoredRow]
    has_vectors: bool


async def _core(library: Library, *, with_vectors: bool = False) -> _Core:
    rows: list[StoredRow] = []
    size = 0

    def see(row: StoredRow) -> None:
        nonlocal size
        vector = row.values.get("embedding")
        size += len(vector) if isinstance(vector, bytes) else 0
        rows.append(row if with_vectors and size <= MOST_VECTOR_BYTES else _without_vector(row))

    await library.memory.each_row(see, _CORE)
    has_vectors = size <= MOST_VECTOR_BYTES

    def ordered() -> _Core:
        found = in_order(rows)
        entries, written = [row.entry() for row in found], [can_be_written(row) for row in found]
        kept = found if has_vectors else [_without_vector(row) for row in found]
        return _Core(entries, written, kept, has_vectors)

    return await asyncio.to_thread(ordered)


def _without_vector(row: StoredRow) -> StoredRow:
    return replace(row, values={**row.values, "embedding": None}) if "embedding" in row.values else row


def _planned(file: Path, core: _Core) -> SnapshotPlan:
    beside = file.with_name(SIDE_CAR)
    former = read_bytes(file)
    lossy = [(entry.key, lost) for entry, lost in losses(_text_entries(core))]
    left_out = [(entry.key, _LEFT_OUT) for entry, is_in in zip(core.entries, core.written, strict=True) if not is_in]
    return SnapshotPlan(
        file,
        beside,
        sum(core.written),
        (*left_out, *lossy),
        None if former is None else look(former),
        _foreign(former, read_bytes(beside)),
        core.has_vectors,
    )


def _foreign(snapshot: bytes | None, copy: bytes | None) -> tuple[str, ...]:
    """Sentences about what another program wrote there."""
    found: list[str] = []
    if snapshot is not None and not (there := look(snapshot)).is_zeroclaws:
        found.append(f"It is not ZeroClaw's. {there.because}")
    if copy is not None and not _is_export(copy):
        found.append(_FOREIGN_COPY)
    return tuple(found)


def _is_export(data: bytes) -> bool:
    try:
        return header_of_line(data.partition(b"\n")[0] + b"\n") is not None
    except WrongUse:
        return False


def _text_entries(core: _Core) -> Iterable[MemoryEntry]:
    return (entry for entry, is_in in zip(core.entries, core.written, strict=True) if is_in)


def _text_of(core: _Core, now: datetime) -> bytes:
    return snapshot_text(_text_entries(core), now.astimezone()).encode()


def _copy_of(core: _Core, header: Header) -> bytes:
    return b"".join((header_line(header), *(line_of(row, vectors=core.has_vectors) for row in core.rows)))


def _write(file: Path, former: tuple[bytes | None, bytes | None], data: tuple[bytes, bytes], keep: Keep) -> None:
    """The lossless copy first; whatever ends this in between, the two contradict each other, and it is not used."""
    for path, expected, new in zip((file.with_name(SIDE_CAR), file), former[::-1], data[::-1], strict=True):
        try:
            # ZeroClaw writes its snapshot anew at each start: an undo must not put an older one in place of that.
            write_file(path, expected, new, keep, stays_if_changed=path == file)
        except FileVanished as error:
            raise Refused(f"Another program wrote {path} meanwhile.", hint="Look at it, then try again.") from error
