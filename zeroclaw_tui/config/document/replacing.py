"""Putting a whole file in its place in one step, durable, readable by its owner only."""

from __future__ import annotations

import errno
import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from zeroclaw_tui.memory.errors import Refused, Unreadable

PRIVATE_FILE = 0o600
PRIVATE_FOLDER = 0o700
_MARK = ".zeroclaw-tui-"
_LEFT_OVER = re.compile(rf"\..+{re.escape(_MARK)}[0-9a-f]{{16}}")
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


def cannot_write(path: Path, error: OSError) -> Unreadable:
    """One sentence for each way in which writing fails."""
    reason, hint = _REASONS.get(
        error.errno or 0, (error.strerror or type(error).__name__, "Look at the disk, then run it again.")
    )
    return Unreadable(f"{path} cannot be written: {reason}.", hint=hint, title="Not written")


@contextmanager
def failures_told(path: Path) -> Iterator[None]:
    """Turn every OSError inside into Unreadable that names `path`."""
    try:
        yield
    except OSError as error:
        raise cannot_write(path, error) from error


def make_folder(folder: Path) -> None:
    """Make a folder and those above it, 0700 and durable; one that is there stays as it is. Raises OSError.

    Made by root below another user's folder, it is that user's.
    """
    if folder.is_dir():
        return
    make_folder(folder.parent)
    try:
        folder.mkdir(mode=PRIVATE_FOLDER)
    except FileExistsError:
        if not folder.is_dir():
            raise
    else:
        if (owner := _owner_above(folder)) is not None:
            os.chown(folder, owner.st_uid, owner.st_gid)
    sync_folder(folder.parent)


@contextmanager
def written_beside(target: Path, data: bytes, owner: os.stat_result | None = None) -> Iterator[Path]:
    """A durable temporary file with `data` in the folder of `target`, 0600, gone at the end if it is still there.

    `owner` is the status of the file to be replaced. Without one, what root makes in another user's folder is that
    user's. Raises OSError, and Refused when that file belongs to another user, who could not read the new one.
    """
    owner = _owner_above(target) if owner is None else owner
    beside = target.with_name(f".{target.name}{_MARK}{secrets.token_hex(8)}")
    handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, PRIVATE_FILE)
    try:
        with os.fdopen(handle, "wb") as file:
            if owner is not None:
                _give_to(owner, file.fileno(), target)
            os.fchmod(file.fileno(), PRIVATE_FILE)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        yield beside
    finally:
        # Where even this fails the next run removes it; the reason already on its way is the one to be told.
        with suppress(OSError):
            beside.unlink(missing_ok=True)


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


def remove_left_over(folder: Path) -> None:
    """Remove the temporary files of runs that were killed; only those with our own pattern. Raises OSError."""
    with os.scandir(folder) as entries:
        found = [entry.path for entry in entries if _LEFT_OVER.fullmatch(entry.name)]
    for path in found:
        with suppress(FileNotFoundError):
            os.unlink(path)


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
        # The mode gives a group nothing, so that its loss changes nothing for anyone.
        with suppress(PermissionError):
            os.fchown(handle, -1, owner.st_gid)
