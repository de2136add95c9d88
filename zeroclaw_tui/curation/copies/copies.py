"""Where the text of a memory still lies after it was deleted or changed, and cleaning it there with undo."""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from zeroclaw_tui.backends.cancellation import CancellableTask
from zeroclaw_tui.backends.factory import forwards_writes
from zeroclaw_tui.backends.lookup import require_database, whole_entry
from zeroclaw_tui.curation.changes import Outcome, PurgePlan, refuse_read_only, run_change
from zeroclaw_tui.curation.copies.texts import (
    MAX_TEXTS,
    NEVER_TEXT,
    LineSearch,
    Phrases,
    Span,
    Text,
    Wanted,
    bytes_of,
    cache_hash,
    cut_from_lines,
    cut_out,
    keys_in_question,
    lines_of,
    searched,
    spans_in_snapshot,
    without,
    without_entries,
)
from zeroclaw_tui.curation.install_files import (
    AUDITED_KEYS,
    HYDRATED,
    InstallFiles,
    Kind,
    Place,
    files_of_zeroclaw,
    not_read,
)
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.side_files import LARGEST, FileVanished, write_file
from zeroclaw_tui.curation.side_rows import AT_ONCE, change_values, optimize_keyword_indexes, present_now
from zeroclaw_tui.curation.trash.journal import ids_move
from zeroclaw_tui.curation.trash.trash import RunningAction
from zeroclaw_tui.files.database import (
    as_text,
    columns_of,
    connect_read_only_blocking,
    open_immutable,
    quoted,
    tables_of_rows,
    translate_sqlite_errors,
)
from zeroclaw_tui.files.disk import file_size, read_bytes
from zeroclaw_tui.memory.change import MEMORIES, OTHER_ROW, Journal, ProgressCallback
from zeroclaw_tui.memory.errors import InspectorError, NotFound, Refused, Unreadable
from zeroclaw_tui.memory.query import ENTRIES, EXCERPTS, Query
from zeroclaw_tui.memory.text import first_names, one_line

LARGEST_SEARCHED = 1_000_000_000
"""Files of more bytes are not searched."""
LARGEST_CLEANED = 64_000_000
"""Files of more bytes are not cleaned: an undo keeps them whole."""
_VALUES_AT_ONCE = 4_000_000
"""Characters of rows that are compared with the texts at once."""
_MAYBE = " It may contain the text."
_ROWS_AT_ONCE = 500
_SECONDS = 5.0
"""For so long a server looks for other memories of the same content."""
_NOT_WHOLE = "There are too many memories to compare quickly; others may have the same content."
_HISTORIES = 200
"""For so many texts it is looked up whether the trash has earlier versions."""
_EMPTIES = "Undo needs them; `zeroclaw memory trash empty` deletes them."
_PLURALS: Mapping[Kind, str] = {
    "snapshot": "snapshots",
    "archive": "archived files",
    "markdown": "Markdown files",
    "prompt file": "prompt files",
    "chat": "chats",
    "trace": "traces",
    "knowledge": "knowledge graphs",
    "schedule": "files of schedules",
    "tasks": "files of tasks",
    "security log": "files of the security log",
    "service log": "service logs",
    "deleted agent": "files of deleted agents",
    "backup": "files of backups",
    "other database": "other databases",
}
_LUCID = "ZeroClaw also stored these memories in lucid, which has no delete command."

Cut = Callable[[list[str]], tuple[list[str], set[Text]]]
"""From the lines of a file to those that stay, and the texts that go with the others."""


@dataclass(frozen=True, slots=True)
class Copy:
    """A place where texts still lie. `place` is a path or a name for people, `count` how many of the texts.

    `count` None means it cannot be counted, only that they may lie there. `remark` is one sentence: what that means,
    or why it cannot be cleaned here. `texts` are those found there. `where` is the place's line in the table.
    """

    kind: Kind
    place: str
    count: int | None
    can_clean: bool
    remark: str
    texts: tuple[Text, ...] = ()
    where: Place | None = None


