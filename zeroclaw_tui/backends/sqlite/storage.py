"""What a database takes on the disk, and what is in the same folder."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from zeroclaw_tui.backends.sqlite.schema import Schema
from zeroclaw_tui.files.database import connect_read_only_blocking, translate_sqlite_errors, wal_file
from zeroclaw_tui.files.disk import file_size
from zeroclaw_tui.memory.errors import InspectorError
from zeroclaw_tui.memory.statistics import CacheUse, Storage

_RESPONSE_CACHE = "response_cache.db"
_OTHER_DATABASES = ("audit.db", _RESPONSE_CACHE, "discord.db")
"""ZeroClaw's own other databases in the same folder (audit.db and discord.db from 0.5.7 on)."""


def storage_of(connection: sqlite3.Connection, schema: Schema, path: Path) -> Storage:
    """What the file takes, and what is next to it; for a thread of its own."""
    page_size, pages, free = (
        connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_size", "page_count", "freelist_count")
    )
    problems: list[str] = []
    return Storage(
        file=file_size(path),
        write_ahead_log=file_size(wal_file(path)),
        page_size=page_size,
        pages=pages,
        free_pages=free,
        embedding_cache=_embedding_cache(connection, schema),
        response_cache=_response_cache(path.with_name(_RESPONSE_CACHE), problems),
        side_files=_side_files(path, problems),
        problems=tuple(problems),
    )


def _embedding_cache(connection: sqlite3.Connection, schema: Schema) -> CacheUse | None:
    if "embedding_cache" not in schema.tables:
        return None
    rows, size = connection.execute(
        "SELECT count(*), coalesce(sum(length(embedding)), 0) FROM embedding_cache"
    ).fetchone()
    return CacheUse(rows, size)


def _response_cache(path: Path, problems: list[str]) -> CacheUse | None:
    """The answers ZeroClaw keeps (>= 0.1.2, off unless the config says so)."""
    if file_size(path) == 0:
        return None
    statement = (
        "SELECT count(*), coalesce(sum(length(CAST(response AS BLOB))), 0), coalesce(sum(hit_count), 0) "
        "FROM response_cache"
    )
    try:
        with closing(connect_read_only_blocking(path)) as connection, translate_sqlite_errors(path):
            rows, size, hits = connection.execute(statement).fetchone()
    except InspectorError as error:
        problems.append(str(error))
        return None
    return CacheUse(rows, size, hits)


def _side_files(path: Path, problems: list[str]) -> tuple[tuple[str, int], ...]:
    """Names and sizes, the biggest first, without the database itself and its log."""
    # The -shm file is only the index of the log, made and removed as programs come and go.
    own = (path.name, f"{path.name}-wal", f"{path.name}-shm")
    found: list[tuple[str, int]] = []
    try:
        for file in path.absolute().parent.iterdir():
            of_database = file.name.startswith((f"{path.name}-", f"{path.name}.")) or file.name.startswith(
                _OTHER_DATABASES
            )
            if of_database and file.name not in own and file.is_file():
                found.append((file.name, file_size(file)))
    except OSError as error:
        problems.append(f"The directory of {path.name} cannot be listed: {error.strerror}.")
    return tuple(sorted(found, key=lambda item: (-item[1], item[0])))
