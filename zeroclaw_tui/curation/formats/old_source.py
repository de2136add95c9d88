"""A file or folder of memories that somebody named, read without trusting anything in it.

Nothing is opened that does not lie under what was named: no link is followed, no path inside data is opened, what is no
regular file is left out, sizes and depths are bounded.
"""

from __future__ import annotations

import codecs
import errno
import json
import math
import os
import re
import stat
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO

from zeroclaw_tui.files.database import (
    DATABASE_HEADER,
    columns_of,
    connect_read_only_blocking,
    raw_descriptor,
    tables_of_rows,
    translate_sqlite_errors,
)
from zeroclaw_tui.memory.errors import NotFound, Unreadable, UsageError
from zeroclaw_tui.memory.text import is_unicode, is_utf8, one_line

_SAYS_NOTHING: tuple[Any, ...] = (None, "", 0, [], {})
_LONGEST_NAME = 40
LARGEST_DOCUMENT = 256 * 1024 * 1024
"""How many bytes a file may have that is read whole."""
LARGEST_JSON = 64 * 1024 * 1024
"""How many bytes of JSON are made into values at once, which take some twenty times that."""
MOST_FILES, DEEPEST_FOLDER = 50_000, 12
DEEPEST_JSON = 64
_BYTES_PER_BROKEN = 10
"""How many bytes there are at least for each that is no UTF-8 in what still is text, and not another encoding."""
_SECRETS = re.compile(
    r"(openclaw|auth|config|settings(\.local)?|\.?credentials|secrets?)\.json|rustmem\.toml|auth[_-]?profile.*|\.env\b.*",
    re.IGNORECASE,
)
"""Names under which tools keep keys and tokens beside their memories."""
_LINKS = (errno.ELOOP, errno.EMLINK)
_HALF_A_CHARACTER = re.compile(r"\\u[dD][89a-fA-F]")
_BESIDE = ("-wal", "-shm", "-journal")
_LAST_SECOND = datetime(9999, 12, 31, tzinfo=UTC).timestamp()


@dataclass(slots=True)
class Report:
    """What a reader says besides the memories, counted while they are read.

    `lost` counts by name the fields that a memory of ZeroClaw has no place for ("tags", "history"), `skipped` by reason
    what is brought in as no memory ("deleted", "expired", "empty"), `left` names what was not read and why. `notes` are
    sentences.
    """

    lost: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)
    left: dict[str, str] = field(default_factory=dict)
    notes: dict[str, None] = field(default_factory=dict)
    guessed_dates: int = 0

    def lose(self, name: str, count: int = 1) -> None:
        """Count what finds no place; none is not named."""
        if count:
            self.lost[name] += count

    def lose_others(self, record: Mapping[str, Any], known: frozenset[str]) -> None:
        """Count every field of a record that says something and that no reader knows."""
        for name in record.keys() - known:
            self.lose(one_line(str(name))[:_LONGEST_NAME].replace("_", " ").strip(), record[name] not in _SAYS_NOTHING)

    def note(self, sentence: str) -> None:
        """Say it once."""
        self.notes[sentence] = None


