"""Replace files atomically and durably, readable by their owner only.

A temporary file has this program's mark in its name (`.brain.db.zeroclaw-tui-0123456789abcdef.tmp`), and its writer
holds a flock(2) on it: a process that gets the lock knows that the writer has ended, and may delete the file. Before
creating a temporary file, those of killed runs next to it are deleted.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from zeroclaw_tui.memory.errors import DiskFull, InspectorError, Refused, Unreadable

PRIVATE_FILE = 0o600
PRIVATE_FOLDER = 0o700
FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
"""The errors of a full disk and of a used-up quota."""
MAKE_ROOM = "Free space on that disk, for instance by deleting old backups and logs, then try again."
_MARK = ".zeroclaw-tui-"
_TEMP_NAME = rf"\..+{re.escape(_MARK)}[0-9a-f]{{16}}(\.tmp)?"
_MAX_STEM_BYTES = 200  # With the mark, a name stays below the 255 bytes that file systems allow.
_UNSUPPORTED = frozenset({errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP})
"""The errors of a file system without fsync of folders, hard links or locks."""
_ATTEMPTS = 20

Result = TypeVar("Result")


class FileChangedError(Exception):
    """The file has changed since it was read; nothing was written."""


def exists(path: Path) -> bool:
    """Whether a path exists. Raises Unreadable if its folders cannot be entered."""
    return status_of(path) is not None


def is_folder(path: Path) -> bool:
    """Whether a path is a folder or a link to one. Raises Unreadable like `exists`."""
    status = status_of(path)
    return status is not None and stat.S_ISDIR(status.st_mode)


def status_of(path: Path) -> os.stat_result | None:
    """Return the status of a path, None if it does not exist. Raises Unreadable for every other error."""
    try:
        return os.stat(path)
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return None
    except OSError as error:
        hint = "Check the permissions of its folders."
        raise Unreadable(f"{path} cannot be read: {error.strerror}.", hint=hint) from error


def file_size(path: Path) -> int:
    """Return the size in bytes, 0 for a missing file. Raises Unreadable like `exists`."""
    found = status_of(path)
    return 0 if found is None else found.st_size


def file_stamps(paths: Iterable[str | Path]) -> tuple[object, ...]:
    """Return values that differ after each change of some files: path, device, inode, size and time of writing.

    An empty, missing or unreadable file only has its path.
    """
    stamps: dict[str, tuple[int, ...]] = {}
    for path in map(str, paths):
        stamps[path] = ()
        with suppress(OSError):
            if (found := os.stat(path)).st_size:
                stamps[path] = (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)
    return tuple(stamps.items())


def names_in(folder: Path) -> list[str]:
    """List the names in a folder, sorted; none for a missing folder. Raises Unreadable."""
    try:
        return sorted(os.listdir(folder))
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return []
    except OSError as error:
        hint = "Check its permissions."
        raise Unreadable(f"The folder {folder} cannot be read: {error.strerror}.", hint=hint) from error


def read_regular(path: Path) -> bytes:
    """Read a regular file. Raises OSError, with EINVAL for any other kind, whose reading may never end."""
    # O_NONBLOCK, because opening a named pipe would wait for a writer.
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, "it is not a regular file", str(path))
    with os.fdopen(handle, "rb") as file:
        return file.read()


def read_bytes(path: Path) -> bytes | None:
    """Read a file; None if there is none. Raises Unreadable."""
    try:
        return read_regular(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        hint = "Move it to another place." if error.errno == errno.EINVAL else "Check its permissions."
        raise Unreadable(f"{path} cannot be read: {error.strerror}.", hint=hint) from error


@contextmanager
def translate_os_errors(path: Path, *, kind: type[InspectorError] = Unreadable) -> Iterator[None]:
    """Translate every OSError in the block to `kind` or DiskFull, with the path that was not written."""
    try:
        yield
    except OSError as error:
        is_full = error.errno in FULL
        message = f"{path} cannot be written: {'the disk is full' if is_full else error.strerror}."
        hint = f"Nothing was written. {MAKE_ROOM if is_full else 'Check its permissions and those of its folder.'}"
        raise (DiskFull if is_full else kind)(message, hint=hint, title="Not written") from error


@contextmanager
def temporary_folder(prefix: str) -> Iterator[Path]:
    """Create a folder that only this user can enter, and delete it at the end. Raises Unreadable."""
    import tempfile

    # Without a given folder Python tries several, and reports a full disk as "no usable" folder.
    place = Path(os.environ.get("TMPDIR") or "/tmp")
    with translate_os_errors(place):
        folder = tempfile.TemporaryDirectory(prefix=prefix, dir=place)
    with folder as name:
        yield Path(name)


def make_folder(folder: Path) -> None:
    """Create a missing folder and its parents, 0700 and durable. Raises OSError.

    A folder that root creates inside another user's folder is given to that user.
    """
    if folder.is_dir():
        return
    make_folder(folder.parent)
    folder.mkdir(mode=PRIVATE_FOLDER, exist_ok=True)
    _give_to_owner_above(folder)
    with suppress(OSError):
        sync_folder(folder.parent)


def new_file(path: Path) -> int:
    """Create a file, 0600 from the start, and return its descriptor. Raises FileExistsError, OSError.

    A file that root creates inside another user's folder is given to that user.
    """
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, PRIVATE_FILE)
    _give_to_owner_above(path)
    return handle


@contextmanager
def temp_file(target: Path) -> Iterator[tuple[Path, int]]:
    """Create a marked, locked file next to `target`, 0600; yield its path and descriptor. Raises OSError.

    At the end it is deleted unless it was renamed.
    """
    while True:
        path = _temp_path(target)
        handle = new_file(path)
        _lock(handle)
        if os.fstat(handle).st_nlink:
            break
        # Another program deleted it as that of a killed run before it was locked.
        os.close(handle)
    with _removed_at_the_end(path, handle):
        yield path, handle


@contextmanager
def work_folder(target: Path) -> Iterator[Path]:
    """Create a marked, locked folder next to `target`, 0700, and delete it at the end. Raises OSError."""
    path = _temp_path(target)
    path.mkdir(mode=PRIVATE_FOLDER)
    _give_to_owner_above(path)
    with _removed_at_the_end(path, os.open(path, os.O_RDONLY | os.O_CLOEXEC)):
        yield path


@contextmanager
def write_temp_file(
    target: Path, data: bytes, *, mode: int | None = None, mtime_ns: int | None = None
) -> Iterator[Path]:
    """Write a durable `temp_file` that can replace `target`, with its owner, and its mode unless `mode` is given.

    `mtime_ns` is the modification time to set. Raises OSError, and Refused if the target belongs to another user.
    """
    with temp_file(target) as (path, handle):
        with os.fdopen(handle, "wb", closefd=False) as file:
            file.write(data)
        _copy_owner_and_mode(handle, target, mode)
        if mtime_ns is not None:
            os.utime(path, ns=(mtime_ns, mtime_ns))
        os.fsync(handle)
        yield path


def _copy_owner_and_mode(handle: int, target: Path, mode: int | None = None) -> None:
    """Copy owner and mode from the file to replace, if there is one, to a new file; `mode` overrides the mode.

    Raises OSError, and Refused if the old file belongs to another user, who could not read the new one.
    """
    new = os.fstat(handle)
    old = target.stat() if target.exists() else new
    if new.st_uid != old.st_uid:
        try:
            os.fchown(handle, old.st_uid, old.st_gid)
        except PermissionError as error:
            message = f"{target} belongs to another user (id {old.st_uid}), who could not read it afterwards."
            raise Refused(message, hint="Run it as that user.") from error
    elif new.st_gid != old.st_gid:
        # A user cannot change the group to one they are not in; the owner is still the same.
        with suppress(PermissionError):
            os.fchown(handle, -1, old.st_gid)
    os.fchmod(handle, stat.S_IMODE(old.st_mode) if mode is None else mode)


def replace_bytes(
    path: Path, expected: bytes | None, data: bytes | None, *, mode: int | None = None, mtime_ns: int | None = None
) -> None:
    """Replace `expected` by `data` atomically; None means no file. Links are followed, owner and mode are preserved.

    `mode` is for a new file (default 0600), and `mtime_ns` is the modification time to set. Raises FileChangedError if
    the content of the file is not `expected`, DiskFull and Refused if it cannot be written.
    """
    target = Path(os.path.realpath(path))
    with translate_os_errors(path, kind=Refused):
        if data is None:
            with _locked_folder(target.parent):
                _check_unchanged(target, expected)
                target.unlink(missing_ok=True)
        else:
            make_folder(target.parent)
            new_mode = mode if expected is None else None
            with write_temp_file(target, data, mode=new_mode, mtime_ns=mtime_ns) as new, _locked_folder(target.parent):
                _check_unchanged(target, expected)
                try:
                    rename(new, target, replaces=expected is not None)
                except FileExistsError as error:
                    raise FileChangedError from error
    # The file is already replaced, so errors from here on must not be raised.
    with suppress(OSError):
        sync_folder(target.parent)


def retry_if_changed(attempt: Callable[[], Result], path: Path) -> Result:
    """Retry a replacement while another program changes the file. Raises Refused after too many attempts."""
    for _ in range(_ATTEMPTS):
        with suppress(FileChangedError):
            return attempt()
    raise Refused(f"Another program keeps rewriting {path}.", hint="Try again when ZeroClaw is idle.")


def rename(temp: Path, target: Path, *, replaces: bool) -> None:
    """Rename a temporary file. Raises OSError, and FileExistsError if there is a file and `replaces` is False."""
    if replaces:
        temp.replace(target)
        return
    try:
        # A link, unlike a rename, fails if the target exists.
        target.hardlink_to(temp)
    except OSError as error:
        if error.errno not in (_UNSUPPORTED | {errno.EPERM}):
            raise
        if os.path.lexists(target):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target)) from error
        temp.rename(target)


def put_in_place(temp: Path, handle: int, target: Path, *, replaces: bool) -> None:
    """Make a temporary file durable, and rename it to `target`, with the target's owner and mode.

    Raises OSError, FileExistsError if there is a target and `replaces` is False, and Refused if it is another user's.
    """
    _copy_owner_and_mode(handle, target)
    os.fsync(handle)
    rename(temp, target, replaces=replaces)
    sync_folder(target.parent)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable. Raises OSError."""
    handle = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in _UNSUPPORTED:
            raise
    finally:
        os.close(handle)


