"""Find the files that still contain the text of a deleted or changed memory, and clean them with undo."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Sequence

from zeroclaw_tui.backends.base import check_writable
from zeroclaw_tui.backends.factory import forwards_writes
from zeroclaw_tui.curation import external
from zeroclaw_tui.curation.changes import run_change
from zeroclaw_tui.curation.journal import RunningAction
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.outcome import Outcome, PurgePlan
from zeroclaw_tui.curation.traces.matcher import TextMatcher, remove_texts
from zeroclaw_tui.curation.traces.search import PlacedFile, TextPlace, find_rows, scan_files, unread_sentence
from zeroclaw_tui.memory.change import MEMORIES, Journal, ProgressCallback, RowChange
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.errors import InspectorError, UsageError
from zeroclaw_tui.memory.query import ENTRIES, Query
from zeroclaw_tui.memory.text import WHITE_SPACE, counted

SHORT = 8
"""Texts with fewer characters occur everywhere and are not searched for."""
_BATCH_ROWS = 500
_LUCID = "ZeroClaw also stored these memories in lucid, which has no delete command."


def matcher_for(contents: Sequence[str], typed: str = "") -> TextMatcher:
    """Make the matcher for contents of memories and a typed text. Short contents are left out, or raise UsageError."""
    texts = [*_long(contents), *([typed] if typed.strip() else [])]
    if contents and not texts:
        raise UsageError(f"Texts under {SHORT} characters occur everywhere.", hint="Type more, or delete the memory.")
    return TextMatcher(texts)


def _long(contents: Iterable[str]) -> list[str]:
    return [content for content in dict.fromkeys(contents) if len(content.strip(WHITE_SPACE)) >= SHORT]


async def contents_of(library: Library, action: int) -> list[str]:
    """Read from the trash which contents a change deleted or replaced, except those restored by an undo."""
    numbers = await library.trash.numbers_to_reverse(action, "undo")

    def read() -> list[str]:
        contents: dict[str, None] = {}
        for change in library.trash.changes_to_reverse(numbers):
            before, after = change.before, change.after
            if before is not None and before.table == MEMORIES:
                content = before.entry().content
                if after is None or after.entry().content != content:
                    contents[content] = None
        return list(reversed(contents))

    return await asyncio.to_thread(read)


async def entries_of(library: Library, plan: PurgePlan) -> list[MemoryEntry]:
    """Read every memory of a plan that still exists, with its full content."""
    handles = [version.handle for version in plan.versions]
    entries: list[MemoryEntry] = []
    for start in range(0, len(handles), _BATCH_ROWS):
        entries += await library.memory.rows(Query(ENTRIES, handles=handles[start : start + _BATCH_ROWS]))
    return entries


def summary(copies: Sequence[TextPlace]) -> str:
    """Count the places by kind, as in "archive (2), lucid"; "" if there are none."""
    counts = Counter[str]()
    for copy in copies:
        counts[copy.kind] += copy.count or 0
    return ", ".join(f"{kind} ({count:,})" if count else kind for kind, count in counts.items())


def found_sentence(copies: Sequence[TextPlace]) -> str:
    """Say where else the texts were found; "" if nowhere."""
    return f"Also found in: {summary(copies)}" if copies else ""


def cleaned_sentence(cleaned: Outcome) -> str:
    """Say how many places were cleaned."""
    return f"Cleaned {counted(cleaned.count, 'copy')}." if cleaned.count else "Nothing to clean."


async def find_copies(library: Library, contents: Sequence[str]) -> list[TextPlace]:
    """Find every place outside the store that has, or may have, one of these contents of at least SHORT characters."""
    searched = _long(contents)
    copies = (await scan_files(library, TextMatcher(searched), everything=False)).places if searched else []
    if contents and forwards_writes(library.config.backend, library.config.zeroclaw_backend):
        copies.append(TextPlace("lucid", "lucid", why=_LUCID))
    return copies


async def clean_copies(library: Library, copies: Sequence[TextPlace]) -> Outcome:
    """Remove the texts where that is allowed, as one change; `count` is the places cleaned, notes name the others."""
    check_writable(library.memory)
    chosen = [copy for copy in copies if copy.can_clean]
    if not chosen:
        return Outcome("clean", 0)

    async def work(action: RunningAction, on_progress: ProgressCallback) -> Outcome:
        count, notes = 0, list[str]()
        for copy in chosen:
            if copy.file is None or copy.matcher is None or not on_progress(count):
                break
            try:
                count += await _clean(copy.file, copy.matcher, action, notes)
            except (OSError, InspectorError) as error:
                notes.append(unread_sentence(error))
        return Outcome("clean", count, notes=tuple(notes))

    return await run_change(library, "clean", f"cleaned {summary(chosen)}", work)


async def _clean(file: PlacedFile, matcher: TextMatcher, journal: Journal, notes: list[str]) -> bool:
    """Clean one place, and add sentences to `notes`; True if anything was removed."""
    is_database = await asyncio.to_thread(file.is_database)
    plan = _changes_of_rows if is_database else _change_of_file
    result = await external.apply(await asyncio.to_thread(plan, file, matcher), journal)
    notes += result.notes
    if result.conflicts:
        notes.append(f"{file.path} changed while it was being cleaned and was left alone. Clean it once more.")
    if is_database and result.written:
        try:
            await asyncio.to_thread(external.optimize_keyword_indexes, file.path)
        except InspectorError as error:
            notes.append(f"{error.message} Single words may stay in its keyword index, and the text in its log.")
    return result.written > 0


def _change_of_file(file: PlacedFile, matcher: TextMatcher) -> list[RowChange]:
    """Plan the change that removes the texts from a file; empty if it has none of them. Raises Refused."""
    path = external.link_target(file.path)
    before = external.read_file(path)
    data = None if before is None else before.values["bytes"]
    new = remove_texts(data, file.form, matcher) if isinstance(data, bytes) else None
    return [] if new is None else [RowChange(before, external.file_row(path, new))]


def _changes_of_rows(file: PlacedFile, matcher: TextMatcher) -> list[RowChange]:
    """Plan the changes that remove the texts from the rows of a database, in the columns that allow it."""
    changes: list[RowChange] = []
    for table, number, found in find_rows(file.path, matcher, lambda: None)[0]:
        names = file.place.columns.get(table, ())
        values = {name: value for name, value in found.items() if name in names}
        after = {name: matcher.redact(value) if isinstance(value, str) else value for name, value in values.items()}
        if after != values:
            old, new = (external.database_row(file.path, table, number, side) for side in (values, after))
            changes.append(RowChange(old, new))
    return changes
