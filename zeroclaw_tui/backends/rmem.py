"""R-Mem's database: its tables as read-only memories, and R-Mem's own recall, including its faults.

The tables are those of R-Mem (rustmem) 0.2.0 to 0.3.0, https://github.com/Adaimade/R-Mem, src/store.rs and
src/graph.rs. Times are UTC in whole seconds without a zone, vectors little-endian float32, ids UUIDs. Its search
(src/memory.rs) selects memories by keywords, ranks them by cosine, adds archived texts if all scores are low, and adds
relations with a fixed score. The constants are R-Mem's defaults; rustmem.toml may set others, but it contains API keys
and is not read.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from zeroclaw_tui.backends.about import About
from zeroclaw_tui.backends.base import Entries
from zeroclaw_tui.backends.cancellation import ReadWorkerPool
from zeroclaw_tui.backends.fallback import ignored_parts
from zeroclaw_tui.backends.foreign import ForeignFile, key_of
from zeroclaw_tui.backends.health import ContentRevision
from zeroclaw_tui.backends.loaded import Loaded
from zeroclaw_tui.backends.upkeep import Upkeep
from zeroclaw_tui.files.database import columns_of, connect_read_only_blocking, tables_of_rows, translate_sqlite_errors
from zeroclaw_tui.memory.entry import Handle, MemoryEntry, as_text
from zeroclaw_tui.memory.errors import NothingYet, Unreadable
from zeroclaw_tui.memory.recall import ScoredEntry
from zeroclaw_tui.memory.text import WHITE_SPACE, cut, one_line
from zeroclaw_tui.scoring.evidence import OwnEvidence
from zeroclaw_tui.scoring.profiles import OwnRule, Trial, float32
from zeroclaw_tui.scoring.stages import MAX_PATTERN_BYTES, plain_cosines

if TYPE_CHECKING:
    import numpy as np


Schema = Mapping[str, frozenset[str]]
"""The columns of each table. They determine the version, which the file does not contain."""

RELATION = "semantic:relation"
SUPERSEDED, DELETED = "archive:superseded", "archive:deleted"
"""The kinds of memories from the tables `relations` and `archive`; those from the table `memories` have none."""

_REQUIRED: Schema = {
    "memories": frozenset({"id", "user_id", "text", "embedding"}),
    "history": frozenset({"memory_id", "action", "old_text", "new_text"}),
    "relations": frozenset({"user_id", "source", "relation", "destination", "valid"}),
    "archive": frozenset({"id", "user_id", "text", "embedding", "reason", "superseded_by"}),
}
_HINT = "Pass the path of a rustmem.db. It is db_path under [store] in rustmem.toml."


class Row(NamedTuple):
    """A row as a memory, with its vector as stored; `ends` are the source and the destination of a relation."""

    entry: MemoryEntry
    table: str
    rowid: int
    vector: bytes | None = None
    ends: tuple[str, ...] = ()


@dataclass(frozen=True)
class Contents(Loaded):
    """All memories of a file: the table `memories`, then the archive, then the relations."""

    rows: Sequence[Row] = ()
    version: str = ""
    """The R-Mem version that created or last upgraded the file."""

    def of(self, table: str, user: str) -> Sequence[Row]:
        """Get one user's rows of a table, in the order of their rowids."""
        return self._groups[table, user]

    @cached_property
    def _groups(self) -> Mapping[tuple[str, str], Sequence[Row]]:
        groups: defaultdict[tuple[str, str], list[Row]] = defaultdict(list)
        for row in self.rows:
            groups[row.table, row.entry.namespace or ""].append(row)
        return groups


@contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    try:
        with closing(connect_read_only_blocking(path)) as connection, translate_sqlite_errors(path):
            yield connection
    except NothingYet as error:
        # Only R-Mem creates such a file.
        raise Unreadable(error.message, hint=_HINT) from error


def _read_schema(connection: sqlite3.Connection) -> Schema | None:
    tables = [table for table in tables_of_rows(connection) if table in _REQUIRED]
    schema = {table: frozenset(columns_of(connection, table)) for table in tables}
    is_complete = all(columns <= schema.get(table, frozenset()) for table, columns in _REQUIRED.items())
    return schema if is_complete else None


