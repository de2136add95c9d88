"""The JSON of memory-rs 0.1 (once mem0-rs), which has no store on disk: what a program wrote of its `MemoryItem`s.

An array of {"id": uuid, "user_id", "agent_id", "run_id", "content", "memory_type", "hash", "created_at", "updated_at",
"metadata": {text: text}}, times in RFC 3339. Its MCP server leaves out agent, run, hash and metadata; the results of
its search are {"memory": {…}, "score"}.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from zeroclaw_tui.curation.formats.foreign import (
    OWN,
    ForeignFormat,
    Likeness,
    Memories,
    digest,
    identified_key,
    memory_row,
    moment_of,
    nothing_of,
    own_row,
    text_at,
    when,
)
from zeroclaw_tui.curation.formats.source import Report, Source
from zeroclaw_tui.memory.change import StoredRow
from zeroclaw_tui.memory.text import one_line

_LISTS = ("memories", "results")


class MemoryRs(ForeignFormat):
    """A memory for each item."""

    name = "memory-rs"
    title = "memory-rs"

    def of_document(self, document: Any) -> Likeness | None:
        """By the fields of its first items."""
        items = [item for told in _items(document)[:5] if (item := _item(told)) is not None]
        if not items or not all("content" in item and "memory_type" in item for item in items):
            return None
        if all("user_id" in item and "id" in item for item in items):
            return Likeness(1.0, "it is a list of items with content, memory_type and user_id")
        return Likeness(0.7, "it is a list of items with content and memory_type")

    def each(self, source: Source, report: Report) -> Memories:
        """Every item."""
        found = self.exports(source)
        if not found:
            raise nothing_of(self, source)
        for file, document in found:
            name = one_line(str(file))
            for number, told in enumerate(_items(document), 1):
                item = _item(told)
                if item is None:
                    report.skipped["not understood"] += 1
                    continue
                row = own_row(item.get("metadata"), item.get("content"))
                if row is None:
                    content = text_at(item, "content")
                    if content is None:
                        report.skipped["empty"] += 1
                        continue
                    row = _memory(item, content, when(item.get("created_at"), source, file, report))
                _count_lost(item, report)
                yield f"{name}, memory {number:,}", row


def _memory(item: Mapping[str, Any], content: str, created: str) -> StoredRow:
    given = text_at(item, "id")
    return memory_row(
        identified_key("memrs", given) if given else f"memrs_{digest(content)}",
        content,
        text_at(item, "memory_type"),
        created=created,
        updated=moment_of(item.get("updated_at")),
        agent=text_at(item, "agent_id"),
        namespace=text_at(item, "user_id"),
        session_id=text_at(item, "run_id"),
    )


def _items(document: Any) -> list[Any]:
    if isinstance(document, dict):
        document = next((document[name] for name in _LISTS if isinstance(document.get(name), list)), None)
    return document if isinstance(document, list) else []


def _item(told: Any) -> Mapping[str, Any] | None:
    if isinstance(told, dict) and isinstance(told.get("memory"), dict) and "score" in told:
        told = told["memory"]
    return told if isinstance(told, dict) else None


def _count_lost(item: Mapping[str, Any], report: Report) -> None:
    report.lose("hash", text_at(item, "hash") is not None)
    metadata = item.get("metadata")
    report.lose("metadata", isinstance(metadata, dict) and bool(metadata.keys() - {OWN}))
