"""Our own three formats: JSON Lines that lose nothing, a CSV table (RFC 4180), and Markdown.

JSON Lines and CSV are known by their content and read back. Markdown is for people: a heading, a line of facts, and the
content in a fence that nothing in it ends. Files may have any number of lines, each no longer than a memory can be.
"""

from __future__ import annotations

import codecs
import csv
import io
import math
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO, Literal

from zeroclaw_tui.curation.formats.foreign import moment_of
from zeroclaw_tui.curation.formats.jsonl import (
    Header,
    Identity,
    header_of_line,
    kind_stored,
    row_of_line,
)
from zeroclaw_tui.curation.formats.jsonl import (
    readable as shown,
)
from zeroclaw_tui.memory.change import Row, Value
from zeroclaw_tui.memory.entry import kind_from
from zeroclaw_tui.memory.errors import NotFound, Refused, Unreadable, UsageError
from zeroclaw_tui.memory.text import cut, first_names, is_unicode, one_line

LONGEST = 256 * 1024 * 1024
"""How many bytes one memory of a file may take."""


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """The file for reading. Raises NotFound, Unreadable, and UsageError for a folder or an empty file."""
    name = one_line(str(path))
    try:
        if path.is_dir():
            raise UsageError(f"{name} is a folder.", hint="Name the file to import.")
        if path.exists() and not path.is_file():
            raise UsageError(
                f"{name} is not a regular file.", hint="It is read more than once; save it to a file first."
            )
        file = path.open("rb")
    except FileNotFoundError as error:
        raise NotFound(f"There is no file {name}.", hint="Name the file to import.") from error
    except OSError as error:
        raise Unreadable(f"{name} cannot be read: {error.strerror}.", hint="Check its permissions.") from error
    with file:
        if not os.fstat(file.fileno()).st_size:
            raise UsageError(f"{name} is empty.", hint="`zeroclaw memory export FILE` writes one with memories.")
        try:
            yield file
        except OSError as error:
            raise Unreadable(f"{name} cannot be read further: {error.strerror}.", hint="Copy it again.") from error


def each_line(file: BinaryIO, longest: int = LONGEST) -> Iterator[tuple[int, bytes]]:
    """Every line with its number from 1 on and its line end. Raises UsageError for one that is too long.

    A byte order mark before the first is left out.
    """
    file.seek(0)
    number = 0
    while line := file.readline(longest + 1):
        number += 1
        if len(line) > longest:
            raise too_long(number)
        if number == 1:
            line = line.removeprefix(codecs.BOM_UTF8)
            if line.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
                raise not_utf8(1)
        yield number, line


def too_long(number: int) -> UsageError:
    """The error for a line or a memory no store would hold."""
    return UsageError(
        f"Line {number:,} is longer than {LONGEST // 1024**2} MB, more than a memory may take here.",
        hint="This is hardly a file of memories.",
    )


def not_utf8(number: int) -> UsageError:
    """The error for a line in another encoding."""
    return UsageError(f"Line {number:,} is not UTF-8.", hint="Save the file as UTF-8 first.")


def state_of(path: Path) -> str:
    """What changes when another program writes the file. Raises Refused where it has gone."""
    try:
        status = path.stat()
    except OSError as error:
        raise Refused(f"{one_line(str(path))} no longer exists.", hint="Nothing was imported.") from error
    return f"{status.st_ino} {status.st_size} {status.st_mtime_ns}"


MARKDOWN_LOSES = "Markdown is for reading; export JSONL to import the memories again."
TITLE = "# ZeroClaw memories"

_RUNS = re.compile("~+")
_LONGEST_HEADING = 200


def title(exported: str, backend: str) -> bytes:
    """How the file begins."""
    what = f"Exported {exported} from {backend}. This file is for reading; JSONL can be imported again."
    return f"{TITLE}\n\n{one_line(what)}\n".encode()


def section(row: Row) -> bytes:
    """A memory as a part of the file."""
    entry, text = row.entry(), shown(row.values.get("content")) or ""
    facts = [entry.category, entry.timestamp, *(f"{name} {value}" for name, value in _more(row).items())]
    fence = "~" * max(3, 1 + max((len(run) for run in _RUNS.findall(text)), default=0))
    parts = [
        f"\n## {one_line(entry.key)[:_LONGEST_HEADING]}\n\n{' · '.join(one_line(fact) for fact in facts if fact)}\n",
        f"\n{fence}\n{text}\n{fence}\n",
    ]
    return "".join(parts).encode("utf-8", "replace")


