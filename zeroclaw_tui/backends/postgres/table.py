"""A table of memories in PostgreSQL: its columns, and the conversion of records to memories and back."""

from __future__ import annotations

import hashlib
import json
import re
import sys
from array import array
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from zeroclaw_tui.config.memory_config import shown
from zeroclaw_tui.files.database import quoted
from zeroclaw_tui.memory.change import Row, RowVersion, Value
from zeroclaw_tui.memory.entry import BUILT_IN_CATEGORIES, EDITABLE, EXCERPT, MemoryEntry
from zeroclaw_tui.memory.errors import Refused
from zeroclaw_tui.memory.text import is_unicode

Form = Literal["key", "agents", "uuid"]
"""ZeroClaw <= 0.7.5 (a key is unique), >= 0.8.0 (agent and key are), or the tutorial's own table (UUID id, JSON
category, `timestamp`, a pgvector column)."""

_WHY_NOT = {
    "sessions": ("session_id", "This table has no column for sessions."),
    "agents": ("agent_id", "This table has no agents; ZeroClaw keeps them from 0.8.0 on."),
    "namespaces": ("namespace", "This table has no namespaces; ZeroClaw adds them with pgvector only."),
    "importance": ("importance", "This table has no importance; ZeroClaw adds it with pgvector only."),
}
"""The column that each capability needs, and the reason without that column."""
_NEVER = {
    "superseded": "ZeroClaw does not supersede memories in PostgreSQL.",
    "pinned": "ZeroClaw has no pinned memories in PostgreSQL.",
    "kind": "ZeroClaw stores no kinds in PostgreSQL.",
}
_MOMENT = re.compile(r"(\d{4,}-\d\d-\d\d) (\d\d:\d\d:\d\d)(\.\d+)?(?:([+-]\d\d)(?::?(\d\d))?)?")
_DIGEST = "substring(encode(sha256(convert_to(m.content, 'UTF8')), 'hex') FROM 1 FOR 16)"
_VECTOR_HEAD = 4
PLAIN_CATEGORY = """coalesce(substring(m.category from '^[{]"Custom":"(.*)"[}]$'), trim(m.category, '"'))"""
"""The SQL of a category's plain name in the table of the tutorial, exact for names without JSON escapes."""
_VARIANTS = {category: category.capitalize() for category in BUILT_IN_CATEGORIES}
"""The built-in categories as serde writes them."""


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table, existing or not, and the user's rights."""

    schema: str
    name: str
    user: str
    database: str
    is_read_only: bool
    """Whether the server is read-only."""
    has_schema: bool
    may_make: bool
    """Whether the user may create schema and table."""
    may_read: bool
    may_write: bool
    kind: str | None
    """PostgreSQL's `relkind` of the relation with this name; None if there is none."""
    owns_table: bool
    schema_of_vector: str | None
    """The schema of the extension vector; None if it is not installed."""
    columns: Mapping[str, str] = field(default_factory=dict)
    """Every column, also unknown ones, with its type as formatted by `format_type`."""
    generated: frozenset[str] = frozenset()
    """The generated columns, which cannot be written."""
    agents: Mapping[str, str] = field(default_factory=dict)
    """The aliases of the agents by id, in the form "agents"."""

    @cached_property
    def form(self) -> Form:
        """The form of the table."""
        if self.has("timestamp") and not self.has("created_at"):
            return "uuid"
        return "agents" if self.has("agent_id") else "key"

    @cached_property
    def is_tutorial(self) -> bool:
        """Whether it is the tutorial's table and not ZeroClaw's."""
        return self.form == "uuid"

    @property
    def shown_name(self) -> str:
        """Its name in sentences."""
        return f"{self.schema}.{self.name}"

    @property
    def quoted(self) -> str:
        """Its name in SQL."""
        return f'"{self.schema}"."{self.name}"'

    @property
    def read_only_because(self) -> str | None:
        """Why the table cannot be written, as a sentence; None if it can."""
        if self.is_read_only:
            return "The database server is read-only: it is a replica or configured as read-only."
        return None if self.may_write else f"The user {shown(self.user)} may not write to the table {self.shown_name}."

    @property
    def grant(self) -> str:
        """A sentence with the statements that grant the user every right that ZeroClaw needs."""
        schema, user = f'"{self.schema}"', f'"{shown(self.user)}"'
        grants = [f'GRANT CREATE ON DATABASE "{shown(self.database)}" TO {user};']
        if self.has_schema:
            grants.append(f"GRANT USAGE, CREATE ON SCHEMA {schema} TO {user};")
        if self.kind is not None:
            grants.append(f"ALTER TABLE {self.quoted} OWNER TO {user};")
        return f"The owner of the database can run: {' '.join(grants)}"

    def has(self, column: str) -> bool:
        """Whether the table has a column."""
        return column in self.columns

    @property
    def created(self) -> str:
        """The column of the time of creation."""
        return "timestamp" if self.is_tutorial else "created_at"

    @property
    def updated(self) -> str:
        """The column of the time of the last store, which has ZeroClaw's index."""
        return "timestamp" if self.is_tutorial else "updated_at"

    @cached_property
    def keeps_vectors(self) -> bool:
        """Whether the column `embedding` has pgvector's type `vector(n)`, as in ZeroClaw's table."""
        return self.schema_of_vector is not None and self.dimensions is not None

    @cached_property
    def dimensions(self) -> int | None:
        """The dimensions of the vectors according to the column's type; None for another type."""
        found = re.search(r"\bvector\((\d+)\)$", self.columns.get("embedding", ""))
        return int(found[1]) if found else None

    @property
    def why_not(self) -> dict[str, str]:
        """The missing capabilities, with a reason for each."""
        why_not = _NEVER | {name: why for name, (column, why) in _WHY_NOT.items() if not self.has(column)}
        computed = (name for name in EDITABLE if name in self.generated)
        why_not |= {name: f"PostgreSQL itself computes the column {name}." for name in computed}
        if not self.keeps_vectors:
            why_not["vectors"] = "This table has no column of pgvector's type vector(n)."
        if self.read_only_because is not None:
            why_not["write"] = self.read_only_because
        return why_not

    def entry_columns(self, content: str = "m.content") -> str:
        """The select list for a memory without its vector; `content` is the SQL of its content.

        Every value is a text, number or null, so that the driver does not have to look up types.
        """
        dimensions = "NULL::integer"
        if self.keeps_vectors:
            dimensions = f"CASE WHEN embedding IS NOT NULL THEN {self.dimensions:d} END"
        optional = ("session_id", "namespace", "importance", "agent_id")
        columns = [
            "m.id::text AS id",
            "m.key::text AS key",
            "m.category",
            f"m.{self.created}::text AS created_at",
            f"m.{self.updated}::text AS updated_at",
            "octet_length(m.content) AS size",
            *(f"m.{name}::text AS {name}" if self.has(name) else f"NULL::text AS {name}" for name in optional),
            f"{dimensions} AS dimensions",
            f"{content}::text AS content",
        ]
        return ", ".join(columns)

    def entry_from(self, record: Mapping[str, Any]) -> MemoryEntry:
        """Make the memory of a record. Its handle is its id; times are RFC 3339 in UTC with six fractional digits."""
        # Unpack by the position in `entry_columns`, because a screen needs hundreds of these quickly.
        (memory_id, key, category, created, updated, size, session, namespace, importance, owner, dimensions, content,
         *_) = record.values()  # fmt: skip
        timestamp = rfc3339(created) or ""
        return MemoryEntry(
            memory_id,
            key or "",
            content,
            self.category_of(category) if self.is_tutorial else category or "",
            timestamp,
            timestamp if updated == created else rfc3339(updated),
            session,
            namespace,
            None if importance is None else float(importance),
            agent=self.agents.get(owner, owner),
            embedding_dimensions=dimensions,
            handle=memory_id,
            size=size or 0,
            is_excerpt=len(content) == EXCERPT and len(content.encode()) < size,
        )

    @property
    def version_columns(self) -> str:
        """The select list for `version_from`."""
        columns = self.entry_columns("''")
        return f"{columns}, {_DIGEST} AS digest"

    def version_from(self, record: Mapping[str, Any]) -> RowVersion:
        """Make the version of a row from a record with `version_columns`."""
        entry = self.entry_from(record)
        state = _state(entry.updated_at, record["key"], entry.category, entry.session_id, record["digest"])
        return entry.version(state)

    @property
    def stored_columns(self) -> str:
        """The select list for a full row: every column as text that PostgreSQL converts back to the same value."""
        values = {name: f"{quoted(name)}::text" for name in self.columns} | {"embedding": self.vector_column}
        return ", ".join(f"{values[name]} AS {quoted(name)}" for name in self.columns)

    @property
    def vector_column(self) -> str:
        """The SQL of a row's vector, for `vector_from`."""
        return f"{self.schema_of_vector}.vector_send(embedding)" if self.keeps_vectors else "embedding::text"

    def stored_row(self, record: Mapping[str, Any]) -> Row:
        """Make the full row of a record with `stored_columns`.

        Values have ZeroClaw's names: key, content, category, created_at, updated_at, session_id, namespace, importance
        (a number), `embedding` as float32 little-endian bytes; other columns are text. `agent` is the agent's alias.
        The tutorial's `timestamp` is both created_at and updated_at.
        """
        values: dict[str, Value] = {name: record[name] for name in self.columns}
        if self.is_tutorial:
            values["created_at"] = values["updated_at"] = rfc3339(values.pop("timestamp"))  # type: ignore[arg-type]
            values["category"] = self.category_of(record["category"])
        else:
            values |= {name: rfc3339(record[name]) for name in ("created_at", "updated_at")}
        if values.get("importance") is not None:
            values["importance"] = float(str(values["importance"]))
        if self.has("embedding"):
            values["embedding"] = vector_from(record["embedding"])
        agent = values.get("agent_id")
        alias = None if agent is None else self.agents.get(str(agent), str(agent))
        return Row(str(values["id"]), values, str(values["id"]), alias)

    def parameters(self, row: Row) -> dict[str, Any]:
        """The parameter for each column of a row, as text or None; `casts` has the SQL that converts it."""
        bound = {name: _as_text(row.values.get(name)) for name in self.columns}
        bound["id"] = row.id
        if self.is_tutorial:
            bound["timestamp"] = _as_text(row.values.get("updated_at") or row.values.get("created_at"))
            bound["category"] = self.category_written(str(row.values["category"]))
        return {name: value for name, value in bound.items() if name not in self.generated}

    @property
    def casts(self) -> dict[str, str]:
        """The SQL that converts each column's text parameter, with %s as the placeholder:
        `CAST(%s::text AS timestamp with time zone)`."""
        return {
            name: f"CAST(%s::text AS {kind.replace('%', '%%')})"
            for name, kind in self.columns.items()
            if name not in self.generated
        }

    def category_of(self, stored: str | None) -> str:
        """The plain name of a stored category: `"Core"` is core, `{"Custom":"x"}` is x, anything else is unchanged."""
        if stored is None or not self.is_tutorial or stored[:1] not in ('"', "{"):
            return stored or ""
        try:
            decoded = json.loads(stored)
        except (ValueError, RecursionError):
            return stored
        if isinstance(decoded, str):
            return decoded.lower() if decoded.lower() in BUILT_IN_CATEGORIES else decoded
        custom = decoded.get("Custom") if isinstance(decoded, dict) and len(decoded) == 1 else None
        return custom if isinstance(custom, str) else stored

    def category_written(self, name: str) -> str:
        """The stored form of a category in this table."""
        if not self.is_tutorial:
            return name
        return json.dumps(_VARIANTS.get(name) or {"Custom": name}, ensure_ascii=False, separators=(",", ":"))


