"""What a store loses of the memories that come: each memory compared with the row that the store would have."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence

from zeroclaw_tui.backends.factory import backend_info
from zeroclaw_tui.curation.transfer.incoming import (
    DEFAULT_AGENT,
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

_USUAL: dict[str, Sequence[Value]] = {"namespace": ("default",), "pinned": (0,), "importance": (0.5,)}
"""Values that ZeroClaw gives by itself."""
_NAMES = {VECTOR: "vector", "session_id": "session", "superseded_by": "superseding memory", "pinned": "pin"}
_SENTENCES = {
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
_MAX_NAMES, _MAX_NAMES_SHOWN, _NAME_CELLS = 200, 12, 30


class Losses:
    """Counts what is lost. `incoming` knows the store."""

    def __init__(self, incoming: Incoming) -> None:
        self._incoming = incoming
        self._fields: Counter[str] = Counter()
        """The names of what the store has no place for."""
        self._kinds: Counter[str] = Counter()
        self._agents: Counter[str] = Counter()

    def add(self, row: Row, stored: Row) -> None:
        """Count what of one memory is lost; `stored` is as the store would have it."""
        incoming, kinds, values = self._incoming, self._kinds, stored.values
        about = incoming.memory.about
        for name, value in row.values.items():
            if value in (None, "", *_USUAL.get(name, ())) or values.get(name) is not None:
                continue
            if name == VECTOR and (about.embeds_itself or "vectors" not in incoming.memory.why_not):
                kinds["re-embedded" if about.embeds_itself else "other vectors"] += 1
            elif name not in OF_THE_STORE and name not in TIMES:
                for field in _fields_in(name, value):
                    _count(self._fields, _NAMES.get(field, field))
        if row.agent not in (None, DEFAULT_AGENT) and stored.agent is None:
            self._fields["agent"] += 1
        if about.keeps_lines:
            kinds["lines"] += not is_line(row)
            return
        if row.agent not in (None, incoming.usual_owner(None), *incoming.agents) and stored.agent is not None:
            _count(self._agents, str(row.agent))
        kinds["text"] += any(column_text(row.values[name]) != column_text(values[name]) for name in ("key", "content"))
        kinds["new"] += not stored.id
        kinds["times"] += bool(stored.id) and any(
            _is_other_time(row.values.get(name), values.get(name)) for name in TIMES
        )

    def sentences(self) -> Iterator[str]:
        incoming, info = self._incoming, backend_info(self._incoming.memory.name)
        label = f"The store {incoming.memory.name}" if info is None else info.title
        if self._fields:
            counts = sorted(self._fields.items(), key=lambda field: (-field[1], field[0]))
            fields = [f"{one_line(name)} ({count:,})" for name, count in counts]
            yield f"{label} does not store: {first_names(fields, most=_MAX_NAMES_SHOWN, longest=_NAME_CELLS)}."
        for name, sentence in _SENTENCES.items():
            if count := self._kinds[name]:
                yield sentence.format(label, count)
        agents = first_names(list(self._agents), most=_MAX_NAMES_SHOWN, longest=_NAME_CELLS)
        if agents and incoming.supply.is_file:
            owner = one_line(str(incoming.supply.owner or incoming.usual_owner(None)))
            count = self._agents.total()
            yield f"{label} does not know these agents, so {owner} gets their memories ({count:,}): {agents}."
        elif agents:
            yield f"New agents are added to {label}: {agents}."


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
