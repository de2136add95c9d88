"""Writing memories to JSONL, CSV or Markdown, a row at a time."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal

from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.memory.change import Advance
from zeroclaw_tui.memory.query import MemoryFilter

Format = Literal["jsonl", "csv", "markdown"]
SUFFIXES: dict[str, Format] = {".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".md": "markdown"}


@dataclass(frozen=True, slots=True)
class Exported:
    """How many memories, and how many bytes were written. `lost` says what the format cannot hold."""

    count: int
    size: int
    lost: tuple[str, ...] = ()


async def export_memories(
    library: Library,
    filter: MemoryFilter,
    to: BinaryIO,
    format: Format,
    *,
    vectors: bool = False,
    advance: Advance | None = None,
) -> Exported:
    """Write what a filter leaves, in constant memory. JSONL holds every column exactly, unknown ones too."""
    raise NotImplementedError


async def export_file(
    library: Library,
    filter: MemoryFilter,
    path: Path,
    format: Format,
    *,
    vectors: bool = False,
    overwrite: bool = False,
    advance: Advance | None = None,
) -> Exported:
    """The same into a file, whole or not at all (temporary file, fsync, rename), 0600. Raises Refused when there is one
    already and not `overwrite`, Unreadable when it cannot be written."""
    raise NotImplementedError
