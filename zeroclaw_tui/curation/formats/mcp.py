"""The file of the MCP server "memory": a graph of entities with observations.

Each line is {"type": "entity", "name", "entityType", "observations": [text, …]} or {"type": "relation", "from", "to",
"relationType"}, also in a file that is called `.json`; there are neither ids nor times.
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

_ENTITY = ("type", "name", "entityType", "observations")
_RELATION = ("from", "relationType", "to")
_FACT = '{"semantic":"fact"}'
"""The kind of a relation between two names: ZeroClaw has none of its own for it."""
_SNIFFED = 6
"""How many lines are looked at to recognise a graph."""


def sniff(source: Source) -> bool:
    """By the first lines."""
    if source.is_folder or source.head().lstrip()[:1] != b"{":
        return False
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
                    content = f"{record['name']}: {text}"
                    yield memory_row(titled_key("mcp", record["name"], content), content, text_at(record, "entityType"))
                else:
                    lost[EMPTY] += 1
        else:
            lost[INVALID] += 1


def _records(source: Source) -> Iterator[Mapping[str, Any]]:
    """The object of each line; an empty one for what is no object."""
    for line in source.text().split("\n"):
        record: Any = None
        with suppress(ValueError, RecursionError):
            record = json.loads(line)
        if line.strip():
            yield record if isinstance(record, dict) else {}


def _is_entity(record: Mapping[str, Any]) -> bool:
    return text_at(record, "name") is not None and isinstance(record.get("observations"), list)


def _is_relation(record: Mapping[str, Any]) -> bool:
    return all(text_at(record, name) for name in _RELATION)
