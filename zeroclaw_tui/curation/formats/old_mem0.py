"""The JSON that mem0 gives away.

{"results": [{"id", "memory", "hash", "created_at", "updated_at", "user_id", "agent_id", "run_id", "metadata",
"categories", "expiration_date", …}]}, with graph memory also "relations": [{"source", "relationship", "destination"}];
the bare list, or what its command line imports: objects with `memory`, `text` or `content`. The TypeScript library
writes `createdAt` and `userId`; both spellings are read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from typing import Any

from zeroclaw_tui.curation.formats.foreign import (
    FACT,
    ForeignFormat,
    Likeness,
    Memories,
    Part,
    digest,
    identified_key,
    is_day,
    mapping_at,
    memory_row,
    moment_of,
    nothing_of,
    records_at,
    tagged,
    text_at,
    texts_of,
    titled_key,
)
from zeroclaw_tui.curation.formats.old_rmem import is_answer
from zeroclaw_tui.curation.formats.old_source import Report, Source
from zeroclaw_tui.memory.change import Row

_LOOKED_AT = 50
"""Memories of a file."""
_TEXTS = ("memory", "text", "content")
_OWNERS = frozenset({"user_id", "agent_id", "run_id"})
_LOST = ("hash", "actor_id", "role", "attributed_to")
_OWN_FIELDS = frozenset(
    {"id", "memory", "data", "text", "content", "hash", "created_at", "updated_at", "user_id", "agent_id", "run_id"}
    | {"actor_id", "role", "attributed_to", "expiration_date", "metadata", "categories", "text_lemmatized", "score"}
)
_CAPITAL = re.compile(r"(?<=[a-z])([A-Z])")


class Mem0(ForeignFormat):
    """A memory for each of mem0's, whichever way it left them."""

    name = "mem0"
    title = "mem0"

    def of_document(self, document: Any) -> Likeness | None:
        """By the fields of its first memories."""
        return None if is_answer(document) else _of_document(document)

    def each(self, source: Source, report: Report) -> Memories:
        """Every memory that has not expired, then the relations."""
        exports = self.exports(source, report)
        if not exports:
            raise nothing_of(self, source)
        for part, document in exports:
            yield from _document(part, document)


def _of_document(document: Any) -> Likeness | None:
    every = [item for item in _items(document) if isinstance(item, dict)]
    items = every[:_LOOKED_AT]
    if 2 * sum("memory_type" in item or "key" in item for item in items) > len(items):
        return None
    # Memories that have lost their text, however many come first, do not make the others another tool's.
    told = list(islice((item for item in every if _has_text(item)), _LOOKED_AT))
    empty = [item for item in items if not _has_text(item)]
    are_memories = all("memory" in item or _snake_case(item).keys() <= _OWN_FIELDS for item in empty)
    if are_memories and any(text_at(item, "memory") for item in told):
        if all(item.keys() & {"id", "hash", "user_id", "userId", "created_at", "createdAt"} for item in told):
            return Likeness(1.0, "it is a list of memories with the fields that mem0 gives them")
        return Likeness(0.7, "it is a list of objects with a memory")
    if told and all(item.keys() & {"user_id", "agent_id"} for item in items):
        return Likeness(0.6, "it is a list of texts with user_id, as mem0's command line imports it")
    if not told and are_memories and 2 * sum(map(_was_memory, empty)) > len(empty):
        return Likeness(0.9, "it is a list with the fields that mem0 gives its memories, though none has a text")
    return None


def _was_memory(item: Mapping[str, Any]) -> bool:
    """Whether the other fields of one without a text prove that it was a memory of mem0."""
    fields = _snake_case(item).keys()
    if "memory" not in fields:
        return fields <= _OWN_FIELDS and "hash" in fields and bool(fields & _OWNERS)
    # Settings of a memory, and how much a machine has, stand under that name too.
    is_blank = item.get("memory") is None or isinstance(item["memory"], str)
    return is_blank and (bool(fields & {"hash", *_OWNERS}) or ("id" in fields and fields <= _OWN_FIELDS))


def _has_text(item: Mapping[str, Any]) -> bool:
    return text_at(item, *_TEXTS) is not None


def _document(part: Part, document: Any) -> Memories:
    def of_item(item: Any) -> Row | None:
        if not isinstance(item, dict):
            part.report.skipped["not understood"] += 1
            return None
        record = _snake_case(item)
        return _memory(_text_id(record.get("id")), text_at(record, *_TEXTS), record, part)

    yield from part.placed("memory", _items(document), of_item)
    if isinstance(document, dict):
        yield from part.placed("relation", records_at(document, "relations"), partial(_relation, part))


def _relation(part: Part, told: Mapping[str, Any]) -> Row | None:
    """An edge of mem0's graph memory."""
    ends = text_at(told, "source"), text_at(told, "relationship", "relation"), text_at(told, "destination", "target")
    if None in ends:
        part.report.skipped["not understood"] += 1
        return None
    content = " ".join(str(end) for end in ends)
    key = titled_key("mem0", str(ends[0]), content)
    return memory_row(key, content, "relation", created=part.when(told.get("created_at")), kind=FACT)


def _memory(id: str | None, content: str | None, record: Mapping[str, Any], part: Part) -> Row | None:
    metadata = mapping_at(record, "metadata")
    if content is None:
        part.report.skipped["empty"] += 1
        return None
    if _is_past(record.get("expiration_date")):
        part.report.skipped["expired"] += 1
        return None
    for name in _LOST:
        part.report.lose(name, bool(record.get(name)))
    part.report.lose("metadata", bool(metadata))
    part.report.lose_others(record, _OWN_FIELDS)
    categories = texts_of(record.get("categories"))
    return memory_row(
        identified_key("mem0", id) if id else f"mem0_{digest(content)}",
        tagged(content, categories[1:]),
        categories[0] if categories else text_at(metadata, "category"),
        created=part.when(record.get("created_at")),
        updated=moment_of(record.get("updated_at")),
        agent=text_at(record, "agent_id"),
        namespace=text_at(record, "user_id"),
        session_id=text_at(record, "run_id"),
    )


def _items(document: Any) -> list[Any]:
    if isinstance(document, dict):
        document = document["results"] if isinstance(document.get("results"), list) else [document]
    return document if isinstance(document, list) else []


def _snake_case(record: Mapping[str, Any]) -> dict[str, Any]:
    return {
        _CAPITAL.sub(r"_\1", name).lower() if isinstance(name, str) else "": value for name, value in record.items()
    }


def _text_id(given: Any) -> str | None:
    if isinstance(given, int) and not isinstance(given, bool):
        return str(given)
    return given if isinstance(given, str) and given.strip() else None


def _is_past(expires: Any) -> bool:
    if is_day(expires):
        return str(expires).strip() < datetime.now().astimezone().date().isoformat()
    moment = moment_of(expires)
    return moment is not None and datetime.fromisoformat(moment) < datetime.now(UTC)
