"""Cleaning texts out of the places where they still lie: what goes is kept first, so that an undo brings it back."""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import Callable, Sequence
from pathlib import Path

from zeroclaw_tui.config.layouts import file_size
from zeroclaw_tui.curation.changes import Outcome
from zeroclaw_tui.curation.copies import lines
from zeroclaw_tui.curation.copies.copies import living_in, summary
from zeroclaw_tui.curation.copies.databases import rows_holding
from zeroclaw_tui.curation.copies.places import LARGEST, LARGEST_CLEANED, Copy, Place
from zeroclaw_tui.curation.copies.texts import Phrases, Text, Wanted, cut_out
from zeroclaw_tui.curation.files.database_rows import AT_ONCE, change_values, let_go_of_words, present_now
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.files.disk import Rewritten, replace_bytes
from zeroclaw_tui.memory.change import FILE, OTHER_ROW, Keep, RowChange, StoredRow
from zeroclaw_tui.memory.errors import InspectorError, Refused, Unreadable

Cut = Callable[[list[str]], tuple[list[str], set[Text]]]
"""From the lines of a file to those that stay, and the texts that go with the others."""


class ChangedMeanwhile(Refused):
    """Another program wrote the file after it was read; it stays as that program left it."""

    title = "Changed meanwhile"

    def __init__(self, path: Path) -> None:
        super().__init__(f"{path} changed while it was being cleaned and was left alone.", hint="Clean it once more.")


async def clean_copies(library: Library, copies: Sequence[Copy]) -> Outcome:
    """Remove the texts from those places that allow it; what goes is kept, and an undo brings it back.

    `count` is how many texts went from a place, each place by itself. A place that cannot be cleaned becomes a note.
    Raises Refused where the store is read-only, and what the trash raises.
    """
    if library.read_only_because is not None:
        raise library.memory.refuse_to_write()
    chosen = list({(copy.kind, copy.place): copy for copy in copies if copy.can_clean}.values())
    if not chosen:
        return Outcome("clean", 0)
    count, notes = 0, list[str]()
    number = await library.trash.begin("clean", f"cleaned {summary(chosen)}")
    room = LARGEST
    try:
        keep = library.trash.keeper(number)
        for copy in chosen:
            try:
                if copy.kind == "embedding cache":
                    contents = list(dict.fromkeys(text.content for text in copy.texts))
                    count += await library.memory.forget_cached_vectors(contents, keep)
                elif copy.where is not None and copy.where.columns:
                    gone, said = await asyncio.to_thread(
                        _clean_database, copy.where, Path(copy.place), copy.texts, keep
                    )
                    count += gone
                    notes += said
                    if said:
                        await _take_back(library, number, copy.place)
                else:
                    room -= await asyncio.to_thread(_checked_size, Path(copy.place), room)
                    cut = await _cut_for(library, copy)
                    count += await asyncio.to_thread(_rewrite, Path(copy.place), cut, keep)
            except InspectorError as error:
                notes.append(str(error))
                await _take_back(library, number, copy.place)
    finally:
        action = await library.trash.finish(number)
    return Outcome("clean", count, action if count else None, notes=tuple(notes))


def _checked_size(path: Path, room: int) -> int:
    """The size of a file. Raises Refused where an undo would have to keep more than there is room for."""
    try:
        size = file_size(path)
    except OSError as error:
        raise _unreadable(path, error) from error
    if size > room:
        raise Refused(
            f"{path} was left alone: together with the other files it is too large to be kept for an undo.",
            hint="Edit it by hand, or delete it where it is not needed.",
        )
    return size


async def _cut_for(library: Library, copy: Copy) -> Cut:
    """What takes the texts of a copy out of its file; in a snapshot memories that are stored stay."""
    wanted = Wanted(copy.texts)
    holds = None if copy.where is None else copy.where.holds
    living = await living_in(library, Path(copy.place), wanted) if holds == "snapshot" else {}

    def out_of_snapshot(read: list[str]) -> tuple[list[str], set[Text]]:
        spans = list(lines.spans_in_snapshot(read, wanted, living))
        return lines.without_entries(read, spans), {text for _, _, texts in spans for text in texts}

    def out_of_notes(read: list[str]) -> tuple[list[str], set[Text]]:
        spans = lines.LineSearch(wanted).spans_of(read)
        return lines.without(read, spans), {text for _, _, texts in spans for text in texts}

    def out_of_lines(read: list[str]) -> tuple[list[str], set[Text]]:
        return lines.cut_from_lines(read, Phrases(wanted))

    if holds == "snapshot":
        return out_of_snapshot
    return out_of_lines if holds == "lines" else out_of_notes


def _rewrite(path: Path, cut: Cut, keep: Keep) -> int:
    """Replace a file by what a cut leaves of it, with its mode; gives how many texts went.

    Raises Unreadable and Refused, ChangedMeanwhile among them, and what `keep` raises; the file is then as it was.
    """
    real = Path(os.path.realpath(path))
    try:
        data = real.read_bytes()
    except OSError as error:
        raise _unreadable(path, error) from error
    kept, gone = cut(lines.lines_of(data))
    new = lines.bytes_of(kept)
    if new == data:
        return 0
    name = str(real)
    digest = hashlib.sha256(new).hexdigest()
    before = StoredRow(name, {"path": name, "bytes": data}, table=FILE)
    keep([RowChange(before, StoredRow(name, {"path": name, "sha256": digest}, table=FILE))])
    try:
        replace_bytes(real, data, new)
    except Rewritten as error:
        raise ChangedMeanwhile(path) from error
    return len(gone)


def _clean_database(place: Place, path: Path, texts: Sequence[Text], keep: Keep) -> tuple[int, list[str]]:
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

    for table, columns, numbers in list(rows_holding(place, path, phrases)):
        for start in range(0, len(numbers), AT_ONCE):
            going.clear()
            try:
                change_values(path, table, columns, numbers[start : start + AT_ONCE], cut, keep)
            except InspectorError as error:
                return len(gone), [str(error)]
            gone |= going
    if not gone:
        return 0, []
    if file_size(path) > LARGEST_CLEANED:
        return len(gone), [f"{path} is large: single words may stay in its keyword index until ZeroClaw merges that."]
    try:
        let_go_of_words(path)
    except InspectorError as error:
        return len(gone), [f"{error.message} Single words may stay in its keyword index, and the text in its log."]
    return len(gone), []


async def _take_back(library: Library, action: int, place: str) -> None:
    """What was kept of a file or of rows that were left alone in the end is nothing to undo."""

    def kept() -> list[int]:
        name = os.path.realpath(place)
        changes = [change for batch in library.trash.open_changes(action)() for change in batch]
        rows = [change.row for change in changes if change.row.table == OTHER_ROW]
        untouched = present_now([row for row in rows if row.id.startswith(f"{place}#")])
        return [
            change.number
            for change in changes
            if change.number is not None and (change.row.id == name or change.row.id in untouched)
        ]

    await library.trash.take_as_reversed(action, await asyncio.to_thread(kept))


def _unreadable(path: Path, error: OSError) -> Unreadable:
    return Unreadable(f"{path} cannot be read: {error.strerror or error}.", hint="Check its permissions.")
