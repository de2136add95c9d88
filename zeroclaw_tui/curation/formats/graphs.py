"""The knowledge graph of the MCP server "memory": JSON Lines of entities with observations, and of relations.

One object a line, whatever the file is called: {"type": "entity", "name", "entityType", "observations": [text]} and
{"type": "relation", "from", "to", "relationType"}; there are neither ids nor times (server-memory of 2025). Programs of
the same kind write `_type` for `type` and `_savedAt`, observations as {"text", "timestamp"}, `from_entity` and
`to_entity`, or the entity's type as `type`; the answer of its tool `read_graph` is one {"entities", "relations"}.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from zeroclaw_tui.curation.formats.foreign import (
    FACT,
    ForeignFormat,
    Likeness,
    Memories,
    Part,
    begins_as_json,
    likeliest,
    memory_row,
    moment_of,
    nested_json,
    nothing_of,
    text_at,
    titled_key,
)
from zeroclaw_tui.curation.formats.old_source import LARGEST_JSON, Report, Source, json_value
from zeroclaw_tui.curation.formats.own import each_line
from zeroclaw_tui.memory.errors import InspectorError, UsageError

_SUFFIXES = (".json", ".jsonl", ".ndjson")
_FIRST_LINES = 5
_LOOKED_AT = 256 * 1024
_MARKERS = ("entity", "relation", "observation")
_TIMES = ("timestamp", "createdAt", "created_at", "_savedAt")
_CHANGES = ("updatedAt", "updated_at")
_COMMON = frozenset({"type", "_type", *_TIMES, *_CHANGES})
_ENTITY = _COMMON | {"name", "entityType", "entity_type", "observations"}
_OBSERVATION = _COMMON | {"text", "content", "observation"}
_RELATION = _COMMON | {"from", "from_entity", "to", "to_entity", "relationType", "relation_type"}
"""The fields that are read; all others are named as lost."""

_Item = tuple[str, Mapping[str, Any]]
"""Where a part of the graph stands, and what it is."""


class ServerMemory(ForeignFormat):
    """Entities and their relations: a memory for each observation and for each relation."""

    name = "mcp"
    title = "the MCP server “memory”"

    def likeness(self, source: Source) -> Likeness | None:
        """By its first line, or by entities with observations in one document."""
        return likeliest(_likeness(source, file) for file in _candidates(source))

    def each(self, source: Source, report: Report) -> Memories:
        """Every observation, then every relation."""
        files = [file for file in _candidates(source) if _is_graph(source, file)]
        if not files:
            raise nothing_of(self, source)
        for file in files:
            part = Part(source, file, report)
            yield from _of_file(part)


def _candidates(source: Source) -> list[PurePosixPath]:
    files = source.files()
    if not source.is_folder:
        return list(files)
    return [file for file in files if len(file.parts) == 1 and file.suffix.lower() in _SUFFIXES]


def _likeness(source: Source, file: PurePosixPath) -> Likeness | None:
    start = source.head(file, _LOOKED_AT).removeprefix(codecs.BOM_UTF8).lstrip()
    if start[:1] != b"{":
        return None
    first, *more = (_parsed(line) for line in start.split(b"\n")[:_FIRST_LINES])
    if first is None and begins_as_json(start):
        # One document on many lines, or on one that is longer than what was looked at.
        first = _document(source, file)
    # Some programs put a line about themselves before the graph.
    if any(_is_entity(item) or _is_relation(item) for item in (first, *more) if isinstance(item, dict)):
        return Likeness(1.0, "it holds entities with observations, and relations between them")
    if _graph_of(first) is not None:
        return Likeness(1.0, "it is a graph of entities with observations, and of relations")
    if isinstance(first, dict) and {"id", "labels", "properties"} <= first.keys():
        return Likeness(0.3, "it is a graph, but one of labels and properties, which that server does not write")
    return None


def _parsed(line: bytes) -> Any:
    try:
        return nested_json(line.decode("utf-8"))
    except UnicodeDecodeError:
        return None


def _document(source: Source, file: PurePosixPath) -> Any:
    try:
        return source.document(file)
    except InspectorError as error:
        if not source.is_folder:
            raise
        source.unread[str(file)] = error.message
        return None


def _is_graph(source: Source, file: PurePosixPath) -> bool:
    found = _likeness(source, file)
    return found is not None and found.degree >= 0.5


def _of_file(part: Part) -> Memories:
    related: set[str] = set()
    bare: list[_Item] = []
    for place, item in _items(part):
        if _is_relation(item):
            ends = text_at(item, "from", "from_entity"), text_at(item, "to", "to_entity")
            related |= {name for name in ends if name is not None}
            yield from _relation(place, item, part)
        elif _is_entity(item):
            if not item["observations"]:
                bare.append((place, item))
            yield from _observations(place, item, part)
        else:
            part.report.skipped["not understood"] += 1
    for place, item in bare:
        name = text_at(item, "name")
        if name is None or name in related:
            part.report.skipped["empty"] += 1
            continue
        kind = text_at(item, "entityType", "entity_type") or _kind(item)
        content = f"{name} ({kind})" if kind else name
        created, updated = part.when(_saved(item)), _changed(item)
        yield place, memory_row(titled_key("mcp", name, content), content, kind, created=created, updated=updated)


def _observations(place: str, item: Mapping[str, Any], part: Part) -> Memories:
    name = text_at(item, "name")
    if name is None:
        part.report.skipped["without a name"] += 1
        return
    kind = text_at(item, "entityType", "entity_type") or _kind(item)
    times = [_saved(told) if isinstance(told, dict) else None for told in item["observations"]]
    # Where each observation has a time of its own, that of the entity finds no place.
    part.report.lose_others(item, _ENTITY if None in times or not times else _ENTITY - {*_TIMES, *_CHANGES})
    for told, own_time in zip(item["observations"], times, strict=True):
        text = text_at(told, "text", "content", "observation") if isinstance(told, dict) else told
        if not isinstance(text, str) or not text.strip():
            part.report.skipped["empty"] += 1
            continue
        if isinstance(told, dict):
            part.report.lose_others(told, _OBSERVATION)
        dated = item if own_time is None else told
        created, updated = part.when(_saved(dated)), _changed(dated)
        content = f"{name}: {text}"
        yield place, memory_row(titled_key("mcp", name, content), content, kind, created=created, updated=updated)


def _relation(place: str, item: Mapping[str, Any], part: Part) -> Memories:
    start, end = text_at(item, "from", "from_entity"), text_at(item, "to", "to_entity")
    what = text_at(item, "relationType", "relation_type")
    if start is None or end is None or what is None:
        part.report.skipped["not understood"] += 1
        return
    part.report.lose_others(item, _RELATION)
    content = f"{start} {what} {end}"
    created, updated = part.when(_saved(item)), _changed(item)
    key = titled_key("mcp", start, content)
    yield place, memory_row(key, content, "relation", created=created, updated=updated, kind=FACT)


def _items(part: Part) -> Iterator[_Item]:
    name = part.name
    try:
        graph = _graph_of(part.source.document(part.file))
    except UsageError:
        # Several lines, each an object of its own, are no JSON document.
        graph = None
    if graph is not None:
        for number, item in enumerate(graph, 1):
            yield f"{name}, part {number:,}", item
        return
    with part.source.opened(part.file) as opened:
        for number, line in each_line(opened):
            if not line.strip():
                continue
            if len(line) > LARGEST_JSON:
                part.report.skipped["too long"] += 1
                continue
            try:
                item = json_value(line.decode("utf-8"), f"Line {number:,}")
            except (InspectorError, UnicodeDecodeError):
                whole = line.endswith(b"\n")
                part.report.skipped["not understood" if whole else "cut off"] += 1
                part.report.note(f"Line {number:,} of {name} is {'no JSON' if whole else 'cut off'}.")
                continue
            if isinstance(item, dict):
                yield f"{name}, line {number:,}", item
            else:
                part.report.skipped["not understood"] += 1


def _graph_of(document: Any) -> list[Mapping[str, Any]] | None:
    """The parts of a graph in one document; None where most of it is something else."""
    if not isinstance(document, dict) or not isinstance(document.get("entities"), list):
        return None
    parts = [*document["entities"], *(document["relations"] if isinstance(document.get("relations"), list) else [])]
    graph: list[Mapping[str, Any]] = [
        part for part in parts if isinstance(part, dict) and (_is_entity(part) or _is_relation(part))
    ]
    return graph if graph and len(graph) * 2 > len(parts) else None


def _is_entity(item: Mapping[str, Any]) -> bool:
    return isinstance(item.get("name"), str) and isinstance(item.get("observations"), list)


def _is_relation(item: Mapping[str, Any]) -> bool:
    ends = text_at(item, "from", "from_entity"), text_at(item, "to", "to_entity")
    return None not in ends and text_at(item, "relationType", "relation_type") is not None


def _kind(item: Mapping[str, Any]) -> str | None:
    """Where `type` is no marker it is the entity's own."""
    told = text_at(item, "type")
    return None if told is None or told.lower() in _MARKERS else told


def _changed(item: Mapping[str, Any]) -> str | None:
    return next((moment for name in _CHANGES if (moment := moment_of(item.get(name)))), None)


def _saved(item: Mapping[str, Any]) -> Any:
    for name in (*_TIMES, *_CHANGES):
        if item.get(name) is not None:
            return item[name]
    return None
