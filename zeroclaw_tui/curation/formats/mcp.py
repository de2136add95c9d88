"""The file of the MCP server "memory": a graph of entities with observations.

Each line is {"type": "entity", "name", "entityType", "observations": [text, …]} or {"type": "relation", "from", "to",
"relationType"}; there are neither ids nor times. The answer of the tool `read_graph` is one {"entities", "relations"}.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import islice
from typing import Any

from zeroclaw_tui.curation.formats.rows import EMPTY, INVALID, count_lost, memory_row, text_at, titled_key
from zeroclaw_tui.curation.formats.source import Source
from zeroclaw_tui.memory.change import Row

_SUFFIXES = (".json", ".jsonl", ".ndjson")
_ENTITY = ("type", "name", "entityType", "observations")
_RELATION = ("from", "relationType", "to")
_FACT = '{"semantic":"fact"}'
"""The kind of a relation between two names: ZeroClaw has none of its own for it."""
_SNIFFED = 6
"""How many objects are looked at to recognise a graph."""


def sniff(source: Source) -> bool:
    """By the first objects."""
    return any(_is_entity(record) or _is_relation(record) for record in islice(_records(source), _SNIFFED))


def read(source: Source, lost: Counter[str]) -> Iterator[Row]:
    """Every observation and every relation is a memory."""
    for record in _records(source):
        if _is_relation(record):
            start, what, end = (record[name] for name in _RELATION)
            count_lost(record, ("type", *_RELATION), lost)
            content = f"{start} {what} {end}"
            yield memory_row(titled_key("mcp", start, content), content, "relation", kind=_FACT)
        elif _is_entity(record):
            count_lost(record, _ENTITY, lost)
            for text in record["observations"]:
                if isinstance(text, str) and text.strip():
                    yield _about(record, f"{record['name']}: {text}")
                else:
                    lost[EMPTY] += 1
        else:
            lost[INVALID] += 1


def _about(entity: Mapping[str, Any], content: str) -> Row:
    return memory_row(titled_key("mcp", entity["name"], content), content, text_at(entity, "entityType"))


def _records(source: Source) -> Iterator[Mapping[str, Any]]:
    """The objects of each file: the parts of one graph, or the lines; an empty one for what is no object."""
    for file in source.files:
        if source.is_folder and (len(file.parts) > 1 or file.suffix.lower() not in _SUFFIXES):
            continue
        if source.head(file).lstrip()[:1] != b"{":
            continue
        text = source.text(file)
        graph = _parsed(text)
        lists = [graph.get(name) for name in ("entities", "relations")]
        parts = [part for one in lists if isinstance(one, list) for part in one]
        if parts or graph:
            yield from (part if isinstance(part, dict) else {} for part in parts or [graph])
        else:
            # Several lines, each an object of its own, are not one JSON document.
            yield from (_parsed(line) for line in text.split("\n") if line.strip())


def _parsed(text: str) -> Mapping[str, Any]:
    with suppress(ValueError, RecursionError):
        document = json.loads(text)
        if isinstance(document, dict):
            return document
    return {}


def _is_entity(record: Mapping[str, Any]) -> bool:
    return text_at(record, "name") is not None and isinstance(record.get("observations"), list)


def _is_relation(record: Mapping[str, Any]) -> bool:
    return all(text_at(record, name) for name in _RELATION)
