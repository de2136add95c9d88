"""Our own three formats: JSON Lines that lose nothing, a table, and Markdown; known by their content."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Literal

from zeroclaw_tui.curation.formats.jsonl import Header, Identity, header_of_line, storable_row_of_line
from zeroclaw_tui.curation.formats.lines import each_line, opened, state_of
from zeroclaw_tui.curation.formats.sections import rows_of_text
from zeroclaw_tui.curation.formats.table import rows_of_table
from zeroclaw_tui.memory.change import StoredRow
from zeroclaw_tui.memory.errors import Refused, WrongUse
from zeroclaw_tui.memory.text import cut, first_names, one_line

Format = Literal["jsonl", "csv", "markdown"]
SUFFIXES: dict[str, Format] = {".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".md": "markdown"}
_NAME_CELLS = 40
_TITLES: dict[Format, str] = {
    "jsonl": "an export in JSON Lines",
    "csv": "a table",
    "markdown": "an export in Markdown",
}


@dataclass(slots=True)
class MemoryFile:
    """A file of memories in one of our formats. `header` is that of JSON Lines, once the first line was read.

    `unknown` are columns of a table nobody knows. `state` is the file's as it was first looked at.
    """

    path: Path
    format: Format
    why: str = ""
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

    @property
    def title(self) -> str:
        """What people call its format."""
        return _TITLES[self.format]

    def identity(self) -> Identity | None:
        """What made its vectors, by its first line; None where that does not say."""
        if self.format != "jsonl":
            return None
        with opened(self.path) as file:
            _, line = next(each_line(file))
        self.header = header_of_line(line)
        return self.header.embedding if self.header is not None else None

    def notes(self) -> Iterator[str]:
        """Sentences about what was read."""
        if self.unknown:
            yield f"Columns that are not known are left out: {first_names(list(self.unknown))}."

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
