"""The memories of a file to import, one at a time, whatever its format."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from zeroclaw_tui.curation.transfer.exporting import SUFFIXES, Format
from zeroclaw_tui.curation.transfer.jsonl import Header, header_of_line, storable_row_of_line
from zeroclaw_tui.curation.transfer.lines import each_line, opened, state_of
from zeroclaw_tui.curation.transfer.sections import rows_of_text
from zeroclaw_tui.curation.transfer.table import rows_of_table
from zeroclaw_tui.memory.change import StoredRow
from zeroclaw_tui.memory.errors import Refused, WrongUse
from zeroclaw_tui.memory.text import cut, one_line

Numbered = tuple[int, StoredRow]
"""A memory, and the number of the line it begins at."""
_NAME_CELLS = 40


@dataclass(slots=True)
class MemoryFile:
    """A file of memories. `header` is known once reading began, `unknown` are columns of a table nobody knows.

    `state` is the file's as it was first looked at.
    """

    path: Path
    format: Format
    header: Header | None = None
    unknown: dict[str, None] = field(default_factory=dict)
    state: str = ""

    def each(self) -> Generator[Numbered, None, None]:
        """Every memory; blocks. Raises WrongUse naming a line, NotThere, Unreadable, Refused when the file changed."""
        with opened(self.path) as file:
            if self.state and self.state != state_of(self.path):
                raise Refused(f"{one_line(str(self.path))} changed while it was read.", hint="Import it again.")
            self.state = state_of(self.path)
            yield from self._reader(file)

    def _reader(self, file: BinaryIO) -> Iterator[Numbered]:
        if self.format == "csv":
            return rows_of_table(file, self._leave_out)
        return rows_of_text(file) if self.format == "markdown" else self._lines(file)

    def _lines(self, file: BinaryIO) -> Iterator[Numbered]:
        for number, line in each_line(file):
            if number == 1:
                self.header = header_of_line(line)
                if self.header is not None:
                    continue
            if line.strip():
                yield number, storable_row_of_line(line, number)

    def _leave_out(self, name: str) -> None:
        self.unknown[cut(one_line(name), _NAME_CELLS) or "(no name)"] = None


def file_given(path: Path, given: Format | None) -> MemoryFile:
    """The file in the format that is given or that its name tells. Raises WrongUse when neither does."""
    told = given or SUFFIXES.get(path.suffix.lower())
    if told is None:
        with opened(path) as file:
            told = _looks_like(file.read(1))
    if told is None:
        raise WrongUse(
            f"The name of {one_line(str(path))} does not tell its format.", hint="Give --format jsonl, csv or markdown."
        )
    return MemoryFile(path, told)


def _looks_like(start: bytes) -> Format | None:
    return "jsonl" if start == b"{" else "markdown" if start == b"#" else None
