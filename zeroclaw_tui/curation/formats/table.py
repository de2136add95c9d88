"""Memories as a CSV table (RFC 4180): for spreadsheets, and from other programs."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Iterator, Sequence
from typing import BinaryIO

from zeroclaw_tui.curation.formats.jsonl import is_plain, kind_stored, shown
from zeroclaw_tui.curation.formats.lines import LONGEST, each_line, not_utf8
from zeroclaw_tui.memory.change import StoredRow, Value
from zeroclaw_tui.memory.entry import kind_from
from zeroclaw_tui.memory.errors import WrongUse
from zeroclaw_tui.memory.text import cut, one_line

COLUMNS = (
    "key", "content", "category", "timestamp", "updated_at", "session_id", "namespace", "importance", "superseded_by",
    "kind", "pinned", "agent", "id",
)  # fmt: skip
"""The columns in their order."""
LOSES = "CSV holds text only: no vectors, no further columns, and nothing is the same as an empty text."

_STORED = {"timestamp": "created_at"}
_TOLD = 60
_SHAPE = "It needs a first line with at least key and content, as `zeroclaw memory export --format csv` writes it."


def header_row() -> bytes:
    """The first line."""
    return _line(COLUMNS)


def table_row(row: StoredRow) -> tuple[bytes, bool]:
    """A memory as a line, and whether the line holds its key and content exactly."""
    cells = [_cell(name, row) for name in COLUMNS]
    exact = all(isinstance(row.values.get(name), str) and is_plain(row.values.get(name)) for name in ("key", "content"))
    return _line(cells), exact


def rows_of_table(file: BinaryIO, left_out: Callable[[str], None]) -> Iterator[tuple[int, StoredRow]]:
    """Every memory of a table with the number of its first line; `left_out` is told of columns nobody knows.

    Raises WrongUse naming the line.
    """
    before = csv.field_size_limit(LONGEST)
    reader = csv.reader(_texts(file), strict=True)
    at = 1
    try:
        names = _names(next(reader, []), left_out)
        while True:
            at = reader.line_num + 1
            cells = next(reader, None)
            if cells is None:
                return
            if cells:
                yield at, _row(names, cells, at)
    except csv.Error as failure:
        cut_off = "unexpected end" in str(failure)
        why = "the file seems to have been cut off" if cut_off else one_line(str(failure))
        raise WrongUse(f"Line {at:,} is not a line of a table: {why}.", hint=_SHAPE) from failure
    finally:
        csv.field_size_limit(before)


def _texts(file: BinaryIO) -> Iterator[str]:
    for number, line in each_line(file):
        try:
            yield line.decode("utf-8")
        except UnicodeDecodeError as failure:
            raise not_utf8(number) from failure


def _names(cells: Sequence[str], left_out: Callable[[str], None]) -> list[str]:
    names = [cell.strip().lower() for cell in cells]
    if not {"key", "content"} <= set(names):
        raise WrongUse("Line 1 does not name a key and a content.", hint=_SHAPE)
    for name in names:
        if names.count(name) > 1 and name in COLUMNS:
            raise WrongUse(f"Line 1 names {name} twice.", hint=_SHAPE)
        if name not in COLUMNS:
            left_out(name)
    return names


def _row(names: Sequence[str], cells: Sequence[str], number: int) -> StoredRow:
    if len(cells) != len(names):
        raise WrongUse(f"Line {number:,} has {len(cells)} cells where the first line names {len(names)}.", hint=_SHAPE)
    values: dict[str, Value] = {}
    agent = None
    for name, cell in zip(names, cells, strict=True):
        if name == "agent":
            agent = cell or None
        elif name in COLUMNS:
            values[_STORED.get(name, name)] = _value(name, cell, number)
    if not values.get("id"):
        values.pop("id", None)
    return StoredRow(str(values.get("id", "")), values, None, agent)


def _value(name: str, cell: str, number: int) -> Value:
    if name in ("key", "content"):
        return cell
    if not cell:
        return None
    try:
        if name == "importance":
            return _finite(float(cell))
        if name == "pinned":
            return {"true": 1, "1": 1, "false": 0, "0": 0}[cell.strip().lower()]
        return kind_stored(cell) if name == "kind" else cell
    except (ValueError, KeyError) as failure:
        raise WrongUse(
            f"Line {number:,} has {cut(one_line(cell[:_TOLD]), _TOLD)!r} for {name}.",
            hint="Importance is a finite number, pinned true or false, kind one of ZeroClaw's own.",
        ) from failure


def _finite(number: float) -> float:
    if not math.isfinite(number):
        raise ValueError("no finite number")
    return number


def _cell(name: str, row: StoredRow) -> str:
    if name == "agent":
        return shown(row.agent) or ""
    value = row.values.get(_STORED.get(name, name))
    if name == "kind":
        return kind_from(value) or ""
    if name == "pinned" and value is not None:
        return "true" if value else "false"
    return shown(value) or ""


def _line(cells: Sequence[str]) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text).writerow(cells)
    return text.getvalue().encode("utf-8")
