"""Where the text of a memory still lies after it was deleted or changed, and cleaning it there with undo."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from zeroclaw_tui.backends.cancellation import CancellableTask
from zeroclaw_tui.backends.factory import forwards_writes
from zeroclaw_tui.backends.lookup import require_database, whole_entry
from zeroclaw_tui.curation import external
from zeroclaw_tui.curation.changes import Outcome, PurgePlan, refuse_read_only, run_change
from zeroclaw_tui.curation.formats.snapshot import Part, content_of, parts_in
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.running_action import RunningAction
from zeroclaw_tui.curation.traces.databases import FoundRow, rows_with_texts, unread_log
from zeroclaw_tui.curation.traces.matcher import MAX_TEXTS, TextMatcher
from zeroclaw_tui.curation.traces.places import Kind, Place, PlacedFile, PlacedFiles, files_with_copies, not_read
from zeroclaw_tui.curation.traces.text_files import bytes_of, lines_of, without_entries, without_texts
from zeroclaw_tui.files.database import iter_raw_chunks
from zeroclaw_tui.files.disk import file_size, read_bytes
from zeroclaw_tui.memory.change import MEMORIES, Journal, ProgressCallback, RowChange
from zeroclaw_tui.memory.errors import InspectorError, NotFound, UsageError
from zeroclaw_tui.memory.query import ENTRIES, EXCERPTS, Query
from zeroclaw_tui.memory.text import WHITE_SPACE, counted, first_names, one_line

SHORT = 8
"""Texts of fewer characters are everywhere: they are only found as whole memories."""
LARGEST_SEARCHED = 1_000_000_000
"""Files of more bytes are not searched."""
LARGEST_CLEANED = 64_000_000
"""Files of more bytes are not cleaned: undo needs them whole."""
_ROWS_AT_ONCE = 500
_SECONDS = 5.0
"""For so long a store searches for other memories of the same content."""
_MAYBE = " It may contain the text."
_NOT_WHOLE = "There are too many memories to compare quickly; others may have the same content."
_LUCID = "ZeroClaw also stored these memories in lucid, which has no delete command."
_HYDRATED = (
    "If brain.db is lost, ZeroClaw creates core memories from this file. It rewrites the file only while there are "
    "core memories."
)
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


@dataclass(frozen=True, slots=True)
class Text:
    """A memory's key and content, as they were."""

    id: str
    key: str
    content: str


@dataclass(frozen=True, slots=True)
class Copy:
    """A place where texts still lie. `place` is a path or a name for people; `count` is how many rows or entries have
    one, or how often they are in the file.

    `count` None means that they may lie there. `remark` says what that means, or why it cannot be cleaned here. `texts`
    are those that were searched for, `file` the file to clean.
    """

    kind: Kind
    place: str
    count: int | None
    can_clean: bool
    remark: str
    texts: tuple[Text, ...] = ()
    file: PlacedFile | None = None

    def as_json(self) -> dict[str, Any]:
        """By the names of `also_found_in`."""
        return {name: getattr(self, name) for name in ("kind", "place", "count", "can_clean", "remark")}

    @property
    def sentence(self) -> str:
        """The place, and what is to be known of it."""
        return one_line(f"{self.kind}, {self.place}: {self.remark}")


def matcher_for(texts: Sequence[Text], typed: str = "") -> TextMatcher:
    """Searches for the contents of memories, and for a text that was typed. Short contents are left out.

    Raises UsageError where nothing is left to search for.
    """
    contents = [text.content for text in texts if len(text.content.strip(WHITE_SPACE)) >= SHORT]
    if texts and not contents and not typed.strip():
        raise UsageError(
            f"A text of less than {SHORT} characters occurs everywhere.",
            hint="Delete the memory instead, or type a longer text to erase.",
        )
    return TextMatcher([*contents, *([typed] if typed.strip() else [])])


async def texts_of(library: Library, action: int) -> list[Text]:
    """The texts that a change deleted or replaced, out of the trash, without what was undone since."""

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
    """Key and whole content of every memory of a plan that still exists."""
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
    """One line: "embedding cache (290), MEMORY_SNAPSHOT.md (3)", several files of one kind together; "" for none."""
    by_kind: dict[Kind, list[Copy]] = {}
    for copy in copies:
        by_kind.setdefault(copy.kind, []).append(copy)
    return one_line(", ".join(_summed(kind, some) for kind, some in by_kind.items()))


