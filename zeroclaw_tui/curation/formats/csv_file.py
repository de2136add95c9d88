"""Memories as a CSV table (RFC 4180) whose first line names its columns, at least key and content.

Cells are text, and an empty cell is a missing value. Times are not converted.
"""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import BinaryIO

from zeroclaw_tui.curation.formats.jsonl import COLUMNS, NAMES, column_value, field_value, readable
from zeroclaw_tui.curation.formats.source import MAX_LINE_SIZE, Source, numbered_lines
from zeroclaw_tui.memory.change import Row, Value
from zeroclaw_tui.memory.errors import UsageError
from zeroclaw_tui.memory.text import one_line

LOSES = "CSV holds Unicode text only: no vectors, no further columns, and an empty text becomes nothing."
_HEADER = (*NAMES[:-1], "agent", "id")
_JSON = ("importance", "pinned")
"""Columns whose cells are numbers, true or false."""
_MAX_NAME = 40
_HINT = "It needs a first line with at least key and content, as `zeroclaw memory export --format csv` writes it."


def sniff(source: Source) -> bool:
    """Whether the first line names the columns key and content."""
    first = b"" if source.is_folder else source.head().partition(b"\n")[0]
    return {"key", "content"} <= {cell.strip(' \r"').lower() for cell in first.decode("utf-8", "replace").split(",")}


def read(source: Source, lost: Counter[str]) -> Iterator[Row]:
    """Yield the memories in constant memory. Raises UsageError naming an invalid line."""
    limit = csv.field_size_limit(MAX_LINE_SIZE)
    try:
        with source.open() as reader:
            yield from _rows(reader, lost)
    finally:
        csv.field_size_limit(limit)


def header_line() -> bytes:
    """The first line, with the names of the columns."""
    return _line(_HEADER)


def line_of(row: Row) -> bytes:
    """A memory as a line of the table."""
    return _line([_cell(name, row) for name in _HEADER])


def _rows(reader: BinaryIO, lost: Counter[str]) -> Iterator[Row]:
    table = csv.reader((line for _, line in numbered_lines(reader)), strict=True)
    number = 1
    try:
        names = [name.strip().lower() for name in next(table, [])]
        if not {"key", "content"} <= set(names) or len(set(names)) != len(names):
            raise UsageError("Line 1 does not name a key and a content, each column once.", hint=_HINT)
        lost.update(f"column {one_line(name)[:_MAX_NAME] or '(no name)'}" for name in names if name not in _HEADER)
        while True:
            number = table.line_num + 1
            cells = next(table, None)
            if cells is None:
                return
            if cells and len(cells) != len(names):
                counts = f"{len(cells)} cells where the first line names {len(names)}"
                raise UsageError(f"Line {number:,} has {counts}.", hint=_HINT)
            if cells:
                yield _row(dict(zip(names, cells, strict=True)), lost)
    except csv.Error as error:
        raise UsageError(f"Line {number:,} is not a line of a table: {one_line(str(error))}.", hint=_HINT) from error


def _row(cells: dict[str, str], lost: Counter[str]) -> Row:
    values: dict[str, Value] = {"key": cells["key"], "content": cells["content"]}
    for name, cell in cells.items():
        if cell and name in COLUMNS:
            try:
                values[COLUMNS[name]] = column_value(name, json.loads(cell.lower()) if name in _JSON else cell)
            except ValueError:
                lost[f"{name} that cannot be read"] += 1
    return Row(cells.get("id", ""), values, agent=cells.get("agent") or None)


def _cell(name: str, row: Row) -> str:
    value = row.agent if name == "agent" else field_value(name, row.values.get(COLUMNS[name]))
    return str(value).lower() if isinstance(value, bool) else readable(value)


def _line(cells: Sequence[str]) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text).writerow(cells)
    return text.getvalue().encode("utf-8")
