"""What a store loses of the memories that come: each memory compared with the row that the store would have."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator

from zeroclaw_tui.backends.factory import backend_info
from zeroclaw_tui.curation.transfer.incoming import (
    DEFAULT_AGENT,
    FIELDS,
    OF_THE_STORE,
    TIMES,
    VECTOR,
    Incoming,
    to_microseconds,
)
from zeroclaw_tui.memory.change import Row, Value
from zeroclaw_tui.memory.days import moment
from zeroclaw_tui.memory.entry import column_text
from zeroclaw_tui.memory.note_lines import is_line, is_read_back
from zeroclaw_tui.memory.text import first_names, is_unicode, one_line
from zeroclaw_tui.scoring.injection import zeroclaw_moment

_USUAL: dict[str, tuple[Value, ...]] = {"namespace": ("default",), "pinned": (0,), "importance": (0.5,)}
"""Values that ZeroClaw gives by itself."""
_CALLED = {
    "session_id": "session",
    "namespace": "namespace",
    "importance": "importance",
    "pinned": "pin",
    "superseded_by": "superseding memory",
    "kind": "kind",
    "agent": "agent",
    VECTOR: "vector",
}
_OF_LINES = {
    "category": "Markdown has only the categories core and daily, so others become daily ({:,}).",
    "new": "Markdown stores only the date of daily memories, no date for core memories, and no ids ({:,}).",
    "lines": "Each line of Markdown is a memory, so line breaks become blanks ({:,}).",
    "bytes": "Bytes that are not UTF-8 become �, because ZeroClaw would read none of the notes otherwise ({:,}).",
    "keys": "Keys that are blank or contain ** or line breaks are read back differently ({:,}).",
}
_OF_DOCUMENTS = frozenset({"id", "key", "content", "category", "timestamp", "session_id", "agent_id"})
"""The fields of a memory in a JSON document."""
_MAX_NAMES, _MAX_NAMES_SHOWN, _NAME_CELLS = 200, 6, 30


class Losses:
    """Counts what is lost. `incoming` knows the store."""

    def __init__(self, incoming: Incoming) -> None:
        self._incoming = incoming
        self._counts: Counter[str] = Counter()
        self._columns: Counter[str] = Counter()
        self._agents: Counter[str] = Counter()

    def add(self, row: Row, stored: Row) -> None:
        """Count what of one memory is lost; `stored` is as the store would have it."""
        counts, values = self._counts, stored.values
        for name, value in row.values.items():
            if value is None or value == "" or values.get(name) is not None or name in OF_THE_STORE or name in TIMES:
                continue
            if name == VECTOR and self._incoming.memory.about.embeds_itself:
                counts["re-embedded"] += 1
            elif name == VECTOR and "vectors" not in self._incoming.memory.why_not:
                counts["other vectors" if not self._incoming.takes_vector(value) else VECTOR] += 1
            elif name in FIELDS or name == VECTOR:
                counts[name] += value not in _USUAL.get(name, ())
            else:
                for field in _fields_in(name, value):
                    self._count(self._columns, field)
        if row.agent not in (None, DEFAULT_AGENT) and stored.agent is None:
            counts["agent"] += 1
        if self._incoming.memory.about.keeps_lines:
            self._add_line(row)
        else:
            self._add_row(row, stored)

    def sentences(self) -> Iterator[str]:
        """One for each kind of loss."""
        profile = backend_info(self._incoming.memory.name)
        label = f"The store {self._incoming.memory.name}" if profile is None else profile.title
        for name, called in _CALLED.items():
            if lost := self._counts[name]:
                yield f"{label} does not store the {called} ({lost:,})."
        if self._columns:
            yield f"{label} has no column for {_names(self._columns)}: its values are left out."
        if self._agents:
            yield self._agents_sentence(label)
        sentences = _OF_LINES if self._incoming.memory.about.keeps_lines else self._of_rows(label)
        for name, sentence in sentences.items():
            if count := self._counts[name]:
                yield sentence.format(count)

    def _add_row(self, row: Row, stored: Row) -> None:
        counts, agents = self._counts, self._incoming.agents
        is_new_agent = row.agent is not None and stored.agent is not None and row.agent not in agents
        if is_new_agent and row.agent != self._incoming.usual_owner(None):
            self._count(self._agents, str(row.agent))
        for name in ("key", "content"):
            value, present = row.values.get(name), stored.values.get(name)
            if value != present and column_text(value) != column_text(present):
                counts["text"] += 1
                break
        if not stored.id:
            counts["new"] += 1
        elif self._incoming.supply.is_notes:
            counts["undated"] += 1
        else:
            self._add_times(row.values.get("created_at"), row.values.get("updated_at"), stored)

    def _add_times(self, created: Value, updated: Value, stored: Row) -> None:
        counts = self._counts
        changed = stored.values.get("updated_at")
        is_stored = updated in (None, created, changed) or to_microseconds(updated) in (None, to_microseconds(changed))
        counts["updated"] += not is_stored
        for name, value in zip(TIMES, (created, updated), strict=True):
            if value is None or (isinstance(value, str) and zeroclaw_moment(value) is not None):
                continue
            if stored.values.get(name, value) == value:
                counts["odd times"] += self._incoming.supply.is_file
                return
            if not (isinstance(value, str) and moment(value)):
                counts["unreadable times"] += 1
                return

    def _add_line(self, row: Row) -> None:
        """A line of other notes stays a line."""
        entry = row.entry()
        texts = (entry.key, entry.content)
        is_known = is_line(row)
        self._counts["new"] += not is_known
        self._counts["category"] += entry.category not in ("", "core", "daily")
        self._counts["bytes"] += not all(map(is_unicode, texts))
        self._counts["lines"] += any("\n" in text or "\r" in text for text in texts)
        self._counts["keys"] += not is_known and not is_read_back(entry.key)

    def _of_rows(self, label: str) -> dict[str, str]:
        return {
            "re-embedded": f"{label} embeds key and content together, so vectors of contents alone are made again"
            " ({:,}).",
            "other vectors": f"Vectors of another model or length than those of {label} are left out ({{:,}});"
            " run `zeroclaw memory reindex` afterwards.",
            "new": f"{label} gives each memory a new id and new times ({{:,}}).",
            "undated": "Lines of notes have no times, so each gets the day of its file or the time of the copy ({:,}).",
            "text": f"{label} stores neither NUL nor bytes that are not UTF-8, so � replaces them ({{:,}}).",
            "updated": f"{label} stores when a memory was created, but not when it last changed ({{:,}}).",
            "unreadable times": "Times that cannot be read become the time of the import ({:,}).",
            "odd times": "Times that ZeroClaw cannot read stay as they are ({:,}).",
        }

    def _agents_sentence(self, label: str) -> str:
        if not self._incoming.supply.is_file:
            return f"New agents are added to {label}: {_names(self._agents)}."
        number, several = sum(self._agents.values()), "agent" if len(self._agents) == 1 else "agents"
        owner = self._incoming.supply.owner or self._incoming.usual_owner(None)
        whose = f"their memories go to the agent {one_line(str(owner))} ({number:,})"
        return f"{label} does not know the {several} {_names(self._agents)}: {whose}."

    def _count(self, counter: Counter[str], name: str) -> None:
        if name in counter or len(counter) < _MAX_NAMES:
            counter[name] += 1


def _fields_in(name: str, value: Value) -> list[str]:
    """What is lost with a column: itself, or the further fields of the JSON document that it has."""
    if not isinstance(value, str) or not value.startswith("{"):
        return [name]
    try:
        document = json.loads(value)
    except (ValueError, RecursionError):
        return [name]
    return [field for field, stated in document.items() if field not in _OF_DOCUMENTS and stated is not None]


def _names(names: Counter[str]) -> str:
    return first_names(list(names), most=_MAX_NAMES_SHOWN, longest=_NAME_CELLS)
