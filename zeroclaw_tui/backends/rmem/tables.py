"""The tables of R-Mem (rustmem) 0.1.0 to 0.3.0 as memories.

They are made by https://github.com/Adaimade/R-Mem, src/store.rs and src/graph.rs. Times are UTC in whole seconds
without a zone, vectors little-endian float32, ids UUIDs.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from zeroclaw_tui.backends.foreign import key_of
from zeroclaw_tui.backends.loaded import Loaded
from zeroclaw_tui.files.database import (
    as_text,
    columns_of,
    connect_read_only_blocking,
    tables_of_rows,
    translate_sqlite_errors,
)
from zeroclaw_tui.memory.entry import Handle, MemoryEntry
from zeroclaw_tui.memory.errors import InspectorError, NothingYet, Unreadable
from zeroclaw_tui.scoring.vectors import plain_cosines

if TYPE_CHECKING:
    import numpy as np

Schema = Mapping[str, frozenset[str]]
"""The columns of each table; the file names no version, which follows from them."""

RELATION = "semantic:relation"
SUPERSEDED, DELETED = "archive:superseded", "archive:deleted"
"""Kinds of the memories shown for the tables `relations` and `archive`; one of the table `memories` has none."""

_REQUIRED: Schema = {
    "memories": frozenset({"id", "user_id", "text", "embedding"}),
    "history": frozenset({"memory_id", "action", "old_text", "new_text"}),
    "relations": frozenset({"user_id", "source", "relation", "destination", "valid"}),
}
_ARCHIVE = frozenset({"id", "user_id", "text", "embedding", "reason", "superseded_by"})
_HINT = "Pass the path of a rustmem.db. It is db_path under [store] in rustmem.toml."
_BATCH = 500


class Row(NamedTuple):
    """A row as a memory, with its vector as stored; `ends` are the source and the destination of a relation."""

    entry: MemoryEntry
    table: str
    rowid: int
    vector: bytes | None = None
    ends: tuple[str, ...] = ()


@dataclass(frozen=True)
class Contents(Loaded):
    """All memories of a file: those of the table `memories`, then the archive, then the relations."""

    rows: Sequence[Row] = ()
    schema: Schema = field(default_factory=dict)

    @property
    def version(self) -> str:
        """The R-Mem that made the file, or upgraded it last."""
        if not self.has_archive:
            return "0.1.x"
        return "0.3.0" if "category" in self.schema["memories"] else "0.2.x"

    @property
    def has_archive(self) -> bool:
        """Whether the file has the archive and the keyword index, which R-Mem has since 0.2.0."""
        return "archive" in self.schema

    def of(self, table: str, user: str) -> Sequence[Row]:
        """One user's rows of a table, in the order of their rowids."""
        return self._groups[table, user]

    @cached_property
    def row_by_handle(self) -> Mapping[Handle, Row]:
        """The rows by the handles of their memories."""
        return {row.entry.handle: row for row in self.rows}

    @cached_property
    def _groups(self) -> Mapping[tuple[str, str], Sequence[Row]]:
        groups: defaultdict[tuple[str, str], list[Row]] = defaultdict(list)
        for row in self.rows:
            groups[row.table, row.entry.namespace or ""].append(row)
        return groups


def is_rmem(path: Path) -> bool:
    """Whether a file is R-Mem's, by its tables; False for one that cannot be read. Blocks."""
    try:
        with _opened(path) as connection:
            return _read_schema(connection) is not None
    except InspectorError:
        return False


def read_contents(path: Path) -> Contents:
    """Read all memories in one transaction. Blocks. Raises Unreadable, Corrupt, Locked."""
    with _opened(path) as connection:
        connection.execute("BEGIN")
        schema = _read_schema(connection)
        if schema is None:
            raise Unreadable(
                f"{path} is not an R-Mem database: it lacks the tables memories, history or relations.", hint=_HINT
            )
        rows = [*_read_memories(connection, schema)]
        if "archive" in schema:
            rows += _read_archive(connection, schema)
        rows += _read_relations(connection, schema)
    return Contents(tuple(row.entry for row in rows), rows, schema)


@contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    try:
        with closing(connect_read_only_blocking(path)) as connection, translate_sqlite_errors(path):
            yield connection
    except NothingYet as error:
        # Only R-Mem makes such a file.
        raise Unreadable(error.message, hint=_HINT) from error


def _read_schema(connection: sqlite3.Connection) -> Schema | None:
    tables = [table for table in tables_of_rows(connection) if table in (*_REQUIRED, "archive")]
    schema = {table: frozenset(columns_of(connection, table)) for table in tables}
    if any(not columns <= schema.get(table, frozenset()) for table, columns in _REQUIRED.items()):
        return None
    if not schema.get("archive", frozenset()) >= _ARCHIVE:
        schema.pop("archive", None)
    return schema


