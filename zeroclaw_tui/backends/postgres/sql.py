"""The columns of a table of memories, what their records become, and how values are written back."""

from __future__ import annotations

import hashlib
import json
import re
import sys
import uuid
from array import array
from collections.abc import Mapping
from typing import Any

from zeroclaw_tui.backends.postgres.schema import Table
from zeroclaw_tui.memory.change import Row, RowVersion, Value
from zeroclaw_tui.memory.entry import BUILT_IN_CATEGORIES, EXCERPT, MemoryEntry
from zeroclaw_tui.memory.errors import Refused
from zeroclaw_tui.memory.text import is_unicode

_MOMENT = re.compile(r"(\d{4,}-\d\d-\d\d) (\d\d:\d\d:\d\d)(\.\d+)?(?:([+-]\d\d)(?::?(\d\d))?)?")

_AS_STORED = "category_as_stored"
_DIGEST = "substring(encode(sha256(convert_to(m.content, 'UTF8')), 'hex') FROM 1 FOR 16)"
_VECTOR_HEAD = 4
_PLAIN_NAME = """coalesce(substring(m.category from '^[{]"Custom":"(.*)"[}]$'), trim(m.category, '"'))"""
_VARIANTS = {category: category.capitalize() for category in BUILT_IN_CATEGORIES}
"""How serde writes them."""


def rfc3339(text: str | None) -> str | None:
    """A time as PostgreSQL writes it (ISO, UTC) in RFC 3339 with six digits of fraction.

    What RFC 3339 has no form for ("infinity", years before Christ) stays as it is; PostgreSQL reads both back.
    """
    found = _MOMENT.fullmatch(text) if text else None
    if found is None:
        return text
    day, clock, fraction, hours, minutes = found.groups()
    return f"{day}T{clock}.{(fraction or '.')[1:]:0<6}{hours or '+00'}:{minutes or '00'}"


def _columns(table: Table, *names: str) -> list[str]:
    """The SQL of what every reading has, and of further columns as text; NULL where the table lacks them."""
    return [
        "m.id::text AS id",
        "m.key::text AS key",
        "m.category",
        f"m.{table.created}::text AS created_at",
        f"m.{table.updated}::text AS updated_at",
        "octet_length(m.content) AS size",
        *(f"m.{name}::text AS {name}" if table.has(name) else f"NULL::text AS {name}" for name in names),
    ]


def entry_columns(table: Table, *, excerpt: bool) -> str:
    """The select list of a memory; every value comes as text, number or null, so that no type has to be looked up."""
    columns = _columns(table, "session_id", "namespace", "importance", "agent_id")
    content = f"left(m.content, {EXCERPT})" if excerpt else "m.content"
    return ", ".join([*columns, f"{dimensions_of(table)} AS dimensions", f"{content}::text AS content"])


def dimensions_of(table: Table) -> str:
    """The SQL of a vector's length, NULL without one; the vector itself is not read."""
    return f"CASE WHEN embedding IS NOT NULL THEN {table.dimensions:d} END" if table.keeps_vectors else "NULL::integer"


def agent_named(agent_id: str | None, table: Table) -> str | None:
    """The agent's alias, its id where no agent has that id."""
    return None if agent_id is None else table.agents.get(agent_id, agent_id)


def entry_from(record: Mapping[str, Any], table: Table) -> MemoryEntry:
    """The memory. Its handle is its id; times are RFC 3339 in UTC with six digits of fraction."""
    # A screen waits for hundreds of these: the values are taken by their place in `entry_columns`.
    (memory_id, key, category, created, updated, size, session, namespace, importance, agent_id, dimensions, content,
     *_) = record.values()  # fmt: skip
    timestamp = rfc3339(created) or ""
    return MemoryEntry(
        memory_id,
        key,
        content,
        category_of(category, table) if table.form == "uuid" else category or "",
        timestamp,
        timestamp if updated == created else rfc3339(updated),
        session,
        namespace,
        None if importance is None else float(importance),
        agent=None if agent_id is None else agent_named(agent_id, table),
        embedding_dimensions=dimensions,
        handle=memory_id,
        size=size,
        is_excerpt=len(content) == EXCERPT and len(content.encode()) < size,
    )


def version_columns(table: Table) -> str:
    """The columns for `version_from`."""
    return ", ".join([*_columns(table, "session_id", "agent_id"), f"{_DIGEST} AS digest"])


def version_from(record: Any, table: Table) -> RowVersion:
    """The version of a row, of a record with `version_columns`."""
    category, updated = category_of(record["category"], table), rfc3339(record["updated_at"])
    return RowVersion(
        id=record["id"],
        state=_state(updated, record["key"], category, record["session_id"], record["digest"]),
        key=record["key"] or "",
        category=category,
        size=record["size"] or 0,
        timestamp=rfc3339(record["created_at"]) or "",
        updated_at=updated or "",
        agent=agent_named(record["agent_id"], table),
        handle=record["id"],
    )


def state_of(row: Row) -> str:
    """The state in the version of this row."""
    values = row.values
    content = values["content"]
    digest = None if content is None else hashlib.sha256(str(content).encode()).hexdigest()[:16]
    return _state(values.get("updated_at"), values["key"], values["category"] or "", values.get("session_id"), digest)


def _state(*parts: Value) -> str:
    """A short text that differs where one of the parts does; other programs may leave the times alone."""
    text = "\x00".join("\x01" if part is None else str(part) for part in parts)
    return hashlib.blake2b(text.encode(), digest_size=12).hexdigest()


