"""Files that lie beside a store: kept in the trash before they go or change, and put back."""

from __future__ import annotations

import asyncio
import hashlib
import os
import stat
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from zeroclaw_tui.curation.external import canonical, link_target
from zeroclaw_tui.curation.journal_file import MADE, MOVED_FROM, MOVED_TO, STAYS, file_path, file_state
from zeroclaw_tui.files.database import (
    iter_raw_chunks,
)
from zeroclaw_tui.files.disk import (
    FULL,
    MAKE_ROOM,
    FileChangedError,
    make_folder,
    read_bytes,
    replace_bytes,
    retry_if_changed,
    sync_folder,
)
from zeroclaw_tui.memory.change import (
    FILE,
    Batches,
    Conflicts,
    Journal,
    OnConflict,
    Row,
    RowChange,
    RowConflict,
    Value,
)
from zeroclaw_tui.memory.errors import Refused, Unreadable

LARGEST = 200_000_000
"""Files of more bytes are neither kept nor read where all of one has to be in memory at once."""

_PRIVATE = 0o600
"""The mode of a file that was gone: nobody knows who was meant to read it."""

Held = TypeVar("Held")


@dataclass(frozen=True, slots=True)
class FileStatus:
    """A regular file from outside: enough to tell whether it is still the same."""

    device: int
    inode: int
    size: int
    mode: int
    changed: int

    def facts(self) -> dict[str, Value]:
        """What a row says of it besides its bytes."""
        return {"size": self.size, "mode": self.mode, "mtime_ns": self.changed}


def file_status(path: Path) -> FileStatus | None:
    """How a file looks, None when there is none. Raises Refused for what is not a regular file, or cannot be read."""
    try:
        found = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise Refused(f"{path} cannot be read: {error.strerror}.", hint="Check the permissions.") from error
    if not stat.S_ISREG(found.st_mode):
        what = "a link" if stat.S_ISLNK(found.st_mode) else "not a regular file"
        raise Refused(f"{path} is {what} and was left alone.", hint="Move or remove it by hand.")
    return FileStatus(found.st_dev, found.st_ino, found.st_size, stat.S_IMODE(found.st_mode), found.st_mtime_ns)


def file_digest(path: Path) -> str | None:
    """The SHA-256 in hex of what a file holds, None when there is none; reads it in parts. Raises Unreadable."""
    digest = hashlib.sha256()
    try:
        for part in iter_raw_chunks(path):
            digest.update(part)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _unreadable(path, error) from error
    return digest.hexdigest()


def file_row(path: Path, data: bytes, **facts: Value) -> Row:
    """A file as the trash keeps it."""
    return Row(str(path), {"path": str(path), "bytes": data, **facts}, table=FILE)


def named_row(path: Path, digest: str, **facts: Value) -> Row:
    """A file of which only the digest is kept, since its bytes lie somewhere."""
    return Row(str(path), {"path": str(path), "sha256": digest, **facts}, table=FILE)


def present_row(path: Path, **facts: Value) -> Row | None:
    """A file as it is now, whole; None when there is none. Raises Refused for one too large to be kept, Unreadable."""
    try:
        found = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise _unreadable(path, error) from error
    check_size(path, found.st_size)
    data = read_bytes(path)
    if data is None:
        return None
    return file_row(path, data, mode=stat.S_IMODE(found.st_mode), mtime_ns=found.st_mtime_ns, **facts)


def check_size(path: Path, size: int) -> None:
    """Raises Refused for a file too large to be kept."""
    if size > LARGEST:
        raise Refused(
            f"{path} is {size / 1e6:,.0f} MB, too large for undo, so it was left alone.",
            hint="Remove it by hand where it is not needed.",
            title="Too large",
        )


def number_of(row: Row | None, name: str) -> int | None:
    """A number a row holds, None where it has none of that name."""
    value = None if row is None else row.values.get(name)
    return value if isinstance(value, int) else None


def path_in(row: Row | None, name: str) -> Path | None:
    """A path a row holds, None where it has none of that name."""
    value = None if row is None else row.values.get(name)
    return Path(value) if isinstance(value, str) else None


def _unreadable(path: Path, error: OSError) -> Unreadable:
    return Unreadable(f"{path} cannot be read: {error.strerror}.", hint="Check its permissions.")


class FileVanished(Exception):
    """The file has gone, or is no longer what was looked at; nothing was done."""