class Source:
    """What was named: `path`, a regular file or a folder, after the links in the name itself were resolved."""

    def __init__(self, path: Path) -> None:
        """Raises NotFound, Unreadable, and UsageError for what is neither file nor folder."""
        name = one_line(str(path))
        try:
            # Only the path that a person typed may lead through links.
            self.path = path.resolve(strict=True)
            found = self.path.stat()
        except FileNotFoundError as error:
            raise NotFound(f"There is no file {name}.", hint="Name the file or directory to import.") from error
        except OSError as error:
            raise Unreadable(f"{name} cannot be read: {error.strerror}.", hint="Check its permissions.") from error
        except (RuntimeError, ValueError) as error:
            # Links in a circle, before Python 3.13, and a NUL in the name.
            raise Unreadable(f"{name} leads nowhere.", hint="Name the file or directory to import.") from error
        self.is_folder = stat.S_ISDIR(found.st_mode)
        if not self.is_folder and not stat.S_ISREG(found.st_mode):
            raise UsageError(f"{name} is not a regular file.", hint="Save it to a file first.")
        self.linked: set[str] = set()
        """Names of files read that have other names, by a hard link."""
        self.damaged: dict[str, list[int]] = {}
        """Names of files read in which bytes are no UTF-8, each with the lines that hold them."""
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

        Links, pipes, devices, what cannot be entered and what tools keep their secrets in are left out, and named in
        `unread`. Raises UsageError where there are more than 50,000.
        """
        if self._files is None:
            self._files = tuple(self._walked()) if self.is_folder else (PurePosixPath(self.path.name),)
        return self._files

    def has(self, name: str) -> bool:
        """Whether a regular file of that relative name lies there."""
        return PurePosixPath(name) in self.files()

    @contextmanager
    def opened(self, file: PurePosixPath) -> Iterator[BinaryIO]:
        """Open one of `files` for reading. Raises Unreadable, also where it is now a link or no regular file."""
        with (
            self._translated(file),
            self._descriptor(file) as descriptor,
            os.fdopen(descriptor, "rb", closefd=False) as opened,
        ):
            yield opened

    def data(self, file: PurePosixPath, most: int = LARGEST_DOCUMENT) -> bytes:
        """The whole of one file. Raises Unreadable, and UsageError where it is larger than `most` bytes."""
        with self.opened(file) as opened:
            data = opened.read(most + 1)
        if len(data) > most:
            raise UsageError(f"{self._named(file)} is larger than {most // 1024**2} MB.", hint="Import it in parts.")
        return data

    def head(self, file: PurePosixPath, size: int = 4096) -> bytes:
        """The first bytes of one file."""
        with self.opened(file) as opened:
            return opened.read(size)

    def text(self, file: PurePosixPath, most: int = LARGEST_DOCUMENT) -> str:
        """The whole of one file as text, without a byte order mark.

        A few bytes that are no UTF-8 become U+FFFD, and their lines are named in `damaged`: they cost no more than
        themselves. Raises as `data`, and UsageError for what is no UTF-8 at all.
        """
        data = self.data(file, most).removeprefix(codecs.BOM_UTF8)
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError as error:
            broken = len(data) - len(data.decode("utf-8", "ignore").encode())
            if b"\0" in data or broken * _BYTES_PER_BROKEN > len(data):
                raise self._not_utf8(file) from error
        lines = enumerate(data.split(b"\n"), 1)
        self.damaged[self._named(file)] = [number for number, line in lines if not is_utf8(line)]
        return data.decode("utf-8", "replace")

    def document(self, file: PurePosixPath) -> Any:
        """The JSON value of one file, read once. Raises as `data`, and UsageError for no UTF-8, no JSON or nesting too
        deep."""
        if file not in self._documents:
            try:
                data = self.data(file, LARGEST_JSON).removeprefix(codecs.BOM_UTF8)
                self._documents[file] = json_value(data.decode("utf-8"), self._named(file))
            except UnicodeDecodeError:
                self._documents[file] = self._not_utf8(file)
            except UsageError as error:
                self._documents[file] = error
        found = self._documents[file]
        if isinstance(found, UsageError):
            raise found
        return found

    def is_database(self, file: PurePosixPath) -> bool:
        """Whether it begins as a SQLite database does."""
        return self.head(file, len(DATABASE_HEADER)) == DATABASE_HEADER

    def columns(self, file: PurePosixPath, table: str) -> frozenset[str]:
        """The columns of a table of a SQLite database; none where the file or the table is something else.

        Raises InspectorError kinds.
        """
        if not self.is_database(file):
            return frozenset()
        self._check_database(file)
        path = self._at(file)
        with closing(connect_read_only_blocking(path)) as connection, translate_sqlite_errors(path):
            return frozenset(columns_of(connection, table) if table in tables_of_rows(connection) else ())

    def modified(self, file: PurePosixPath) -> str:
        """When a file was last written, RFC 3339 in UTC: the date of what has none, which is then a guess."""
        with self._translated(file):
            seconds = self._at(file).stat(follow_symlinks=False).st_mtime
        moment = datetime.fromtimestamp(min(max(seconds, 0), _LAST_SECOND), UTC)
        return moment.isoformat(timespec="seconds")

    def state(self) -> str:
        """A text that changes when another program writes any of its files. SQLite's own side files do not count."""
        parts = []
        for file in self.files():
            if not file.name.endswith("-shm"):
                with self._translated(file):
                    status = self._at(file).stat(follow_symlinks=False)
                # SQLite creates an empty log when it reads a database that has none.
                if status.st_size or not file.name.endswith("-wal"):
                    parts.append(f"{self._at(file)} {status.st_ino} {status.st_size} {status.st_mtime_ns}")
        return "\n".join(parts)

    def _check_database(self, file: PurePosixPath) -> None:
        """Raises Unreadable for one that is cut off, and where SQLite would follow a link beside it."""
        with self.opened(file) as opened:
            head, size = opened.read(100), os.fstat(opened.fileno()).st_size
        page = int.from_bytes(head[16:18], "big")
        page = 65536 if page == 1 else page
        if page < 512 or size % page:
            what = "damaged" if page < 512 and len(head) == 100 else "cut off"
            raise Unreadable(f"{self._named(file)} is {what}.", hint="Copy it again, or restore a backup.")
        path = self._at(file)
        for beside in (path.with_name(path.name + suffix) for suffix in _BESIDE):
            if os.path.lexists(beside) and not stat.S_ISREG(beside.lstat().st_mode):
                raise Unreadable(f"{one_line(beside.name)} is not a regular file.", hint="Copy the database elsewhere.")

    def _at(self, file: PurePosixPath) -> Path:
        return self.path / file if self.is_folder else self.path

    def _named(self, file: PurePosixPath) -> str:
        return one_line(str(file))

    def _not_utf8(self, file: PurePosixPath) -> UsageError:
        return UsageError(f"{self._named(file)} is not UTF-8.", hint="Save the file as UTF-8 first.")

    @contextmanager
    def _translated(self, file: PurePosixPath) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            why = "is a link" if error.errno in _LINKS else f"cannot be read: {error.strerror or error}"
            raise Unreadable(f"{self._named(file)} {why}.", hint="Import it again.") from error

    @contextmanager
    def _descriptor(self, file: PurePosixPath) -> Iterator[int]:
        """Of a file below a folder every part is opened without following a link, and none leads out of it."""
        if not file.parts or file.is_absolute() or ".." in file.parts:
            raise Unreadable(f"{self._named(file)} is not in {self.name}.", hint="It is not opened.")
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        if not self.is_folder:
            with raw_descriptor(self.path, flags) as descriptor:
                self._check_regular(descriptor, file)
                yield descriptor
            return
        folder = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for part in file.parts[:-1]:
                below = os.open(part, flags | os.O_DIRECTORY, dir_fd=folder)
                os.close(folder)
                folder = below
            with raw_descriptor(file.name, flags, folder) as descriptor:
                self._check_regular(descriptor, file)
                yield descriptor
        finally:
            os.close(folder)

    def _check_regular(self, descriptor: int, file: PurePosixPath) -> None:
        found = os.fstat(descriptor)
        if found.st_nlink > 1:
            self.linked.add(self._named(file))
        if not stat.S_ISREG(found.st_mode):
            raise Unreadable(f"{self._named(file)} is not a regular file.", hint="Import it again.")

    def _walked(self) -> Iterator[PurePosixPath]:
        count = 0
        folders = [PurePosixPath()]
        while folders:
            folder = folders.pop()
            try:
                with os.scandir(self.path / folder) as scanned:
                    entries = sorted(islice(scanned, MOST_FILES + 1), key=lambda entry: entry.name)
            except OSError as error:
                self.unread[one_line(str(folder))] = error.strerror or "cannot be read"
                continue
            count += len(entries)
            if count > MOST_FILES:
                raise UsageError(
                    f"{self.name} has more than {MOST_FILES:,} files.", hint="Name the directory of the memories."
                )
            below = []
            for entry in entries:
                name = folder / entry.name
                if entry.is_dir(follow_symlinks=False):
                    if len(name.parts) < DEEPEST_FOLDER:
                        below.append(name)
                    else:
                        self.unread[one_line(str(name))] = "too deep"
                elif entry.is_file(follow_symlinks=False):
                    if _SECRETS.fullmatch(entry.name):
                        self.unread[one_line(str(name))] = "it may hold secrets"
                    else:
                        yield name
                else:
                    self.unread[one_line(str(name))] = "a link" if entry.is_symlink() else "not a regular file"
            folders += reversed(below)


