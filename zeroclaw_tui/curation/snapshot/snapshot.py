"""Writing the snapshot of a store, and comparing one with it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from zeroclaw_tui.backends.profiles import has_database
from zeroclaw_tui.config.memory_config import MemoryConfig
from zeroclaw_tui.curation.changing import Outcome, carried_out, refuse_read_only
from zeroclaw_tui.curation.files import FileVanished, write_file
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.snapshot.differing import Difference, Where, differences
from zeroclaw_tui.curation.snapshot.loading import can_be_written, in_order, load, look
from zeroclaw_tui.curation.snapshot.text import NAME, SIDE_CAR, Snapshot, losses, snapshot_text
from zeroclaw_tui.curation.transfer.identity import identity_of
from zeroclaw_tui.curation.transfer.jsonl import Header, header_line, header_of_line, line_of
from zeroclaw_tui.files.disk import read_bytes
from zeroclaw_tui.memory.change import Advance, Keep, StoredRow
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.errors import Refused, WrongUse
from zeroclaw_tui.memory.query import MemoryFilter, Superseded

__all__ = [
    "Difference", "SnapshotPlan", "Where", "compare", "load_snapshot", "place_of", "plan_snapshot", "snapshot_file",
    "write_snapshot",
]  # fmt: skip

MOST_VECTOR_BYTES = 32_000_000
"""Up to so many bytes of vectors go into the lossless copy: it is written, and kept for an undo, as a whole."""

_CORE = MemoryFilter(category=("core",), superseded=Superseded.SHOW)
_LEFT_OUT = ("the whole memory: it is no UTF-8 text, and ZeroClaw leaves it out",)
_NO_VECTORS = f"{SIDE_CAR} has no vectors, as they are too many; `zeroclaw memory reindex` makes them anew."
_FOREIGN_COPY = f"{SIDE_CAR} is no export of this program."
_REPLACE = "Move it away, or replace it with --replace-foreign; undo brings it back."


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


def snapshot_file(library: Library) -> Path:
    """Where ZeroClaw looks for it. Raises Refused for a lone store that has no such place."""
    return place_of(library.config)


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
    file = snapshot_file(library)
    core = await _core(library)
    return await asyncio.to_thread(_planned, file, core)


async def write_snapshot(library: Library, *, replaces_foreign: bool = False) -> Outcome:
    """Write it as ZeroClaw would, and the lossless copy beside it; verb "snapshot", an undo brings the old ones back.

    Without core memories nothing is written, as in ZeroClaw: Refused. A file of that name that is not ZeroClaw's
    is only replaced with `replaces_foreign`.
    """
    refuse_read_only(library)
    file = snapshot_file(library)
    core = await _core(library, with_vectors=True)
    count = sum(core.written)
    if not count:
        raise Refused(
            "There are no core memories, and without any ZeroClaw writes no snapshot.",
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
    return await asyncio.to_thread(differences, core.entries, loaded, advance)


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
        kept = (found if has_vectors else [_without_vector(row) for row in found]) if with_vectors else []
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