def _more(row: Row) -> dict[str, str]:
    entry = row.entry()
    named = {
        "updated": entry.updated_at if entry.updated_at != entry.timestamp else None,
        "session": entry.session_id,
        "namespace": entry.namespace if entry.namespace != "default" else None,
        "importance": entry.importance,
        "kind": entry.kind,
        "pinned": "yes" if entry.pinned else None,
        "agent": entry.agent,
    }
    return {name: str(value) for name, value in named.items() if value not in (None, "")}


COLUMNS = (
    "key", "content", "category", "timestamp", "updated_at", "session_id", "namespace", "importance", "superseded_by",
    "kind", "pinned", "agent", "id",
)  # fmt: skip
"""The columns in their order."""
TABLE_LOSES = "CSV holds text only: no vectors, no further columns, and nothing is the same as an empty text."

_STORED = {"timestamp": "created_at"}
_TIMES = ("timestamp", "updated_at")
_SINCE_1970 = re.compile(r"\d{9,13}(\.\d+)?", re.ASCII)
_TOLD = 60
_IS_TABLE = "It needs a first line with at least key and content, as `zeroclaw memory export --format csv` writes it."


def header_row() -> bytes:
    """The first line."""
    return _table_line(COLUMNS)


def table_row(row: Row) -> tuple[bytes, bool]:
    """A memory as a line, and whether the line holds its key and content exactly."""
    cells = [_cell(name, row) for name in COLUMNS]
    exact = all(
        isinstance(row.values.get(name), str) and is_unicode(str(row.values.get(name))) for name in ("key", "content")
    )
    return _table_line(cells), exact


def rows_of_table(
    file: BinaryIO, left_out: Callable[[str], None], converted: Callable[[], None]
) -> Iterator[tuple[int, Row]]:
    """Every memory of a table with the number of its first line; `left_out` is told of columns nobody knows.

    One with exactly our columns is an export, and every cell is what was stored. In any other an empty cell says
    nothing but that a category is blank, and times become ones that ZeroClaw reads: `converted` is called for each that
    was none. Raises UsageError naming the line.
    """
    before = csv.field_size_limit(LONGEST)
    reader = csv.reader(_decoded_lines(file), strict=True)
    at = 1
    try:
        names = _column_names(next(reader, []), left_out)
        told = None if tuple(names) == COLUMNS else converted
        while True:
            at = reader.line_num + 1
            cells = next(reader, None)
            if cells is None:
                return
            if cells:
                yield at, _table_row(names, cells, at, told)
    except csv.Error as failure:
        cut_off = "unexpected end" in str(failure)
        why = "the file seems to have been cut off" if cut_off else one_line(str(failure))
        raise UsageError(f"Line {at:,} is not a line of a table: {why}.", hint=_IS_TABLE) from failure
    finally:
        csv.field_size_limit(before)


def _decoded_lines(file: BinaryIO) -> Iterator[str]:
    for number, line in each_line(file):
        try:
            yield line.decode("utf-8")
        except UnicodeDecodeError as failure:
            raise not_utf8(number) from failure


def _column_names(cells: Sequence[str], left_out: Callable[[str], None]) -> list[str]:
    names = [cell.strip().lower() for cell in cells]
    if not {"key", "content"} <= set(names):
        raise UsageError("Line 1 does not name a key and a content.", hint=_IS_TABLE)
    for name in names:
        if names.count(name) > 1 and name in COLUMNS:
            raise UsageError(f"Line 1 names {name} twice.", hint=_IS_TABLE)
        if name not in COLUMNS:
            left_out(name)
    return names


def _table_row(names: Sequence[str], cells: Sequence[str], number: int, converted: Callable[[], None] | None) -> Row:
    """`converted` is None for the row of an export."""
    if len(cells) != len(names):
        raise UsageError(
            f"Line {number:,} has {len(cells)} cells where the first line names {len(names)}.", hint=_IS_TABLE
        )
    values: dict[str, Value] = {}
    agent = None
    for name, cell in zip(names, cells, strict=True):
        if name == "agent":
            agent = cell or None
        elif name in COLUMNS:
            values[_STORED.get(name, name)] = _cell_value(name, cell, number, converted)
    if converted is not None:
        values = {name: value for name, value in values.items() if value is not None or name == "category"}
    if not values.get("id"):
        values.pop("id", None)
    return Row(str(values.get("id", "")), values, None, agent)


