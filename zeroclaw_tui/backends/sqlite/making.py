"""Making a database where there is none, as ZeroClaw makes it at its first start."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

from zeroclaw_tui.backends.sqlite.clock import utc_now
from zeroclaw_tui.backends.sqlite.connection import wal_file
from zeroclaw_tui.backends.sqlite.ddl import create_database
from zeroclaw_tui.config.document.replacing import (
    FULL,
    MAKE_ROOM,
    is_full,
    keep_looks,
    make_folder,
    put_new,
    remove_left_over,
    sync_folder,
    work_folder,
)
from zeroclaw_tui.config.layouts import file_size
from zeroclaw_tui.memory.errors import DiskFull, InspectorError, Refused, Unreadable
from zeroclaw_tui.scoring.profiles import parse_version


def generation_made_by(version: str) -> str:
    """The schema generation ("G1" to "G4") that a version of ZeroClaw makes. Raises WrongUse for what is no version."""
    numbers = parse_version(version)
    if numbers < (0, 5, 7):
        return "G1"
    if numbers < (0, 8, 0):
        return "G2"
    return "G3" if numbers < (0, 8, 3) else "G4"


def make_database(path: Path, generation: str) -> None:
    """Put an empty database at `path`, with the folders above it, in one step. Blocks: run it in a thread.

    The file is 0600, and SQLite gives its -wal and -shm the same mode; an empty one (0 bytes) is replaced and keeps its
    mode and owner. Raises Refused where there is something already or nothing can be written.
    """
    target = Path(os.path.realpath(path))
    _check_free(target)
    try:
        make_folder(target.parent)
        remove_left_over(target.parent)
        with work_folder(target) as room:
            made = room / target.name
            create_database(made, generation, now=utc_now())
            with made.open("rb") as file:
                keep_looks(file.fileno(), target)
                os.fsync(file.fileno())
            if target.exists():
                made.replace(target)
            else:
                put_new(made, target)
            sync_folder(target.parent)
    except FileExistsError as error:
        raise _there_by_now(target) from error
    except (OSError, sqlite3.Error) as error:
        raise could_not_be_made(target, error) from error


def could_not_be_made(path: Path, error: OSError | sqlite3.Error) -> InspectorError:
    """The sentence for what SQLite or the system answers to the making of a database. Blocks."""
    name = getattr(error, "sqlite_errorname", None) or ""
    folder = next(folder for folder in path.parents if folder.is_dir())
    if isinstance(error, OSError) and error.errno not in FULL:
        return Refused(f"{path} could not be made: {error.strerror or error}.", title="Not written")
    if isinstance(error, OSError) or name == "SQLITE_FULL" or is_full(folder):
        return DiskFull(f"{path} could not be made: the disk is full.", hint=f"Nothing is in its place. {MAKE_ROOM}")
    return Unreadable(f"{path} could not be made: {error}.", hint="Nothing is in its place; check its disk.")


def _check_free(path: Path) -> None:
    if file_size(wal_file(path)):
        raise Refused(
            f"{wal_file(path)} holds writes of a database that is not there.",
            hint="Keep it, and restore the database from a backup; or move it away first.",
        )
    if file_size(path):
        raise _there_by_now(path)


def _there_by_now(path: Path) -> Refused:
    return Refused(f"There is a file {path} already.", hint="Open that one.")
