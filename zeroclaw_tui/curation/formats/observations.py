"""The tools whose memories are observations of an agent at work: engram and claude-mem.

What engram keeps: its database (`engram.db`), its JSON export, and the `.engram` folder that is shared by git.

`observations(id, sync_id, session_id, type, title, content, tool_name, project, scope, topic_key, revision_count,
duplicate_count, created_at, updated_at, deleted_at, …)` and `sessions(id, project, directory, started_at, ended_at,
summary)`, times in UTC. The export is {"version", "exported_at", "sessions", "observations", "prompts"} with the same
names. `.engram/manifest.json` is {"version": 1, "chunks": [{"id", …}]}, and each `.engram/chunks/<8 hex>.jsonl.gz` the
gzip of one object {"sessions", "observations", "prompts", "mutations"}, a mutation being {"entity", "entity_key", "op":
"upsert" or "delete", "payload": JSON in a text}; what comes later holds.

The database of claude-mem (`claude-mem.db`, schema 4 to 23 and later) and its JSON export.

`observations(id, memory_session_id, project, text, type, title, subtitle, facts, narrative, concepts, files_read,
files_modified, created_at, created_at_epoch, …)`, of which facts, concepts and files are JSON arrays in a text, and
`session_summaries(id, memory_session_id, project, request, investigated, learned, completed, next_steps, notes, …)`.
The export is {"exportedAt", "observations": […], "sessions": […], "summaries": […], "prompts": […]} with the same
names. Earlier releases call the session `sdk_session_id`.
"""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from zeroclaw_tui.curation.formats.foreign import (
    ForeignFormat,
    Likeness,
    Memories,
    Part,
    almost,
    identified_key,
    memory_row,
    moment_of,
    nested_json,
    nothing_of,
    records_at,
    tagged,
    text_at,
    texts_of,
    titled_key,
)
from zeroclaw_tui.curation.formats.source import LARGEST_DOCUMENT, LARGEST_JSON, Report, Schema, Source, json_value
from zeroclaw_tui.memory.change import StoredRow
from zeroclaw_tui.memory.errors import InspectorError, UsageError
from zeroclaw_tui.memory.text import one_line

_OBSERVATION = frozenset({"id", "session_id", "type", "title", "content", "project"})
_MARKS = frozenset({"sync_id", "topic_key", "normalized_hash"})
_CHUNK = re.compile(r"[0-9a-f]{8}")
_LONGEST_KEY = 200
_KNOWN = _OBSERVATION | {
    *("sync_id", "topic_key", "normalized_hash", "tool_name", "scope", "revision_count", "duplicate_count"),
    *("last_seen_at", "created_at", "updated_at", "deleted_at"),
}
_SESSION = frozenset({"id", "project", "started_at", "ended_at", "summary"})
_PLACES = ("", ".engram")
_Placed = tuple[Part, Mapping[str, Any]]


@dataclass(slots=True)
class _Shared:
    """What the chunks of a folder add up to: observations by their sync_id, and sessions by their id."""

    observations: dict[str, _Placed] = field(default_factory=dict)
    sessions: dict[str, _Placed] = field(default_factory=dict)
    size: int = 0


class Engram(ForeignFormat):
    """A memory for each observation that was not deleted and for the summary of each session; what people typed is left
    out."""

    name = "engram"
    title = "engram"

    def likeness(self, source: Source) -> Likeness | None:
        """By its tables, the lists of its export, or the manifest of its chunks."""
        has_chunks = _manifest(source) is not None
        return Likeness(1.0, "it has engram's manifest of chunks") if has_chunks else super().likeness(source)

    def of_schema(self, schema: Schema) -> Likeness | None:
        """By its table of observations."""
        columns = schema.get("observations", frozenset())
        if not columns >= _OBSERVATION or not columns & _MARKS:
            return almost(schema, "observations", _OBSERVATION | {"sync_id"})
        return Likeness(1.0, "it has engram's table of observations, with title and content")

    def of_document(self, document: Any) -> Likeness | None:
        """By the lists of its export."""
        if not isinstance(document, dict) or not isinstance(document.get("observations"), list):
            return None
        ours, theirs = _count(document, _is_engrams), _count(document, _is_claude_mems)
        if ours and ours >= theirs:
            return Likeness(1.0, "it is engram's export: observations with title and content")
        if not theirs and isinstance(document.get("sessions"), list) and "exported_at" in document:
            return Likeness(1.0, "it is engram's export, without observations")
        return None

    def each(self, source: Source, report: Report) -> Memories:
        """Every observation, then every summary."""
        stores, exports, manifest = self.stores(source, report), self.exports(source, report), _manifest(source)
        if not stores and not exports and manifest is None:
            raise nothing_of(self, source)
        for part, schema in stores:
            with part.tables() as tables:
                sessions = _sessions(part, tables.rows("sessions") if "sessions" in schema else ())
                yield from _memories(sessions, ((part, record) for record in tables.rows("observations")))
                _count_prompts(tables.rows("user_prompts") if "user_prompts" in schema else (), report)
                if "memory_relations" in schema:
                    report.lose("relations", sum(1 for _ in tables.rows("memory_relations")))
        for part, document in exports:
            observations = _understood(document, "observations", report, _is_claude_mems)
            sessions = _sessions(part, records_at(document, "sessions"))
            yield from _memories(sessions, ((part, record) for record in observations))
            _count_prompts(records_at(document, "prompts"), report)
        if manifest is not None:
            shared = _Shared()
            for file in _chunk_files(source, *manifest, report):
                _add_chunk(Part(source, file, report), shared)
            yield from _memories(shared.sessions, shared.observations.values())


