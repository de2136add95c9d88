"""The lines of a file that may be of any size, each no longer than a memory can be."""

from __future__ import annotations

import codecs
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from zeroclaw_tui.memory.errors import NotThere, Refused, Unreadable, WrongUse
from zeroclaw_tui.memory.text import one_line

LONGEST = 256 * 1024 * 1024
"""How many bytes one memory of a file may take."""


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """The file for reading. Raises NotThere, Unreadable, and WrongUse for a folder or an empty file, in a sentence."""
    name = one_line(str(path))
    try:
        if path.is_dir():
            raise WrongUse(f"{name} is a folder.", hint="Name the file to import.")
        if path.exists() and not path.is_file():
            raise WrongUse(f"{name} is no regular file.", hint="It is read more than once; save it to a file first.")
        file = path.open("rb")
    except FileNotFoundError as error:
        raise NotThere(f"There is no file {name}.", hint="Name the file to import.") from error
    except OSError as error:
        raise Unreadable(f"{name} cannot be read: {error.strerror}.", hint="Check its permissions.") from error
    with file:
        if not os.fstat(file.fileno()).st_size:
            raise WrongUse(f"{name} is empty.", hint="`zeroclaw memory export FILE` writes one with memories.")
        try:
            yield file
        except OSError as error:
            raise Unreadable(f"{name} cannot be read further: {error.strerror}.", hint="Copy it again.") from error


def each_line(file: BinaryIO, longest: int = LONGEST) -> Iterator[tuple[int, bytes]]:
    """Every line with its number from 1 on and its line end. Raises WrongUse for one that is too long.

    A byte order mark before the first is left out.
    """
    file.seek(0)
    number = 0
    while line := file.readline(longest + 1):
        number += 1
        if len(line) > longest:
            raise too_long(number)
        if number == 1:
            line = line.removeprefix(codecs.BOM_UTF8)
            if line.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
                raise not_utf8(1)
        yield number, line


def too_long(number: int) -> WrongUse:
    """The error for a line or a memory no store would hold."""
    return WrongUse(
        f"Line {number:,} is longer than {LONGEST // 1024**2} MB, more than a memory may take here.",
        hint="This is hardly a file of memories.",
    )


def not_utf8(number: int) -> WrongUse:
    """The error for a line in another encoding."""
    return WrongUse(f"Line {number:,} is not UTF-8.", hint="Save the file as UTF-8 first.")


def state_of(path: Path) -> str:
    """What changes when another program writes the file. Raises Refused where it has gone."""
    try:
        status = path.stat()
    except OSError as error:
        raise Refused(f"{one_line(str(path))} has gone meanwhile.", hint="Nothing was imported.") from error
    return f"{status.st_ino} {status.st_size} {status.st_mtime_ns}"