def stored_columns(table: Table) -> str:
    """The select list of a whole row: every column as the text that PostgreSQL itself reads back to the same value."""
    values = {name: f"{quoted(name)}::text" for name in table.columns} | {"embedding": vector_column(table)}
    return ", ".join(f"{values[name]} AS {quoted(name)}" for name in table.columns)


def vector_column(table: Table) -> str:
    """The SQL of a row's vector, to be read by `vector_from`."""
    return f"{table.schema_of_vector}.vector_send(embedding)" if table.keeps_vectors else "embedding::text"


def stored_row(record: Mapping[str, Any], table: Table) -> Row:
    """The row as it is stored.

    Values have ZeroClaw's names: key, content, category, created_at, updated_at, session_id, namespace, importance (a
    number), `embedding` as float32 little-endian bytes; other columns are text. The agent's alias is `agent`. The
    tutorial's `timestamp` is both created_at and updated_at; a category it spells in another way than serde does is
    also there as it is stored, under `category_as_stored`.
    """
    values: dict[str, Value] = {name: record[name] for name in table.columns}
    if table.form == "uuid":
        values["created_at"] = values["updated_at"] = rfc3339(values.pop("timestamp"))  # type: ignore[arg-type]
        stored = str(values["category"])
        values["category"] = category = category_of(stored, table)
        if category_written(category, table) != stored:
            values[_AS_STORED] = stored
    else:
        for name in ("created_at", "updated_at"):
            values[name] = rfc3339(record[name])
    if values.get("importance") is not None:
        values["importance"] = float(str(values["importance"]))
    if table.has("embedding"):
        values["embedding"] = vector_from(record["embedding"])
    agent = values.get("agent_id")
    return Row(str(values["id"]), values, str(values["id"]), None if agent is None else agent_named(str(agent), table))


def vector_from(value: bytes | str | None) -> Value:
    """A vector of `vector_column` as float32 little-endian; what is no vector of pgvector's stays text."""
    if not isinstance(value, bytes):
        return value
    numbers = array("f", value[_VECTOR_HEAD:])
    numbers.byteswap()
    return numbers.tobytes()


def parameters(row: Row, table: Table) -> dict[str, Any]:
    """Back again: for each column of the table the value to bind, all as text or None; `casts` says how to bind it."""
    bound = {name: _as_text(row.values.get(name)) for name in table.columns}
    bound["id"] = row.id
    if table.form == "uuid":
        moment = row.values.get("updated_at") or row.values.get("created_at")
        bound["timestamp"] = None if moment is None else str(moment)
        category = str(row.values["category"])
        stored = row.values.get(_AS_STORED)
        same = stored is not None and category_of(str(stored), table) == category
        bound["category"] = str(stored) if same else category_written(category, table)
    return {name: value for name, value in bound.items() if name not in table.generated}


def _as_text(value: Value) -> str | None:
    if isinstance(value, bytes):
        return vector_text(value)
    return None if value is None else str(value)


def vector_text(data: bytes) -> str:
    """A vector, float32 little-endian, as pgvector reads it."""
    numbers = array("f", data)
    if sys.byteorder == "big":
        numbers.byteswap()
    # Nine digits tell any two float32 apart.
    return f"[{','.join(f'{number:.9g}' for number in numbers)}]"


def casts(table: Table) -> dict[str, str]:
    """For each column how a text parameter becomes its value: `CAST(%s AS timestamp with time zone)`, %s the place."""
    return {
        name: f"CAST(%s::text AS {kind.replace('%', '%%')})"
        for name, kind in table.columns.items()
        if name not in table.generated
    }


def quoted(name: str) -> str:
    """A column's name for a statement."""
    return '"' + name.replace('"', '""') + '"'


def category_of(stored: str | None, table: Table) -> str:
    """The plain name: `"Core"` is core, `{"Custom":"x"}` is x, anything else is itself."""
    if stored is None or table.form != "uuid" or stored[:1] not in ('"', "{"):
        return stored or ""
    try:
        decoded = json.loads(stored)
    except (ValueError, RecursionError):
        return stored
    if isinstance(decoded, str):
        return decoded.lower() if decoded.lower() in BUILT_IN_CATEGORIES else decoded
    custom = decoded.get("Custom") if isinstance(decoded, dict) and len(decoded) == 1 else None
    return custom if isinstance(custom, str) else stored


def category_written(name: str, table: Table) -> str:
    """How this table writes a category."""
    if table.form != "uuid":
        return name
    if name in _VARIANTS:
        return json.dumps(_VARIANTS[name])
    return json.dumps({"Custom": name}, ensure_ascii=False, separators=(",", ":"))


def category_to_sort(table: Table) -> str:
    """The SQL of what to order by: the plain name, near enough for names without escapes."""
    return f"lower({_PLAIN_NAME})" if table.form == "uuid" else "m.category"


def can_hold(text: str) -> bool:
    """Whether PostgreSQL can store a text: none with NUL, or with half of a surrogate pair."""
    return "\x00" not in text and is_unicode(text)


def check_text(*texts: str | None) -> None:
    """Raises Refused for a text that PostgreSQL cannot store: one with NUL, or with half of a surrogate pair."""
    for text in texts:
        if text is None:
            continue
        if "\x00" in text:
            raise Refused("PostgreSQL stores no text with a NUL character.", hint="Remove it from the text.")
        if not is_unicode(text):
            raise Refused("PostgreSQL stores Unicode text only.", hint="Remove unpaired surrogates from the text.")


def is_uuid(text: str) -> bool:
    """Whether a text is a UUID, in any of its spellings."""
    try:
        uuid.UUID(text)
    except ValueError:
        return False
    return True