def _manifest(source: Source) -> tuple[PurePosixPath, list[Any]] | None:
    """The folder of the chunks and what the manifest says of them. Raises UsageError for one that is broken."""
    if not source.is_folder:
        return None
    for place in map(PurePosixPath, _PLACES):
        file = place / "manifest.json"
        if not source.has(str(file)):
            continue
        document = source.document(file)
        chunks = document.get("chunks") if isinstance(document, dict) else None
        if isinstance(chunks, list) and all(isinstance(chunk, dict) and "id" in chunk for chunk in chunks):
            return place / "chunks", chunks
    return None


def _chunk_files(source: Source, folder: PurePosixPath, chunks: list[Any], report: Report) -> Iterator[PurePosixPath]:
    """Those that the manifest names, in its order. An id becomes a name only where it is eight hex digits."""
    there = {file for file in source.files() if file.parent == folder}
    for chunk in chunks:
        named = chunk["id"]
        if not isinstance(named, str) or _CHUNK.fullmatch(named) is None:
            report.left[one_line(str(named))[:40]] = "the manifest names no chunk by that"
            continue
        file = folder / f"{named}.jsonl.gz"
        if file in there:
            there.discard(file)
            yield file
        else:
            report.left[str(file)] = "it is not there, or twice in the manifest"
    for file in sorted(there):
        report.left[one_line(str(file))] = "the manifest does not name it"


def _add_chunk(part: Part, shared: _Shared) -> None:
    report = part.report
    try:
        chunk = _chunk(part.source, part.file, shared)
    except InspectorError as error:
        report.left[part.name] = error.message
        return
    for record in records_at(chunk, "sessions"):
        _put_session(shared.sessions, part, record)
    for record in records_at(chunk, "observations"):
        _put(shared, part, text_at(record, "sync_id"), record)
    for mutation in records_at(chunk, "mutations"):
        payload = nested_json(mutation.get("payload"))
        record = payload if isinstance(payload, dict) else {}
        entity, named = mutation.get("entity"), text_at(mutation, "entity_key") or text_at(record, "sync_id")
        is_delete = mutation.get("op") == "delete"
        if entity == "observation" and is_delete:
            if named is not None and shared.observations.pop(named, None) is not None:
                report.skipped["deleted"] += 1
        elif entity == "observation":
            _put(shared, part, named, {**record, "sync_id": named})
        elif entity == "session" and not is_delete:
            _put_session(shared.sessions, part, {"id": named, **record})
        elif entity == "relation":
            report.lose("relations")
    _count_prompts(records_at(chunk, "prompts"), report)


def _put(shared: _Shared, part: Part, sync_id: str | None, record: Mapping[str, Any]) -> None:
    if sync_id is None:
        sync_id = f"{part.file} {len(shared.observations)}"
    earlier = shared.observations.pop(sync_id, None)
    if record.get("deleted_at"):
        part.report.skipped["deleted"] += 1
        return
    known = {} if earlier is None else earlier[1]
    # What a mutation does not name stays as it was.
    shared.observations[sync_id] = part, {**known, **record}


