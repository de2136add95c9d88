"""Where texts lie in database files: the store's own leftovers, its backups and the databases beside it."""

from __future__ import annotations

import hashlib
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from zeroclaw_tui.config.locations import file_size
from zeroclaw_tui.curation.copies.places import (
    AUDITED_KEYS,
    LARGEST_SEARCHED,
    Copy,
    Kind,
    Place,
    found,
    not_looked_at,
    too_large,
)
from zeroclaw_tui.curation.copies.texts import (
    COMPARED,
    FRAGMENT,
    NEVER_TEXT,
    SHORT,
    Needles,
    Phrase,
    Phrases,
    Text,
    Wanted,
    fragments_of,
    raw,
)
from zeroclaw_tui.curation.files import LARGEST
from zeroclaw_tui.curation.side_databases import columns_of
from zeroclaw_tui.files.database import (
    any_text,
    as_text,
    check_file,
    connect_read_only_blocking,
    quoted,
    raw_bytes,
    translated,
    wal_file,
)
from zeroclaw_tui.memory.errors import InspectorError

_READ_AT_ONCE = 16_000_000
_MANY = 20
"""Of more texts the rows are looked at without a look at the bytes first."""
_VALUES_AT_ONCE = 4_000_000
"""Characters of rows that are compared with the texts at once."""
Pieces = Callable[[Path], Iterator[bytes]]
_BETWEEN = b"\xff"
"""Stands between two texts that are searched as one: no UTF-8 has this byte."""
_LEFT = (
    "No row has it any more, but its bytes are still in the file or its log. SQLite overwrites them in time; sooner "
    "only a VACUUM with ZeroClaw stopped does."
)


class Fragments:
    """What of the texts is looked for in the bytes of a file, and where it was found.

    A content of up to FRAGMENT bytes is looked for whole, a longer one by its beginning, middle and end.
    """

    def __init__(self, wanted: Wanted) -> None:
        self._texts: dict[bytes, list[Text]] = {}
        for text in wanted.texts:
            if len(text.content) >= SHORT:
                for fragment in fragments_of(raw(text.content)):
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
    stored under each of `keys`; `hashes` are those of ZeroClaw's embedding cache. `is_whole` is False where not every
    memory was looked at.
    """

    def __init__(self, wanted: Wanted, keys: Iterable[str], fragments: Fragments | None = None) -> None:
        self._wanted, self.keys = wanted, frozenset((*keys, *wanted.by_key))
        self.is_whole = True
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
            if key in self.keys:
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
                unread.append(too_large(kind, path, LARGEST))
            elif file_size(path):
                fragments.look_in(path, pieces(path))
        except OSError as error:
            unread.append(not_looked_at(kind, path, error))
    return unread


def _pieces_of_log(path: Path) -> Iterator[bytes]:
    if not path.exists():
        return
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


def in_memories_table(place: Place, path: Path, wanted: Wanted, gone_keys: dict[str, list[Text]]) -> list[Copy]:
    """Another database with ZeroClaw's memories table: its rows with the content, or the key of one that is gone."""
    try:
        if file_size(path) == 0:
            return []
        with opened_as_it_lies(path) as (connection, notice):
            held: set[Text] = set()
            for row in connection.execute("SELECT key, content FROM memories"):
                key, content = map(as_text, row)
                held.update(wanted.by_content.get(content, ()))
                held.update(gone_keys.get(key, ()))
        return found(place.kind, path, wanted.in_order(held), f"{place.remark}{notice}", place) or _maybe(
            place.kind, path, notice
        )
    except (OSError, InspectorError) as error:
        return [not_looked_at(place.kind, path, error)]


def in_any_table(
    place: Place, path: Path, phrases: Phrases, gone_keys: dict[str, list[Text]], stop: threading.Event
) -> list[Copy]:
    """A database of any schema: every value that holds a text, the keys in an audit log, and what is in no row.

    Its rows are only read where its bytes may hold one of the texts.
    """
    try:
        size = file_size(path)
        if size == 0:
            return []
        if size > LARGEST_SEARCHED:
            return [too_large(place.kind, path, LARGEST_SEARCHED)]
        with opened_as_it_lies(path) as (connection, _):
            # Opening is lazy: only the first read tells what is wrong with the file.
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
            is_utf8 = connection.execute("PRAGMA encoding").fetchone()[0] == "UTF-8"
            maybe, whole = _in_bytes(path, phrases, stop)
            held = _in_tables(connection, phrases, stop) if maybe or not is_utf8 else set()
            keys = _audited_keys(connection, gone_keys) if place.kind == "audit" else set()
    except (OSError, InspectorError) as error:
        return [not_looked_at(place.kind, path, error)]
    if keys and not held:
        copies = [Copy(place.kind, str(path), len(keys), False, AUDITED_KEYS, phrases.wanted.in_order(keys))]
    else:
        remark = place.remark + (f" {AUDITED_KEYS}" if keys else "")
        copies = found(place.kind, path, phrases.wanted.in_order(held | keys), remark, place)
    left = phrases.wanted.in_order(whole - held)
    return [*copies, *found(place.kind, path, left, _LEFT)]


