"""Write memories to a file in one of our three formats, in constant memory."""

from __future__ import annotations

import asyncio
import os
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO, Literal

from zeroclaw_tui.config.locations import DAILY_FOLDER
from zeroclaw_tui.curation.formats import csv_file, jsonl
from zeroclaw_tui.curation.formats.notes import EXPORT_TITLE
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.transfer.comparison import KnownVectors, Stopped
from zeroclaw_tui.files.disk import put_in_place, temp_file
from zeroclaw_tui.memory.change import ProgressCallback, Row
from zeroclaw_tui.memory.errors import Refused, Unreadable, UsageError
from zeroclaw_tui.memory.query import MemoryFilter
from zeroclaw_tui.memory.text import counted, one_line

ExportFormat = Literal["jsonl", "csv", "markdown"]
SUFFIXES: dict[str, ExportFormat] = {".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".md": "markdown"}
_MARKDOWN_LOSES = "Markdown is for reading; export JSONL to import the memories again."
_NO_VECTORS = "The vectors are left out. Add --vectors to include them."
_ROWS_PER_PROGRESS = 200
_MAX_HEADING = 200


@dataclass(frozen=True, slots=True)
class ExportOutcome:
    """The number of memories and bytes written; `lost` are sentences about data that the format cannot store."""

    count: int
    size: int
    format: ExportFormat
    lost: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


async def export_memories(
    library: Library,
    filter: MemoryFilter,
    out: BinaryIO,
    format: ExportFormat,
    *,
    vectors: bool = False,
    on_progress: ProgressCallback | None = None,
) -> ExportOutcome:
    """Write the memories that a filter selects. JSONL has every column exactly, even unknown ones. Raises Stopped."""
    if vectors and format != "jsonl":
        raise UsageError("Only JSONL can contain vectors.", hint="Leave out --vectors, or use --format jsonl.")
    count, size, lost = 0, 0, dict[str, None]()

    def write(data: bytes) -> None:
        nonlocal size
        out.write(data)
        size += len(data)

    def write_row(row: Row) -> None:
        nonlocal count
        if count % _ROWS_PER_PROGRESS == 0 and on_progress is not None and not on_progress(count):
            raise Stopped(f"The export was stopped after {counted(count)}.", hint="Export again.")
        if format == "jsonl":
            if not vectors and row.values.get("embedding") is not None:
                lost[_NO_VECTORS] = None
            write(jsonl.line_of(row, vectors=vectors))
        else:
            write(csv_file.line_of(row) if format == "csv" else markdown_section(row))
        count += 1

    if format == "jsonl":
        write(await header_for(library, vectors=vectors))
    elif format == "csv":
        write(csv_file.header_line())
        lost[csv_file.LOSES] = None
    else:
        write(markdown_head(library.trash.now().isoformat(timespec="seconds"), library.memory.name))
        lost[_MARKDOWN_LOSES] = None
    await library.memory.scan(write_row, filter)
    return ExportOutcome(count, size, format, tuple(lost))


async def header_for(library: Library, *, vectors: bool) -> bytes:
    """The first line of our JSONL, with the embedding model if the vectors are included."""
    memory, version = library.memory, library.profile.profile.version
    needs_model = vectors and "vectors" not in memory.why_not
    made_by = KnownVectors.from_facts((await memory.health()).facts).identity if needs_model else None
    now = library.trash.now().isoformat(timespec="seconds")
    about = {"exported": now, "backend": memory.name, "generation": memory.about.generation}
    vector = {"vectors": vectors, "embedding": None if made_by is None else made_by._asdict()}
    return jsonl.header_line({**about, "profile": version, **vector})


def markdown_head(exported: str, backend: str) -> bytes:
    """The beginning of a Markdown export."""
    sentence = f"Exported {exported} from {backend}. This file is for reading; JSONL can be imported again."
    return f"{EXPORT_TITLE}\n\n{one_line(sentence)}\n".encode()


def markdown_section(row: Row) -> bytes:
    """A memory as a section of a Markdown export, in a fence longer than any in its content."""
    entry, text = row.entry(), jsonl.readable(row.values.get("content"))
    facts = {
        "updated": entry.updated_at if entry.updated_at != entry.timestamp else None,
        "session": entry.session_id,
        "namespace": entry.namespace if entry.namespace != "default" else None,
        "importance": entry.importance,
        "kind": entry.kind,
        "pinned": "yes" if entry.pinned else None,
        "agent": entry.agent,
    }
    labelled = [f"{name} {value}" for name, value in facts.items() if value not in (None, "")]
    shown = [fact for fact in (entry.category, entry.timestamp, *labelled) if fact]
    fence = "~" * max(3, 1 + max(map(len, re.findall("~+", text)), default=0))
    heading = one_line(entry.key)[:_MAX_HEADING]
    part = f"\n## {heading}\n\n{' · '.join(map(one_line, shown))}\n\n{fence}\n{text}\n{fence}\n"
    return part.encode("utf-8", "replace")


async def export_file(
    library: Library,
    filter: MemoryFilter,
    path: Path,
    format: ExportFormat,
    *,
    vectors: bool = False,
    overwrite: bool = False,
    on_progress: ProgressCallback | None = None,
) -> ExportOutcome:
    """Export to a file, atomically: a new file gets mode 0600, a replaced one keeps its mode and owner."""
    target = await asyncio.to_thread(_target, library, path, overwrite=overwrite)
    try:
        with temp_file(target) as (temp_path, handle):
            with os.fdopen(handle, "wb", buffering=1 << 20, closefd=False) as out:
                outcome = await export_memories(library, filter, out, format, vectors=vectors, on_progress=on_progress)
            await asyncio.to_thread(put_in_place, temp_path, handle, target, replaces=overwrite)
    except FileExistsError as error:
        raise _exists(path) from error
    except OSError as error:
        message = f"{one_line(str(path))} cannot be written: {error.strerror}."
        raise Unreadable(message, hint="Name another place.") from error
    return outcome


def _target(library: Library, path: Path, *, overwrite: bool) -> Path:
    """Resolve the file to write, following links. Raises Refused for a file that must not be replaced."""
    target, name = Path(os.path.realpath(path)), one_line(str(path))
    if target.exists() and not target.is_file():
        kind = "a directory" if target.is_dir() else "not a regular file"
        raise Refused(f"{name} is {kind}.", hint="Name a file; without a name the memories go to stdout.")
    install, store = library.config.install, Path(os.path.realpath(library.memory.about.location))
    places = [Path(library.memory.about.location), library.trash.file, *filter(None, [install.config_file])]
    # The files next to a database start with its name; a folder of notes has no such files.
    is_own = any(
        target.name.startswith(place.name) and os.path.realpath(place.parent) == str(target.parent)
        for place in places
        if not place.is_dir()
    )
    is_note = store.is_dir() and target.suffix == ".md" and target.parent in (store, store / DAILY_FOLDER)
    if is_own or is_note:
        raise Refused(f"{name} belongs to the store itself.", hint="Name another file.")
    if os.path.lexists(target) and not overwrite:
        raise _exists(path)
    return target


def _exists(path: Path) -> Refused:
    return Refused(f"{one_line(str(path))} already exists.", hint="Pass --overwrite to replace it.")