async def find_copies(library: Library, texts: Iterable[Text]) -> list[Copy]:
    """Every place beside the store itself where one of these texts still lies (ZeroClaw's own files only).

    A memory that is stored is no copy, even of a text that it shares with one that went; before a removal the
    memories the texts stand for do not count. Contents of fewer than SHORT characters are only found as a whole
    memory, entry or line. The log and the free pages of databases are not searched. Reads
    only, in threads that end soon when this is cancelled. Raises InspectorError kinds where the store cannot be read;
    any other place tells that by itself.
    """
    wanted = await asyncio.to_thread(Wanted, list(texts))
    if not wanted.texts:
        return []
    files = await asyncio.to_thread(files_of_zeroclaw, library.config, library.memory.name)
    snapshots, keys, unread = await asyncio.to_thread(_snapshots, files, wanted)
    stored = await _stored_now(library, files.database, wanted, keys)
    task = CancellableTask()
    elsewhere = await task.run(lambda: list(_elsewhere(files, wanted, stored, snapshots, task.check)))
    lucid = forwards_writes(library.config.backend, library.config.zeroclaw_backend)
    return [
        *_in_memories(library, stored, wanted),
        *await _in_embedding_cache(library, stored, wanted),
        *elsewhere,
        *([Copy("lucid", "lucid", None, False, _LUCID)] if lucid else []),
        *await _in_trash(library, wanted),
        *(Copy(one.kind, one.place, None, False, f"{one.why}{_MAYBE}") for one in files.unseen if one.may_hold),
        *unread,
    ]


async def texts_of(library: Library, action: int) -> list[Text]:
    """The texts an action deleted or replaced, out of the trash; what was taken back since is left out."""

    def read() -> list[Text]:
        texts: dict[Text, None] = {}
        for batch in library.trash.open_changes(action)():
            for change in batch:
                before = change.before
                if before is None or before.table != MEMORIES:
                    continue
                was = before.entry()
                if change.after is None or change.after.entry().content != was.content:
                    texts[Text(was.id, was.key, was.content)] = None
        return list(reversed(texts))

    return await asyncio.to_thread(read)


async def texts_of_plan(library: Library, plan: PurgePlan) -> list[Text]:
    """Key and whole content of every memory of a plan, those gone meanwhile left out."""
    handles = [stamp.handle for stamp in plan.stamps]
    texts: list[Text] = []
    for start in range(0, len(handles), _ROWS_AT_ONCE):
        for entry in await library.memory.rows(Query(EXCERPTS, handles=handles[start : start + _ROWS_AT_ONCE])):
            try:
                whole = await whole_entry(library.memory, entry.handle) if entry.is_excerpt else entry
            except NotFound:
                continue
            texts.append(Text(whole.id, whole.key, whole.content))
    return texts


def summary(copies: Sequence[Copy]) -> str:
    """One line: "embedding cache (290), MEMORY_SNAPSHOT.md (3)"; empty when there are none.

    Several files of one kind are told together: "4 archived files (12)".
    """
    by_kind: dict[Kind, list[Copy]] = {}
    for copy in copies:
        by_kind.setdefault(copy.kind, []).append(copy)
    return ", ".join(_summed(kind, some) for kind, some in by_kind.items())


def planned_words(copies: Sequence[Copy]) -> str:
    """Where else the texts of a plan lie, as it is said before it is carried out."""
    found = one_line(summary(copies))
    return f"Copies also lie in: {found}" if found else "No copies of them were found elsewhere."


def left_words(copies: Sequence[Copy]) -> str:
    """Where else the texts of a change still lie, once it is done; "" where nowhere."""
    found = one_line(summary(copies))
    return f"Also found in: {found}" if found else ""


def place_words(copy: Copy) -> str:
    """One place, and what is to be known of it."""
    return one_line(f"{copy.kind}, {copy.place}: {copy.remark}")


