"""Which generation of ZeroClaw's schema a database has, told by its columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import aiosqlite

from zeroclaw_tui.config.layouts import file_size
from zeroclaw_tui.files.database import ReadOnlyConnection, as_text, is_wal, translated, wal_file
from zeroclaw_tui.memory.errors import Unreadable
from zeroclaw_tui.memory.text import one_line
from zeroclaw_tui.scoring.generations import COLUMNS, NEWEST_VERSION

TRIGGERS = frozenset({"memories_ai", "memories_ad", "memories_au"})
_MOST_NAMES = 8

HYDRATED = (
    "ZeroClaw's hydration made this database out of MEMORY_SNAPSHOT.md, and no ZeroClaw version can open it: "
    "its embedding_cache lacks the column accessed_at."
)


@dataclass(frozen=True, slots=True)
class Schema:
    """What a database has. `generation` is "G1" to "G4".

    `hydrate_made` is a database ZeroClaw rebuilt from its snapshot file, which no ZeroClaw opens again.
    `read_only_because` is a sentence when the shape is not one of ZeroClaw's own; `notices` are for people,
    `facts` those that change nothing in what is shown.
    """

    generation: str
    columns: frozenset[str]
    not_null: frozenset[str]
    tables: frozenset[str]
    has_fts: bool
    has_agents: bool
    has_triggers: bool
    hydrate_made: bool
    read_only_because: str | None = None
    notices: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()

    def has(self, column: str) -> bool:
        """Whether the memories table has this column."""
        return column in self.columns

    @property
    def newest_version(self) -> str:
        """The newest ZeroClaw version that has this schema."""
        return NEWEST_VERSION[self.generation]


async def read_schema(connection: aiosqlite.Connection, path: Path) -> Schema:
    """Look at an open database.

    Raises Unreadable when it has no memories table, or one without keys and contents, and the other InspectorError
    kinds for what goes wrong on reading.
    """
    with translated(path):
        made = await _made(connection)
        tables = made["table"]
        if "memories" not in tables:
            raise _no_memories(path, connection, sorted(tables))
        described = await _columns(connection, "memories")
        cache = await _columns(connection, "embedding_cache")
        agents = await _columns(connection, "agents")
    columns = frozenset(described)
    _check_readable(path, columns, tables["memories"])
    hydrate_made = "embedding_cache" in tables and "accessed_at" not in cache
    generation = _generation(columns)
    has_agents = "agent_id" in columns and {"id", "alias"} <= set(agents)
    because = HYDRATED if hydrate_made else _because(generation, columns, has_agents)
    unknown = None if because else _unknown(columns - frozenset(COLUMNS[generation]))
    notice = connection.notice if isinstance(connection, ReadOnlyConnection) else None
    return Schema(
        generation=generation,
        columns=columns,
        not_null=frozenset(name for name, is_not_null in described.items() if is_not_null),
        tables=frozenset(tables),
        has_fts="fts5" in tables.get("memories_fts", ""),
        has_agents=has_agents,
        has_triggers=made["trigger"].keys() >= TRIGGERS,
        hydrate_made=hydrate_made,
        read_only_because=because,
        notices=tuple(sentence for sentence in (notice, because, unknown) if sentence),
        facts=(unknown,) if unknown else (),
    )


async def _made(connection: aiosqlite.Connection) -> dict[str, dict[str, str]]:
    """The statements that made the tables and triggers, by type and name, all in lower case."""
    made: dict[str, dict[str, str]] = {"table": {}, "trigger": {}}
    statement = "SELECT type, name, sql FROM sqlite_master WHERE type IN ('table', 'trigger')"
    for sort, name, sql in await connection.execute_fetchall(statement):
        made[sort][as_text(name).lower()] = as_text(sql).lower()
    return made


async def _columns(connection: aiosqlite.Connection, table: str) -> dict[str, bool]:
    """Names in lower case, each with whether it is NOT NULL; empty for a table that is not there."""
    rows = await connection.execute_fetchall('SELECT name, "notnull" FROM pragma_table_info(?)', (table,))
    return {as_text(name).lower(): bool(is_not_null) for name, is_not_null in rows}


def _generation(columns: frozenset[str]) -> str:
    if "pinned" in columns:
        return "G4"
    if "agent_id" in columns:
        return "G3"
    return "G2" if "namespace" in columns else "G1"


def _because(generation: str, columns: frozenset[str], has_agents: bool) -> str | None:
    """Why this is not one of ZeroClaw's own shapes; None when it is."""
    known = frozenset(COLUMNS[generation])
    lacking = [name for name in COLUMNS[generation] if name not in columns]
    parts: list[str] = []
    if lacking:
        parts.append(f"lacks {_listed(lacking)}")
    if columns - known:
        parts.append(f"has {_listed(sorted(columns - known))}, which ZeroClaw does not know")
    # Beside a column of that name the numbers of the rows have none, and a name that is no text cannot be written.
    unnamed = any(name == "rowid" or not _is_plain(name) for name in columns - known)
    if lacking or unnamed:
        return f"The memories table {' and '.join(parts)}, so it is opened for reading only."
    if "agent_id" in known and not has_agents:
        return "There is no agents table to name the owners of its memories, so it is opened for reading only."
    return None


def _unknown(columns: frozenset[str]) -> str | None:
    if not columns:
        return None
    kept = "it stays as it is" if len(columns) == 1 else "they stay as they are"
    return f"The memories table has {_listed(sorted(columns))}, which ZeroClaw does not know: {kept}."


def _is_plain(name: str) -> bool:
    return not any("\ud800" <= letter <= "\udfff" for letter in name)


def _check_readable(path: Path, columns: frozenset[str], made_by: str) -> None:
    if not {"key", "content"} <= columns:
        raise Unreadable(
            f"The memories table of {path} is not ZeroClaw's: it has {_listed(sorted(columns))}.",
            hint="ZeroClaw's has at least key and content.",
        )
    if "without rowid" in " ".join(made_by.rpartition(")")[2].split()):
        raise Unreadable(
            f"The memories table of {path} has no rowids, so it is not ZeroClaw's.",
            hint="Copy it into a plain table to look at it here.",
        )


def _no_memories(path: Path, connection: aiosqlite.Connection, tables: Sequence[str]) -> Unreadable:
    own = [name for name in tables if not name.startswith("sqlite_")]
    has = f"it has {_listed(own)}" if own else "it has no tables at all"
    notice = connection.notice if isinstance(connection, ReadOnlyConnection) else None
    if notice and file_size(wal_file(path)):
        return Unreadable(
            f"{path} has no memories table of its own: {has}. {notice}",
            hint="Copy the database with the -wal file beside it to a folder you may write to, and open it there.",
        )
    if not own and is_wal(path) and not file_size(wal_file(path)):
        log = wal_file(path).name
        return Unreadable(
            f"{path} has no memories table: {has}. Most likely {log} was left behind when the file was copied.",
            hint=f"Stop ZeroClaw, and copy {log} from where the file came from to beside it too.",
        )
    return Unreadable(
        f"{path} has no memories table: {has}.",
        hint="ZeroClaw keeps its memories in memory/brain.db of its workspace or data folder.",
    )


def _listed(names: Iterable[str]) -> str:
    shown = [one_line(name) for name in names]
    if len(shown) > _MOST_NAMES:
        return f"{', '.join(shown[:_MOST_NAMES])} and {len(shown) - _MOST_NAMES} more"
    return ", ".join(shown)
