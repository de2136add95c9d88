"""Erasing a text from every place of an install: the plan by place, the run, the report, the scan that proves it."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from zeroclaw_tui.backends.base import Memory
from zeroclaw_tui.backends.cancellation import CancellableTask
from zeroclaw_tui.backends.factory import has_database
from zeroclaw_tui.curation.changes import refuse_read_only
from zeroclaw_tui.curation.erase.removal import (
    Chosen,
    Cut,
    FoundRows,
    erase_rows,
    find_rows,
    hits,
    take_out,
    wipe,
)
from zeroclaw_tui.curation.formats.jsonl import Header, header_line, line_of
from zeroclaw_tui.curation.install_files import InstallFile, Kind, SkippedPlace, all_files, not_read
from zeroclaw_tui.curation.leftovers import remove_leftovers
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.side_files import LARGEST
from zeroclaw_tui.files.database import FileIdentity, file_identity
from zeroclaw_tui.files.disk import FileChangedError, file_size, read_bytes, replace_bytes, retry_if_changed
from zeroclaw_tui.files.whole_database import describe_processes, processes_using
from zeroclaw_tui.memory.change import Change, ProgressCallback, Row, RowVersion
from zeroclaw_tui.memory.errors import InspectorError, Locked, Refused
from zeroclaw_tui.memory.text import counted, one_line

_UNFINISHED = "erase-unfinished.json"
"""Our note of the stores that are to be written anew, by a digest of where they are: a run that is killed before that
leaves words in keyword indexes, which no later look at the rows would tell."""
_ALWAYS_WIPED: frozenset[Kind] = frozenset({"store", "chat"})

_CONFIG = "It is ZeroClaw's configuration: change it by hand."
_NOT_OURS = "It is a file of your own: remove the text by hand, or delete the file."
_PACKED = "It is packed, so its content was not searched: unpack it, or delete it."
_DAMAGED = "It should be a SQLite database, but it is none: delete it while ZeroClaw is stopped, or restore a backup."
_UNCUTTABLE = "The text cannot be cut out of this file: delete the file if you do not need it."
_OWN_WORDS = (
    "It is only within names of fields and settings, numbers, categories, roles or times, which stay: edit it by hand."
)
_BYTES = "No row has it, but free pages or indexes do. They are rewritten."
_UNCUT: Mapping[Cut, str] = {"nothing": _UNCUTTABLE, "own words": _OWN_WORDS}
_TOO_LARGE = f"It is larger than {LARGEST // 1_000_000} MB: delete it while ZeroClaw is stopped."
_LINKED = "The file has other names (hard links), and the text stays under them."
_GIT = "Git stores it: rewrite the history, or delete the repository."
_FOREIGN = "It is a database of another program: use that program to remove the text."
_LUCID = "lucid has no delete command: stop lucid, then edit or delete this file."
_NAME = "The name of the file or directory contains it: rename or delete it."
_AGAIN = "Another program wrote it again: stop that program and erase once more."
_STOPPED = "Erasing was stopped before this was done: erase once more."
_PAGES = "No row has it any more, but its bytes stay in the file or its log until {} stops: then erase once more."
_PAGES_ALONE = "No row has it any more, but its bytes stay in the file or its log: {}"
_LINES = "Every line that contains it is deleted."
_CHAIN = "Each line of this log vouches for the one before: delete the files as a whole while ZeroClaw is stopped."
_IN_RAM = "It is running and may write the text again: stop it, then erase once more."
_NEVER_TAKEN: Mapping[str, str] = {"config": _CONFIG, "lucid": _LUCID, "security log": _CHAIN}


@dataclass(frozen=True, slots=True)
class ErasePlace:
    """A place that holds the texts: how many rows, or how often in its bytes. `takes` says whether a run would erase
    it, `why` why not or what follows. `open_in` names the programs that have it open."""

    kind: str
    place: str
    found: int
    takes: bool
    why: str = ""
    open_in: str = ""

    def as_json(self) -> dict[str, Any]:
        """By the names of the documents."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class ErasePlan:
    """What a run would do. `files` and `size` are how many were looked into and their bytes.

    `stamps` are the memories of the open store that go as a whole.
    """

    chosen: Chosen
    places: tuple[ErasePlace, ...]
    unseen: tuple[SkippedPlace, ...]
    files: int
    size: int
    stamps: tuple[RowVersion, ...] = field(default=(), repr=False)

    @property
    def taken(self) -> tuple[ErasePlace, ...]:
        """The places that a run would erase."""
        return tuple(place for place in self.places if place.takes)


