"""Files as rows of the trash: what they hold or their digest, their mode, their times, and where they were moved."""

from __future__ import annotations

import hashlib
import os
import stat
from dataclasses import dataclass
from pathlib import Path

from zeroclaw_tui.memory.change import FILE, StoredRow, Value
from zeroclaw_tui.memory.errors import Refused, Unreadable

LARGEST = 200_000_000
"""Up to so many bytes of a file are kept."""

MOVED_TO, MOVED_FROM, STAYS, MADE = "moved_to", "moved_from", "stays_if_changed", "made_folder"

_AT_ONCE = 1 << 20


@dataclass(frozen=True, slots=True)
class Looks:
    """A regular file from outside: enough to tell whether it is still the same."""

    device: int
    inode: int
    size: int
    mode: int
    changed: int

    def facts(self) -> dict[str, Value]:
        """What a row says of it besides its bytes."""
        return {"size": self.size, "mode": self.mode, "mtime_ns": self.changed}


def canonical(path: Path) -> Path:
    """The name under which a file is kept: its folder without links, its own name as it is."""
    return Path(os.path.realpath(path.parent)) / path.name


def led_to(path: Path) -> Path:
    """The name under which a file is kept that is written through its links: they stay, what they lead to changes."""
    return Path(os.path.realpath(path))


def looks_of(path: Path) -> Looks | None:
    """How a file looks, None when there is none. Raises Refused for what is no regular file, or cannot be looked at."""
    try:
        found = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise Refused(f"{path} cannot be looked at: {error.strerror}.", hint="Check the permissions.") from error
    if not stat.S_ISREG(found.st_mode):
        what = "a link" if stat.S_ISLNK(found.st_mode) else "no regular file"
        raise Refused(f"{path} is {what} and was left alone.", hint="Move or remove it by hand.")
    return Looks(found.st_dev, found.st_ino, found.st_size, stat.S_IMODE(found.st_mode), found.st_mtime_ns)


def bytes_now(path: Path) -> bytes | None:
    """What a file holds, None when there is none. Raises Unreadable, for a pipe or a device too: reading one may never
    end."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise Unreadable(f"{path} is no regular file.", hint="Move it out of the way.")
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _unreadable(path, error) from error


def digest_now(path: Path) -> str | None:
    """The SHA-256 in hex of what a file holds, None when there is none; reads it in parts. Raises Unreadable."""
    digest = hashlib.sha256()
    try:
        with path.open("rb", buffering=0) as file:
            while part := file.read(_AT_ONCE):
                digest.update(part)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _unreadable(path, error) from error
    return digest.hexdigest()


def file_row(path: Path, data: bytes, **facts: Value) -> StoredRow:
    """A file as the trash keeps it."""
    return StoredRow(str(path), {"path": str(path), "bytes": data, **facts}, table=FILE)


def named_row(path: Path, digest: str, **facts: Value) -> StoredRow:
    """A file of which only the digest is kept, since its bytes lie somewhere."""
    return StoredRow(str(path), {"path": str(path), "sha256": digest, **facts}, table=FILE)


def present_row(path: Path, **facts: Value) -> StoredRow | None:
    """A file as it is now, whole; None when there is none. Raises Refused for one too large to be kept, Unreadable."""
    try:
        found = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise _unreadable(path, error) from error
    check_size(path, found.st_size)
    data = bytes_now(path)
    if data is None:
        return None
    return file_row(path, data, mode=stat.S_IMODE(found.st_mode), mtime_ns=found.st_mtime_ns, **facts)


def check_size(path: Path, size: int) -> None:
    """Raises Refused for a file too large to be kept."""
    if size > LARGEST:
        raise Refused(
            f"{path} is {size / 1e6:,.0f} MB, too large to be kept, so it was left alone.",
            hint="Remove it by hand where it is not needed.",
            title="Too large",
        )


def missing_folder(path: Path) -> Path | None:
    """The topmost of the folders that writing a file would make; None where its folder exists."""
    missing = None
    for folder in path.parents:
        if folder.exists():
            break
        missing = folder
    return missing


def number_of(row: StoredRow | None, name: str) -> int | None:
    """A number a row holds, None where it has none of that name."""
    value = None if row is None else row.values.get(name)
    return value if isinstance(value, int) else None


def path_in(row: StoredRow | None, name: str) -> Path | None:
    """A path a row holds, None where it has none of that name."""
    value = None if row is None else row.values.get(name)
    return Path(value) if isinstance(value, str) else None


def _unreadable(path: Path, error: OSError) -> Unreadable:
    return Unreadable(f"{path} cannot be read: {error.strerror}.", hint="Check its permissions.")