def move_file(source: Path, target: Path, journal: Journal) -> None:
    """Rename a file to a name that is free; its bytes are not kept, since it only lies elsewhere.

    An undo renames it back, its modification time as it was. Raises FileVanished, FileExistsError when something has
    the name by now, Refused when it cannot be moved (with the reason), and what `keep` raises.
    """
    source, target = canonical(source), canonical(target)
    looks = _looks(source)
    digest = _read(file_digest, source)
    _check_free(target)
    made = _made(target)
    facts = looks.facts()
    journal.record(
        [
            RowChange(named_row(source, digest, **facts, **{MOVED_TO: str(target)}), None),
            RowChange(None, named_row(target, digest, **facts, **{MOVED_FROM: str(source)}, **made)),
        ]
    )
    _check_same(source, looks)
    try:
        make_folder(target.parent)
    except OSError as error:
        raise _refused(source, f"cannot be moved because there is no directory {target.parent}", error) from error
    try:
        _check_free(target)
        source.rename(target)
    except FileExistsError:
        raise
    except FileNotFoundError as error:
        raise FileVanished from error
    except OSError as error:
        raise _refused(source, f"cannot be moved to {target.parent}", error) from error
    sync_done(source.parent, target.parent)


def remove_file(path: Path, journal: Journal) -> None:
    """Remove a file whose bytes, mode and modification time are kept, so that an undo restores it as it was.

    Raises FileVanished, Refused (too large to be kept, not readable, not permitted), and what `keep` raises.
    """
    path = canonical(path)
    looks = _looks(path)
    check_size(path, looks.size)
    data = _read(read_bytes, path)
    journal.record([RowChange(file_row(path, data, **looks.facts()), None)])
    _check_same(path, looks)
    try:
        path.unlink()
    except FileNotFoundError as error:
        raise FileVanished from error
    except OSError as error:
        raise _refused(path, "cannot be removed", error) from error
    sync_done(path.parent)


def write_file(
    path: Path, expected: bytes | None, data: bytes, journal: Journal, *, stays_if_changed: bool = False
) -> None:
    """Put `data` in place of `expected` (None: no file) in one step; an undo puts back what was there.

    With `stays_if_changed` an undo leaves the file as it is where another program wrote it since, and says so, in place
    of refusing. Raises FileVanished when it holds anything else, Refused, and what `keep` raises.
    """
    path = link_target(path)
    looks = file_status(path)
    if read_bytes(path) != expected:
        raise FileVanished
    before = None if expected is None or looks is None else file_row(path, expected, **looks.facts())
    facts: dict[str, Value] = {**_made(path), **({STAYS: 1} if stays_if_changed else {})}
    journal.record([RowChange(before, named_row(path, _digest(data), **facts))])
    try:
        replace_bytes(path, expected, data)
    except FileChangedError as error:
        raise FileVanished from error


def sync_done(*folders: Path) -> None:
    """Have on disk what was done in these folders, as far as they allow it."""
    for folder in set(folders):
        # It is done by now, and kept: as a failure it would be taken for not done, and let go of.
        with suppress(OSError):
            sync_folder(folder)


def remove_empty_folders(lowest: Path, highest: Path) -> None:
    """Take away folders that were made for a file, from its own up to the topmost made, where nothing else is in."""
    folder = lowest
    with suppress(OSError):
        while folder == highest or folder.is_relative_to(highest):
            folder.rmdir()
            folder = folder.parent


def _looks(path: Path) -> FileStatus:
    found = file_status(path)
    if found is None:
        raise FileVanished
    return found


def _check_same(path: Path, looks: FileStatus) -> None:
    """Right before it is done: whoever wrote it meanwhile keeps it."""
    if _looks(path) != looks:
        raise FileVanished


def _check_free(target: Path) -> None:
    if os.path.lexists(target):
        raise FileExistsError(f"{target} exists by now.")


def _read(read: Callable[[Path], Held | None], path: Path) -> Held:
    try:
        held = read(path)
    except Unreadable as error:
        # It costs this file; only a trash that cannot be written ends everything.
        raise Refused(error.message, hint=error.hint, title=error.title) from error
    if held is None:
        raise FileVanished
    return held


def _made(path: Path) -> dict[str, Value]:
    """What a row says of the topmost folder that writing a file would make; nothing where its folder exists."""
    missing = [folder for folder in path.parents if not folder.exists()]
    return {MADE: str(missing[-1])} if missing else {}


def _refused(path: Path, what: str, error: OSError) -> Refused:
    if error.errno in FULL:
        return Refused(f"{path} {what}: the disk is full.", hint=MAKE_ROOM, title="Disk full")
    return Refused(
        f"{path} {what}: {error.strerror}.", hint="Check the permissions of its directory.", title="Not permitted"
    )


