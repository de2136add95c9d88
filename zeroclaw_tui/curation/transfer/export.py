"""Writing memories to files: our own three formats, a row at a time, and the forms of other tools.

Those are mem0's JSON, the JSON Lines of MCP's server "memory", the JSON of memory-rs, and a folder of Open Knowledge
Format. What a form has no field for goes into its metadata, or beside its own fields, under one name, from which the
readers of `formats` take the memory back as it was. What finds no place at all is counted by name in `lost`, while the
bytes are taken.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO, Literal

from zeroclaw_tui.config.locations import DAILY_FOLDER
from zeroclaw_tui.curation.formats.foreign import OWN, OWN_TEXTS, moment_of, nested_json
from zeroclaw_tui.curation.formats.jsonl import Header, header_line, is_plain, line_of, shown
from zeroclaw_tui.curation.formats.okf import bundle
from zeroclaw_tui.curation.formats.own import (
    MARKDOWN_LOSES,
    TABLE_LOSES,
    Format,
    header_row,
    section,
    table_row,
    title,
)
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.transfer.fit import identity_of
from zeroclaw_tui.curation.transfer.reconcile import Spool, Stopped, asking
from zeroclaw_tui.files.disk import keep_looks, put_new, remove_left_over, sync_folder, unfinished_file
from zeroclaw_tui.memory.change import SUPERSEDED_BY, Advance, See, StoredRow, Value
from zeroclaw_tui.memory.entry import column_text, uuid_for
from zeroclaw_tui.memory.errors import Refused, SearchInterrupted, Unreadable, UsageError
from zeroclaw_tui.memory.query import MemoryFilter
from zeroclaw_tui.memory.text import counted, first_names, one_line

_NAMES_TOLD = 6
_IDS_AT_ONCE = 500
_NO_VECTORS = "Without --vectors the vectors are left out; they can be made anew from the contents."

_KEPT = frozenset({*OWN_TEXTS, "id", "content", "importance", "pinned", "agent_id"})
_NEEDED = ("key", "category", "created_at")
_DEFAULTS: dict[str, Value] = {"namespace": "default", "importance": 0.5, "pinned": 0}
_UNKNOWN_USER = "default"
_NO_TIME = "1970-01-01T00:00:00+00:00"
_ALTERED = "text that is no Unicode"

Form = Literal["mem0", "mcp", "memory-rs"]
"""The files of other tools that can be written; Open Knowledge Format is a folder."""


@dataclass(frozen=True, slots=True)
class Exported:
    """How many memories, and how many bytes were written. `lost` says what the format cannot hold.

    `cancelled` means that `advance` said no: a stream then ends early, a file is not there.
    """

    count: int
    size: int
    lost: tuple[str, ...] = ()
    cancelled: bool = False


def mem0_json(rows: Iterable[StoredRow], lost: Counter[str]) -> Iterator[bytes]:
    """{"results": […]} as mem0's `get_all` answers, which its own import and the reader here take."""
    yield from _array((_mem0(row, lost) for row in rows), '{"results": [', "]}\n")


def memory_rs_json(rows: Iterable[StoredRow], lost: Counter[str]) -> Iterator[bytes]:
    """The array of `MemoryItem`s of memory-rs 0.1. Its own import takes content and type alone."""
    yield from _array((_memory_rs(row, lost) for row in rows), "[", "]\n")


def server_memory_lines(rows: Iterable[StoredRow], lost: Counter[str]) -> Iterator[bytes]:
    """The JSON Lines of MCP's server "memory": an entity for each memory, named as its key, of its category as type.

    The server knows an entity by its name alone: another agent's memory of the same key is named with the agent. It
    reads over fields that it does not know, and leaves them out where it writes the file anew.
    """
    names: set[str] = set()
    for row in rows:
        own = _own_fields(row, lost)
        key = name = own["key"]
        if name in names and row.agent is not None:
            key = name = f"{key} ({own['agent']})"
        number = 1
        while name in names:
            number += 1
            name = f"{key} {number}"
        names.add(name)
        entity = {
            "type": "entity",
            "name": name,
            "entityType": own["category"],
            "observations": [_text(row.values.get("content"), lost)],
            OWN: own,
        }
        yield _json(entity).encode() + b"\n"


def _mem0(row: StoredRow, lost: Counter[str]) -> dict[str, Any]:
    metadata = _metadata(row)
    own = _own_fields(row, lost, keeps=("metadata",) if metadata else ())
    content = _text(row.values.get("content"), lost)
    return {
        "id": uuid_for(shown(row.id) or own["key"]),
        "memory": content,
        "hash": hashlib.md5(content.encode(), usedforsecurity=False).hexdigest(),
        "created_at": own.get("created_at"),
        "updated_at": own.get("updated_at"),
        "user_id": own.get("namespace", _UNKNOWN_USER),
        "agent_id": own.get("agent"),
        "run_id": own.get("session_id"),
        "metadata": {**metadata, OWN: own},
        "categories": [own["category"]],
    }