def _select(connection: sqlite3.Connection, schema: Schema, table: str, *columns: str) -> sqlite3.Cursor:
    """The rowid and these columns of every row; NULL for a column that this version of R-Mem does not have."""
    selected = ", ".join(column if column in schema[table] else "NULL" for column in columns)
    return connection.execute(f"SELECT rowid, {selected} FROM {table} ORDER BY rowid")


def _read_memories(connection: sqlite3.Connection, schema: Schema) -> Iterator[Row]:
    columns = ("id", "user_id", "text", "category", "embedding", "created_at", "updated_at")
    for rowid, id, user, text, category, vector, created, updated in _select(  # noqa: A001
        connection, schema, "memories", *columns
    ):
        yield _row(
            "memories", rowid, created, vector,
            id=as_text(id),
            key=key_of("rmem", as_text(id)),
            content=as_text(text),
            category="misc" if category is None else as_text(category),
            updated_at=_text_or_none(updated),
            namespace=as_text(user),
        )  # fmt: skip


def _read_archive(connection: sqlite3.Connection, schema: Schema) -> Iterator[Row]:
    columns = ("id", "user_id", "text", "embedding", "reason", "superseded_by", "archived_at", "original_created_at")
    versions = Counter[str]()
    for rowid, own_id, user, text, vector, reason, newer, archived, created in _select(
        connection, schema, "archive", *columns
    ):
        id, newer_id = as_text(own_id), as_text(newer)  # noqa: A001
        if as_text(reason) == "SUPERSEDED":
            newer_id = newer_id or memory_id(id)
            versions[newer_id] += 1
            key, kind = f"{key_of('rmem', newer_id)}_v{versions[newer_id]}", SUPERSEDED
        else:
            # R-Mem may store the same id again, so the deleted memory gets another one.
            key, kind, newer_id, id = f"{key_of('rmem', id)}_deleted", DELETED, "", f"{id}:deleted"  # noqa: A001
        yield _row(
            "archive", rowid, archived if created is None else created, vector,
            id=id,
            key=key,
            content=as_text(text),
            category="archive",
            updated_at=_text_or_none(archived),
            namespace=as_text(user),
            superseded_by=newer_id,
            kind=kind,
        )  # fmt: skip


def _read_relations(connection: sqlite3.Connection, schema: Schema) -> Iterator[Row]:
    columns = ("user_id", "source", "relation", "destination", "created_at", "updated_at", "valid")
    for rowid, *texts, created, updated, valid in _select(connection, schema, "relations", *columns):
        user, source, relation, destination = map(as_text, texts)
        hashed = hashlib.sha256("\0".join((user, source, relation, destination)).encode("utf-8", "surrogateescape"))
        row = _row(
            "relations", rowid, created, None,
            id=f"relation:{rowid}",
            key=f"rmem_rel_{hashed.hexdigest()[:8]}",
            content=f"{source} {relation} {destination}",
            category="relation",
            updated_at=_text_or_none(updated),
            namespace=user,
            # R-Mem does not keep which relation replaced it.
            superseded_by=None if valid == 1 else "",
            kind=RELATION,
        )  # fmt: skip
        yield row._replace(ends=(source, destination))


def _row(table: str, rowid: int, created: Any, vector: Any, **fields: Any) -> Row:
    """A row whose handle sorts by the time of storing: three tables are one list here."""
    vector = vector if isinstance(vector, bytes) else None
    entry = MemoryEntry(
        timestamp=as_text(created),
        handle=f"{as_text(created)} {table} {rowid:012}",
        embedding_dimensions=None if vector is None else len(vector) // 4,
        **fields,
    )
    return Row(entry, table, rowid, vector)


def cosines(rows: Sequence[Row], vector: np.ndarray) -> dict[Handle, float]:
    """The cosine of each row to a vector, without the rows whose vector is missing or has another length."""
    import numpy as np

    fitting = [row for row in rows if row.vector is not None and len(row.vector) == 4 * len(vector)]
    scores: dict[Handle, float] = {}
    for start in range(0, len(fitting), _BATCH):
        batch = fitting[start : start + _BATCH]
        matrix = np.frombuffer(b"".join(row.vector or b"" for row in batch), dtype="<f4")
        found = plain_cosines(vector, matrix.reshape(len(batch), len(vector))).tolist()
        scores.update(zip((row.entry.handle for row in batch), found, strict=True))
    return scores


def memory_id(id: str) -> str:
    """The id of the memory whose earlier text or deleted copy this row of the archive is."""
    return id.removesuffix(":deleted").partition(":superseded:")[0]


def _text_or_none(value: object) -> str | None:
    return None if value is None else as_text(value)
