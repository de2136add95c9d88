"""The database of R-Mem 0.1 to 0.3 (`rustmem.db`), read only.

`memories(id, user_id, text, category, embedding, created_at, updated_at)`, `history`, `entities`, `relations(user_id,
source, relation, destination, mentions, valid, …)`, and from 0.2 on `archive(id, user_id, text, embedding, reason,
superseded_by, archived_at, original_created_at)`, in which an older text has the id `<id>:superseded:<uuid>`. Times are
SQLite's `datetime('now')`, vectors float32 little-endian; what model made them is not in the file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from zeroclaw_tui.curation.formats.foreign import (
    FACT,
    ForeignFormat,
    Likeness,
    Memories,
    Part,
    digest,
    identified_key,
    memory_row,
    moment_of,
    nothing_of,
    text_at,
    vector_blob,
)
from zeroclaw_tui.curation.formats.source import Report, Schema, Source, Tables
from zeroclaw_tui.memory.change import StoredRow

_MEMORIES = frozenset({"id", "user_id", "text", "embedding"})
_HISTORY = frozenset({"memory_id", "action", "old_text", "new_text"})
_RELATIONS = frozenset({"source", "relation", "destination", "valid"})


class RMem(ForeignFormat):
    """Memories and the relations that still hold; older texts only where they are asked for."""

    name = "rmem"
    title = "R-Mem"

    def of_schema(self, schema: Schema) -> Likeness | None:
        """By its tables and their columns."""
        memories, none = schema.get("memories", frozenset()), frozenset[str]()
        if not memories >= _MEMORIES or not schema.get("history", none) >= _HISTORY:
            return None
        if not schema.get("relations", none) >= _RELATIONS:
            return None
        version = "0.3" if "category" in memories else "0.2" if "archive" in schema else "0.1"
        return Likeness(1.0, f"it has the tables memories, history and relations of R-Mem {version}")

    def each(self, source: Source, report: Report) -> Memories:
        """Every memory, then its relations, then what is asked for of the archive."""
        found = self.stores(source, report)
        if not found:
            raise nothing_of(self, source)
        for part, schema in found:
            with part.tables() as tables:
                yield from _memories(tables, part)
                yield from _relations(tables, part)
                if "archive" in schema:
                    yield from self._archived(tables, part)
                if "history" in schema:
                    report.lose("history", sum(1 for _ in tables.rows("history")))
                if "entities" in schema:
                    kinds = (text_at(row, "entity_type") for row in tables.rows("entities"))
                    report.lose("entity types", sum(kind is not None for kind in kinds))

    def _archived(self, tables: Tables, part: Part) -> Memories:
        versions: Counter[str] = Counter()
        for number, row in enumerate(tables.rows("archive", "archived_at"), 1):
            newer = text_at(row, "superseded_by")
            if newer is None or str(row.get("reason")).upper() == "DELETED":
                part.report.skipped["deleted"] += 1
                continue
            if "archive" not in self.along:
                part.report.skipped["superseded"] += 1
                continue
            key = identified_key("rmem", newer)
            versions[newer] += 1
            old = {**row, "created_at": row.get("original_created_at"), "updated_at": None}
            memory = _memory(f"{key}_v{versions[newer]}", old, part, superseded_by=key)
            if memory is not None:
                part.report.lose("time of archiving", row.get("archived_at") is not None)
                yield part.place("archive", number), memory


def _memories(tables: Tables, part: Part) -> Memories:
    for number, row in enumerate(tables.rows("memories"), 1):
        memory = _memory(identified_key("rmem", str(row["id"])), row, part)
        if memory is not None:
            yield part.place("memory", number), memory


def _memory(key: str, row: Mapping[str, Any], part: Part, superseded_by: str | None = None) -> StoredRow | None:
    content = text_at(row, "text")
    if content is None:
        part.report.skipped["empty"] += 1
        return None
    return memory_row(
        key,
        content,
        text_at(row, "category"),
        created=part.when(row.get("created_at")),
        updated=moment_of(row.get("updated_at")),
        namespace=text_at(row, "user_id"),
        superseded_by=superseded_by,
        embedding=vector_blob(row.get("embedding")),
    )


def _relations(tables: Tables, part: Part) -> Memories:
    for number, row in enumerate(tables.rows("relations"), 1):
        parts = [text_at(row, part) for part in ("source", "relation", "destination")]
        if not row.get("valid"):
            part.report.lose("relations that hold no more")
            continue
        if None in parts:
            part.report.skipped["empty"] += 1
            continue
        content = " ".join(str(part) for part in parts)
        part.report.lose("mentions", row.get("mentions") is not None)
        memory = memory_row(
            f"rmem_rel_{digest(content)}",
            content,
            "relation",
            created=part.when(row.get("created_at")),
            updated=moment_of(row.get("updated_at")),
            namespace=text_at(row, "user_id"),
            kind=FACT,
        )
        yield part.place("relation", number), memory
