"""Parameters of a statement, and the pieces that statements on a table of memories share."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from typing import Any

from zeroclaw_tui.backends.postgres.table import Table, base_type
from zeroclaw_tui.memory.errors import Refused
from zeroclaw_tui.memory.text import is_unicode


class Parameters:
    """The values of a statement, in the order in which their places were handed out.

    Every place names its type, so that the server has nothing to guess and the driver nothing to look up.
    """

    def __init__(self, values: Iterable[Any] = ()) -> None:
        self.values: list[Any] = list(values)

    @property
    def next(self) -> int:
        """The number of the place that comes next."""
        return len(self.values) + 1

    def text(self, value: str | None) -> str:
        """A place for a text."""
        return self._placed(value, "text")

    def texts(self, values: Sequence[str | None]) -> str:
        """A place for a list of texts."""
        return self._placed(list(values), "text[]")

    def count(self, value: int) -> str:
        """A place for a whole number."""
        return self._placed(value, "bigint")

    def number(self, value: float) -> str:
        """A place for a number."""
        return self._placed(float(value), "float8")

    def also(self, values: Iterable[Any]) -> None:
        """Values whose places are in the statement already."""
        self.values.extend(values)

    def _placed(self, value: Any, type_: str) -> str:
        self.values.append(value)
        return f"${len(self.values)}::{type_}"


def ids_are(table: Table, ids: Iterable[str], given: Parameters) -> str:
    """A condition that holds for the rows of these ids and can use the primary key."""
    if base_type(table.columns["id"]) != "uuid":
        return f"m.id = ANY({given.texts([row_id for row_id in ids if _is_text(row_id)])})"
    return f"m.id = ANY(CAST({given.texts([row_id for row_id in ids if _is_uuid(row_id)])} AS uuid[]))"


def keys_are(table: Table, keys: Iterable[str], owners: Iterable[str] | None, given: Parameters) -> str:
    """A condition that holds for the rows of these keys, of these agents' only where `owners` says so."""
    condition = f"m.key = ANY({given.texts(list(keys))})"
    if owners is None or not table.has("agent_id"):
        return condition
    return f"{owned(table, given.texts(list(owners)))} AND {condition}"


def owned(table: Table, place: str) -> str:
    """A condition that holds for the rows of these agents' ids."""
    if base_type(table.columns["agent_id"]) == "uuid":
        return f"m.agent_id::text = ANY({place})"
    return f"m.agent_id = ANY({place})"


def moment_of(place: str) -> str:
    """A moment in RFC 3339 as a time, read once: a plain cast depends on settings, so it would be read for each row."""
    return f"(SELECT CAST({place} AS timestamptz))"


def can_hold(text: str) -> bool:
    """Whether PostgreSQL can store a text: none with NUL, or with half of a surrogate pair."""
    return "\x00" not in text and is_unicode(text)


def check_text(*texts: str | None) -> None:
    """Raises Refused for a text that PostgreSQL cannot store: one with NUL, or with half of a surrogate pair."""
    for text in texts:
        if text is None:
            continue
        if "\x00" in text:
            raise Refused("PostgreSQL stores no text with the character NUL in it.", hint="Take it out of the text.")
        if not is_unicode(text):
            raise Refused("PostgreSQL stores no text that is not Unicode.", hint="Half characters have to go first.")


def has_vectors(table: Table) -> bool:
    """Whether there is a column of pgvector's type `vector`, and the extension that compares them."""
    return table.vector_type == "vector" and table.schema_of_vector is not None


def _is_text(id: str) -> bool:
    return "\x00" not in id and is_unicode(id)


def _is_uuid(text: str) -> bool:
    try:
        uuid.UUID(text)
    except ValueError:
        return False
    return True
