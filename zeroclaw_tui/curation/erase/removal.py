"""Texts found in the files of an install, and taken out of them: out of the rows of SQLite databases, then out of their
indexes, free pages and logs; and out of files of lines."""

from __future__ import annotations

import hashlib
import lzma
import re
import sqlite3
import tomllib
import zipfile
import zlib
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import Any, Literal

from zeroclaw_tui.config.schema import MEMORY_KEYS
from zeroclaw_tui.curation.copies.texts import Span, bytes_of, cache_hash, json_in, lines_of, without, without_entries
from zeroclaw_tui.curation.erase.spellings import Spellings
from zeroclaw_tui.curation.install_files import InstallFile
from zeroclaw_tui.curation.side_rows import keyword_indexes
from zeroclaw_tui.curation.snapshot.snapshot import parts_in
from zeroclaw_tui.files.database import (
    as_text,
    assignments,
    bound,
    columns_of,
    connect_to_write,
    opened_as_it_lies,
    quoted,
    raw_pieces,
    tables_of_rows,
    transaction,
    translated,
    wal_file,
)
from zeroclaw_tui.files.disk import file_size, read_bytes, replace_bytes
from zeroclaw_tui.files.whole_database import alone, check_room

_DAMAGED = (EOFError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, NotImplementedError, RuntimeError)
"""What unpacking raises for what is damaged, locked by a password, or packed in a way Python does not know."""
AT_ONCE = 200
"""Rows of one write, so that a running ZeroClaw never waits long for its turn."""

Fate = Literal["delete", "cut", "stay"]
Cut = Literal["text", "own words", "nothing"]
"""What can be cut out of a file: the texts; nothing, since they stand only within words that programs put there
themselves; nothing, since it is no text."""
Address = tuple[Any, ...]

_CACHE, _MEMORIES, _JOBS, _RELATIONS, _ROWID = "embedding_cache", "memories", "cron_jobs", "relations", "rowid"
_TOML_NAME = re.compile(r"^[ \t]*(?:\[[^\n#]*\]|[\w.\"' \t-]+?(?==))", re.MULTILINE)
"""The header of a table, or what stands before a value."""
_NAME_PART = re.compile(r"[\w-]+")
_SETTINGS = frozenset({"memory", "storage", *MEMORY_KEYS})
_ROUNDS = 5
_PAGES_AT_ONCE = 100
_NO_TEXT = frozenset({"embedding"})
_NAMES = frozenset(
    {"session_id", "session_key", "namespace", "category", "superseded_by", "agent_id", "agent_alias", "tenant_id"}
)
"""Columns in which only letters, digits and a few signs may stand."""
_OF_MEMORIES = ("id", "key", "content")
_GONE_WITH: Mapping[str, tuple[str, ...] | None] = {
    _MEMORIES: _OF_MEMORIES,
    "nodes": None,
    "response_cache": None,
    "memory_audit": None,
    "sessions": ("session_key",),
    _JOBS: None,
}
"""The tables whose rows go as a whole, with the columns of which one has to hold a text; None for any. Of the other
columns of such a row, and of other tables, only the text goes."""
_OF_RMEM: Mapping[str, tuple[str, ...] | None] = {
    _MEMORIES: ("id", "text"),
    "archive": None,
    "history": None,
    "entities": None,
    _RELATIONS: None,
}
"""The same of R-Mem's tables: a text that went from its memories alone would come back out of its archive."""
_IDS = {_MEMORIES: ("{}",), "archive": ("{}", "{}:deleted"), _RELATIONS: ("relation:{}",)}
"""The ids that rows of a table are listed under; R-Mem's archive and graph are listed beside its memories."""
_STAYING = {
    "agents": "The name of an agent holds it, and memories belong to that: rename the agent in ZeroClaw.",
    _JOBS: "A scheduled job holds it: `zeroclaw cron` changes and removes jobs, and --also-files removes it here.",
}
_REFUSED = "A row of the table {} cannot be changed, since others belong to it."


@dataclass(slots=True)
class FoundRows:
    """Rows of a database that hold a text: how many go as a whole, from how many only the text is cut, and why others
    stay. `ids` are those that what goes is listed under."""

    going: int = 0
    cut: int = 0
    cut_columns: set[str] = field(default_factory=set)
    staying: dict[str, int] = field(default_factory=dict)
    ids: list[str] = field(default_factory=list)

    @property
    def all(self) -> int:
        """How many there are."""
        return self.going + self.cut + sum(self.staying.values())

    def add(self, fate: Fate, table: str) -> None:
        """Count one row of a table."""
        if fate == "delete":
            self.going += 1
        elif fate == "cut":
            self.cut += 1
        else:
            because = _STAYING.get(table, _REFUSED.format(table))
            self.staying[because] = self.staying.get(because, 0) + 1


