"""Memories as they lie in Redis: one JSON document each under the key `memory:<key>`, as serde writes a MemoryEntry.

{"id", "key", "content", "category", "timestamp", "score"}, the category "Core", "Daily", "Conversation" or
{"Custom": name}. Fields beyond these are another program's and stay as they are.
"""

from __future__ import annotations

import asyncio
import json
import math
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from zeroclaw_tui.backends.redis.connect import Connection
from zeroclaw_tui.memory.change import StoredRow, Value
from zeroclaw_tui.memory.days import moment
from zeroclaw_tui.memory.entry import BUILT_IN_CATEGORIES, MemoryEntry
from zeroclaw_tui.memory.errors import Refused

WHY_NOT = {
    "vectors": "The memories in Redis have no vectors: recall finds what contains the query.",
    "sessions": "The memories in Redis keep no session.",
    "agents": "The memories in Redis belong to no agent.",
    "namespaces": "The memories in Redis keep no namespace.",
    "superseded": "The memories in Redis are replaced in place, so none is superseded.",
    "pinned": "The memories in Redis cannot be pinned.",
    "importance": "The memories in Redis keep no importance.",
    "kind": "The memories in Redis keep no kind.",
    "session_id": "The memories in Redis keep no session.",
    "namespace": "The memories in Redis keep no namespace.",
}
PREFIX = b"memory:"
EXPIRES_AT = "expires_at"
"""The value of a row that tells when Redis removes it, in milliseconds since 1970; no part of its state."""

_CATEGORIES = {name.capitalize(): name for name in BUILT_IN_CATEGORIES}
_TEXTS = ("id", "key", "content", "timestamp")
_FIELDS = {"content": "content", "key": "key"}


@dataclass(frozen=True, slots=True)
class Held:
    """A memory and the text of its document. `says_another_key` where the document has not the key it lies under."""

    entry: MemoryEntry
    document: str
    says_another_key: bool = False

    def row(self, expires_at: int | None = None) -> StoredRow:
        """The row it is."""
        entry = self.entry
        values: dict[str, Value] = {
            "id": entry.id,
            "key": entry.key,
            "content": entry.content,
            "category": entry.category,
            "created_at": entry.timestamp,
            "document": self.document,
        }
        if expires_at is not None:
            values[EXPIRES_AT] = expires_at
        return StoredRow(entry.id, values, entry.key)


def name_of(key: str) -> bytes:
    """The name of a memory's key in Redis. Raises Refused for text that is no UTF-8."""
    try:
        return PREFIX + key.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise _no_text("key") from None


def key_of(name: bytes) -> str:
    """The memory's key that a name stands for."""
    return name.removeprefix(PREFIX).decode("utf-8", "surrogateescape")


def held(name: bytes, data: bytes) -> Held | None:
    """The memory in a value; None when it is none."""
    try:
        document = data.decode("utf-8")
        fields = _READ(document)
    except (ValueError, RecursionError):
        return None
    if not isinstance(fields, dict) or not (fields.get("score") is None or _is_number(fields["score"])):
        return None
    for field in _TEXTS:
        text = fields.get(field)
        if not isinstance(text, str) or not (text.isascii() or "\\u" not in document or _is_text(text)):
            return None
    category = _category(fields.get("category"))
    return None if category is None else _held(key_of(name), fields, category, document)


def new_row(key: str, content: str, category: str, timestamp: str) -> StoredRow:
    """A memory of its own, as the document's own store writes it. Raises Refused."""
    fields = {
        "id": str(uuid.uuid4()), "key": key, "content": content, "category": _as_stored(category),
        "timestamp": timestamp, "score": None,
    }  # fmt: skip
    return _row(key, fields, None)


def native(row: StoredRow) -> StoredRow:
    """A row of any store as a document here; one that has its document stays as it is. Raises Refused."""
    if "document" in row.values:
        return row
    entry = row.entry()
    fields = {
        "id": row.id, "key": entry.key, "content": entry.content, "category": _as_stored(entry.category),
        "timestamp": entry.timestamp, "score": None,
    }  # fmt: skip
    return _row(entry.key, fields, None)


def changed_row(row: StoredRow, values: Mapping[str, Value], *, new_id: bool = False) -> StoredRow:
    """A row with other values; what its document has beside them stays. Raises Refused."""
    try:
        fields: dict[str, Any] = json.loads(str(row.values["document"]), object_pairs_hook=_without_doubles)
    except ValueError:
        raise Refused(
            "Its document has a name twice, and only one of the two could be written back.", hint="Nothing was changed."
        ) from None
    for name, value in values.items():
        if name == "category":
            fields["category"] = _as_stored(str(value))
        elif name in _FIELDS:
            fields[name] = str(value)
    if new_id:
        fields["id"] = str(uuid.uuid4())
    expires_at = row.values.get(EXPIRES_AT)
    key = str(values.get("key", row.values["key"]))
    return _row(key, fields, expires_at if isinstance(expires_at, int) else None)


def other_fields(row: StoredRow) -> list[str]:
    """The names in a row's document that are none of a memory's, and the score where there is one."""
    fields = _READ(str(row.values["document"]))
    known = (*_TEXTS, "category", *(("score",) if fields.get("score") is None else ()))
    return [name for name in fields if name not in known]


def document_of(row: StoredRow) -> bytes:
    """The very bytes of a row's document."""
    return str(row.values["document"]).encode("utf-8", "surrogatepass")