async def living_in(library: Library, snapshot: Path, wanted: Wanted) -> dict[str, set[str]]:
    """What the store holds now under the keys of a snapshot, contents by key: memories that are no copies in it."""

    def keys() -> set[str]:
        try:
            return keys_in_question(_read_lines(snapshot) or [], wanted)
        except OSError:
            # Cleaning it says why it cannot be read.
            return set()

    files = await asyncio.to_thread(files_of_zeroclaw, library.config, library.memory.name)
    return (await _stored_now(library, files.database, wanted, await asyncio.to_thread(keys))).living


def _snapshots(files: InstallFiles, wanted: Wanted) -> tuple[dict[Path, list[str]], set[str], list[Copy]]:
    """The lines of each snapshot, the keys in question, and the snapshots that could not be read."""
    lines_in: dict[Path, list[str]] = {}
    keys: set[str] = set()
    unread: list[Copy] = []
    for path in (file.path for file in files.holding("snapshot")):
        try:
            read = _read_lines(path)
        except OSError as error:
            unread.append(_not_looked_at("snapshot", path, error))
            continue
        if read is None:
            unread.append(_too_large("snapshot", path, LARGEST))
        else:
            lines_in[path] = read
            keys |= keys_in_question(read, wanted)
    return lines_in, keys, unread


def _elsewhere(
    files: InstallFiles, wanted: Wanted, stored: _Stored, snapshots: dict[Path, list[str]], check: Callable[[], None]
) -> Iterator[Copy]:
    """Everything in files and other databases, in the order of the table."""
    gone = stored.gone_keys()
    notes: dict[Kind, LineSearch] = {}
    of_notes = files.holding("notes")
    for kind in {file.kind for file in of_notes}:
        notes[kind] = LineSearch(wanted, sum(_size(file.path) for file in of_notes if file.kind == kind))
    phrases = Phrases(wanted if files.holding("lines", "rows", "anything") else Wanted(()))
    for place, path in ((file.where, file.path) for file in files.files):
        check()
        try:
            if place.holds == "snapshot":
                if path in snapshots:
                    spans = spans_in_snapshot(snapshots[path], wanted, stored.living)
                    remark = HYDRATED if path == files.live_snapshot else place.remark
                    yield from _found(place.kind, path, wanted.in_order(_of_spans(spans)), remark, place)
            elif place.holds == "notes":
                yield from _in_notes(place, path, wanted, notes[place.kind])
            elif place.holds == "memories":
                yield from _in_memories_table(place, path, wanted, gone)
            elif place.holds == "rows":
                yield from _in_any_table(place, path, phrases, gone, check)
            else:
                yield from _in_file(place, path, phrases, check)
        except (OSError, InspectorError) as error:
            yield _not_looked_at(place.kind, path, error)


def _in_notes(place: Place, path: Path, wanted: Wanted, search: LineSearch) -> list[Copy]:
    """A Markdown file with lines that hold a text."""
    read = _read_lines(path)
    if read is None:
        return [_too_large(place.kind, path, LARGEST)]
    remark = place.remark
    if search.inside < len(wanted.texts):
        remark += f" Only the first {search.inside:,} texts were also searched for inside longer lines."
    return _found(place.kind, path, wanted.in_order(_of_spans(search.spans_of(read))), remark, place)


def _in_file(place: Place, path: Path, phrases: Phrases, check: Callable[[], None]) -> list[Copy]:
    """A file of lines, or of any form."""
    size = path.stat().st_size
    if size > LARGEST_SEARCHED:
        return [_too_large(place.kind, path, LARGEST_SEARCHED)]
    texts = phrases.wanted.in_order(searched(path, phrases, check))
    if place.can_clean and size > LARGEST_CLEANED:
        remark = "It is too large to clean with undo: delete it while ZeroClaw is stopped."
        return _found(place.kind, path, texts, remark)
    return _found(place.kind, path, texts, place.remark + _cut_remark(phrases), place)


def _cut_remark(phrases: Phrases) -> str:
    return f" Only the first {MAX_TEXTS} texts were searched for." if phrases.is_cut else ""


def _of_spans(spans: Iterable[Span]) -> Iterator[Text]:
    return (text for _, _, texts in spans for text in texts)