@dataclass(frozen=True, slots=True)
class Chosen:
    """What is to go: rows that hold one of the spellings, the memories of some ids, and jobs where `also_files`."""

    spellings: Spellings
    ids: frozenset[str] = frozenset()
    also_files: bool = False


@dataclass(frozen=True, slots=True)
class _Table:
    name: str
    columns: tuple[str, ...]
    address: tuple[str, ...]
    """What tells one row from the others: its rowid, or its primary key."""
    going: tuple[str, ...] | None
    """The columns of which one has to hold a text for the row to go as a whole; None for any."""

    def ids(self, values: Mapping[str, Any]) -> list[str]:
        """The ids that a row may be listed under."""
        return [form.format(as_text(values.get("id"))) for form in _IDS.get(self.name, ())]

    def holding(self, values: Mapping[str, Any], spellings: Spellings) -> set[str]:
        """The columns of a row that hold a text. What a whole row goes for is all a person's or the agent's."""
        return {
            name
            for name, value in values.items()
            if spellings.held_by(value, name)
            or (name in (self.going or ()) and isinstance(value, str) and spellings.found_in(value))
        }

    def fate(self, values: Mapping[str, Any], chosen: Chosen) -> Fate | None:
        """What becomes of a row; None where it holds nothing."""
        holding = set[str]()
        if self.name == _RELATIONS and self.going is None:
            # R-Mem, and whoever reads it, has these as one text.
            values = {
                **values,
                "": " ".join(as_text(values.get(part)) for part in ("source", "relation", "destination")),
            }
        # Most rows hold nothing, which one look at all their values tells.
        if chosen.spellings.held_by_any(values.values()):
            holding = self.holding(values, chosen.spellings)
        if chosen.ids and not chosen.ids.isdisjoint(self.ids(values)):
            return "delete"
        if not holding:
            return None
        if self.name in _STAYING and not (self.name == _JOBS and chosen.also_files):
            return "stay"
        return "delete" if self.going is None or holding.intersection(self.going) else "cut"


def find_rows(path: Path, chosen: Chosen) -> FoundRows:
    """The rows of every table, but those of indexes. Blocks; reads the file as it lies, so that no other appears.

    Raises InspectorError kinds.
    """
    found = FoundRows()
    with opened_as_it_lies(path) as (connection, _):
        for table in _tables(connection):
            for _, values in _rows(connection, table):
                fate = table.fate(values, chosen)
                if fate is None:
                    continue
                found.add(fate, table.name)
                if fate == "delete":
                    found.ids += table.ids(values)
                elif fate == "cut":
                    found.cut_columns |= table.holding(values, chosen.spellings)
    return found


def erase_rows(path: Path, chosen: Chosen, go_on: Callable[[], bool]) -> FoundRows:
    """Delete and cut rows in short transactions; gives what was done and what stays. Blocks.

    Freed bytes are overwritten, and vectors of no memory leave the cache. Rows that appear meanwhile are taken as well.
    Stops between two transactions once `go_on` says no. Raises InspectorError kinds.
    """
    done = FoundRows()
    with translated(path), closing(connect_to_write(path, zero=True)) as connection:
        connection.execute("PRAGMA foreign_keys = ON")
        for _ in range(_ROUNDS):
            before = done.going + done.cut
            done.staying = {}
            for table in _tables(connection):
                _erase_in(connection, table, chosen, done, go_on)
            if done.going + done.cut == before:
                break
        _prune_cache(connection)
        if any(not _is_followed(connection, index, made) for index, made in keyword_indexes(connection)):
            _fill_indexes(connection)
    return done


