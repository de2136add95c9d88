"""Files on a disk: what is there, and whole files, read and put in their place in one step, durable, readable by their
owner only; also only while a file is what was read.

What is not whole yet bears this program's mark in its name (`.brain.db.zeroclaw-tui-0123456789abcdef.tmp`) and is
locked with flock(2) for as long as its writer lives: whoever gets the lock knows that the writer is gone.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from zeroclaw_tui.memory.errors import DiskFull, Refused, Unreadable

PRIVATE_FILE = 0o600
PRIVATE_FOLDER = 0o700
FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
"""What a system answers whose disk is full, or of which this user may have no more."""
MAKE_ROOM = "Make room on that disk (old backups and logs, for instance), then do it again."
_TRIED_BYTES = 64 * 1024
"""More than the smallest file that SQLite needs beside a database, which has 32 KiB."""
_MARK = ".zeroclaw-tui-"
_UNFINISHED = rf"\..+{re.escape(_MARK)}[0-9a-f]{{16}}(\.tmp)?"
_LONGEST_NAME = 200
"""In bytes; with the mark it stays below the 255 that file systems take."""
_NOT_OFFERED = frozenset({errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP})
"""What a file system answers that has no such operation (fsync of a folder, hard links, locks)."""

_NO_RIGHTS = ("you have no permission to write there", "Run it as the user ZeroClaw runs as, or mend the permissions.")
_DISK_FULL = ("the disk is full", "Free some space, then run it again.")
_IN_THE_WAY = ("something else lies in its place", "Look at what is there and move it away.")
_REASONS = {
    errno.EACCES: _NO_RIGHTS,
    errno.EPERM: _NO_RIGHTS,
    errno.EROFS: ("it lies on a read-only file system", "Mount it writable, then run it again."),
    errno.ENOSPC: _DISK_FULL,
    errno.EDQUOT: ("your disk quota is used up", "Free some space, then run it again."),
    errno.EFBIG: ("it would be larger than files may be here", "Raise the limit (`ulimit -f`), then run it again."),
    errno.EISDIR: ("a folder lies in its place", "Move the folder away."),
    errno.ENOTDIR: ("a file lies where a folder is needed", "Move the file away."),
    errno.EEXIST: _IN_THE_WAY,
    errno.ENOENT: ("its folder went away meanwhile", "Look at what happened to the folder, then run it again."),
    errno.ELOOP: ("its links lead in a circle", "Mend the link."),
    errno.EBUSY: ("it is mounted on its own, so that it cannot be replaced", "Mount the folder instead of the file."),
    errno.ETXTBSY: _IN_THE_WAY,
}

Answer = TypeVar("Answer")
_TRIES = 20


class NotRegular(OSError):
    """A pipe, a socket or a device where a file belongs."""


def exists(path: Path) -> bool:
    """True when something is there. Raises Unreadable when the folders on the way cannot be entered."""
    return status_of(path) is not None


def is_folder(path: Path) -> bool:
    """True for a folder or a link to one. Raises Unreadable like `exists`."""
    status = status_of(path)
    return status is not None and stat.S_ISDIR(status.st_mode)


def status_of(path: Path) -> os.stat_result | None:
    """What the system says of a path, None when nothing is there; Unreadable for every other failure."""
    try:
        return os.stat(path)
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return None
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise Unreadable(f"{path} is a link that leads in a circle.", hint="Mend the link.") from error
        if error.errno == errno.ENAMETOOLONG:
            raise Unreadable(f"The name {path} is too long for this system.", hint="Give a shorter one.") from error
        raise Unreadable(
            f"{path} cannot be read: {error.strerror}.", hint="Check the permissions of its folders."
        ) from error


def file_size(path: Path) -> int:
    """The size in bytes, 0 for a file that is not there."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def names_in(folder: Path) -> list[str]:
    """The names in a folder, sorted; empty when there is no such folder. Raises Unreadable when it cannot be read."""
    try:
        return sorted(os.listdir(folder))
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return []
    except OSError as error:
        raise Unreadable(
            f"The folder {folder} cannot be read: {error.strerror}.", hint="Check its permissions."
        ) from error


def read_regular(path: Path) -> bytes:
    """The bytes of a regular file. Raises NotRegular for a pipe or a device, which could be read for ever; OSError."""
    # Opening a named pipe would wait for a writer.
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    with os.fdopen(handle, "rb") as file:
        mode = os.fstat(handle).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if not stat.S_ISREG(mode):
            raise NotRegular(errno.EINVAL, "it is not a regular file", str(path))
        return file.read()


def cannot_write(path: Path, error: OSError) -> Unreadable:
    """One sentence for each way in which writing fails."""
    reason, hint = _REASONS.get(
        error.errno or 0, (error.strerror or type(error).__name__, "Look at the disk, then run it again.")
    )
    kind = DiskFull if error.errno in FULL else Unreadable
    return kind(f"{path} cannot be written: {reason}.", hint=hint, title="Not written")


