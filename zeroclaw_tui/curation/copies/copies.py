"""Where the text of a memory still lies after it was deleted or changed, and cleaning it there with undo."""

from __future__ import annotations

import asyncio
import hashlib
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from zeroclaw_tui.backends.cancellation import to_its_end
from zeroclaw_tui.backends.factory import tells_program
from zeroclaw_tui.config.locations import file_size
from zeroclaw_tui.curation.changes import Outcome, PurgePlan
from zeroclaw_tui.curation.copies import places as databases
from zeroclaw_tui.curation.copies.places import (
    HYDRATED,
    LARGEST_CLEANED,
    LARGEST_SEARCHED,
    Copy,
    Fragments,
    Kind,
    Place,
    Places,
    Stored,
    cache_hash,
    find_places,
    found,
    not_looked_at,
    read_store,
    rows_holding,
    too_large,
)
from zeroclaw_tui.curation.copies.texts import (
    LineSearch,
    Phrases,
    Span,
    Text,
    Wanted,
    bytes_of,
    cut_from_lines,
    cut_out,
    keys_in_question,
    lines_of,
    searched,
    searched_as_bytes,
    spans_in_snapshot,
    without,
    without_entries,
)
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.side_files import (
    AT_ONCE,
    LARGEST,
    change_values,
    file_row,
    let_go_of_words,
    named_row,
    present_now,
)
from zeroclaw_tui.curation.trash.journal import ids_move
from zeroclaw_tui.files.disk import Rewritten, replace_bytes
from zeroclaw_tui.memory.change import MEMORIES, OTHER_ROW, Keep, RowChange
from zeroclaw_tui.memory.errors import InspectorError, NotThere, Refused, Unreadable
from zeroclaw_tui.memory.text import first_names, one_line

_ROWS_AT_ONCE = 500
_SECONDS = 5.0
"""For so long a server looks for other memories of the same content."""
_NOT_WHOLE = (
    "There are too many memories to compare all of them in short time; others with the same content may be among them."
)
_HISTORIES = 200
"""For so many texts it is looked up whether the trash has earlier versions."""
_EMPTIES = "Undo needs them; `zeroclaw memory trash empty` lets go of them."
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
_LUCID = "ZeroClaw also gave these memories to the lucid program, which keeps them in its own store and has no delete."

Cut = Callable[[list[str]], tuple[list[str], set[Text]]]
"""From the lines of a file to those that stay, and the texts that go with the others."""