@dataclass(frozen=True, slots=True)
class Remainder:
    """What is left, or may be: where, how often (None where that cannot be counted), and why, in a sentence."""

    kind: str
    place: str
    count: int | None
    why: str


@dataclass(frozen=True, slots=True)
class EraseReport:
    """What a run did, told so that it never repeats the texts. `files` and `size` were scanned at the end."""

    at: str
    backend: str
    location: str
    texts: int
    erased: tuple[ErasePlace, ...]
    left: tuple[Remainder, ...]
    unseen: tuple[SkippedPlace, ...]
    files: int
    size: int
    is_stopped: bool = False
    copy: str | None = None

    @property
    def is_complete(self) -> bool:
        """Whether nothing is left in any place that could be looked into."""
        return not self.left and not self.is_stopped

    @property
    def outcome(self) -> str:
        """What became of it in a few words."""
        if not self.is_complete:
            return "Something is left"
        return "All within reach is gone" if self.unseen else "All is gone"

    def as_json(self) -> dict[str, Any]:
        """The document of a run."""
        erased = (place.as_json().items() for place in self.erased)
        return {
            "at": self.at,
            "backend": self.backend,
            "location": self.location,
            "texts": self.texts,
            "complete": self.is_complete,
            "stopped": self.is_stopped,
            "erased": [{name: value for name, value in place if name != "takes"} for place in erased],
            "left": [asdict(one) for one in self.left],
            "not_looked_at": [{"place": one.place, "why": one.why} for one in self.unseen],
            "scanned": {"files": self.files, "bytes": self.size, "hits": sum(one.count or 0 for one in self.left)},
            "copy": self.copy,
        }

    def sentences(self) -> list[str]:
        """The same for people, a line each."""
        hits = sum(one.count or 0 for one in self.left)
        texts = counted(self.texts, "text")
        lines = [
            f"Report of {self.at} on {self.backend}, {self.location}: {texts} in any case of letters.",
            f"Searched {counted(self.files, 'file')}, {self.size:,} bytes: {counted(hits, 'hit')} left.",
        ]
        lines += [f"Erased: {place.kind}, {place.place} ({place.found:,})." for place in self.erased]
        if not self.erased:
            lines.append("Nothing was erased." if self.left else "Nothing had to be erased.")
        for one in self.left:
            count = "" if one.count is None else f" ({one.count:,})"
            lines.append(f"Left: {one.kind}, {one.place}{count}: {one.why}")
        lines += [f"Not searched: {one.place}: {one.why}" for one in self.unseen]
        if self.copy is not None:
            lines.append(f"A copy of the memories was written to {self.copy} before: it holds the text.")
        if self.is_stopped:
            lines.append("It was stopped: erase once more to finish.")
        lines.append(f"{self.outcome}.")
        return lines


async def plan_erase(library: Library, chosen: Chosen) -> ErasePlan:
    """Look into every place of the install; changes nothing. Raises InspectorError kinds where the store itself cannot
    be read; what else cannot is told by the plan."""
    look = _Look(library, chosen)
    rows = await _rows_of_store(library, chosen)
    task = CancellableTask()
    await task.run(partial(look.at_files, task.check))
    found, of_rows = len(rows), _lasting(library, chosen)
    if of_rows is not chosen:
        # Lines that hold a text were found in their files.
        found -= len(await _rows_of_store(library, of_rows))
    kept = await library.trash.erase(partial(_holds_in_trash, of_rows), chosen.matcher.found_in, dry_run=True)
    if found > 0:
        look.places.append(ErasePlace("store", library.memory.about.location, found, takes=True))
    if kept:
        look.places.append(ErasePlace("trash", str(library.trash.file), kept, takes=True))
    look.places.sort(key=lambda place: place.kind != "store")
    ids = look.ids | {stamp.id for stamp in rows}
    stamps = await _stamps_of(library, ids)
    return ErasePlan(chosen, tuple(look.places), tuple(look.unseen), look.files, look.size, stamps)


