"""Where the text of a memory still lies after it was deleted or changed, and cleaning what can be cleaned."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from zeroclaw_tui.curation.changing import Outcome
from zeroclaw_tui.curation.copies import in_databases, in_files, in_store, snapshot_text
from zeroclaw_tui.curation.copies.cleaning import cut_for, kept_as, rewrite
from zeroclaw_tui.curation.copies.found import Copy, Kind, Text, Wanted, not_looked_at, too_large
from zeroclaw_tui.curation.copies.in_databases import Fragments, Stored
from zeroclaw_tui.curation.copies.places import Places, find_places
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.purge import PurgePlan
from zeroclaw_tui.memory.change import MEMORIES, Keep
from zeroclaw_tui.memory.errors import InspectorError, NotThere
from zeroclaw_tui.memory.text import one_line

__all__ = ["Copy", "Kind", "Text", "clean_copies", "find_copies", "summary", "texts_of", "texts_of_plan"]

_ROWS_AT_ONCE = 500

_PLURALS = {
    "snapshot": "snapshots",
    "archive": "archived files",
    "markdown": "Markdown files",
    "backup": "files of backups",
    "other database": "other databases",
}
_LUCID = "ZeroClaw also gave these memories to the lucid program, which keeps them in its own store and has no delete."


async def find_copies(library: Library, texts: Iterable[Text]) -> list[Copy]:
    """Every place beside the store itself where one of these texts still lies (ZeroClaw's own files only).

    A memory that is stored is no copy, even of a text that it shares with one that went; before a removal the
    memories the texts stand for do not count. Contents of fewer than SHORT characters are only found as a whole row,
    entry or line, contents in the log and in free pages not at all while another memory holds them too. Reads only,
    in threads. Raises InspectorError kinds where the store cannot be read; any other place tells that by itself.
    """
    wanted = await asyncio.to_thread(Wanted, list(texts))
    if not wanted.texts:
        return []
    places = await asyncio.to_thread(find_places, library.config, library.memory.name)
    snapshots, keys, unread = await asyncio.to_thread(_snapshots, places, wanted)
    fragments = await asyncio.to_thread(Fragments, wanted)
    if places.database is not None:
        unread += await asyncio.to_thread(in_databases.in_own_bytes, places.database, fragments)
    stored = await in_store.stored_now(library, places, wanted, keys, fragments)
    elsewhere = await asyncio.to_thread(lambda: list(_elsewhere(places, wanted, stored, snapshots)))
    leftovers = in_databases.own_leftovers(places.database, fragments, wanted) if places.database else []
    lucid = "lucid" in (library.config.backend, library.config.zeroclaw_backend)
    return [
        *in_store.in_memories(library, stored, wanted),
        *await in_store.in_embedding_cache(library, stored, wanted),
        *elsewhere,
        *leftovers,
        *([Copy("lucid", "lucid", None, False, _LUCID)] if lucid else []),
        *await in_store.in_trash(library, wanted),
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
        for entry in await library.rows(handles[start : start + _ROWS_AT_ONCE]):
            try:
                whole = await library.whole(entry.handle) if entry.is_excerpt else entry
            except NotThere:
                continue
            texts.append(Text(whole.id, whole.key, whole.content))
    return texts


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
    try:
        keep = library.trash.keeper(number)
        for copy in chosen:
            try:
                count += await _clean(library, copy, keep)
            except InspectorError as error:
                notes.append(str(error))
                await _take_back(library, number, kept_as(Path(copy.place)))
    finally:
        action = await library.trash.finish(number)
    return Outcome("clean", count, action if count else None, notes=tuple(notes))


def summary(copies: Sequence[Copy]) -> str:
    """One line: "embedding cache (290), MEMORY_SNAPSHOT.md (3)"; empty when there are none.

    Several files of one kind are told together: "4 archived files (12)".
    """
    by_kind: dict[Kind, list[Copy]] = {}
    for copy in copies:
        by_kind.setdefault(copy.kind, []).append(copy)
    return ", ".join(_summed(kind, some) for kind, some in by_kind.items())


async def _clean(library: Library, copy: Copy, keep: Keep) -> int:
    if copy.kind == "embedding cache":
        contents = list(dict.fromkeys(text.content for text in copy.texts))
        return await library.memory.forget_cached_vectors(contents, keep)
    living: dict[str, set[str]] = {}
    path = Path(copy.place)
    if copy.kind == "snapshot":
        wanted = Wanted(copy.texts)
        places = await asyncio.to_thread(find_places, library.config, library.memory.name)
        keys = await asyncio.to_thread(_keys_of, path, wanted)
        living = (await in_store.stored_now(library, places, wanted, keys)).living
    return await asyncio.to_thread(rewrite, path, cut_for(copy, living), keep)


async def _take_back(library: Library, action: int, path: str) -> None:
    """What was kept of a file that was left alone in the end is nothing to undo."""

    def kept() -> list[int]:
        changes = [change for batch in library.trash.open_changes(action)() for change in batch]
        return [change.number for change in changes if change.row.id == path and change.number is not None]

    await library.trash.take_as_reversed(action, await asyncio.to_thread(kept))


def _snapshots(places: Places, wanted: Wanted) -> tuple[dict[Path, list[str]], set[str], list[Copy]]:
    """The lines of each snapshot, the keys in question, and the snapshots that could not be read."""
    lines_of: dict[Path, list[str]] = {}
    keys: set[str] = set()
    unread: list[Copy] = []
    for path in places.snapshots:
        try:
            lines = in_files.read_lines(path)
        except OSError as error:
            unread.append(not_looked_at("snapshot", path, error))
            continue
        if lines is None:
            unread.append(too_large("snapshot", path))
        else:
            lines_of[path] = lines
            keys |= snapshot_text.keys_in_question(lines, wanted)
    return lines_of, keys, unread


def _keys_of(path: Path, wanted: Wanted) -> set[str]:
    try:
        return snapshot_text.keys_in_question(in_files.read_lines(path) or [], wanted)
    except OSError:
        # Cleaning it says why it cannot be read.
        return set()


def _elsewhere(places: Places, wanted: Wanted, stored: Stored, snapshots: dict[Path, list[str]]) -> Iterator[Copy]:
    """Everything in files and other databases."""
    gone = stored.gone_keys()
    for path, lines in snapshots.items():
        is_live = path == places.live_snapshot
        yield from in_files.in_snapshot(path, wanted, stored.living, is_live=is_live, lines=lines)
    yield from in_files.in_notes("archive", places.archived, wanted)
    yield from in_files.in_conversations(places.conversations, wanted)
    yield from in_files.in_notes("markdown", places.notes, wanted)
    notes = [path for path in places.backups if path.suffix == ".md"]
    yield from in_files.in_notes("backup", notes, wanted)
    for path in places.backups:
        if path.suffix != ".md":
            yield from in_databases.in_rows("backup", path, wanted, gone, in_files.BACKUP)
    for path in places.audits:
        yield from in_databases.in_audit(path, wanted, gone)
    for path in places.response_caches:
        yield from in_databases.in_response_cache(path, wanted)
    for path in places.databases:
        yield from in_databases.in_rows("other database", path, wanted, gone, in_databases.OTHER)


def _summed(kind: Kind, copies: Sequence[Copy]) -> str:
    counts = [copy.count for copy in copies if copy.count is not None]
    if len(copies) > 1:
        name = f"{len(copies)} {_PLURALS.get(kind, kind)}"
    else:
        name = Path(copies[0].place).name if kind in _PLURALS else kind
    return one_line(f"{name} ({sum(counts):,})" if counts else name)
