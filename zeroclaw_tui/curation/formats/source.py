"""A file or folder of memories that somebody named, read without trusting anything in it.

Nothing is opened that does not lie under what was named: no link is followed, no path inside data is opened, what is no
regular file is left out, sizes and depths are bounded.
"""

from __future__ import annotations

import codecs
import errno
import json
import os
import sqlite3
import stat
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO

from zeroclaw_tui.files.database import connect_read_only_blocking, translated
from zeroclaw_tui.memory.errors import NotThere, Unreadable, WrongUse
from zeroclaw_tui.memory.text import one_line

LARGEST_DOCUMENT = 256 * 1024 * 1024
"""How many bytes a file may have that is read whole."""
MOST_FILES, DEEPEST_FOLDER = 50_000, 12
DEEPEST_JSON = 64
_SQLITE = b"SQLite format 3\0"
_LINKS = (errno.ELOOP, errno.EMLINK)


@dataclass(slots=True)
class Report:
    """What a reader says besides the memories, counted while they are read.

    `lost` counts by name the fields that a memory of ZeroClaw has no place for ("tags", "history"), `skipped` by reason
    what is brought in as no memory ("deleted", "expired", "empty"), `left` names what was not read and why. `notes` are
    sentences. `model` names what made the vectors, where the source says so.
    """

    lost: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)
    left: dict[str, str] = field(default_factory=dict)
    notes: dict[str, None] = field(default_factory=dict)
    guessed_dates: int = 0
    model: str | None = None

    def note(self, sentence: str) -> None:
        """Say it once."""
        self.notes[sentence] = None


class Source:
    """What was named: `path`, a regular file or a folder, after the links in the name itself were resolved."""

    def __init__(self, path: Path) -> None:
        """Raises NotThere, Unreadable, and WrongUse for what is neither file nor folder."""
        name = one_line(str(path))
        try:
            # Only the path that a person typed may lead through links.
            self.path = path.resolve(strict=True)
            found = self.path.stat()
        except FileNotFoundError as error:
            raise NotThere(f"There is no file {name}.", hint="Name the file or folder to import.") from error
        except OSError as error:
            raise Unreadable(f"{name} cannot be read: {error.strerror}.", hint="Check its permissions.") from error
        self.is_folder = stat.S_ISDIR(found.st_mode)
        if not self.is_folder and not stat.S_ISREG(found.st_mode):
            raise WrongUse(f"{name} is no regular file.", hint="Save it to a file first.")
        self.unread: dict[str, str] = {}
        """Names of what lies there and was left out, each with the reason."""
        self._files: tuple[PurePosixPath, ...] | None = None
        self._documents: dict[PurePosixPath, Any] = {}

    @property
    def name(self) -> str:
        """The last part of its path, for people."""
        return one_line(self.path.name)

    def files(self) -> tuple[PurePosixPath, ...]:
        """Every regular file under it, relative to it, sorted by name; of a file only itself. Blocks.

        Links, pipes, devices and what cannot be entered are left out, and named in `unread`. Raises WrongUse where
        there are more than 50,000.
        """
        if self._files is None:
            self._files = tuple(self._walked()) if self.is_folder else (PurePosixPath(self.path.name),)
        return self._files

    def has(self, name: str) -> bool:
        """Whether a regular file of that relative name lies there."""
        return PurePosixPath(name) in self.files()

    @contextmanager
    def opened(self, file: PurePosixPath) -> Iterator[BinaryIO]:
        """One of `files` for reading. Raises Unreadable, also where a link or no regular file stands there by now."""
        with self._translated(file), os.fdopen(self._descriptor(file), "rb") as opened:
            yield opened

    def data(self, file: PurePosixPath, most: int = LARGEST_DOCUMENT) -> bytes:
        """The whole of one file. Raises Unreadable, and WrongUse where it is larger than `most` bytes."""
        with self.opened(file) as opened:
            data = opened.read(most + 1)
        if len(data) > most:
            raise WrongUse(f"{self._named(file)} is larger than {most // 1024**2} MB.", hint="Import it in parts.")
        return data

    def head(self, file: PurePosixPath, size: int = 4096) -> bytes:
        """The first bytes of one file."""
        with self.opened(file) as opened:
            return opened.read(size)

    def text(self, file: PurePosixPath) -> str:
        """The whole of one file as text, without a byte order mark. Raises as `data`, and WrongUse for no UTF-8."""
        try:
            return self.data(file).removeprefix(codecs.BOM_UTF8).decode("utf-8")
        except UnicodeDecodeError as error:
            raise WrongUse(f"{self._named(file)} is not UTF-8.", hint="Save the file as UTF-8 first.") from error

    def document(self, file: PurePosixPath) -> Any:
        """The JSON value of one file, read once. Raises as `text`, and WrongUse for no JSON or nesting too deep."""
        if file not in self._documents:
            self._documents[file] = json_value(self.text(file), self._named(file))
        return self._documents[file]

    def is_database(self, file: PurePosixPath) -> bool:
        """Whether it begins as a SQLite database does."""
        return self.head(file, len(_SQLITE)) == _SQLITE

    @contextmanager
    def database(self, file: PurePosixPath) -> Iterator[Tables]:
        """One of `files` as a SQLite database, for reading only. Raises InspectorError kinds."""
        os.close(self._descriptor(file))
        path = self._at(file)
        if path.stat().st_size % 512:
            raise Unreadable(f"{self._named(file)} is cut off.", hint="Copy it again, or restore a backup.")
        try:
            with closing(connect_read_only_blocking(path)) as connection, translated(path):
                yield Tables(connection)
        except UnicodeDecodeError as error:
            # Python cannot say what SQLite finds wrong where a damaged name is part of it.
            raise Unreadable(
                f"{self._named(file)} is damaged: it has names that are no text.",
                hint="Copy it again, or restore a backup.",
            ) from error

    def modified(self, file: PurePosixPath) -> str:
        """When a file was last written, RFC 3339 in UTC: the date of what has none, which is then a guess."""
        moment = datetime.fromtimestamp(self._at(file).stat().st_mtime, UTC)
        return moment.isoformat(timespec="seconds")

    def state(self) -> str:
        """What changes when another program writes any of its files."""
        parts = []
        for file in self.files():
            with self._translated(file):
                status = self._at(file).stat()
            parts.append(f"{file} {status.st_ino} {status.st_size} {status.st_mtime_ns}")
        return "\n".join(parts)

    def _at(self, file: PurePosixPath) -> Path:
        return self.path / file if self.is_folder else self.path

    def _named(self, file: PurePosixPath) -> str:
        return one_line(str(file))

    @contextmanager
    def _translated(self, file: PurePosixPath) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            why = "is a link" if error.errno in _LINKS else f"cannot be read: {error.strerror}"
            raise Unreadable(f"{self._named(file)} {why}.", hint="Import it again.") from error

    def _descriptor(self, file: PurePosixPath) -> int:
        """Of a file below a folder every part is opened without following a link."""
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        if not self.is_folder:
            return self._regular(os.open(self.path, flags), file)
        folder = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for part in file.parts[:-1]:
                below = os.open(part, flags | os.O_DIRECTORY, dir_fd=folder)
                os.close(folder)
                folder = below
            return self._regular(os.open(file.parts[-1], flags, dir_fd=folder), file)
        finally:
            os.close(folder)

    def _regular(self, descriptor: int, file: PurePosixPath) -> int:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise Unreadable(f"{self._named(file)} is no regular file.", hint="Import it again.")
        return descriptor

    def _walked(self) -> Iterator[PurePosixPath]:
        count = 0
        folders = [PurePosixPath()]
        while folders:
            folder = folders.pop()
            try:
                with os.scandir(self.path / folder) as scanned:
                    entries = sorted(scanned, key=lambda entry: entry.name)
            except OSError as error:
                self.unread[one_line(str(folder))] = error.strerror or "cannot be read"
                continue
            below = []
            for entry in entries:
                name = folder / entry.name
                if entry.is_dir(follow_symlinks=False):
                    if len(name.parts) < DEEPEST_FOLDER:
                        below.append(name)
                    else:
                        self.unread[one_line(str(name))] = "too deep"
                elif entry.is_file(follow_symlinks=False):
                    count += 1
                    if count > MOST_FILES:
                        raise WrongUse(
                            f"{self.name} holds more than {MOST_FILES:,} files.",
                            hint="Name the folder of the memories.",
                        )
                    yield name
                else:
                    self.unread[one_line(str(name))] = "a link" if entry.is_symlink() else "no regular file"
            folders += reversed(below)


