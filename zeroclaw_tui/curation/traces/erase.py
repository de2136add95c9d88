"""Erase texts from every place of an install: the plan by place, the run, and the report after a second search."""

from __future__ import annotations

import asyncio
import hashlib
import os
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing, nullcontext, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from zeroclaw_tui.backends.base import check_writable
from zeroclaw_tui.backends.cancellation import CancellableTask
from zeroclaw_tui.backends.factory import known_backend
from zeroclaw_tui.curation.export import header_for
from zeroclaw_tui.curation.external import keyword_indexes
from zeroclaw_tui.curation.formats.jsonl import line_of
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.traces import search
from zeroclaw_tui.curation.traces.matcher import TextMatcher, remove_texts
from zeroclaw_tui.curation.traces.search import PlacedFile, Scan, TextPlace
from zeroclaw_tui.files import database as sqlite
from zeroclaw_tui.files import disk
from zeroclaw_tui.memory.change import Change, ProgressCallback, Row, RowVersion
from zeroclaw_tui.memory.errors import InspectorError, Locked, Refused
from zeroclaw_tui.memory.secret_text import masked
from zeroclaw_tui.memory.text import counted, first_names

_MAX_NAMED = 5
_STAYING = {
    "agents": "The name of an agent contains it, and memories belong to that agent: rename it in ZeroClaw.",
    "cron_jobs": "A scheduled job contains it: `zeroclaw cron` changes and removes jobs.",
}
_REFUSED = "A row cannot be changed, because others belong to it."

_UNCUTTABLE = "The text cannot be cut out of this file: edit it by hand, or delete the file if you do not need it."
_STILL = (
    "It is still there: within names, categories, roles or times that programs write (edit it by hand), in a keyword "
    "index, which has the words of other memories without accents (zoe for Zoë), or because a program wrote it again "
    "(stop that program, then erase once more)."
)
_PAGES = "No row has it any more, but its bytes stay in the file or its log: "


class ErasePlan(NamedTuple):
    """The plan of a run: delete `memories`; those with an id in `marked` are deleted even without one of the texts.

    `changes` are the numbers of the changes that undo can no longer restore in full afterwards.
    """

    matcher: TextMatcher
    marked: frozenset[str]
    scan: Scan
    memories: tuple[RowVersion, ...] = ()
    changes: tuple[int, ...] = ()

    @property
    def places(self) -> Sequence[TextPlace]:
        return self.scan.places

    @property
    def to_erase(self) -> tuple[TextPlace, ...]:
        return tuple(place for place in self.places if place.can_clean)

    @property
    def title(self) -> str:
        where = f"in {counted(len(self.places), 'place')}" if self.places else "nowhere"
        return f"Found {where}; searched {counted(self.scan.files, 'file')}."

    def sentences(self) -> list[str]:
        lines = []
        if count := len(self.memories):
            keys = [masked(version.key) for version in self.memories[:_MAX_NAMED]]
            lines.append(f"{counted(count)} will be deleted: {first_names(keys, count, most=_MAX_NAMED)}")
        if self.changes:
            named = first_names(list(map(str, self.changes)), most=_MAX_NAMED)
            lines.append(f"The trash also loses it, so undo no longer restores these changes in full: {named}.")
        return [*lines, *filter(None, [self.matcher.remark])]

    def as_json(self) -> dict[str, Any]:
        places = [place.as_json() for place in self.places]
        memories = [{"id": version.id, "key": version.key} for version in self.memories]
        found = {"texts": len(self.matcher.texts), "places": places, "memories": memories}
        return {**found, "changes": list(self.changes), **self.scan.as_json()}