def _memory_rs(row: StoredRow, lost: Counter[str]) -> dict[str, Any]:
    metadata = _metadata(row)
    own = _own_fields(row, lost, keeps=("metadata",) if metadata else ())
    content = _text(row.values.get("content"), lost)
    created = moment_of(own.get("created_at"))
    return {
        "id": uuid_for(shown(row.id) or own["key"]),
        "user_id": own.get("namespace", _UNKNOWN_USER),
        "agent_id": own.get("agent"),
        "run_id": own.get("session_id"),
        "content": content,
        "memory_type": own["category"],
        "hash": hashlib.sha256(content.encode()).hexdigest(),
        # A program in Rust reads nothing of a file in which one time is none.
        "created_at": created or _NO_TIME,
        "updated_at": moment_of(own.get("updated_at")) or created or _NO_TIME,
        "metadata": {
            **{name: value if isinstance(value, str) else _json(value) for name, value in metadata.items()},
            OWN: _json(own),
        },
    }


def _metadata(row: StoredRow) -> Mapping[str, Any]:
    """What such a tool kept with a memory besides; nothing where JSON has no number as large as one of it."""
    metadata = nested_json(row.values.get("metadata"))
    if not isinstance(metadata, dict):
        return {}
    try:
        _json(metadata)
    except ValueError:
        return {}
    return metadata


def _own_fields(row: StoredRow, lost: Counter[str], *, keeps: Collection[str] = ()) -> dict[str, Any]:
    """What the memory is, but for its content; what finds no place is counted, where the form does not keep it."""
    _count_lost(row, lost, keeps)
    values = row.values
    own: dict[str, Any] = {
        name: _text(values[name], lost) for name in OWN_TEXTS if values.get(name) is not None or name in _NEEDED
    }
    importance, pinned = values.get("importance"), values.get("pinned")
    if isinstance(importance, int | float) and is_plain(importance):
        own["importance"] = importance
    if pinned is not None:
        own["pinned"] = int(bool(pinned))
    if row.agent is not None:
        own["agent"] = _text(row.agent, lost)
    return own


def _count_lost(row: StoredRow, lost: Counter[str], keeps: Collection[str] = ()) -> None:
    """Count the columns that no other tool's form has a place for."""
    for name, value in row.values.items():
        if value is not None and name not in _KEPT and name not in keeps and value != _DEFAULTS.get(name):
            lost["embedding" if name == "embedding_dimensions" else name] += 1


def _text(value: Value, lost: Counter[str]) -> str:
    text = shown(value) or ""
    if isinstance(value, bytes) or (isinstance(value, str) and value != text):
        lost[_ALTERED] += 1
    return text


def _array(items: Iterable[Mapping[str, Any]], opening: str, closing: str) -> Iterator[bytes]:
    yield opening.encode()
    for number, item in enumerate(items):
        yield (",\n" if number else "\n").encode() + _json(item).encode()
    yield f"\n{closing}".encode()


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


_FORMS: dict[Form, Callable[[Iterable[StoredRow], Counter[str]], Iterator[bytes]]] = {
    "mem0": mem0_json,
    "mcp": server_memory_lines,
    "memory-rs": memory_rs_json,
}


class _Writer:
    """Writes each row it is shown, on whichever thread that is."""

    def __init__(self, to: BinaryIO, format: Format, vectors: bool) -> None:
        self._to, self._format, self._vectors = to, format, vectors
        self.count = self.size = self.inexact = 0
        self.has_vectors = False

    def write(self, data: bytes) -> None:
        """Write and count."""
        self._to.write(data)
        self.size += len(data)

    def see(self, row: StoredRow) -> None:
        """Write one row."""
        if self._format == "jsonl":
            self.has_vectors = self.has_vectors or row.values.get("embedding") is not None
            self.write(line_of(row, vectors=self._vectors))
        elif self._format == "csv":
            line, is_exact = table_row(row)
            self.inexact += not is_exact
            self.write(line)
        else:
            self.write(section(row))
        self.count += 1

    def done(self, *, cancelled: bool) -> Exported:
        """What was written."""
        lost: list[str] = []
        if self._format == "jsonl" and self.has_vectors and not self._vectors:
            lost.append(_NO_VECTORS)
        elif self._format == "csv":
            lost.append(TABLE_LOSES)
        elif self._format == "markdown":
            lost.append(MARKDOWN_LOSES)
        if self.inexact:
            have = "has" if self.inexact == 1 else "have"
            lost.append(
                f"{counted(self.inexact)} {have} a key or content that is no Unicode text, which a table alters."
            )
        return Exported(self.count, self.size, tuple(lost), cancelled)