class Tables:
    """A SQLite database of another tool. Views count as not there; columns are taken by name."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._connection.row_factory = sqlite3.Row

    def columns(self, table: str) -> frozenset[str]:
        """The columns of a table; none where there is no table of that name."""
        is_table = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?"
        if self._connection.execute(is_table, (table,)).fetchone() is None:
            return frozenset()
        return frozenset(
            row["name"] for row in self._connection.execute("SELECT name FROM pragma_table_info(?)", (table,))
        )

    def rows(self, table: str, order: str = "rowid") -> Iterator[Mapping[str, Any]]:
        """Every row of a table, each a mapping by column; `order` is one of its columns, or rowid."""
        quoted = ('"' + name.replace('"', '""') + '"' for name in (table, order))
        statement = "SELECT * FROM {} ORDER BY {}".format(*quoted)
        with closing(self._connection.execute(statement)) as found:
            for row in found:
                yield dict(row)


def json_value(text: str, name: str) -> Any:
    """A JSON document of a file of that name. Raises WrongUse for no JSON, NaN or Infinity, or nesting too deep."""
    try:
        value = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        where = f" (line {error.lineno:,})" if isinstance(error, json.JSONDecodeError) else ""
        raise WrongUse(f"{name} is not JSON{where}.", hint="It may have been cut off; export it again.") from error
    if _depth(value) > DEEPEST_JSON:
        raise WrongUse(f"{name} is nested too deep.", hint="This is hardly a file of memories.")
    return value


def _refuse_constant(constant: str) -> None:
    raise ValueError(f"{constant} is no number")


def _depth(value: Any) -> int:
    deepest, open_values = 0, [(value, 1)]
    while open_values:
        value, depth = open_values.pop()
        deepest = max(deepest, depth)
        if isinstance(value, dict):
            open_values += [(part, depth + 1) for part in value.values()]
        elif isinstance(value, list):
            open_values += [(part, depth + 1) for part in value]
    return deepest