class EraseReport(NamedTuple):
    """The result of a run, without the texts. `about` has time and place, `scan` the second search with reasons."""

    about: Mapping[str, Any]
    erased: tuple[TextPlace, ...]
    scan: Scan
    remark: str

    @property
    def left(self) -> Sequence[TextPlace]:
        return self.scan.places

    @property
    def is_complete(self) -> bool:
        """Whether no text is left in the places that could be searched."""
        return not self.left

    @property
    def outcome(self) -> str:
        return "Nothing is left in the places that were searched" if self.is_complete else "Something is left"

    def as_json(self) -> dict[str, Any]:
        erased, left = ([place.as_json() for place in places] for places in (self.erased, self.left))
        return {**self.about, "complete": self.is_complete, "erased": erased, "left": left, **self.scan.as_json()}

    def sentences(self) -> list[str]:
        at, backend, location, texts = self.about.values()
        lines = [
            f"Report of {at} on {backend}, {location}: {counted(texts, 'text')}, case-insensitive.",
            f"Searched {counted(self.scan.files, 'file')}: {counted(self.scan.hits, 'hit')} left.",
        ]
        lines += [f"Erased: {place.kind}, {place.place} ({place.count:,})." for place in self.erased]
        if not self.erased:
            lines.append("Nothing was erased." if self.left else "Nothing had to be erased.")
        for place in self.left:
            count = "" if place.count is None else f" ({place.count:,})"
            lines.append(f"Left: {place.kind}, {place.place}{count}: {place.why}")
        lines += [f"Not searched: {place.place}: {place.why}" for place in self.scan.skipped]
        return [*lines, *filter(None, [self.remark]), f"{self.outcome}."]


async def plan_erase(library: Library, matcher: TextMatcher, marked: Iterable[str] = ()) -> ErasePlan:
    """Search every place of the install for the texts, and find the memories with the ids `marked`; writes nothing."""
    ids, trash, memory = frozenset(marked), library.trash, library.memory
    scan = await search.scan_files(library, matcher, everything=True)
    memories = await _memories(library, matcher, ids)
    # The journal itself counts its rows that have a text.
    places = [place for place in scan.places if place.place != str(trash.file)]
    # A search of files finds neither memories on a server nor marked memories without one of the texts.
    if memories and not any(place.kind == "store" for place in places):
        places.append(TextPlace("store", memory.about.location, len(memories), can_clean=True))
    journaled, changes = await trash.count_texts(_must_leave_trash(library, matcher, ids), matcher.matches)
    if journaled:
        places.append(TextPlace("trash", str(trash.file), journaled, can_clean=True))
    scan.places = sorted(places, key=lambda place: place.kind != "store")
    return ErasePlan(matcher, ids, scan, memories, tuple(changes))


async def write_copy(library: Library, plan: ErasePlan, path: Path) -> int:
    """Write a plan's memories as JSONL to a new file outside the install, and count them. Raises Refused otherwise."""
    target = await asyncio.to_thread(_outside, library, path)
    lines = [await header_for(library, vectors=True)]
    ids = {version.id for version in plan.memories}
    await library.memory.scan(lambda row: lines.append(line_of(row, vectors=True)) if row.id in ids else None)
    try:
        await asyncio.to_thread(disk.replace_bytes, target, None, b"".join(lines))
    except disk.FileChangedError as error:
        raise Refused(f"{path} already exists.", hint="Name a new file.") from error
    return len(lines) - 1


async def erase_texts(library: Library, plan: ErasePlan, on_progress: ProgressCallback | None = None) -> EraseReport:
    """Erase the texts, also where they were added after the plan, then search every byte again. Cannot be undone.

    Each step is atomic, and running again after a kill completes the rest. Raises Refused for a read-only store, and
    Locked for a locked one (then nothing is erased); the report names everything else that could not be erased.
    """
    check_writable(library.memory)
    matcher, memory, ids = plan.matcher, library.memory, plan.marked
    await library.trash.recover(memory)
    if memory.about.is_line_based:
        versions = tuple(version for version in plan.memories if version.id in ids)
    else:
        versions = await _memories(library, matcher, ids)
    if versions:
        await memory.apply([Change(version, None) for version in versions], None, permanently=True)
    task = CancellableTask()
    clean = partial(_clean_files, library, matcher, task.check, on_progress, deletes=bool(versions))
    database = memory.upkeep.database
    async with nullcontext() if database is None else database.disconnected():
        reasons = await task.run(clean)
        await library.trash.erase(_must_leave_trash(library, matcher, ids), matcher.matches)
    scan = await search.scan_files(library, matcher, everything=True)
    location = memory.about.location
    # The scan has already searched stores that are files.
    if not (known_backend(memory.name).has_database or memory.about.is_line_based or memory.about.program is not None):
        try:
            remaining = await _memories(library, matcher, frozenset())
            scan.places += [TextPlace("store", location, len(remaining), can_clean=True)] if remaining else []
        except InspectorError as error:
            scan.places.append(TextPlace("store", location, why=str(error)))
    if memory.about.keeps_deleted is not None:
        scan.skipped.append(TextPlace("store", location, why=memory.about.keeps_deleted))
    return _report(library, plan, scan, reasons, has_deleted=bool(versions))