def planned_sentence(copies: Sequence[Copy]) -> str:
    """Where else the texts of a plan lie."""
    return f"Copies also lie in: {summary(copies)}" if copies else "No copies of them were found elsewhere."


def left_sentence(copies: Sequence[Copy]) -> str:
    """Where else the texts of a change still lie once it is done; "" where nowhere."""
    return f"Also found in: {summary(copies)}" if copies else ""


def cleaned_sentence(cleaned: Outcome) -> str:
    """How many places were cleaned."""
    return f"Cleaned {counted(cleaned.count, 'copy')}." if cleaned.count else "Nothing to clean."


def _summed(kind: Kind, copies: Sequence[Copy]) -> str:
    counts = [copy.count for copy in copies if copy.count is not None]
    if len(copies) > 1:
        name = f"{len(copies)} {_PLURALS.get(kind, kind)}"
    else:
        name = Path(copies[0].place).name if kind in _PLURALS else kind
    return f"{name} ({sum(counts):,})" if counts else name


async def find_copies(library: Library, texts: Iterable[Text]) -> list[Copy]:
    """Every place beside the store itself where one of these texts still lies.

    A memory that is stored is no copy, except of a text that went; before a removal the memories of the texts do not
    count. Only the first MAX_TEXTS are searched for within files; whole entries of snapshots and cached vectors are
    found for all. The free pages of databases are not searched. Reads only, in threads that end soon when this is
    cancelled. Raises InspectorError kinds where the store cannot be read; any other place says that by itself.
    """
    wanted = _Wanted(texts)
    if not wanted.texts:
        return []
    files = await asyncio.to_thread(files_with_copies, library.config, library.memory.name)
    stored = await _stored_keys(library, wanted, await asyncio.to_thread(_candidate_keys, files.files, wanted))
    task = CancellableTask()
    in_files = await task.run(lambda: list(_in_files(files, wanted, stored, task.check)))
    lucid = forwards_writes(library.config.backend, library.config.zeroclaw_backend)
    return [
        *await _in_memories(library, wanted),
        *await _in_embedding_cache(library, wanted),
        *in_files,
        *([Copy("lucid", "lucid", None, False, _LUCID)] if lucid else []),
        *(Copy(one.kind, one.place, None, False, f"{one.why}{_MAYBE}") for one in files.skipped if one.may_hold),
    ]


class _Wanted:
    """The texts that are searched for, each once."""

    def __init__(self, texts: Iterable[Text]) -> None:
        self.texts = tuple(dict.fromkeys(texts))
        self.contents = {text.content for text in self.texts if text.content.strip(WHITE_SPACE)}
        self.entries = {content_of(content.split("\n")) for content in self.contents}
        """The contents as they are read back from a snapshot."""
        self.keys = {text.key for text in self.texts if text.key.strip(WHITE_SPACE)}
        self.rows = {(text.id, text.content) for text in self.texts}
        is_any_long = any(len(text.content.strip(WHITE_SPACE)) >= SHORT for text in self.texts)
        self.matcher = matcher_for(self.texts) if is_any_long else None

    def may_be_in(self, part: Part) -> bool:
        """Whether an entry of a snapshot has a text, or the key of one."""
        return part.key in self.keys or self._has_text(part)

    def is_in(self, part: Part, stored: Mapping[str, set[str]]) -> bool:
        """Whether an entry of a snapshot is a copy: not of a memory that is stored.

        ZeroClaw would bring a memory back under the key of one that went, whatever it said then.
        """
        if part.content in stored.get(part.key, ()):
            return False
        return self._has_text(part) or (part.key in self.keys and part.key not in stored)

    def _has_text(self, part: Part) -> bool:
        return part.content in self.entries or (self.matcher is not None and self.matcher.found_in(part.content))


def _candidate_keys(files: Iterable[PlacedFile], wanted: _Wanted) -> set[str]:
    """The keys of the entries in snapshots that may be copies."""
    keys: set[str] = set()
    for file in files:
        if file.form == "snapshot" and file_size(file.path) <= LARGEST_SEARCHED:
            try:
                lines = lines_of(read_bytes(file.path) or b"")
            except InspectorError:
                continue  # Searching it says why.
            keys |= {part.key for part in parts_in(lines) if wanted.may_be_in(part)}
    return keys


