"""What mem0 keeps or gives away.

- JSON: {"results": [{"id", "memory", "hash", "created_at", "updated_at", "user_id", "agent_id", "run_id", "metadata",
  "categories", "expiration_date", …}]}, with graph memory also "relations": [{"source", "relationship",
  "destination"}]; the bare list, or what its command line imports: objects with `memory`, `text` or `content`. The
  TypeScript library writes `createdAt` and `userId`; both spellings are read everywhere.
- `vector_store.db` of the TypeScript library: `vectors(id, vector, payload)`, float32 little-endian and JSON.
- A folder of qdrant-client: `meta.json` and `collection/<name>/storage.sqlite` with `points(id, point)`, pickles.
- `history.db`: `history(memory_id, old_memory, new_memory, event, …)` of the Python library, `memory_history(memory_id,
  previous_value, new_value, action, …)` of the other; the last texts are read from it where there is nothing else.
- `mem0-export-….md` of a plugin: blocks of fields between `---` lines, each followed by a text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from pathlib import PurePosixPath
from typing import Any

from zeroclaw_tui.curation.formats.foreign import (
    FACT,
    ForeignFormat,
    Likeness,
    Memories,
    Part,
    databases,
    digest,
    documents,
    identified_key,
    is_day,
    likeliest,
    mapping_at,
    memory_row,
    moment_of,
    nested_json,
    nothing_of,
    records_at,
    tagged,
    text_at,
    texts_of,
    titled_key,
    vector_blob,
)
from zeroclaw_tui.curation.formats.pickled_points import RefusedPickle, unpickled_values
from zeroclaw_tui.curation.formats.source import Report, Schema, Source
from zeroclaw_tui.memory.change import StoredRow
from zeroclaw_tui.memory.errors import InspectorError
from zeroclaw_tui.memory.text import one_line

_VECTORS, _POINTS = frozenset({"id", "vector", "payload"}), frozenset({"id", "point"})
_HISTORIES = {
    "history": ("memory_id", "new_memory", "event"),
    "memory_history": ("memory_id", "new_value", "action"),
}
_LOOKED_AT = 50
"""Memories of a file."""
_TEXTS = ("memory", "text", "content")
_OWNERS = frozenset({"user_id", "agent_id", "run_id"})
_LOST = ("hash", "actor_id", "role", "attributed_to")
_OWN_FIELDS = frozenset(
    {"id", "memory", "data", "text", "content", "hash", "created_at", "updated_at", "user_id", "agent_id", "run_id"}
    | {"actor_id", "role", "attributed_to", "expiration_date", "metadata", "categories", "text_lemmatized", "score"}
)
_FIELD = re.compile(r"([a-z_]+):[ \t]*(.*)")
_HEAD = re.compile(r"^---[ \t]*\n((?:[a-z_]+:.*\n)+)---[ \t]*(?:\n|\Z)", re.MULTILINE)
_CAPITAL = re.compile(r"(?<=[a-z])([A-Z])")


class Mem0(ForeignFormat):
    """A memory for each of mem0's, whichever way it left them."""

    name = "mem0"
    title = "mem0"

    def likeness(self, source: Source) -> Likeness | None:
        """By the fields of its first memory, or its tables."""
        return likeliest(_likenesses(source))

    def each(self, source: Source, report: Report) -> Memories:
        """Every memory that has not expired; a history only where nothing else is there."""
        readers = [
            *((file, _document, value) for file, value in documents(source) if _of_document(value) is not None),
            *((file, _vectors, None) for file, schema in databases(source) if _has(schema, "vectors", _VECTORS)),
            *((file, _points, None) for file in _point_files(source, report)),
            *((file, _plugin, None) for file in _markdown(source)),
        ]
        histories = [
            (file, table) for file, schema in databases(source) for table in _HISTORIES if _is_old(schema, table)
        ]
        if not readers and not histories:
            raise nothing_of(self, source)
        for file, read, value in readers:
            yield from read(Part(source, file, report), value)
        for file, table in histories:
            if readers:
                report.left[one_line(str(file))] = "the history of the memories that are read"
            else:
                yield from _history(Part(source, file, report), table)


def _likenesses(source: Source) -> Iterator[Likeness | None]:
    for _, document in documents(source):
        yield _of_document(document)
    for file, schema in databases(source):
        if _has(schema, "vectors", _VECTORS):
            yield _of_vectors(source, file, schema)
        if _has(schema, "points", _POINTS):
            yield _of_points(source, file)
        if any(_is_old(schema, table) for table in _HISTORIES):
            yield Likeness(0.9, "it is mem0's history, of which the last texts can be read")
    if source.is_folder:
        for file in _point_files(source, Report()):
            yield _of_points(source, file)
    if _markdown(source):
        yield Likeness(1.0, "it is a plugin's export: fields with id, created_at and confidence between --- lines")


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