def rfc3339(text: str | None) -> str | None:
    """Convert PostgreSQL's text of a time (ISO, UTC) to RFC 3339 with six fractional digits.

    Times that RFC 3339 cannot express ("infinity", years BC) are unchanged; PostgreSQL can parse both.
    """
    found = _MOMENT.fullmatch(text) if text else None
    if found is None:
        return text
    day, clock, fraction, hours, minutes = found.groups()
    return f"{day}T{clock}.{(fraction or '.')[1:]:0<6}{hours or '+00'}:{minutes or '00'}"


def state_of(row: Row) -> str:
    """Compute the `state` for the version of a row."""
    values = row.values
    content = values["content"]
    digest = None if content is None else hashlib.sha256(str(content).encode()).hexdigest()[:16]
    return _state(values.get("updated_at"), values["key"], values["category"] or "", values.get("session_id"), digest)


def _state(*parts: Value) -> str:
    """Hash the parts of a row; the time alone is not enough, since other programs may not update it."""
    text = "\x00".join("\x01" if part is None else str(part) for part in parts)
    return hashlib.blake2b(text.encode(), digest_size=12).hexdigest()


def vector_from(value: bytes | str | None) -> Value:
    """Convert a value of `vector_column` to float32 little-endian; text of another type is unchanged."""
    if not isinstance(value, bytes):
        return value
    numbers = array("f", value[_VECTOR_HEAD:])
    numbers.byteswap()
    return numbers.tobytes()


def vector_text(data: bytes) -> str:
    """Format a float32 little-endian vector for pgvector."""
    numbers = array("f", data)
    if sys.byteorder == "big":
        numbers.byteswap()
    # Nine digits distinguish any two float32.
    return f"[{','.join(f'{number:.9g}' for number in numbers)}]"


def _as_text(value: Value) -> str | None:
    if isinstance(value, bytes):
        return vector_text(value)
    return None if value is None else str(value)


def can_hold(text: str) -> bool:
    """Whether PostgreSQL can store a text: not with NUL or an unpaired surrogate."""
    return "\x00" not in text and is_unicode(text)


def check_text(*texts: str | None) -> None:
    """Raise Refused for a text that PostgreSQL cannot store: one with NUL or an unpaired surrogate."""
    for text in filter(None, texts):
        if "\x00" in text:
            raise Refused("PostgreSQL stores no text with a NUL character.", hint="Remove it from the text.")
        if not is_unicode(text):
            raise Refused("PostgreSQL stores Unicode text only.", hint="Remove unpaired surrogates from the text.")