async def export_memories(
    library: Library,
    filter: MemoryFilter,
    to: BinaryIO,
    format: Format | Form,
    *,
    vectors: bool = False,
    advance: Advance | None = None,
) -> Exported:
    """Write what a filter leaves, in constant memory. JSONL holds every column exactly, unknown ones too.

    Raises UsageError for `vectors` in another format, OSError where `to` cannot be written.
    """
    if vectors and format != "jsonl":
        raise UsageError("Only JSONL holds vectors.", hint="Leave --vectors out, or write --format jsonl.")
    if format == "mem0" or format == "mcp" or format == "memory-rs":
        return await _export_form(library, filter, to, _FORMS[format], advance)
    writer = _Writer(to, format, vectors)
    memory = library.memory
    moment = library.trash.now().isoformat(timespec="seconds")
    if format == "jsonl":
        identity = await identity_of(memory) if vectors else None
        version = library.profile.profile.version
        writer.write(header_line(Header(moment, memory.name, memory.generation, version, vectors, identity)))
    else:
        writer.write(header_row() if format == "csv" else title(moment, memory.name))
    if not await _shown(library, filter, writer.see, lambda: writer.count, advance):
        return writer.done(cancelled=True)
    if advance is not None:
        advance(writer.count)
    return writer.done(cancelled=False)


async def _export_form(
    library: Library,
    filter: MemoryFilter,
    to: BinaryIO,
    form: Callable[[Iterable[StoredRow], Counter[str]], Iterator[bytes]],
    advance: Advance | None,
) -> Exported:
    """Write another tool's file. Its memories are held on disk in between, since that tool's form asks for them."""
    lost: Counter[str] = Counter()
    with Spool() as spool:
        cancelled = not await _spooled(library, filter, spool, advance)
        size = 0

        def write(keys: Mapping[str, str]) -> None:
            nonlocal size
            for part in form(_named(spool, keys), lost):
                size += to.write(part)

        if not cancelled:
            await asyncio.to_thread(write, await _newer_keys(library, spool))
        return Exported(spool.count, size, tuple(_lost_words(lost)), cancelled)


async def export_bundle(
    library: Library, filter: MemoryFilter, folder: Path, *, advance: Advance | None = None
) -> Exported:
    """Write what a filter leaves into a new folder of Open Knowledge Format, whole or not at all.

    Raises Refused where there is something in its place, or for more memories than one folder can hold, Unreadable
    where it cannot be written.
    """
    name = one_line(str(folder))
    if await asyncio.to_thread(os.path.lexists, folder):
        raise Refused(f"{name} is there already.", hint="Name a folder that is not there yet.")
    with Spool() as spool:
        if not await _spooled(library, filter, spool, advance):
            return Exported(0, 0, (), True)
        rows = list(_named(spool, await _newer_keys(library, spool)))
    try:
        size = await asyncio.to_thread(_write_bundle, rows, folder, library.trash.now())
    except OSError as error:
        raise Unreadable(f"{name} cannot be written: {error.strerror}.", hint="Name another place.") from error
    lost: Counter[str] = Counter()
    for row in rows:
        _count_lost(row, lost)
    return Exported(len(rows), size, tuple(_lost_words(lost)))


def _write_bundle(rows: Sequence[StoredRow], folder: Path, now: datetime) -> int:
    size = 0
    with TemporaryDirectory(prefix=".zeroclaw-tui-", dir=folder.parent) as beside:
        made = Path(beside) / folder.name
        made.mkdir(mode=0o700)
        for place, data in bundle(rows, now):
            file = made / place
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
            size += len(data)
        made.rename(folder)
    sync_folder(folder.parent)
    return size


async def _spooled(library: Library, filter: MemoryFilter, spool: Spool, advance: Advance | None) -> bool:
    """Hold what a filter leaves; False where `advance` said no."""
    if not await _shown(library, filter, spool.add, lambda: spool.count, advance):
        return False
    spool.end()
    return True


async def _newer_keys(library: Library, spool: Spool) -> Mapping[str, str]:
    """The key of what superseded one that was spooled, by its id; also of what the filter leaves out, which may come
    another time."""
    newer, keys = await asyncio.to_thread(_newer, spool)
    if library.memory.capabilities.superseded:
        elsewhere = sorted(newer - keys.keys())
        for start in range(0, len(elsewhere), _IDS_AT_ONCE):
            there = await library.memory.stored_by_id(elsewhere[start : start + _IDS_AT_ONCE])
            keys |= {id: row.key for id, row in there.items()}  # noqa: A001
    return keys


