"""The JSON that R-Mem's server gives away.

`GET /memories?user_id=` answers {"success": true, "data": [{"id", "user_id", "text", "category", "created_at",
"updated_at"}]}; its MCP tool `list_memories` gives the bare list. Times are SQLite's `datetime('now')`. The database of
R-Mem is a store that this program opens; it is copied, not imported.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from zeroclaw_tui.curation.formats.foreign import (
    ForeignFormat,
    Likeness,
    Memories,
    Part,
    digest,
    identified_key,
    memory_row,
    moment_of,
    nothing_of,
    text_at,
)
from zeroclaw_tui.curation.formats.old_source import Report, Source
from zeroclaw_tui.memory.change import Row

_FIELDS = frozenset({"id", "user_id", "text", "category", "created_at", "updated_at"})
_OWN = frozenset({"user_id", "text", "category"})
"""The fields that together tell a memory of R-Mem's from one of mem0's."""


class RMemJson(ForeignFormat):
    """Each memory with its category, and its user as namespace."""

    name = "rmem"
    title = "R-Mem"

    def of_document(self, document: Any) -> Likeness | None:
        """By the fields of the memories."""
        return Likeness(1.0, "its memories have user_id, text and category") if is_answer(document) else None

    def each(self, source: Source, report: Report) -> Memories:
        """Every memory, in the order of the answer."""
        exports = self.exports(source, report)
        if not exports:
            raise nothing_of(self, source)
        for part, document in exports:
            yield from part.placed("memory", _memories(document), partial(_row, part))


def is_answer(document: Any) -> bool:
    """Whether a JSON document is an answer of R-Mem's server with at least one memory."""
    memories = [memory for memory in _memories(document) if isinstance(memory, dict)]
    return bool(memories) and all(memory.keys() >= _OWN for memory in memories)


def _memories(document: Any) -> list[Any]:
    if isinstance(document, dict) and "success" in document:
        document = document.get("data")
    return document if isinstance(document, list) else []


def _row(part: Part, memory: Any) -> Row | None:
    if not isinstance(memory, Mapping):
        part.report.skipped["not understood"] += 1
        return None
    content = text_at(memory, "text")
    if content is None:
        part.report.skipped["empty"] += 1
        return None
    part.report.lose_others(memory, _FIELDS)
    identifier = text_at(memory, "id")
    return memory_row(
        identified_key("rmem", identifier) if identifier else f"rmem_{digest(content)}",
        content,
        text_at(memory, "category"),
        created=part.when(memory.get("created_at")),
        updated=moment_of(memory.get("updated_at")),
        namespace=text_at(memory, "user_id"),
    )