async def _stored_keys(library: Library, wanted: _Wanted, keys: set[str]) -> dict[str, set[str]]:
    """The contents that are stored under these keys, as a snapshot would have them."""
    stored: dict[str, set[str]] = {}
    ordered = sorted(keys)
    for start in range(0, len(ordered), _ROWS_AT_ONCE):
        for entry in await library.memory.rows(Query(ENTRIES, keys=ordered[start : start + _ROWS_AT_ONCE])):
            if (entry.id, entry.content) not in wanted.rows:
                stored.setdefault(entry.key, set()).add(content_of(entry.content.split("\n")))
    return stored


async def _in_memories(library: Library, wanted: _Wanted) -> list[Copy]:
    """Other memories with the same content, superseded ones and those of other agents too."""
    location, contents = library.memory.about.location, sorted(wanted.contents)[:MAX_TEXTS]
    if not contents:
        return []
    try:
        async with asyncio.timeout(_SECONDS):
            entries = await library.memory.rows(Query(ENTRIES, contents=contents))
    except TimeoutError:
        return [Copy("memories", location, None, False, _NOT_WHOLE)]
    same = [entry for entry in entries if (entry.id, entry.content) not in wanted.rows]
    if not same:
        return []
    keys = list(dict.fromkeys(entry.key for entry in same))
    way = library.memory.about.keeps_deleted if library.memory.about.program else "Select and delete them."
    return [
        Copy(
            "memories", location, len(same), False, f"Other memories have the same content: {first_names(keys)}. {way}"
        )
    ]


async def _in_embedding_cache(library: Library, wanted: _Wanted) -> list[Copy]:
    """ZeroClaw's cached vectors of the contents."""
    database = library.memory.upkeep.database
    count = 0 if database is None else await database.count_cached_vectors(sorted(wanted.contents))
    if not count:
        return []
    remark = "A hash of the content and its vector remain, not the text itself."
    return [Copy("embedding cache", library.memory.about.location, count, True, remark, wanted.texts)]


def _in_files(
    files: PlacedFiles, wanted: _Wanted, stored: Mapping[str, set[str]], check: Callable[[], None]
) -> Iterator[Copy]:
    """Everything in files and other databases, in the order of the table."""
    for file in files.files:
        check()
        remark = _HYDRATED if file.path == files.live_snapshot else file.place.remark
        try:
            skipped = file.why_not_searched()
            if skipped is not None:
                yield _unknown(file, f"{skipped.why}{_MAYBE}")
            elif (size := file_size(file.path)) > LARGEST_SEARCHED:
                yield _unknown(file, f"It is larger than {LARGEST_SEARCHED // 1_000_000} MB and was not searched.")
            else:
                yield from _in_file(file, size, remark, wanted, stored, check)
        except (OSError, InspectorError) as error:
            yield _unknown(file, f"{not_read(error)}{_MAYBE}")


def _in_file(
    file: PlacedFile,
    size: int,
    remark: str,
    wanted: _Wanted,
    stored: Mapping[str, set[str]],
    check: Callable[[], None],
) -> Iterator[Copy]:
    count, can_clean = 0, file.place.can_clean
    if file.form == "snapshot":
        lines = lines_of(read_bytes(file.path) or b"")
        count = sum(wanted.is_in(part, stored) for part in parts_in(lines))
    elif wanted.matcher is None:
        return
    elif size and file.is_database():
        rows = rows_with_texts(file.path, wanted.matcher, check)
        count, can_clean = len(rows), can_clean and any(_cleanable(row, file.place) for row in rows)
        if not count and (notice := unread_log(file.path)):
            yield _unknown(file, notice)
            return
    else:
        count = wanted.matcher.count_in(iter_raw_chunks(file.path))
    if not count:
        return
    if can_clean and size > LARGEST_CLEANED and not file.is_database():
        can_clean, remark = False, "It is too large to clean with undo: delete it while ZeroClaw is stopped."
    if wanted.matcher is not None and wanted.matcher.remark and file.form != "snapshot":
        remark += f" {wanted.matcher.remark}"
    yield Copy(file.kind, str(file.path), count, can_clean, remark, wanted.texts, file)