def _read_lines(path: Path) -> list[str] | None:
    """The lines of a file; None when it is too large. Raises OSError."""
    if path.stat().st_size > LARGEST:
        return None
    return lines_of(path.read_bytes())


def _size(path: Path) -> int:
    try:
        return file_size(path)
    except OSError:
        # Reading it says why.
        return 0


async def _stored_now(library: Library, database: Path | None, wanted: Wanted, keys: Iterable[str]) -> _Stored:
    """What the store holds now, with the contents under these keys."""
    stored = _Stored(wanted, keys)
    if database is not None:
        await asyncio.to_thread(_read_store, database, stored)
    else:
        memory, found = library.memory, {}
        for entry in await memory.rows(Query(ENTRIES, keys=list(stored.keys))):
            found[entry.id] = entry
        try:
            async with asyncio.timeout(_SECONDS):
                for entry in await memory.rows(Query(ENTRIES, contents=list(wanted.by_content))):
                    found[entry.id] = entry
        except TimeoutError:
            stored.is_whole = False
        for entry in found.values():
            stored.add(entry.id, entry.key, entry.content)
    return stored


def _in_memories(library: Library, stored: _Stored, wanted: Wanted) -> list[Copy]:
    """Other memories with the same content, superseded ones and those of other agents too."""
    texts = wanted.in_order(text for _, content in stored.same for text in wanted.by_content[content])
    keys = list(dict.fromkeys(key for key, _ in stored.same))
    way = library.memory.about.keeps_deleted if library.memory.about.program else "Select and delete them."
    remark = f"Other memories have the same content: {first_names(keys)}. {way}"
    copies = _found("memories", library.memory.about.location, texts, remark)
    if not stored.is_whole:
        copies.append(Copy("memories", library.memory.about.location, None, False, _NOT_WHOLE))
    return copies


async def _in_embedding_cache(library: Library, stored: _Stored, wanted: Wanted) -> list[Copy]:
    """ZeroClaw's cached vectors of the contents."""
    database = library.memory.upkeep.database
    count = 0 if database is None else await database.count_cached_vectors(list(wanted.by_content))
    if not count:
        return []
    cached = [content for content in wanted.by_content if cache_hash(content) in stored.hashes]
    texts = wanted.in_order(text for content in cached for text in wanted.by_content[content]) or wanted.texts
    remark = "A hash of the content and its vector remain, not the text itself."
    return [Copy("embedding cache", library.memory.about.location, count, True, remark, texts)]


async def _in_trash(library: Library, wanted: Wanted) -> list[Copy]:
    """Earlier versions of the memories in the trash of this program."""
    place = library.trash.file
    try:
        texts = [text for text in wanted.texts[:_HISTORIES] if await _has_earlier(library, text)]
    except InspectorError as error:
        return [_not_looked_at("trash", place, error)]
    if not texts:
        return []
    remark = f"Earlier versions of these memories are in the trash. {_EMPTIES}"
    if len(wanted.texts) > _HISTORIES:
        remark = f"Of the first {_HISTORIES:,} of these memories the trash has earlier versions. {_EMPTIES}"
    return _found("trash", place, tuple(texts), remark)


async def _has_earlier(library: Library, text: Text) -> bool:
    """Whether the trash has more of a memory than the change that took this text away."""
    versions = await library.trash.history(text.id)
    newest = versions[0].before if versions else None
    is_this = newest is not None and newest.entry().content == text.content
    # Where ids move, what the trash has under this one may be another memory.
    return len(versions) > is_this and (is_this or not ids_move(library.trash.store))


def _summed(kind: Kind, copies: Sequence[Copy]) -> str:
    counts = [copy.count for copy in copies if copy.count is not None]
    if len(copies) > 1:
        name = f"{len(copies)} {_PLURALS.get(kind, kind)}"
    else:
        name = Path(copies[0].place).name if kind in _PLURALS else kind
    return one_line(f"{name} ({sum(counts):,})" if counts else name)


