"""From a record of the driver to a memory, and to the row exactly as it is stored; how categories are spelled."""

from __future__ import annotations

import json
import re
import sys
from array import array
from collections.abc import Iterable, Mapping
from typing import Any

from zeroclaw_tui.backends.postgres.schema import Table, base_type
from zeroclaw_tui.memory.change import StoredRow, Value
from zeroclaw_tui.memory.entry import BUILT_IN_CATEGORIES, EXCERPT, MemoryEntry

_MOMENT = re.compile(r"(\d{4,}-\d\d-\d\d) (\d\d:\d\d:\d\d)(\.\d+)?(?:([+-]\d\d)(?::?(\d\d))?)?")

_USUAL_LENGTH = len("2026-01-01 00:00:00.000000+00")
_AS_STORED = "category_as_stored"
_VECTOR_HEAD = 4
_BINARY_VECTORS = ("vector",)
_TEXT_VECTORS = ("halfvec", "real[]")
_VARIANTS = {category: category.capitalize() for category in BUILT_IN_CATEGORIES}
"""How serde writes them."""


def rfc3339(text: str | None) -> str | None:
    """A time as PostgreSQL writes it (ISO, UTC) in RFC 3339 with six digits of fraction.

    What RFC 3339 has no form for ("infinity", years before Christ) stays as it is; PostgreSQL reads both back.
    """
    if text and len(text) == _USUAL_LENGTH and text[10] == " " and text[19] == "." and text.endswith("+00"):
        return f"{text[:10]}T{text[11:-3]}+00:00"
    found = _MOMENT.fullmatch(text) if text else None
    if found is None:
        return text
    day, clock, fraction, hours, minutes = found.groups()
    return f"{day}T{clock}.{(fraction or '.')[1:]:0<6}{hours or '+00'}:{minutes or '00'}"


def entry_columns(table: Table, *, excerpt: bool) -> str:
    """The select list of a memory; every value comes as text, number or null, so that no type has to be looked up."""

    def column(name: str, cast: str = "text") -> str:
        return f"{name}::{cast} AS {name}" if table.has(name) else f"NULL::{cast} AS {name}"

    def told(name: str, text: str, otherwise: str = "''") -> str:
        return f"coalesce({text}, {otherwise}) AS" if name in table.may_be_null else f"{text} AS"

    content = f"left(content, {EXCERPT})" if excerpt else "content"
    columns = [
        "id::text AS id",
        f"{told('key', 'key::text')} key",
        f"{told('content', f'{content}::text')} content",
        f"{told('content', 'octet_length(content)', '0')} size",
        f"{category_text(table)} AS category",
        f"{table.created}::text AS created_at",
        f"{table.updated}::text AS updated_at",
        column("session_id"),
        column("namespace"),
        column("importance"),
        column("agent_id"),
        f"{dimensions_of(table)} AS dimensions",
    ]
    return ", ".join(columns)


def dimensions_of(table: Table) -> str:
    """The SQL of a vector's length, NULL without one; the vector itself is not read where its type says it."""
    if table.vector_type is None:
        return "NULL::integer"
    if table.dimensions is not None:
        return f"CASE WHEN embedding IS NOT NULL THEN {table.dimensions:d} END"
    if table.vector_type in ("vector", "halfvec", "sparsevec") and table.schema_of_vector:
        function = "vector_dims"
        cast = "" if table.vector_type != "sparsevec" else f"::{table.schema_of_vector}.vector"
        return f"{table.schema_of_vector}.{function}(embedding{cast})"
    if table.vector_type.endswith("[]"):
        return "array_length(embedding, 1)"
    return "NULL::integer"


def agent_named(agent_id: str | None, table: Table) -> str | None:
    """The agent's alias, its id where no agent has that id."""
    return None if agent_id is None else table.agents.get(agent_id, agent_id)