def _row(key: str, fields: Mapping[str, Any], expires_at: int | None) -> StoredRow:
    try:
        document = json.dumps(fields, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        document.encode("utf-8")
    except UnicodeEncodeError:
        raise _no_text("content") from None
    except ValueError:
        raise Refused("Its document has a number that cannot be written back.", hint="Nothing was changed.") from None
    category = _category(fields["category"]) or ""
    return _held(key, fields, category, document).row(expires_at)


def _held(key: str, fields: Mapping[str, Any], category: str, document: str) -> Held:
    content = fields["content"]
    size = len(content) if content.isascii() else len(content.encode("utf-8", "surrogatepass"))
    entry = MemoryEntry(fields["id"], key, content, category, fields["timestamp"], handle=key, size=size)
    return Held(entry, document, fields["key"] != key)


def _category(stored: object) -> str | None:
    if isinstance(stored, str):
        return _CATEGORIES.get(stored)
    if isinstance(stored, dict) and list(stored) == ["Custom"] and isinstance(stored["Custom"], str):
        return str(stored["Custom"])
    return None


def _as_stored(category: str) -> str | dict[str, str]:
    return category.capitalize() if category in BUILT_IN_CATEGORIES else {"Custom": category}


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_text(text: str) -> bool:
    """An escaped half of a surrogate pair is none; the agent's own reader refuses such a document."""
    return not any("\ud800" <= letter <= "\udfff" for letter in text)


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The values by name. Raises ValueError where a name comes twice."""
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise ValueError("a name comes twice")
    return fields


def _no_number(text: str) -> float:
    raise ValueError(f"{text} is no JSON")


def _no_text(what: str) -> Refused:
    return Refused(f"The {what} is not UTF-8, and a JSON document holds nothing else.", hint="Replace what shows as �.")


_READ = json.JSONDecoder(parse_constant=_no_number).decode
"""Reads a document; made once, since making it takes as long as reading one."""


NAMES_AT_ONCE = 500
_PARSED_ON_A_THREAD = 400_000
_WRITTEN = len("2026-03-01T10:00:00.123456789+01:00")
PATTERN = PREFIX + b"*"
State = tuple[Any, ...]


@dataclass(frozen=True)
class Everything:
    """The memories in the order of storing; `foreign` are the names of values that are none."""

    memories: tuple[Held, ...] = ()
    foreign: tuple[bytes, ...] = ()
    state: State | None = None

    @cached_property
    def by_key(self) -> dict[str, Held]:
        """By the key they lie under."""
        return {memory.entry.key: memory for memory in self.memories}

    @cached_property
    def keys_of_ids(self) -> dict[str, list[str]]:
        """The keys under which each id lies; a value that was copied has the id of the first."""
        found: dict[str, list[str]] = {}
        for memory in self.memories:
            found.setdefault(memory.entry.id, []).append(memory.entry.key)
        return found

    @cached_property
    def size(self) -> int:
        """How many characters the documents have."""
        return sum(len(memory.document) for memory in self.memories)

    def key_of(self, id: str) -> str | None:
        """The key of an id. Raises Refused where several memories have it."""
        keys = self.keys_of_ids.get(id, [])
        if len(keys) > 1:
            raise Refused(f"{len(keys)} memories have the id {id[:60]}, so it names none.", hint="Remove the copies.")
        return keys[0] if keys else None


def order_of_storing(entry: MemoryEntry) -> tuple[Any, ...]:
    """By time, then by key; what is no time comes first."""
    when = _moment(entry.timestamp)
    # Nine digits are written and six are compared as a time: the text decides between the rest.
    return (when is not None, when or 0, entry.timestamp, entry.key)


def _moment(timestamp: str) -> datetime | None:
    """As `moment`, in half the time for what ZeroClaw writes: nine digits of fraction and an offset."""
    if len(timestamp) == _WRITTEN and timestamp[19] == "." and timestamp[26:29].isdigit():
        try:
            when = datetime.fromisoformat(timestamp[:26] + timestamp[29:])
        except ValueError:
            return None
        if when.tzinfo is not None:
            return when
    return moment(timestamp)


async def read_everything(connection: Connection, state: State | None) -> Everything:
    """Read every memory, some hundreds at a time; what comes or goes meanwhile may be in it or not."""
    names = await connection.names(PATTERN)
    memories: list[Held] = []
    foreign: list[bytes] = []
    for start in range(0, len(names), NAMES_AT_ONCE):
        some = names[start : start + NAMES_AT_ONCE]
        values = await connection.values(some)
        if sum(len(value) for value in values if value) > _PARSED_ON_A_THREAD:
            parsed = await asyncio.to_thread(_parsed, some, values)
        else:
            parsed = _parsed(some, values)
        for name, memory in zip(some, parsed, strict=True):
            if memory is not None:
                memories.append(memory)
            else:
                foreign.append(name)
    ordered = await asyncio.to_thread(sorted, memories, key=lambda memory: order_of_storing(memory.entry))
    return Everything(tuple(ordered), tuple(await _still_there(connection, foreign)), state)


async def state_of(connection: Connection) -> State | None:
    """What changes with every write to a server; None where one does not tell."""
    told = await connection.facts()
    if not told or any("rdb_changes_since_last_save" not in facts for facts in told):
        return None
    names = ("run_id", "rdb_changes_since_last_save", "rdb_last_save_time", "expired_keys", "evicted_keys")
    state: list[Any] = []
    for facts in told:
        counts = [
            (name, fact.get("keys")) for name, fact in facts.items() if isinstance(fact, dict) and name[:2] == "db"
        ]
        state += [*(facts.get(name) for name in names), *sorted(counts)]
    return tuple(state)


async def _still_there(connection: Connection, names: Sequence[bytes]) -> list[bytes]:
    """Those that a look says are there; others went between the scan and the reading."""
    return [name for name, is_there in zip(names, await connection.each("EXISTS", names), strict=True) if is_there]


def _parsed(names: Sequence[bytes], values: Sequence[bytes | None]) -> list[Held | None]:
    return [None if value is None else held(name, value) for name, value in zip(names, values, strict=True)]