def _unknown(file: PlacedFile, remark: str) -> Copy:
    """A file that could not be searched, with the reason."""
    return Copy(file.kind, str(file.path), None, False, remark)


def _cleanable(row: FoundRow, place: Place) -> dict[str, Any]:
    """The values of a row that have a text and can be changed without harm."""
    return {name: row.values[name] for name in place.columns.get(row.table, ()) if name in row.values}


async def clean_copies(library: Library, copies: Sequence[Copy]) -> Outcome:
    """Remove the texts from those places that allow it, as one change that undo reverses.

    `count` is how many places were cleaned. A place that cannot be cleaned becomes a note. Raises Refused where the
    store is read-only, and what the journal raises.
    """
    refuse_read_only(library)
    chosen = list({(copy.kind, copy.place): copy for copy in copies if copy.can_clean}.values())
    if not chosen:
        return Outcome("clean", 0)

    async def work(action: RunningAction, on_progress: ProgressCallback) -> Outcome:
        count, notes = 0, list[str]()
        for copy in chosen:
            if not on_progress(count):
                break
            try:
                cleaned, said = await _clean(library, copy, action)
            except InspectorError as error:
                cleaned, said = False, (str(error),)
            except OSError as error:
                cleaned, said = False, (f"{copy.place} cannot be read: {error.strerror}.",)
            count += cleaned
            notes += said
        return Outcome("clean", count, notes=tuple(notes))

    outcome = await run_change(library, "clean", f"cleaned {summary(chosen)}", work)
    return outcome if outcome.count else replace(outcome, action=None)


async def _clean(library: Library, copy: Copy, journal: Journal) -> tuple[bool, Sequence[str]]:
    """Clean one place; gives whether anything went, and sentences."""
    wanted = _Wanted(copy.texts)
    if copy.file is None:
        contents = sorted(wanted.contents)
        return await require_database(library.memory).forget_cached_vectors(contents, journal) > 0, ()
    file = copy.file
    is_database = await asyncio.to_thread(file.is_database)
    if is_database:
        changes = await asyncio.to_thread(_changes_of_rows, file, wanted)
    else:
        keys = await asyncio.to_thread(_candidate_keys, [file], wanted)
        stored = await _stored_keys(library, wanted, keys) if keys else {}
        changes = await asyncio.to_thread(_change_of_file, file, wanted, stored)
    result = await external.apply(changes, journal)
    notes = list(result.notes)
    if result.conflicts:
        notes.append(f"{file.path} changed while it was being cleaned and was left alone. Clean it once more.")
    if is_database and result.written:
        try:
            await asyncio.to_thread(external.optimize_keyword_indexes, file.path)
        except InspectorError as error:
            notes.append(f"{error.message} Single words may stay in its keyword index, and the text in its log.")
    return result.written > 0, notes


def _change_of_file(file: PlacedFile, wanted: _Wanted, stored: Mapping[str, set[str]]) -> list[RowChange]:
    """The change of a file to what stays of it without the texts; none where nothing goes. Raises Refused."""
    path = external.link_target(file.path)
    before = external.read_file(path)
    data = None if before is None else before.values["bytes"]
    if before is None or not isinstance(data, bytes):
        return []
    new = None
    if file.form == "snapshot":
        new = bytes_of(without_entries(lines_of(data), lambda part: wanted.is_in(part, stored)))
    elif wanted.matcher is not None:
        new = without_texts(data, file.form, wanted.matcher)
    if new is None or new == data:
        return []
    mode = before.values.get("mode")
    return [RowChange(before, external.file_row(path, new, mode=mode if isinstance(mode, int) else None))]


def _changes_of_rows(file: PlacedFile, wanted: _Wanted) -> list[RowChange]:
    """The changes of rows of a database to their values without the texts."""
    changes: list[RowChange] = []
    matcher = wanted.matcher
    if matcher is None:
        return []
    for row in rows_with_texts(file.path, matcher, lambda: None):
        values = _cleanable(row, file.place)
        after = {name: matcher.out_of(value) if isinstance(value, str) else value for name, value in values.items()}
        if after != values:
            old, new = (external.database_row(file.path, row.table, row.number, one) for one in (values, after))
            changes.append(RowChange(old, new))
    return changes
