"""Where texts lie in database files: the store's own leftovers, its backups and the databases beside it."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from zeroclaw_tui.backends.sqlite.connection import (
    any_text,
    as_text,
    check_file,
    connect_read_only_blocking,
    file_size,
    raw_bytes,
    translated,
    wal_file,
)
from zeroclaw_tui.curation.copies.found import (
    COMPARED,
    FRAGMENT,
    LARGEST,
    SHORT,
    Copy,
    Kind,
    Text,
    Wanted,
    found,
    not_looked_at,
    raw,
    too_large,
)
from zeroclaw_tui.memory.errors import InspectorError

OTHER = "This database is not the one that is open; open it by its path to delete the rows."
_READ_AT_ONCE = 16_000_000
Pieces = Callable[[Path], Iterator[bytes]]
_BETWEEN = b"\xff"
"""Stands between two texts that are searched as one: no UTF-8 has this byte."""


class Fragments:
    """What of the texts is looked for in the bytes of a file, and where it was found.

    A content of up to FRAGMENT bytes is looked for whole, a longer one by its beginning, middle and end.
    """

    def __init__(self, wanted: Wanted) -> None:
        self._texts: dict[bytes, list[Text]] = {}
        for text in wanted.texts:
            if len(text.content) >= SHORT:
                for fragment in _fragments(raw(text.content)):
                    self._texts.setdefault(fragment, []).append(text)
        self.found: dict[Path, set[bytes]] = {}
        self.left_out: dict[Path, int] = {}

    def look_in(self, path: Path, pieces: Iterable[bytes]) -> None:
        """Search the pieces of a file for as many fragments as can be compared in short time. Raises OSError."""
        most = max(1, COMPARED // max(1, path.stat().st_size))
        looked_for = list(self._texts)[:most]
        self.left_out[path] = len(self._texts) - len(looked_for)
        seen = self.found[path] = set[bytes]()
        before = b""
        for more in pieces:
            piece = before + more
            seen.update(fragment for fragment in looked_for if fragment not in seen and fragment in piece)
            before = piece[-FRAGMENT:]

    @property
    def unexplained(self) -> set[bytes]:
        """Everything found anywhere."""
        return set().union(*self.found.values())

    def explain(self, held: Iterable[bytes]) -> None:
        """Leave out what rows of the store hold: that is found because it is stored."""
        gone = set(held)
        for fragments in self.found.values():
            fragments -= gone

    def texts_in(self, path: Path, wanted: Wanted) -> tuple[Text, ...]:
        """The texts of which something was found there."""
        return wanted.in_order(text for fragment in self.found.get(path, ()) for text in self._texts[fragment])

    def remark(self, path: Path) -> str:
        """A sentence where not everything could be looked for."""
        left = self.left_out.get(path, 0)
        return (
            f" The file is large: {left:,} of {len(self._texts):,} pieces of text were not looked for." if left else ""
        )


class Stored:
    """What the store holds now that matters to copies of the texts.

    `same` are the other memories with the content of one of them, as key and content; `living` has the contents
    stored under each key asked for; `hashes` are those of ZeroClaw's embedding cache.
    """

    def __init__(self, wanted: Wanted, keys: Iterable[str], fragments: Fragments | None = None) -> None:
        self._wanted, self._keys = wanted, {*keys, *wanted.by_key}
        self._left = fragments.unexplained if fragments else set()
        self._held: set[bytes] = set()
        self._pending: list[bytes] = []
        self._size = 0
        self.same: list[tuple[str, str]] = []
        self.living: dict[str, set[str]] = {}
        self.hashes: set[str] = set()

    def add(self, id: str, key: str, content: str) -> None:
        """One memory of the store."""
        if not self._wanted.is_row(id, content):
            if content in self._wanted.by_content:
                self.same.append((key, content))
            if key in self._keys:
                self.living.setdefault(key, set()).add(content)
        if self._left:
            self._pending += (raw(key), raw(content))
            self._size += len(key) + len(content)
            if self._size > _READ_AT_ONCE:
                self.held()

    def held(self) -> set[bytes]:
        """The fragments that memories hold, so far."""
        together = _BETWEEN.join(self._pending)
        self._pending, self._size = [], 0
        now = {fragment for fragment in self._left if fragment in together}
        self._left -= now
        self._held |= now
        return self._held

    def gone_keys(self) -> dict[str, list[Text]]:
        """The keys of texts under which nothing is stored any more, with the texts."""
        return {key: texts for key, texts in self._wanted.by_key.items() if key not in self.living}


def read_store(database: Path, stored: Stored) -> None:
    """Take in every row of the store's memories table and embedding cache. Raises InspectorError kinds."""
    with closing(connect_read_only_blocking(database)) as connection, translated(database):
        id_column = "id" if "id" in _columns(connection, "memories") else "NULL"
        for row in connection.execute(f"SELECT {id_column}, key, content FROM memories"):
            stored.add(*map(as_text, row))
        if "content_hash" in _columns(connection, "embedding_cache"):
            stored.hashes |= {
                as_text(name) for (name,) in connection.execute("SELECT content_hash FROM embedding_cache")
            }


def cache_hash(content: str) -> str:
    """The name of a content in ZeroClaw's embedding cache: 8 bytes of its SHA-256 in hexadecimal."""
    return hashlib.sha256(raw(content)).hexdigest()[:16]


def _columns(connection: sqlite3.Connection, table: str) -> set[str]:
    return {as_text(name).lower() for (name,) in connection.execute("SELECT name FROM pragma_table_info(?)", (table,))}


