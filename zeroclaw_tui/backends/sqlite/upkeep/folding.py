"""Folding the write-ahead log into its database."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from zeroclaw_tui.backends.sqlite.connection import wal_file
from zeroclaw_tui.backends.sqlite.upkeep.alone import holders, refuse_holders
from zeroclaw_tui.backends.sqlite.writing import Writing
from zeroclaw_tui.config.layouts import file_size
from zeroclaw_tui.memory.errors import Locked


def fold_log(writing: Writing) -> int:
    """Write the log back and cut it to nothing; gives its bytes before.

    Only where no other program is known to have the database open. Raises Locked, also when a reader is in the way.
    """
    path: Path = writing.path
    refuse_holders(path, holders(path) or ())
    before = file_size(wal_file(path))
    is_busy = _checkpoint(writing.connection)
    if is_busy:
        raise Locked(f"{path} is being read, so its log could only be folded in partly.", hint="Try again in a moment.")
    return before


def _checkpoint(connection: sqlite3.Connection) -> bool:
    is_busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    return bool(is_busy)