def wipe(path: Path) -> None:
    """Let nothing stand in a database but its rows: keyword indexes built anew, VACUUM, the log folded in. Blocks.

    SQLite does each step wholly or not at all. An FTS5 index keeps deleted words until it is built anew or optimized
    (https://sqlite.org/fts5.html, 6.9). Raises Locked where another program, or this one, has it open, naming it;
    Unreadable without room.
    """
    check_room(path.parent, 3 * (file_size(path) + file_size(wal_file(path))))
    with translated(path), alone(path) as connection:
        connection.execute("PRAGMA secure_delete = ON").fetchall()
        _fill_indexes(connection)
        if _is_rmem(connection):
            _write_rows_anew(connection)
        else:
            places = _places(connection)
            connection.execute("VACUUM")
            if _places(connection) != places:
                # SQLite does not promise to keep the places of rows without an INTEGER PRIMARY KEY.
                _fill_indexes(connection)
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def _write_rows_anew(connection: sqlite3.Connection) -> None:
    """Put every row on a fresh page at its place, and zeros on all free ones: what VACUUM does, but for the places.

    R-Mem ranks by the places of its rows, and SQLite overwrites the pages of a table that is emptied as a whole
    (https://sqlite.org/pragma.html, secure_delete).
    """
    connection.execute("PRAGMA temp_store = MEMORY")
    with transaction(connection):
        for table in tables_of_rows(connection):
            name, columns = quoted(table), ", ".join([_ROWID, *map(quoted, columns_of(connection, table))])
            connection.execute(f"CREATE TEMP TABLE kept_rows AS SELECT {_ROWID} AS {_ROWID}_there, * FROM main.{name}")
            connection.execute(f"DELETE FROM main.{name}")
            connection.execute(f"INSERT INTO main.{name} ({columns}) SELECT * FROM temp.kept_rows")
            connection.execute("DROP TABLE temp.kept_rows")
        ((free,),), ((size,),) = (
            connection.execute(f"PRAGMA {name}").fetchall() for name in ("freelist_count", "page_size")
        )
        connection.execute("CREATE TABLE free_pages (page BLOB)")
        pages = [(size * min(_PAGES_AT_ONCE, free - start),) for start in range(0, free, _PAGES_AT_ONCE)]
        connection.executemany("INSERT INTO free_pages VALUES (zeroblob(?))", pages)
        connection.execute("DROP TABLE free_pages")


def _erase_in(
    connection: sqlite3.Connection, table: _Table, chosen: Chosen, done: FoundRows, go_on: Callable[[], bool]
) -> None:
    addresses = [address for address, values in _rows(connection, table) if table.fate(values, chosen)]
    for start in range(0, len(addresses), AT_ONCE):
        if not go_on():
            return
        with transaction(connection):
            for address in addresses[start : start + AT_ONCE]:
                _erase_one(connection, table, address, chosen, done)


def _erase_one(
    connection: sqlite3.Connection, table: _Table, address: Address, chosen: Chosen, done: FoundRows
) -> None:
    """One row as it is within the transaction: it may have changed or gone since it was found."""
    for _, values in [*_rows(connection, table, address)]:
        fate = table.fate(values, chosen)
        try:
            if fate == "delete":
                where, named = _at(table, address)
                connection.execute(f"DELETE FROM {quoted(table.name)} WHERE {where}", named)
            elif fate == "cut":
                _cut(connection, table, address, values, chosen.spellings)
        except sqlite3.IntegrityError:
            fate = "stay"
        if fate is not None:
            done.add(fate, table.name)


def _cut(
    connection: sqlite3.Connection, table: _Table, address: Address, values: Mapping[str, Any], spellings: Spellings
) -> None:
    new = {name: _cell_without(name, values[name], spellings) for name in table.holding(values, spellings)}
    settings, ready = assignments(new)
    where, named = _at(table, address)
    connection.execute(f"UPDATE {quoted(table.name)} SET {settings} WHERE {where}", [*ready, *named])


def _cell_without(name: str, value: Any, spellings: Spellings) -> Any:
    if isinstance(value, bytes):
        return spellings.out_of_bytes(value)
    return spellings.out_of(value, spellings.name_mark if name in _NAMES else None)


def _at(table: _Table, address: Address) -> tuple[str, list[Any]]:
    """What finds the row of an address, and what to bind."""
    conditions, named = list[str](), list[Any]()
    for name, value in zip(table.address, address, strict=True):
        mark, ready = bound([value])
        conditions.append(f"{_selected(name)} IS {mark}")
        named += ready
    return " AND ".join(conditions), named


def _selected(name: str) -> str:
    return name if name == _ROWID else quoted(name)


def _rows(
    connection: sqlite3.Connection, table: _Table, address: Address | None = None
) -> Iterator[tuple[Address, dict[str, Any]]]:
    """Every row, or the one of an address, with the values that may hold text."""
    selected = ", ".join([*map(_selected, table.address), *map(quoted, table.columns)])
    where, named = ("1", list[Any]()) if address is None else _at(table, address)
    width = len(table.address)
    for row in connection.execute(f"SELECT {selected} FROM {quoted(table.name)} WHERE {where}", named):
        yield row[:width], dict(zip(table.columns, row[width:], strict=True))