def _found(kind: Kind, place: object, texts: tuple[Text, ...], remark: str, where: Place | None = None) -> list[Copy]:
    """The copy these texts make, none when there are none; it can be cleaned where its line of the table says so."""
    can_clean = where is not None and where.can_clean
    return [Copy(kind, str(place), len(texts), can_clean, remark, texts, where)] if texts else []


def _not_looked_at(kind: Kind, place: object, error: OSError | InspectorError) -> Copy:
    """A place that could not be read, with the reason."""
    return Copy(kind, str(place), None, False, f"{not_read(error)}{_MAYBE}")


def _too_large(kind: Kind, place: object, largest: int) -> Copy:
    """A file that is too large to be read."""
    remark = f"It is larger than {largest // 1_000_000} MB and was not searched; it may contain the text."
    return Copy(kind, str(place), None, False, remark)


class _Stored:
    """What the store holds now that matters to copies of the texts.

    `same` are the other memories with the content of one of them, as key and content; `living` has the contents
    stored under each of `keys`; `hashes` are those of ZeroClaw's embedding cache. `is_whole` is False where not every
    memory was looked at.
    """

    def __init__(self, wanted: Wanted, keys: Iterable[str]) -> None:
        self._wanted, self.keys = wanted, frozenset((*keys, *wanted.by_key))
        self.is_whole = True
        self.same: list[tuple[str, str]] = []
        self.living: dict[str, set[str]] = {}
        self.hashes: set[str] = set()

    def add(self, id: str, key: str, content: str) -> None:
        """One memory of the store."""
        if not self._wanted.is_row(id, content):
            if content in self._wanted.by_content:
                self.same.append((key, content))
            if key in self.keys:
                self.living.setdefault(key, set()).add(content)

    def gone_keys(self) -> dict[str, list[Text]]:
        """The keys of texts under which nothing is stored any more, with the texts."""
        return {key: texts for key, texts in self._wanted.by_key.items() if key not in self.living}


def _read_store(database: Path, stored: _Stored) -> None:
    """Take in every row of the store's memories table and embedding cache. Raises InspectorError kinds."""
    with closing(connect_read_only_blocking(database)) as connection, translate_sqlite_errors(database):
        id_column = "id" if "id" in columns_of(connection, "memories") else "NULL"
        for row in connection.execute(f"SELECT {id_column}, key, content FROM memories"):
            stored.add(*map(as_text, row))
        if "content_hash" in columns_of(connection, "embedding_cache"):
            stored.hashes |= {
                as_text(name) for (name,) in connection.execute("SELECT content_hash FROM embedding_cache")
            }


def _in_memories_table(place: Place, path: Path, wanted: Wanted, gone_keys: dict[str, list[Text]]) -> list[Copy]:
    """Another database with ZeroClaw's memories table: its rows with the content, or the key of one that is gone."""
    if file_size(path) == 0:
        return []
    with open_immutable(path) as (connection, notice):
        held: set[Text] = set()
        for row in connection.execute("SELECT key, content FROM memories"):
            key, content = map(as_text, row)
            held.update(wanted.by_content.get(content, ()))
            held.update(gone_keys.get(key, ()))
    if not held and notice:
        return [Copy(place.kind, str(path), None, False, notice.strip())]
    return _found(place.kind, path, wanted.in_order(held), f"{place.remark}{notice}", place)


def _in_any_table(
    place: Place, path: Path, phrases: Phrases, gone_keys: dict[str, list[Text]], check: Callable[[], None]
) -> list[Copy]:
    """A database of any schema: every value that holds a text, and the keys in an audit log."""
    size = file_size(path)
    if size == 0:
        return []
    if size > LARGEST_SEARCHED:
        return [_too_large(place.kind, path, LARGEST_SEARCHED)]
    with open_immutable(path) as (connection, _):
        # Opening is lazy: only the first read tells what is wrong with the file.
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        held = _in_tables(connection, phrases, check)
        keys = _audited_keys(connection, gone_keys) if place.kind == "audit" else set()
    if keys and not held:
        return [Copy(place.kind, str(path), len(keys), False, AUDITED_KEYS, phrases.wanted.in_order(keys))]
    remark = place.remark + _cut_remark(phrases) + (f" {AUDITED_KEYS}" if keys else "")
    return _found(place.kind, path, phrases.wanted.in_order(held | keys), remark, place)


