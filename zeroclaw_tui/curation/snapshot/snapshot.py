"""Writing MEMORY_SNAPSHOT.md as ZeroClaw does, with the lossless copy beside it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from zeroclaw_tui.backends.factory import has_database
from zeroclaw_tui.config.memory_config import MemoryConfig
from zeroclaw_tui.curation import external
from zeroclaw_tui.curation.changes import Outcome, refuse_read_only, run_change
from zeroclaw_tui.curation.formats.jsonl import Header, header_line, header_of_line, line_of
from zeroclaw_tui.curation.formats.snapshot import (
    LEFT_OUT,
    NAME,
    SIDE_CAR,
    Snapshot,
    can_be_written,
    in_order,
    look,
    losses,
    snapshot_text,
)
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.running_action import RunningAction
from zeroclaw_tui.curation.transfer.fields import identity_of
from zeroclaw_tui.files.disk import read_bytes
from zeroclaw_tui.memory.change import Journal, ProgressCallback, Row, RowChange
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.errors import Refused, UsageError
from zeroclaw_tui.memory.query import MemoryFilter, Superseded

NO_CORE_MEMORIES = "There are no core memories, and without any ZeroClaw writes no snapshot."
MOST_VECTOR_BYTES = 32_000_000
"""Up to so many bytes of vectors go into the lossless copy: it is written, and kept for an undo, as a whole."""
_CORE = MemoryFilter(category=("core",), superseded=Superseded.SHOW)
_NO_VECTORS = f"{SIDE_CAR} has no vectors, as they are too many; run `zeroclaw memory reindex` afterwards."
_FOREIGN_COPY = f"{SIDE_CAR} is no export of this program."
_REPLACE = "Move it away, or replace it with --replace-foreign; undo restores it."


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


async def plan_snapshot(library: Library) -> SnapshotPlan:
    """What writing the snapshot would write and lose."""
    file = place_of(library.config)
    core = await core_of(library)
    return await asyncio.to_thread(_planned, file, core)


async def write_snapshot(library: Library, *, replaces_foreign: bool = False) -> Outcome:
    """Write it as ZeroClaw would, and the lossless copy beside it; verb "snapshot", an undo brings the old ones back.

    Without core memories nothing is written, as in ZeroClaw: Refused. A file of that name that is not ZeroClaw's
    is only replaced with `replaces_foreign`.
    """
    refuse_read_only(library)
    file = place_of(library.config)
    core = await core_of(library, with_vectors=True)
    count = len(core.written)
    if not count:
        raise Refused(NO_CORE_MEMORIES, hint="What it wrote before stays as it is.")
    former = await asyncio.to_thread(lambda: (read_bytes(file), read_bytes(file.with_name(SIDE_CAR))))
    foreign = _foreign(*former)
    if foreign and not replaces_foreign:
        raise Refused(f"{file} would be replaced. {foreign[0]}", hint=_REPLACE, title="Another program's file")
    now = library.trash.now()
    identity = await identity_of(library.memory) if core.has_vectors else None
    version = library.profile.profile.version
    header = Header(
        now.isoformat(), library.memory.name, library.memory.about.generation, version, core.has_vectors, identity
    )

    def made() -> tuple[bytes, bytes]:
        lines = (line_of(row, vectors=core.has_vectors) for row in core.rows)
        return snapshot_text(core.written, now.astimezone()).encode(), b"".join((header_line(header), *lines))

    data = await asyncio.to_thread(made)

    async def work(action: RunningAction, on_progress: ProgressCallback) -> Outcome:
        await _write(file, former, data, action)
        return Outcome("snapshot", count, notes=() if core.has_vectors else (_NO_VECTORS,))

    return await run_change(library, "snapshot", f"wrote {NAME} ({count:,} core memories)", work)


@dataclass(frozen=True, slots=True)
class CoreMemories:
    """The core memories in ZeroClaw's order; `written` are those that ZeroClaw can read."""

    rows: Sequence[Row]
    written: Sequence[MemoryEntry]
    has_vectors: bool


async def core_of(library: Library, *, with_vectors: bool = False) -> CoreMemories:
    """The core memories of a store, without vectors unless all of them together are few enough."""
    rows: list[Row] = []
    size = 0

    def see(row: Row) -> None:
        nonlocal size
        vector = row.values.get("embedding")
        size += len(vector) if isinstance(vector, bytes) else 0
        rows.append(row if with_vectors and size <= MOST_VECTOR_BYTES else _without_vector(row))

    await library.memory.scan(see, _CORE)
    has_vectors = size <= MOST_VECTOR_BYTES

    def ordered() -> CoreMemories:
        found = in_order(rows if has_vectors else map(_without_vector, rows))
        return CoreMemories(found, [row.entry() for row in found if can_be_written(row)], has_vectors)

    return await asyncio.to_thread(ordered)


def _without_vector(row: Row) -> Row:
    return replace(row, values={**row.values, "embedding": None}) if "embedding" in row.values else row


def _planned(file: Path, core: CoreMemories) -> SnapshotPlan:
    beside = file.with_name(SIDE_CAR)
    former = read_bytes(file)
    left_out = [(row.entry().key, LEFT_OUT) for row in core.rows if not can_be_written(row)]
    lossy = (*left_out, *((entry.key, lost) for entry, lost in losses(core.written)))
    replaced, foreign = None if former is None else look(former), _foreign(former, read_bytes(beside))
    return SnapshotPlan(file, beside, len(core.written), lossy, replaced, foreign, core.has_vectors)


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
    except UsageError:
        return False


async def _write(
    file: Path, former: tuple[bytes | None, bytes | None], data: tuple[bytes, bytes], journal: Journal
) -> None:
    """The lossless copy first; whatever ends this in between, the two contradict each other, and it is not used."""
    for path, expected, new in zip((file.with_name(SIDE_CAR), file), former[::-1], data[::-1], strict=True):
        target = external.link_target(path)
        before = None if expected is None else external.file_row(target, expected)
        # ZeroClaw writes its snapshot anew at each start: an undo must not put an older one in place of that.
        after = external.file_row(target, new, stays_if_changed=path == file)
        result = await external.apply([RowChange(before, after)], journal)
        if not result.done or result.notes:
            why = result.notes[0] if result.notes else f"Another program wrote {path} meanwhile."
            raise Refused(why, hint="Look at it, then try again.")
