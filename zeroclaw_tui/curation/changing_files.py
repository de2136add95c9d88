"""Putting files beside a store back as they were, when the change that touched them is taken back."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from zeroclaw_tui.curation.trash_rows import file_path, file_state
from zeroclaw_tui.memory.change import FILE, Batches, Clash, Clashes, ClashFound, Keep, RowChange, StoredRow
from zeroclaw_tui.memory.errors import Unreadable


@dataclass(frozen=True, slots=True)
class _Beside:
    """A kept change of a file, and what the file holds now; None when there is none."""

    change: RowChange
    path: Path
    now: bytes | None
    clashes: bool


def bytes_now(path: Path) -> bytes | None:
    """What a file holds, None when there is none. Raises Unreadable."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Unreadable(f"{path} cannot be read: {error.strerror}.", hint="Check its permissions.") from error


def file_row(path: Path, data: bytes) -> StoredRow:
    """A file as the trash keeps it."""
    return StoredRow(str(path), {"path": str(path), "bytes": data}, table=FILE)


async def look_at_files(changes: Batches, clash: Clash) -> list[_Beside]:
    """The files among the changes, the newest change first. With "refuse" raises Clashes where one changed since."""
    found = await asyncio.to_thread(_looked_at, changes)
    clashing = [_clash(file) for file in found if file.clashes]
    if clashing and clash == "refuse":
        raise Clashes(clashing[:100], len(clashing))
    return found


async def put_files_back(files: Sequence[_Beside], keep: Keep, clash: Clash) -> list[str]:
    """Give the files the bytes they had before. Gives sentences about those that came back under another name."""
    return await asyncio.to_thread(lambda: [note for file in files for note in _put_back(file, keep, clash)])


def _looked_at(changes: Batches) -> list[_Beside]:
    held: dict[Path, bytes | None] = {}
    found = []
    for batch in changes():
        for change in batch:
            if change.row.table != FILE:
                continue
            path = Path(file_path(change.row))
            now = held[path] if path in held else bytes_now(path)
            state = None if now is None else hashlib.sha256(now).hexdigest()
            found.append(_Beside(change, path, now, state not in (_state(change.after), _state(change.before))))
            # An earlier change of the same file is taken back from what this one leaves.
            held[path] = _bytes_before(change)
    return found


def _put_back(file: _Beside, keep: Keep, clash: Clash) -> list[str]:
    before = _bytes_before(file.change)
    if before == file.now:
        return []
    if file.clashes and clash == "rename" and before is not None:
        path = _free_name(file.path)
        keep([RowChange(None, file_row(path, before), reverses=file.change.number)])
        _write(path, before)
        return [f"{file.path} changed since; what it held is beside it in {path.name}."]
    present = None if file.now is None else file_row(file.path, file.now)
    restored = None if before is None else file_row(file.path, before)
    keep([RowChange(present, restored, reverses=file.change.number)])
    if before is None:
        file.path.unlink(missing_ok=True)
    else:
        _write(file.path, before)
    return []


def _state(row: StoredRow | None) -> str | None:
    return None if row is None else file_state(row)


def _bytes_before(change: RowChange) -> bytes | None:
    data = None if change.before is None else change.before.values.get("bytes")
    return data if isinstance(data, bytes) else None


def _clash(file: _Beside) -> ClashFound:
    wanted = file.change.row
    named = replace(wanted, values={**wanted.values, "key": str(file.path)})
    if file.now is None:
        return ClashFound(named, None, "gone")
    return ClashFound(named, file_row(file.path, file.now), "changed")


def _free_name(path: Path) -> Path:
    number = 1
    while (free := path.with_name(f"{path.name}.restored-{number}")).exists():
        number += 1
    return free


def _write(path: Path, data: bytes) -> None:
    """Replace a file in one step, with the mode it had, so that a crash leaves the old or the new one."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        mode = path.stat().st_mode & 0o7777 if path.exists() else 0o600
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as new:
                os.fchmod(handle, mode)
                new.write(data)
                new.flush()
                os.fsync(handle)
            os.replace(temporary, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise
    except OSError as error:
        raise Unreadable(f"{path} cannot be written: {error.strerror}.", hint="Check its permissions.") from error