def _clean_files(
    library: Library, matcher: TextMatcher, check: search.Check, on_progress: ProgressCallback | None, *, deletes: bool
) -> dict[str, str]:
    """Clean the store first, then databases, then other files; returns why a text is left, by path. Blocks.

    `deletes` says that memories were deleted. Raises Locked if the store is locked.
    """
    reasons: dict[str, str] = {}
    known_files = search.PlacedFiles(library.config, library.memory.name, everything=True).files
    # Killed runs of this program may have left temporary files next to any searched file.
    for folder in {file.path.parent for file in known_files}:
        with suppress(OSError):
            disk.remove_stale_temp_files(folder)
    files = [file for file in known_files if file.form != "trash" and not file.place.stays and file.path.exists()]
    files.sort(key=lambda file: (file.place.kind != "store", not file.is_database()))
    for done, file in enumerate(files):
        check()
        if on_progress is not None:
            on_progress(done)
        is_store = file.place.kind == "store"
        try:
            reason = _clean_file(file, matcher, check, prunes=deletes and is_store)
        except (OSError, InspectorError) as error:
            if isinstance(error, Locked) and is_store:
                raise
            reason = search.unread_sentence(error)
        if reason:
            reasons[str(file.path)] = reason
    return reasons


def _clean_file(file: PlacedFile, matcher: TextMatcher, check: search.Check, *, prunes: bool) -> str:
    """Clean one file; returns why a text is left, or "". With `prunes` its embedding cache is always pruned."""

    def rewrite() -> bool:
        data = disk.read_bytes(file.path)
        new = None if data is None else remove_texts(data, file.form, matcher)
        if new is not None:
            disk.replace_bytes(file.path, data, new)
        return new is not None

    count, _ = search.search_file(file, matcher, check, free_pages=True)
    if not file.is_database():
        return "" if not count or disk.retry_if_changed(rewrite, file.path) else _UNCUTTABLE
    reason = _erase_rows(file.path, matcher, check, prunes=prunes) if count or prunes else ""
    try:
        if not count and not prunes:
            with sqlite.open_immutable(file.path) as (connection, _):
                # A keyword index may still have the words of rows that were deleted earlier.
                if not keyword_indexes(connection):
                    return reason
        _wipe(file.path)
    except (OSError, InspectorError) as error:
        return reason or f"{_PAGES}{search.unread_sentence(error)}"
    return reason


def _report(
    library: Library, plan: ErasePlan, scan: Scan, reasons: Mapping[str, str], *, has_deleted: bool
) -> EraseReport:
    """Compare a plan with the second search; the report does not contain the texts."""
    matcher = plan.matcher

    def without(places: Iterable[TextPlace]) -> list[TextPlace]:
        return [replace(each, place=matcher.redact(each.place), why=matcher.redact(each.why)) for each in places]

    remaining = [
        replace(place, why=reasons.get(place.place) or (_STILL if place.can_clean else place.why))
        for place in scan.places
    ]
    still = {place.place: place.count for place in remaining}
    # The index of a database that could not be rewritten still has the words.
    remaining += [TextPlace("file", path, why=why) for path, why in reasons.items() if path not in still]

    def is_erased(place: TextPlace) -> bool:
        count = still.get(place.place, 0)
        is_less = count is not None and count < (place.count or 0)
        # In a database a word of the keyword index may have the place of the deleted row in the count.
        return is_less or (has_deleted and place.kind == "store") or reasons.get(place.place, "").startswith(_PAGES)

    about = {
        "at": library.trash.now().isoformat(timespec="seconds"),
        "backend": library.memory.name,
        "location": matcher.redact(library.memory.about.location),
        "texts": len(matcher.texts),
    }
    rescan = Scan(without(remaining), without(scan.skipped), scan.files)
    return EraseReport(about, tuple(without(filter(is_erased, plan.to_erase))), rescan, matcher.remark)


def _erase_rows(path: Path, matcher: TextMatcher, check: search.Check, *, prunes: bool = False) -> str:
    """Delete or cut the rows that have a text, table by table; returns why some are left, or "". Blocks.

    Freed bytes are zeroed. With `prunes`, or if anything was erased, vectors that belong to no memory are deleted from
    the embedding cache.
    """
    staying: dict[str, None] = {}
    with sqlite.translate_sqlite_errors(path), closing(sqlite.connect_to_write(path, zero=True)) as connection:
        connection.execute("PRAGMA foreign_keys = ON")
        for table in sqlite.tables_of_rows(connection):
            with sqlite.transaction(connection):
                for row in list(search.matching_rows(connection, table, matcher, check)):
                    try:
                        staying[_erase_row(connection, row, matcher)] = None
                    except sqlite3.IntegrityError:
                        staying[_REFUSED] = None
        if prunes or connection.total_changes:
            _prune_cache(connection)
    return " ".join(filter(None, staying))