def cannot_write_temporary(error: OSError) -> Unreadable:
    """The sentence for a folder of temporary files that takes no more, or for want of one. Blocks."""
    hint = "Free some space there, or name another one with TMPDIR."
    # Where none is usable Python does not say why.
    if error.errno in FULL or (error.errno == errno.ENOENT and is_full(Path(os.environ.get("TMPDIR") or "/tmp"))):
        return DiskFull("The folder of temporary files cannot be written: the disk is full.", hint=hint)
    return Unreadable(
        f"The folder of temporary files cannot be written: {error.strerror or error}.", hint=hint, title="Not written"
    )


@contextmanager
def temporary_folder(prefix: str) -> Iterator[Path]:
    """A folder that only this user may enter, gone at the end. Raises Unreadable."""
    import tempfile

    try:
        folder = tempfile.TemporaryDirectory(prefix=prefix)
    except OSError as error:
        raise cannot_write_temporary(error) from error
    with folder as name:
        yield Path(name)


def is_full(folder: Path) -> bool:
    """Whether a folder's disk has no room left, even for a small file; a file without a name is tried. Blocks.

    SQLite gives only its own result code for most of what a system refuses, so that this has to be asked.
    """
    import tempfile

    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(bytes(_TRIED_BYTES))
            file.flush()
    except OSError as error:
        return error.errno in FULL
    return False


@contextmanager
def failures_told(path: Path) -> Iterator[None]:
    """Turn every OSError inside into Unreadable that names `path`."""
    try:
        yield
    except OSError as error:
        raise cannot_write(path, error) from error


def make_folder(folder: Path, *, synced: bool = True) -> None:
    """Make a folder and those above it, 0700; one that is there stays as it is. Raises OSError.

    Made by root below another user's folder, it is that user's. With `synced` their names are durable, or it fails.
    """
    if folder.is_dir():
        return
    make_folder(folder.parent, synced=synced)
    try:
        folder.mkdir(mode=PRIVATE_FOLDER)
    except FileExistsError:
        if not folder.is_dir():
            raise
    else:
        if (owner := _owner_above(folder)) is not None:
            os.chown(folder, owner.st_uid, owner.st_gid)
    if synced:
        sync_folder(folder.parent)


def new_file(path: Path) -> int:
    """A descriptor of a new file, 0600 from its first moment on; made by root in another user's folder, it is that
    user's. Raises FileExistsError, OSError."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, PRIVATE_FILE)
    try:
        if (owner := _owner_above(path)) is not None:
            os.fchown(handle, owner.st_uid, owner.st_gid)
        os.fchmod(handle, PRIVATE_FILE)
    except BaseException:
        os.close(handle)
        with suppress(OSError):
            path.unlink()
        raise
    return handle


@contextmanager
def unfinished_file(target: Path) -> Iterator[tuple[Path, int]]:
    """A new file beside `target` and its descriptor, marked, locked and 0600, gone at the end if it is still there.

    Raises OSError.
    """
    beside, handle = _locked(target, new_file)
    try:
        yield beside, handle
    finally:
        # Where even this fails a later run removes it; the reason already on its way is the one to be told.
        with suppress(OSError):
            beside.unlink(missing_ok=True)
        os.close(handle)


@contextmanager
def work_folder(target: Path) -> Iterator[Path]:
    """A new folder beside `target` for what is made there, marked, locked and 0700, gone at the end with what is left
    in it. Raises OSError."""
    room, handle = _locked(target, _new_folder)
    try:
        yield room
    finally:
        import shutil

        shutil.rmtree(room, ignore_errors=True)
        os.close(handle)


@contextmanager
def written_beside(target: Path, data: bytes, owner: os.stat_result | None = None) -> Iterator[Path]:
    """A durable `unfinished_file` with `data`, 0600. `owner` is the status of the file to be replaced.

    Raises OSError, and Refused when that file belongs to another user, who could not read the new one.
    """
    with unfinished_file(target) as (beside, handle):
        if owner is not None:
            _give_to(owner, handle, target)
        write_all(handle, data)
        os.fsync(handle)
        yield beside


def write_all(handle: int, data: bytes) -> None:
    """Write all of it, as a single write need not. Raises OSError."""
    left = memoryview(data)
    while left:
        left = left[os.write(handle, left) :]


def keep_looks(handle: int, target: Path) -> None:
    """Give what is to replace a file the owner and the mode of that one; nothing where there is none.

    Raises OSError, and Refused when the file belongs to another user, who would lose it.
    """
    try:
        looks = target.stat()
    except FileNotFoundError:
        return
    _give_to(looks, handle, target)
    os.fchmod(handle, stat.S_IMODE(looks.st_mode))


def replace_file(path: Path, data: bytes) -> None:
    """Replace a file of our own in one step, durable, 0600; a missing folder is made, 0700. A link is followed and
    stays a link. Raises OSError."""
    target = Path(os.path.realpath(path))
    make_folder(target.parent)
    with written_beside(target, data) as beside:
        beside.replace(target)
    sync_folder(target.parent)


def put_new(beside: Path, target: Path) -> None:
    """Give a temporary file its name where there must be none yet. Raises FileExistsError, OSError."""
    try:
        # A link, unlike a rename, fails where the file was made in the meantime.
        target.hardlink_to(beside)
    except OSError as error:
        if error.errno not in (_NOT_OFFERED | {errno.EPERM}):
            raise
        if os.path.lexists(target):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target)) from error
        beside.rename(target)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable. Raises OSError."""
    handle = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in _NOT_OFFERED:
            raise
    finally:
        os.close(handle)


