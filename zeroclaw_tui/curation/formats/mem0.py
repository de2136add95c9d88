"""The JSON that mem0 exports.

{"results": [{"id", "memory", "hash", "created_at", "updated_at", "user_id", "agent_id", "run_id", "metadata",
"categories", "expiration_date", …}]}; the bare list, or what its command line imports: objects with `memory`, `text` or
`content`. The TypeScript library writes `createdAt` and `userId`; both spellings are read.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from zeroclaw_tui.curation.formats import rmem
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
_READ = (
    *_TEXTS, "id", "created_at", "updated_at", "user_id", "agent_id", "run_id", "expiration_date", "categories",
    "text_lemmatized", "score",
)  # fmt: skip
_CAPITAL = re.compile(r"(?<=[a-z])([A-Z])")


def sniff(source: Source) -> bool:
    """By the fields of its memories."""
    return any(_is_export(document) for document in json_documents(source))


def read(source: Source, lost: Counter[str]) -> Iterator[Row]:
    """Every memory that has not expired."""
    for document in json_documents(source):
        for record in _records(document):
            content, expires = text_at(record, *_TEXTS), moment_of(record.get("expiration_date"))
            if content is None:
                lost[EMPTY if record else INVALID] += 1
            elif expires is not None and datetime.fromisoformat(expires) < datetime.now(UTC):
                lost["expired memories"] += 1
            else:
                yield _memory(record, content, lost)
        if isinstance(document, dict) and isinstance(document.get("relations"), list):
            lost["relations of the graph memory"] += len(document["relations"])


def _memory(record: Mapping[str, Any], content: str, lost: Counter[str]) -> Row:
    count_lost(record, _READ, lost)
    stated = record.get("categories")
    categories = [name for name in stated if isinstance(name, str)] if isinstance(stated, list) else []
    if categories[1:]:
        lost["further categories"] += len(categories[1:])
    return memory_row(
        identified_key("mem0", record.get("id"), content),
        content,
        categories[0] if categories else None,
        agent=text_at(record, "agent_id"),
        created_at=moment_of(record.get("created_at")),
        updated_at=moment_of(record.get("updated_at")),
        namespace=text_at(record, "user_id"),
        session_id=text_at(record, "run_id"),
    )


def _is_export(document: Any) -> bool:
    records = _records(document)[:50]
    if rmem.memories_of(document) or any("key" in record for record in records):
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
