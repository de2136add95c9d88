"""Erases texts from every place of an install: the plan by place, the run, and the report after a second look."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from zeroclaw_tui.backends.cancellation import CancellableTask
from zeroclaw_tui.backends.factory import has_database
from zeroclaw_tui.curation.changes import refuse_read_only
from zeroclaw_tui.curation.formats.jsonl import Header, header_line, line_of
from zeroclaw_tui.curation.leftovers import remove_leftovers
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.traces.databases import erase_rows, has_keyword_index, rows_with_texts, wipe
from zeroclaw_tui.curation.traces.matcher import TextMatcher
from zeroclaw_tui.curation.traces.places import PlacedFile, SkippedPlace, all_files, not_read
from zeroclaw_tui.curation.traces.text_files import without_texts
from zeroclaw_tui.files.database import iter_raw_chunks
from zeroclaw_tui.files.disk import FileChangedError, file_size, read_bytes, replace_bytes, retry_if_changed
from zeroclaw_tui.files.whole_database import describe_processes, processes_using
from zeroclaw_tui.memory.change import MEMORIES, Change, ProgressCallback, Row, RowVersion
from zeroclaw_tui.memory.errors import InspectorError, Locked, Refused
from zeroclaw_tui.memory.text import counted, first_names, one_line

LARGEST = 200_000_000
"""Files of more bytes are not rewritten."""
_MOST_CHANGES = 10_000
"""Among how many of the last changes those are searched that could no longer be undone."""
_MOST_NAMED = 5

_UNCUTTABLE = "The text cannot be cut out of this file: edit it by hand, or delete the file if you do not need it."
_TOO_LARGE = f"It is larger than {LARGEST // 1_000_000} MB: delete it while ZeroClaw is stopped."
_NAME = "The name of the file contains it: rename or delete it."
_STILL = (
    "It is still there: within names, categories, roles or times that programs write (edit it by hand), or because a "
    "program wrote it again (stop that program, then erase once more)."
)
_STOPPED = "Erasing was stopped before this was done: erase once more."
_BYTES = "No row has it, but free pages or indexes do. They are rewritten."
_OPEN_IN = "{} has it open: its rows are deleted, but bytes stay in the file until you stop it."
_PAGES = "No row has it any more, but its bytes stay in the file or its log: {}"
_LINES = "Every line that contains it is deleted."
_IN_RAM = "It is running and may write the text again: stop it, then erase once more."


@dataclass(frozen=True, slots=True)
class TextPlace:
    """A place that has the texts: how many rows, or how often in its bytes; `found` None where nobody can count.

    `takes` says whether a run erases it, `why` why not or what follows.
    """

    kind: str
    place: str
    found: int | None
    takes: bool = False
    why: str = ""

    def without(self, matcher: TextMatcher) -> TextPlace:
        """The same without the texts."""
        return replace(self, place=matcher.out_of(self.place), why=matcher.out_of(self.why))


@dataclass(frozen=True, slots=True)
class ErasePlan:
    """What a run would do. `files` and `size` are how many files were searched and their bytes.

    `memories` are those of the open store that go as a whole; `marked` are the ids of those that go whatever they say.
    `changes` are the numbers of the changes that could no longer be undone.
    """

    matcher: TextMatcher
    marked: frozenset[str]
    places: tuple[TextPlace, ...]
    skipped: tuple[SkippedPlace, ...]
    files: int
    size: int
    memories: tuple[RowVersion, ...] = field(default=(), repr=False)
    changes: tuple[int, ...] = ()

    @property
    def taken(self) -> tuple[TextPlace, ...]:
        """The places that a run would erase."""
        return tuple(place for place in self.places if place.takes)

    @property
    def title(self) -> str:
        """In how many places the texts are."""
        where = f"in {counted(len(self.places), 'place')}" if self.places else "nowhere"
        return f"Found {where}; searched {counted(self.files, 'file')}."

    def sentences(self) -> list[str]:
        """What goes with the places, for people."""
        from zeroclaw_tui.memory.secret_text import masked

        lines = []
        if count := len(self.memories):
            keys = [masked(version.key) for version in self.memories[:_MOST_NAMED]]
            go = "memory goes" if count == 1 else "memories go"
            lines.append(f"{count:,} {go}: {first_names(keys, count, most=_MOST_NAMED)}")
        if self.changes:
            numbers = [str(number) for number in self.changes[:_MOST_NAMED]]
            named = first_names(numbers, len(self.changes), most=_MOST_NAMED)
            lines.append(f"The trash also loses it, so undo no longer restores these changes in full: {named}.")
        return [*lines, *([self.matcher.remark] if self.matcher.remark else [])]

    def as_json(self) -> dict[str, Any]:
        """The document of a dry run."""
        return {
            "texts": len(self.matcher.texts),
            "places": [asdict(place) for place in self.places],
            "memories": [{"id": version.id, "key": version.key} for version in self.memories],
            "changes": list(self.changes),
            "not_looked_at": [{"place": one.place, "why": one.why} for one in self.skipped],
            "looked_into": {"files": self.files, "bytes": self.size},
        }


@dataclass(frozen=True, slots=True)
class EraseReport:
    """What a run did, told so that it never repeats the texts. `files` and `size` were searched at the end."""

    at: str
    backend: str
    location: str
    texts: int
    erased: tuple[TextPlace, ...]
    left: tuple[TextPlace, ...]
    skipped: tuple[SkippedPlace, ...]
    files: int
    size: int
    is_stopped: bool = False
    copy: str | None = None
    remark: str = ""

    @property
    def is_complete(self) -> bool:
        """Whether nothing is left in any place that could be searched."""
        return not self.left and not self.is_stopped

    @property
    def outcome(self) -> str:
        """What became of it in a few words."""
        if not self.is_complete:
            return "Something is left"
        return "All within reach is gone" if self.skipped else "All is gone"

    @property
    def hits(self) -> int:
        """How many rows and bytes still have it."""
        return sum(one.found or 0 for one in self.left)

    def as_json(self) -> dict[str, Any]:
        """The document of a run."""
        return {
            "at": self.at,
            "backend": self.backend,
            "location": self.location,
            "texts": self.texts,
            "complete": self.is_complete,
            "stopped": self.is_stopped,
            "erased": [
                {"kind": one.kind, "place": one.place, "found": one.found, "why": one.why} for one in self.erased
            ],
            "left": [{"kind": one.kind, "place": one.place, "count": one.found, "why": one.why} for one in self.left],
            "not_looked_at": [{"place": one.place, "why": one.why} for one in self.skipped],
            "scanned": {"files": self.files, "bytes": self.size, "hits": self.hits},
            "copy": self.copy,
        }

    def sentences(self) -> list[str]:
        """The same for people, a line each."""
        lines = [
            f"Report of {self.at} on {self.backend}, {self.location}: {counted(self.texts, 'text')} in any case of "
            "letters.",
            f"Searched {counted(self.files, 'file')}, {self.size:,} bytes: {counted(self.hits, 'hit')} left.",
        ]
        lines += [f"Erased: {place.kind}, {place.place} ({place.found:,})." for place in self.erased]
        if not self.erased:
            lines.append("Nothing was erased." if self.left else "Nothing had to be erased.")
        for one in self.left:
            count = "" if one.found is None else f" ({one.found:,})"
            lines.append(f"Left: {one.kind}, {one.place}{count}: {one.why}")
        lines += [f"Not searched: {one.place}: {one.why}" for one in self.skipped]
        if self.copy is not None:
            lines.append(f"A copy of the memories was written to {self.copy} before: it holds the text.")
        if self.is_stopped:
            lines.append("It was stopped: erase once more to finish.")
        lines += [self.remark] if self.remark else []
        return [*lines, f"{self.outcome}."]


async def plan_erase(library: Library, matcher: TextMatcher, marked: Iterable[str] = ()) -> ErasePlan:
    """Search every place of the install for the texts, and find the memories of the ids `marked`; changes nothing.

    Raises InspectorError kinds where the store itself cannot be read; the plan says what else cannot.
    """
    ids = frozenset(marked)
    search = _Search(library, matcher)
    task = CancellableTask()
    await task.run(partial(search.look, task.check))
    memories, others = await _memories(library, matcher, ids)
    # What is on a server was not found in files, nor were memories that have none of the texts.
    found = len(others) if _is_in_files(library) else len(memories)
    own = [place for place in search.places if place.kind == "store"]
    if found and own and has_database(library.memory.name):
        search.places.remove(own[0])
        search.places.append(replace(own[0], found=(own[0].found or 0) + found))
    elif found:
        search.places.append(TextPlace("store", library.memory.about.location, found, takes=True))
    holds = partial(_holds_in_trash, matcher, _lasting(library, ids))
    kept = await library.trash.erase(holds, matcher.found_in, dry_run=True)
    if kept:
        search.places.append(TextPlace("trash", str(library.trash.file), kept, takes=True))
    places = sorted(search.places, key=lambda place: place.kind != "store")
    changes = await _changes_with(library, holds) if kept else ()
    return ErasePlan(matcher, ids, tuple(places), tuple(search.skipped), search.files, search.size, memories, changes)


async def write_copy(library: Library, plan: ErasePlan, path: Path) -> int:
    """Write the memories of a plan to a new file, as `zeroclaw memory export` does; gives how many.

    Raises Refused for a file that exists, and for one within the install, where it would be found again.
    """
    lines: list[bytes] = []
    ids = {version.id for version in plan.memories}

    def see(row: Row) -> None:
        if row.id in ids:
            lines.append(line_of(row, vectors=True))

    target = await asyncio.to_thread(_outside, library, path)
    await library.memory.scan(see)
    moment = library.trash.now().isoformat(timespec="seconds")
    memory = library.memory
    header = Header(moment, memory.name, memory.about.generation, library.profile.profile.version, vectors=True)
    data = b"".join([header_line(header), *lines])
    try:
        await asyncio.to_thread(replace_bytes, target, None, data)
    except FileChangedError as error:
        raise Refused(f"{path} already exists.", hint="Name a new file.") from error
    return len(lines)


async def erase_texts(
    library: Library, plan: ErasePlan, on_progress: ProgressCallback | None = None, copy: Path | None = None
) -> EraseReport:
    """Erase what a plan found, and what came since; then search every byte once more. Nothing restores it.

    Every step is whole or not done, and doing it again after a kill at any moment completes it. `on_progress` gets how
    many places are done and may say no. Raises Refused where the store is read-only, Locked where it is locked (nothing
    is erased then), and what its verbs raise; the report says which other places could not be erased.
    """
    refuse_read_only(library)
    matcher, memory = plan.matcher, library.memory
    await asyncio.to_thread(remove_leftovers, library.config)
    await library.trash.recover(memory)
    going, _ = await _memories(library, matcher, _lasting(library, plan.marked))
    if memory.keeps_lines:
        # A line is called by its number, which is another's once a line before it has gone.
        going = (*(version for version in plan.memories if version.id in plan.marked),)
    if going:
        await memory.apply([Change(version, None) for version in going], None, permanently=True)
    run = _Run(library, plan, on_progress, has_deleted=bool(going))
    holds = partial(_holds_in_trash, matcher, _lasting(library, plan.marked))
    task = CancellableTask()
    database = memory.upkeep.database
    async with nullcontext() if database is None else database.disconnected():
        await task.run(partial(run.clean, task.check))
        if not run.is_stopped:
            await library.trash.erase(holds, matcher.found_in)
            await task.run(partial(run.wipe_databases, task.check))
    search = _Search(library, matcher, bytes_alone=True)
    await task.run(partial(search.look, task.check))
    if not _is_in_files(library):
        await _add_left_on_server(library, matcher, search)
    if memory.about.keeps_deleted is not None:
        search.skipped.append(SkippedPlace(memory.about.location, memory.about.keeps_deleted, may_hold=False))
    return run.report(search, copy)


class _Search:
    """One search of all files of an install: for the plan rows and bytes, for the second look bytes alone."""

    def __init__(self, library: Library, matcher: TextMatcher, *, bytes_alone: bool = False) -> None:
        self._library, self._matcher, self._bytes_alone = library, matcher, bytes_alone
        self.places: list[TextPlace] = []
        self.skipped: list[SkippedPlace] = []
        self.files = self.size = 0

    def look(self, check: Callable[[], object]) -> None:
        """Search every file; `check` may end it by raising. Blocks."""
        found = all_files(self._library.config, self._library.memory.name)
        self.skipped += found.skipped
        for file in found.files:
            check()
            self.files += 1
            try:
                self.size += sum(map(file_size, file.parts()))
                self._look_at(file, check)
            except (OSError, InspectorError) as error:
                self.skipped.append(SkippedPlace(str(file.path), not_read(error), kind=file.kind))

    def _look_at(self, file: PlacedFile, check: Callable[[], object]) -> None:
        skipped = file.why_not_searched()
        if skipped is not None:
            self.skipped.append(skipped)
            return
        stays = file.why_it_stays()
        if file.path == self._library.trash.file and not self._bytes_alone:
            return  # The journal itself counts.
        # A row that lies on several pages does not stand in the bytes in one piece.
        if file.is_database() and not (self._bytes_alone and not stays):
            self._add_database(file, stays, check)
        elif count := count_in_bytes(file, self._matcher):
            is_cut = self._bytes_alone or file.form == "trash"
            self._add(file, count, stays or ("" if is_cut else self._why_not_cut(file)), _explained(file))
        elif self._matcher.found_in(file.path.name):
            self._add(file, 1, _NAME, "")

    def _add_database(self, file: PlacedFile, stays: str, check: Callable[[], object]) -> None:
        rows = rows_with_texts(file.path, self._matcher, check)
        count = len(rows) or count_in_bytes(file, self._matcher)
        if not count:
            return
        if file.kind == "store":
            stays = self._library.read_only_because or ""
        row_stays = " ".join(dict.fromkeys(filter(None, (row.stays for row in rows))))
        if rows and all(row.stays for row in rows):
            stays = stays or row_stays
        cut = [row for row in rows if row.table == MEMORIES and not row.goes]
        columns = ", ".join(sorted({name for row in cut for name in row.values}))
        open_in = describe_processes(processes_using(file.path) or ())
        remarks = (
            f"In {counted(len(cut), 'row')} only the text is deleted, from {columns}." if cut else "",
            "" if rows else _BYTES,
            row_stays,
            _OPEN_IN.format(open_in) if open_in else "",
        )
        self._add(file, count, stays, " ".join(filter(None, remarks)))

    def _add(self, file: PlacedFile, count: int, stays: str, remark: str) -> None:
        if file.kind == "store" and (closed := self._library.read_only_because) is not None:
            stays = closed
        link = f"It is a link to {one_line(os.path.realpath(file.path))}." if file.path.is_symlink() else ""
        name = _NAME if stays != _NAME and self._matcher.found_in(file.path.name) else ""
        why = stays or " ".join(filter(None, (remark, link, name)))
        self.places.append(TextPlace(file.kind, str(file.path), count, takes=not stays, why=why))

    def _why_not_cut(self, file: PlacedFile) -> str:
        if file_size(file.path) > LARGEST:
            return _TOO_LARGE
        data = read_bytes(file.path) or b""
        return _UNCUTTABLE if without_texts(data, file.form, self._matcher) in (None, data) else ""


class _Run:
    """One run: what could not be erased, by path, with the reason."""

    def __init__(
        self, library: Library, plan: ErasePlan, on_progress: ProgressCallback | None, *, has_deleted: bool
    ) -> None:
        self._library, self._plan, self._matcher = library, plan, plan.matcher
        self._on_progress, self._has_deleted = on_progress, has_deleted
        self._done = 0
        self._left: dict[str, str] = {}
        self._changed: set[str] = set()
        self._programs: dict[str, None] = {}
        self.is_stopped = False

    def clean(self, check: Callable[[], object]) -> None:
        """Clean the rows first, then files. Raises Locked where the store itself is locked. Blocks."""
        files = self._files()
        # The store comes first: where it is locked nothing at all is done.
        for file in sorted(files, key=lambda file: (file.kind != "store", not _is_database(file))):
            check()
            if not self._goes_on():
                self._left.setdefault(str(file.path), _STOPPED)
                continue
            try:
                self._clean(file)
            except Locked as error:
                if file.kind == "store":
                    raise
                self._left[str(file.path)] = not_read(error)
            except (OSError, InspectorError) as error:
                self._left[str(file.path)] = not_read(error)

    def wipe_databases(self, check: Callable[[], object]) -> None:
        """Rewrite the databases that rows went from, that still have the bytes, or whose indexes may. Blocks."""
        for file in self._files():
            if not _is_database(file):
                continue
            check()
            name = str(file.path)
            try:
                has_bytes = count_in_bytes(file, self._matcher) > 0
                if not (name in self._changed or has_bytes or has_keyword_index(file.path)):
                    continue
                wipe(file.path)
                if has_bytes:
                    self._changed.add(name)
            except (OSError, InspectorError) as error:
                open_in = processes_using(file.path) or ()
                self._programs |= dict.fromkeys(describe_processes((process,)) for process in open_in)
                self._left.setdefault(name, _PAGES.format(not_read(error)))

    def report(self, search: _Search, copy: Path | None) -> EraseReport:
        """What became of it, by what the second look found."""
        library, matcher = self._library, self._matcher
        left = [self._left_at(place) for place in search.places]
        found = {place.place for place in search.places}
        left += [
            TextPlace("file", path, None, why=why)
            for path, why in self._left.items()
            if path not in found and why != _STOPPED
        ]
        left += [TextPlace("running program", program, None, why=_IN_RAM) for program in self._programs]
        left += [TextPlace("not readable", one.place, None, why=one.why) for one in search.skipped if one.may_hold]
        # What a place still has was not erased, unless some of it went. The trash comes last.
        done = {place.place for place in self._plan.taken} - (found - self._changed)
        done -= {str(library.trash.file)} if self.is_stopped else set()
        if self.is_stopped:
            done &= self._changed
        erased = [place for place in self._plan.taken if place.place in done]
        return EraseReport(
            at=library.trash.now().isoformat(timespec="seconds"),
            backend=library.memory.name,
            location=matcher.out_of(library.memory.about.location),
            texts=len(matcher.texts),
            erased=tuple(place.without(matcher) for place in erased),
            left=tuple(place.without(matcher) for place in left),
            skipped=tuple(
                replace(one, place=matcher.out_of(one.place), why=matcher.out_of(one.why)) for one in search.skipped
            ),
            files=search.files,
            size=search.size,
            is_stopped=self.is_stopped,
            copy=None if copy is None else matcher.out_of(str(copy)),
            remark=matcher.remark,
        )

    def _files(self) -> list[PlacedFile]:
        """The files that may be changed."""
        found = all_files(self._library.config, self._library.memory.name).files
        return [file for file in found if file.form != "trash" and not file.why_it_stays()]

    def _goes_on(self) -> bool:
        if self._on_progress is not None and not self._on_progress(self._done):
            self.is_stopped = True
        return not self.is_stopped

    def _clean(self, file: PlacedFile) -> None:
        name, matcher = str(file.path), self._matcher
        if file.why_not_searched() is not None:
            return
        if file.is_database():
            prunes = self._has_deleted and file.kind == "store"
            if not (prunes or rows_with_texts(file.path, matcher, lambda: None)):
                return
            if stays := erase_rows(file.path, matcher, self._goes_on, prunes=prunes):
                self._left[name] = stays
            self._changed.add(name)
        else:
            if not count_in_bytes(file, matcher):
                return
            if file_size(file.path) > LARGEST:
                self._left[name] = _TOO_LARGE
                return
            if retry_if_changed(partial(_rewrite, file, matcher), file.path):
                self._changed.add(name)
        self._done += 1

    def _left_at(self, place: TextPlace) -> TextPlace:
        planned = {one.place: one.why for one in self._plan.places if not one.takes}
        why = self._left.get(place.place) or (place.why if not place.takes else planned.get(place.place) or _STILL)
        return replace(place, takes=False, why=why)


def count_in_bytes(file: PlacedFile, matcher: TextMatcher) -> int:
    """How often the texts occur in the bytes of a file and of its log. Blocks. Raises OSError."""
    return sum(matcher.count_in(iter_raw_chunks(part)) for part in file.parts())


def _rewrite(file: PlacedFile, matcher: TextMatcher) -> bool:
    """Put in place of a file what stays of it without the texts; gives whether anything went.

    Raises FileChangedError where another program wrote it meanwhile, Unreadable, Refused.
    """
    data = read_bytes(file.path)
    new = None if data is None else without_texts(data, file.form, matcher)
    if new is None or new == data:
        return False
    replace_bytes(file.path, data, new)
    return True


def _explained(file: PlacedFile) -> str:
    return _LINES if file.form == "notes" else ""


def _is_database(file: PlacedFile) -> bool:
    try:
        return file.is_database()
    except OSError:
        return False


def _is_in_files(library: Library) -> bool:
    """Whether the store lies in files that a search of files finds."""
    return has_database(library.memory.name) or library.memory.keeps_lines or library.memory.about.program is not None


def _lasting(library: Library, ids: frozenset[str]) -> frozenset[str]:
    """Ids, where these name the same memory after other memories went."""
    return frozenset() if library.memory.keeps_lines else ids


async def _memories(
    library: Library, matcher: TextMatcher, ids: frozenset[str]
) -> tuple[tuple[RowVersion, ...], tuple[RowVersion, ...]]:
    """The memories that go as a whole, and those of them that go only because of their id."""
    memory = library.memory
    of_file = has_database(memory.name)
    going: list[RowVersion] = []
    marked: list[RowVersion] = []

    def see(row: Row) -> None:
        values = {**row.values, "id": row.id}
        # A server's rows go as a whole; of rows in a file other columns can lose the text.
        names = ("id", "key", "content") if of_file else [name for name in values if name != "embedding"]
        if any(matcher.found_in_field(name, values.get(name)) for name in names):
            going.append(memory.stamp_of(row))
        elif row.id in ids:
            marked.append(memory.stamp_of(row))

    await memory.scan(see)
    return (*going, *marked), tuple(marked)


async def _add_left_on_server(library: Library, matcher: TextMatcher, search: _Search) -> None:
    """Add the memories of a store on a server that still have the texts."""
    location = library.memory.about.location
    try:
        going, _ = await _memories(library, matcher, frozenset())
    except InspectorError as error:
        search.skipped.append(SkippedPlace(location, str(error)))
        return
    if going:
        search.places.append(TextPlace("store", location, len(going), takes=True))


async def _changes_with(library: Library, holds: Callable[[Row], bool]) -> tuple[int, ...]:
    """The changes of which the trash keeps a row that has a text."""

    def has_any(number: int) -> bool:
        changes = (change for batch in library.trash.open_changes(number)() for change in batch)
        return any(holds(row) for change in changes for row in (change.before, change.after) if row is not None)

    actions = await library.trash.actions(_MOST_CHANGES)
    return await asyncio.to_thread(lambda: tuple(action.number for action in actions if has_any(action.number)))


def _holds_in_trash(matcher: TextMatcher, ids: frozenset[str], row: Row) -> bool:
    """Whether a row in the trash has a text, or is a memory that is erased."""
    words = (row.id, row.agent, row.values.get("key"), row.values.get("content"))
    return (
        row.id in ids
        or any(isinstance(one, str) and matcher.found_in(one) for one in words)
        or any(matcher.found_in_field(name, value) for name, value in row.values.items() if name != "embedding")
    )


def _outside(library: Library, path: Path) -> Path:
    """Where a path leads. Raises Refused where that is within the install."""
    target, install = Path(os.path.realpath(path)), library.config.install
    for folder in (install.config_dir, install.own_dir, None if install.layout == "lone" else install.root):
        if folder is not None and target.is_relative_to(os.path.realpath(folder)):
            raise Refused(f"{path} is inside the install.", hint="Name a place outside: the copy holds the text.")
    return target