def is_unfinished(name: str) -> bool:
    """Whether a file or folder of that name is one that this program writes to and then renames."""
    return re.fullmatch(_UNFINISHED, name) is not None


def is_abandoned(path: Path) -> bool | None:
    """Whether the writer of what bears our mark is gone; None where that cannot be proved (no locks, no rights)."""
    try:
        handle = _try_lock(path)
    except OSError:
        return None
    if handle is None:
        return False
    os.close(handle)
    return True


def remove_left_over(folder: Path) -> None:
    """Remove what runs that were killed left in a folder: what bears our mark and whose lock can be had. What another
    run is writing, and what no lock tells anything about, stays. Raises OSError when the folder cannot be read."""
    with os.scandir(folder) as entries:
        found = [Path(entry.path) for entry in entries if is_unfinished(entry.name)]
    for path in found:
        with suppress(OSError):
            remove_abandoned(path)


def remove_abandoned(path: Path) -> bool:
    """Remove one of those; False where its writer is not proved to be gone. Raises OSError."""
    handle = _try_lock(path)
    if handle is None:
        return False
    try:
        if path.is_dir():
            import shutil

            shutil.rmtree(path)
        else:
            path.unlink()
    finally:
        os.close(handle)
    return True


def _new_folder(path: Path) -> int:
    path.mkdir(mode=PRIVATE_FOLDER)
    if (owner := _owner_above(path)) is not None:
        os.chown(path, owner.st_uid, owner.st_gid)
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)


def _locked(target: Path, make: Callable[[Path], int]) -> tuple[Path, int]:
    """Something new beside `target`, marked and locked."""
    stem = os.fsdecode(os.fsencode(target.name)[:_LONGEST_NAME])
    while True:
        beside = target.with_name(f".{stem}{_MARK}{os.urandom(8).hex()}.tmp")
        try:
            handle = make(beside)
        except FileNotFoundError:
            if not target.parent.is_dir():
                raise
            continue
        # Where a file system has no locks, nobody ever removes it unasked.
        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX)
        # Between its making and its lock another run may have taken it for left behind.
        if _is_still(beside, handle):
            return beside, handle
        os.close(handle)


def _is_still(path: Path, handle: int) -> bool:
    try:
        return os.path.samestat(path.lstat(), os.fstat(handle))
    except FileNotFoundError:
        return False


def _try_lock(path: Path) -> int | None:
    """A descriptor that holds the lock, None while its writer has it. Raises OSError where that cannot be told."""
    mode = path.lstat().st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL), str(path))
    access = os.O_RDONLY | os.O_DIRECTORY if stat.S_ISDIR(mode) else os.O_RDWR
    handle = os.open(path, access | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    return locked_or_closed(handle)


def locked_or_closed(descriptor: int) -> int | None:
    """The descriptor, with the lock of its file; closed, and None, while another holds that.

    Raises OSError, the descriptor closed too, where there are no locks.
    """
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _owner_above(path: Path) -> os.stat_result | None:
    """Whose a new file or folder has to be: the one's whose folder it lies in, where root makes it; else our own."""
    if os.geteuid() != 0:
        return None
    above = path.parent.stat()
    return above if above.st_uid != 0 else None


def _give_to(owner: os.stat_result, handle: int, target: Path) -> None:
    own = os.fstat(handle)
    if own.st_uid != owner.st_uid:
        try:
            os.fchown(handle, owner.st_uid, owner.st_gid)
        except PermissionError as error:
            raise Refused(
                f"{target} belongs to another user (id {owner.st_uid}), who could not read it afterwards.",
                hint="Run it as that user.",
            ) from error
    elif own.st_gid != owner.st_gid:
        # A group that this user is not in cannot be given; the owner still has the file.
        with suppress(PermissionError):
            os.fchown(handle, -1, owner.st_gid)


class Rewritten(Exception):
    """The file is no longer what was read; nothing was written."""


def read_bytes(path: Path) -> bytes | None:
    """What a file holds; None when there is none. Raises Unreadable."""
    try:
        return read_regular(path)
    except FileNotFoundError:
        return None
    except (NotRegular, IsADirectoryError) as error:
        raise Unreadable(f"{path} is not a regular file.", hint="Move it out of the way.") from error
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
