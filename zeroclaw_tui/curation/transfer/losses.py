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
from zeroclaw_tui.memory.entry import column_text
from zeroclaw_tui.memory.note_lines import is_line
from zeroclaw_tui.memory.text import first_names, one_line

_USUAL: dict[str, tuple[Value, ...]] = {"namespace": ("default",), "pinned": (0,), "importance": (0.5,)}
"""Values that ZeroClaw gives by itself."""
_SENTENCES = {
    "session_id": "{} does not store the session ({:,}).",
    "namespace": "{} does not store the namespace ({:,}).",
    "importance": "{} does not store the importance ({:,}).",
    "pinned": "{} does not store the pin ({:,}).",
    "superseded_by": "{} does not store the superseding memory ({:,}).",
    "kind": "{} does not store the kind ({:,}).",
    "agent": "{} does not store the agent ({:,}).",
    VECTOR: "{} does not store the vector ({:,}).",
    "re-embedded": "{} embeds key and content together, so vectors of contents alone are made again ({:,}).",
    "other vectors": "Vectors of another model or length than those of {} are left out ({:,});"
    " run `zeroclaw memory reindex` afterwards.",
    "lines": "{} has a line for each memory: no ids, dates in place of times, the categories core and daily only, no"
    " line breaks, and no ** in keys ({:,}).",
    "new": "{} gives each memory a new id and new times ({:,}).",
    "text": "{} stores neither NUL nor bytes that are not UTF-8, so � replaces them ({:,}).",
    "times": "{} stores other times of creation or change ({:,}).",
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
        incoming, counts, values = self._incoming, self._counts, stored.values
        about = incoming.memory.about
        for name, value in row.values.items():
            if value is None or value == "" or values.get(name) is not None or name in OF_THE_STORE or name in TIMES:
                continue
            if name == VECTOR and (about.embeds_itself or "vectors" not in incoming.memory.why_not):
                counts["re-embedded" if about.embeds_itself else "other vectors"] += 1
            elif name in FIELDS or name == VECTOR:
                counts[name] += value not in _USUAL.get(name, ())
            else:
                for field in _fields_in(name, value):
                    _count(self._columns, field)
        if row.agent not in (None, DEFAULT_AGENT) and stored.agent is None:
            counts["agent"] += 1
        if about.keeps_lines:
            counts["lines"] += not is_line(row)
            return
        if row.agent not in (None, incoming.usual_owner(None), *incoming.agents) and stored.agent is not None:
            _count(self._agents, str(row.agent))
        counts["text"] += any(
            column_text(row.values.get(name)) != column_text(values.get(name)) for name in ("key", "content")
        )
        counts["new"] += not stored.id
        counts["times"] += bool(stored.id) and any(
            map(_is_other_time, map(row.values.get, TIMES), map(values.get, TIMES))
        )

    def sentences(self) -> Iterator[str]:
        """One for each kind of loss."""
        profile = backend_info(self._incoming.memory.name)
        label = f"The store {self._incoming.memory.name}" if profile is None else profile.title
        for name, sentence in _SENTENCES.items():
            if count := self._counts[name]:
                yield sentence.format(label, count)
        if self._columns:
            yield f"{label} has no column for {_names(self._columns)}: its values are left out."
        if self._agents and not self._incoming.supply.is_file:
            yield f"New agents are added to {label}: {_names(self._agents)}."
        elif self._agents:
            number, several = sum(self._agents.values()), "agent" if len(self._agents) == 1 else "agents"
            owner = one_line(str(self._incoming.supply.owner or self._incoming.usual_owner(None)))
            whose = f"their memories go to the agent {owner} ({number:,})"
            yield f"{label} does not know the {several} {_names(self._agents)}: {whose}."


def _is_other_time(stated: Value, stored: Value) -> bool:
    return stated is not None and stated != stored and to_microseconds(stated) != to_microseconds(stored)


def _count(counter: Counter[str], name: str) -> None:
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