def _erase_row(connection: sqlite3.Connection, row: search.FoundRow, matcher: TextMatcher) -> str:
    """Erase one row; returns why it is left, or ""."""
    table, number, values = row
    if table in _STAYING:
        return _STAYING[table]
    if values.keys().isdisjoint(search.DELETED_WITH.get(table, ())):
        settings, bound = sqlite.assignments({name: matcher.redact_value(value) for name, value in values.items()})
        connection.execute(f"UPDATE {sqlite.quoted(table)} SET {settings} WHERE rowid = ?", [*bound, number])
    else:
        connection.execute(f"DELETE FROM {sqlite.quoted(table)} WHERE rowid = ?", (number,))
    return ""


def _prune_cache(connection: sqlite3.Connection) -> None:
    """Delete from the embedding cache, whose keys are hashes of texts, the vectors that belong to no memory."""
    if "content_hash" in sqlite.columns_of(connection, "embedding_cache"):
        # The key is the first 8 bytes of the content's SHA-256 in hexadecimal.
        connection.create_function("hash_of", 1, lambda content: hashlib.sha256(content).hexdigest()[:16])
        present = "SELECT hash_of(CAST(content AS BLOB)) FROM memories"
        connection.execute(f"DELETE FROM embedding_cache WHERE content_hash NOT IN ({present})")


def _wipe(path: Path) -> None:
    """Remove deleted data from a database file: VACUUM, rebuild keyword indexes, truncate the write-ahead log. Blocks.

    FTS5 keeps deleted words (https://sqlite.org/fts5.html, 6.9). Raises Locked if it is open elsewhere, Unreadable.
    """
    sqlite.check_room(path, copies=3, folder=path.parent)
    with sqlite.translate_sqlite_errors(path), sqlite.exclusive_connection(path) as connection:
        connection.execute("PRAGMA secure_delete = ON").fetchall()
        connection.execute("VACUUM")
        for name in keyword_indexes(connection):
            # VACUUM may have renumbered the rows that an index refers to.
            connection.execute(f"INSERT INTO {sqlite.quoted(name)}({sqlite.quoted(name)}) VALUES ('rebuild')")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def _must_leave_trash(library: Library, matcher: TextMatcher, ids: frozenset[str]) -> Callable[[Row], bool]:
    """Return a test for rows of the trash: has one of the texts, or is an erased memory."""
    # The id of a line is its number, which the next line gets once a line above is deleted.
    lasting_ids = frozenset() if library.memory.about.is_line_based else ids
    return lambda row: row.id in lasting_ids or _has_text(matcher, row)


async def _memories(library: Library, matcher: TextMatcher, ids: frozenset[str]) -> tuple[RowVersion, ...]:
    """Find the memories to delete: those with one of the ids or texts."""
    memory = library.memory
    memories: list[RowVersion] = []
    # In a database file, the other columns of a row can be cut without deleting it.
    only = ("key", "content") if known_backend(memory.name).has_database else None

    def visit(row: Row) -> None:
        if row.id in ids or _has_text(matcher, row, only):
            memories.append(memory.version_of(row))

    await memory.scan(visit)
    return tuple(memories)


def _has_text(matcher: TextMatcher, row: Row, only: Sequence[str] | None = None) -> bool:
    """Whether a row has a text in its id, owner, key, content or another column."""
    names = (row.id, row.agent if only is None else None, row.values.get("key"), row.values.get("content"))
    return any(isinstance(name, str) and matcher.matches(name) for name in names) or any(
        matcher.matches_field(name, value)
        for name, value in row.values.items()
        if name != "embedding" and (only is None or name in only)
    )


def _outside(library: Library, path: Path) -> Path:
    """Resolve a path. Raises Refused if it is inside the install."""
    target, install = Path(os.path.realpath(path)), library.config.install
    folders = (install.config_dir, install.own_dir, None if install.layout == "lone" else install.root)
    for folder in filter(None, folders):
        if target.is_relative_to(os.path.realpath(folder)):
            raise Refused(f"{path} is inside the install.", hint="Name a place outside: the copy holds the text.")
    return target