def _audited_keys(connection: sqlite3.Connection, gone_keys: dict[str, list[Text]]) -> set[Text]:
    if "key" not in columns_of(connection, "memory_audit"):
        return set()
    named = connection.execute("SELECT DISTINCT key FROM memory_audit WHERE key IS NOT NULL")
    return {text for (key,) in named for text in gone_keys.get(as_text(key), ())}


def _in_tables(connection: sqlite3.Connection, phrases: Phrases, check: Callable[[], None]) -> set[Text]:
    """The texts that any value of any table holds; tables of an index are none."""
    held: set[Text] = set()
    for table in tables_of_rows(connection):
        values: list[str] = []
        size = 0
        columns = [name for name in columns_of(connection, table) if name.lower() not in NEVER_TEXT]
        selected = ", ".join(map(quoted, columns)) or "NULL"
        for row in connection.execute(f"SELECT {selected} FROM {quoted(table)}"):
            some = [value for value in row if isinstance(value, str)]
            values += some
            size += sum(map(len, some))
            if size > _VALUES_AT_ONCE:
                held |= phrases.in_values(values)
                values, size = [], 0
                check()
        held |= phrases.in_values(values)
    return held


def _rows_holding(place: Place, path: Path, phrases: Phrases) -> Iterator[tuple[str, list[str], list[int]]]:
    """By table, the columns that may be changed and the rows in which one of them holds a text."""
    with closing(connect_read_only_blocking(path)) as connection, translate_sqlite_errors(path):
        for table, named in place.columns.items():
            there = columns_of(connection, table)
            columns = [name for name in named if name in there]
            if not columns:
                continue
            rows = connection.execute(f"SELECT rowid, {', '.join(map(quoted, columns))} FROM {quoted(table)}")
            numbers = [
                number
                for number, *values in rows
                if phrases.in_values([value for value in values if isinstance(value, str)])
            ]
            if numbers:
                yield table, columns, numbers


class ChangedMeanwhile(Refused):
    """Another program wrote the file after it was read; it stays as that program left it."""

    title = "Changed meanwhile"

    def __init__(self, path: Path) -> None:
        super().__init__(f"{path} changed while it was being cleaned and was left alone.", hint="Clean it once more.")


async def clean_copies(library: Library, copies: Sequence[Copy]) -> Outcome:
    """Remove the texts from those places that allow it; what goes is kept, and an undo restores it.

    `count` is how many texts went from a place, each place by itself. A place that cannot be cleaned becomes a note.
    Raises Refused where the store is read-only, and what the trash raises.
    """
    refuse_read_only(library)
    chosen = list({(copy.kind, copy.place): copy for copy in copies if copy.can_clean}.values())
    if not chosen:
        return Outcome("clean", 0)

    async def work(action: RunningAction, going: ProgressCallback) -> Outcome:
        count, notes, room = 0, list[str](), LARGEST
        for copy in chosen:
            if not going(count):
                break
            try:
                if copy.kind == "embedding cache":
                    contents = list(dict.fromkeys(text.content for text in copy.texts))
                    count += await require_database(library.memory).forget_cached_vectors(contents, action)
                elif copy.where is not None and copy.where.columns:
                    gone, said = await asyncio.to_thread(
                        _clean_database, copy.where, Path(copy.place), copy.texts, action
                    )
                    count += gone
                    notes += said
                    if said:
                        await _take_back(library, action, copy.place)
                else:
                    room -= await asyncio.to_thread(_checked_size, Path(copy.place), room)
                    cut = await _cut_for(library, copy)
                    count += await asyncio.to_thread(_rewrite, Path(copy.place), cut, action)
            except InspectorError as error:
                notes.append(str(error))
                await _take_back(library, action, copy.place)
        return Outcome("clean", count, notes=tuple(notes))

    outcome = await run_change(library, "clean", f"cleaned {summary(chosen)}", work)
    return outcome if outcome.count else replace(outcome, action=None)