def _cell_value(name: str, cell: str, number: int, converted: Callable[[], None] | None) -> Value:
    if name in ("key", "content"):
        return cell
    if not cell:
        return None
    try:
        if name == "importance":
            return _finite(float(cell))
        if name in _TIMES and converted is not None:
            return _time(cell, converted)
        if name == "pinned":
            return {"true": 1, "1": 1, "false": 0, "0": 0}[cell.strip().lower()]
        return kind_stored(cell) if name == "kind" else cell
    except (ValueError, KeyError) as failure:
        raise UsageError(
            f"Line {number:,} has {cut(one_line(cell[:_TOLD]), _TOLD)!r} for {name}.",
            hint="Importance is a finite number, pinned true or false, kind one of ZeroClaw's own, and a time like"
            " 2026-03-01T10:00:00+01:00.",
        ) from failure


def _with_times(row: Row, number: int, converted: Callable[[], None]) -> Row:
    """A memory that no export told, its times as ZeroClaw reads them."""
    times = {
        column: _cell_value(name, told, number, converted)
        for name in _TIMES
        if isinstance(told := row.values.get(column := _STORED.get(name, name)), str)
    }
    if not times:
        return row
    return replace(row, values={name: value for name, value in {**row.values, **times}.items() if value is not None})


def _time(cell: str, converted: Callable[[], None]) -> str:
    text = cell.strip()
    time = moment_of(float(text) if _SINCE_1970.fullmatch(text) else text)
    if time is None:
        raise ValueError("no time")
    if time != cell:
        converted()
    return time


def _finite(number: float) -> float:
    if not math.isfinite(number):
        raise ValueError("no finite number")
    return number


def _cell(name: str, row: Row) -> str:
    if name == "agent":
        return shown(row.agent) or ""
    value = row.values.get(_STORED.get(name, name))
    if name == "kind":
        return kind_from(value) or ""
    if name == "pinned" and value is not None:
        return "true" if value else "false"
    return shown(value) or ""


def _table_line(cells: Sequence[str]) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text).writerow(cells)
    return text.getvalue().encode("utf-8")


Imported = Literal["jsonl", "csv"]
"""The formats that are read back."""
Format = Literal[Imported, "markdown"]
SUFFIXES: dict[str, Format] = {".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".md": "markdown"}
_NAME_CELLS = 40
_TITLES: dict[Imported, str] = {"jsonl": "an export in JSON Lines", "csv": "a table"}
_PARTS: dict[Imported, str] = {"jsonl": "Names", "csv": "Columns"}


@dataclass(slots=True)
class MemoryFile:
    """A file of memories as JSON Lines or CSV. `header` is that of JSON Lines, once the first line was read.

    `unknown` are columns or names nobody knows, `converted` how many times ZeroClaw could not have read in what is no
    export.
    `state` is the file's as it was first looked at.
    """

    path: Path
    format: Imported
    why: str = ""
    header: Header | None = None
    unknown: dict[str, None] = field(default_factory=dict)
    converted: int = 0
    state: str = ""

    def each(self) -> Iterator[tuple[int, Row]]:
        """Every memory, and the number of the line it begins at; blocks.

        Raises UsageError naming a line, NotFound, Unreadable, Refused when the file changed.
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
            yield f"{_PARTS[self.format]} that are not known are left out: {first_names(list(self.unknown))}."
        if self.converted:
            yield (
                "Times become ones that ZeroClaw reads; a date without a time counts as its midnight here"
                f" ({self.converted:,})."
            )

    def refuse_empty(self) -> None:
        """Raises UsageError for a file without memories that is no export of none."""
        if self.header is None and self.format == "jsonl":
            raise UsageError(
                f"{one_line(str(self.path))} holds no memories.", hint="`zeroclaw memory export FILE` writes one."
            )

    def _reader(self, file: BinaryIO) -> Iterator[tuple[int, Row]]:
        self.converted = 0
        if self.format == "csv":
            return rows_of_table(file, self._leave_out, self._convert)
        return self._lines(file)

    def _lines(self, file: BinaryIO) -> Iterator[tuple[int, Row]]:
        for number, line in each_line(file):
            if number == 1:
                self.header = header_of_line(line)
                if self.header is not None:
                    continue
            if line.strip():
                lost: Counter[str] = Counter()
                row = row_of_line(line, number, lost)
                for name in lost:
                    self._leave_out(name)
                yield number, row if self.header is not None else _with_times(row, number, self._convert)

    def _convert(self) -> None:
        self.converted += 1

    def _leave_out(self, name: str) -> None:
        self.unknown[cut(one_line(name), _NAME_CELLS) or "(no name)"] = None
