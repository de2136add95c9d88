"""Moving, removing and writing files beside a store: kept in the trash first, then done in one step."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from zeroclaw_tui.config.document.replacing import FULL, MAKE_ROOM, make_folder, sync_folder
from zeroclaw_tui.curation.files.rows import (
    MADE,
    MOVED_FROM,
    MOVED_TO,
    STAYS,
    Looks,
    bytes_now,
    canonical,
    check_size,
    digest_now,
    file_row,
    led_to,
    looks_of,
    missing_folder,
    named_row,
)
from zeroclaw_tui.files.disk import Rewritten, replace_bytes
from zeroclaw_tui.memory.change import Keep, RowChange, Value
from zeroclaw_tui.memory.errors import Refused, Unreadable

Held = TypeVar("Held")


class FileVanished(Exception):
    """The file has gone, or is no longer what was looked at; nothing was done."""


def move_file(source: Path, target: Path, keep: Keep) -> None:
    """Rename a file to a name that is free; its bytes are not kept, since it only lies elsewhere.

    An undo renames it back, its modification time as it was. Raises FileVanished, FileExistsError when something has
    the name by now, Refused when it cannot be moved (with the reason), and what `keep` raises.
    """
    source, target = canonical(source), canonical(target)
    looks = _looks(source)
    digest = _read(digest_now, source)
    _check_free(target)
    made = _made(target)
    facts = looks.facts()
    keep(
        [
            RowChange(named_row(source, digest, **facts, **{MOVED_TO: str(target)}), None),
            RowChange(None, named_row(target, digest, **facts, **{MOVED_FROM: str(source)}, **made)),
        ]
    )
    _check_same(source, looks)
    try:
        make_folder(target.parent, synced=False)
    except OSError as error:
        raise _refused(source, f"cannot be moved, since there is no folder {target.parent}", error) from error
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


def remove_file(path: Path, keep: Keep) -> None:
    """Remove a file whose bytes, mode and modification time are kept, so that an undo brings it back as it was.

    Raises FileVanished, Refused (too large to be kept, not readable, not permitted), and what `keep` raises.
    """
    path = canonical(path)
    looks = _looks(path)
    check_size(path, looks.size)
    data = _read(bytes_now, path)
    keep([RowChange(file_row(path, data, **looks.facts()), None)])
    _check_same(path, looks)
    try:
        path.unlink()
    except FileNotFoundError as error:
        raise FileVanished from error
    except OSError as error:
        raise _refused(path, "cannot be removed", error) from error
    sync_done(path.parent)


def write_file(path: Path, expected: bytes | None, data: bytes, keep: Keep, *, stays_if_changed: bool = False) -> None:
    """Put `data` in place of `expected` (None: no file) in one step; an undo puts back what was there.

    With `stays_if_changed` an undo leaves the file as it is where another program wrote it since, and says so, in place
    of refusing. Raises FileVanished when it holds anything else, Refused, and what `keep` raises.
    """
    path = led_to(path)
    looks = looks_of(path)
    if bytes_now(path) != expected:
        raise FileVanished
    before = None if expected is None or looks is None else file_row(path, expected, **looks.facts())
    facts: dict[str, Value] = {**_made(path), **({STAYS: 1} if stays_if_changed else {})}
    keep([RowChange(before, named_row(path, hashlib.sha256(data).hexdigest(), **facts))])
    try:
        replace_bytes(path, expected, data)
    except Rewritten as error:
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


def _looks(path: Path) -> Looks:
    found = looks_of(path)
    if found is None:
        raise FileVanished
    return found


def _check_same(path: Path, looks: Looks) -> None:
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
    folder = missing_folder(path)
    return {} if folder is None else {MADE: str(folder)}


def _refused(path: Path, what: str, error: OSError) -> Refused:
    if error.errno in FULL:
        return Refused(f"{path} {what}: the disk is full.", hint=MAKE_ROOM, title="Disk full")
    return Refused(
        f"{path} {what}: {error.strerror}.", hint="Check the permissions of its folder.", title="Not permitted"
    )
