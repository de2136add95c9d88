"""Making a database where there is none, as ZeroClaw makes it at its first start."""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from pathlib import Path

from zeroclaw_tui.backends.sqlite.clock import utc_now
from zeroclaw_tui.backends.sqlite.connection import file_size, wal_file
from zeroclaw_tui.backends.sqlite.ddl import create_database
from zeroclaw_tui.config.document.replacing import put_new, sync_folder
from zeroclaw_tui.memory.errors import Refused, Unreadable
from zeroclaw_tui.scoring.profiles import parse_version

_ROOM = ".zeroclaw-tui-making-"


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

    An empty file (0 bytes) is replaced. Raises Refused where there is something already or nothing can be written.
    """
    target = Path(os.path.realpath(path))
    _check_free(target)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        room = Path(tempfile.mkdtemp(prefix=_ROOM, dir=target.parent))
        try:
            made = room / target.name
            create_database(made, generation, now=utc_now())
            with made.open("rb") as file:
                os.fsync(file.fileno())
            if target.exists():
                made.replace(target)
            else:
                put_new(made, target)
            sync_folder(target.parent)
        finally:
            shutil.rmtree(room, ignore_errors=True)
    except FileExistsError as error:
        raise _there_by_now(target) from error
    except OSError as error:
        raise Refused(f"{target} could not be made: {error.strerror or error}.", title="Not written") from error
    except sqlite3.Error as error:
        raise Unreadable(f"{target} could not be made: {error}.", hint="Check the space on its disk.") from error


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
