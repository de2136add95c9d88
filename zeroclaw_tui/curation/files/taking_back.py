"""Putting files beside a store back as they were, when the change that touched them is taken back."""

from __future__ import annotations

import asyncio
import hashlib
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from zeroclaw_tui.config.document.replacing import make_folder
from zeroclaw_tui.curation.files.doing import remove_empty_folders, sync_done
from zeroclaw_tui.curation.files.rows import (
    MADE,
    MOVED_FROM,
    MOVED_TO,
    STAYS,
    bytes_now,
    check_size,
    digest_now,
    file_row,
    named_row,
    number_of,
    path_in,
    present_row,
)
from zeroclaw_tui.curation.trash.file import file_path, file_state
from zeroclaw_tui.files.disk import Rewritten, replace_bytes, until_it_holds
from zeroclaw_tui.memory.change import FILE, Batches, Clash, Clashes, ClashFound, Keep, RowChange, StoredRow
from zeroclaw_tui.memory.errors import Refused

_PRIVATE = 0o600
"""The mode of a file that was gone: nobody knows who was meant to read it."""


@dataclass(frozen=True, slots=True)
class _Beside:
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
class FilesBeside:
    """The files among some changes as they were found. Their bytes are read when each is put back."""

    changes: Batches
    looked: Mapping[int | None, _Beside]
    sources: Mapping[tuple[Path, Path], _Beside]
    """By source and target, the halves of moves that say what went."""


async def look_at_files(changes: Batches, clash: Clash) -> FilesBeside:
    """The files among the changes, the newest change first. With "refuse" raises Clashes where one changed since."""
    found = await asyncio.to_thread(_looked_at, changes)
    clashing = [_clash(file) for file in found.looked.values() if file.clashes]
    if clashing and clash == "refuse":
        raise Clashes(clashing[:100], len(clashing))
    return found


async def put_files_back(files: FilesBeside, keep: Keep, clash: Clash) -> list[str]:
    """Give the files what they held before, their times too, and those that were moved their names.

    Gives sentences about those that came back under another name, or not at all. What was written since the look stays:
    with "refuse" it raises Clashes, or where it was noticed last of all, the old bytes come back beside it. With
    "overwrite" it is kept, and replaced.
    """
    return await asyncio.to_thread(_all_put_back, files, keep, clash)