def _of_vectors(source: Source, file: PurePosixPath, schema: Schema) -> Likeness:
    with source.database(file) as tables:
        payloads = [_payload(row.get("payload")) or {} for row in islice(tables.rows("vectors"), _LOOKED_AT)]
    if not payloads and "memory_migrations" in schema:
        return Likeness(0.9, "it is the vector store of mem0's TypeScript library, and empty")
    if any(text_at(payload, "data") is not None for payload in payloads):
        return Likeness(1.0, "it is the vector store of mem0's TypeScript library")
    return Likeness(0.3, "it has a table of vectors as mem0's, whose payload is another's")


def _of_points(source: Source, file: PurePosixPath) -> Likeness:
    refused = 0
    with source.database(file) as tables:
        for row in islice(tables.rows("points"), _LOOKED_AT):
            try:
                point = _point(row.get("point"))
            except RefusedPickle:
                refused += 1
                continue
            if text_at(point["payload"], "data") is not None:
                return Likeness(1.0, "it is a local Qdrant with the points of mem0")
    if refused:
        return Likeness(0.4, "it is a local Qdrant, whose points are not what qdrant-client writes")
    return Likeness(0.3, "it is a local Qdrant, but not with the points of mem0")


def _document(part: Part, document: Any) -> Memories:
    def of_item(item: Any) -> StoredRow | None:
        if not isinstance(item, dict):
            part.report.skipped["not understood"] += 1
            return None
        record = _snake_case(item)
        return _memory(_text_id(record.get("id")), text_at(record, *_TEXTS), record, part)

    yield from part.placed("memory", _items(document), of_item)
    if isinstance(document, dict):
        yield from part.placed("relation", records_at(document, "relations"), partial(_relation, part))


def _relation(part: Part, told: Mapping[str, Any]) -> StoredRow | None:
    """An edge of mem0's graph memory."""
    ends = text_at(told, "source"), text_at(told, "relationship", "relation"), text_at(told, "destination", "target")
    if None in ends:
        part.report.skipped["not understood"] += 1
        return None
    content = " ".join(str(end) for end in ends)
    key = titled_key("mem0", str(ends[0]), content)
    return memory_row(key, content, "relation", created=part.when(told.get("created_at")), kind=FACT)


def _vectors(part: Part, _: Any) -> Memories:
    def of_row(row: Mapping[str, Any]) -> StoredRow | None:
        payload = _payload(row.get("payload"))
        if payload is None:
            part.report.skipped["not understood"] += 1
            return None
        return _of_payload(row.get("id"), payload, vector_blob(row.get("vector")), part)

    with part.tables() as tables:
        yield from part.placed("memory", tables.rows("vectors"), of_row)


def _points(part: Part, _: Any) -> Memories:
    def of_row(row: Mapping[str, Any]) -> StoredRow | None:
        try:
            point = _point(row.get("point"))
        except RefusedPickle as failure:
            part.report.skipped["refused"] += 1
            part.report.note(f"Points were refused that are more than data, or broken: {failure}.")
            return None
        vector = point.get("vector")
        vector = vector_blob(vector.get("") if isinstance(vector, dict) else vector)
        return _of_payload(point.get("id"), point["payload"], vector, part)

    with part.tables() as tables:
        yield from part.placed("memory", tables.rows("points"), of_row)


def _of_payload(id: Any, payload: Mapping[str, Any], vector: bytes | None, part: Part) -> StoredRow | None:
    if payload.get("linked_memory_ids") is not None:
        part.report.skipped["entities"] += 1
        return None
    record = _snake_case(payload)
    own_metadata = {name: record[name] for name in record.keys() - _OWN_FIELDS}
    if own_metadata and "metadata" not in record:
        record = {**{name: record[name] for name in record.keys() & _OWN_FIELDS}, "metadata": own_metadata}
    return _memory(_text_id(id), text_at(record, "data"), record, part, vector)


def _memory(
    id: str | None, content: str | None, record: Mapping[str, Any], part: Part, vector: bytes | None = None
) -> StoredRow | None:
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
        embedding=vector,
    )