async def write_copy(library: Library, plan: ErasePlan, path: Path) -> int:
    """Write the memories of a plan to a new file, as `zeroclaw memory export` does; gives how many. Raises Refused
    where there is one already, or within the install, where it would be found again."""
    lines: list[bytes] = []

    def see(row: Row) -> None:
        if _holds(plan.chosen, row):
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
    """Erase what a plan found, and what came since; then look at every byte once more. Nothing restores it.

    Every step is whole or not done, and doing it again after a kill at any moment completes it. `on_progress` gets how
    many places are done and may say no. Raises Refused where the store is read-only, Locked where it is locked (nothing
    is erased then), and what its verbs raise; any other place that cannot be erased is told by the report.
    """
    refuse_read_only(library)
    await asyncio.to_thread(remove_leftovers, library.config)
    await library.trash.recover(library.memory)
    run = _Run(library, plan, on_progress)
    holds = partial(_holds_in_trash, run.chosen)
    kept = await run.rows_of_server()
    task = CancellableTask()
    database = library.memory.upkeep.database
    async with nullcontext() if database is None else database.disconnected():
        await task.run(partial(run.rows_and_files, task.check))
        if not run.is_stopped:
            await library.trash.erase(holds, run.chosen.matcher.found_in)
            await task.run(partial(run.wipe_databases, task.check))
    after = _Look(library, run.chosen, scans=True)
    await task.run(partial(after.at_files, task.check))
    await after.at_server()
    run.in_trash = await library.trash.erase(holds, run.chosen.matcher.found_in, dry_run=True)
    if kept is not None:
        after.unseen.append(SkippedPlace(library.memory.about.location, kept, False))
    return run.report(after, copy)


class _Look:
    """One look at all files of an install: for the plan at rows and bytes, for the scan at bytes alone."""

    def __init__(self, library: Library, chosen: Chosen, *, scans: bool = False) -> None:
        self._library, self._chosen, self._scans = library, chosen, scans
        self.places: list[ErasePlace] = []
        self.unseen: list[SkippedPlace] = []
        self.ids: set[str] = set()
        self.files = self.size = 0
        self._files: Sequence[InstallFile] = ()

    def at_files(self, check: Callable[[], object]) -> None:
        """Look at every file; `check` may end it by raising."""
        found = all_files(self._library.config, self._library.memory.name)
        self.unseen += found.unseen
        databases: list[tuple[InstallFile, FoundRows]] = []
        self._files = found.files
        for folder in found.empty_folders:
            if self._chosen.matcher.found_in(folder.name):
                self.places.append(ErasePlace(folder.kind, str(folder.path), 1, takes=False, why=_NAME))
        for file in found.files:
            check()
            self.files += 1
            self.size += sum(map(file_size, file.parts()))
            try:
                if file.is_damaged():
                    self.unseen.append(SkippedPlace(str(file.path), _DAMAGED))
                    continue
                # A row that lies on several pages does not stand in the bytes in one piece.
                looks_at_rows = file.is_database() and not (self._scans and not _why_left(file))
                rows = self._rows(file) if looks_at_rows else None
                if rows is not None:
                    databases.append((file, rows))
                    continue
                if self._scans or file.kind != "trash":
                    self._add(file, self._hits(file))
            except (OSError, InspectorError) as error:
                self._not_seen(file, error)
        for file, rows in databases:
            try:
                self._add_database(file, rows)
            except (OSError, InspectorError) as error:
                self._not_seen(file, error)

    async def at_server(self) -> None:
        """Look at every memory of a store that is no database in a file."""
        location = self._library.memory.about.location
        try:
            stamps = await _rows_of_store(self._library, self._chosen)
        except InspectorError as error:
            self.unseen.append(SkippedPlace(location, str(error)))
            return
        if stamps:
            self.places.append(ErasePlace("store", location, len(stamps), takes=True))

    @cached_property
    def _names(self) -> Counter[FileIdentity]:
        return _names_of(file for file in self._files if not _why_left(file))

    def _not_seen(self, file: InstallFile, error: OSError | InspectorError) -> None:
        self.unseen.append(SkippedPlace(str(file.path), not_read(error)))

    def _rows(self, file: InstallFile) -> FoundRows | None:
        try:
            return find_rows(file.path, self._chosen)
        except InspectorError as error:
            self._not_seen(file, error)
            return None

    def _hits(self, file: InstallFile) -> int:
        if file.is_packed():
            self.unseen.append(SkippedPlace(str(file.path), _PACKED, False))
        return hits(file, self._chosen.matcher)

    def _add_database(self, file: InstallFile, rows: FoundRows) -> None:
        if file.kind == "store":
            self.ids |= set(rows.ids)
        self._add(file, rows.all or self._hits(file), rows)

    def _add(self, file: InstallFile, found: int, rows: FoundRows | None = None) -> None:
        """A file, where it or its name holds a text."""
        matcher = self._chosen.matcher
        if not found and not matcher.found_in(file.name):
            return
        why = _why_left(file) if found else _NAME
        if not why and not file.is_database():
            is_large = file_size(file.path) > LARGEST
            cut = None if is_large else take_out(file, matcher, dry_run=True)
            why = _TOO_LARGE if cut is None else _UNCUT.get(cut, "")
        takes = not why
        if rows is not None and takes:
            why = " ".join(rows.staying) if rows.all else _BYTES
            takes = not rows.staying or rows.going + rows.cut > 0
            if rows.cut and (file.kind == "store" or file.holds == "memories"):
                columns = ", ".join(sorted(rows.cut_columns))
                why = f"In {counted(rows.cut, 'row')} only the text is deleted, from {columns}. {why}".strip()
        if file.kind == "store" and (closed := self._library.read_only_because) is not None:
            takes, why = False, closed
        elif takes and file.holds == "notes":
            why = _LINES
        if takes and file.path.is_symlink():
            why = f"{why} It is a link to {one_line(os.path.realpath(file.path))}.".strip()
        # Hardly any file has several names, and whose they are takes a look at every file.
        has_several = takes and rows is None and file.path.stat().st_nlink > 1
        if has_several and _has_other_names(file.path, self._names):
            why = f"{why} {_LINKED}".strip()
        if takes and matcher.found_in(file.name):
            why = f"{why} {_NAME}".strip()
        open_in = describe_processes(processes_using(file.path) or ()) if rows is not None else ""
        self.places.append(ErasePlace(file.kind, str(file.path), found or 1, takes, why, open_in))


