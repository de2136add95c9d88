"""Putting files beside a store back as they were, when the change that touched them is taken back."""

from __future__ import annotations

import asyncio
import hashlib
import stat
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from zeroclaw_tui.backends.markdown.disk import Rewritten, replace_bytes, until_it_holds
from zeroclaw_tui.curation.trash.rows import file_path, file_state
from zeroclaw_tui.memory.change import FILE, Batches, Clash, Clashes, ClashFound, Keep, RowChange, StoredRow
from zeroclaw_tui.memory.errors import Unreadable

_PRIVATE = 0o600
"""The mode of a file that was gone: nobody knows who was meant to read it."""


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
    """Give the files the bytes they had before. Gives sentences about those that came back under another name.

    What was written since the look stays: with "refuse" it raises Clashes, or where it was noticed last of all, the old
    bytes come back beside it. With "overwrite" it is kept, and replaced.
    """
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
    before, path = _bytes_before(file.change), file.path
    if before == file.now:
        return []
    if file.clashes and clash == "rename" and before is not None:
        return [_put_beside(file, before, keep)]
    if clash == "refuse" and (now := bytes_now(path)) != file.now:
        raise Clashes([_clash(replace(file, now=now))], 1)
    if clash == "overwrite":
        until_it_holds(lambda: _replace(file, bytes_now(path), before, keep), path)
        return []
    try:
        _replace(file, file.now, before, keep)
    except Rewritten:
        # It is kept as taken back already, so the old bytes have to be somewhere.
        return [_put_beside(file, before, keep) if before is not None else f"{path} changed since and stays as it is."]
    return []


def _replace(file: _Beside, now: bytes | None, before: bytes | None, keep: Keep) -> None:
    present, restored = (None if data is None else file_row(file.path, data) for data in (now, before))
    keep([RowChange(present, restored, reverses=file.change.number)])
    replace_bytes(file.path, now, before, mode=_PRIVATE)


def _put_beside(file: _Beside, data: bytes, keep: Keep) -> str:
    def attempt() -> str:
        path = _free_name(file.path)
        keep([RowChange(None, file_row(path, data), reverses=file.change.number)])
        replace_bytes(path, None, data, mode=_mode(file.path))
        return f"{file.path} changed since; what it held is beside it in {path.name}."

    return until_it_holds(attempt, file.path)


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode) if path.exists() else _PRIVATE


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
