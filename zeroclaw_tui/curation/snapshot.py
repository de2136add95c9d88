"""MEMORY_SNAPSHOT.md: write it as ZeroClaw does, with a lossless copy; import it (hydrate); and compare it."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

from zeroclaw_tui.backends.base import check_writable
from zeroclaw_tui.backends.factory import known_backend
from zeroclaw_tui.config.memory_config import MemoryConfig
from zeroclaw_tui.curation import external
from zeroclaw_tui.curation.changes import run_change
from zeroclaw_tui.curation.export import header_for
from zeroclaw_tui.curation.formats import snapshot as snapshot_format
from zeroclaw_tui.curation.formats.jsonl import line_of
from zeroclaw_tui.curation.formats.snapshot import NAME, SIDE_CAR, Snapshot
from zeroclaw_tui.curation.journal import RunningAction
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.outcome import Outcome
from zeroclaw_tui.curation.transfer.imports import plan_import
from zeroclaw_tui.curation.transfer.plan import Plan, Target
from zeroclaw_tui.files.disk import read_bytes
from zeroclaw_tui.memory.change import ProgressCallback, Row, RowChange
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.errors import Refused
from zeroclaw_tui.memory.query import MemoryFilter, Superseded
from zeroclaw_tui.memory.secret_text import masked
from zeroclaw_tui.memory.text import counted, first_names, one_line

NO_CORE_MEMORIES = "There are no core memories, and without any ZeroClaw writes no snapshot."
MAX_VECTOR_BYTES = 32_000_000
"""The maximum bytes of vectors in the lossless copy, which is written and journaled as a whole."""
Where = Literal["only here", "only there", "changed", "same"]
""""here" is the store, "there" the snapshot."""
_ORDER: Sequence[Where] = ("changed", "only here", "only there", "same")
_CORE = MemoryFilter(category=("core",), superseded=Superseded.SHOW)


@dataclass(frozen=True, slots=True)
class SnapshotPlan:
    """The plan of writing a snapshot. `lossy` are the keys of memories that the snapshot cannot store exactly.

    `has_vectors` is about the lossless copy; `replaces` is the number of memories in the existing file, None without.
    """

    file: Path
    count: int
    lossy: tuple[str, ...]
    replaces: int | None
    has_vectors: bool

    def as_json(self) -> dict[str, Any]:
        files = {"file": str(self.file), "copy": str(self.file.with_name(SIDE_CAR)), "memories": self.count}
        return {**files, "lossy": list(self.lossy), "vectors": self.has_vectors, "replaces": self.replaces}

    def sentences(self) -> tuple[str, ...]:
        """Say which snapshot is replaced, which file has everything, and how many memories lose something."""
        if self.replaces is None:
            return self.loss_sentences()
        return (f"It replaces a file with {counted(self.replaces)}.", *self.loss_sentences())

    def loss_sentences(self) -> tuple[str, ...]:
        """Say which file has everything, and how many memories lose something in the other."""
        vectors = "" if self.has_vectors else ", except the vectors, which are too many"
        lossless = f"{SIDE_CAR} is written too and has everything{vectors}."
        if not self.lossy:
            return (lossless,)
        lose = "loses its exact text" if len(self.lossy) == 1 else "lose their exact text"
        keys = first_names([masked(key) for key in self.lossy])
        return (lossless, f"{counted(len(self.lossy))} {lose} in ZeroClaw's format: {keys}.")

    def done_sentence(self, outcome: Outcome, undo: str) -> str:
        """Say what was written, and what undo does; `undo` introduces the latter: " · u"."""
        effect = "restores the old file" if self.replaces is not None else "removes it"
        after = f"{undo} {effect}" if outcome.action is not None else ""
        return f"Wrote {counted(outcome.count, 'core memory')} to {one_line(str(self.file))}{after}."


class CoreMemories(NamedTuple):
    """The core memories in ZeroClaw's order; `written` are those that its format can store."""

    rows: Sequence[Row]
    written: Sequence[Row]
    has_vectors: bool


def place_of(config: MemoryConfig) -> Path:
    """The path where ZeroClaw looks for the snapshot. Raises Refused for a lone store, and for other backends."""
    if not known_backend(config.backend).has_database:
        raise Refused(
            f"ZeroClaw writes and reads {NAME} only for the backends sqlite and lucid; this one is {config.backend}.",
            hint="`zeroclaw memory export` writes the memories of every backend to a file.",
        )
    if not config.install.has_workspace or config.location is not None:
        raise Refused(
            f"This is a lone store: there is no workspace where ZeroClaw would look for {NAME}.",
            hint="Open the workspace or config folder, or name a file.",
        )
    return config.install.root / NAME


async def core_of(library: Library) -> CoreMemories:
    """Read the core memories, with at most MAX_VECTOR_BYTES of vectors."""
    rows: list[Row] = []
    size = 0

    def visit(row: Row) -> None:
        nonlocal size
        vector = row.values.get("embedding")
        size += len(vector) if isinstance(vector, bytes) else 0
        rows.append(row if size <= MAX_VECTOR_BYTES else replace(row, values={**row.values, "embedding": None}))

    await library.memory.scan(visit, _CORE)
    memories = await asyncio.to_thread(snapshot_format.in_order, rows)
    return CoreMemories(memories, list(filter(snapshot_format.can_be_written, memories)), size <= MAX_VECTOR_BYTES)