def _chunk(source: Source, file: PurePosixPath, shared: _Shared) -> Mapping[str, Any]:
    """One chunk, inflated no further than it may be. Raises UsageError."""
    name = one_line(str(file))
    try:
        with source.opened(file) as opened, gzip.GzipFile(fileobj=opened) as unpacked:
            data = unpacked.read(LARGEST_JSON + 1)
    except (gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise UsageError(f"{name} is no gzip, or cut off.", hint="Fetch it again.") from error
    shared.size += len(data)
    if len(data) > LARGEST_JSON or shared.size > LARGEST_DOCUMENT:
        raise UsageError(f"{name} is too large when inflated.", hint="This is hardly a file of memories.")
    try:
        chunk = json_value(data.decode("utf-8"), name)
    except UnicodeDecodeError as error:
        raise UsageError(f"{name} is not UTF-8.", hint="Fetch it again.") from error
    if not isinstance(chunk, dict):
        raise UsageError(f"{name} is no chunk.", hint="Fetch it again.")
    return chunk


def _memories(sessions: Mapping[str, _Placed], observations: Iterable[_Placed]) -> Memories:
    """The observations, then the summaries of the sessions, but for those that an observation says word for word."""
    said: set[tuple[str | None, str]] = set()
    for number, (part, record) in enumerate(observations, 1):
        memory = _memory(record, sessions, part)
        if memory is not None:
            said.add((text_at(record, "session_id"), (text_at(record, "content") or "").strip()))
            yield part.place("observation", number), memory
    for number, (session, (part, record)) in enumerate(sessions.items(), 1):
        summary = text_at(record, "summary")
        if summary is None:
            continue
        if (session, summary.strip()) in said:
            part.report.skipped["twice"] += 1
        else:
            yield part.place("session", number), _summary(session, summary, record, part)


def _summary(session: str, summary: str, record: Mapping[str, Any], part: Part) -> StoredRow:
    part.report.lose_others(record, _SESSION)
    key = f"engram_session_{one_line(session)}"
    return memory_row(
        key if len(key) <= _LONGEST_KEY else titled_key("engram_session", session, session),
        summary,
        "session_summary",
        created=part.when(record.get("started_at")),
        updated=moment_of(record.get("ended_at")),
        namespace=text_at(record, "project"),
        session_id=session,
    )


def _memory(record: Mapping[str, Any], sessions: Mapping[str, _Placed], part: Part) -> StoredRow | None:
    if record.get("deleted_at"):
        part.report.skipped["deleted"] += 1
        return None
    title, text = text_at(record, "title"), text_at(record, "content")
    content = text or title
    if content is None:
        part.report.skipped["empty"] += 1
        return None
    if title is not None and text is not None and not text.lstrip().startswith(title.strip()):
        content = f"{title.strip()}\n\n{text}"
    for name in ("revision_count", "duplicate_count"):
        count = record.get(name)
        part.report.lose(name.replace("_", " "), isinstance(count, int) and count > 1)
    for name in ("tool_name", "scope"):
        part.report.lose(name.replace("_", " "), text_at(record, name) not in (None, "project"))
    part.report.lose_others(record, _KNOWN)
    session = text_at(record, "session_id")
    _, of_session = sessions.get(session or "", (part, {}))
    return memory_row(
        _key(record, title or "", content),
        content,
        text_at(record, "type"),
        created=part.when(record.get("created_at")),
        updated=moment_of(record.get("updated_at")),
        namespace=text_at(record, "project") or text_at(of_session, "project"),
        session_id=session,
    )


def _key(record: Mapping[str, Any], title: str, content: str) -> str:
    topic, sync_id, number = text_at(record, "topic_key"), text_at(record, "sync_id"), record.get("id")
    if topic is not None:
        line = one_line(topic)
        return line if len(line) <= _LONGEST_KEY else titled_key("engram", topic, topic)
    if sync_id is not None:
        return identified_key("engram", sync_id)
    if isinstance(number, int) and not isinstance(number, bool):
        return f"engram_{number}"
    return titled_key("engram", title, content)


def _sessions(part: Part, records: Iterable[Mapping[str, Any]]) -> dict[str, _Placed]:
    """The sessions by their id."""
    sessions: dict[str, _Placed] = {}
    for record in records:
        _put_session(sessions, part, record)
    return sessions


def _put_session(sessions: dict[str, _Placed], part: Part, record: Mapping[str, Any]) -> None:
    """Add one, or what it says newly of one that is there; a summary of no session is counted."""
    session = text_at(record, "id")
    if session is not None:
        _, known = sessions.get(session, (part, {}))
        sessions[session] = part, {**known, **record}
    elif text_at(record, "summary") is not None:
        part.report.skipped["not understood"] += 1


def _count_prompts(records: Iterable[Mapping[str, Any]], report: Report) -> None:
    """What people typed is no memory."""
    if count := sum(1 for _ in records):
        report.skipped["prompts"] += count


_TOLD = frozenset({"id", "project", "type", "title", "narrative", "facts"})
_SUMMARY = ("request", "investigated", "learned", "completed", "next_steps", "notes")
_SESSION_NAMES = ("memory_session_id", "sdk_session_id")
_CMEM_LOST = (
    *("files_read", "files_modified", "files_edited", "prompt_number", "discovery_tokens", "relevance_count"),
    *("generated_by_model", "agent_type", "metadata"),
)


class ClaudeMem(ForeignFormat):
    """A memory for each observation and for each summary of a session; what people typed is left out."""

    name = "claude-mem"
    title = "claude-mem"

    def of_schema(self, schema: Schema) -> Likeness | None:
        """By its table of observations."""
        if not schema.get("observations", frozenset()) >= _TOLD:
            return almost(schema, "observations", _TOLD)
        return Likeness(1.0, "it has claude-mem's table of observations, with narrative and facts")

    def of_document(self, document: Any) -> Likeness | None:
        """By the lists of its export."""
        if not isinstance(document, dict) or not isinstance(document.get("observations"), list):
            return None
        ours, theirs = _count(document, _is_claude_mems), _count(document, _is_engrams)
        if ours and ours >= theirs:
            return Likeness(1.0, "it is claude-mem's export: observations with narrative and facts")
        if not theirs and isinstance(document.get("summaries"), list) and "exportedAt" in document:
            return Likeness(1.0, "it is claude-mem's export")
        return None

    def each(self, source: Source, report: Report) -> Memories:
        """Every observation, then every summary."""
        stores, exports = self.stores(source, report), self.exports(source, report)
        if not stores and not exports:
            raise nothing_of(self, source)
        for part, schema in stores:
            with part.tables() as tables:
                yield from _narrated(tables.rows("observations"), part)
                if "session_summaries" in schema:
                    yield from _summaries(tables.rows("session_summaries"), part)
                _count_prompts(tables.rows("user_prompts") if "user_prompts" in schema else (), report)
        for part, document in exports:
            yield from _narrated(_understood(document, "observations", report, _is_engrams), part)
            yield from _summaries(_understood(document, "summaries", report), part)
            _count_prompts(_understood(document, "prompts", report), report)


def _narrated(records: Iterable[Mapping[str, Any]], part: Part) -> Memories:
    def narrated(record: Mapping[str, Any]) -> StoredRow | None:
        facts = texts_of(record.get("facts"))
        told = text_at(record, "narrative", "text")
        lines = [text_at(record, "title"), text_at(record, "subtitle")]
        head = "\n".join(line.strip() for line in lines if line is not None)
        bullets = "\n".join(f"- {fact.strip()}" for fact in facts)
        content = "\n\n".join(part for part in (head, told, bullets) if part)
        for name in _CMEM_LOST:
            part.report.lose(name.replace("_", " "), record.get(name) not in (None, "", "[]", 0, []))
        content = tagged(content, texts_of(record.get("concepts")))
        return _of_record("obs", record, content, text_at(record, "type"), part)

    return part.placed("observation", records, narrated)


def _summaries(records: Iterable[Mapping[str, Any]], part: Part) -> Memories:
    def summed_up(record: Mapping[str, Any]) -> StoredRow | None:
        parts = ((name, text_at(record, name)) for name in _SUMMARY)
        content = "\n\n".join(
            f"{name.replace('_', ' ').capitalize()}: {text.strip()}" for name, text in parts if text is not None
        )
        return _of_record("sum", record, content, "summary", part)

    return part.placed("summary", records, summed_up)


def _of_record(
    what: str, record: Mapping[str, Any], content: str, category: str | None, part: Part
) -> StoredRow | None:
    if not content.strip():
        part.report.skipped["empty"] += 1
        return None
    number = record.get("id")
    is_number = isinstance(number, int) and not isinstance(number, bool)
    title = text_at(record, "title", "request") or ""
    written = text_at(record, "created_at")
    return memory_row(
        f"cmem_{what}_{number}" if is_number else titled_key(f"cmem_{what}", title, content),
        content,
        category,
        created=part.when(written if written is not None else record.get("created_at_epoch")),
        namespace=text_at(record, "merged_into_project", "project"),
        session_id=text_at(record, *_SESSION_NAMES),
    )


def _is_engrams(record: Mapping[str, Any]) -> bool:
    return {"title", "content", "type"} <= record.keys() and not record.keys().isdisjoint({"sync_id", "session_id"})


def _is_claude_mems(record: Mapping[str, Any]) -> bool:
    return bool(record.keys() & {"narrative", "facts"}) and record.keys().isdisjoint({"sync_id", "content"})


def _count(document: Mapping[str, Any], is_one: Callable[[Mapping[str, Any]], bool]) -> int:
    """How many observations are of that shape: one that is of another, wherever it stands, does not hide the others."""
    return sum(map(is_one, records_at(document, "observations")))


def _understood(
    document: Mapping[str, Any],
    name: str,
    report: Report,
    is_others: Callable[[Mapping[str, Any]], bool] = lambda record: False,
) -> list[Mapping[str, Any]]:
    """The records of a list, but for those of another tool, which would lose their text."""
    told = document.get(name)
    records = [record for record in records_at(document, name) if not is_others(record)]
    if isinstance(told, list) and len(records) < len(told):
        report.skipped["not understood"] += len(told) - len(records)
    return records
