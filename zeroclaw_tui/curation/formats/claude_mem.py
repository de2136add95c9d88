"""The database of claude-mem (`claude-mem.db`, schema 4 to 23 and later) and its JSON export.

`observations(id, memory_session_id, project, text, type, title, subtitle, facts, narrative, concepts, files_read,
files_modified, created_at, created_at_epoch, …)`, of which facts, concepts and files are JSON arrays in a text, and
`session_summaries(id, memory_session_id, project, request, investigated, learned, completed, next_steps, notes, …)`.
The export is {"exportedAt", "observations": […], "sessions": […], "summaries": […], "prompts": […]} with the same
names. Earlier releases call the session `sdk_session_id`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from zeroclaw_tui.curation.formats.foreign import (
    ForeignFormat,
    Likeness,
    Memories,
    Part,
    memory_row,
    nothing_of,
    tagged,
    text_at,
    texts_of,
    titled_key,
)
from zeroclaw_tui.curation.formats.source import Report, Schema, Source
from zeroclaw_tui.memory.change import StoredRow

_OBSERVATION = frozenset({"id", "project", "type", "title", "narrative", "facts"})
_SUMMARY = ("request", "investigated", "learned", "completed", "next_steps", "notes")
_SESSIONS = ("memory_session_id", "sdk_session_id")
_LOST = (
    *("files_read", "files_modified", "files_edited", "prompt_number", "discovery_tokens", "relevance_count"),
    *("generated_by_model", "agent_type", "metadata"),
)


class ClaudeMem(ForeignFormat):
    """A memory for each observation and for each summary of a session; what people typed is left out."""

    name = "claude-mem"
    title = "claude-mem"

    def of_schema(self, schema: Schema) -> Likeness | None:
        """By its table of observations."""
        if not schema.get("observations", frozenset()) >= _OBSERVATION:
            return None
        return Likeness(1.0, "it has claude-mem's table of observations, with narrative and facts")

    def of_document(self, document: Any) -> Likeness | None:
        """By the lists of its export."""
        if not isinstance(document, dict) or not isinstance(document.get("observations"), list):
            return None
        first = next((item for item in document["observations"] if isinstance(item, dict)), None)
        if first is None:
            if isinstance(document.get("summaries"), list) and "exportedAt" in document:
                return Likeness(1.0, "it is claude-mem's export")
            return None
        if first.keys() & {"narrative", "facts"} and first.keys().isdisjoint({"sync_id", "content"}):
            return Likeness(1.0, "it is claude-mem's export: observations with narrative and facts")
        return None

    def each(self, source: Source, report: Report) -> Memories:
        """Every observation, then every summary."""
        stores, exports = self.stores(source, report), self.exports(source, report)
        if not stores and not exports:
            raise nothing_of(self, source)
        for part, schema in stores:
            with part.tables() as tables:
                yield from _observations(tables.rows("observations"), part)
                if "session_summaries" in schema:
                    yield from _summaries(tables.rows("session_summaries"), part)
                if "user_prompts" in schema:
                    _skip_prompts(sum(1 for _ in tables.rows("user_prompts")), report)
        for part, document in exports:
            yield from _observations(_records(document, "observations", report), part)
            yield from _summaries(_records(document, "summaries", report), part)
            _skip_prompts(len(_records(document, "prompts", report)), report)


def _observations(records: Iterable[Mapping[str, Any]], part: Part) -> Memories:
    for number, record in enumerate(records, 1):
        facts = texts_of(record.get("facts"))
        told = text_at(record, "narrative", "text")
        lines = [text_at(record, "title"), text_at(record, "subtitle")]
        head = "\n".join(line.strip() for line in lines if line is not None)
        bullets = "\n".join(f"- {fact.strip()}" for fact in facts)
        content = "\n\n".join(part for part in (head, told, bullets) if part)
        for name in _LOST:
            part.report.lose(name.replace("_", " "), record.get(name) not in (None, "", "[]", 0, []))
        memory = _memory(
            "obs", record, tagged(content, texts_of(record.get("concepts"))), text_at(record, "type"), part
        )
        if memory is not None:
            yield part.place("observation", number), memory


def _summaries(records: Iterable[Mapping[str, Any]], part: Part) -> Memories:
    for number, record in enumerate(records, 1):
        parts = ((name, text_at(record, name)) for name in _SUMMARY)
        content = "\n\n".join(
            f"{name.replace('_', ' ').capitalize()}: {text.strip()}" for name, text in parts if text is not None
        )
        memory = _memory("sum", record, content, "summary", part)
        if memory is not None:
            yield part.place("summary", number), memory


def _memory(what: str, record: Mapping[str, Any], content: str, category: str | None, part: Part) -> StoredRow | None:
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
        session_id=text_at(record, *_SESSIONS),
    )


def _records(document: Mapping[str, Any], name: str, report: Report) -> list[Mapping[str, Any]]:
    told = document.get(name)
    if not isinstance(told, list):
        return []
    records: list[Mapping[str, Any]] = [item for item in told if isinstance(item, dict)]
    if len(records) < len(told):
        report.skipped["not understood"] += len(told) - len(records)
    return records


def _skip_prompts(count: int, report: Report) -> None:
    if count:
        report.skipped["prompts"] += count
