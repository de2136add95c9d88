"""Checking a copy of a database page by page."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from zeroclaw_tui.backends.sqlite.connection import any_text, as_text
from zeroclaw_tui.backends.sqlite.schema import Schema
from zeroclaw_tui.backends.sqlite.upkeep.copying import copy_database
from zeroclaw_tui.backends.sqlite.upkeep.stoppable import Stoppable
from zeroclaw_tui.config.document.replacing import temporary_folder

MOST_PROBLEMS = 10


@dataclass(frozen=True, slots=True)
class Integrity:
    """`problems` are SQLite's own sentences on the pages, none where all is well, at most MOST_PROBLEMS.

    `index_in_step` says whether the keyword index holds exactly the words of the memories; None where there is none.
    """

    problems: tuple[str, ...]
    index_in_step: bool | None


def check_integrity(path: Path, schema: Schema, stoppable: Stoppable) -> Integrity:
    """Copy the database into a folder that only this user may enter, check the copy, and remove it again.

    Raises Unreadable without room, and what reading raises.
    """
    with temporary_folder("zeroclaw-tui-check-") as folder:
        copy = folder / "copy.db"
        copy_database(path, copy, stoppable)
        with closing(sqlite3.connect(copy, isolation_level=None, check_same_thread=False)) as connection:
            connection.text_factory = any_text
            stoppable.using(connection)
            try:
                return Integrity(_problems(connection), _is_in_step(connection) if schema.has_fts else None)
            finally:
                stoppable.using(None)


def _problems(connection: sqlite3.Connection) -> tuple[str, ...]:
    try:
        found = connection.execute(f"PRAGMA integrity_check({MOST_PROBLEMS})").fetchall()
    except sqlite3.DatabaseError as error:
        if _is_interrupt(error):
            raise
        return (str(error),)
    sentences = tuple(as_text(sentence) for (sentence,) in found)
    return () if sentences == ("ok",) else sentences


def _is_in_step(connection: sqlite3.Connection) -> bool:
    try:
        # The 1 has FTS5 compare its words with the table they come from, in every SQLite version.
        connection.execute("INSERT INTO memories_fts(memories_fts, rank) VALUES ('integrity-check', 1)")
    except sqlite3.DatabaseError as error:
        if _is_interrupt(error):
            raise
        return False
    return True


def _is_interrupt(error: sqlite3.Error) -> bool:
    return getattr(error, "sqlite_errorname", "") == "SQLITE_INTERRUPT"
