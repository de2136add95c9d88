"""Writing memories to files in our own three formats, a row at a time."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal

from zeroclaw_tui.config.locations import DAILY_FOLDER
from zeroclaw_tui.curation.formats import csv_file, jsonl, markdown
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.transfer.fit import identity_of
from zeroclaw_tui.curation.transfer.reconcile import Stopped, asking
from zeroclaw_tui.files.disk import (
    copy_owner_and_mode,
    remove_stale_temp_files,
    rename_exclusive,
    sync_folder,
    temp_file,
)
from zeroclaw_tui.memory.change import ProgressCallback, Row, See
from zeroclaw_tui.memory.errors import Refused, Unreadable, UsageError
from zeroclaw_tui.memory.query import MemoryFilter
from zeroclaw_tui.memory.text import counted, one_line

ExportFormat = Literal["jsonl", "csv", "markdown"]
SUFFIXES: dict[str, ExportFormat] = {".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".md": "markdown"}
_NO_VECTORS = "The vectors are left out. Add --vectors to include them."


@dataclass(frozen=True, slots=True)
class Exported:
    """How many memories, and how many bytes were written. `lost` says what the format cannot hold.

    `cancelled` means that `on_progress` said no: a stream then ends early, a file is not there.
    """

    count: int
    size: int
    lost: tuple[str, ...] = ()
    cancelled: bool = False


class _Writer:
    """Writes each row it is shown, on whichever thread that is."""

    def __init__(self, to: BinaryIO, format: ExportFormat, vectors: bool) -> None:
        self._to, self._format, self._vectors = to, format, vectors
        self.count = self.size = self.inexact = 0
        self.has_vectors = False

    def write(self, data: bytes) -> None:
        """Write and count."""
        self._to.write(data)
        self.size += len(data)

    def see(self, row: Row) -> None:
        """Write one row."""
        if self._format == "jsonl":
            self.has_vectors = self.has_vectors or row.values.get("embedding") is not None
            self.write(jsonl.line_of(row, vectors=self._vectors))
        elif self._format == "csv":
            self.inexact += not csv_file.is_exact(row)
            self.write(csv_file.line_of(row))
        else:
            self.write(markdown.section(row))
        self.count += 1

    def done(self, *, cancelled: bool) -> Exported:
        """What was written."""
        lost: list[str] = []
        if self._format == "jsonl" and self.has_vectors and not self._vectors:
            lost.append(_NO_VECTORS)
        elif self._format == "csv":
            lost.append(csv_file.LOSES)
        elif self._format == "markdown":
            lost.append(markdown.LOSES)
        if self.inexact:
            have = "has" if self.inexact == 1 else "have"
            lost.append(
                f"{counted(self.inexact)} {have} a key or content that is not Unicode text, which a table changes."
            )
        return Exported(self.count, self.size, tuple(lost), cancelled)


async def export_memories(
    library: Library,
    filter: MemoryFilter,
    to: BinaryIO,
    format: ExportFormat,
    *,
    vectors: bool = False,
    on_progress: ProgressCallback | None = None,
) -> Exported:
    """Write what a filter leaves, in constant memory. JSONL holds every column exactly, unknown ones too.

    Raises UsageError for `vectors` in another format, OSError where `to` cannot be written.
    """
    if vectors and format != "jsonl":
        raise UsageError("Only JSONL can contain vectors.", hint="Leave out --vectors, or use --format jsonl.")
    writer = _Writer(to, format, vectors)
    memory = library.memory
    moment = library.trash.now().isoformat(timespec="seconds")
    if format == "jsonl":
        identity = await identity_of(memory) if vectors else None
        version = library.profile.profile.version
        header = jsonl.Header(moment, memory.name, memory.about.generation, version, vectors, identity)
        writer.write(jsonl.header_line(header))
    else:
        writer.write(csv_file.header_line() if format == "csv" else markdown.header_line(moment, memory.name))
    if not await _shown(library, filter, writer.see, lambda: writer.count, on_progress):
        return writer.done(cancelled=True)
    if on_progress is not None:
        on_progress(writer.count)
    return writer.done(cancelled=False)


async def _shown(
    library: Library, filter: MemoryFilter, see: See, done: Callable[[], int], on_progress: ProgressCallback | None
) -> bool:
    """Show what a filter leaves; False if `on_progress`, which gets how many are `done`, says no.

    That ends a cancelled task too: a filter may find nothing for long.
    """
    try:
        await library.memory.scan(asking(see, on_progress), filter)
    except Stopped:
        return False
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if on_progress is None or on_progress(done()) or task is None:
            raise
        task.uncancel()
        return False
    return True


async def export_file(
    library: Library,
    filter: MemoryFilter,
    path: Path,
    format: ExportFormat,
    *,
    vectors: bool = False,
    overwrite: bool = False,
    on_progress: ProgressCallback | None = None,
) -> Exported:
    """The same into a file, whole or not at all (temporary file, fsync, rename): a new one 0600, one that is replaced
    with its mode and owner. Raises Refused when there is one already and not `overwrite`, Unreadable when it cannot be
    written."""
    name = one_line(str(path))
    target = _target(library, path, name, overwrite=overwrite)
    try:
        remove_stale_temp_files(target.parent)
        with temp_file(target) as (beside, handle):
            with os.fdopen(handle, "wb", buffering=1 << 20, closefd=False) as file:
                exported = await export_memories(
                    library, filter, file, format, vectors=vectors, on_progress=on_progress
                )
            copy_owner_and_mode(handle, target)
            os.fsync(handle)
            if not exported.cancelled:
                _put_in_place(beside, target, name, overwrite=overwrite)
    except OSError as error:
        raise Unreadable(f"{name} cannot be written: {error.strerror}.", hint="Name another place.") from error
    return exported


def _target(library: Library, path: Path, name: str, *, overwrite: bool) -> Path:
    """Where it is to lie: a link is followed. Raises Refused for what must not be replaced."""
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise Refused(f"{name} is a directory.", hint="Name the file to write.")
    if target.exists() and not target.is_file():
        raise Refused(f"{name} is not a regular file.", hint="Name a file; without a name the memories go to stdout.")
    refuse_own_files(library, target, name)
    if os.path.lexists(target) and not overwrite:
        raise Refused(f"{name} already exists.", hint="Pass --overwrite to replace it.")
    return target


def _put_in_place(beside: Path, target: Path, name: str, *, overwrite: bool) -> None:
    if overwrite:
        beside.replace(target)
    else:
        try:
            rename_exclusive(beside, target)
        except FileExistsError as error:
            raise Refused(f"{name} already exists.", hint="Pass --overwrite to replace it.") from error
    sync_folder(target.parent)


def refuse_own_files(library: Library, target: Path, name: str) -> None:
    """Raises Refused where a file to be written is the store itself, its log, the trash or the config; `target` is
    without links, `name` what people call it."""
    install, store = library.config.install, Path(os.path.realpath(library.memory.about.location))
    places = [Path(library.memory.about.location), library.trash.file, *filter(None, [install.config_file])]
    # A database has files beside it whose names begin with its own; a folder of notes has not.
    is_own = any(
        target.name.startswith(place.name) and os.path.realpath(place.parent) == str(target.parent)
        for place in places
        if not place.is_dir()
    )
    is_note = target.suffix == ".md" and target.parent in (store, store / DAILY_FOLDER)
    if is_own or (is_note and library.memory.keeps_lines):
        raise Refused(f"{name} belongs to the store itself.", hint="Name another file.")