@dataclass(frozen=True, slots=True)
class _FileChange:
    """A kept change of a file, by digests: what it held before and after it, and what it holds now (None: no file).

    `stays` says that it is left alone where another program wrote it.
    """

    number: int | None
    path: Path
    before: str | None
    after: str | None
    now: str | None
    clashes: bool = False
    stays: bool = False
    moved_to: Path | None = None


@dataclass(frozen=True, slots=True)
class FileChanges:
    """The files among some changes as they were found. Their bytes are read when each is put back."""

    changes: Batches
    looked: Mapping[int | None, _FileChange]
    sources: Mapping[tuple[Path, Path], _FileChange]
    """By source and target, the halves of moves that say what went."""

    @property
    def clashes(self) -> list[RowConflict]:
        """Those that changed since."""
        return [_clash(file) for file in self.looked.values() if file.clashes]

    @property
    def staying(self) -> list[str]:
        """A sentence for each that stays as another program wrote it."""
        return [
            _stays(file) for file in self.looked.values() if file.stays and file.now not in (file.before, file.after)
        ]


async def inspect_files(changes: Batches) -> FileChanges:
    """The files among the changes, the newest change first."""
    return await asyncio.to_thread(_looked_at, changes)


async def restore_files(files: FileChanges, journal: Journal, on_conflict: OnConflict) -> list[str]:
    """Give the files what they held before, their times too, and those that were moved their names.

    Gives sentences about those that came back under another name, or not at all. What was written since the look stays:
    with "refuse" it raises Conflicts, or where it was noticed last of all, the old bytes come back beside it. With
    "overwrite" it is kept, and replaced.
    """
    return await asyncio.to_thread(_all_put_back, files, journal, on_conflict)


def _looked_at(changes: Batches) -> FileChanges:
    held: dict[Path, str | None] = {}
    looked: dict[int | None, _FileChange] = {}

    def now(path: Path) -> str | None:
        return held[path] if path in held else file_digest(path)

    for batch in changes():
        for change in batch:
            if change.row.table != FILE:
                continue
            path = Path(file_path(change.row))
            file = _FileChange(
                change.number, path, _state(change.before), _state(change.after), now(path),
                stays=number_of(change.after, STAYS) is not None, moved_to=path_in(change.before, MOVED_TO),
            )  # fmt: skip
            source = path_in(change.after, MOVED_FROM)
            is_lost = source is not None and file.now is None and now(source) is None
            is_other = file.now not in (file.after, file.before)
            looked[change.number] = replace(file, clashes=is_lost or (is_other and not file.stays))
            # An earlier change of the same file is taken back from what this one leaves.
            held[path] = file.before
    sources = {(file.path, file.moved_to): file for file in looked.values() if file.moved_to is not None}
    return FileChanges(changes, looked, sources)


def _all_put_back(files: FileChanges, journal: Journal, on_conflict: OnConflict) -> list[str]:
    notes: list[str] = []
    done: set[int | None] = set()
    for batch in files.changes():
        for change in batch:
            file = files.looked.get(change.number)
            if file is None or change.number in done:
                continue
            source = path_in(change.after, MOVED_FROM)
            if source is None:
                notes += _put_back(file, change, journal, on_conflict)
                continue
            half = files.sources.get((source, file.path))
            if half is not None:
                done.add(half.number)
            notes += _move_back(file, half, source, change, journal, on_conflict)
    return notes


def _move_back(
    file: _FileChange,
    half: _FileChange | None,
    source: Path,
    change: RowChange,
    journal: Journal,
    on_conflict: OnConflict,
) -> list[str]:
    """Rename a file that was moved from `source`; `half` is the change that says so there."""
    gone = [f"{file.path} is missing, so {source.name} could not be restored."]
    if file.now is None:
        return [] if half is not None and half.now == file.after else gone
    now = file_digest(file.path)
    if now != file.now and on_conflict == "refuse":
        raise Conflicts([_clash(replace(file, now=now))], 1)
    if now is None:
        return gone
    place, in_place, notes = source, None, list[str]()
    if os.path.lexists(source) and file_digest(source) != now:
        if on_conflict == "refuse":
            raise Conflicts([_clash(replace(half or file, path=source, now=file_digest(source)))], 1)
        if on_conflict == "rename":
            place = _free_name(source)
            notes.append(f"{source} is another file now. The moved file is next to it as {place.name}.")
        else:
            in_place = present_row(source)
    kept = {} if change.after is None else change.after.values
    facts = {name: kept[name] for name in ("mode", "mtime_ns") if name in kept}
    away = named_row(file.path, now, **facts, **{MOVED_TO: str(place)})
    back = named_row(place, now, **facts, **{MOVED_FROM: str(file.path)}, **_made(place))
    number = None if half is None else half.number
    journal.record([RowChange(away, None, reverses=change.number), RowChange(in_place, back, reverses=number)])
    try:
        if now == file.after:
            _give_back_looks(file.path, change.after)
        make_folder(place.parent)
        file.path.replace(place)
    except OSError as error:
        raise Refused(
            f"{file.path} cannot be moved back to {place.parent}: {error.strerror}.",
            hint="Check the permissions of its directory.",
            title="Not permitted",
        ) from error
    sync_done(place.parent, file.path.parent)
    _unmake(file.path, change.after)
    if now != file.after:
        notes.append(f"{file.path} changed since it was moved; it came back to {place} as it is now.")
    return notes


