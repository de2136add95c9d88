"""The file of the MCP server "memory": a graph of entities with observations.

Each line is {"type": "entity", "name", "entityType", "observations": [text, …]} or {"type": "relation", "from", "to",
"relationType"}; there are neither ids nor times. The answer of the tool `read_graph` is one {"entities", "relations"}.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from zeroclaw_tui.curation.formats.rows import (
    EMPTY,
    INVALID,
    RELATION,
    count_lost,
    distinct,
    memory_row,
    text_at,
    titled_key,
)
from zeroclaw_tui.curation.formats.source import Source
from zeroclaw_tui.memory.change import Row
from zeroclaw_tui.memory.errors import InspectorError

_SUFFIXES = (".json", ".jsonl", ".ndjson")
_ENTITY = ("type", "name", "entityType", "observations")
_RELATION = ("from", "relationType", "to")
_SNIFFED = 6
"""How many objects are looked at to recognise a graph."""


def sniff(source: Source) -> str | None:
    """By the first objects."""
    if source.is_folder and not any(file.suffix.lower() in _SUFFIXES for file in source.files()):
        return None
    for _, record in zip(range(_SNIFFED), _records(source, Counter()), strict=False):
        if _is_entity(record) or _is_relation(record):
            return "it has entities with observations, and relations between them"
    return None


def read(source: Source, lost: Counter[str]) -> Iterator[Row]:
    """Every observation and every relation is a memory, and an entity that has neither."""
    return distinct(_rows(source, lost), lost)


def _rows(source: Source, lost: Counter[str]) -> Iterator[Row]:
    related: set[str] = set()
    bare: list[Mapping[str, Any]] = []
    for record in _records(source, lost):
        if _is_relation(record):
            start, what, end = (record[name] for name in _RELATION)
            related |= {start, end}
            count_lost(record, ("type", *_RELATION), lost)
            content = f"{start} {what} {end}"
            yield memory_row(titled_key("mcp", start, content), content, "relation", kind=RELATION)
        elif _is_entity(record):
            count_lost(record, _ENTITY, lost)
            if not record["observations"]:
                bare.append(record)
            yield from _observations(record, lost)
        else:
            lost[INVALID] += 1
    for record in bare:
        name, kind = record["name"], text_at(record, "entityType")
        if name in related:
            lost[EMPTY] += 1
        else:
            content = f"{name} ({kind})" if kind else name
            yield memory_row(titled_key("mcp", name, content), content, kind)


def _observations(entity: Mapping[str, Any], lost: Counter[str]) -> Iterator[Row]:
    name, kind = entity["name"], text_at(entity, "entityType")
    for text in entity["observations"]:
        if isinstance(text, str) and text.strip():
            content = f"{name}: {text}"
            yield memory_row(titled_key("mcp", name, content), content, kind)
        else:
            lost[EMPTY] += 1


def _records(source: Source, lost: Counter[str]) -> Iterator[Mapping[str, Any]]:
    """The objects of each file: the parts of one graph, or the lines."""
    for file in source.files():
        if source.is_folder and (len(file.parts) > 1 or file.suffix.lower() not in _SUFFIXES):
            continue
        if source.head(file).lstrip()[:1] != b"{":
            continue
        try:
            document = source.document(file)
            graph = [*document.get("entities", ()), *document.get("relations", ())] or [document]
        except (InspectorError, TypeError, AttributeError):
            # Several lines, each an object of its own, are not one JSON document.
            graph = [_parsed(line) for line in source.text(file).split("\n") if line.strip()]
        for record in graph:
            if isinstance(record, dict):
                yield record
            else:
                lost[INVALID] += 1


def _parsed(line: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _is_entity(record: Mapping[str, Any]) -> bool:
    return text_at(record, "name") is not None and isinstance(record.get("observations"), list)


def _is_relation(record: Mapping[str, Any]) -> bool:
    return all(text_at(record, name) for name in _RELATION)