def _audited_keys(connection: sqlite3.Connection, gone_keys: dict[str, list[Text]]) -> set[Text]:
    if "key" not in _columns(connection, "memory_audit"):
        return set()
    named = connection.execute("SELECT DISTINCT key FROM memory_audit WHERE key IS NOT NULL")
    return {text for (key,) in named for text in gone_keys.get(as_text(key), ())}


def _in_bytes(path: Path, phrases: Phrases, stop: threading.Event) -> tuple[bool, set[Text]]:
    """Whether a row may hold any of the phrases, and the texts of which the bytes of the file and its log are there.

    Where a page ends a text may be cut in two, so a half of it is enough to look at the rows, and of many texts some
    half is always there.
    """
    needles = Needles((piece, phrase) for phrase in phrases.all for piece in phrase.pieces)
    maybe = len(phrases.all) > _MANY
    halves = {half for phrase in phrases.all[:_MANY] for piece in phrase.pieces for half in _halves(piece)}
    whole: dict[Phrase, None] = {}
    for source in (_pieces_of_database(path), _pieces_of_log(wal_file(path))) if phrases.all else ():
        before = b""
        for more in source:
            if stop.is_set():
                break
            together = before + more
            whole |= dict.fromkeys(phrase for _, phrase in needles.hits(together))
            maybe = maybe or any(half in together for half in halves)
            before = together[-FRAGMENT:]
    return maybe, {text for phrase in whole for text in phrase.texts}


def _halves(piece: bytes) -> tuple[bytes, bytes]:
    middle = (len(piece) + 1) // 2
    return piece[:middle], piece[middle:] or piece


def _in_tables(connection: sqlite3.Connection, phrases: Phrases, stop: threading.Event) -> set[Text]:
    """The texts that any value of any table holds; tables of an index are none."""
    tables = [
        (as_text(name), as_text(sql).upper().startswith("CREATE VIRTUAL"))
        for name, sql in connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'")
    ]
    indexes = tuple(f"{name}_" for name, is_index in tables if is_index)
    held: set[Text] = set()
    for table, is_index in tables:
        if is_index or table.startswith(("sqlite_", *indexes)):
            continue
        values: list[str] = []
        size = 0
        columns = [name for name in _columns(connection, table) if name not in NEVER_TEXT]
        selected = ", ".join(map(quoted, columns)) or "NULL"
        for row in connection.execute(f"SELECT {selected} FROM {quoted(table)}"):
            some = [value for value in row if isinstance(value, str)]
            values += some
            size += sum(map(len, some))
            if size > _VALUES_AT_ONCE:
                held |= phrases.in_values(values)
                values, size = [], 0
                if stop.is_set():
                    return held
        held |= phrases.in_values(values)
    return held


def _maybe(kind: Kind, path: Path, notice: str) -> list[Copy]:
    return [Copy(kind, str(path), None, False, notice.strip())] if notice else []


@contextmanager
def opened_as_it_lies(path: Path) -> Iterator[tuple[sqlite3.Connection, str]]:
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


def rows_holding(place: Place, path: Path, phrases: Phrases) -> Iterator[tuple[str, list[str], list[int]]]:
    """By table, the columns that may be changed and the rows in which one of them holds a text."""
    with closing(connect_read_only_blocking(path)) as connection, translated(path):
        for table, named in place.columns.items():
            there = columns_of(connection, table)
            columns = [name for name in named if name in there]
            if not columns:
                continue
            rows = connection.execute(f"SELECT rowid, {', '.join(map(quoted, columns))} FROM {quoted(table)}")
            numbers = [
                number
                for number, *values in rows
                if phrases.in_values([value for value in values if isinstance(value, str)])
            ]
            if numbers:
                yield table, columns, numbers