def json_value(text: str, name: str) -> Any:
    """A JSON document of a file of that name. Half a character becomes U+FFFD, which any store can take, and a number
    too large for any is infinite.

    Raises UsageError for no JSON, NaN or Infinity, such a number alone, or nesting too deep.
    """
    try:
        value = json.loads(text, parse_constant=_refuse_constant, parse_int=integer_of)
    except json.JSONDecodeError as error:
        hint = "It may have been cut off; export it again."
        raise UsageError(f"{name} is not JSON (line {error.lineno:,}).", hint=hint) from error
    except ValueError as error:
        raise UsageError(f"{name} is not JSON: {error}.", hint="Take that out, or export it again.") from error
    except RecursionError as error:
        raise _too_deep(name) from error
    if isinstance(value, float) and math.isinf(value):
        raise UsageError(
            f"{name} is not JSON of memories: it is one number, too large to be read.",
            hint="This is hardly a file of memories.",
        )
    if _depth(value) > DEEPEST_JSON:
        raise _too_deep(name)
    return _whole_characters(value) if _HALF_A_CHARACTER.search(text) else value


def integer_of(digits: str) -> int | float:
    """An integer of JSON; infinite where it has more digits than Python reads."""
    try:
        return int(digits)
    except ValueError:
        return float(digits)


def _too_deep(name: str) -> UsageError:
    return UsageError(f"{name} is nested too deep.", hint="This is hardly a file of memories.")


def _whole_characters(value: Any) -> Any:
    written = json.dumps(value, ensure_ascii=False)
    if is_unicode(written):
        return value
    return json.loads(written.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))


def _refuse_constant(constant: str) -> None:
    raise ValueError(f"it contains {constant}, which is not a number")


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