class _Run:
    """One run: what could not be erased, by path, with the reason. `chosen` is what is looked for in it."""

    def __init__(self, library: Library, plan: ErasePlan, on_progress: ProgressCallback | None) -> None:
        self._library, self._plan = library, plan
        self._marked = list[RowVersion]()
        self.chosen = _lasting(library, plan.chosen)
        if self.chosen is not plan.chosen:
            self._marked = [stamp for stamp in plan.stamps if stamp.id in plan.chosen.ids]
        self._advance = on_progress
        self._done = 0
        self._left: dict[str, str] = {}
        self._erased: set[str] = set()
        """The places where anything was."""
        self._held: dict[str, int] = {}
        """By path how often the bytes of a database of which no row went had the texts."""
        self._to_wipe: dict[str, InstallFile] = {}
        self._programs: dict[str, None] = {}
        self._note = library.config.install.own_dir / _UNFINISHED
        self._names: Counter[FileIdentity] = Counter()
        self.is_stopped = False
        self.in_trash = 0
        """Kept changes that hold a text, counted at the end."""

    async def rows_of_server(self) -> str | None:
        """Delete the memories of a store that is no database in a file.

        Gives what may still keep them in a sentence, None where nothing does.
        """
        memory = self._library.memory
        if memory.about.program is not None:
            return None
        stamps = await _rows_of_store(self._library, self.chosen)
        deleting = [Change(version, None) for version in (*self._marked, *stamps)]
        if deleting:
            await memory.apply(deleting, None, permanently=True)
        if stamps or self._marked:
            self._erased |= {place.place for place in self._plan.taken if place.kind == "store"}
        return memory.about.keeps_deleted

    def rows_and_files(self, check: Callable[[], object]) -> None:
        """The rows first, then files. Raises Locked where the store itself is locked."""
        files = [file for file in self._files() if not _why_left(file)]
        self._names = _names_of(files)
        databases = [file for file in files if file.is_database()]
        unfinished = _noted(self._note)
        self._to_wipe |= {str(file.path): file for file in databases if _name_of(file.path) in unfinished}
        # The store comes first: where it is locked nothing at all is done.
        for file in sorted(databases, key=lambda file: file.kind != "store"):
            check()
            self._guarded(file, partial(self._database, file))
        for file in files:
            check()
            if file.holds != "trash" and file not in databases:
                self._guarded(file, partial(self._file, file))

    def wipe_databases(self, check: Callable[[], object]) -> None:
        """Write anew what rows went from, or what still has the bytes; the note of what is to be done goes last."""
        for file in self._files():
            if file.holds == "trash" or _why_left(file) or not file.is_database():
                continue
            check()
            name = str(file.path)
            if name not in self._erased:
                self._held[name] = hits(file, self.chosen.matcher)
            if name in self._to_wipe or self._held.get(name):
                self._wipe(file)
        if not self._left.keys() & self._to_wipe.keys():
            self._note.unlink(missing_ok=True)

    def report(self, after: _Look, copy: Path | None) -> EraseReport:
        """What became of it, by what the scan found."""
        library, matcher = self._library, self.chosen.matcher
        files = {str(file.path): file for file in self._files()}
        left = [
            Remainder(place.kind, place.place, place.found, self._why(place, files.get(place.place)))
            for place in after.places
        ]
        there = {place.place: place.found for place in after.places}
        self._erased |= {path for path, found in self._held.items() if there.get(path, 0) < found}
        left += [
            Remainder(files[path].kind if path in files else "other file", path, None, why)
            for path, why in self._left.items()
            if path not in there and why != _STOPPED
        ]
        left += [Remainder("running program", program, None, _IN_RAM) for program in self._programs]
        left += [Remainder("not readable", one.place, None, one.why) for one in after.unseen if one.may_hold]
        masked = matcher.out_of
        # The trash comes last.
        places = self._erased | (set() if self.is_stopped else {str(library.trash.file)})
        erased = [one for one in self._plan.taken if one.place in places]
        return EraseReport(
            at=library.trash.now().isoformat(timespec="seconds"),
            backend=library.memory.name,
            location=masked(library.memory.about.location),
            texts=len(matcher.texts),
            erased=tuple(replace(one, place=masked(one.place), why=masked(one.why)) for one in erased),
            left=tuple(replace(one, place=masked(one.place), why=masked(one.why)) for one in left),
            unseen=tuple(replace(one, place=masked(one.place), why=masked(one.why)) for one in after.unseen),
            files=after.files,
            size=after.size,
            is_stopped=self.is_stopped,
            copy=None if copy is None else masked(str(copy)),
        )

    def _files(self) -> Sequence[InstallFile]:
        return all_files(self._library.config, self._library.memory.name).files

    def _goes_on(self) -> bool:
        if self._advance is not None and not self._advance(self._done):
            self.is_stopped = True
        return not self.is_stopped

    def _guarded(self, file: InstallFile, work: Callable[[], None]) -> None:
        """Do it, unless all was stopped; what fails costs this place only, but for the lock of the store."""
        if not self._goes_on():
            self._left.setdefault(str(file.path), _STOPPED)
            return
        try:
            work()
        except Locked as error:
            if file.kind == "store":
                raise
            self._left[str(file.path)] = not_read(error)
        except (OSError, InspectorError) as error:
            self._left[str(file.path)] = not_read(error)

    def _database(self, file: InstallFile) -> None:
        found = find_rows(file.path, self.chosen)
        if not found.all and file.kind not in _ALWAYS_WIPED and str(file.path) not in self._to_wipe:
            return
        self._note_wipe(file)
        done = erase_rows(file.path, self.chosen, self._goes_on)
        self._done += 1
        if done.going or done.cut:
            self._erased.add(str(file.path))
        if done.staying:
            self._left[str(file.path)] = " ".join(done.staying)

    def _note_wipe(self, file: InstallFile) -> None:
        self._to_wipe[str(file.path)] = file
        self._note_down(_name_of(file.path))

    def _note_down(self, name: str) -> None:
        names = sorted(_noted(self._note) | {name})
        retry_if_changed(
            lambda: replace_bytes(self._note, read_bytes(self._note), json.dumps(names).encode()), self._note
        )

    def _wipe(self, file: InstallFile) -> None:
        name = str(file.path)
        open_in = processes_using(file.path) or ()
        self._programs |= dict.fromkeys(describe_processes((holder,)) for holder in open_in)
        self._to_wipe[name] = file
        try:
            wipe(file.path)
        except Locked as error:
            # Where not even the rows could be looked at, why is told already.
            self._left.setdefault(
                name, _PAGES.format(describe_processes(open_in)) if open_in else _PAGES_ALONE.format(error)
            )
        except InspectorError as error:
            self._left.setdefault(name, _PAGES_ALONE.format(error))

    def _file(self, file: InstallFile) -> None:
        if not hits(file, self.chosen.matcher):
            return
        self._done += 1
        name = str(file.path)
        if file_size(file.path) > LARGEST:
            self._left[name] = _TOO_LARGE
            return
        if _has_other_names(file.path, self._names):
            self._left[name] = _LINKED
        cut = retry_if_changed(partial(take_out, file, self.chosen.matcher), file.path)
        if cut == "text":
            self._erased.add(name)
        else:
            self._left[name] = _UNCUT[cut]

    def _why(self, place: ErasePlace, file: InstallFile | None) -> str:
        because = self._left.get(place.place)
        if because is not None:
            return because
        if place.why == _NAME:
            return _NAME
        if file is not None and (known := _why_left(file)):
            return known
        if file is None:
            return _AGAIN
        if file.holds == "trash":
            return _AGAIN if self.in_trash else _OWN_WORDS
        if file.is_database():
            return _AGAIN if find_rows(file.path, self.chosen).all else _OWN_WORDS
        return _UNCUT.get(take_out(file, self.chosen.matcher, dry_run=True), _AGAIN)