def _put_back(file: _FileChange, change: RowChange, journal: Journal, on_conflict: OnConflict) -> list[str]:
    path, before = file.path, change.before
    if file.before == file.now:
        return []
    if file.stays and file.now != file.after:
        return [_stays(file)]
    data = None if before is None else before.values.get("bytes")
    if before is not None and not isinstance(data, bytes):
        return [f"{path} could not be restored because the place it was moved to is not known."]
    wanted = data if isinstance(data, bytes) else None
    if file.clashes and on_conflict == "rename" and wanted is not None:
        return [_put_beside(file, change, wanted, journal)]
    if on_conflict == "overwrite":
        retry_if_changed(lambda: _replace(change, path, present_row(path), wanted, journal), path)
        return []
    present = present_row(path)
    if _state(present) != file.now:
        if on_conflict == "refuse":
            raise Conflicts([_clash(replace(file, now=_state(present)))], 1)
        return [_left(file, change, wanted, journal)]
    try:
        _replace(change, path, present, wanted, journal)
    except FileChangedError:
        # It is kept as taken back already, so the old bytes have to be somewhere.
        return [_left(file, change, wanted, journal)]
    return []


def _stays(file: _FileChange) -> str:
    return f"{file.path} was written by another program since and stays as it is."


def _left(file: _FileChange, change: RowChange, wanted: bytes | None, journal: Journal) -> str:
    if wanted is None:
        return f"{file.path} changed since and stays as it is."
    return _put_beside(file, change, wanted, journal)


def _replace(change: RowChange, path: Path, present: Row | None, wanted: bytes | None, journal: Journal) -> None:
    restored = None if wanted is None else named_row(path, _digest(wanted), **_made(path))
    journal.record([RowChange(present, restored, reverses=change.number)])
    mode, changed = number_of(change.before, "mode"), number_of(change.before, "mtime_ns")
    held = None if present is None else present.values["bytes"]
    assert held is None or isinstance(held, bytes)
    replace_bytes(path, held, wanted, mode=_PRIVATE if mode is None else mode, mtime_ns=changed)
    if wanted is None:
        _unmake(path, change.after)


def _put_beside(file: _FileChange, change: RowChange, data: bytes, journal: Journal) -> str:
    def attempt() -> str:
        path = _free_name(file.path)
        journal.record([RowChange(None, named_row(path, _digest(data)), reverses=change.number)])
        replace_bytes(path, None, data, mode=_mode(file.path))
        return f"{file.path} changed in the meantime. Its old content is in {path.name} next to it."

    return retry_if_changed(attempt, file.path)


def _give_back_looks(path: Path, kept: Row | None) -> None:
    mode, changed = number_of(kept, "mode"), number_of(kept, "mtime_ns")
    if mode is not None and mode != _mode(path):
        path.chmod(mode)
    if changed is not None and changed != path.stat().st_mtime_ns:
        os.utime(path, ns=(changed, changed))


def _unmake(path: Path, kept: Row | None) -> None:
    made = path_in(kept, MADE)
    if made is not None:
        remove_empty_folders(path.parent, made)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode) if path.exists() else _PRIVATE


def _state(row: Row | None) -> str | None:
    return None if row is None else file_state(row)


def _clash(file: _FileChange) -> RowConflict:
    named = Row(str(file.path), {"path": str(file.path), "key": str(file.path)}, table=FILE)
    if file.now is None:
        return RowConflict(named, None, "deleted")
    return RowConflict(named, named_row(file.path, file.now, key=str(file.path)), "changed")


def _free_name(path: Path) -> Path:
    number = 1
    while (free := path.with_name(f"{path.name}.restored-{number}")).exists():
        number += 1
    return free