def remove_stale_temp_files(folder: Path) -> None:
    """Delete temporary files of killed runs, but not of running ones. Raises OSError for the folder itself."""
    for name in filter(re.compile(_TEMP_NAME).fullmatch, os.listdir(folder)):
        path = folder / name
        with suppress(OSError):
            handle = lock_or_close(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC))
            if handle is not None:
                with _removed_at_the_end(path, handle):
                    pass


def lock_or_close(descriptor: int) -> int | None:
    """Lock a descriptor's file; if another program has the lock, close the descriptor and return None.

    If the file system has no locks, closes the descriptor and raises OSError.
    """
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        if isinstance(error, BlockingIOError):
            return None
        raise
    return descriptor


def _temp_path(target: Path) -> Path:
    with suppress(OSError):
        remove_stale_temp_files(target.parent)
    stem = os.fsdecode(os.fsencode(target.name)[:_MAX_STEM_BYTES])
    return target.with_name(f".{stem}{_MARK}{os.urandom(8).hex()}.tmp")


def _lock(handle: int) -> None:
    """Wait for the lock of an open file; a file system without locks is ignored, so its files are never deleted."""
    with suppress(OSError):
        fcntl.flock(handle, fcntl.LOCK_EX)


@contextmanager
def _removed_at_the_end(path: Path, handle: int) -> Iterator[None]:
    """Hold the lock of a marked file or folder, and delete it at the end; if that fails, a later run does."""
    try:
        _lock(handle)
        yield
    finally:
        if path.is_dir():
            from shutil import rmtree

            rmtree(path, ignore_errors=True)
        else:
            with suppress(OSError):
                path.unlink(missing_ok=True)
        os.close(handle)


@contextmanager
def _locked_folder(folder: Path) -> Iterator[None]:
    """Prevent other runs of this program from replacing files in a folder; ZeroClaw itself uses no lock."""
    handle = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        _lock(handle)
        yield
    finally:
        os.close(handle)


def _check_unchanged(target: Path, expected: bytes | None) -> None:
    if read_bytes(target) != expected:
        raise FileChangedError


def _give_to_owner_above(path: Path) -> None:
    """Give a file or folder that root created in another user's folder to that user, if the file system has owners."""
    above = path.parent.stat()
    if os.geteuid() == 0 and above.st_uid != 0:
        with suppress(OSError):
            os.chown(path, above.st_uid, above.st_gid)