def _looked_at(changes: Batches) -> FilesBeside:
    held: dict[Path, str | None] = {}
    looked: dict[int | None, _Beside] = {}

    def now(path: Path) -> str | None:
        return held[path] if path in held else digest_now(path)

    for batch in changes():
        for change in batch:
            if change.row.table != FILE:
                continue
            path = Path(file_path(change.row))
            file = _Beside(
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
    return FilesBeside(changes, looked, sources)


def _all_put_back(files: FilesBeside, keep: Keep, clash: Clash) -> list[str]:
    notes: list[str] = []
    done: set[int | None] = set()
    for batch in files.changes():
        for change in batch:
            file = files.looked.get(change.number)
            if file is None or change.number in done:
                continue
            source = path_in(change.after, MOVED_FROM)
            if source is None:
                notes += _put_back(file, change, keep, clash)
                continue
            half = files.sources.get((source, file.path))
            if half is not None:
                done.add(half.number)
            notes += _Moved(file, half, source, change).put_back(keep, clash)
    return notes


class _Moved:
    """A file that was moved from `source`; `half` is the change that says so there."""

    def __init__(self, file: _Beside, half: _Beside | None, source: Path, change: RowChange) -> None:
        self._file, self._half, self._source, self._change = file, half, source, change

    def put_back(self, keep: Keep, clash: Clash) -> list[str]:
        """Rename it back."""
        file, source = self._file, self._source
        if file.now is None:
            is_back = self._half is not None and self._half.now == file.after
            return [] if is_back else [f"{file.path} is gone, so {source.name} could not come back."]
        now = digest_now(file.path)
        if now != file.now and clash == "refuse":
            raise Clashes([_clash(replace(file, now=now))], 1)
        if now is None:
            return [f"{file.path} is gone, so {source.name} could not come back."]
        place, in_place, notes = source, None, list[str]()
        if os.path.lexists(source) and digest_now(source) != now:
            if clash == "refuse":
                raise Clashes([_clash(replace(self._half or file, path=source, now=digest_now(source)))], 1)
            if clash == "rename":
                place = _free_name(source)
                notes.append(f"{source} is another file now; the one that was moved is beside it in {place.name}.")
            else:
                in_place = present_row(source)
        self._rename(keep, now, place, in_place)
        if now != file.after:
            notes.append(f"{file.path} changed since it was moved; it came back to {place} as it is now.")
        return notes

    def _rename(self, keep: Keep, now: str, place: Path, in_place: StoredRow | None) -> None:
        target, kept = self._file.path, self._change.after
        facts = (
            {} if kept is None else {name: kept.values[name] for name in ("mode", "mtime_ns") if name in kept.values}
        )
        number = None if self._half is None else self._half.number
        keep(
            [
                RowChange(
                    named_row(target, now, **facts, **{MOVED_TO: str(place)}), None, reverses=self._change.number
                ),
                RowChange(in_place, named_row(place, now, **facts, **{MOVED_FROM: str(target)}), reverses=number),
            ]
        )
        try:
            if now == self._file.after:
                _give_back_looks(target, kept)
            make_folder(place.parent, synced=False)
            target.replace(place)
        except OSError as error:
            raise Refused(
                f"{target} cannot be moved back to {place.parent}: {error.strerror}.",
                hint="Check the permissions of its folder.",
                title="Not permitted",
            ) from error
        sync_done(place.parent, target.parent)
        _unmake(target, kept)


def _put_back(file: _Beside, change: RowChange, keep: Keep, clash: Clash) -> list[str]:
    path, before = file.path, change.before
    if file.before == file.now:
        return []
    if file.stays and file.now != file.after:
        return [f"{path} was written by another program since and stays as it is."]
    data = None if before is None else before.values.get("bytes")
    if before is not None and not isinstance(data, bytes):
        return [f"{path} could not come back, since nothing is known of where it was moved."]
    wanted = data if isinstance(data, bytes) else None
    if file.clashes and clash == "rename" and wanted is not None:
        return [_put_beside(file, change, wanted, keep)]
    if clash == "overwrite":
        until_it_holds(lambda: _replace(change, path, _small_bytes(path), wanted, keep), path)
        return []
    present = _small_bytes(path)
    if _digest(present) != file.now:
        if clash == "refuse":
            raise Clashes([_clash(replace(file, now=_digest(present)))], 1)
        return [_left(file, change, wanted, keep)]
    try:
        _replace(change, path, present, wanted, keep)
    except Rewritten:
        # It is kept as taken back already, so the old bytes have to be somewhere.
        return [_left(file, change, wanted, keep)]
    return []


def _left(file: _Beside, change: RowChange, wanted: bytes | None, keep: Keep) -> str:
    if wanted is None:
        return f"{file.path} changed since and stays as it is."
    return _put_beside(file, change, wanted, keep)


def _replace(change: RowChange, path: Path, present: bytes | None, wanted: bytes | None, keep: Keep) -> None:
    held = None if present is None else file_row(path, present)
    restored = None if wanted is None else named_row(path, _digest(wanted) or "")
    keep([RowChange(held, restored, reverses=change.number)])
    mode, changed = number_of(change.before, "mode"), number_of(change.before, "mtime_ns")
    replace_bytes(path, present, wanted, mode=_PRIVATE if mode is None else mode, mtime_ns=changed)
    if wanted is None:
        _unmake(path, change.after)


def _put_beside(file: _Beside, change: RowChange, data: bytes, keep: Keep) -> str:
    def attempt() -> str:
        path = _free_name(file.path)
        keep([RowChange(None, named_row(path, _digest(data) or ""), reverses=change.number)])
        replace_bytes(path, None, data, mode=_mode(file.path))
        return f"{file.path} changed since; what it held is beside it in {path.name}."

    return until_it_holds(attempt, file.path)


def _give_back_looks(path: Path, kept: StoredRow | None) -> None:
    mode, changed = number_of(kept, "mode"), number_of(kept, "mtime_ns")
    if mode is not None and mode != _mode(path):
        path.chmod(mode)
    if changed is not None and changed != path.stat().st_mtime_ns:
        os.utime(path, ns=(changed, changed))


def _unmake(path: Path, kept: StoredRow | None) -> None:
    made = path_in(kept, MADE)
    if made is not None:
        remove_empty_folders(path.parent, made)


def _small_bytes(path: Path) -> bytes | None:
    """What a file holds that is about to be kept. Raises Refused for one that is too large."""
    if path.exists():
        check_size(path, path.stat().st_size)
    return bytes_now(path)


def _digest(data: bytes | None) -> str | None:
    return None if data is None else hashlib.sha256(data).hexdigest()


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode) if path.exists() else _PRIVATE


def _state(row: StoredRow | None) -> str | None:
    return None if row is None else file_state(row)


def _clash(file: _Beside) -> ClashFound:
    named = StoredRow(str(file.path), {"path": str(file.path), "key": str(file.path)}, table=FILE)
    if file.now is None:
        return ClashFound(named, None, "gone")
    return ClashFound(named, named_row(file.path, file.now, key=str(file.path)), "changed")


def _free_name(path: Path) -> Path:
    number = 1
    while (free := path.with_name(f"{path.name}.restored-{number}")).exists():
        number += 1
    return free