def _newer(spool: Spool) -> tuple[set[str], dict[str, str]]:
    """What is named as what superseded one, and the keys of those whose id that is."""
    newer = {column_text(row.values.get(SUPERSEDED_BY)) for row in _rows(spool)} - {""}
    return newer, {row.id: row.key for row in _rows(spool) if row.id in newer} if newer else {}


def _named(spool: Spool, keys: Mapping[str, str]) -> Iterator[StoredRow]:
    """What was spooled. What superseded one is told by its key, as ZeroClaw does it, where its id stands there: other
    tools give each memory an id of their own."""
    for row in _rows(spool):
        key = keys.get(column_text(row.values.get(SUPERSEDED_BY)))
        yield row if key is None else replace(row, values={**row.values, SUPERSEDED_BY: key})


def _rows(spool: Spool) -> Iterator[StoredRow]:
    return (change.row for batch in spool.batches() for change in batch)


async def _shown(
    library: Library, filter: MemoryFilter, see: See, done: Callable[[], int], advance: Advance | None
) -> bool:
    """Show what a filter leaves; False where `advance`, told how many are `done`, said no."""
    try:
        await library.memory.each_row(asking(see, advance), filter)
    except Stopped:
        return False
    except SearchInterrupted:
        if advance is None or advance(done()):
            raise
        return False
    return True


def _lost_words(lost: Counter[str]) -> Iterator[str]:
    if lost:
        named = [f"{name} ({count:,})" for name, count in lost.most_common()]
        yield f"That format has no place for {first_names(named, most=_NAMES_TOLD)}."


async def export_file(
    library: Library,
    filter: MemoryFilter,
    path: Path,
    format: Format | Form,
    *,
    vectors: bool = False,
    overwrite: bool = False,
    advance: Advance | None = None,
) -> Exported:
    """The same into a file, whole or not at all (temporary file, fsync, rename): a new one 0600, one that is replaced
    with its mode and owner. Raises Refused when there is one already and not `overwrite`, Unreadable when it cannot be
    written."""
    name = one_line(str(path))
    target = _target(library, path, name, overwrite=overwrite)
    try:
        remove_left_over(target.parent)
        with unfinished_file(target) as (beside, handle):
            with os.fdopen(handle, "wb", buffering=1 << 20, closefd=False) as file:
                exported = await export_memories(library, filter, file, format, vectors=vectors, advance=advance)
            keep_looks(handle, target)
            os.fsync(handle)
            if not exported.cancelled:
                _put_in_place(beside, target, name, overwrite=overwrite)
    except OSError as error:
        raise Unreadable(f"{name} cannot be written: {error.strerror}.", hint="Name another place.") from error
    return exported


def _target(library: Library, path: Path, name: str, *, overwrite: bool) -> Path:
    """Where it is to lie: a link is followed. Raises Refused for what must not be replaced."""
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise Refused(f"{name} is a folder.", hint="Name the file to write.")
    if target.exists() and not target.is_file():
        raise Refused(f"{name} is no regular file.", hint="Name a file; without a name the memories go to stdout.")
    refuse_own_files(library, target, name)
    if os.path.lexists(target) and not overwrite:
        raise Refused(f"{name} is there already.", hint="--overwrite replaces it.")
    return target


def _put_in_place(beside: Path, target: Path, name: str, *, overwrite: bool) -> None:
    if overwrite:
        beside.replace(target)
    else:
        try:
            put_new(beside, target)
        except FileExistsError as error:
            raise Refused(f"{name} is there by now.", hint="--overwrite replaces it.") from error
    sync_folder(target.parent)


def refuse_own_files(library: Library, target: Path, name: str) -> None:
    """Raises Refused where a file to be written is the store itself, its log, the trash or the config; `target` is
    without links, `name` what people call it."""
    install, store = library.config.install, Path(os.path.realpath(library.memory.location))
    places = [Path(library.memory.location), library.trash.file, *filter(None, [install.config_file])]
    # A database has files beside it whose names begin with its own; a folder of notes has not.
    is_own = any(
        target.name.startswith(place.name) and os.path.realpath(place.parent) == str(target.parent)
        for place in places
        if not place.is_dir()
    )
    is_note = target.suffix == ".md" and target.parent in (store, store / DAILY_FOLDER)
    if is_own or (is_note and library.memory.keeps_lines):
        raise Refused(f"{name} belongs to the store itself.", hint="Name another file.")