async def plan_snapshot(library: Library) -> SnapshotPlan:
    """Plan the writing of the snapshot."""
    file = place_of(library.config)
    core = await core_of(library)

    def plan() -> SnapshotPlan:
        present = read_bytes(file)
        replaces = None if present is None else len(snapshot_format.parse(present).rows)
        return SnapshotPlan(
            file, len(core.written), tuple(snapshot_format.losses(core.rows)), replaces, core.has_vectors
        )

    return await asyncio.to_thread(plan)


async def write_snapshot(library: Library) -> Outcome:
    """Write the lossless copy, then the snapshot as ZeroClaw would; undo restores the previous files."""
    check_writable(library.memory)
    file = place_of(library.config)
    core = await core_of(library)
    if not core.written:
        raise Refused(NO_CORE_MEMORIES, hint="What it wrote before stays as it is.")
    header = await header_for(library, vectors=core.has_vectors)

    def changes() -> list[RowChange]:
        copy_path, path = external.link_target(file.with_name(SIDE_CAR)), external.link_target(file)
        old_copy, old = external.read_file(copy_path), external.read_file(path)
        lines = (line_of(row, vectors=core.has_vectors) for row in core.rows)
        new_copy = external.file_row(copy_path, b"".join((header, *lines)))
        text = snapshot_format.snapshot_text((row.entry() for row in core.written), library.trash.now().astimezone())
        new = external.file_row(path, text.encode())
        return [RowChange(old_copy, new_copy), RowChange(old, new)]

    planned = await asyncio.to_thread(changes)

    async def work(action: RunningAction, on_progress: ProgressCallback) -> Outcome:
        # After a kill in between, the two files differ, and the copy is not used.
        result = await external.apply(planned, action)
        if result.conflicts or result.notes:
            written = [f"Another program wrote {conflict.wanted.id} in the meantime." for conflict in result.conflicts]
            raise Refused([*result.notes, *written][0], hint="Check the file, then try again.")
        too_many = f"{SIDE_CAR} has no vectors, as they are too many; run `zeroclaw memory reindex` afterwards."
        return Outcome("snapshot", len(core.written), notes=() if core.has_vectors else (too_many,))

    return await run_change(library, "snapshot", f"wrote {NAME} ({len(core.written):,} core memories)", work)


class Difference(NamedTuple):
    """One key, with the memory of the store (`here`) and of the file (`there`); None if missing."""

    key: str
    where: Where
    here: MemoryEntry | None
    there: MemoryEntry | None


async def plan_hydrate(
    target: Target,
    path: Path,
    *,
    agent: str | None = None,
    keys: Collection[str] | None = None,
    on_progress: ProgressCallback | None = None,
) -> Plan:
    """Plan the import of a snapshot or a JSONL export; `keys` selects some of its memories."""
    if not known_backend(target.config.backend).has_database:
        raise Refused(
            f"ZeroClaw hydrates only for the backends sqlite and lucid; this one is {target.config.backend}.",
            hint="`zeroclaw memory import` brings memories into any store.",
        )
    if not await asyncio.to_thread(path.exists):
        raise snapshot_format.missing_file(path)
    name = "jsonl" if path.suffix.lower() in (".jsonl", ".ndjson") else "snapshot"
    return await plan_import(target, path, format=name, agent=agent, keys=keys, verb="hydrate", on_progress=on_progress)


def snapshot_to_make_from(config: MemoryConfig) -> Path | None:
    """The snapshot from which a missing database can be created, as ZeroClaw would; None without one."""
    file = place_of(config)
    return file if not config.read_only and file.is_file() else None


async def compare(library: Library, snapshot: Snapshot) -> tuple[Difference, ...]:
    """Compare a snapshot with the core memories by key, and by owner if the file has owners; changed ones first."""
    return await asyncio.to_thread(_differences, await core_of(library), snapshot)


def _differences(core: CoreMemories, snapshot: Snapshot) -> tuple[Difference, ...]:
    """Match memories of the file without an owner with every memory that has the same key."""
    rest: dict[str, list[MemoryEntry]] = defaultdict(list)
    for row in core.rows:
        rest[row.key].append(row.entry())
    # Each memory as read back from ZeroClaw's format. Lines that look like another memory are not a difference.
    read_back = dict(snapshot_format.as_zeroclaw_reads(row.entry() for row in core.written))
    differences: list[Difference] = []
    for there in (row.entry() for row in snapshot.rows):
        candidates = [entry for entry in rest[there.key] if there.agent in (None, entry.agent)]
        is_read_back = read_back.get(there.key) == there.content
        equal = [entry for entry in candidates if is_read_back or entry.content == there.content]
        if candidates:
            here = (equal or candidates)[0]
            rest[there.key].remove(here)
            differences.append(Difference(there.key, "same" if equal else "changed", here, there))
        elif not is_read_back:
            differences.append(Difference(there.key, "only there", None, there))
    differences += [Difference(entry.key, "only here", entry, None) for entries in rest.values() for entry in entries]
    return tuple(sorted(differences, key=lambda difference: _ORDER.index(difference.where)))
