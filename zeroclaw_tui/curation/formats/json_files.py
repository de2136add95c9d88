"""Memories in JSON: exports of mem0, responses of R-Mem's server, and the graph of an MCP server.

mem0: {"results": [{"id", "memory", "hash", "created_at", "updated_at", "user_id", "agent_id", "run_id", "metadata",
"categories", "expiration_date", …}]}, or the bare list. The TypeScript library writes `createdAt` and `userId`.

R-Mem: {"success": true, "data": [{"id", "user_id", "text", "category", "created_at", "updated_at"}]}, or the bare list,
as from its MCP tool. Its database is a store that this program opens and copies, rather than imports.

The MCP server "memory": each line is {"type": "entity", "name", "entityType", "observations": [text, …]} or {"type":
"relation", "from", "to", "relationType"}, even in a file named `.json`; there are neither ids nor times.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from itertools import islice
from typing import Any

from zeroclaw_tui.curation.formats import rows
from zeroclaw_tui.curation.formats.source import Source
from zeroclaw_tui.memory.change import Row
from zeroclaw_tui.memory.errors import UsageError

_READ = ("id", "user_id", "agent_id", "run_id", "created_at", "updated_at")
_READ_OF_MEM0 = (*_READ, "memory", "expiration_date", "categories", "text_lemmatized", "score")
_READ_OF_RMEM = (*_READ, "text", "category")
_OF_MEM0 = frozenset({"id", "hash", "user_id", "agent_id", "created_at"})
_OF_RMEM = frozenset({"user_id", "text", "category"})
_ENTITY = ("type", "name", "entityType", "observations")
_RELATION = ("from", "relationType", "to")
_FACT = '{"semantic":"fact"}'
"""The kind for a relation between two names, for which ZeroClaw has no kind."""
_SNIFFED = 6
"""The number of lines that are read to recognise a graph."""
_CAPITAL = re.compile(r"(?<=[a-z])([A-Z])")


def sniff_mem0(source: Source) -> bool:
    """Recognise the fields of mem0's memories."""
    return any(rows.text_at(record, "memory") and record.keys() & _OF_MEM0 for record in _sniffed(source, "results"))


def read_mem0(source: Source, lost: Counter[str]) -> Iterator[Row]:
    """Yield the memories that have not expired, with the first of their categories."""
    for record in _records(source, "results"):
        content, expires = rows.text_at(record, "memory"), rows.moment_of(record.get("expiration_date"))
        if content is None:
            lost[rows.EMPTY if record else rows.INVALID] += 1
        elif expires is not None and datetime.fromisoformat(expires) < datetime.now(UTC):
            lost["expired memories"] += 1
        else:
            rows.count_lost(record, _READ_OF_MEM0, lost)
            stated = record.get("categories")
            first = stated[0] if isinstance(stated, list) and stated else None
            yield _row("mem0", record, content, first if isinstance(first, str) else None)


def sniff_rmem(source: Source) -> bool:
    """Recognise the fields of R-Mem's memories."""
    records = _sniffed(source, "data")
    return bool(records) and all(record.keys() >= _OF_RMEM for record in records)


def read_rmem(source: Source, lost: Counter[str]) -> Iterator[Row]:
    """Yield the memories with their category, and their user as namespace."""
    for record in _records(source, "data"):
        content = rows.text_at(record, "text")
        if content is None:
            lost[rows.EMPTY if record else rows.INVALID] += 1
        else:
            rows.count_lost(record, _READ_OF_RMEM, lost)
            yield _row("rmem", record, content, rows.text_at(record, "category"))


def _row(tool: str, record: Mapping[str, Any], content: str, category: str | None) -> Row:
    return rows.memory_row(
        rows.identified_key(tool, record.get("id"), content),
        content,
        category,
        agent=rows.text_at(record, "agent_id"),
        created_at=rows.moment_of(record.get("created_at")),
        updated_at=rows.moment_of(record.get("updated_at")),
        namespace=rows.text_at(record, "user_id"),
        session_id=rows.text_at(record, "run_id"),
    )


def _records(source: Source, name: str) -> list[dict[str, Any]]:
    """The objects of a list, or of the list with this name in a document, fields in lower case; {} for non-objects.

    Raises UsageError for invalid JSON.
    """
    document = source.document()
    items = document.get(name) if isinstance(document, dict) else document
    return [
        {_CAPITAL.sub(r"_\1", name).lower(): value for name, value in item.items()} if isinstance(item, dict) else {}
        for item in (items if isinstance(items, list) else [])
    ]


def _sniffed(source: Source, name: str) -> list[dict[str, Any]]:
    """The same objects; [] for a file that is no JSON, and for a folder."""
    with suppress(UsageError):
        if not source.is_folder and source.head().lstrip()[:1] in (b"{", b"["):
            return _records(source, name)
    return []


def sniff_mcp(source: Source) -> bool:
    """Recognise an entity or a relation in the first lines."""
    if source.is_folder or source.head().lstrip()[:1] != b"{":
        return False
    return any(_is_entity(record) or _is_relation(record) for record in islice(_graph_records(source), _SNIFFED))


def read_mcp(source: Source, lost: Counter[str]) -> Iterator[Row]:
    """Yield each observation and each relation as a memory."""
    for record in _graph_records(source):
        if _is_relation(record):
            start, relation, end = (record[name] for name in _RELATION)
            rows.count_lost(record, ("type", *_RELATION), lost)
            content = f"{start} {relation} {end}"
            yield rows.memory_row(rows.titled_key("mcp", start, content), content, "relation", kind=_FACT)
        elif _is_entity(record):
            rows.count_lost(record, _ENTITY, lost)
            for text in record["observations"]:
                if isinstance(text, str) and text.strip():
                    content = f"{record['name']}: {text}"
                    key = rows.titled_key("mcp", record["name"], content)
                    yield rows.memory_row(key, content, rows.text_at(record, "entityType"))
                else:
                    lost[rows.EMPTY] += 1
        else:
            lost[rows.INVALID] += 1


def _graph_records(source: Source) -> Iterator[Mapping[str, Any]]:
    """Yield the object of each line that is not blank; {} for a line that is not an object."""
    for line in source.text().split("\n"):
        record: Any = None
        with suppress(ValueError, RecursionError):
            record = json.loads(line)
        if line.strip():
            yield record if isinstance(record, dict) else {}


def _is_entity(record: Mapping[str, Any]) -> bool:
    return rows.text_at(record, "name") is not None and isinstance(record.get("observations"), list)


def _is_relation(record: Mapping[str, Any]) -> bool:
    return all(rows.text_at(record, name) for name in _RELATION)
