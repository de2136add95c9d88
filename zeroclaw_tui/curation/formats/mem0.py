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
    distinct,
    identified_key,
    json_documents,
    memory_row,
    moment_of,
    text_at,
)
from zeroclaw_tui.curation.formats.source import Source
from zeroclaw_tui.memory.change import Row

_TEXTS = ("memory", "text", "content")
_MARKS = ("hash", "user_id", "agent_id", "created_at")
_READ = (
    *_TEXTS, "id", "created_at", "updated_at", "user_id", "agent_id", "run_id", "expiration_date", "categories",
    "text_lemmatized", "score",
)  # fmt: skip
_CAPITAL = re.compile(r"(?<=[a-z])([A-Z])")


def sniff(source: Source) -> str | None:
    """By the fields of its memories."""
    is_mem0 = any(_is_export(document) for document in json_documents(source))
    return "it is a list of memories with the fields that mem0 gives them" if is_mem0 else None


def read(source: Source, lost: Counter[str]) -> Iterator[Row]:
    """Every memory that has not expired."""
    return distinct(_rows(source, lost), lost)


def _rows(source: Source, lost: Counter[str]) -> Iterator[Row]:
    for document in json_documents(source):
        for item in _items(document):
            if not isinstance(item, dict):
                lost[INVALID] += 1
            elif (row := _memory(_snake_case(item), lost)) is not None:
                yield row
        if isinstance(document, dict) and isinstance(document.get("relations"), list):
            lost["relations of the graph memory"] += len(document["relations"])


def _memory(record: Mapping[str, Any], lost: Counter[str]) -> Row | None:
    content = text_at(record, *_TEXTS)
    if content is None:
        lost[EMPTY] += 1
        return None
    if _has_expired(record.get("expiration_date")):
        lost["expired memories"] += 1
        return None
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
    records = [_snake_case(item) for item in _items(document)[:50] if isinstance(item, dict)]
    if rmem.memories_of(document) or any("key" in record for record in records):
        return False
    return any(_is_memory(record) for record in records)


def _is_memory(record: Mapping[str, Any]) -> bool:
    if text_at(record, "memory"):
        return bool(record.keys() & {"id", *_MARKS})
    if text_at(record, "text", "content"):
        return bool(record.keys() & {"user_id", "agent_id"})
    # A memory that has lost its text.
    return record.get("memory", 0) in (None, "") and bool(record.keys() & set(_MARKS))


def _items(document: Any) -> list[Any]:
    if isinstance(document, dict):
        document = document["results"] if isinstance(document.get("results"), list) else [document]
    return document if isinstance(document, list) else []


def _snake_case(record: Mapping[str, Any]) -> dict[str, Any]:
    return {_CAPITAL.sub(r"_\1", name).lower(): value for name, value in record.items()}


def _has_expired(expires: Any) -> bool:
    moment = moment_of(expires)
    return moment is not None and datetime.fromisoformat(moment) < datetime.now(UTC)