def _names_of(files: Iterable[InstallFile]) -> Counter[FileIdentity]:
    """How many of these are names of one and the same file."""
    return Counter(filter(None, (file_identity(file.path) for file in files)))


def _has_other_names(path: Path, names: Mapping[FileIdentity, int]) -> bool:
    """Whether a file has names that are none of these. Raises OSError."""
    found = path.stat()
    return found.st_nlink > names.get((found.st_dev, found.st_ino), 0)


def _why_left(file: InstallFile) -> str:
    """Why a file is not taken, in a sentence; empty where it is."""
    if file.kind in _NEVER_TAKEN:
        return _NEVER_TAKEN[file.kind]
    if ".git" in file.path.parts:
        return _GIT
    try:
        if file.kind in ("workspace file", "other file"):
            return _FOREIGN if file.holds != "memories" and file.is_database() else _NOT_OURS
        if file.is_damaged():
            return _DAMAGED
        return _PACKED if file.is_packed() else ""
    except OSError as error:
        return not_read(error)


async def _rows_of_store(library: Library, chosen: Chosen) -> list[RowVersion]:
    """The memories that hold the texts, where the store is not one file, which is looked at as such."""
    if _is_file(library.memory):
        return []
    stamps: list[RowVersion] = []

    def see(row: Row) -> None:
        if _holds(chosen, row):
            stamps.append(library.memory.stamp_of(row))

    await library.memory.scan(see)
    return stamps


