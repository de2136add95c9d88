"""One memory as it lies in Redis: a JSON document under the key `memory:<key>`, as serde writes a MemoryEntry.

{"id", "key", "content", "category", "timestamp", "score"}, the category "Core", "Daily", "Conversation" or
{"Custom": name}. Fields beyond these are another program's and stay as they are.
"""

from __future__ import annotations

import json
import math
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from zeroclaw_tui.memory.change import BUILT_IN_CATEGORIES, StoredRow, Value
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.errors import Refused

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
