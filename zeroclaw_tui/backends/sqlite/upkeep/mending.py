"""Repairs of what ZeroClaw's tables lack, each in one transaction."""

from __future__ import annotations

import re

from zeroclaw_tui.backends.sqlite.clock import utc_now
from zeroclaw_tui.backends.sqlite.connection import as_text
from zeroclaw_tui.backends.sqlite.ddl import KEYWORD_INDEX, TRIGGERS, statements
from zeroclaw_tui.backends.sqlite.rows import bound
from zeroclaw_tui.backends.sqlite.schema import COLUMNS
from zeroclaw_tui.backends.sqlite.writing import Transaction, Writing, missing_of_index
from zeroclaw_tui.memory.errors import Refused

_CACHE = "embedding_cache"
_INDEX_OF = re.compile(r"CREATE INDEX (\w+) ON (?:memories|embedding_cache)\(")
_UNKNOWN = "SELECT DISTINCT agent_id FROM memories WHERE agent_id NOT IN (SELECT id FROM agents WHERE id IS NOT NULL)"
_SHOWN = 8


def repair_hydrated(writing: Writing) -> None:
    """Give a database that ZeroClaw's hydration made what it lacks, so that ZeroClaw and this program open it.

    The memories stay as they are. The embedding cache, which such a database cannot have used, is made anew. Raises
    Refused where columns are missing that hydration always makes.
    """
    generation = writing.schema.generation
    with writing.transaction(needs_index=False) as transaction:
        connection = transaction.connection
        if "session_id" not in writing.schema.columns:
            connection.execute("ALTER TABLE memories ADD COLUMN session_id TEXT")
        lacking = set(COLUMNS[generation]) - writing.schema.columns - {"session_id"}
        if lacking:
            raise Refused(
                f"The memories table lacks {', '.join(sorted(lacking))}, which hydration always makes.",
                hint="Nothing was changed. Export the memories and import them into a new store.",
            )
        connection.execute(f"DROP TABLE IF EXISTS {_CACHE}")
        made = statements(generation)
        for statement in (made[at] for at in range(len(made)) if made[at].startswith(f"CREATE TABLE {_CACHE} ")):
            connection.execute(statement)
        _make_indexes(transaction, made)
        for name in missing_of_index(connection):
            connection.execute(TRIGGERS.get(name, KEYWORD_INDEX))
        connection.execute("INSERT INTO memories_fts(memories_fts) VALUES ('rebuild')")


def name_unknown_agents(writing: Writing) -> tuple[str, ...]:
    """Give every agent that owns memories but is not among the agents a row and a name; gives the names."""
    names: list[str] = []
    with writing.transaction(needs_index=False) as transaction:
        taken = set(transaction.aliases.values())
        for (agent,) in transaction.connection.execute(_UNKNOWN).fetchall():
            alias = _free(f"recovered-{as_text(agent)[:_SHOWN]}", taken)
            taken.add(alias)
            marks, values = bound([agent, alias, utc_now()])
            transaction.connection.execute(f"INSERT INTO agents (id, alias, created_at) VALUES ({marks})", values)
            names.append(alias)
    return tuple(names)


def _make_indexes(transaction: Transaction, made: tuple[str, ...]) -> None:
    found = {as_text(name) for (name,) in transaction.connection.execute("SELECT name FROM sqlite_master")}
    for statement in made:
        index = _INDEX_OF.match(statement)
        if index is not None and index.group(1) not in found:
            transaction.connection.execute(statement)


def _free(wanted: str, taken: set[str]) -> str:
    number, name = 1, wanted
    while name in taken:
        number += 1
        name = f"{wanted}-{number}"
    return name