async def find_copies(library: Library, texts: Iterable[Text]) -> list[Copy]:
    """Every place beside the store itself where one of these texts still lies (ZeroClaw's own files only).

    A memory that is stored is no copy, even of a text that it shares with one that went; before a removal the
    memories the texts stand for do not count. Contents of fewer than SHORT characters are only found as a whole
    memory, entry or line, contents in the log and in free pages not at all while another memory holds them too. Reads
    only, in threads that end soon when this is cancelled. Raises InspectorError kinds where the store cannot be read;
    any other place tells that by itself.
    """
    wanted = await asyncio.to_thread(Wanted, list(texts))
    if not wanted.texts:
        return []
    places = await asyncio.to_thread(find_places, library.config, library.memory.name)
    snapshots, keys, unread = await asyncio.to_thread(_snapshots, places, wanted)
    fragments = await asyncio.to_thread(Fragments, wanted)
    if places.database is not None:
        unread += await asyncio.to_thread(databases.in_own_bytes, places.database, fragments)
    stored = await _stored_now(library, places, wanted, keys, fragments)
    stop = threading.Event()
    looking = asyncio.to_thread(lambda: list(_elsewhere(places, wanted, stored, snapshots, stop)))
    elsewhere = await to_its_end(asyncio.ensure_future(looking), stop.set)
    leftovers = databases.own_leftovers(places.database, fragments, wanted) if places.database else []
    lucid = tells_program(library.config.backend, library.config.zeroclaw_backend)
    return [
        *_in_memories(library, stored, wanted),
        *await _in_embedding_cache(library, stored, wanted),
        *elsewhere,
        *leftovers,
        *([Copy("lucid", "lucid", None, False, _LUCID)] if lucid else []),
        *await _in_trash(library, wanted),
        *places.problems,
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
        for entry in await library.memory.rows(handles[start : start + _ROWS_AT_ONCE]):
            try:
                whole = await library.memory.whole(entry.handle) if entry.is_excerpt else entry
            except NotThere:
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

    places = await asyncio.to_thread(find_places, library.config, library.memory.name)
    return (await _stored_now(library, places, wanted, await asyncio.to_thread(keys))).living


def _snapshots(places: Places, wanted: Wanted) -> tuple[dict[Path, list[str]], set[str], list[Copy]]:
    """The lines of each snapshot, the keys in question, and the snapshots that could not be read."""
    lines_in: dict[Path, list[str]] = {}
    keys: set[str] = set()
    unread: list[Copy] = []
    for _, path in places.holding("snapshot"):
        try:
            read = _read_lines(path)
        except OSError as error:
            unread.append(not_looked_at("snapshot", path, error))
            continue
        if read is None:
            unread.append(too_large("snapshot", path, LARGEST))
        else:
            lines_in[path] = read
            keys |= keys_in_question(read, wanted)
    return lines_in, keys, unread


def _elsewhere(
    places: Places, wanted: Wanted, stored: Stored, snapshots: dict[Path, list[str]], stop: threading.Event
) -> Iterator[Copy]:
    """Everything in files and other databases, in the order of the table."""
    gone = stored.gone_keys()
    notes: dict[Kind, LineSearch] = {}
    for kind in {place.kind for place, _ in places.holding("notes")}:
        of_kind = [path for place, path in places.holding("notes") if place.kind == kind]
        notes[kind] = LineSearch(wanted, sum(map(_size, of_kind)))
    # Making thousands of texts ready takes a second.
    phrases = Phrases(wanted if places.holding("lines", "rows", "anything") else Wanted(()))
    for place, path in places.files:
        if stop.is_set():
            return
        if place.holds == "snapshot":
            if path in snapshots:
                spans = spans_in_snapshot(snapshots[path], wanted, stored.living)
                remark = HYDRATED if path == places.live_snapshot else place.remark
                yield from found(place.kind, path, wanted.in_order(_of_spans(spans)), remark, place)
        elif place.holds == "notes":
            yield from _in_notes(place, path, wanted, notes[place.kind])
        elif place.holds == "memories":
            yield from databases.in_memories_table(place, path, wanted, gone)
        elif place.holds == "rows":
            yield from databases.in_any_table(place, path, phrases, gone, stop)
        else:
            yield from _in_file(place, path, phrases, stop)


def _in_notes(place: Place, path: Path, wanted: Wanted, search: LineSearch) -> list[Copy]:
    """A Markdown file with lines that hold a text."""
    try:
        read = _read_lines(path)
    except OSError as error:
        return [not_looked_at(place.kind, path, error)]
    if read is None:
        return [too_large(place.kind, path, LARGEST)]
    remark = place.remark
    if search.inside < len(wanted.texts):
        remark += f" Only the first {search.inside:,} texts were also looked for inside longer lines."
    return found(place.kind, path, wanted.in_order(_of_spans(search.spans_of(read))), remark, place)


def _in_file(place: Place, path: Path, phrases: Phrases, stop: threading.Event) -> list[Copy]:
    """A file of lines, or of any form."""
    look = searched if place.holds == "lines" else searched_as_bytes
    try:
        size = path.stat().st_size
        if size > LARGEST_SEARCHED:
            return [too_large(place.kind, path, LARGEST_SEARCHED)]
        texts = phrases.wanted.in_order(look(path, phrases, stop))
    except OSError as error:
        return [not_looked_at(place.kind, path, error)]
    if place.can_clean and size > LARGEST_CLEANED:
        remark = (
            "It is too large to be kept for an undo, so it is not cleaned here: delete it while ZeroClaw is stopped."
        )
        return found(place.kind, path, texts, remark)
    return found(place.kind, path, texts, place.remark, place)


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


async def _stored_now(
    library: Library, places: Places, wanted: Wanted, keys: Iterable[str], fragments: Fragments | None = None
) -> Stored:
    """What the store holds now, with the contents under these keys; finds of `fragments` in rows are explained."""
    stored = Stored(wanted, keys, fragments)
    if places.database is not None:
        await asyncio.to_thread(read_store, places.database, stored)
    else:
        found, stored.is_whole = await library.memory.holding(list(wanted.by_content), list(stored.keys), _SECONDS)
        for entry in found:
            stored.add(entry.id, entry.key, entry.content)
    if fragments is not None:
        fragments.explain(await asyncio.to_thread(stored.held))
    return stored


def _in_memories(library: Library, stored: Stored, wanted: Wanted) -> list[Copy]:
    """Other memories with the same content, superseded ones and those of other agents too."""
    texts = wanted.in_order(text for _, content in stored.same for text in wanted.by_content[content])
    keys = list(dict.fromkeys(key for key, _ in stored.same))
    way = library.memory.keeps_deleted if library.memory.program else "Select and delete them."
    remark = f"Other memories have the same content: {first_names(keys)}. {way}"
    copies = found("memories", library.memory.location, texts, remark)
    if not stored.is_whole:
        copies.append(Copy("memories", library.memory.location, None, False, _NOT_WHOLE))
    return copies


async def _in_embedding_cache(library: Library, stored: Stored, wanted: Wanted) -> list[Copy]:
    """ZeroClaw's cached vectors of the contents."""
    count = await library.memory.count_cached_vectors(list(wanted.by_content))
    if not count:
        return []
    cached = [content for content in wanted.by_content if cache_hash(content) in stored.hashes]
    texts = wanted.in_order(text for content in cached for text in wanted.by_content[content]) or wanted.texts
    remark = "A hash of the content and its vector remain, not the text itself."
    return [Copy("embedding cache", library.memory.location, count, True, remark, texts)]


async def _in_trash(library: Library, wanted: Wanted) -> list[Copy]:
    """Earlier versions of the memories in the trash of this program."""
    place = library.trash.file
    try:
        texts = [text for text in wanted.texts[:_HISTORIES] if await _has_earlier(library, text)]
    except InspectorError as error:
        return [not_looked_at("trash", place, error)]
    if not texts:
        return []
    remark = f"Earlier versions of these memories are in the trash. {_EMPTIES}"
    if len(wanted.texts) > _HISTORIES:
        remark = f"Of the first {_HISTORIES:,} of these memories the trash has earlier versions. {_EMPTIES}"
    return found("trash", place, tuple(texts), remark)


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
        spans = list(spans_in_snapshot(read, wanted, living))
        return without_entries(read, spans), {text for _, _, texts in spans for text in texts}

    def out_of_notes(read: list[str]) -> tuple[list[str], set[Text]]:
        spans = LineSearch(wanted).spans_of(read)
        return without(read, spans), {text for _, _, texts in spans for text in texts}

    def out_of_lines(read: list[str]) -> tuple[list[str], set[Text]]:
        return cut_from_lines(read, Phrases(wanted))

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
    kept, gone = cut(lines_of(data))
    new = bytes_of(kept)
    if new == data:
        return 0
    keep([RowChange(file_row(real, data), named_row(real, hashlib.sha256(new).hexdigest()))])
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