def _select(connection: sqlite3.Connection, schema: Schema, table: str, *columns: str) -> sqlite3.Cursor:
    """Select the rowid and some columns of every row, with NULL for columns missing in this version of R-Mem."""
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
            updated_at=None if updated is None else as_text(updated),
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
            # R-Mem may use the same id again, so the deleted memory gets a different one.
            key, kind, newer_id, id = f"{key_of('rmem', id)}_deleted", DELETED, "", f"{id}:deleted"  # noqa: A001
        yield _row(
            "archive", rowid, archived if created is None else created, vector,
            id=id,
            key=key,
            content=as_text(text),
            category="archive",
            updated_at=None if archived is None else as_text(archived),
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
            updated_at=None if updated is None else as_text(updated),
            namespace=user,
            # R-Mem does not record which relation replaced it.
            superseded_by=None if valid == 1 else "",
            kind=RELATION,
        )  # fmt: skip
        yield row._replace(ends=(source, destination))


def _row(table: str, rowid: int, created: Any, vector: Any, **fields: Any) -> Row:
    """Make a row. Its handle sorts by the time of storing, as three tables become one list."""
    vector = vector if isinstance(vector, bytes) else None
    entry = MemoryEntry(
        timestamp=as_text(created),
        handle=f"{as_text(created)} {table} {rowid:012}",
        embedding_dimensions=None if vector is None else len(vector) // 4,
        **fields,
    )
    return Row(entry, table, rowid, vector)


def cosines(rows: Sequence[Row], vector: np.ndarray) -> dict[Handle, float]:
    """Compute the cosine of each row and a vector, except rows whose vector is missing or has another length."""
    import numpy as np

    fitting = [row for row in rows if row.vector is not None and len(row.vector) == 4 * len(vector)]
    matrix = np.frombuffer(b"".join(row.vector or b"" for row in fitting), dtype="<f4")
    scores = plain_cosines(vector, matrix.reshape(len(fitting), len(vector))).tolist()
    return dict(zip((row.entry.handle for row in fitting), scores, strict=True))


def memory_id(id: str) -> str:
    """Get the id of the memory from the id of its archived text or deleted copy."""
    return id.removesuffix(":deleted").partition(":superseded:")[0]


STAGE = "rmem"
"""The stage of every result, from any part of R-Mem's recall."""
DEFAULT_LIMIT = 10
"""The default limit of `rustmem search`; the server and the MCP tools have 20."""

_MAX_LIMIT = 1000
_RELATION_SCORE = float32(0.9)
_ARCHIVE_BELOW = 0.4
_MAX_RELATIONS = 20
_MAX_WORDS = 500
_MIN_WORD_BYTES = 3
"""Shorter words are ignored: "the" and each Chinese character are long enough, "hi" is not."""
_PICKED_PER_RESULT = 3
_PUNCTUATION = str.maketrans("", "", "，。？！,.?!")
_SPACES = str.maketrans(dict.fromkeys(WHITE_SPACE, " "))
_NOT_FROM_QUERY = ("SQLITE_INTERRUPT", "SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_NOMEM", "SQLITE_IOERR")
"""SQLite errors that are not caused by the query; R-Mem treats all others as an answer without hits."""


def recall_for_user(
    connection: sqlite3.Connection, contents: Contents, user: str, query: str, vector: np.ndarray | None, limit: int
) -> tuple[Sequence[ScoredEntry], str | None]:
    """Recall as R-Mem does for one user, best first; `vector` is the query's, if there is one.

    Also return SQLite's message if the keyword index fails.
    """
    query, limit = query.encode("utf-8", "replace").decode(), max(0, min(limit, _MAX_LIMIT))
    memories = contents.of("memories", user)
    picked, error = _pick_by_keywords(connection, memories, keyword_expression(query), limit)
    if vector is not None:
        # R-Mem skips rows whose date it cannot read.
        results = _rank([row for row in picked or memories if row.entry.timestamp], vector, limit, "active")
        best = (results[0].score or 0.0) if results else 0.0
        if best < float32(_ARCHIVE_BELOW):
            results += _rank(contents.of("archive", user), vector, limit, "archive")
    else:
        results = [_result(row.entry, None, "active") for row in picked or ()]
    results = best_first(results + _find_relations(connection, contents.of("relations", user), query))
    # Drop a result with the same text as the one before.
    contents_before = [None, *(one.entry.content for one in results)]
    results = [one for one, before in zip(results, contents_before, strict=False) if one.entry.content != before]
    return results[:limit], error


