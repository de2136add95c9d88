"""The lists of memories in JSON that mem0 exports and that R-Mem's server answers with.

mem0: {"results": [{"id", "memory", "hash", "created_at", "updated_at", "user_id", "agent_id", "run_id", "metadata",
"categories", "expiration_date", …}]}, the bare list, or objects with `text` or `content`, which its command line
imports. The TypeScript library writes `createdAt` and `userId`; both spellings are read.

R-Mem: {"success": true, "data": [{"id", "user_id", "text", "category", "created_at", "updated_at"}]}, or the bare list,
which its MCP tool gives. Its database is a store that this program opens; it is copied, not imported.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from zeroclaw_tui.curation.formats.rows import (
    EMPTY,
    INVALID,
    count_lost,
    identified_key,
    json_documents,
    memory_row,
    moment_of,
    text_at,
)
from zeroclaw_tui.curation.formats.source import Source
from zeroclaw_tui.memory.change import Row

_TEXTS = ("memory", "text", "content")
_READ = ("id", "user_id", "agent_id", "run_id", "created_at", "updated_at")
_READ_OF_MEM0 = (*_READ, *_TEXTS, "expiration_date", "categories", "text_lemmatized", "score")
_READ_OF_RMEM = (*_READ, "text", "category")
_CAPITAL = re.compile(r"(?<=[a-z])([A-Z])")


def sniff_mem0(source: Source) -> bool:
    """By the fields of its memories."""
    return any(_is_mem0(document) for document in json_documents(source))


def read_mem0(source: Source, lost: Counter[str]) -> Iterator[Row]:
    """Every memory that has not expired."""
    for document in json_documents(source):
        for record in _records(document):
            content, expires = text_at(record, *_TEXTS), moment_of(record.get("expiration_date"))
            if content is None:
                lost[EMPTY if record else INVALID] += 1
            elif expires is not None and datetime.fromisoformat(expires) < datetime.now(UTC):
                lost["expired memories"] += 1
            else:
                count_lost(record, _READ_OF_MEM0, lost)
                stated = record.get("categories")
                categories = [name for name in stated if isinstance(name, str)] if isinstance(stated, list) else []
                if categories[1:]:
                    lost["further categories"] += len(categories[1:])
                yield _row("mem0", record, content, categories[0] if categories else None)
        if isinstance(document, dict) and isinstance(document.get("relations"), list):
            lost["relations of the graph memory"] += len(document["relations"])


def sniff_rmem(source: Source) -> bool:
    """By the fields of its memories."""
    return any(_rmem_records(document) for document in json_documents(source))


def read_rmem(source: Source, lost: Counter[str]) -> Iterator[Row]:
    """Every memory with its category, and its user as namespace."""
    for document in json_documents(source):
        for record in _rmem_records(document):
            content = text_at(record, "text")
            if content is None:
                lost[EMPTY] += 1
            else:
                count_lost(record, _READ_OF_RMEM, lost)
                yield _row("rmem", record, content, text_at(record, "category"))


def _row(tool: str, record: Mapping[str, Any], content: str, category: str | None) -> Row:
    return memory_row(
        identified_key(tool, record.get("id"), content),
        content,
        category,
        agent=text_at(record, "agent_id"),
        created_at=moment_of(record.get("created_at")),
        updated_at=moment_of(record.get("updated_at")),
        namespace=text_at(record, "user_id"),
        session_id=text_at(record, "run_id"),
    )


def _is_mem0(document: Any) -> bool:
    records = _records(document)[:50]
    if _rmem_records(document) or any("key" in record for record in records):
        return False
    return any(
        (text_at(record, "memory") and record.keys() & {"id", "hash", "user_id", "agent_id", "created_at"})
        or (text_at(record, "text", "content") and record.keys() & {"user_id", "agent_id"})
        for record in records
    )


def _records(document: Any) -> list[dict[str, Any]]:
    """The objects of a document with the names of their fields in lower case; an empty one for what is no object."""
    if isinstance(document, dict):
        document = document["results"] if isinstance(document.get("results"), list) else [document]
    items = document if isinstance(document, list) else []
    return [
        {_CAPITAL.sub(r"_\1", name).lower(): value for name, value in item.items()} if isinstance(item, dict) else {}
        for item in items
    ]


def _rmem_records(document: Any) -> list[Mapping[str, Any]]:
    """The memories of an answer of R-Mem; none of any other document."""
    if isinstance(document, dict) and "success" in document:
        document = document.get("data")
    records = document if isinstance(document, list) else []
    is_answer = all(isinstance(record, dict) and record.keys() >= {"user_id", "text", "category"} for record in records)
    return records if is_answer else []