def _tables(connection: sqlite3.Connection) -> list[_Table]:
    gone_with = _OF_RMEM if _is_rmem(connection) else _GONE_WITH
    return [_table(connection, name, gone_with) for name in tables_of_rows(connection)]


def _is_rmem(connection: sqlite3.Connection) -> bool:
    return {"user_id", "text"} <= set(columns_of(connection, _MEMORIES))


def _table(connection: sqlite3.Connection, name: str, gone_with: Mapping[str, tuple[str, ...] | None]) -> _Table:
    described = connection.execute("SELECT name, pk FROM pragma_table_info(?)", (name,)).fetchall()
    columns = tuple(as_text(column) for column, _ in described)
    keys = tuple(as_text(column) for column, place in described if place)
    fixed = {*keys, *_names(connection, 'SELECT "from" FROM pragma_foreign_key_list(?)', name)}
    for index in _names(connection, 'SELECT name FROM pragma_index_list(?) WHERE "unique"', name):
        fixed |= _names(connection, "SELECT name FROM pragma_index_info(?)", index)
    try:
        connection.execute(f"SELECT {_ROWID} FROM {quoted(name)} LIMIT 0")
        keys = (_ROWID,)
    except sqlite3.OperationalError:
        # A table WITHOUT ROWID tells its rows apart by its primary key.
        pass
    with_text = tuple(column for column in columns if column not in _NO_TEXT)
    # The values of keys, and of what refers to one, cannot just be cut.
    return _Table(name, with_text, keys, gone_with.get(name, tuple(fixed)))


def _names(connection: sqlite3.Connection, query: str, of: str) -> set[str]:
    return {as_text(name) for (name,) in connection.execute(query, (of,))}


def _prune_cache(connection: sqlite3.Connection) -> None:
    """Leave in ZeroClaw's embedding cache only the vectors of memories that are there.

    It names them by a hash: of which text, an earlier version or a question perhaps, another one is, nobody can tell.
    """
    if "content_hash" not in columns_of(connection, _CACHE):
        return
    staying = {cache_hash(as_text(content)) for (content,) in connection.execute("SELECT content FROM memories")}
    names = connection.execute(f"SELECT content_hash FROM {_CACHE}").fetchall()
    going = [(name,) for (name,) in names if as_text(name) not in staying]
    for start in range(0, len(going), AT_ONCE):
        with transaction(connection):
            connection.executemany(f"DELETE FROM {_CACHE} WHERE content_hash = ?", going[start : start + AT_ONCE])


def _is_followed(connection: sqlite3.Connection, index: str, made: str) -> bool:
    """Whether a trigger tells an index of deleted rows, so that it need not be built anew while a program runs."""
    triggers = [as_text(sql) for (sql,) in connection.execute("SELECT sql FROM sqlite_master WHERE type = 'trigger'")]
    return "content" not in made or any(index in sql and "DELETE ON" in sql.upper() for sql in triggers)


def _fill_indexes(connection: sqlite3.Connection) -> None:
    for name, _ in keyword_indexes(connection):
        for order in ("rebuild", "optimize"):
            try:
                connection.execute(f"INSERT INTO {quoted(name)}({quoted(name)}) VALUES (?)", (order,))
                break
            except sqlite3.OperationalError as error:
                # An index that keeps no texts of its own cannot be built anew.
                if getattr(error, "sqlite_errorname", "") != "SQLITE_ERROR":
                    raise


def _places(connection: sqlite3.Connection) -> str:
    """A digest of the places of all rows."""
    digest = hashlib.sha256()
    for table in _tables(connection):
        if table.address == (_ROWID,):
            digest.update(repr(table.name).encode())
            for (place,) in connection.execute(f"SELECT {_ROWID} FROM {quoted(table.name)} ORDER BY 1"):
                digest.update(b"%d " % place)
    return digest.hexdigest()


def hits(file: InstallFile, spellings: Spellings) -> Iterator[int]:
    """Where the texts stand in its bytes, in those of its log, and in what is packed in it.

    Reads in pieces, whatever the size. Blocks. Raises OSError.
    """
    for part in file.parts():
        yield from _hits_in(raw_pieces(part), spellings)
    try:
        for pieces in file.unpacked():
            yield from _hits_in(pieces, spellings)
    except _DAMAGED as error:
        raise OSError(f"it is packed, and cannot be unpacked ({error})") from error


