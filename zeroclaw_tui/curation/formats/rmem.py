"""The JSON that R-Mem's server answers with.

`GET /memories?user_id=` answers {"success": true, "data": [{"id", "user_id", "text", "category", "created_at",
"updated_at"}]}; its MCP tool `list_memories` gives the bare list. The database of R-Mem is a store that this program
opens; it is copied, not imported.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from zeroclaw_tui.curation.formats.rows import (
    EMPTY,
    count_lost,
    identified_key,
    json_documents,
    memory_row,
    moment_of,
    text_at,
)
from zeroclaw_tui.curation.formats.source import Source
from zeroclaw_tui.memory.change import Row

_READ = ("id", "user_id", "text", "category", "created_at", "updated_at")


def sniff(source: Source) -> bool:
    """By the fields of its memories."""
    return any(memories_of(document) for document in json_documents(source))


def read(source: Source, lost: Counter[str]) -> Iterator[Row]:
    """Every memory with its category, and its user as namespace."""
    for document in json_documents(source):
        for record in memories_of(document):
            content = text_at(record, "text")
            if content is None:
                lost[EMPTY] += 1
                continue
            count_lost(record, _READ, lost)
            yield memory_row(
                identified_key("rmem", record.get("id"), content),
                content,
                text_at(record, "category"),
                created_at=moment_of(record.get("created_at")),
                updated_at=moment_of(record.get("updated_at")),
                namespace=text_at(record, "user_id"),
            )


def memories_of(document: Any) -> list[Mapping[str, Any]]:
    """The memories of an answer; none where it is not one of R-Mem's."""
    if isinstance(document, dict) and "success" in document:
        document = document.get("data")
    records = document if isinstance(document, list) else []
    is_answer = all(isinstance(record, dict) and record.keys() >= {"user_id", "text", "category"} for record in records)
    return records if is_answer else []
