"""Portable AI Memory 1.0: a `memory-store.json`, alone or in the folder of an export.

Its root has `"schema": "portable-ai-memory"` and `memories`, each with id, type (one of a list, or `custom_type`),
status, content, summary, tags, confidence, `temporal` {created_at, updated_at, valid_from, valid_until, superseded_by},
`provenance` {platform, conversation_ref, …}, access, embedding_ref and metadata. `relations` lead from one memory to
another. Conversations and embeddings lie in files that `storage.ref` and the like name; none of them is opened.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import Any

from zeroclaw_tui.curation.formats.foreign import (
    ForeignFormat,
    Likeness,
    Memories,
    identified_key,
    mapping_at,
    memory_row,
    moment_of,
    tagged,
    text_at,
)
from zeroclaw_tui.curation.formats.front_matter import list_of
from zeroclaw_tui.curation.formats.source import Report, Source
from zeroclaw_tui.memory.change import StoredRow
from zeroclaw_tui.memory.errors import InspectorError, UsageError
from zeroclaw_tui.memory.text import is_unicode, one_line

_NAME = PurePosixPath("memory-store.json")
_SCHEMA = "portable-ai-memory"
_LEFT_OUT = ("retracted", "archived")
_NO_PLACE = ("confidence", "access", "embedding_ref", "metadata", "summary")
_LONGEST_LABEL = 80


class PortableAiMemory(ForeignFormat):
    """A memory is one memory, of its type as category; a relation is one more, as a sentence.

    What was retracted, archived or has expired is left out; what was superseded comes with what superseded it.
    """

    name = "pam"
    title = "Portable AI Memory"

    def likeness(self, source: Source) -> Likeness | None:
        """By the name of its schema."""
        file = _file(source)
        try:
            if file is None or f'"{_SCHEMA}"'.encode() not in source.head(file):
                return None
            found = source.document(file)
        except InspectorError:
            return None
        is_store = (
            isinstance(found, dict) and found.get("schema") == _SCHEMA and isinstance(found.get("memories"), list)
        )
        return Likeness(1.0, f'its schema is "{_SCHEMA}"') if is_store else None

    def each(self, source: Source, report: Report) -> Memories:
        """Every memory, then every relation."""
        return _found(source, report)


def _file(source: Source) -> PurePosixPath | None:
    """The file itself, or the one of that name in a folder."""
    if not source.is_folder:
        return source.files()[0]
    return _NAME if source.has(str(_NAME)) else None


def _found(source: Source, report: Report) -> Memories:
    file = _file(source)
    store = source.document(file) if file is not None else None
    if not isinstance(store, dict) or not isinstance(store.get("memories"), list):
        raise UsageError(f"{source.name} is no Portable AI Memory.", hint="It has no list of memories.")
    labels: dict[str, str] = {}
    for number, record in enumerate(store["memories"], 1):
        if not isinstance(record, dict):
            report.skipped["broken"] += 1
        elif (row := _row(record, source, report)) is not None:
            labels[record["id"]] = one_line(text_at(record, "summary", "content") or "")[:_LONGEST_LABEL]
            yield f"memory {number:,}", row
    relations, conversations = store.get("relations"), store.get("conversations_index")
    for number, record in enumerate(relations if isinstance(relations, list) else [], 1):
        related = _relation(record, labels, source, report) if isinstance(record, dict) else None
        if related is None:
            report.lost["relations"] += 1
        else:
            yield f"relation {number:,}", related
    if isinstance(conversations, list) and conversations:
        report.lost["conversations"] += len(conversations)


def _row(record: Mapping[str, Any], source: Source, report: Report) -> StoredRow | None:
    """A memory; None where it is left out, and counted."""
    temporal, provenance = mapping_at(record, "temporal"), mapping_at(record, "provenance")
    own_id, content = text_at(record, "id"), text_at(record, "content")
    kind = text_at(record, "custom_type", "type") or ""
    if own_id is None or content is None or not is_unicode(own_id + content + kind):
        report.skipped["broken" if content else "empty"] += 1
        return None
    status, newer = text_at(record, "status") or "active", text_at(temporal, "superseded_by")
    until = moment_of(temporal.get("valid_until"))
    if status in _LEFT_OUT or (status == "superseded" and newer is None):
        report.skipped[status] += 1
        return None
    if until is not None and datetime.fromisoformat(until) < datetime.now(UTC):
        report.skipped["expired"] += 1
        return None
    lost = [name for name in _NO_PLACE if record.get(name) not in (None, "", [], {})]
    lost += ["valid_until"] * (until is not None) + ["status"] * (status == "deprecated")
    report.lost.update([*lost, *["provenance"] * bool(provenance.keys() - {"conversation_ref"})])
    session = text_at(provenance, "conversation_ref")
    return memory_row(
        identified_key("pam", own_id),
        tagged(content, [tag for tag in list_of(record.get("tags")) if is_unicode(tag)]),
        kind,
        created=_created(temporal, source, report),
        updated=moment_of(temporal.get("updated_at")),
        session_id=session if session and is_unicode(session) else None,
        superseded_by=identified_key("pam", newer) if newer and is_unicode(newer) else None,
    )


def _relation(record: Mapping[str, Any], labels: Mapping[str, str], source: Source, report: Report) -> StoredRow | None:
    """What a relation says in words; None where one of its ends was not read."""
    ends = [labels.get(text_at(record, name) or "") for name in ("from", "to")]
    own_id, kind = text_at(record, "id"), text_at(record, "type")
    if not all(ends) or own_id is None or kind is None or not is_unicode(own_id + kind):
        return None
    content = f"{ends[0]} – {kind.replace('_', ' ')} – {ends[1]}"
    return memory_row(identified_key("pam_rel", own_id), content, "relation", created=_created(record, source, report))


def _created(block: Mapping[str, Any], source: Source, report: Report) -> str | None:
    created = moment_of(block.get("created_at"))
    file = _file(source)
    if created is None and file is not None:
        report.guessed_dates += 1
        created = source.modified(file)
    return created
