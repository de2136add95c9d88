"""The knowledge graph of the MCP server "memory": JSON Lines of entities with observations, and of relations.

One object a line, whatever the file is called: {"type": "entity", "name", "entityType", "observations": [text]} and
{"type": "relation", "from", "to", "relationType"}; there are neither ids nor times. Programs of the same kind write
`_savedAt`, observations as {"text", "timestamp"}, `from_entity` and `to_entity`, or the entity's type as `type`; the
answer of the tool `read_graph` is one {"entities", "relations"}.
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
    first_moment,
    memory_row,
    text_at,
    titled_key,
)
from zeroclaw_tui.curation.formats.source import Source
from zeroclaw_tui.memory.change import Row
from zeroclaw_tui.memory.errors import InspectorError

_SUFFIXES = (".json", ".jsonl", ".ndjson")
_CREATED = ("timestamp", "createdAt", "created_at", "_savedAt")
_UPDATED = ("updatedAt", "updated_at")
_COMMON = ("type", "_type", *_CREATED, *_UPDATED)
_ENTITY = (*_COMMON, "name", "entityType", "entity_type", "observations")
_OBSERVATION = (*_COMMON, "text", "content", "observation")
_RELATION = (*_COMMON, "from", "from_entity", "to", "to_entity", "relationType", "relation_type")


def sniff(source: Source) -> str | None:
    """By the first objects."""
    if not source.is_folder or any(file.suffix.lower() in _SUFFIXES for file in source.files()):
        for index, record in enumerate(_records(source, Counter())):
            if _is_entity(record) or _is_relation(record):
                return "it has entities with observations, and relations between them"
            if index == 5:
                break
    return None


def read(source: Source, lost: Counter[str]) -> Iterator[Row]:
    """Every observation and every relation is a memory, and an entity that has neither."""
    return distinct(_rows(source, lost), lost)


def _rows(source: Source, lost: Counter[str]) -> Iterator[Row]:
    related: set[str] = set()
    bare: list[Mapping[str, Any]] = []
    for record in _records(source, lost):
        if _is_relation(record):
            start, what, end = _relation(record)
            related |= {start, end}
            count_lost(record, _RELATION, lost)
            content = f"{start} {what} {end}"
            yield memory_row(titled_key("mcp", start, content), content, "relation", kind=RELATION, **_times(record))
        elif _is_entity(record):
            count_lost(record, _ENTITY, lost)
            if not record["observations"]:
                bare.append(record)
            yield from _observations(record, lost)
        else:
            lost[INVALID] += 1
    for record in bare:
        name, kind = record["name"], _kind(record)
        if name in related:
            lost[EMPTY] += 1
        else:
            content = f"{name} ({kind})" if kind else name
            yield memory_row(titled_key("mcp", name, content), content, kind, **_times(record))


def _observations(entity: Mapping[str, Any], lost: Counter[str]) -> Iterator[Row]:
    name = entity["name"]
    for observation in entity["observations"]:
        fields = observation if isinstance(observation, dict) else {"text": observation}
        text = text_at(fields, "text", "content", "observation")
        if text is None:
            lost[EMPTY] += 1
            continue
        count_lost(fields, _OBSERVATION, lost)
        content = f"{name}: {text}"
        times = {**_times(entity), **_times(fields)}
        yield memory_row(titled_key("mcp", name, content), content, _kind(entity), **times)


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


def _relation(record: Mapping[str, Any]) -> tuple[str, str, str]:
    """Its start, what it says and its end; "" for what is missing."""
    start, what = text_at(record, "from", "from_entity"), text_at(record, "relationType", "relation_type")
    return start or "", what or "", text_at(record, "to", "to_entity") or ""


def _is_relation(record: Mapping[str, Any]) -> bool:
    return all(_relation(record))


def _kind(record: Mapping[str, Any]) -> str | None:
    """The type of an entity; `type` where that does not say that it is an entity."""
    own = text_at(record, "type")
    return text_at(record, "entityType", "entity_type") or (None if own in ("entity", "observation") else own)


def _times(record: Mapping[str, Any]) -> dict[str, str]:
    times = {"created_at": first_moment(record, *_CREATED), "updated_at": first_moment(record, *_UPDATED)}
    return {name: moment for name, moment in times.items() if moment is not None}