def in_own_bytes(database: Path, fragments: Fragments) -> list[Copy]:
    """Search the database file and its log for fragments; gives only what could not be searched."""
    unread: list[Copy] = []
    places: tuple[tuple[Kind, Path, Pieces], ...] = (
        ("write-ahead log", wal_file(database), _pieces_of_log),
        ("free pages", database, _pieces_of_database),
    )
    for kind, path, pieces in places:
        try:
            if file_size(path) > LARGEST:
                unread.append(too_large(kind, path))
            elif file_size(path):
                fragments.look_in(path, pieces(path))
        except OSError as error:
            unread.append(not_looked_at(kind, path, error))
    return unread


def _pieces_of_log(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while piece := file.read(_READ_AT_ONCE):
            yield piece


def _pieces_of_database(path: Path) -> Iterator[bytes]:
    offset = 0
    while piece := raw_bytes(path, _READ_AT_ONCE, offset):
        offset += len(piece)
        yield piece


def own_leftovers(database: Path, fragments: Fragments, wanted: Wanted) -> list[Copy]:
    """The log and the free pages of the store's database, once what rows hold is explained."""
    sooner = (
        "in time; sooner only a VACUUM with the agent stopped does, and another program may have the database open."
    )
    log = wal_file(database)
    in_log = f"SQLite overwrites the log {sooner}{fragments.remark(log)}"
    in_file = f"SQLite overwrites what is no longer in use {sooner}{fragments.remark(database)}"
    return [
        *found("write-ahead log", log, fragments.texts_in(log, wanted), in_log),
        *found("free pages", database, fragments.texts_in(database, wanted), in_file),
    ]


def in_rows(kind: Kind, path: Path, wanted: Wanted, gone_keys: dict[str, list[Text]], remark: str) -> list[Copy]:
    """Another database with ZeroClaw's memories table: its rows with the content, or the key of one that is gone."""

    def search(connection: sqlite3.Connection) -> Iterator[Text]:
        for row in connection.execute("SELECT key, content FROM memories"):
            key, content = map(as_text, row)
            yield from wanted.by_content.get(content, ())
            yield from gone_keys.get(key, ())

    return _looked_into(kind, path, wanted, search, remark)


def in_audit(path: Path, wanted: Wanted, gone_keys: dict[str, list[Text]]) -> list[Copy]:
    """ZeroClaw's audit log, which holds keys."""

    def search(connection: sqlite3.Connection) -> Iterator[Text]:
        for (key,) in connection.execute("SELECT DISTINCT key FROM memory_audit WHERE key IS NOT NULL"):
            yield from gone_keys.get(as_text(key), ())

    remark = (
        "The keys are in ZeroClaw's audit log, not the contents; it prunes old lines itself (audit_retention_days)."
    )
    return _looked_into("audit", path, wanted, search, remark)


def in_response_cache(path: Path, wanted: Wanted) -> list[Copy]:
    """ZeroClaw's cached answers of the model that contain a content."""

    def search(connection: sqlite3.Connection) -> Iterator[Text]:
        answers = [as_text(answer) for (answer,) in connection.execute("SELECT response FROM response_cache")]
        together = "\udcff".join(answers)
        most = max(1, COMPARED // max(1, len(together)))
        for text in wanted.texts[:most]:
            if text.content in together if len(text.content) >= SHORT else text.content in answers:
                yield text

    remark = "These are answers of the model; ZeroClaw drops them itself (response_cache_ttl_minutes)."
    return _looked_into("response cache", path, wanted, search, remark)


def _looked_into(
    kind: Kind, path: Path, wanted: Wanted, search: Callable[[sqlite3.Connection], Iterable[Text]], remark: str
) -> list[Copy]:
    try:
        if file_size(path) == 0:
            return []
        with _foreign(path) as (connection, notice):
            texts = wanted.in_order(search(connection))
        return found(kind, path, texts, f"{remark}{notice}") or _maybe(kind, path, notice)
    except (OSError, InspectorError) as error:
        return [not_looked_at(kind, path, error)]


def _maybe(kind: Kind, path: Path, notice: str) -> list[Copy]:
    return [Copy(kind, str(path), None, False, notice.strip())] if notice else []


@contextmanager
def _foreign(path: Path) -> Iterator[tuple[sqlite3.Connection, str]]:
    """A database that is not the store, opened so that no file appears beside it; with a sentence on what is not read.

    Only where its log and the index of it both lie there can the log be read without making one of them.
    """
    check_file(path)
    has_log = file_size(wal_file(path)) > 0
    if has_log and path.with_name(f"{path.name}-shm").exists():
        with closing(connect_read_only_blocking(path)) as connection, translated(path):
            yield connection, ""
        return
    notice = f" What is only in {wal_file(path).name} was not read." if has_log else ""
    with translated(path), closing(_immutable(path)) as connection:
        yield connection, notice


def _immutable(path: Path) -> sqlite3.Connection:
    uri = f"{path.absolute().as_uri()}?mode=ro&immutable=1"
    connection = sqlite3.connect(uri, uri=True, isolation_level=None)
    connection.text_factory = any_text
    for setting in ("query_only = ON", "mmap_size = 0", "trusted_schema = OFF"):
        connection.execute(f"PRAGMA {setting}")
    return connection


def _fragments(content: bytes) -> list[bytes]:
    if len(content) <= FRAGMENT:
        return [content]
    middle = (len(content) - FRAGMENT) // 2
    starts = dict.fromkeys((0, middle, len(content) - FRAGMENT))
    return [content[start : start + FRAGMENT] for start in starts]
