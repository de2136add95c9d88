"""Memories in the forms of other tools: mem0's JSON, the JSON Lines of MCP's server "memory", the JSON of memory-rs.

What a form has no field for goes into its metadata where it has any, under one name, from which the readers here take
the memory back as it was. What finds no place at all is counted by name in `lost`, while the bytes are taken.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from zeroclaw_tui.curation.formats.foreign import OWN, OWN_TEXTS, moment_of
from zeroclaw_tui.curation.formats.jsonl import is_plain, shown
from zeroclaw_tui.memory.change import StoredRow, Value
from zeroclaw_tui.memory.entry import uuid_for

_KEPT = frozenset({*OWN_TEXTS, "id", "content", "importance", "pinned", "agent_id"})
_NEEDED = ("key", "category", "created_at")
_DEFAULTS: dict[str, Value] = {"namespace": "default", "importance": 0.5, "pinned": 0}
_UNKNOWN_USER = "default"
_NO_TIME = "1970-01-01T00:00:00+00:00"
_ALTERED = "text that is no Unicode"


def mem0_json(rows: Iterable[StoredRow], lost: Counter[str]) -> Iterator[bytes]:
    """{"results": […]} as mem0's `get_all` answers, which its own import and the reader here take."""
    yield from _array((_mem0(row, lost) for row in rows), '{"results": [', "]}\n")


def memory_rs_json(rows: Iterable[StoredRow], lost: Counter[str]) -> Iterator[bytes]:
    """The array of `MemoryItem`s of memory-rs 0.1. Its own import takes content and type alone."""
    yield from _array((_memory_rs(row, lost) for row in rows), "[", "]\n")


def server_memory_lines(rows: Iterable[StoredRow], lost: Counter[str]) -> Iterator[bytes]:
    """The JSON Lines of MCP's server "memory": an entity for each memory, named as its key, of its category as type.

    The server knows an entity by its name alone: another agent's memory of the same key is named with the agent.
    """
    names: set[str] = set()
    for row in rows:
        _count_lost(row, lost, frozenset({"id", "key", "content", "category", "agent_id"}))
        if row.agent is not None:
            lost["agent"] += 1
        key = name = _text(row.values.get("key"), lost)
        if name in names and row.agent is not None:
            key = name = f"{key} ({_text(row.agent, lost)})"
        number = 1
        while name in names:
            number += 1
            name = f"{key} {number}"
        names.add(name)
        entity = {
            "type": "entity",
            "name": name,
            "entityType": _text(row.values.get("category"), lost),
            "observations": [_text(row.values.get("content"), lost)],
        }
        yield _json(entity).encode() + b"\n"


def _mem0(row: StoredRow, lost: Counter[str]) -> dict[str, Any]:
    _count_lost(row, lost, _KEPT)
    own = _own(row, lost)
    content = _text(row.values.get("content"), lost)
    return {
        "id": uuid_for(shown(row.id) or own["key"]),
        "memory": content,
        "hash": hashlib.md5(content.encode(), usedforsecurity=False).hexdigest(),
        "created_at": own.get("created_at"),
        "updated_at": own.get("updated_at"),
        "user_id": own.get("namespace", _UNKNOWN_USER),
        "agent_id": own.get("agent"),
        "run_id": own.get("session_id"),
        "metadata": {OWN: own},
        "categories": [own["category"]],
    }


def _memory_rs(row: StoredRow, lost: Counter[str]) -> dict[str, Any]:
    _count_lost(row, lost, _KEPT)
    own = _own(row, lost)
    content = _text(row.values.get("content"), lost)
    created = moment_of(own.get("created_at"))
    return {
        "id": uuid_for(shown(row.id) or own["key"]),
        "user_id": own.get("namespace", _UNKNOWN_USER),
        "agent_id": own.get("agent"),
        "run_id": own.get("session_id"),
        "content": content,
        "memory_type": own["category"],
        "hash": hashlib.sha256(content.encode()).hexdigest(),
        # A program in Rust reads nothing of a file in which one time is none.
        "created_at": created or _NO_TIME,
        "updated_at": moment_of(own.get("updated_at")) or created or _NO_TIME,
        "metadata": {OWN: _json(own)},
    }


def _own(row: StoredRow, lost: Counter[str]) -> dict[str, Any]:
    """What the memory is, but for its content."""
    values = row.values
    own: dict[str, Any] = {
        name: _text(values[name], lost) for name in OWN_TEXTS if values.get(name) is not None or name in _NEEDED
    }
    importance, pinned = values.get("importance"), values.get("pinned")
    if isinstance(importance, int | float) and is_plain(importance):
        own["importance"] = importance
    if pinned is not None:
        own["pinned"] = int(bool(pinned))
    if row.agent is not None:
        own["agent"] = _text(row.agent, lost)
    return own


def _count_lost(row: StoredRow, lost: Counter[str], kept: frozenset[str]) -> None:
    for name, value in row.values.items():
        if value is not None and name not in kept and value != _DEFAULTS.get(name):
            lost["embedding" if name == "embedding_dimensions" else name] += 1


def _text(value: Value, lost: Counter[str]) -> str:
    text = shown(value) or ""
    if isinstance(value, bytes) or (isinstance(value, str) and value != text):
        lost[_ALTERED] += 1
    return text


def _array(items: Iterable[Mapping[str, Any]], opening: str, closing: str) -> Iterator[bytes]:
    yield opening.encode()
    for number, item in enumerate(items):
        yield (",\n" if number else "\n").encode() + _json(item).encode()
    yield f"\n{closing}".encode()


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