def entry_from(record: Mapping[str, Any], table: Table) -> MemoryEntry:
    """The memory. Its handle is its id; times are RFC 3339 in UTC with six digits of fraction."""
    # A screen waits for hundreds of these: the values are taken by their place in `entry_columns`.
    (memory_id, key, content, size, category, created, updated, session, namespace, importance, agent_id, dimensions,
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


def stored_columns(table: Table) -> str:
    """The select list of a whole row: every column as the text that PostgreSQL itself reads back to the same value."""
    return ", ".join(_stored_column(name, table) for name in table.columns)


def _stored_column(name: str, table: Table) -> str:
    column = quoted(name)
    return f"{vector_column(table)} AS {column}" if name == "embedding" else f"{column}::text AS {column}"


def vector_column(table: Table) -> str:
    """The SQL of a row's vector, to be read by `vector_from`."""
    if table.vector_type in _BINARY_VECTORS and table.schema_of_vector:
        return f"{table.schema_of_vector}.vector_send(embedding)"
    return "embedding::text"


def stored_row(record: Mapping[str, Any], table: Table) -> StoredRow:
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
        values["embedding"] = vector_from(values["embedding"], table)
    agent = values.get("agent_id")
    return StoredRow(
        str(values["id"]), values, str(values["id"]), None if agent is None else agent_named(str(agent), table)
    )


def vector_from(value: Any, table: Table) -> Value:
    """A vector of `vector_column` as float32 little-endian; None stays None, what is no such vector stays text."""
    if value is None:
        return None
    if isinstance(value, bytes):
        numbers = array("f", value[_VECTOR_HEAD:])
        if sys.byteorder == "little":
            numbers.byteswap()
    elif table.vector_type in _TEXT_VECTORS and "NULL" not in value and not value.startswith("{{"):
        numbers = array("f", [float(number) for number in value.strip("[]{}").split(",") if number])
    else:
        return str(value)
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers.tobytes()


def parameters(row: StoredRow, table: Table) -> dict[str, Any]:
    """Back again: for each column of the table the value to bind, all as text or None; `casts` says how to bind it."""
    bound = {name: _as_text(row.values.get(name), table) for name in table.columns}
    bound["id"] = row.id
    if table.form == "uuid":
        moment = row.values.get("updated_at") or row.values.get("created_at")
        bound["timestamp"] = None if moment is None else str(moment)
        category = str(row.values["category"])
        stored = row.values.get(_AS_STORED)
        same = stored is not None and category_of(str(stored), table) == category
        bound["category"] = str(stored) if same else category_written(category, table)
    return {name: value for name, value in bound.items() if name not in table.generated}


def _as_text(value: Value, table: Table) -> str | None:
    if isinstance(value, bytes):
        numbers = array("f", value)
        if sys.byteorder == "big":
            numbers.byteswap()
        opening, closing = "{}" if (table.vector_type or "").endswith("[]") else "[]"
        # Nine digits tell any two float32 apart.
        return opening + ",".join(f"{number:.9g}" for number in numbers) + closing
    return None if value is None else str(value)


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
    if isinstance(decoded, dict) and len(decoded) == 1:
        name, value = next(iter(decoded.items()))
        if name.lower() == "custom" and isinstance(value, str):
            return value
    return stored


def category_written(name: str, table: Table) -> str:
    """How this table writes a category."""
    if table.form != "uuid":
        return name
    if name in _VARIANTS:
        return json.dumps(_VARIANTS[name])
    return json.dumps({"Custom": name}, ensure_ascii=False, separators=(",", ":"))


def spellings(names: Iterable[str], table: Table) -> list[str]:
    """Every way in which these categories may be written in the table."""
    if table.form != "uuid":
        return list(names)
    found: list[str] = []
    for name in names:
        plain = json.dumps(name, ensure_ascii=False)
        found += [name, plain, f'{{"Custom":{plain}}}', f'{{"Custom": {plain}}}']
        found += [f'{{"custom":{plain}}}', f'{{"custom": {plain}}}']
        if name in _VARIANTS:
            found.append(json.dumps(_VARIANTS[name]))
    return found


def category_text(table: Table, prefix: str = "") -> str:
    """The SQL of the stored text; `prefix` is what the table is called ("m.")."""
    return f"{prefix}category" + ("" if base_type(table.columns["category"]) == "text" else "::text")


def category_to_sort(table: Table, prefix: str = "") -> str:
    """The SQL of what to order by: the plain name, near enough for names without escapes."""
    text = category_text(table, prefix)
    if table.form != "uuid":
        return text
    custom = f"""substring({text} from '^[{{]"[Cc]ustom": ?"(.*)"[}}]$')"""
    plain = f"""CASE WHEN lower({text}) IN ('"core"', '"daily"', '"conversation"') THEN lower(trim({text}, '"')) END"""
    return f"coalesce({custom}, {plain}, {text})"