def best_first(results: Sequence[ScoredEntry]) -> list[ScoredEntry]:
    """Sort by score; equal scores keep their order, and results without a score come last."""
    ordered = sorted(results, key=lambda result: (result.score is None, -(result.score or 0.0)))
    return [result._replace(rank=rank) for rank, result in enumerate(ordered, 1)]


def keyword_expression(query: str) -> str:
    """R-Mem's FTS5 expression for a query, without quoting; "" if no word is long enough."""
    return " OR ".join(word for word in query.translate(_SPACES).split(" ") if len(word.encode()) >= _MIN_WORD_BYTES)


def _pick_by_keywords(
    connection: sqlite3.Connection, memories: Sequence[Row], expression: str, limit: int
) -> tuple[Sequence[Row] | None, str | None]:
    """Select the oldest keyword hits, three for each wanted result; None if there are none, so that all are ranked.
    Also return SQLite's message if the keyword index cannot parse the query."""
    if not expression:
        return None, None
    statement = "SELECT rowid FROM memories_fts WHERE memories_fts MATCH ? ORDER BY rowid"
    try:
        hits = {rowid for (rowid,) in connection.execute(statement, (expression,))}
    except sqlite3.DatabaseError as error:
        if getattr(error, "sqlite_errorname", "").startswith(_NOT_FROM_QUERY):
            raise
        return None, cut(one_line(str(error)), 80)
    return [row for row in memories if row.rowid in hits][: limit * _PICKED_PER_RESULT] or None, None


def _rank(rows: Sequence[Row], vector: np.ndarray, limit: int, source: str) -> list[ScoredEntry]:
    """Rank rows by cosine; a vector of another length scores 0, and rows without a vector are left out."""
    scores = cosines(rows, vector)
    entries = [row.entry for row in rows if row.vector is not None]
    ordered = sorted(entries, key=lambda entry: -scores.get(entry.handle, 0.0))
    return [_result(entry, scores.get(entry.handle, 0.0), source) for entry in ordered[:limit]]


def _find_relations(connection: sqlite3.Connection, rows: Sequence[Row], query: str) -> list[ScoredEntry]:
    """Find relations whose source or destination contains a word of the query; `%` and `_` are wildcards."""
    lowered = (word.lower().translate(_PUNCTUATION) for word in query.translate(_SPACES).split(" "))
    # R-Mem itself fails on more or longer words, because of SQLite's limits.
    words = [word for word in lowered if 1 < len(word.encode()) <= MAX_PATTERN_BYTES - len("%%")][:_MAX_WORDS]
    if not words:
        return []
    numbers = range(1, len(words) + 1)
    conditions = " OR ".join(f"(LOWER(source) LIKE ?{n} OR LOWER(destination) LIKE ?{n})" for n in numbers)
    statement = f"SELECT rowid FROM relations WHERE valid = 1 AND ({conditions}) ORDER BY mentions DESC, rowid"
    by_rowid = {row.rowid: row.entry for row in rows}
    rowids = [rowid for (rowid,) in connection.execute(statement, [f"%{word}%" for word in words])]
    entries = [by_rowid[rowid] for rowid in rowids if rowid in by_rowid]
    return [_result(entry, _RELATION_SCORE, "graph") for entry in entries[:_MAX_RELATIONS]]


def _result(entry: MemoryEntry, score: float | None, source: str) -> ScoredEntry:
    cosine = None if entry.kind == RELATION else score
    return ScoredEntry(entry, 0, score, vector_score=cosine, stage=STAGE, source=source)


NOT_READ = "Only R-Mem's own agents read this, not ZeroClaw."
READ_ONLY = (
    "R-Mem databases are read-only here, because R-Mem keeps each deleted text in its archive and history. Change "
    "memories with `rustmem`, or copy them to another store with `zeroclaw memory copy`."
)
WHY_NOT = {
    "sessions": "R-Mem has no sessions. Its scope is the user_id, shown as the namespace.",
    "agents": "R-Mem does not distinguish agents. Its scope is the user_id, shown as the namespace.",
    "pinned": "R-Mem cannot pin a memory.",
    "importance": "R-Mem has no importance.",
    "write": READ_ONLY,
}