def _history(part: Part, table: str) -> Memories:
    """The last text of each memory, by playing its changes again in the order they were written."""
    by_id, new, event = _HISTORIES[table]
    last: dict[str, dict[str, Any]] = {}
    with part.tables() as tables:
        for row in tables.rows(table):
            id_, text = _text_id(row.get(by_id)), text_at(row, new)
            what = str(row.get(event)).upper()
            if id_ is None:
                part.report.skipped["not understood"] += 1
            elif what == "DELETE" or row.get("is_deleted") in (1, "1"):
                if last.pop(id_, None) is not None:
                    part.report.skipped["deleted"] += 1
            elif text is not None:
                earlier = last.get(id_)
                part.report.lose("history", earlier is not None)
                created = row.get("created_at") if earlier is None else earlier["created_at"]
                updated = row.get("updated_at") or row.get("created_at")
                last[id_] = {"text": text, "created_at": created, "updated_at": updated}
    part.report.note("mem0's history does not say whose a memory is: it comes without a namespace.")
    yield from part.placed("memory", last.items(), lambda one: _memory(one[0], one[1]["text"], one[1], part))


def _plugin(part: Part, _: Any) -> Memories:
    text = part.source.text(part.file).replace("\r\n", "\n")
    heads = [head for head in _HEAD.finditer(text) if {"id", "created_at"} <= _fields(head).keys()]
    ends = [*(head.start() for head in heads), len(text)][1:]

    def of_block(block: tuple[re.Match[str], int]) -> StoredRow | None:
        head, end = block
        fields = _fields(head)
        for name in ("confidence", "branch", "files"):
            part.report.lose(name, fields.get(name) not in (None, "", "[]", "null"))
        categories = _listed(fields.get("categories", "")) or _listed(fields.get("type", ""))
        record = {"created_at": fields.get("created_at"), "categories": categories}
        return _memory(fields.get("id"), text[head.end() : end].strip() or None, record, part)

    return part.placed("memory", zip(heads, ends, strict=True), of_block)


def _markdown(source: Source) -> list[PurePosixPath]:
    """The file itself where it is such an export."""
    if source.is_folder:
        return []
    (file,) = source.files()
    start = source.head(file, 16_384).decode("utf-8", "replace").replace("\r\n", "\n")
    head = _HEAD.search(start)
    return [file] if head is not None and _is_plugin_head(head) else []


def _is_plugin_head(head: re.Match[str]) -> bool:
    return {"id", "created_at", "confidence"} <= _fields(head).keys()


def _fields(head: re.Match[str]) -> dict[str, str]:
    matches = (_FIELD.fullmatch(line) for line in head.group(1).splitlines())
    return {match.group(1): match.group(2).strip().strip("\"'") for match in matches if match is not None}


def _listed(text: str) -> list[str]:
    parts = (part.strip().strip("\"'") for part in text.strip("[]").split(","))
    return [part for part in parts if part and part != "null"]


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


def _payload(told: Any) -> Mapping[str, Any] | None:
    payload = nested_json(told)
    return payload if isinstance(payload, dict) else None


def _point(data: Any) -> dict[str, Any]:
    """The id, vector and payload of a point. Raises RefusedPickle."""
    point = unpickled_values(data) if isinstance(data, bytes) else None
    if not isinstance(point, dict) or not isinstance(point.get("payload"), dict):
        raise RefusedPickle("it is no point")
    return point


def _point_files(source: Source, report: Report) -> list[PurePosixPath]:
    """The collections of a local Qdrant, but for those that hold no memories."""
    if not source.is_folder:
        return [file for file, schema in databases(source) if _has(schema, "points", _POINTS)]
    found = []
    for file in source.files():
        if len(file.parts) < 3 or file.parts[-3] != "collection":
            continue
        collection = file.parts[-2]
        if file.name == "storage.dbm":
            report.left[one_line(str(file))] = "a Qdrant of before 2023, whose form is no longer read"
        elif file.name != "storage.sqlite":
            continue
        elif collection == "mem0migrations" or collection.endswith("_entities"):
            report.left[one_line(str(file))] = "it holds no memories"
        else:
            try:
                if source.is_database(file) and _has(source.schema(file), "points", _POINTS):
                    found.append(file)
            except InspectorError as error:
                report.left[one_line(str(file))] = error.message
    return found


def _has(schema: Schema, table: str, columns: frozenset[str]) -> bool:
    return schema.get(table, frozenset()) >= columns


def _is_old(schema: Schema, table: str) -> bool:
    return _has(schema, table, frozenset(_HISTORIES[table]))


def _is_past(expires: Any) -> bool:
    if is_day(expires):
        return str(expires).strip() < datetime.now().astimezone().date().isoformat()
    moment = moment_of(expires)
    return moment is not None and datetime.fromisoformat(moment) < datetime.now(UTC)
