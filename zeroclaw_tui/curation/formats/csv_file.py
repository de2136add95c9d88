"""Memories as a CSV table (RFC 4180) whose first line names its columns, at least key and content.

A table holds text only, and an empty cell says nothing. Times stay as they are written.
"""

from __future__ import annotations

import csv
import io
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import BinaryIO

from zeroclaw_tui.curation.formats.jsonl import kind_stored, readable
from zeroclaw_tui.curation.formats.source import MAX_LINE_SIZE, Source, numbered_lines
from zeroclaw_tui.memory.change import Row, Value
from zeroclaw_tui.memory.entry import kind_from
from zeroclaw_tui.memory.errors import UsageError
from zeroclaw_tui.memory.text import one_line

COLUMNS = (
    "key", "content", "category", "timestamp", "updated_at", "session_id", "namespace", "importance", "superseded_by",
    "kind", "pinned", "agent", "id",
)  # fmt: skip
LOSES = "CSV holds Unicode text only: no vectors, no further columns, and an empty text becomes nothing."
_STORED_NAMES = {"timestamp": "created_at"}
_PINNED = {"true": 1, "false": 0}
_MAX_NAME = 40
_HINT = "It needs a first line with at least key and content, as `zeroclaw memory export --format csv` writes it."


def sniff(source: Source) -> bool:
    """Whether the first line names the columns key and content."""
    first = b"" if source.is_folder else source.head().partition(b"\n")[0]
    return {"key", "content"} <= {cell.strip().strip('"') for cell in first.decode("utf-8", "replace").split(",")}


def read(source: Source, lost: Counter[str]) -> Iterator[Row]:
    """Every memory in constant memory. Raises UsageError naming the line that is not one."""
    limit = csv.field_size_limit(MAX_LINE_SIZE)
    try:
        with source.opened() as reader:
            yield from _rows(reader, lost)
    finally:
        csv.field_size_limit(limit)


def header_line() -> bytes:
    """The first line."""
    return _line(COLUMNS)


def line_of(row: Row) -> bytes:
    """A memory as a line."""
    return _line([_cell(name, row) for name in COLUMNS])


def _rows(reader: BinaryIO, lost: Counter[str]) -> Iterator[Row]:
    table = csv.reader(_decoded_lines(reader), strict=True)
    number = 1
    try:
        names = next(table, [])
        if not {"key", "content"} <= set(names) or len(set(names)) != len(names):
            raise UsageError("Line 1 does not name a key and a content, each column once.", hint=_HINT)
        lost.update(f"column {one_line(name)[:_MAX_NAME]}" for name in names if name not in COLUMNS)
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


def _decoded_lines(reader: BinaryIO) -> Iterator[str]:
    for number, line in numbered_lines(reader):
        try:
            yield line.decode("utf-8")
        except UnicodeDecodeError as error:
            raise UsageError(f"Line {number:,} is not UTF-8.", hint="Save the file as UTF-8 first.") from error


def _row(cells: dict[str, str], lost: Counter[str]) -> Row:
    values: dict[str, Value] = {"key": cells["key"], "content": cells["content"]}
    for name, cell in cells.items():
        if cell and name in COLUMNS and name not in ("key", "content", "agent"):
            try:
                values[_STORED_NAMES.get(name, name)] = _value(name, cell)
            except (ValueError, KeyError):
                lost[f"{name} that cannot be read"] += 1
    return Row(cells.get("id", ""), values, None, cells.get("agent") or None)


def _value(name: str, cell: str) -> Value:
    """Raises ValueError or KeyError for what cannot be read."""
    if name == "importance":
        number = float(cell)
        if not math.isfinite(number):
            raise ValueError("not a finite number")
        return number
    if name == "pinned":
        return _PINNED[cell.strip().lower()]
    if name == "kind":
        return kind_stored(cell)
    return cell


def _cell(name: str, row: Row) -> str:
    if name == "agent":
        return readable(row.agent)
    value = row.values.get(_STORED_NAMES.get(name, name))
    if name == "kind":
        return kind_from(value) or ""
    if name == "pinned" and value is not None:
        return "true" if value else "false"
    return readable(value)


def _line(cells: Sequence[str]) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text).writerow(cells)
    return text.getvalue().encode("utf-8")
