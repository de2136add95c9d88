"""Replacing a file whole, and only while it is what was read."""

from __future__ import annotations

import fcntl
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from zeroclaw_tui.config.whole_file import (
    FULL,
    MAKE_ROOM,
    failures_told,
    keep_looks,
    make_folder,
    put_new,
    sync_folder,
    unfinished_file,
    write_all,
)
from zeroclaw_tui.memory.errors import DiskFull, Refused, Unreadable

Answer = TypeVar("Answer")
_TRIES = 20


class Rewritten(Exception):
    """The file is no longer what was read; nothing was written."""


def read_bytes(path: Path) -> bytes | None:
    """What a file holds; None when there is none. Raises Unreadable."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise Unreadable(f"{path} is no regular file.", hint="Move it out of the way.")
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Unreadable(f"{path} cannot be read: {error.strerror}.", hint="Check its permissions.") from error


def replace_bytes(
    path: Path, expected: bytes | None, data: bytes | None, *, mode: int | None = None, mtime_ns: int | None = None
) -> None:
    """Put `data` in place of `expected` in one step; None stands for no file.

    Links are followed, so that a link stays one; mode and owner are kept. A new file has `mode`, else 0600, and folders
    that are missing are made 0700. `mtime_ns` is when it shall seem to be last changed, in nanoseconds since 1970.
    Raises Rewritten when the file holds anything but `expected`, and Refused when it cannot be written.
    """
    target = Path(os.path.realpath(path))
    try:
        if data is None:
            with _alone_in(target.parent):
                if read_bytes(target) != expected:
                    raise Rewritten
                target.unlink(missing_ok=True)
        else:
            make_folder(target.parent, synced=False)
            with _written_beside(target, data, mode, mtime_ns) as beside, _alone_in(target.parent):
                if read_bytes(target) != expected:
                    raise Rewritten
                _put(beside, target, is_new=expected is None)
    except OSError as error:
        if error.errno in FULL:
            raise DiskFull(
                f"{path} cannot be written: the disk is full.", hint=f"Nothing was changed in it. {MAKE_ROOM}"
            ) from error
        raise Refused(
            f"{path} cannot be written: {error.strerror}.", hint="Nothing was changed in it.", title="Not written"
        ) from error
    # It is done by now: as a failure it would be taken for not done.
    with suppress(OSError):
        sync_folder(target.parent)


def write_whole(path: Path, data: bytes) -> None:
    """Put `data` in a file whatever it holds, in one step; links, mode and owner stay as `replace_bytes` leaves them.

    A new file is 0600. Raises Unreadable. Blocks.
    """
    target = Path(os.path.realpath(path.expanduser()))
    with failures_told(target):
        with _written_beside(target, data) as beside:
            beside.replace(target)
        sync_folder(target.parent)


def until_it_holds(attempt: Callable[[], Answer], path: Path) -> Answer:
    """Do something anew for as long as the file is rewritten under it. Raises Refused when that never ends."""
    for _ in range(_TRIES):
        with suppress(Rewritten):
            return attempt()
    raise Refused(f"{path} is being rewritten all the time.", hint="Try again when the agent rests.")


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """While no other of this program replaces a file of that folder; ZeroClaw itself asks for no lock."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        # Some network file systems lock no folder: comparing right before replacing is what is left there.
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def _written_beside(target: Path, data: bytes, mode: int | None = None, mtime_ns: int | None = None) -> Iterator[Path]:
    with unfinished_file(target) as (beside, handle):
        write_all(handle, data)
        if target.exists():
            keep_looks(handle, target)
        elif mode is not None:
            os.fchmod(handle, mode)
        if mtime_ns is not None:
            os.utime(beside, ns=(mtime_ns, mtime_ns))
        os.fsync(handle)
        yield beside


def _put(beside: Path, target: Path, *, is_new: bool) -> None:
    if not is_new:
        beside.replace(target)
        return
    try:
        put_new(beside, target)
    except FileExistsError as error:
        raise Rewritten from error
