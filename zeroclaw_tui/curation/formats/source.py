"""A file or folder of memories, read without trusting its content.

Links inside it are not followed, only regular files are opened, and sizes and depths are limited.
"""

from __future__ import annotations

import codecs
import json
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, cached_property
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, NamedTuple

from zeroclaw_tui.files.database import raw_descriptor
from zeroclaw_tui.memory.errors import NotFound, Unreadable, UsageError
from zeroclaw_tui.memory.text import one_line, size_shown

MAX_FILE_SIZE = 64 * 1024 * 1024
"""The maximum size in bytes of a file of another tool, which is read as a whole."""
MAX_LINE_SIZE = 256 * 1024 * 1024
"""The maximum size in bytes of a line of our own files, which are read line by line without a size limit."""
MAX_FILES, MAX_DEPTH = 50_000, 12
_SECRETS = re.compile(
    r"(openclaw|auth|config|settings(\.local)?|\.?credentials|secrets?)\.json|auth[_-]?profile.*|\.env\b.*",
    re.IGNORECASE,
)
"""Names of files in which tools store keys and tokens next to their memories."""
_OPEN_ONLY_FILES = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Identity(NamedTuple):
    """The embedding model of a store's vectors."""

    provider: str
    model: str
    dimensions: int


class Source:
    """The regular file or folder at `path`. Its methods block.

    `unread` has the names that are not read, with reasons. `vectors_by` is the embedding model, once it was read.
    """

    def __init__(self, path: Path) -> None:
        """Raises NotFound, Unreadable, and UsageError if it is neither a file nor a folder."""
        name = one_line(str(path))
        try:
            # Links are followed only in the path that the user typed.
            self.path = path.resolve(strict=True)
            mode = self.path.stat().st_mode
        except FileNotFoundError as error:
            raise NotFound(f"There is no file {name}.", hint="Name the file or directory to import.") from error
        except (OSError, RuntimeError, ValueError) as error:
            # A loop of links is a RuntimeError before Python 3.13, a NUL in the name a ValueError.
            reason = getattr(error, "strerror", None) or "it leads nowhere"
            raise Unreadable(f"{name} cannot be read: {reason}.", hint="Check the path and its permissions.") from error
        self.is_folder = stat.S_ISDIR(mode)
        if not self.is_folder and not stat.S_ISREG(mode):
            raise UsageError(f"{name} is not a regular file.", hint="Save it to a file first.")
        self.unread: dict[str, str] = {}
        self.vectors_by: Identity | None = None
        self.document = cache(self._document)
        """Parse a file as JSON. Raises the errors of `text`, and UsageError for invalid JSON."""

    @property
    def name(self) -> str:
        return one_line(self.path.name)

    @cached_property
    def files(self) -> tuple[PurePosixPath, ...]:
        """The regular files below the folder as relative paths, sorted; for a file only the file itself."""
        return tuple(sorted(self._walk())) if self.is_folder else (PurePosixPath(self.path.name),)

    def path_of(self, file: PurePosixPath | None) -> Path:
        return self.path / file if self.is_folder and file is not None else self.path

    @contextmanager
    def open(self, file: PurePosixPath | None = None) -> Iterator[BinaryIO]:
        """Open one of `files`, or the file itself, for reading. Raises Unreadable, also if it has become a link."""
        path = self.path_of(file)
        try:
            with raw_descriptor(path, _OPEN_ONLY_FILES) as descriptor:
                if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                    raise Unreadable(f"{one_line(path.name)} is not a regular file.", hint="Name a file of memories.")
                with os.fdopen(descriptor, "rb", buffering=1 << 20, closefd=False) as reader:
                    yield reader
        except OSError as error:
            message = f"{one_line(path.name)} cannot be read: {error.strerror or error}."
            raise Unreadable(message, hint="Check the file, then import it again.") from error

    def head(self, file: PurePosixPath | None = None, size: int = 64 * 1024) -> bytes:
        """The first bytes of a file without a byte order mark."""
        with self.open(file) as reader:
            return reader.read(size).removeprefix(codecs.BOM_UTF8)

    def text(self, file: PurePosixPath | None = None) -> str:
        """Read a file as text with line feeds only; invalid UTF-8 becomes U+FFFD and is noted in `unread`."""
        data = self.head(file, MAX_FILE_SIZE + 1)
        if len(data) > MAX_FILE_SIZE:
            name = one_line(self.path_of(file).name)
            raise UsageError(f"{name} is larger than {size_shown(MAX_FILE_SIZE)}.", hint="Import it in parts.")
        text = data.decode("utf-8", "replace")
        if text.encode() != data:
            self.unread[one_line(str(file or self.path.name))] = "bytes that are not UTF-8"
        return text.replace("\r\n", "\n").replace("\r", "\n")

    def _document(self, file: PurePosixPath | None = None) -> Any:
        try:
            return json.loads(self.text(file))
        except (ValueError, RecursionError) as error:
            where = f" (line {error.lineno:,})" if isinstance(error, json.JSONDecodeError) else ""
            name = one_line(self.path_of(file).name)
            raise UsageError(
                f"{name} is not readable JSON{where}.", hint="It may be cut off; export it again."
            ) from error

    def state(self) -> str:
        """A fingerprint that changes when another program writes one of the files."""
        parts = []
        for file in self.files:
            try:
                status = self.path_of(file).stat(follow_symlinks=False)
            except OSError as error:
                raise Unreadable(f"{one_line(str(file))} has disappeared.", hint="Import it again.") from error
            parts.append(f"{file} {status.st_ino} {status.st_size} {status.st_mtime_ns}")
        return "\n".join(parts)

    def _walk(self) -> Iterator[PurePosixPath]:
        count = 0
        for folder, folders, names in os.walk(self.path):
            inside = PurePosixPath(Path(folder).relative_to(self.path))
            count += len(folders) + len(names)
            if count > MAX_FILES:
                hint = "Name the directory of the memories."
                raise UsageError(f"{self.name} has more than {MAX_FILES:,} files.", hint=hint)
            reasons = {name: self._reason_against(inside / name) for name in [*folders, *names]}
            self.unread |= {one_line(str(inside / name)): reason for name, reason in reasons.items() if reason}
            yield from (inside / name for name in names if not reasons[name])
            folders[:] = [name for name in folders if not reasons[name]]

    def _reason_against(self, file: PurePosixPath) -> str:
        """Why a file or folder is not read; "" if it is."""
        try:
            status = (self.path / file).lstat()
        except OSError:
            return "it has disappeared"
        if stat.S_ISLNK(status.st_mode):
            return "it is a link"
        if stat.S_ISDIR(status.st_mode):
            return "it is too deep" if len(file.parts) >= MAX_DEPTH else ""
        if not stat.S_ISREG(status.st_mode):
            return "it is not a regular file"
        if status.st_nlink > 1:
            return "it has other names (hard links)"
        return "it may contain secrets" if _SECRETS.fullmatch(file.name) else ""


def numbered_lines(reader: BinaryIO) -> Iterator[tuple[int, str]]:
    """Yield each line with its number and newline, the first without a byte order mark. Raises UsageError."""
    number = 0
    while line := reader.readline(MAX_LINE_SIZE + 1):
        number += 1
        if len(line) > MAX_LINE_SIZE:
            size = size_shown(MAX_LINE_SIZE)
            raise UsageError(f"Line {number:,} is longer than {size}.", hint="This is hardly a file of memories.")
        try:
            yield number, line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            raise UsageError(f"Line {number:,} is not UTF-8.", hint="Save the file as UTF-8 first.") from error