class RMemMemory(ForeignFile[Contents]):
    """A rustmem.db of R-Mem 0.2.0 to 0.3.0; its user_id is the namespace.

    The archive is shown as superseded memories, relations as memories of the kind "semantic:relation".
    """

    name = "rmem"
    program = "R-Mem"
    about = About(
        not_read_because=NOT_READ,
        rule=OwnRule("R-Mem's own rule", DEFAULT_LIMIT),
        keeps_deleted="R-Mem keeps a copy of what it deletes in its archive, and the text in its history.",
    )
    why_not = WHY_NOT

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._reads = ReadWorkerPool(path)

    @property
    def upkeep(self) -> Upkeep:
        return Upkeep(history=self)

    def read(self) -> Contents:
        """Read all memories in one transaction."""
        with _opened(self.path) as connection:
            connection.execute("BEGIN")
            schema = _read_schema(connection)
            if schema is None:
                missing = "it lacks tables or columns of memories, history, relations or archive (R-Mem 0.2)"
                raise Unreadable(f"{self.path} is not an R-Mem database: {missing}.", hint=_HINT)
            readers = (_read_memories, _read_archive, _read_relations)
            rows = [row for read_rows in readers for row in read_rows(connection, schema)]
        version = "0.3.0" if "category" in schema["memories"] else "0.2.x"
        return Contents(tuple(row.entry for row in rows), rows, version)

    def describe(self, contents: Contents) -> Iterator[str]:
        yield f"This is the store of R-Mem {contents.version}: {NOT_READ}"

    async def close(self) -> None:
        await self._reads.stop()

    async def history(self, id: str) -> Sequence[ContentRevision]:
        """List the changes of a memory that R-Mem recorded, oldest first."""
        statement = "SELECT action, old_text, new_text, created_at FROM history WHERE memory_id = ? ORDER BY rowid"

        def read(connection: sqlite3.Connection) -> Sequence[ContentRevision]:
            rows = connection.execute(statement, (memory_id(id),)).fetchall()
            return [ContentRevision(as_text(action), old, new, as_text(at)) for action, old, new, at in rows]

        return await self._reads.run(read)

    async def related(self, entry: MemoryEntry) -> Entries:
        """List the other versions of a memory and the relations whose source or destination it names; for a relation,
        the memories that name one of the two."""
        contents = await self._loaded()
        user = entry.namespace or ""
        row = next((row for row in contents.rows if row.entry.handle == entry.handle), None)
        if row is None:
            return []
        if row.table == "relations":
            return [other.entry for other in contents.of("memories", user) if _names_end(other.entry, row)]
        versions = [*contents.of("memories", user), *contents.of("archive", user)]
        found = [
            other.entry for other in versions if other is not row and memory_id(other.entry.id) == memory_id(entry.id)
        ]
        valid = [other for other in contents.of("relations", user) if other.entry.superseded_by is None]
        return found + [other.entry for other in valid if _names_end(entry, other)]

    async def search(self, trial: Trial, vector: np.ndarray | None = None, *, deep: bool = False) -> OwnEvidence:
        request, contents = trial.request, await self._loaded()
        users = contents.namespaces if request.namespace is None else (request.namespace,)
        lengths = {entry.embedding_dimensions for entry in contents.entries if entry.embedding_dimensions}
        is_usable = vector is not None and (not lengths or len(vector) in lengths)
        usable = vector.astype("float32") if vector is not None and is_usable else None

        query, limit = request.query, request.limit
        recalls = await self._reads.run(
            lambda connection: [recall_for_user(connection, contents, user, query, usable, limit) for user in users]
        )
        results = best_first([result for found, _ in recalls for result in found])[: max(0, request.limit)]
        notes = [*ignored_parts(request, WHY_NOT), *self.note_of_users(len(recalls))]
        if usable is None:
            notes.append("The query has no vector of the length of those here, so R-Mem ranks nothing.")
        failed = next((error for _, error in recalls if error is not None), None)
        if failed is not None:
            notes.append(f"The keyword stage fails, as it does in R-Mem, so all memories are ranked: {failed}.")
        return OwnEvidence(
            trial=trial,
            entries=tuple(results),
            mode=STAGE,
            scale="cosine; relations 0.9",
            notes=tuple(notes),
            depends_on_limit=True,
            program=self.about.program,
        )


def _names_end(entry: MemoryEntry, relation: Row) -> bool:
    """Whether a memory contains the source or the destination of a relation."""
    content = entry.content.casefold()
    return any(end and end.casefold() in content for end in relation.ends)
