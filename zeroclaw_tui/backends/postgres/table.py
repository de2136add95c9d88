"""The shape of the table of memories: of which ZeroClaw versions it is, or the user's own with UUIDs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import asyncpg  # type: ignore[import-untyped]

Form = Literal["key", "agents", "uuid"]
"""ZeroClaw <= 0.7.5 (a key is unique), >= 0.8.0 (agent and key are), or the tutorial's own table (UUID id, JSON
category, `timestamp`, a pgvector column)."""


@dataclass(frozen=True, slots=True)
class Table:
    """One table of memories, as it was found.

    `columns` maps each column, also those nobody here knows, to its type as `format_type` spells it. `vectors` is
    whether any row has one. `agents` maps agent ids to aliases (form "agents"). `schema_of_vector` is where the
    extension vector lives, None where it is not installed. `read_only_because` as in Memory.
    """

    schema: str
    name: str
    form: Form
    columns: Mapping[str, str]
    agents: Mapping[str, str]
    vectors: bool = False
    schema_of_vector: str | None = None
    read_only_because: str | None = None

    @property
    def quoted(self) -> str:
        """Its name for a statement."""
        return f'"{self.schema}"."{self.name}"'

    def has(self, column: str) -> bool:
        """Whether there is that column."""
        return column in self.columns


def checked_name(what: str, name: str) -> str:
    """A schema's or table's name. Raises WrongUse for one that ZeroClaw does not take ([A-Za-z_][A-Za-z0-9_]*)."""
    raise NotImplementedError


async def read_table(connection: asyncpg.Connection, schema: str, name: str) -> Table:
    """Look at the table. Raises NothingYet where there is none, Unreadable for another program's, naming why."""
    raise NotImplementedError