def take_out(file: InstallFile, spellings: Spellings, *, dry_run: bool = False) -> Cut:
    """Put in place of a file what stays of it without the texts; tells what of it could be cut. Blocks.

    A snapshot and our copy of it lose whole memories, notes whole lines, all else the text alone. Raises Rewritten
    where another program wrote it meanwhile, Unreadable, Refused.
    """
    data = read_bytes(file.path)
    if data is None:
        return "text"
    new = _without(file, data, spellings)
    if new is None:
        return "nothing"
    if not _is_utf8(data):
        new = spellings.out_of_bytes(new)
    if new == data:
        return "own words"
    if not dry_run:
        replace_bytes(file.path, data, new)
    return "text"


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _without(file: InstallFile, data: bytes, spellings: Spellings) -> bytes | None:
    """The bytes of a file without the texts, None for what is no text."""
    for codec, sign in (("utf-16-le", b"\xff\xfe"), ("utf-16-be", b"\xfe\xff")):
        # Two bytes in front do not make UTF-16 of what has a byte too many, which is then read like any other.
        if data.startswith(sign) and len(data) % 2 == 0:
            return sign + spellings.out_of(data[2:].decode(codec, "surrogatepass")).encode(codec, "surrogatepass")
    if b"\0" in data:
        return None
    lines = lines_of(data)
    if file.holds == "snapshot":
        spans: list[Span] = [
            (part.start, part.end, [])
            for part in parts_in(lines)
            if spellings.found_in("".join(lines[part.start : part.end]))
        ]
        return bytes_of(_without_lines(without_entries(lines, spans), spellings))
    if file.holds == "notes":
        return bytes_of(_without_lines(lines, spellings))
    if file.holds == "memory lines":
        return bytes_of([_memory_line_without(line, spellings) for line in lines])
    if file.holds == "toml":
        return _without_in_toml(data, spellings)
    whole = "".join(lines)
    if file.holds == "lines" or file.path.suffix in (".jsonl", ".migrated", ".log"):
        ends = [line[len(line.rstrip("\r\n")) :] for line in lines]
        whole = "".join(spellings.out_of(line.removesuffix(end)) + end for line, end in zip(lines, ends, strict=True))
        over_lines = spellings.over_lines()
        return bytes_of([whole if over_lines is None else over_lines.out_of(whole)])
    return bytes_of([spellings.out_of(whole)])


def _memory_line_without(line: str, spellings: Spellings) -> str:
    """Empty where the memory of a line goes as a whole."""
    written = line.rstrip("\r\n")
    memory = json_in(written)
    if not isinstance(memory, dict):
        return "" if spellings.found_in(written) else line
    if any(spellings.found_in(as_text(memory.get(name))) for name in _OF_MEMORIES):
        return ""
    return spellings.out_of(written, spellings.name_mark) + line.removeprefix(written)


def _without_lines(lines: Sequence[str], spellings: Spellings) -> list[str]:
    """The lines that hold none of the texts, nor a part of one that reaches over several."""
    starts = list(accumulate(map(len, lines[:-1]), initial=0))
    gone: list[Span] = [
        (bisect_right(starts, start) - 1, bisect_right(starts, end - 1), [])
        for start, end in spellings.spans_in("".join(lines))
    ]
    return without(lines, gone)


def _without_in_toml(data: bytes, spellings: Spellings) -> bytes | None:
    """TOML that can be read stays so; None where it would not. Of names only whole words go that are no setting's."""
    old, parts, end = data.decode("utf-8", "surrogateescape"), list[str](), 0
    for name in _TOML_NAME.finditer(old):
        parts += [spellings.out_of(old[end : name.start()], spellings.name_mark), _name_without(name[0], spellings)]
        end = name.end()
    new = "".join([*parts, spellings.out_of(old[end:], spellings.name_mark)])
    for text in (old, new):
        try:
            tomllib.loads(text)
        except tomllib.TOMLDecodeError:
            if text is new:
                return None
            break
    return new.encode("utf-8", "surrogateescape")


def _name_without(name: str, spellings: Spellings) -> str:
    parts, end = list[str](), 0
    for start, stop in spellings.spans_in(name):
        is_word = not any(sign == "_" or sign.isalnum() for sign in (*name[start - 1 : start], *name[stop : stop + 1]))
        if is_word and start >= end and _SETTINGS.isdisjoint(_NAME_PART.findall(name)):
            parts += [name[end:start], spellings.name_mark]
            end = stop
    return "".join([*parts, name[end:]])


def _hits_in(pieces: Iterator[bytes], spellings: Spellings) -> Iterator[int]:
    before, offset = b"", 0
    for more in pieces:
        piece = before + more
        for start, end, _ in spellings.hits_in(piece):
            # What ends before this piece was seen with the one before.
            if end > len(before):
                yield offset - len(before) + start
        offset += len(more)
        before = piece[-spellings.longest :]