def _lasting(library: Library, chosen: Chosen) -> Chosen:
    """What is chosen, without ids where these last no longer than the file is as it is.

    A line is called by its number, which is another's once a line before it has gone.
    """
    return replace(chosen, ids=frozenset()) if library.memory.keeps_lines else chosen


def _is_file(memory: Memory) -> bool:
    return has_database(memory.name) or memory.about.program is not None


def _outside(library: Library, path: Path) -> Path:
    """Where a path leads. Raises Refused where that is within the install."""
    target, install = Path(os.path.realpath(path)), library.config.install
    for folder in (install.config_dir, install.own_dir, None if install.layout == "lone" else install.root):
        if folder is not None and target.is_relative_to(os.path.realpath(folder)):
            raise Refused(f"{path} is inside the install.", hint="Name a place outside: the copy holds the text.")
    return target


def _holds(chosen: Chosen, row: Row) -> bool:
    matcher = chosen.matcher
    words = (row.id, row.values.get("key"), row.values.get("content"))
    return (
        row.id in chosen.ids
        or any(isinstance(one, str) and matcher.found_in(one) for one in words)
        or any(matcher.held_by(value, name) for name, value in row.values.items() if name != "embedding")
    )


def _holds_in_trash(chosen: Chosen, row: Row) -> bool:
    """Of a row in the trash, which has the name of its agent too."""
    return _holds(chosen, row) or (row.agent is not None and chosen.matcher.found_in(row.agent))


async def _stamps_of(library: Library, ids: set[str]) -> tuple[RowVersion, ...]:
    """The memories of these ids."""
    stamps: list[RowVersion] = []

    def see(row: Row) -> None:
        if row.id in ids:
            stamps.append(library.memory.stamp_of(row))

    await library.memory.scan(see)
    return tuple(stamps)


def _noted(note: Path) -> set[str]:
    """The databases that an earlier run left to be written anew, by their names in the note."""
    try:
        read = json.loads(read_bytes(note) or b"[]")
    except (ValueError, InspectorError):
        return set()
    return {name for name in read if isinstance(name, str)} if isinstance(read, list) else set()


def _name_of(path: Path) -> str:
    return hashlib.sha256(os.fsencode(os.path.realpath(path))).hexdigest()
