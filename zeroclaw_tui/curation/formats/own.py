"""Our own three formats: JSON Lines that lose nothing, a table, and Markdown; known by their content."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Literal

from zeroclaw_tui.curation.formats.jsonl import MARK, Header, header_of_line, storable_row_of_line
from zeroclaw_tui.curation.formats.lines import each_line, opened, state_of
from zeroclaw_tui.curation.formats.sections import TITLE, rows_of_text
from zeroclaw_tui.curation.formats.table import rows_of_table
from zeroclaw_tui.memory.change import StoredRow
from zeroclaw_tui.memory.errors import InspectorError, Refused, WrongUse
from zeroclaw_tui.memory.text import cut, one_line

Format = Literal["jsonl", "csv", "markdown"]
SUFFIXES: dict[str, Format] = {".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".md": "markdown"}
_NAME_CELLS, _NAMES_TOLD = 40, 5
_FIRST_LINE = 1 << 20


@dataclass(slots=True)
class MemoryFile:
    """A file of memories in one of our formats. `header` is that of JSON Lines, once the first line was read.

    `unknown` are columns of a table nobody knows. `state` is the file's as it was first looked at.
    """

    path: Path
    format: Format
    header: Header | None = None
    unknown: dict[str, None] = field(default_factory=dict)
    state: str = ""

    def each(self) -> Iterator[tuple[int, StoredRow]]:
        """Every memory, and the number of the line it begins at; blocks.

        Raises WrongUse naming a line, NotThere, Unreadable, Refused when the file changed.
        """
        with opened(self.path) as file:
            if self.state and self.state != state_of(self.path):
                raise Refused(f"{one_line(str(self.path))} changed while it was read.", hint="Import it again.")
            self.state = state_of(self.path)
            yield from self._reader(file)

    def read_header(self) -> Header | None:
        """What the first line of JSON Lines says of all; None in other formats, and where it is a memory."""
        if self.format == "jsonl" and self.header is None:
            with opened(self.path) as file:
                for _, line in each_line(file):
                    self.header = header_of_line(line)
                    break
        return self.header

    def notes(self) -> Iterator[str]:
        """Sentences about what was read."""
        if self.unknown:
            yield f"Columns that are not known are left out: {', '.join(list(self.unknown)[:_NAMES_TOLD])}."

    def refuse_empty(self) -> None:
        """Raises WrongUse for a file without memories that is no export of none."""
        if self.header is None and self.format == "jsonl":
            raise WrongUse(
                f"{one_line(str(self.path))} holds no memories.", hint="`zeroclaw memory export FILE` writes one."
            )

    def _reader(self, file: BinaryIO) -> Iterator[tuple[int, StoredRow]]:
        if self.format == "csv":
            return rows_of_table(file, self._leave_out)
        return rows_of_text(file) if self.format == "markdown" else self._lines(file)

    def _lines(self, file: BinaryIO) -> Iterator[tuple[int, StoredRow]]:
        for number, line in each_line(file):
            if number == 1:
                self.header = header_of_line(line)
                if self.header is not None:
                    continue
            if line.strip():
                yield number, storable_row_of_line(line, number)

    def _leave_out(self, name: str) -> None:
        self.unknown[cut(one_line(name), _NAME_CELLS) or "(no name)"] = None


def own_format(path: Path) -> Format | None:
    """Which of our formats a file is by its first line; None where it is none of them. Raises as `opened`."""
    with opened(path) as file:
        start = file.read(_FIRST_LINE).removeprefix(b"\xef\xbb\xbf").lstrip()
    line, *_ = start.split(b"\n", 1)
    text = line.decode("utf-8", "replace").strip()
    if text == TITLE:
        return "markdown"
    if text.startswith("{"):
        return "jsonl" if _is_memory(text) else None
    try:
        cells = {cell.strip().lower() for cell in next(csv.reader([text]), [])}
    except csv.Error:
        return None
    return "csv" if {"key", "content"} <= cells else None


def _is_memory(line: str) -> bool:
    """Whether a line is the head of an export, or a memory of one."""
    try:
        parts = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(parts, dict) and (MARK in parts or {"key", "content"} <= parts.keys())


def refuse_unknown(path: Path) -> InspectorError:
    """The error for a file whose format neither its content nor its name tells."""
    return WrongUse(
        f"The name of {one_line(str(path))} does not tell its format.", hint="Give --format jsonl, csv or markdown."
    )
