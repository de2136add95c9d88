"""Reading a snapshot, or one of our JSONL exports, into rows: with everything where a lossless copy tells it."""

from __future__ import annotations

import io
import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from zeroclaw_tui.curation.formats.jsonl import Header, header_of_line, storable_row_of_line
from zeroclaw_tui.curation.snapshot.text import (
    NAME,
    SIDE_CAR,
    Snapshot,
    SnapshotEntry,
    is_written,
    read_snapshot,
    snapshot_text,
)
from zeroclaw_tui.files.disk import read_bytes
from zeroclaw_tui.memory.change import StoredRow, Value
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.errors import InspectorError, NotThere, Refused, WrongUse

LARGEST = 200_000_000
"""Files of more bytes are not read: what a snapshot brings is looked at as a whole."""
ALL_LOST = "The file holds no id, session, namespace, importance or vector of any memory."

_ANY_TIME = datetime(2000, 1, 1, tzinfo=UTC)
_JSONL = (".jsonl", ".ndjson")
_NAME_ONE = f"Name a {NAME}, or a JSONL file that `zeroclaw memory export` wrote."


@dataclass(frozen=True, slots=True)
class Loaded:
    """A file's memories. `is_exact` is False where they went through ZeroClaw's format; `header` is that of JSONL."""

    snapshot: Snapshot
    rows: tuple[StoredRow, ...]
    is_exact: bool
    header: Header | None = None

    @property
    def lost(self) -> dict[str, tuple[str, ...]]:
        """What the file itself shows to be lost, by key."""
        return {} if self.is_exact else {entry.key: entry.lost for entry in self.snapshot.entries if entry.lost}


def load(path: Path) -> Loaded:
    """A MEMORY_SNAPSHOT.md, with the lossless copy beside it where that says the same, or one of our JSONL exports.

    Raises NotThere, Unreadable, Refused for a file that is neither, WrongUse naming the line of a broken export.
    """
    data = _read(path)
    if path.suffix.lower() in _JSONL:
        return _loaded_export(path, data)
    snapshot = look(data)
    if not snapshot.is_zeroclaws:
        raise Refused(f"{path} is not a snapshot of ZeroClaw's. {snapshot.because}", title="Another program's file")
    beside = path.with_name(SIDE_CAR) if path.name == NAME else None
    if beside is None or not beside.exists():
        return _through_format(snapshot)
    return _with_side_car(snapshot, beside)


def look(data: bytes) -> Snapshot:
    """What lies in the place of a snapshot, whatever it is."""
    try:
        return read_snapshot(data.decode("utf-8"))
    except UnicodeDecodeError:
        return Snapshot((), False, "It is no UTF-8 text, so ZeroClaw cannot read it.")


def as_zeroclaw_reads(entries: Iterable[MemoryEntry]) -> list[tuple[str, str]]:
    """Keys and contents that ZeroClaw would read of a snapshot of these memories."""
    exported = snapshot_text(entries, _ANY_TIME)
    return [(read.key, read.content) for read in read_snapshot(exported).entries]


def in_order(rows: Iterable[StoredRow]) -> list[StoredRow]:
    """As ZeroClaw writes them: the last updated first, by the bytes of the text, and as stored where that is equal."""
    return sorted(rows, key=lambda row: order_of(row.values.get("updated_at")), reverse=True)


def order_of(updated_at: Value) -> bytes:
    """What SQLite compares of such a text."""
    return str(updated_at or "").encode("utf-8", "surrogatepass")


def _read(path: Path) -> bytes:
    try:
        size = path.stat().st_size
    except OSError:
        size = 0
    if size > LARGEST:
        raise Refused(
            f"{path} is larger than {LARGEST // 1_000_000} MB.",
            hint="`zeroclaw memory import` takes exports of any size.",
        )
    data = read_bytes(path)
    if data is None:
        hint = "ZeroClaw writes it when `snapshot_enabled` is on, and `zeroclaw memory snapshot` now."
        raise NotThere(f"There is no file {path}.", hint=hint if path.name == NAME else _NAME_ONE)
    return data


def _loaded_export(path: Path, data: bytes) -> Loaded:
    header, rows = _parsed(data)
    by_key = {(row.agent, row.entry().key): row for row in reversed(rows)}
    kept = tuple(row for row in rows if by_key[row.agent, row.entry().key] is row)
    if not kept:
        raise Refused(f"{path} holds no memories.", hint="`zeroclaw memory export` writes such files.")
    entries = tuple(_told(row.entry()) for row in kept)
    exported = header.exported if header else None
    return Loaded(Snapshot(entries, True, "", len(rows), exported), kept, True, header)


def _with_side_car(snapshot: Snapshot, beside: Path) -> Loaded:
    """Rows of the lossless copy if ZeroClaw would have written this very snapshot of them."""
    try:
        header, rows = _parsed(_read(beside))
    except InspectorError as error:
        return _through_format(snapshot, f"{beside.name} beside it is not used: {error.message}")
    ordered = in_order(rows)
    read = as_zeroclaw_reads(row.entry() for row in ordered if can_be_written(row))
    if read != [(entry.key, entry.content) for entry in snapshot.entries]:
        return _through_format(
            snapshot, f"{beside.name} beside it holds other memories and is not used: one of the two was written later."
        )
    notes = (f"Everything comes from {beside.name} beside it, which says the same and loses nothing.",)
    return Loaded(replace(snapshot, notes=notes), tuple(ordered), True, header)


def can_be_written(row: StoredRow) -> bool:
    """Whether ZeroClaw can read this row when it writes its snapshot: text in every column that it reads."""
    needed = ("key", "content", "category", "created_at", "updated_at")
    return all(isinstance(row.values.get(name), str) for name in needed) and is_written(row.entry())


def _through_format(snapshot: Snapshot, *notes: str) -> Loaded:
    return Loaded(replace(snapshot, notes=(*notes, ALL_LOST)), tuple(map(_row, snapshot.entries)), False)


def _row(entry: SnapshotEntry) -> StoredRow:
    """As ZeroClaw's hydration makes it, with a new id; dates only where the file has them."""
    values: dict[str, Value] = {
        "id": str(uuid.uuid4()),
        "key": entry.key,
        "content": entry.content,
        "category": "core",
    }
    dates = {"created_at": entry.created_at, "updated_at": entry.updated_at}
    return StoredRow(str(values["id"]), values | {name: date for name, date in dates.items() if date is not None})


def _told(entry: MemoryEntry) -> SnapshotEntry:
    return SnapshotEntry(entry.key, entry.content, entry.timestamp or None, entry.updated_at)


def _parsed(data: bytes) -> tuple[Header | None, Sequence[StoredRow]]:
    lines = list(_lines(data))
    if not lines:
        raise WrongUse("It is empty.", hint="`zeroclaw memory export` writes such files.")
    header = header_of_line(lines[0][1])
    return header, [storable_row_of_line(line, number) for number, line in lines[0 if header is None else 1 :]]


def _lines(data: bytes) -> Iterator[tuple[int, bytes]]:
    for number, line in enumerate(io.BytesIO(data), 1):
        if line.strip():
            yield number, line
