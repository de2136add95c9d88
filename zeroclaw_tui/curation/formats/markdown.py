"""Memories as Markdown for people: a heading, a line of facts, and the content in a fence. It is not read back."""

from __future__ import annotations

import re

from zeroclaw_tui.curation.formats.jsonl import readable
from zeroclaw_tui.memory.change import Row
from zeroclaw_tui.memory.text import one_line

TITLE = "# ZeroClaw memories"
LOSES = "Markdown is for reading; export JSONL to import the memories again."
_TILDES = re.compile("~+")
_MAX_HEADING = 200


def header_line(exported: str, backend: str) -> bytes:
    """How the file begins."""
    sentence = f"Exported {exported} from {backend}. This file is for reading; JSONL can be imported again."
    return f"{TITLE}\n\n{one_line(sentence)}\n".encode()


def section(row: Row) -> bytes:
    """A memory as a part of the file, in a fence that nothing in it ends."""
    entry, text = row.entry(), readable(row.values.get("content"))
    facts = {
        "updated": entry.updated_at if entry.updated_at != entry.timestamp else None,
        "session": entry.session_id,
        "namespace": entry.namespace if entry.namespace != "default" else None,
        "importance": entry.importance,
        "kind": entry.kind,
        "pinned": "yes" if entry.pinned else None,
        "agent": entry.agent,
    }
    named = [f"{name} {value}" for name, value in facts.items() if value not in (None, "")]
    shown = [fact for fact in (entry.category, entry.timestamp, *named) if fact]
    fence = "~" * max(3, 1 + max((len(run) for run in _TILDES.findall(text)), default=0))
    heading = one_line(entry.key)[:_MAX_HEADING]
    part = f"\n## {heading}\n\n{' · '.join(map(one_line, shown))}\n\n{fence}\n{text}\n{fence}\n"
    return part.encode("utf-8", "replace")