def _checked_size(path: Path, room: int) -> int:
    """The size of a file. Raises Refused where an undo would have to keep more than there is room for."""
    try:
        size = file_size(path)
    except OSError as error:
        raise Unreadable(f"{path} cannot be read: {error.strerror or error}.", hint="Check its permissions.") from error
    if size > room:
        raise Refused(
            f"{path} was left alone: together with the other files it is too large for undo.",
            hint="Edit it by hand, or delete it where it is not needed.",
        )
    return size


async def _cut_for(library: Library, copy: Copy) -> Cut:
    """What takes the texts of a copy out of its file; in a snapshot memories that are stored stay."""
    wanted = Wanted(copy.texts)
    holds = None if copy.where is None else copy.where.holds
    if holds == "lines":
        return lambda read: cut_from_lines(read, Phrases(wanted))
    living = await living_in(library, Path(copy.place), wanted) if holds == "snapshot" else {}

    def cut(read: list[str]) -> tuple[list[str], set[Text]]:
        if holds == "snapshot":
            spans = list(spans_in_snapshot(read, wanted, living))
            return without_entries(read, spans), set(_of_spans(spans))
        spans = LineSearch(wanted).spans_of(read)
        return without(read, spans), set(_of_spans(spans))

    return cut


def _rewrite(path: Path, cut: Cut, journal: Journal) -> int:
    """Replace a file by what a cut leaves of it, with its mode; gives how many texts went.

    Raises Unreadable and Refused, ChangedMeanwhile among them, and what `keep` raises; the file is then as it was.
    """
    data = read_bytes(path)
    if data is None:
        raise ChangedMeanwhile(path)
    kept, gone = cut(lines_of(data))
    new = bytes_of(kept)
    if new == data:
        return 0
    try:
        write_file(path, data, new, journal)
    except FileVanished as error:
        raise ChangedMeanwhile(path) from error
    return len(gone)


def _clean_database(place: Place, path: Path, texts: Sequence[Text], journal: Journal) -> tuple[int, list[str]]:
    """Put [removed] in place of the texts in the columns of a database; gives how many went, and sentences.

    Each write is short, so that a running ZeroClaw never waits long for its turn.
    """
    phrases = Phrases(Wanted(texts))
    gone: set[Text] = set()
    going: set[Text] = set()

    def cut(value: str) -> str:
        without, held = cut_out(value, phrases.all)
        going.update(text for phrase in held for text in phrase.texts)
        return without

    for table, columns, numbers in list(_rows_holding(place, path, phrases)):
        for start in range(0, len(numbers), AT_ONCE):
            going.clear()
            try:
                change_values(path, table, columns, numbers[start : start + AT_ONCE], cut, journal)
            except InspectorError as error:
                return len(gone), [str(error)]
            gone |= going
    if not gone:
        return 0, []
    if file_size(path) > LARGEST_CLEANED:
        return len(gone), [f"{path} is large: single words may stay in its keyword index until ZeroClaw merges that."]
    try:
        optimize_keyword_indexes(path)
    except InspectorError as error:
        return len(gone), [f"{error.message} Single words may stay in its keyword index, and the text in its log."]
    return len(gone), []


async def _take_back(library: Library, action: RunningAction, place: str) -> None:
    """What was kept of a file or of rows that were left alone in the end is nothing to undo."""

    def kept() -> list[int]:
        name = os.path.realpath(place)
        changes = [change for batch in library.trash.open_changes(action.number)() for change in batch]
        rows = [change.row for change in changes if change.row.table == OTHER_ROW]
        untouched = present_now([row for row in rows if row.id.startswith(f"{place}#")])
        return [
            change.number
            for change in changes
            if change.number is not None and (change.row.id == name or change.row.id in untouched)
        ]

    await action.take_as_reversed(await asyncio.to_thread(kept))
